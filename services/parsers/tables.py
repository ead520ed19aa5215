"""How tables become text, the same for every kind: one line a row, cells joined by " | "."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from services.models import Block

ROWS_PER_BLOCK = 100
_SPACE = re.compile(r"\s+")
_NUMBER = re.compile(
    r"[-+(]?[$€£¥]?\s*[\d.,' \u00a0]*\d[\d.,]*\s*[%€$£¥)]?|[-+]?\d*\.?\d+[eE][-+]?\d+"
)
_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}([ T]\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2})?")
_YEAR = re.compile(r"(19|20)\d\d")
_LONGEST_HEAD = 80


def cell(text: str) -> str:
    """A cell's text on one line."""
    return _SPACE.sub(" ", text).strip()


def line(cells: Sequence[str]) -> str:
    """One row as text; empty cells at the end of a row are left out."""
    count = len(cells)
    while count and not cells[count - 1]:
        count -= 1
    return " | ".join(cells[:count])


def is_number(text: str) -> bool:
    """True for numbers, amounts, percentages, dates and times."""
    return bool(_NUMBER.fullmatch(text) or _DATE.fullmatch(text))


def has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of some rows names the columns.

    It does when its cells are words over a column of numbers; or when they are short, distinct, no
    numbers but years, and none of them comes again in its column.
    """
    if len(rows) < 2:
        return False
    head, body = rows[0], rows[1:51]
    named = [text for text in head if text]
    if not named:
        return False
    numbers = [text for text in named if is_number(text)]
    if numbers and (len(numbers) == len(head) or not all(map(_YEAR.fullmatch, numbers))):
        return False
    if len(named) == len(head) and not numbers and _stands_over_numbers(head, body):
        return True
    if len(set(named)) < len(named):
        return False
    if max(map(len, named)) > _LONGEST_HEAD or len(named) < 0.5 * max(map(len, body), default=0):
        return False
    for column, text in enumerate(head):
        values = [row[column] for row in body if column < len(row) and row[column]]
        if text and text in values:
            return False
        if _YEAR.fullmatch(text) and values and all(map(_YEAR.fullmatch, values)):
            return False  # a column of years, not a column named by its year
    return True


def _stands_over_numbers(head: Sequence[str], body: Sequence[Sequence[str]]) -> bool:
    """Whether some column is words in its first row and numbers, several, in all others."""
    for column in range(len(head)):
        values = [row[column] for row in body if column < len(row) and row[column]]
        if len(values) > 1 and all(map(is_number, values)):
            return True
    return False


def blocks(
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int],
    *,
    header_rows: int,
    first_id: int,
    size: int = ROWS_PER_BLOCK,
    **fields: Any,
) -> list[Block]:
    """Table blocks of at most ``size`` rows, each with the header rows first.

    Args:
        rows: the header rows, then the others.
        numbers: the number of each row in its sheet or file, from 1.
        header_rows: how many of ``rows`` are column heads.
        first_id: how many blocks the document holds already (later blocks name the one before).
        fields: further fields of every block (sheet, slide, headings ...).

    Returns:
        Blocks whose ``row`` is the number of the first row after the header, and whose ``rows``
        say where the numbers do not go on by one.
    """
    head = [line(row) for row in rows[:header_rows]]
    made: list[Block] = []
    for at in range(header_rows, max(len(rows), header_rows + 1), size):
        lines = head + [line(row) for row in rows[at : at + size]]
        steps = pairwise(numbers[at : at + size])
        jumps = [
            (place, row)
            for place, (before, row) in enumerate(steps, header_rows + 1)
            if row != before + 1
        ]
        made.append(
            Block(
                kind="table",
                text="\n".join(lines),
                row=numbers[min(at, len(numbers) - 1)],
                rows=jumps,
                header_rows=header_rows,
                continues=f"b{first_id + len(made) - 1}" if made else None,
                **fields,
            )
        )
    return made
