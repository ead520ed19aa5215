"""PowerPoint decks: each slide's title, then all its shapes, tables, charts and notes, apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.attributes import whole
from services.parsers.drawings import chart_rows, diagram_lines
from services.parsers.ooxml import A, C, P, Package, R, without_alternatives
from services.parsers.outline import Outline

_TITLES = ("title", "ctrTitle")
_BODIES = ("body", "obj", "")
_MARGINS = ("ftr", "hdr", "dt")


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a deck. Unit: slides, hidden ones too (named in the report)."""
    document = Document()
    report = document.report
    with Package(path, "PowerPoint file", password) as package:
        package.facts(document)
        main = package.main
        links = package.relations(main)
        parts = [
            links[link.get(f"{R}id", "")].target
            for link in package.xml(main).iter(f"{P}sldId")
            if link.get(f"{R}id") in links
        ]
        deck = _Deck(package, document)
        for number, part in enumerate(parts, 1):
            deck.slide(number, part)
            if progress:
                progress(number, len(parts))
    document.blocks = deck.outline.blocks
    document.title = document.title or deck.outline.first_title
    document.units = {"slides": len(parts)}
    report.unit = "slide"
    report.units_total = len(parts)
    read = {block.slide for block in document.blocks if block.text.strip()}
    report.unread = [number for number in range(1, len(parts) + 1) if number not in read]
    report.units_read = len(parts) - len(report.unread)
    report.note_hidden(deck.hidden)
    if deck.skipped:
        report.note(
            "shapes_skipped",
            f"{deck.skipped} damaged shapes could not be read.",
            count=deck.skipped,
        )
    return document


class _Deck:
    def __init__(self, package: Package, document: Document) -> None:
        self.outline = Outline()
        self.skipped = 0
        self.hidden = 0
        self._package = package
        self._report = document.report
        self._margins: set[str] = set()
        self._number = 0
        self._part = ""

    def slide(self, number: int, part: str) -> None:
        self._number, self._part = number, part
        self.outline.leave()
        root = self._package.optional(part)
        if root is None:
            return
        if root.get("show") in ("0", "false"):
            self._report.hidden.append(str(number))
        without_alternatives(root)
        tree = root.find(f"{P}cSld/{P}spTree")
        found = list(_shapes(tree)) if tree is not None else []
        shapes = [shape for shape in found if not _is_hidden(shape)]
        self.hidden += sum(bool(_lines(shape)) for shape in found if _is_hidden(shape))
        # The title leads, wherever it lies among the shapes.
        for shape in sorted(shapes, key=lambda one: _placeholder(one) not in _TITLES):
            try:
                self._shape(shape)
            except LookupError:
                self.skipped += 1
        self._notes(part)

    def _add(self, kind: str, text: str) -> None:
        if text.strip():
            block = Block.model_validate({"kind": kind, "text": text, "slide": self._number})
            self.outline.add(block)

    def _shape(self, shape: etree._Element) -> None:
        role = _placeholder(shape)
        if shape.tag == f"{P}pic":
            self._report.pictures += 1
            described = shape.find(f"{P}nvPicPr/{P}cNvPr")
            self._add("picture", (described.get("descr") or "") if described is not None else "")
        elif shape.tag == f"{P}graphicFrame":
            self._frame(shape)
        elif role in _TITLES:
            text = "\n".join(line for _, line in _lines(shape))
            if self.outline.path:  # a second title on one slide
                self._add("paragraph", text)
            else:
                self.outline.heading(text, 1, slide=self._number)
        elif role != "sldNum":
            lines = _lines(shape)
            if role in _MARGINS:
                text = "\n".join(line for _, line in lines)
                if text in self._margins:
                    return
                self._margins.add(text)
            if len(lines) > 1 and (role in _BODIES or _has_bullets(shape)):
                text = "\n".join(f"{'  ' * depth}- {line}" for depth, line in lines)
                self._add("list", text)
            else:  # lines of one block would read as one wrapped paragraph
                for _, line in lines:
                    self._add("paragraph", line)

    def _frame(self, frame: etree._Element) -> None:
        table = frame.find(f".//{A}tbl")
        if table is not None:
            self._table(_table_rows(table), _first_row_is_header(table))
        for link in frame.iter(f"{C}chart"):
            relation = self._package.relations(self._part)[link.get(f"{R}id", "")]
            root = self._package.optional(relation.target)
            if root is None:
                raise LookupError(relation.target)
            title, rows = chart_rows(root)
            self._add("caption", title)
            self._table(rows, header=True)
        lines = diagram_lines(self._package, self._part, frame)
        self._add("list", "\n".join(f"- {line}" for line in lines))

    def _table(self, rows: list[list[str]], header: bool) -> None:
        rows = [row for row in rows if any(row)]
        if not rows:
            return
        for block in tables.blocks(
            rows,
            range(1, len(rows) + 1),
            header_rows=int(len(rows) > 1 and (header or tables.has_header(rows))),
            first_id=len(self.outline.blocks),
            slide=self._number,
        ):
            self.outline.add(block)

    def _notes(self, part: str) -> None:
        for relation in self._package.relations(part).values():
            if relation.type not in ("notesSlide", "comments"):
                continue
            root = self._package.optional(relation.target)
            if root is None:
                continue
            without_alternatives(root)
            if relation.type == "notesSlide":
                for shape in root.iter(f"{P}sp"):
                    if _placeholder(shape) in ("body", "obj"):
                        self._add("note", "\n\n".join(line for _, line in _lines(shape)))
            else:
                for comment in root.iter(f"{P}text"):
                    self._add("note", f"Comment: {comment.text}" if comment.text else "")


