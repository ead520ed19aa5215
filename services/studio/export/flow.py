"""An output's Markdown as parts that every file format can write: headings, text, tables.

Only CommonMark and tables; markup of other kinds, pictures and raw HTML are read as text. ``[n]``
is a citation unless it was escaped.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from markdown_it import MarkdownIt
from markdown_it.token import Token

from services.models import Citation
from services.speech import clock
from services.studio.models import StudioOutput, Used

_MARK = re.compile(r" ?\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\]")
_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_reader = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "text_join"])
LABELS = {
    "en": {
        "sources": "Sources",
        "table": "Table",
        "contents": "Contents",
        "passages": "Cited passages",
    },
    "de": {
        "sources": "Quellen",
        "table": "Tabelle",
        "contents": "Inhalt",
        "passages": "Zitierte Stellen",
    },
}


@dataclass(frozen=True)
class Run:
    """Text of one look; ``note`` is a citation's number, and then there is no text."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    link: str | None = None
    note: int | None = None


@dataclass
class Part:
    """One block. ``level`` is a heading's or an item's depth from 1; ``rows`` a table's cells, the
    heads first."""

    kind: Literal["heading", "paragraph", "item", "quote", "code", "table"]
    runs: list[Run] = field(default_factory=list)
    level: int = 1
    ordered: int | None = None
    """The number of an item of an ordered list."""
    rows: list[list[list[Run]]] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(run.text for run in self.runs)

    @property
    def numbers(self) -> set[int]:
        runs = [*self.runs, *(run for row in self.rows for cell in row for run in cell)]
        return {run.note for run in runs if run.note is not None}


def label(key: str, language: str) -> str:
    return LABELS.get(language, LABELS["en"])[key]


def clean(text: str) -> str:
    """Text without characters that XML cannot hold."""
    return _UNSAFE.sub("", text)


def parts(content: str) -> list[Part]:
    """The parts of a Markdown text, in order."""
    found: list[Part] = []
    lists: list[int | None] = []
    kind: Literal["heading", "paragraph"] = "paragraph"
    level, quoting = 1, 0
    row: list[list[Run]] | None = None
    for token in _reader.parse(clean(content)):
        match token.type:
            case "heading_open":
                kind, level = "heading", int(token.tag[1])
            case "heading_close":
                kind, level = "paragraph", 1
            case "bullet_list_open":
                lists.append(None)
            case "ordered_list_open":
                lists.append(int(token.attrGet("start") or 1))
            case "bullet_list_close" | "ordered_list_close":
                lists.pop()
            case "list_item_close":
                if lists and lists[-1] is not None:
                    lists[-1] += 1
            case "blockquote_open":
                quoting += 1
            case "blockquote_close":
                quoting -= 1
            case "table_open":
                found.append(Part("table"))
            case "tr_open":
                row = []
                found[-1].rows.append(row)
            case "tr_close":
                row = None
            case "fence" | "code_block":
                found.append(Part("code", [Run(token.content.rstrip("\n"), code=True)]))
            case "inline":
                runs = _runs(token.children or [])
                if row is not None:
                    row.append(runs)
                elif kind == "heading":
                    found.append(Part("heading", runs, level))
                elif lists:
                    found.append(Part("item", runs, len(lists), lists[-1]))
                else:
                    found.append(Part("quote" if quoting else "paragraph", runs))
    return found


def _runs(tokens: Sequence[Token]) -> list[Run]:
    runs: list[Run] = []
    bold = italic = 0
    link: str | None = None
    for plain, group in groupby(tokens, key=lambda token: token.type == "text"):
        pieces = list(group)
        if plain:
            text = "".join(token.content for token in pieces)
            runs += _marked(text, bool(bold), bool(italic), link)
            continue
        for token in pieces:
            match token.type:
                case "strong_open":
                    bold += 1
                case "strong_close":
                    bold -= 1
                case "em_open":
                    italic += 1
                case "em_close":
                    italic -= 1
                case "link_open":
                    link = _web(str(token.attrGet("href") or ""))
                case "link_close":
                    link = None
                case "softbreak" | "hardbreak":
                    runs.append(Run(" " if token.type == "softbreak" else "\n"))
                case "code_inline":
                    runs.append(Run(token.content, code=True))
                case "text_special":
                    runs.append(Run(token.content, bool(bold), bool(italic), link=link))
    return runs


def _web(address: str) -> str | None:
    """Only addresses of the web and of mail become links."""
    return address if address.startswith(("https://", "http://", "mailto:")) else None


def _marked(text: str, bold: bool, italic: bool, link: str | None) -> list[Run]:
    runs: list[Run] = []
    last = 0
    for match in _MARK.finditer(text):
        if match.start() > last:
            runs.append(Run(text[last : match.start()], bold, italic, link=link))
        runs += [Run("", note=int(number)) for number in match[1].split(",")]
        last = match.end()
    if last < len(text):
        runs.append(Run(text[last:], bold, italic, link=link))
    return runs


def place(citation: Citation, language: str) -> str:
    """Where a citation stands: source, page, sheet, slide or time."""
    german = language == "de"
    found = [citation.source_name]
    if citation.page:
        shown = citation.page_label or str(citation.page)
        both = citation.page_label and citation.page_label != str(citation.page)
        pdf = f" (PDF {citation.page})" if both else ""
        found.append(f"{'S.' if german else 'p.'} {shown}{pdf}")
    if citation.sheet:
        found.append(f"{'Blatt' if german else 'sheet'} {citation.sheet}")
    if citation.slide:
        found.append(f"{'Folie' if german else 'slide'} {citation.slide}")
    if citation.time is not None:
        found.append(clock(citation.time))
    return ", ".join(found)


def quote(citation: Citation) -> str:
    return " ".join(clean(citation.quote).split())


def reference(used: Used) -> str:
    """A source as a line of a bibliography, from what its file states and nothing else."""
    stated = used.metadata
    title = stated.get("title", "").strip()
    named = f"{title} ({used.name})" if title and title != used.name else used.name
    pieces = [stated.get("author", "").strip(), named, stated.get("date", "").strip()[:10]]
    pieces.append(used.url or "")
    return clean(". ".join(piece.rstrip(".") for piece in pieces if piece))


def cited_sources(output: StudioOutput) -> list[Used]:
    """The sources that are cited, in the order of ``used``."""
    ids = {citation.source_id for citation in output.citations}
    return [used for used in output.used if used.id in ids]
