"""Delimited text (CSV, TSV and any other separator): one table, in blocks of whole rows."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.decoding import opened

_DELIMITERS = (",", ";", "\t", "|", "^", "~")
_DOUBLE = ("||", "::")
_UNIT = "\x1f"
_LONGEST_PREAMBLE = 20
_CELL_BUDGET = 2_000_000
_SAMPLE = 200_000
"""Characters by which the delimiter is chosen."""
_STATED = re.compile(r"sep=(.)\n", re.IGNORECASE)


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a delimited file. Units: rows of data (without the header) and columns."""
    document = Document()
    report = document.report
    rows: list[list[str]] = []
    numbers: list[int] = []
    left = _CELL_BUDGET
    csv.field_size_limit(1 << 30)
    total = 0
    file, decoded = opened(path)
    decoded.tell(report)
    with file:
        sample = file.read(_SAMPLE)
        stated = _STATED.match(sample)
        delimiter = stated[1] if stated else find_delimiter(sample)
        file.seek(0)
        if stated:
            file.readline()
        lines: Iterable[str] = file
        if delimiter in _DOUBLE:  # the reader knows single characters only
            lines = (line.replace(delimiter, _UNIT) for line in file)
        single = _UNIT if delimiter in _DOUBLE else delimiter
        reader = csv.reader(lines, delimiter=single, skipinitialspace=True)
        for number, row in enumerate(reader, 2 if stated else 1):
            cells = [tables.cell(value) for value in row] if left > 0 else row
            if not any(cells):
                continue
            total += 1
            if left > 0:
                rows.append(cells)
                numbers.append(number)
                left -= len(cells)
    if not rows:
        return document
    before = _preamble(rows)
    for row, number in zip(rows[:before], numbers, strict=False):
        document.blocks.append(Block(text=tables.line(row), row=number))
    rows, numbers, total = rows[before:], numbers[before:], total - before
    header_rows = int(tables.has_header(rows))
    document.blocks += tables.blocks(rows, numbers, header_rows=header_rows, first_id=before)
    report.unit = "row"
    report.units_total = total - header_rows
    report.units_read = len(rows) - header_rows
    report.tables = 1
    document.units = {"rows": report.units_total, "columns": max(map(len, rows))}
    if len(rows) < total:
        report.note(
            "rows_cut",
            f"Only the first {report.units_read} of {report.units_total} rows were read.",
            read=report.units_read,
            total=report.units_total,
        )
    return document


def _preamble(rows: Sequence[Sequence[str]]) -> int:
    """How many first rows stand above the table: a title, a date, remarks, each in one cell."""
    filled = [sum(map(bool, row)) for row in rows[:200]]
    usual = Counter(filled).most_common(1)[0][0]
    if usual < 2:
        return 0
    first = next(at for at, count in enumerate(filled) if count > 1)
    return first if first <= _LONGEST_PREAMBLE and filled[first] >= usual else 0


def find_delimiter(text: str) -> str:
    """The separator that splits the first rows most evenly into most columns; "," if none does.

    Two characters where every row has those two together and never one alone.
    """
    sample = text[:_SAMPLE]
    if len(sample) == _SAMPLE:  # the last row may be cut
        sample = sample[: sample.rfind("\n") + 1] or sample
    lines = [line for line in sample.split("\n")[:200] if line.strip()]
    for double in _DOUBLE:
        counts = {line.count(double) for line in lines}
        alone = any(line.count(double[0]) != 2 * line.count(double) for line in lines)
        if len(lines) > 1 and len(counts) == 1 and counts != {0} and not alone:
            return double
    best, best_score = ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        if delimiter not in sample:
            continue
        rows = csv.reader(io.StringIO(sample), delimiter=delimiter, skipinitialspace=True)
        widths = Counter(len(row) for row, _ in zip(rows, range(200), strict=False) if row)
        (width, count) = max(widths.items(), key=lambda item: (item[1], item[0]))
        if width < 2:
            continue
        # Rounded, so that one odd row does not outweigh more columns.
        score = (round(count / widths.total(), 1), width)
        if score > best_score:
            best, best_score = delimiter, score
    return best
