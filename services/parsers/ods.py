"""OpenDocument sheets: every sheet's regions of cells as tables, hidden sheets too.

Rows are streamed. Blank rows and cells that stand for a million are stepped over, repeated values
are written out within the budget that all workbooks have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.cells import Merge, Row
from services.parsers.odf_package import (
    DC,
    DRAW,
    OFFICE,
    STYLE,
    TABLE,
    TEXT,
    XLINK,
    OpenPackage,
    chart,
    counted,
)  # fmt: skip
from services.parsers.regions import Budget, SheetTables, fill_report, note_unsolved, regions
from services.parsers.sniff import BROKEN_ZIP, damaged

_MOST_ROWS = 1 << 20
_MOST_COLUMNS = 1 << 14
_AMBIGUOUS = re.compile(r"\d{1,2}([./-])\d{1,2}\1(\d{2}|\d{4})")
"""Dates whose day, month or century depends on who reads them."""
_ONLY_LOOKS = frozenset({"percentage", "currency", "date", "time"})
"""Kinds of value whose text says more than the number that is stored."""


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a workbook. Unit: sheets. ``Block.row`` is the first row after a table's header."""
    document = Document()
    report = document.report
    budget = Budget()
    cut: list[str] = []
    with OpenPackage(path, password) as package:
        package.facts(document)
        reader = _Reader(package)
        while sheet := reader.next_sheet():
            before = len(document.blocks)
            merges: list[Merge] = []
            rows = list(budget.spend(reader.rows(sheet, merges)))
            merges.sort(key=lambda merge: merge.top)
            sheet_tables = SheetTables(document, sheet, merges)
            for region in regions(rows):
                sheet_tables.add(region)
            reader.skip_rest()
            document.blocks += [
                Block(kind="note", text=text, sheet=sheet, headings=[sheet])
                for text in reader.comments
            ]
            for target in reader.charts:
                _add_chart(document, sheet, chart(package, target), has_cells=bool(rows))
            if budget.over:
                cut.append(sheet)
            if len(document.blocks) == before:
                report.unread.append(len(reader.names))
            if progress:
                progress(len(reader.names), len(reader.names))
        names, report.hidden, report.pictures = reader.names, reader.hidden, reader.pictures
    fill_report(document, len(names), budget, cut)
    note_unsolved(report, reader.unsolved)
    return document


