"""Bytes of unknown encoding to text: BOM, strict UTF-8, UTF-16 without BOM, a declared
encoding, then a scored guess. Every step looks at the whole file, never at its first bytes only.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from services.errors import UnreadableSourceError
from services.models import ImportReport

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig", "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32", "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16", "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16", "utf-16-be"),
)
_LARGE = 8 << 20
"""Bytes from which a text is read piece by piece."""
_SAMPLE = 15_000
"""Bytes of lines beyond ASCII that a guess is scored on."""
_BEYOND = re.compile("[^\x00-\x7f]")


@dataclass(frozen=True)
class Decoded:
    """Text with ``\\n`` line ends, the encoding's Python name, and how sure that is."""

    text: str
    encoding: str
    guessed: bool = False
    lost: int = 0
    """Bytes sequences that could not be decoded and became U+FFFD."""

    def tell(self, report: ImportReport) -> None:
        """Put the encoding, and doubts about it, into an import report."""
        report.encoding = self.encoding
        if self.guessed:
            report.note(
                "encoding_guessed",
                f"The text states no encoding; it was read as {self.encoding}.",
                encoding=self.encoding,
            )
        if self.lost:
            report.note(
                "undecodable",
                f"{self.lost} characters could not be read in the encoding {self.encoding}.",
                count=self.lost,
                encoding=self.encoding,
            )


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Decode a whole file.

    Args:
        data: all its bytes.
        declared: an encoding the file itself names (HTML meta, XML declaration); believed only
            when the bytes are not UTF-8 and every byte fits.

    Raises:
        UnreadableSourceError: the bytes are no text in any known encoding (``not_text``).
    """
    for bom, label, codec in _BOMS:
        if data.startswith(bom):
            return _decoded(data[len(bom) :], codec, label)
    if b"\x1b$" in data or b"\x1b(J" in data:  # Japanese mail text: only 7-bit bytes, so also UTF-8
        with contextlib.suppress(UnicodeDecodeError):
            return Decoded(_lines(data.decode("iso2022_jp")), "iso2022_jp")
    for errors in ("strict", "surrogatepass"):
        try:
            return Decoded(_lines(data.decode("utf-8", errors)), "utf-8")
        except UnicodeDecodeError:
            continue
    if wide := utf16_without_bom(data):
        return _decoded(data, wide, wide)
    damaged = data.decode("utf-8", "replace")
    if _mostly_utf8(damaged):
        return Decoded(_lines(damaged), "utf-8", lost=damaged.count("\ufffd"))
    for name in [declared] if declared else []:
        try:
            codec = codecs.lookup(name).name
            codec = "cp1252" if codec in ("iso8859-1", "ascii") else codec  # as browsers do
            return Decoded(_lines(data.decode(codec)), codec)
        except (LookupError, UnicodeDecodeError, ValueError):
            continue
    return _guess(data)


def opened(path: Path) -> tuple[IO[str], Decoded]:
    """The text of a file to read from, and how it is encoded (without the text itself).

    A large file is not held in memory when it is plain UTF-8, as nearly all are. The caller closes.
    Raises UnreadableSourceError like ``decode``.
    """
    if path.stat().st_size > _LARGE and _is_utf8(path):
        return path.open(encoding="utf-8-sig"), Decoded("", "utf-8")
    decoded = decode(path.read_bytes())
    return io.StringIO(decoded.text), replace(decoded, text="")


def _is_utf8(path: Path) -> bool:
    """Whether all of a file is strict UTF-8 and nothing else that is."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            if b"\x1b" in piece:  # may be Japanese mail text
                return False
            try:
                decoder.decode(piece)
            except UnicodeDecodeError:
                return False
    return not decoder.getstate()[0]


def utf16_without_bom(data: bytes) -> str | None:
    """The name utf-16-le or utf-16-be when every other byte is mostly zero on one side only."""
    if len(data) < 4 or len(data) % 2:
        return None
    sample = data[: 1 << 16]
    pairs = len(sample) // 2
    low, high = sample[::2].count(0) / pairs, sample[1::2].count(0) / pairs
    if high > 0.3 and low < 0.05:
        return "utf-16-le"
    if low > 0.3 and high < 0.05:
        return "utf-16-be"
    return None


def _guess(data: bytes) -> Decoded:
    from services.parsers.guessing import ranked_encodings

    sample = _sample(data)
    for encoding in ranked_encodings(sample):
        try:
            return Decoded(_lines(data.decode(encoding)), encoding, guessed=True)
        except UnicodeDecodeError:
            continue
    ratio = sum(byte < 32 and byte not in b"\t\n\r\f\x1b" for byte in sample) / max(len(sample), 1)
    if ratio > 0.01:
        raise UnreadableSourceError(
            "This file holds bytes that are no text in any known encoding.",
            code="not_text",
            step="Check that it is the right file.",
        )
    return replace(_decoded(data, "cp1252", "cp1252"), guessed=True)


def _sample(data: bytes) -> bytes:
    """Whole lines beyond ASCII, taken evenly over the file, about ``_SAMPLE`` bytes."""
    lines = [line for line in data.splitlines(keepends=True) if not line.isascii()]
    every = sum(map(len, lines)) // _SAMPLE + 1
    return b"".join(lines[::every])[: 2 * _SAMPLE]


def _mostly_utf8(text: str) -> bool:
    """True for UTF-8 with a few damaged sequences, judged by its text with those as U+FFFD."""
    lost = text.count("\ufffd")
    return len(_BEYOND.findall(text)) - lost > 4 * lost


def _decoded(data: bytes, codec: str, label: str) -> Decoded:
    try:
        return Decoded(_lines(data.decode(codec, "surrogatepass")), label)
    except UnicodeDecodeError:
        text = data.decode(codec, "replace")
        return Decoded(_lines(text), label, lost=text.count("\ufffd"))


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
