"""OpenDocument texts and slides: the body in order, as it reads once tracked changes are accepted.

Deleted text stands apart from the body in these files, so leaving it out costs nothing. The package
and its styles, which sheets share, are in ``odf_package``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from lxml import etree

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.attributes import whole
from services.parsers.odf_package import (
    DC,
    DRAW,
    OFFICE,
    PRESENTATION,
    SVG,
    TABLE,
    TEXT,
    XLINK,
    OpenPackage,
    chart,
    counted,
)  # fmt: skip
from services.parsers.outline import Outline

_TEXTS = (f"{TEXT}p", f"{TEXT}h")
_LEFT_OUT = frozenset(
    {f"{TEXT}tracked-changes", f"{TEXT}ruby-text", f"{TEXT}note-citation", f"{SVG}title",
     f"{SVG}desc", f"{OFFICE}forms", f"{OFFICE}event-listeners", f"{OFFICE}annotation-end",
     f"{TEXT}list-header-template", f"{PRESENTATION}notes"}
)  # fmt: skip
_NO_TEXT = re.compile(r"[\W\d_]*")
_DEEPEST = 10
_MOST_SPACES = 200


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a text (it has no units) or slides (their unit, hidden ones too)."""
    document = Document()
    report = document.report
    with OpenPackage(path, password) as package:
        package.facts(document)
        content = package.content
        reader = _Reader(package, document)
        body = content.find(f"{OFFICE}body")
        text = body.find(f"{OFFICE}text") if body is not None else None
        if text is not None:
            reader.count_changes(text)
            reader.blocks(text)
            reader.margins()
        pages = [] if text is not None else list(content.iter(f"{DRAW}page"))
        for number, page in enumerate(pages, 1):
            if package.property(page, f"{DRAW}style-name", f"{PRESENTATION}visibility") == "hidden":
                report.hidden.append(str(number))
            reader.slide(page, number)
            if progress:
                progress(number, len(pages))
    report.note_hidden(reader.hidden)
    document.blocks = reader.outline.blocks
    document.title = document.title or reader.title or reader.outline.first_title
    if text is None:
        read = {block.slide for block in document.blocks if block.text.strip()}
        document.units = {"slides": len(pages)}
        report.unit, report.units_total = "slide", len(pages)
        report.unread = [number for number in range(1, len(pages) + 1) if number not in read]
        report.units_read = len(pages) - len(report.unread)
    return document


