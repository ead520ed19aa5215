"""Where a passage stands and what kind of file it is from, in words, icons and marked figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Protocol
from urllib.parse import unquote

from panels.text import t
from services.models import Citation, Source
from services.speech import clock

_ICONS = {
    "picture_as_pdf": "pdf",
    "description": "doc docx docm odt ott rtf",
    "table_chart": "xls xlsx xlsm xlsb ods ots csv tsv",
    "slideshow": "ppt pptx pptm odp otp",
    "graphic_eq": "mp3 wav m4a ogg opus flac aac wma aiff",
    "movie": "mp4 mov webm mkv avi m4v wmv mpg",
    "image": "png jpg jpeg gif tif tiff webp bmp svg",
    "mail": "eml msg mbox",
    "menu_book": "epub",
    "code": "html htm xml nxml json jsonl ndjson yaml yml py js ts css ipynb",
    "folder_zip": "zip",
    "subtitles": "vtt srt",
}
_BY_SUFFIX = {suffix: icon for icon, names in _ICONS.items() for suffix in names.split()}
_FIGURE = re.compile(r"\d[\d.,]*(?:\s?[–-]\s?\d[\d.,]*)?(?:\s?%)?")
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")


class Place(Protocol):
    """What a citation, a passage that was looked at and a hit have in common."""

    page: int | None
    page_label: str | None


def icon_of(name: str, origin: str = "file") -> str:
    """The Material symbol for a source, by its name's ending or its origin."""
    if origin == "link":
        found = _BY_SUFFIX.get(PurePath(name).suffix[1:].lower(), "link")
        return "link" if found == "code" else found  # a page, whatever its address ends with
    if origin != "file":
        return "edit_note" if origin == "note" else "subject"
    return _BY_SUFFIX.get(PurePath(name).suffix[1:].lower(), "subject")


def file_name(source: Source) -> str:
    """The name for a copy of the original: a page that goes by its title gets its ending back."""
    kept = str((source.model_extra or {}).get("file_name") or "")
    ending = PurePath(kept).suffix if source.url else ""
    return source.name if source.name.endswith(ending) else source.name + ending


def address(url: str) -> str:
    """A web address as it is read: without its scheme, letters instead of their codes."""
    plain = unquote(url)
    readable = plain if plain.isprintable() else url  # nothing that turns the writing around
    return re.sub(r"^https?://(www\.)?", "", readable).rstrip("/")


def shown_name(source: Source) -> str:
    """The name of a source; of a link that has no title yet, its address."""
    return address(source.url) if source.url and source.name == source.url else source.name


def page_place(page: int, label: str | None) -> str:
    """p. 47 (PDF 51), or p. 51 where the printed label is missing or the same."""
    if label and label != str(page):
        return t("place.page_both", label=label, page=str(page))
    return t("place.page", page=str(page))


def place(spot: Place) -> str:
    """Time, page, slide or sheet of a passage or block; "" when its kind has none of them."""
    slide, sheet = getattr(spot, "slide", None), getattr(spot, "sheet", None)
    time = getattr(spot, "time", None)
    if time is not None:
        return t("place.time", time=clock(time))
    if slide:
        return t("place.slide", slide=str(slide))
    if sheet:
        return t("place.sheet", sheet=sheet)
    return page_place(spot.page, spot.page_label) if spot.page else ""


def spot(citation: Citation) -> list[str]:
    """Where a passage stands: its place and its heading, unless they are the same."""
    heading = [name for name in citation.headings[-1:] if name != citation.sheet]
    return [words for words in [place(citation), *heading] if words]


def said(quote: str, claims: Sequence[str]) -> list[tuple[str, bool]]:
    """The quote in pieces; the sentences that were taken from it word for word are True."""
    found = []
    for claim in claims:
        words = map(re.escape, claim.split())
        match = re.search(r"\s+".join(words) or r"(?!)", quote)
        if match and len(match[0]) < len(quote.strip()):
            found.append(match.span())
    pieces: list[tuple[str, bool]] = []
    at = 0
    for start, end in sorted(found):
        if start >= at:
            pieces += [(quote[at:start], False), (quote[start:end], True)]
            at = end
    return [piece for piece in [*pieces, (quote[at:], False)] if piece[0]]


def figures(quote: str, claim: str) -> list[tuple[str, bool]]:
    """The quote in pieces; the pieces that hold a figure of the claim are True."""
    wanted = set(_DIGITS.findall(claim))
    pieces: list[tuple[str, bool]] = []
    at = 0
    for match in _FIGURE.finditer(quote):
        if wanted.intersection(_DIGITS.findall(match[0])):
            end = match.start() + len(match[0].rstrip(".,"))
            pieces += [(quote[at : match.start()], False), (quote[match.start() : end], True)]
            at = end
    return [piece for piece in [*pieces, (quote[at:], False)] if piece[0]]