def _shapes(tree: etree._Element) -> Iterator[etree._Element]:
    """Shapes, pictures and frames in drawing order, those inside groups too."""
    for child in tree:
        if child.tag in (f"{P}sp", f"{P}pic", f"{P}graphicFrame", f"{P}cxnSp"):
            yield child
        elif child.tag == f"{P}grpSp":
            yield from _shapes(child)


def _is_hidden(shape: etree._Element) -> bool:
    """Whether a shape was made invisible, by itself or with its group."""
    groups = (above for above in shape.iterancestors(f"{P}grpSp"))
    return any(
        properties.get("hidden") in ("1", "true")
        for one in (shape, *groups)
        for properties in one.iterfind(f"*/{P}cNvPr")
    )


def _placeholder(shape: etree._Element) -> str | None:
    """The role of a shape on its slide ("title", "body", "" ...); None for free shapes."""
    found = shape.find(f"{P}nvSpPr/{P}nvPr/{P}ph")
    return found.get("type", "") if found is not None else None


def _has_bullets(shape: etree._Element) -> bool:
    return any(True for _ in shape.iter(f"{A}buChar", f"{A}buAutoNum"))


def _lines(element: etree._Element) -> list[tuple[int, str]]:
    """The paragraphs of a shape or cell that hold text, each with its depth."""
    lines: list[tuple[int, str]] = []
    for paragraph in element.iter(f"{A}p"):
        parts = (
            "\n" if part.tag == f"{A}br" else part.text or ""
            for part in paragraph.iter(f"{A}t", f"{A}br")
        )
        text = "".join(parts).replace("\x0b", "\n").strip()
        properties = paragraph.find(f"{A}pPr")
        depth = properties.get("lvl", "0") if properties is not None else "0"
        if text:
            lines.append((whole(depth, most=9), text))
    return lines


def _table_rows(table: etree._Element) -> list[list[str]]:
    """Texts of a table's cells; merged cells have theirs in the first place only."""
    return [
        [
            ""
            if cell.get("hMerge") in ("1", "true") or cell.get("vMerge") in ("1", "true")
            else tables.cell(" ".join(line for _, line in _lines(cell)))
            for cell in row.iter(f"{A}tc")
        ]
        for row in table.iter(f"{A}tr")
    ]


def _first_row_is_header(table: etree._Element) -> bool:
    properties = table.find(f"{A}tblPr")
    return properties is not None and properties.get("firstRow") in ("1", "true")
