"""A message, whatever file it came in: its headers, its text and what was attached to it.

The text is taken once: of a plain and an HTML version the HTML one when it says more (a table, more
words), else the plain one.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime

from services.models import Block, Document
from services.parsers.html import Walk, parse_html
from services.parsers.outline import Outline
from services.parsers.text import paragraphs
from services.parsers.webmain import without_machinery

_WORD = re.compile(r"\w+")
_RICHER = 1.2
"""How many times the words of the plain text an HTML version without a table must have."""


@dataclass
class Attached:
    """A file in a message: its name as stated, and its bytes."""

    name: str
    data: bytes


@dataclass
class Letter:
    """What is read of a message."""

    headers: dict[str, str] = field(default_factory=dict)
    """From, To, Cc, Date, Subject and others that are shown, as text."""
    plain: str = ""
    html: str = ""
    blocks: list[Block] = field(default_factory=list)
    """The text where it is neither plain nor HTML (RTF)."""
    attached: list[Attached] = field(default_factory=list)
    pictures: int = 0
    sealed: bool = False
    """A part holds words that only a key or a signature's envelope gives out."""
    outlook_only: bool = False
    """A part holds words and files in a form that only Outlook reads (TNEF)."""

    @property
    def subject(self) -> str:
        return " ".join(self.headers.get("Subject", "").split())


def add(letter: Letter, document: Document, outline: Outline) -> None:
    """Add a message's headers and text to an outline, and its counts to the report."""
    shown = [f"{name}: {value}" for name, value in letter.headers.items() if value]
    if shown:
        outline.add(Block(text="\n".join(shown)))
    document.report.pictures += letter.pictures
    document.report.attachments += [one.name for one in letter.attached]
    if letter.sealed:
        document.report.note(
            "mail_sealed",
            "A message is encrypted or sealed by its signature; what is inside was not read. "
            "Save it unprotected in the mail program and add that.",
        )
    if letter.outlook_only:
        document.report.note(
            "mail_outlook_only",
            "A message holds a part that only Outlook reads (winmail.dat); it was not read. "
            "Save the message in Outlook as .msg and add that.",
        )
    for block in _text(letter, document, outline.path):
        outline.blocks.append(block)


def facts(letter: Letter, document: Document) -> None:
    """Title and metadata of a document that is one message."""
    document.title = letter.subject
    names = {"From": "author", "To": "to", "Cc": "cc"}
    for name, key in names.items():
        if letter.headers.get(name):
            document.metadata[key] = letter.headers[name]
    if date := letter.headers.get("Date"):
        document.metadata["date"] = iso_date(date)


def iso_date(text: str) -> str:
    """A date in a message's own form as ISO 8601; as it stands when it has another form."""
    try:
        return parsedate_to_datetime(text).isoformat(" ")
    except (ValueError, TypeError, IndexError, OverflowError):
        return text


def written_date(moment: dt.datetime) -> str:
    """A moment in the form messages use."""
    return moment.strftime("%a, %d %b %Y %H:%M:%S %z")


def _text(letter: Letter, document: Document, path: list[str]) -> Iterable[Block]:
    """The blocks of the version that says most, under the headings that stand above it."""
    found: list[Block] = []
    if letter.html.strip():
        found = _html_blocks(letter.html, document)
    if letter.plain.strip() and not _is_richer(found, letter.plain):
        found = [Block(text=text) for text in paragraphs(letter.plain)]
    for block in found or letter.blocks:
        block.headings = [*path, *block.headings]
        block.continues = None  # its number was counted within the text alone
        yield block


def _is_richer(blocks: list[Block], plain: str) -> bool:
    words = sum(len(_WORD.findall(block.text)) for block in blocks)
    least = len(_WORD.findall(plain))
    structured = any(block.kind in ("table", "heading") for block in blocks)
    return words > _RICHER * least or (structured and words >= 0.8 * least)


def _html_blocks(html: str, document: Document) -> list[Block]:
    root = parse_html(html)
    if root is None:
        return []
    found = root.find("body")
    body = root if found is None else found
    without_machinery(body)
    walk = Walk(document)
    walk.blocks(body)
    return walk.outline.blocks
