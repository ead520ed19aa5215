"""Excel workbooks: every sheet's regions of cells as tables, hidden sheets too.

A region is a run of rows without a blank row between them, in the columns it uses. Merged values
are filled over their range, stored results stand for formulas, and a budget of cells keeps a huge
workbook within time and memory: what was cut is named.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lxml import etree

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.cells import Book, Merge, Row
from services.parsers.drawings import chart_rows
from services.parsers.ooxml import A, C, Package, R, S

_CELL_BUDGET = 2_000_000
_TEXT_BUDGET = 100_000_000
_MOST_HEADER_ROWS = 3


@dataclass(frozen=True)
class _Sheet:
    name: str
    part: str
    hidden: bool


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a workbook. Unit: sheets. ``Block.row`` is the first row after a table's header."""
    document = Document()
    report = document.report
    with Package(path, "Excel file", password) as package:
        package.facts(document)
        main = package.main
        root = package.xml(main)
        sheets = list(_sheets(package, main, root))
        settings = root.find(f"{S}workbookPr")
        since_1904 = settings is not None and settings.get("date1904") in ("1", "true")
        book = Book(package, main, since_1904=since_1904)
        budget = _Budget(_CELL_BUDGET, _TEXT_BUDGET)
        cut: list[str] = []
        for number, sheet in enumerate(sheets, 1):
            before = len(document.blocks)
            merges = book.merges(sheet.part)
            rows = budget.spend(book.rows(sheet.part))
            for region in _regions(rows):
                _add_region(document, sheet.name, region, merges)
            _add_drawings(document, package, sheet)
            _add_comments(document, package, sheet)
            if budget.over:
                cut.append(sheet.name)
            if len(document.blocks) == before:
                report.unread.append(number)
            if progress:
                progress(number, len(sheets))
    document.units = {"sheets": len(sheets)}
    report.unit = "sheet"
    report.units_total = len(sheets)
    report.units_read = len(sheets) - len(report.unread)
    report.hidden = [sheet.name for sheet in sheets if sheet.hidden]
    if cut:
        report.note(
            "cells_cut",
            f"Only the first {_CELL_BUDGET:,} cells were read; cut: {', '.join(cut)}.",
            cells=_CELL_BUDGET,
            sheets=cut,
        )
    if book.unsolved:
        report.note(
            "no_stored_result",
            f"{book.unsolved} formulas have no stored result; the formulas are shown instead.",
            count=book.unsolved,
        )
    return document


class _Budget:
    """How much of a workbook may still be read; ``over`` once something was left."""

    def __init__(self, cells: int, characters: int) -> None:
        self._cells = cells
        self._characters = characters
        self.over = False

    def spend(self, rows: Iterable[Row]) -> Iterator[Row]:
        """Rows until the budget ends."""
        for row in rows:
            if self._cells <= 0 or self._characters <= 0:
                self.over = True
                return
            self._cells -= len(row.cells)
            self._characters -= sum(map(len, row.cells.values()))
            yield row


def _sheets(package: Package, main: str, root: etree._Element) -> Iterator[_Sheet]:
    links = package.relations(main)
    for item in root.iter(f"{S}sheet"):
        link = links.get(item.get(f"{R}id", ""))
        if link is not None:
            state = item.get("state", "visible")
            yield _Sheet(item.get("name", ""), link.target, state in ("hidden", "veryHidden"))


def _regions(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Runs of rows whose numbers follow each other."""
    region: list[Row] = []
    for row in rows:
        if region and row.number != region[-1].number + 1:
            yield region
            region = []
        region.append(row)
    if region:
        yield region


def _add_region(document: Document, sheet: str, region: list[Row], merges: list[Merge]) -> None:
    """A region as an optional title and a table under the sheet's name."""
    columns = sorted({column for row in region for column in row.cells})
    inside = [
        merge
        for merge in merges
        if merge.top <= region[-1].number and merge.bottom >= region[0].number
    ]
    wide = _fill(region, columns, inside)
    rows = [[row.cells.get(column, "") for column in columns] for row in region]
    numbers = [row.number for row in region]
    path = [sheet]
    if len(rows) == len(columns) == 1 and not tables.is_number(rows[0][0]):
        text = rows[0][0]
        document.blocks.append(Block(text=text, headings=path, sheet=sheet, row=numbers[0]))
        return
    first = 0
    while len(columns) > 1 and first < len(rows) - 1 and len(set(filter(None, rows[first]))) == 1:
        title = next(filter(None, rows[first]))
        if first or tables.is_number(title):
            break
        document.blocks.append(
            Block(kind="heading", text=title, level=3, headings=path, sheet=sheet, row=numbers[0])
        )
        path = [sheet, title]
        first += 1
    rows, numbers = rows[first:], numbers[first:]
    document.blocks += tables.blocks(
        rows,
        numbers,
        header_rows=_header_rows(rows, [number in wide for number in numbers]),
        first_id=len(document.blocks),
        sheet=sheet,
        headings=path,
    )


def _fill(region: list[Row], columns: list[int], merges: list[Merge]) -> set[int]:
    """Write merged values over their range where rows and columns are in use anyway.

    Returns the numbers of the rows with a value merged over several columns.
    """
    first = region[0].number
    wide: set[int] = set()
    for merge in merges:
        top = merge.top - first
        value = region[top].cells.get(merge.left) if 0 <= top < len(region) else None
        if value is None:
            continue
        if merge.right > merge.left:
            wide.add(merge.top)
        over = [column for column in columns if merge.left <= column <= merge.right]
        for row in region[top : merge.bottom - first + 1]:
            for column in over:
                row.cells.setdefault(column, value)
    return wide


def _header_rows(rows: list[list[str]], wide: list[bool]) -> int:
    """How many first rows are column heads: rows of merged groups, then the row below them."""
    count = 0
    while count < min(_MOST_HEADER_ROWS, len(rows)) - 1 and wide[count]:
        count += 1
    heads = [" ".join(filter(None, cells)) for cells in zip(*rows[: count + 1], strict=True)]
    if tables.has_header([heads, *rows[count + 1 :]]):
        return count + 1
    return int(count > 0 and tables.has_header(rows))


def _add_drawings(document: Document, package: Package, sheet: _Sheet) -> None:
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


def _add_comments(document: Document, package: Package, sheet: _Sheet) -> None:
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
