"""The rows of an Excel sheet, streamed: stored values as text, dates in ISO form.

Read from the XML itself: the usual libraries give either a formula or its stored result, and
merged ranges only when a whole sheet is held in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO

from lxml import etree

from services.parsers import formats
from services.parsers.attributes import whole
from services.parsers.ooxml import Package, S
from services.parsers.sniff import BROKEN_ZIP, damaged

_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,9})")
_MERGED = re.compile(rb'mergeCell [^>]*?ref="([A-Z]{1,3}\d{1,9}):([A-Z]{1,3}\d{1,9})"')
_PLAIN = re.compile(r"-?\d{1,15}")


@dataclass(frozen=True)
class Merge:
    """A merged range, all bounds inclusive, columns from 0 and rows from 1."""

    top: int
    left: int
    bottom: int
    right: int


@dataclass
class Row:
    """A row with at least one value: its number, and texts by column from 0."""

    number: int
    cells: dict[int, str] = field(default_factory=dict)


class Book:
    """What the cells of all sheets share: strings, number formats, the calendar."""

    def __init__(self, package: Package, main: str, *, since_1904: bool) -> None:
        self._package = package
        self._since_1904 = since_1904
        self._strings = self._shared_strings(main)
        self._formats = self._number_formats(main)
        self.unsolved = 0
        """Formulas met without a stored result."""

    def rows(self, part: str) -> Iterator[Row]:
        """The rows of a sheet that hold values, in order."""
        number = 0
        with self._package.open(part) as stream:
            for element in _stream(stream, "row", self._package.what):
                number = whole(element.get("r"), number + 1)
                if len(element):
                    row = Row(number, self._cells(element))
                    if row.cells:
                        yield row

    def merges(self, part: str) -> list[Merge]:
        """The merged ranges of a sheet, top down; they stand behind the cells in the file."""
        found: list[Merge] = []
        rest = b""
        with self._package.open(part) as stream:
            while block := self._package.piece(stream):
                data = rest + block
                end = 0
                for match in _MERGED.finditer(data):
                    (left, top), (right, bottom) = (
                        _place(corner.decode()) for corner in match.groups()
                    )
                    found.append(Merge(top, left, bottom, right))
                    end = match.end()
                rest = data[max(end, len(data) - 200) :]
        return sorted(found, key=lambda merge: merge.top)

    def _cells(self, row: etree._Element) -> dict[int, str]:
        cells: dict[int, str] = {}
        column = -1
        for cell in row:
            reference = cell.get("r")
            column = _place(reference)[0] if reference else column + 1
            if len(cell) and (text := self._text(cell)):
                cells[column] = text
        return cells

    def _text(self, cell: etree._Element) -> str:
        kind = cell.get("t", "n")
        value: str | None = None
        formula: str | None = None
        for child in cell:
            name = child.tag.rpartition("}")[2]
            if name == "v":
                value = child.text
            elif name == "f":
                formula = child.text or ""
            elif name == "is":
                value = _string(child)
        if not value:
            if formula is None:
                return ""
            self.unsolved += 1
            return f"={formula}" if formula else ""
        if kind == "s":
            at = whole(value, -1)
            return self._strings[at] if 0 <= at < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if value == "1" else "FALSE"
        if kind == "d":
            return value.replace("T", " ").removesuffix(" 00:00:00")
        if kind != "n":
            return " ".join(value.split())
        return self._number(value, cell.get("s", "0"))

    def _number(self, value: str, style: str) -> str:
        at = whole(style)
        code = self._formats[at] if at < len(self._formats) else ""
        if not code and _PLAIN.fullmatch(value):
            return value
        try:
            return formats.shown(float(value), code, since_1904=self._since_1904)
        except ValueError:
            return value

    def _shared_strings(self, main: str) -> list[str]:
        part = self._package.related(main, "sharedStrings")
        if part is None:
            return []
        with self._package.open(part) as stream:
            return [_string(item) for item in _stream(stream, "si", self._package.what)]

    def _number_formats(self, main: str) -> list[str]:
        """For each cell style the code of its number format, "" for a plain number."""
        part = self._package.related(main, "styles")
        root = self._package.optional(part) if part else None
        if root is None:
            return []
        codes = dict(formats.BUILT_IN)
        for item in root.iter(f"{S}numFmt"):
            codes[whole(item.get("numFmtId"), -1)] = item.get("formatCode", "")
        styles = root.find(f"{S}cellXfs")
        found = [
            codes.get(whole(style.get("numFmtId")), "")
            for style in (styles if styles is not None else ())
        ]
        return ["" if formats.is_plain(code) else code for code in found]


def _place(reference: str) -> tuple[int, int]:
    """Column from 0 and row from 1 of a reference such as "B7"."""
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return 0, 1
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - 64
    return column - 1, int(match[2])


def _string(item: etree._Element) -> str:
    """A rich or plain string on one line, without its phonetic guide."""
    parts = [
        text.text or ""
        for text in item.iter("{*}t")
        if (parent := text.getparent()) is None or not parent.tag.endswith("}rPh")
    ]
    return " ".join("".join(parts).split())


def _stream(stream: IO[bytes], name: str, what: str) -> Iterator[etree._Element]:
    """Elements of a name as they are read; each is emptied after its turn."""
    found = etree.iterparse(
        stream,
        events=("end",),
        tag=f"{{*}}{name}",
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
    )
    try:
        for _, element in found:
            yield element
            parent = element.getparent()
            element.clear()
            if parent is not None:
                while element.getprevious() is not None:
                    del parent[0]
    except (etree.XMLSyntaxError, *BROKEN_ZIP) as error:
        raise damaged(what) from error