class _Reader:
    """Goes through the content once, sheet by sheet."""

    def __init__(self, package: OpenPackage) -> None:
        self.names: list[str] = []
        self.hidden: list[str] = []
        self.comments: list[str] = []
        self.charts: list[str] = []
        self.pictures = 0
        self.unsolved = 0
        self._invisible: set[str] = set()
        self._events = iter(
            etree.iterparse(
                package.package.open("content.xml"),
                events=("start", "end"),
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
                remove_comments=True,
            )
        )
        self._open = False

    def next_sheet(self) -> str | None:
        """The name of the next sheet; None when there is none."""
        for event, element in self._elements():
            if event == "end" and element.tag == f"{STYLE}style":
                if any(one.get(f"{TABLE}display") == "false" for one in element):
                    self._invisible.add(element.get(f"{STYLE}name", ""))
            elif event == "start" and element.tag == f"{TABLE}table":
                name = element.get(f"{TABLE}name", "") or f"Sheet {len(self.names) + 1}"
                self.names.append(name)
                if element.get(f"{TABLE}style-name") in self._invisible:
                    self.hidden.append(name)
                self.comments, self.charts, self._open = [], [], True
                return name
        return None

    def rows(self, sheet: str, merges: list[Merge]) -> Iterator[Row]:
        """The rows of the present sheet that hold values; merged ranges go to ``merges``."""
        number = 1
        inside = 0
        for event, element in self._elements():
            tag = element.tag
            if event == "start":
                inside += tag == f"{TABLE}table"
            elif tag == f"{TABLE}table":
                if not inside:
                    self._open = False
                    return
                inside -= 1
            elif tag == f"{TABLE}shapes":
                self._drawings(element)
            elif tag == f"{TABLE}table-row" and not inside:
                repeated = counted(element, f"{TABLE}number-rows-repeated", _MOST_ROWS)
                cells = self._cells(element, number, merges)
                for more in range(repeated if cells else 0):
                    yield Row(number + more, dict(cells))
                number = min(number + repeated, _MOST_ROWS)
                _forget(element)

    def skip_rest(self) -> None:
        """Go on to the end of a sheet whose rows were not all wanted."""
        inside = 0
        while self._open:
            event, element = next(self._elements(), ("end", None))
            if element is None:
                self._open = False
            elif element.tag == f"{TABLE}table":
                self._open = bool(inside) or event == "start"
                inside += 1 if event == "start" else -1
            elif event == "end" and element.tag == f"{TABLE}table-row":
                _forget(element)

    def _elements(self) -> Iterator[tuple[str, etree._Element]]:
        try:
            while (found := next(self._events, None)) is not None:
                yield found  # "yield from" would close the events with their first reader
        except (etree.XMLSyntaxError, *BROKEN_ZIP) as error:
            raise damaged("OpenDocument file") from error

    def _cells(self, row: etree._Element, number: int, merges: list[Merge]) -> dict[int, str]:
        cells: dict[int, str] = {}
        column = 0
        for cell in row:
            if cell.tag not in (f"{TABLE}table-cell", f"{TABLE}covered-table-cell"):
                continue
            repeated = counted(cell, f"{TABLE}number-columns-repeated", _MOST_COLUMNS)
            repeated = min(repeated, _MOST_COLUMNS - column)
            if len(cell) or cell.get(f"{OFFICE}value-type") or cell.get(f"{TABLE}formula"):
                if cell.tag == f"{TABLE}table-cell" and (text := self._text(cell)):
                    cells.update(dict.fromkeys(range(column, column + repeated), text))
                self._attached(cell, number, column)
            wide = counted(cell, f"{TABLE}number-columns-spanned", _MOST_COLUMNS)
            high = counted(cell, f"{TABLE}number-rows-spanned", _MOST_ROWS)
            if wide > 1 or high > 1:
                merges.append(Merge(number, column, number + high - 1, column + wide - 1))
            column += repeated
        return cells

    def _text(self, cell: etree._Element) -> str:
        """The stored value as people read it."""
        kind = cell.get(f"{OFFICE}value-type", "")
        shown = " ".join(filter(None, (_words(one) for one in cell.findall(f"{TEXT}p"))))
        if kind == "float":
            return _number(cell.get(f"{OFFICE}value", "")) or shown
        if kind == "boolean":
            return str(cell.get(f"{OFFICE}boolean-value", shown)).upper()
        if kind == "percentage" and shown:
            return _percentage(cell.get(f"{OFFICE}value", ""), shown)
        if kind == "date" and _AMBIGUOUS.fullmatch(shown):
            day = str(cell.get(f"{OFFICE}date-value", ""))
            return day.removesuffix("T00:00:00").replace("T", " ") or shown
        if shown or not kind:
            if not shown and (formula := cell.get(f"{TABLE}formula", "")):
                self.unsolved += 1
                return f"={formula.partition('=')[2]}"
            return shown
        if kind in _ONLY_LOOKS or kind == "string":
            names = ("value", "date-value", "time-value", "string-value")
            values = (cell.get(f"{OFFICE}{name}", "") for name in names)
            return next(filter(None, values), "").removesuffix("T00:00:00")
        return ""

    def _attached(self, cell: etree._Element, number: int, column: int) -> None:
        """Comments and drawings of a cell."""
        for note in cell.findall(f"{OFFICE}annotation"):
            author = " ".join((note.findtext(f"{DC}creator") or "").split())
            text = "\n".join(filter(None, (_words(one) for one in note.iter(f"{TEXT}p"))))
            if text:
                by = f" by {author}" if author else ""
                self.comments.append(f"Comment on {_letters(column)}{number}{by}: {text}")
        self._drawings(cell)

    def _drawings(self, parent: etree._Element) -> None:
        for item in parent.iter(f"{DRAW}object"):
            self.charts.append(item.get(f"{XLINK}href", ""))
        for frame in parent.iter(f"{DRAW}frame"):
            self.pictures += (
                frame.find(f"{DRAW}image") is not None and frame.find(f"{DRAW}object") is None
            )


def _add_chart(
    document: Document, sheet: str, found: tuple[str, list[list[str]]], *, has_cells: bool
) -> None:
    """A chart's title, and its numbers where no cells hold them."""
    title, rows = found
    if title:
        document.blocks.append(Block(kind="caption", text=title, sheet=sheet, headings=[sheet]))
    if rows and not has_cells:
        document.blocks += tables.blocks(
            rows,
            range(1, len(rows) + 1),
            header_rows=1,
            first_id=len(document.blocks),
            sheet=sheet,
            headings=[sheet],
        )


def _words(paragraph: etree._Element) -> str:
    parts: list[str] = []
    for one in paragraph.iter():
        if one.tag in (f"{TEXT}s", f"{TEXT}tab", f"{TEXT}line-break"):
            parts.append(" ")
        parts.append(one.text or "")
        if one is not paragraph:
            parts.append(one.tail or "")
    return " ".join("".join(parts).split())


def _number(value: str) -> str:
    try:
        return f"{float(value):.15g}"
    except ValueError:
        return value


def _percentage(value: str, shown: str) -> str:
    """A percentage as it is shown, or as it is stored where that is more exact."""
    try:
        exact = f"{float(value) * 100:.8g}%"
        rounded = float(shown.replace(",", ".").strip(" %\u00a0\u202f"))
    except ValueError:
        return shown
    return shown if f"{rounded:.8g}%" == exact else exact


def _letters(column: int) -> str:
    """The name of a column counted from 0: A, B ... AA."""
    name = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        name = chr(65 + rest) + name
    return name


def _forget(row: etree._Element) -> None:
    """Give back what a row that was read took."""
    row.clear()
    parent = row.getparent()
    while parent is not None and row.getprevious() is not None:
        del parent[0]
