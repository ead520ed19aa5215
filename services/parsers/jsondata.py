"""JSON and lines of JSON: records as a table, all else as one line a value, under its path."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.decoding import decode
from services.parsers.text import paragraphs

_VALUES = 1_000_000
"""Values read of one file."""
_LINES_PER_BLOCK = 60
_LONGEST_BLOCK = 2_000
_PROSE = 400
"""Characters from which a value is a paragraph of its own."""
_MOST_COLUMNS = 200
_DEEPEST = 60


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read JSON. A list of flat records is a table with rows and columns as units."""
    decoded = decode(path.read_bytes())
    document = Document()
    decoded.tell(document.report)
    values, broken = _values(decoded.text)
    if not values:
        document.blocks = [Block(text=text) for text in paragraphs(decoded.text)]
    else:
        content = values[0] if len(values) == 1 else values
        _Writer(document).write(content)
    if broken:
        document.report.note(
            "json_broken",
            f"Line {broken} is no valid JSON; "
            + ("what follows it was not read." if values else "the file was read as text."),
            line=broken,
        )
    return document


def _values(text: str) -> tuple[list[Any], int]:
    """The values of a file: one, or one a line. Also the first line that is none, from 1, or 0."""
    try:
        return [json.loads(text)], 0
    except (ValueError, RecursionError):
        pass
    found: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip(" \t\x1e"):
            continue
        try:
            found.append(json.loads(line.strip("\x1e")))
        except (ValueError, RecursionError):
            return found, number
    return found, 0


class _Writer:
    def __init__(self, document: Document) -> None:
        self._document = document
        self._report = document.report
        self._left = _VALUES
        self._lines: list[str] = []
        self._size = 0
        self._headings: list[str] = []

    def write(self, content: Any) -> None:
        records = _records(content)
        if records is not None:
            total = len(records)
            written = self._table(records, "")
            self._document.units = {"rows": total, "columns": written[1]}
            self._report.unit = "row"
            self._report.units_total, self._report.units_read = total, written[0]
            if written[0] < total:
                self._report.note(
                    "rows_cut",
                    f"Only the first {written[0]} of {total} rows were read.",
                    read=written[0],
                    total=total,
                )
            return
        if isinstance(content, dict):
            title = content.get("title") or content.get("name")
            self._document.title = title.strip() if isinstance(title, str) else ""
        self._value(content, "", 0)
        self._flush()
        if self._left <= 0:
            self._report.note(
                "values_cut",
                f"Only the first {_VALUES:,} values were read.",
                limit=_VALUES,
            )

    def _value(self, value: Any, path: str, depth: int) -> None:
        """A value under its path; the parts of a top-level object have headings."""
        if self._left <= 0:
            return
        records = _records(value) if depth else None
        if records is not None and len(records) > 1:
            self._flush()
            self._table(records, path)
        elif isinstance(value, (dict, list)) and value and depth < _DEEPEST:
            pairs = value.items() if isinstance(value, dict) else enumerate(value, 1)
            for key, inner in pairs:
                held = isinstance(inner, (dict, list)) and bool(inner)
                if depth == 0 and held and isinstance(value, dict):
                    self._flush()
                    self._headings = [str(key)]
                below = f"{path}.{key}" if path else str(key)
                self._value(
                    inner, below if isinstance(value, dict) else f"{path}[{key}]", depth + 1
                )
                if depth == 0:
                    if held or isinstance(value, list):
                        self._flush()
                    self._headings = []
        else:
            self._line(path, value)

    def _line(self, path: str, value: Any) -> None:
        self._left -= 1
        text = _text(value)
        if len(text) > _PROSE:
            self._flush()
            for part in paragraphs(text):
                self._add(Block(text=f"{path}: {part}" if path else part))
            return
        line = f"{path}: {tables.cell(text)}" if path else text
        self._lines.append(line)
        self._size += len(line)
        if len(self._lines) >= _LINES_PER_BLOCK or self._size > _LONGEST_BLOCK:
            self._flush()

    def _table(self, records: list[dict[str, Any]], path: str) -> tuple[int, int]:
        """Records as a table; returns how many rows and columns were written."""
        columns = list(dict.fromkeys(key for record in records for key in record))[:_MOST_COLUMNS]
        if path:
            self._add(Block(kind="caption", text=path))
        most = max(self._left, 0) // max(len(columns), 1) + 1
        rows = [[tables.cell(str(column)) for column in columns]]
        for record in records[:most]:
            self._left -= len(columns)
            rows.append(
                [
                    tables.cell(_text(record[column])) if column in record else ""
                    for column in columns
                ]
            )
        self._document.blocks += tables.blocks(
            rows,
            range(len(rows)),
            header_rows=1,
            first_id=len(self._document.blocks),
            headings=list(self._headings),
        )
        return len(rows) - 1, len(columns)

    def _flush(self) -> None:
        if self._lines:
            self._add(Block(text="\n".join(self._lines)))
            self._lines, self._size = [], 0

    def _add(self, block: Block) -> None:
        block.headings = list(self._headings)
        self._document.blocks.append(block)


def _records(value: Any) -> list[dict[str, Any]] | None:
    """A list of flat records (objects of plain values, or of short lists of those)."""
    if not isinstance(value, list) or not value:
        return None
    if all(isinstance(item, dict) and item and all(map(_is_flat, item.values())) for item in value):
        return value
    return None


def _is_flat(value: Any) -> bool:
    if isinstance(value, list):
        return len(value) <= 10 and not any(isinstance(one, (dict, list)) for one in value)
    return not isinstance(value, dict) and not (
        isinstance(value, str) and len(value) > _LONGEST_BLOCK
    )


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return ", ".join(map(_text, _short(value)))
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, dict) else "{}"


def _short(values: list[Any]) -> Iterator[Any]:
    """The plain values of a list; what is nested deeper than is read shows as its kind."""
    for value in values:
        yield "…" if isinstance(value, (dict, list)) and value else value
