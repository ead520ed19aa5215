"""Old Excel workbooks (.xls): the same regions of cells as in new ones.

Results stand for formulas; numbers are shown as their formats say.
"""

from __future__ import annotations

import datetime as dt
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import xlrd  # type: ignore[import-untyped]
from xlrd.compdoc import CompDocError  # type: ignore[import-untyped]

from services.models import Block, Document
from services.parsers import Progress, formats, tables
from services.parsers.cells import Merge, Row
from services.parsers.protected import unlocked
from services.parsers.regions import OpenSheet, add_sheets
from services.parsers.sniff import damaged

_WHAT = "Excel file"
_BROKEN = (
    xlrd.XLRDError, CompDocError, struct.error, ArithmeticError, AssertionError, AttributeError,
    LookupError, NameError, OSError, RecursionError,
    TypeError, ValueError,
)  # fmt: skip
"""What a broken workbook makes its reader raise, besides the errors that are meant for it."""


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a workbook. Unit: sheets. ``Block.row`` is the first row after a table's header."""
    document = Document()
    _facts(path, document)
    with Path(os.devnull).open("w", encoding="utf-8") as log:
        try:
            book = _opened(path, password, log)
            sheets = (_sheet(document, book, number) for number in range(book.nsheets))
            add_sheets(document, sheets, book.nsheets, progress)
        except _BROKEN as error:
            raise damaged(_WHAT) from error
    return document


def _sheet(document: Document, book: xlrd.Book, number: int) -> OpenSheet:
    sheet = book.sheet_by_index(number)

    def finish() -> None:
        _add_comments(document, sheet.name, sheet)
        book.unload_sheet(number)

    hidden = bool(sheet.visibility)
    return OpenSheet(sheet.name, _rows(book, sheet), _merges(sheet), hidden, finish)


def _opened(path: Path, password: str | None, log: object) -> xlrd.Book:
    options = {"on_demand": True, "formatting_info": True, "ragged_rows": True, "logfile": log}
    data = path.read_bytes()
    try:
        return xlrd.open_workbook(file_contents=data, **options)
    except xlrd.XLRDError as error:
        if "encrypted" not in str(error):
            raise
    return xlrd.open_workbook(file_contents=unlocked(path, password).read(), **options)


def _rows(book: xlrd.Book, sheet: xlrd.sheet.Sheet) -> Iterator[Row]:
    """The rows of a sheet that hold values, in order."""
    codes: dict[int, str] = {}
    for at in range(sheet.nrows):
        cells: dict[int, str] = {}
        for column, cell in enumerate(sheet.row(at)):
            if cell.ctype in (xlrd.XL_CELL_NUMBER, xlrd.XL_CELL_DATE):
                style = cell.xf_index
                if style not in codes:
                    codes[style] = _code(book, style)
                text = formats.shown(cell.value, codes[style], since_1904=book.datemode == 1)
            else:
                text = _text(cell)
            if text:
                cells[column] = text
        if cells:
            yield Row(at + 1, cells)


def _code(book: xlrd.Book, style: int | None) -> str:
    """The number format of a cell style."""
    if style is None or style >= len(book.xf_list):
        return ""
    key = book.xf_list[style].format_key
    known = book.format_map.get(key)
    return formats.BUILT_IN.get(key) or (known.format_str if known else "")


def _text(cell: xlrd.sheet.Cell) -> str:
    if cell.ctype == xlrd.XL_CELL_BOOLEAN:
        return "TRUE" if cell.value else "FALSE"
    if cell.ctype == xlrd.XL_CELL_ERROR:
        return str(xlrd.error_text_from_code.get(cell.value, ""))
    return tables.cell(str(cell.value))


def _merges(sheet: xlrd.sheet.Sheet) -> list[Merge]:
    found = [
        Merge(top + 1, left, bottom, right - 1) for top, bottom, left, right in sheet.merged_cells
    ]
    return sorted(found, key=lambda merge: merge.top)


def _add_comments(document: Document, title: str, sheet: xlrd.sheet.Sheet) -> None:
    for (row, column), note in sorted(sheet.cell_note_map.items()):
        if text := note.text.strip():
            place = xlrd.formula.cellname(row, column)
            document.blocks.append(
                Block(
                    kind="note", text=f"Comment on {place}: {text}", sheet=title, headings=[title]
                )
            )


def _facts(path: Path, document: Document) -> None:
    """Title, author and date as the file's properties give them."""
    import olefile

    if not olefile.isOleFile(path):
        return
    try:
        with olefile.OleFileIO(path) as container:
            facts = container.get_metadata()
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise damaged(_WHAT) from error
    page = f"cp{(facts.codepage or 1252) & 0xFFFF}"
    for key, value in (("title", facts.title), ("author", facts.author)):
        text = _decoded(value, page).strip("\0 ") if isinstance(value, bytes) else ""
        if text and key == "title":
            document.title = text
        elif text:
            document.metadata[key] = text
    if isinstance(facts.create_time, dt.datetime) and facts.create_time.year > 1970:
        document.metadata["date"] = facts.create_time.isoformat()


def _decoded(value: bytes, page: str) -> str:
    try:
        return value.decode("utf-8" if page == "cp65001" else page, "replace")
    except LookupError:
        return value.decode("cp1252", "replace")
