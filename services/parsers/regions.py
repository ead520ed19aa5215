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
        for region in regions(budget.spend(sheet.rows)):
            add_region(document, sheet.name, region, sheet.merges)
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


def add_region(document: Document, sheet: str, region: list[Row], merges: list[Merge]) -> None:
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
