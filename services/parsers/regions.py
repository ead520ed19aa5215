"""The cells of a sheet as tables, the same for every kind of workbook.

A region is a run of rows without a blank row between them, in the columns it uses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from services.models import Block, Document, ImportReport
from services.parsers import Progress, tables
from services.parsers.cells import Merge, Row

CELLS = 2_000_000
CHARACTERS = 100_000_000
_MOST_HEADER_ROWS = 3


class Budget:
    """How much of a workbook may still be read; ``over`` once something was left."""

    def __init__(self) -> None:
        self._cells = CELLS
        self._characters = CHARACTERS
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

    def tell(self, report: ImportReport, cut: list[str]) -> None:
        """Say which sheets were cut, if any."""
        if cut:
            report.note(
                "cells_cut",
                f"Only the first {CELLS:,} cells were read; cut: {', '.join(cut)}.",
                cells=CELLS,
                sheets=cut,
            )


@dataclass(frozen=True)
class OpenSheet:
    """A sheet whose rows are about to be read; ``finish`` adds what stands on it beside cells."""

    name: str
    rows: Iterator[Row]
    merges: list[Merge]
    hidden: bool = False
    finish: Callable[[], None] = lambda: None


def add_sheets(
    document: Document, sheets: Iterable[OpenSheet], count: int, progress: Progress | None
) -> None:
    """Read ``count`` sheets one after the other into a document and its report."""
    report = document.report
    budget = Budget()
    cut: list[str] = []
    for number, sheet in enumerate(sheets, 1):
        before = len(document.blocks)
        if sheet.hidden:
            report.hidden.append(sheet.name)
        sheet_tables = SheetTables(document, sheet.name, sheet.merges)
        for region in regions(budget.spend(sheet.rows)):
            sheet_tables.add(region)
        sheet.finish()
        if budget.over:
            cut.append(sheet.name)
        if len(document.blocks) == before:
            report.unread.append(number)
        if progress:
            progress(number, count)
    fill_report(document, count, budget, cut)


def fill_report(document: Document, sheets: int, budget: Budget, cut: list[str]) -> None:
    """What is said of every workbook: its sheets, and those that were cut."""
    document.units = {"sheets": sheets}
    report = document.report
    report.unit = "sheet"
    report.units_total = sheets
    report.units_read = sheets - len(report.unread)
    budget.tell(report, cut)


def note_unsolved(report: ImportReport, count: int) -> None:
    """Say how many formulas have no stored result; nothing where all have one."""
    if count:
        report.note(
            "no_stored_result",
            f"{count} formulas have no stored result; the formulas are shown instead.",
            count=count,
        )


def regions(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Runs of rows whose numbers follow each other."""
    region: list[Row] = []
    for row in rows:
        if region and row.number != region[-1].number + 1:
            yield region
            region = []
        region.append(row)
    if region:
        yield region


@dataclass(frozen=True)
class _Heads:
    """The head of a table: its rows, the columns they stand in, and those that hold numbers."""

    rows: list[list[str]]
    columns: list[int]
    counting: set[int]


class SheetTables:
    """The regions of one sheet, one after the other, as tables of ``document``."""

    def __init__(self, document: Document, sheet: str, merges: list[Merge]) -> None:
        self._document, self._sheet, self._merges = document, sheet, merges
        self._heads: _Heads | None = None

    def add(self, region: list[Row]) -> None:
        """A region as an optional title and a table under the sheet's name. Rows that stand below
        a table without heads of their own, such as its totals, go on with its heads."""
        columns = sorted({column for row in region for column in row.cells})
        inside = [
            merge
            for merge in self._merges
            if merge.top <= region[-1].number and merge.bottom >= region[0].number
        ]
        wide = _fill(region, columns, inside)
        rows = [[row.cells.get(column, "") for column in columns] for row in region]
        numbers = [row.number for row in region]
        title, *body = rows
        if len(rows) == len(columns) == 1 and not tables.is_number(title[0]):
            self._write(Block(text=title[0], row=numbers[0]), [])
            return
        path: list[str] = []
        if len(columns) > 1 and body and len(set(filter(None, title))) == 1:
            words = next(filter(None, title))
            if not tables.is_number(words):
                self._write(Block(kind="heading", text=words, level=3, row=numbers[0]), [])
                path, rows, numbers = [words], body, numbers[1:]
        heads = _header_rows(rows, [number in wide for number in numbers])
        above = None if heads or path else self._above(columns, rows)
        if above:
            rows = [[row.cells.get(column, "") for column in above.columns] for row in region]
            rows, numbers = [*above.rows, *rows], [numbers[0]] * len(above.rows) + numbers
            heads = len(above.rows)
        else:
            counting = _counting(columns, rows[heads:])
            self._heads = _Heads(rows[:heads], columns, counting) if heads else None
        made = tables.blocks(rows, numbers, header_rows=heads, first_id=len(self._document.blocks))
        if above:
            made[0].continues = f"b{len(self._document.blocks) - 1}"
        for block in made:
            self._write(block, path)

    def _write(self, block: Block, path: list[str]) -> None:
        block.sheet, block.headings = self._sheet, [self._sheet, *path]
        self._document.blocks.append(block)

    def _above(self, columns: list[int], rows: list[list[str]]) -> _Heads | None:
        """The heads of the table above, where rows stand in its columns and count what it
        counts."""
        above = self._heads
        counting = _counting(columns, rows)
        fits = (
            above
            and self._document.blocks[-1].kind == "table"
            and above.columns[0] == columns[0]
            and counting
            and counting <= above.counting
            and set(columns) <= set(above.columns)
        )
        return above if fits else None


def _counting(columns: list[int], rows: list[list[str]]) -> set[int]:
    """Columns that hold a number in some row."""
    return {
        column
        for place, column in enumerate(columns)
        if any(tables.is_number(row[place]) for row in rows)
    }


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
