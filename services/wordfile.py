"""A Word file written from Markdown, with real footnotes, which python-docx does not make."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from xml.sax.saxutils import escape

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from docx.text.paragraph import Paragraph
from markdown_it import MarkdownIt
from markdown_it.token import Token

_OPEN, _CLOSE = "\ue000", "\ue001"
"""Stand around a footnote's number while Markdown is read."""
_NOTE = re.compile(f"{_OPEN}(\\d+){_CLOSE}")
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""Characters that XML cannot hold."""
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
_RAISED = '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr>'
_DEEPEST = 3
"""Word's own list styles go so deep."""


class WordFile:
    """A document under way. ``notes`` are the texts of its footnotes, the first is number 1."""

    def __init__(self, title: str, notes: Sequence[str]) -> None:
        self._document = docx.Document()
        self._document.core_properties.title = _writable(title)[:255]
        self._document.core_properties.author = ""
        self._document.add_heading(_writable(title), 0)
        self._notes = notes
        self._parser = MarkdownIt("commonmark", {"html": False}).enable("table")
        if notes:
            package = self._document.part.package
            data = _footnotes(notes).encode("utf-8")
            part = Part(PackURI("/word/footnotes.xml"), _TYPE, data, package)
            self._document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)

    def heading(self, text: str) -> None:
        self._document.add_heading(_writable(text), 1)

    def bullet(self, text: str) -> None:
        self._document.add_paragraph(_writable(text), "List Bullet")

    def markdown(self, pieces: Sequence[str | int]) -> None:
        """Text in Markdown, a number standing for a footnote. Pictures and HTML stay text."""
        text = "".join(
            re.sub(f"[{_OPEN}{_CLOSE}]", "", p) if isinstance(p, str) else f"{_OPEN}{p}{_CLOSE}"
            for p in pieces
        )
        tokens = self._parser.parse(_writable(text))
        lists: list[str] = []
        style: str | None = None
        rows: list[list[Token]] = []
        for token in tokens:
            match token.type:
                case "heading_open":
                    style = f"Heading {min(int(token.tag[1:]) + 1, 9)}"
                case "heading_close":
                    style = None
                case "bullet_list_open" | "ordered_list_open":
                    lists.append("List Bullet" if token.tag == "ul" else "List Number")
                case "bullet_list_close" | "ordered_list_close":
                    lists.pop()
                case "table_open":
                    rows = []
                case "tr_open":
                    rows.append([])
                case "table_close":
                    self._table(rows)
                    rows = []
                case "inline" if rows:
                    rows[-1].append(token)
                case "inline":
                    self._inline(self._paragraph(style, lists), token)
                case "fence" | "code_block":
                    run = self._document.add_paragraph().add_run(token.content.rstrip("\n"))
                    run.font.name = "Courier New"

    def bytes(self) -> bytes:
        """The file."""
        held = io.BytesIO()
        self._document.save(held)
        return held.getvalue()

    def _paragraph(self, style: str | None, lists: Sequence[str]) -> Paragraph:
        if style is None and lists:
            depth = min(len(lists), _DEEPEST)
            style = lists[-1] if depth == 1 else f"{lists[-1]} {depth}"
        return self._document.add_paragraph(style=style)

    def _table(self, rows: Sequence[Sequence[Token]]) -> None:
        if not rows:
            return
        table = self._document.add_table(len(rows), max(map(len, rows)), "Table Grid")
        for row, cells in zip(table.rows, rows, strict=True):
            for cell, token in zip(row.cells, cells, strict=False):
                self._inline(cell.paragraphs[0], token)

    def _inline(self, paragraph: Paragraph, token: Token) -> None:
        bold = italic = 0
        for child in token.children or ():
            match child.type:
                case "strong_open" | "strong_close":
                    bold += child.nesting
                case "em_open" | "em_close":
                    italic += child.nesting
                case "softbreak":
                    self._text(paragraph, " ", bold, italic)
                case "hardbreak":
                    paragraph.add_run().add_break()
                case _:
                    self._text(paragraph, child.content, bold, italic)

    def _text(self, paragraph: Paragraph, text: str, bold: int, italic: int) -> None:
        for at, piece in enumerate(_NOTE.split(text)):
            if at % 2:
                _refer(paragraph, int(piece))
            elif piece:
                run = paragraph.add_run(piece)
                run.bold, run.italic = bool(bold) or None, bool(italic) or None


def _refer(paragraph: Paragraph, number: int) -> None:
    """The raised number that leads to a footnote."""
    run = paragraph.add_run()
    run.font.superscript = True
    reference = OxmlElement("w:footnoteReference")
    reference.set(qn("w:id"), str(number))
    run._r.append(reference)


def _footnotes(notes: Sequence[str]) -> str:
    """The part of the package that holds the footnotes, after the two that Word wants itself."""
    lines = "".join(
        f'<w:footnote w:type="{mark}" w:id="{number}"><w:p><w:r><w:{mark}/></w:r></w:p>'
        "</w:footnote>"
        for number, mark in ((-1, "separator"), (0, "continuationSeparator"))
    )
    texts = "".join(
        f'<w:footnote w:id="{number}"><w:p><w:r>{_RAISED}<w:footnoteRef/></w:r>'
        f'<w:r><w:t xml:space="preserve"> {escape(_writable(note))}</w:t></w:r></w:p></w:footnote>'
        for number, note in enumerate(notes, start=1)
    )
    head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>'
    return f'{head}<w:footnotes xmlns:w="{_W}">{lines}{texts}</w:footnotes>'


def _writable(text: str) -> str:
    return _UNWRITABLE.sub("", text)
