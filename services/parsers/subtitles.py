"""Subtitles and transcripts (WebVTT, SubRip): each cue a paragraph that carries its time."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from services.models import Block, Document
from services.parsers import Progress
from services.parsers.decoding import decode

_TIMES = re.compile(
    r"[ \t]*(?:(\d{1,4}):)?(\d{1,2}):(\d{2})[.,](\d{1,3})[ \t]+-->[ \t]+"
    r"(?:\d{1,4}:)?\d{1,2}:\d{2}[.,]\d{1,3}[^\n]*"
)
_BLANK = re.compile(r"\n[ \t]*\n")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>]*)>")
_TAG = re.compile(r"</?[a-z][^<>]*>|<\d[\d:.]*>|\{\\[^{}]*\}", re.IGNORECASE)


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read subtitles. Unit: cues. Names of speakers stand before what they say."""
    decoded = decode(path.read_bytes())
    document = Document()
    decoded.tell(document.report)
    cues = 0
    last: tuple[str, list[str]] = ("", [])
    for part in _BLANK.split(decoded.text):
        lines = part.strip("\n").split("\n")
        at = next((n for n, line in enumerate(lines[:2]) if _TIMES.fullmatch(line)), None)
        if at is None:
            _other(document, part)
            continue
        cues += 1
        voice, text = _words("\n".join(lines[at + 1 :]))
        spoken = text.split("\n")
        # Live captions repeat the lines that are still on the screen.
        fresh = spoken
        if voice == last[0] and len(spoken) > 1 and spoken[: len(last[1])] == last[1]:
            fresh = spoken[len(last[1]) :]
        elif (voice, spoken) == last:
            fresh = []
        last = (voice, spoken)
        said = " ".join(line for line in fresh if line)
        if said:
            block = Block(text=f"{voice}: {said}" if voice else said, time=_seconds(lines[at]))
            document.blocks.append(block)
    document.units = {"cues": cues}
    return document


def _other(document: Document, part: str) -> None:
    """What is no cue: a title after WEBVTT, a note; styles and regions are no text."""
    kind, _, rest = part.strip().partition("\n")
    if kind.startswith("WEBVTT"):
        document.title = kind.removeprefix("WEBVTT").strip(" \t-")
        stated = dict(line.split(": ", 1) for line in rest.split("\n") if ": " in line)
        document.metadata = {
            key.lower(): value.strip()
            for key, value in stated.items()
            if key in ("Author", "Date") and value.strip()
        }
        language = stated.get("Language", "").split("-")[0].lower()
        document.report.language = language if re.fullmatch("[a-z]{2}", language) else None
        if stated.get("Captions") == "automatic":
            document.report.note(
                "automatic_captions",
                "The captions were made by a machine; names and figures may be misheard.",
            )
    elif kind.split(" ")[0] == "NOTE":
        text = f"{kind.removeprefix('NOTE').strip()}\n{rest}".strip()
        document.blocks.append(Block(kind="note", text=text))
    elif kind.strip() not in ("STYLE", "REGION", "") and not kind.strip().isdecimal():
        document.blocks.append(Block(text=part.strip()))


def _words(text: str) -> tuple[str, str]:
    """Who speaks, as marked in the cue, and what is said, line by line."""
    voices = list(dict.fromkeys(match[1].strip() for match in _VOICE.finditer(text)))
    if len(voices) == 1:
        plain = _TAG.sub("", text)
        voice = unescape(voices[0])
    else:  # several speak in one cue: each is named where it starts
        plain = _TAG.sub("", _VOICE.sub(lambda found: f"{found[1].strip()}: ", text))
        voice = ""
    lines = (" ".join(unescape(line).split()) for line in plain.split("\n"))
    return voice, "\n".join(lines).strip()


def _seconds(line: str) -> float:
    found = _TIMES.fullmatch(line)
    assert found is not None
    hours, minutes, seconds, part = found.groups()
    whole = int(hours or 0) * 3600 + int(minutes) * 60 + int(seconds)
    return float(whole + int(part) / 10.0 ** len(part))
