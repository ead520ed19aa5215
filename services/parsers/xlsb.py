"""Binary Excel workbooks (.xlsb): streams of records in an Office container, read one by one.

Sheets are never held in memory, so a sheet that claims a million rows costs what it holds.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

from services.models import Document
from services.parsers import Progress, formats, tables
from services.parsers.cells import Merge, Row
from services.parsers.ooxml import PART_LIMIT, Package, Sheet, too_large
from services.parsers.regions import OpenSheet, add_sheets
from services.parsers.sniff import BROKEN_ZIP, damaged

_WHAT = "Excel file"

# Numbers of records, as [MS-XLSB] 2.3 gives them.
_ROW, _BLANK, _RK, _ERROR, _BOOL, _REAL, _STRING, _SHARED = range(8)
_FORMULA = {8: _STRING, 9: _REAL, 10: _BOOL, 11: _ERROR}
_SHORT = {12: _BLANK, 13: _RK, 14: _ERROR, 15: _BOOL, 16: _REAL, 17: _STRING, 18: _SHARED}
_RICH = 62
_SHARED_ITEM, _FORMAT, _STYLE, _SETTINGS, _SHEET, _MERGE = 19, 44, 47, 153, 156, 176
_STYLES_BEGIN, _STYLES_END = 617, 618
_ERRORS = {0: "#NULL!", 7: "#DIV/0!", 15: "#VALUE!", 23: "#REF!", 29: "#NAME?", 36: "#NUM!",
           42: "#N/A", 43: "#GETTING_DATA"}  # fmt: skip


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a workbook. Unit: sheets. ``Block.row`` is the first row after a table's header."""
    document = Document()
    try:
        with Package(path, _WHAT, password) as package:
            package.facts(document)
            book = _Book(package)
            opened = (
                OpenSheet(sheet.name, book.rows(sheet.part), book.merges(sheet.part), sheet.hidden)
                for sheet in book.sheets
            )
            add_sheets(document, opened, len(book.sheets), progress)
    except (IndexError, *BROKEN_ZIP) as error:
        raise damaged(_WHAT) from error
    return document


class _Book:
    """The sheets of a workbook and what their cells share."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self.sheets: list[Sheet] = []
        self._since_1904 = False
        main = package.main
        links = package.relations(main)
        for kind, data in _records(package, main):
            if kind == _SETTINGS:
                self._since_1904 = bool(data[0] & 1)
            elif kind == _SHEET:
                link, end = _wide(data, 8)
                relation = links.get(link)
                if relation is not None and relation.type == "worksheet":
                    hidden = struct.unpack_from("<I", data)[0] != 0
                    self.sheets.append(Sheet(_wide(data, end)[0], relation.target, hidden))
        shared = package.related(main, "sharedStrings")
        self._strings = [
            tables.cell(_wide(data, 1)[0])
            for kind, data in (_records(package, shared) if shared else ())
            if kind == _SHARED_ITEM
        ]
        self._codes = self._number_formats(package.related(main, "styles"))

    def rows(self, part: str) -> Iterator[Row]:
        """The rows of a sheet that hold values, in order."""
        row = Row(0)
        column = -1
        for kind, data in _records(self._package, part):
            if kind == _ROW:
                if row.cells:
                    yield row
                row, column = Row(struct.unpack_from("<I", data)[0] + 1), -1
                continue
            at = 8
            if kind in _SHORT:  # without a column: it follows the cell before
                column, at = column + 1, 4
            elif kind <= _SHARED or kind in _FORMULA or kind == _RICH:
                column = struct.unpack_from("<I", data)[0]
            else:
                continue
            style = int.from_bytes(data[at - 4 : at - 1], "little")
            what = _SHORT.get(kind, _FORMULA.get(kind, kind))
            if text := self._text(what, data, at, style):
                row.cells[column] = text
        if row.cells:
            yield row

    def merges(self, part: str) -> list[Merge]:
        """The merged ranges of a sheet, top down."""
        found = [
            Merge(top + 1, left, bottom + 1, right)
            for kind, data in _records(self._package, part)
            if kind == _MERGE
            for top, bottom, left, right in [struct.unpack_from("<4I", data)]
        ]
        return sorted(found, key=lambda merge: merge.top)

    def _text(self, what: int, data: bytes, at: int, style: int) -> str:
        if what == _SHARED:
            index = struct.unpack_from("<I", data, at)[0]
            return self._strings[index] if index < len(self._strings) else ""
        if what in (_STRING, _RICH):
            return tables.cell(_wide(data, at + (what == _RICH))[0])
        if what == _BOOL:
            return "TRUE" if data[at] else "FALSE"
        if what == _ERROR:
            return _ERRORS.get(data[at], "")
        if what == _BLANK:
            return ""
        number = _rk(data, at) if what == _RK else struct.unpack_from("<d", data, at)[0]
        code = self._codes[style] if style < len(self._codes) else ""
        return formats.shown(number, code, since_1904=self._since_1904)

    def _number_formats(self, part: str | None) -> list[str]:
        """For each cell style the code of its number format."""
        codes = dict(formats.BUILT_IN)
        styles: list[int] = []
        of_cells = False
        for kind, data in _records(self._package, part) if part else ():
            if kind == _FORMAT:
                codes[struct.unpack_from("<H", data)[0]] = _wide(data, 2)[0]
            elif kind in (_STYLES_BEGIN, _STYLES_END):
                of_cells = kind == _STYLES_BEGIN
            elif kind == _STYLE and of_cells:
                styles.append(struct.unpack_from("<H", data, 2)[0])
        return [codes.get(number, "") for number in styles]


def _records(package: Package, part: str) -> Iterator[tuple[int, bytes]]:
    """The records of a part: their number and content. Raises what a cut stream raises."""
    read = 0
    with package.open(part) as stream:
        while head := stream.read(1):
            kind = head[0]
            if kind & 0x80:
                kind = kind & 0x7F | stream.read(1)[0] << 7
            size = 0
            for shift in (0, 7, 14, 21):
                byte = stream.read(1)[0]
                size |= (byte & 0x7F) << shift
                if not byte & 0x80:
                    break
            read += size
            if size > PART_LIMIT or read > 16 * PART_LIMIT:
                raise too_large()
            data = stream.read(size)
            if len(data) < size:
                raise damaged(_WHAT)
            yield kind, data


def _wide(data: bytes, at: int) -> tuple[str, int]:
    """A string with its length before it, and where it ends."""
    count = struct.unpack_from("<I", data, at)[0]
    if count == 0xFFFFFFFF:  # none
        return "", at + 4
    end = at + 4 + 2 * count
    if end > len(data):
        raise damaged(_WHAT)
    return data[at + 4 : end].decode("utf-16-le", "replace"), end


def _rk(data: bytes, at: int) -> float:
    """A number in four bytes: an integer or the upper half of a float, perhaps in hundredths."""
    raw: int = struct.unpack_from("<i", data, at)[0]
    number = raw >> 2 if raw & 2 else struct.unpack("<d", struct.pack("<q", (raw & ~3) << 32))[0]
    return number / 100 if raw & 1 else float(number)
