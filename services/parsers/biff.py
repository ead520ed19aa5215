"""Old and binary Excel workbooks (.xls, .xlsb): the same regions of cells as in new ones.

The bytes are read by calamine, which gives values without their number formats: a percentage shows
as the fraction that is stored. Results stand for formulas.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Iterator
from pathlib import Path

import python_calamine as calamine

from services.models import Document
from services.parsers import Progress, tables
from services.parsers.cells import Merge, Row
from services.parsers.protected import unlocked
from services.parsers.regions import Budget, add_region, fill_report, regions
from services.parsers.sniff import damaged

_WHAT = "Excel file"


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a workbook. Unit: sheets. ``Block.row`` is the first row after a table's header."""
    document = Document()
    report = document.report
    budget = Budget()
    cut: list[str] = []
    _facts(path, document)
    try:
        book = _opened(path, password)
        sheets = [
            one for one in book.sheets_metadata if one.typ == calamine.SheetTypeEnum.WorkSheet
        ]
        for number, about in enumerate(sheets, 1):
            before = len(document.blocks)
            sheet = book.get_sheet_by_name(about.name)
            merges = _merges(sheet)
            for region in regions(budget.spend(_rows(sheet))):
                add_region(document, about.name, region, merges)
            if budget.over:
                cut.append(about.name)
            if len(document.blocks) == before:
                report.unread.append(number)
            if progress:
                progress(number, len(sheets))
    except (calamine.CalamineError, OSError, ValueError) as error:
        raise damaged(_WHAT) from error
    visible = calamine.SheetVisibleEnum.Visible
    report.hidden = [one.name for one in sheets if one.visible != visible]
    fill_report(document, len(sheets), budget, cut)
    return document


def _opened(path: Path, password: str | None) -> calamine.CalamineWorkbook:
    data = path.read_bytes()
    try:
        return calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
    except calamine.CalamineError as error:
        # An old workbook says itself that it is locked, a binary one lies in a locked package.
        packed = "EncryptedPackage".encode("utf-16-le") in data
        if not packed and not isinstance(error, calamine.PasswordError):
            raise
    return calamine.CalamineWorkbook.from_filelike(unlocked(path, password))


def _rows(sheet: calamine.CalamineSheet) -> Iterator[Row]:
    """The rows of a sheet that hold values, in order; numbers count from the sheet's top."""
    top, left = sheet.start or (0, 0)
    for number, values in enumerate(sheet.to_python(skip_empty_area=True), top + 1):
        cells = {
            column: text for column, value in enumerate(values, left) if (text := _text(value))
        }
        if cells:
            yield Row(number, cells)


def _merges(sheet: calamine.CalamineSheet) -> list[Merge]:
    found = [
        Merge(top + 1, left, bottom + 1, right)
        for (top, left), (bottom, right) in sheet.merged_cell_ranges or ()
    ]
    return sorted(found, key=lambda merge: merge.top)


def _text(value: object) -> str:
    """A value as in new workbooks: dates in ISO form, numbers without a trailing ".0"."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"{value:.15g}"
    if isinstance(value, dt.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    return tables.cell(str(value))


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