@dataclass
class _Paragraph:
    """A paragraph's text, and what hangs on it and comes after it."""

    text: str = ""
    frames: list[etree._Element] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self, package: OpenPackage, document: Document) -> None:
        self.outline = Outline()
        self.title = ""
        self._package = package
        self._report = document.report
        self._list: list[str] = []
        self._numbers: dict[str, list[int]] = {}
        self._slide: int | None = None
        self.hidden = 0
        """Places with text that is not shown."""

    def count_changes(self, text: etree._Element) -> None:
        changes = sum(1 for _ in text.iter(f"{TEXT}changed-region"))
        self._report.note_changes(changes)

    def blocks(self, parent: etree._Element) -> None:
        """The block-level content of a body, section, text box or cell."""
        for child in parent:
            self._block(child)
        self._flush()

    def slide(self, page: etree._Element, number: int) -> None:
        """A slide: its title first, wherever it lies among the shapes, its notes last."""
        self._slide = number
        self.outline.leave()
        shapes = list(page)
        for shape in sorted(shapes, key=lambda one: one.get(f"{PRESENTATION}class") != "title"):
            self._shape(shape)
        self._flush()
        for notes in page.iter(f"{PRESENTATION}notes"):
            text = "\n\n".join(
                self._flat(frame, "\n\n")
                for frame in notes.iter(f"{DRAW}frame")
                if frame.get(f"{PRESENTATION}class") == "notes"
            )
            self._add("note", text)

    def margins(self) -> None:
        """Headers and footers, each text once, after the body."""
        seen: set[str] = set()
        for part in self._package.margins():
            text = self._flat(part, "\n")
            if text not in seen and not _NO_TEXT.fullmatch(text):
                seen.add(text)
                self.outline.blocks.append(Block(kind="note", text=text))

    # --- blocks ------------------------------------------------------------------------------

    def _block(self, element: etree._Element) -> None:
        tag = element.tag
        if tag == f"{TEXT}section" and self._is_hidden(element):
            return
        if tag in _TEXTS:
            self._paragraph(element)
        elif tag == f"{TEXT}list":
            self._items(element, 0, "")
        elif tag == f"{TABLE}table":
            self._table(element)
        elif tag == f"{OFFICE}annotation":
            self._add("note", self._comment(element))
        elif isinstance(tag, str) and tag.startswith(DRAW):
            self._shape(element)
        elif tag not in _LEFT_OUT:
            for child in element:
                self._block(child)

    def _add(self, kind: str, text: str) -> None:
        if text.strip():
            self._flush()
            self.outline.add(
                Block.model_validate({"kind": kind, "text": text, "slide": self._slide})
            )

    def _flush(self) -> None:
        if self._list:
            lines, self._list = self._list, []
            self.outline.add(Block(kind="list", text="\n".join(lines), slide=self._slide))

    def _paragraph(self, element: etree._Element) -> None:
        paragraph = self._content(element)
        text = paragraph.text.strip()
        level = _level(element)
        named = "" if level else self._package.style_name(element.get(f"{TEXT}style-name", ""))
        if text and (level or named == "Title"):
            self._flush()
            if named == "Title":
                self.title = self.title or " ".join(text.split())
            self.outline.heading(text, level or 1, slide=self._slide)
        else:
            self._add("paragraph", text)
        self._attached(paragraph)

    def _attached(self, paragraph: _Paragraph) -> None:
        """Frames and notes of a paragraph, after it."""
        for frame in paragraph.frames:
            self._shape(frame)
        for note in paragraph.notes:
            self._add("note", note)

    def _items(self, element: etree._Element, depth: int, style: str) -> None:
        """A list; what is no text in it (headings, tables) stands between its parts."""
        style = element.get(f"{TEXT}style-name") or style
        counts = self._numbers.setdefault(style, [])
        if element.get(f"{TEXT}continue-numbering") != "true" and not element.get(
            f"{TEXT}continue-list"
        ):
            del counts[depth:]
        for item in element:
            fresh = item.tag == f"{TEXT}list-item"
            if fresh:
                counts += [0] * (depth + 1 - len(counts))
                counts[depth] = whole(item.get(f"{TEXT}start-value"), counts[depth] + 1)
            for child in item:
                if child.tag == f"{TEXT}list":
                    self._items(child, min(depth + 1, _DEEPEST), style)
                elif child.tag in _TEXTS and _level(child) is None:
                    paragraph = self._content(child)
                    mark = self._package.mark(style, depth, counts[depth]) if fresh else ""
                    if paragraph.text.strip():
                        line = f"{mark or ' '} {paragraph.text.strip()}"
                        self._list.append("  " * depth + line)
                        fresh = False
                    if paragraph.frames or paragraph.notes:
                        self._flush()
                        self._attached(paragraph)
                else:
                    self._flush()
                    self._block(child)
        if depth == 0:
            self._flush()

    def _shape(self, shape: etree._Element) -> None:
        """A frame or drawn shape: its text, table, chart or picture."""
        if shape.get(f"{PRESENTATION}placeholder") == "true":
            return
        if shape.tag in (f"{DRAW}g", f"{DRAW}a"):
            for child in shape:
                self._shape(child)
            return
        self._flush()
        role = shape.get(f"{PRESENTATION}class")
        if role == "title":
            text = self._flat(shape, "\n")
            if not self.outline.path:
                self.outline.heading(text, 1, slide=self._slide)
                return
        if role in ("footer", "header", "date-time", "page-number"):
            return
        self._picture(shape)
        for child in shape:
            if child.tag == f"{DRAW}text-box":
                self.blocks(child)
            elif child.tag == f"{DRAW}object":
                self._object(child)
            elif child.tag in (f"{TABLE}table", f"{TEXT}list", f"{OFFICE}annotation", *_TEXTS):
                self._block(child)
        self._flush()

    def _picture(self, shape: etree._Element) -> None:
        if shape.find(f"{DRAW}image") is None or shape.find(f"{DRAW}object") is not None:
            return
        self._report.pictures += 1
        described = shape.findtext(f"{SVG}desc") or shape.findtext(f"{SVG}title") or ""
        self._add("picture", " ".join(described.split()))

    def _object(self, element: etree._Element) -> None:
        """A chart as its title and its numbers."""
        title, rows = chart(self._package, element.get(f"{XLINK}href", ""))
        self._add("caption", title)
        self._rows(rows, 1)

    # --- text --------------------------------------------------------------------------------

    def _content(self, element: etree._Element) -> _Paragraph:
        found = _Paragraph()
        parts: list[str] = []
        gone = element.find(f".//{TEXT}hidden-paragraph[@{TEXT}is-hidden='true']")
        if gone is not None or self._is_hidden(element):
            self.hidden += gone is not None
            return found

        def walk(parent: etree._Element) -> None:
            if parent.text:
                parts.append(_squeezed(parent.text))
            for child in parent:
                tag = child.tag
                if self._is_hidden(child):
                    pass
                elif tag == f"{TEXT}s":
                    parts.append(" " * counted(child, f"{TEXT}c", _MOST_SPACES))
                elif tag == f"{TEXT}tab":
                    parts.append("\t")
                elif tag == f"{TEXT}line-break":
                    parts.append("\n")
                elif tag == f"{TEXT}note":
                    note = child.find(f"{TEXT}note-body")
                    found.notes.append(self._flat(note, "\n") if note is not None else "")
                elif tag == f"{OFFICE}annotation":
                    found.notes.append(self._comment(child))
                elif isinstance(tag, str) and tag.startswith(DRAW) and tag != f"{DRAW}a":
                    found.frames.append(child)
                elif tag not in _LEFT_OUT:
                    walk(child)
                if child.tail:
                    parts.append(_squeezed(child.tail))

        walk(element)
        found.text = "".join(parts)
        return found

    def _is_hidden(self, element: etree._Element) -> bool:
        """Whether an element is not shown; its text, if it has any, is counted as hidden."""
        if not self._package.hides(element):
            return False
        self.hidden += bool("".join(element.itertext()).strip())
        return True

    def _comment(self, element: etree._Element) -> str:
        author = " ".join((element.findtext(f"{DC}creator") or "").split())
        text = self._flat(element, "\n")
        if not text:
            return ""
        return f"Comment by {author}: {text}" if author else f"Comment: {text}"

    def _flat(self, parent: etree._Element, joiner: str) -> str:
        """All text below an element in one string: paragraphs, lists, tables and boxes in it."""
        parts: list[str] = []

        def walk(element: etree._Element) -> None:
            for child in element:
                if child.tag in _TEXTS:
                    content = self._content(child)
                    parts.append(content.text.strip())
                    for frame in content.frames:
                        self._report.pictures += frame.find(f"{DRAW}image") is not None
                        walk(frame)
                    parts.extend(content.notes)
                elif child.tag not in _LEFT_OUT and child.tag != f"{OFFICE}annotation":
                    walk(child)

        walk(parent)
        return joiner.join(part for part in parts if part.strip())

    def _table(self, element: etree._Element) -> None:
        self._flush()
        rows = list(_rows(element))
        cells = [list(_cells(row)) for row, _ in rows]
        if len(cells) == 1 and len(cells[0]) == 1:  # a frame around text
            self.blocks(cells[0][0][0])
            return
        marked = 0
        while marked < len(rows) and rows[marked][1]:
            marked += 1
        texts = [
            [
                text
                for cell, width in row
                for text in [tables.cell(self._flat(cell, " ")), *[""] * (width - 1)]
            ]
            for row in cells
        ]
        self._rows(texts, marked)

    def _rows(self, rows: list[list[str]], marked: int) -> None:
        kept = [at for at, row in enumerate(rows) if any(row)]
        marked = sum(at < marked for at in kept)
        texts = [rows[at] for at in kept]
        if not texts:
            return
        self._flush()
        if marked >= len(texts):
            marked = 0
        for block in tables.blocks(
            texts,
            [at + 1 for at in kept],
            header_rows=marked or int(tables.has_header(texts)),
            first_id=len(self.outline.blocks),
            slide=self._slide,
        ):
            self.outline.add(block)


def _level(element: etree._Element) -> int | None:
    """The level of a heading, None for other paragraphs."""
    if element.tag != f"{TEXT}h":
        return None
    return counted(element, f"{TEXT}outline-level", 10)


def _squeezed(text: str) -> str:
    """Text with its white space as these files mean it: a run of it is one space."""
    return re.sub(r"[ \t\r\n]+", " ", text)


def _rows(table: etree._Element, *, head: bool = False) -> Iterator[tuple[etree._Element, bool]]:
    """The rows of a table itself, each with whether it is a head that repeats on every page."""
    for child in table:
        if child.tag == f"{TABLE}table-row":
            yield child, head
        elif child.tag == f"{TABLE}table-header-rows":
            yield from _rows(child, head=True)
        elif child.tag in (f"{TABLE}table-row-group", f"{TABLE}table-rows"):
            yield from _rows(child, head=head)


def _cells(row: etree._Element) -> Iterator[tuple[etree._Element, int]]:
    """The cells of a row, each with how often it is repeated (blank ones come so).

    Merged cells have their text in the first place only; the covered places are cells too.
    """
    for cell in row:
        if cell.tag in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
            yield cell, counted(cell, f"{TABLE}number-columns-repeated", 200)
