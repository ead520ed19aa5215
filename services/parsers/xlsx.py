"""Excel workbooks: every sheet's regions of cells as tables, hidden sheets too.

A region is a run of rows without a blank row between them, in the columns it uses. Merged values
are filled over their range, stored results stand for formulas, and a budget of cells keeps a huge
workbook within time and memory: what was cut is named.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.cells import Book
from services.parsers.drawings import chart_rows
from services.parsers.ooxml import A, C, Package, R, S, Sheet
from services.parsers.regions import OpenSheet, add_sheets, note_unsolved


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a workbook. Unit: sheets. ``Block.row`` is the first row after a table's header."""
    document = Document()
    with Package(path, "Excel file", password) as package:
        package.facts(document)
        main = package.main
        root = package.xml(main)
        sheets = list(_sheets(package, main, root))
        settings = root.find(f"{S}workbookPr")
        since_1904 = settings is not None and settings.get("date1904") in ("1", "true")
        book = Book(package, main, since_1904=since_1904)

        def opened(sheet: Sheet) -> OpenSheet:
            def finish() -> None:
                _add_drawings(document, package, sheet)
                _add_comments(document, package, sheet)

            rows, merges = book.rows(sheet.part), book.merges(sheet.part)
            return OpenSheet(sheet.name, rows, merges, sheet.hidden, finish)

        add_sheets(document, map(opened, sheets), len(sheets), progress)
    note_unsolved(document.report, book.unsolved)
    return document


def _sheets(package: Package, main: str, root: etree._Element) -> Iterator[Sheet]:
    links = package.relations(main)
    for item in root.iter(f"{S}sheet"):
        link = links.get(item.get(f"{R}id", ""))
        if link is not None:
            state = item.get("state", "visible")
            yield Sheet(item.get("name", ""), link.target, state in ("hidden", "veryHidden"))


def _add_drawings(document: Document, package: Package, sheet: Sheet) -> None:
    """Text boxes and titles of charts on a sheet; a chart's numbers where no cells hold them."""
    drawing = package.related(sheet.part, "drawing")
    root = package.optional(drawing) if drawing else None
    if drawing is None or root is None:
        return
    has_cells = any(block.sheet == sheet.name for block in document.blocks)
    for body in root.iter("{*}txBody"):
        lines = ("".join(t.text or "" for t in p.iter(f"{A}t")) for p in body.iter(f"{A}p"))
        if text := "\n".join(filter(str.strip, lines)):
            document.blocks.append(Block(text=text, sheet=sheet.name, headings=[sheet.name]))
    for link in root.iter(f"{C}chart"):
        relation = package.relations(drawing).get(link.get(f"{R}id", ""))
        chart = package.optional(relation.target) if relation else None
        if chart is None:
            continue
        title, rows = chart_rows(chart)
        if title:
            document.blocks.append(
                Block(kind="caption", text=title, sheet=sheet.name, headings=[sheet.name])
            )
        if rows and not has_cells:
            document.blocks += tables.blocks(
                rows,
                range(1, len(rows) + 1),
                header_rows=1,
                first_id=len(document.blocks),
                sheet=sheet.name,
                headings=[sheet.name],
            )


def _add_comments(document: Document, package: Package, sheet: Sheet) -> None:
    part = package.related(sheet.part, "comments")
    root = package.optional(part) if part else None
    for comment in root.iter(f"{S}comment") if root is not None else ():
        text = "".join(t.text or "" for t in comment.iter(f"{S}t")).strip()
        if text:
            document.blocks.append(
                Block(
                    kind="note",
                    text=f"Comment on {comment.get('ref', '')}: {text}",
                    sheet=sheet.name,
                    headings=[sheet.name],
                )
            )
