"""Tables found from aligned rows: no ruling lines needed, no second pass over the page.

A table is a run of rows with several segments whose segments line up in columns. Column heads
over several lines become one head line, a head that spans columns is repeated in each, and a
row label that wraps is joined, so that every line of a table can be read on its own.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from services.parsers.pdf_layout import Row, Segment

_NUMBER = re.compile(
    r"(?:[$€£¥]|US\$|[A-Z]{3} )?\s?[(\-–—+]?\s?(?:[$€£¥]\s?)?"
    r"(?:\d[\d,.]*|\.\d+)\s?(?:%|x|bps|pts?|pp)?\)?\s?%?(?:\s?[*†‡]|\s?\([a-z0-9]\))*"
    r"|[—–-]\s?%?|[$€£¥]\s?[—–-]|(?i:n/?m|n/?a|nil)\.?"
)
_YEAR = re.compile(r"(?:FY\s?)?(?:19|20)\d\d(?:\s?\([a-z0-9]\))?")
_OPEN_END = re.compile(r"(?:,|\b(?:and|or|of|to|the|in|for|from|by|on|with|net|per|non)|[-–—/(])$")

_TIGHT = 1.35
"""Font sizes from one line of a wrapped head to the next, at most."""

_SIGN_SPACE = re.compile(r"([$€£¥])\s+(?=[\d(.—–-])")

Span = tuple[float, float]


@dataclass(slots=True)
class Table:
    """Rows of cells, the column heads first; ``columns`` are x spans in points."""

    rows: list[list[str]]
    header_rows: int
    columns: list[Span]
    top: float
    bottom: float
    lines: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.lines = [_line(cells) for cells in self.rows]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    @property
    def header(self) -> list[str]:
        return self.lines[: self.header_rows]


def _line(cells: list[str]) -> str:
    if not any(cells[1:]):
        return cells[0]
    return _SIGN_SPACE.sub(r"\1", " | ".join(cells)).strip()


Join = Callable[[list[str]], str]
"""Puts the lines of a wrapped label together."""


def find_tables(rows: list[Row], join: Join = " ".join) -> list[Row | Table]:
    """Rows of one flow with the tables among them recognised, order kept."""
    items: list[Row | Table] = []
    at = 0
    while at < len(rows):
        if len(rows[at].segments) < 2:
            items.append(rows[at])
            at += 1
            continue
        end = _extent(rows, at)
        start = _first_head(rows, at, len(items), items)
        table = _build(rows[start:end], join)
        if table is None:
            items.extend(rows[at:end])
        else:
            del items[len(items) - (at - start) :]
            items.append(table)
        at = end
    return items


def is_number(text: str) -> bool:
    """Whether a cell is an amount, a percentage or a dash."""
    return _NUMBER.fullmatch(text) is not None


def _is_data(row: Row) -> bool:
    """Whether a row carries values: a number that is not a year, beside something else."""
    segments = row.segments
    values = [one for one in segments[1:] if is_number(one.text)]
    if any(not _YEAR.fullmatch(one.text) for one in values):
        return True
    if is_number(segments[0].text) and not _YEAR.fullmatch(segments[0].text):
        return True
    return bool(values) and not _YEAR.fullmatch(segments[0].text) and len(segments[0].text) > 25


def _extent(rows: list[Row], start: int) -> int:
    """The row after the last one that can belong to the table starting at ``start``."""
    last = start
    first = rows[start]
    left, right, size = first.left, first.right, first.size
    value_lefts = [first.segments[-1].left]
    numbers_left = _numbers_left(first)
    has_data = _is_data(first)
    steps: list[float] = []
    for at in range(start + 1, len(rows)):
        row = rows[at]
        step = row.bottom - rows[at - 1].bottom
        usual = statistics.median(steps) if steps else 1.3 * row.size
        if step > 4.5 * row.size or row.size > 1.35 * size:
            break
        if len(row.segments) > 1:
            data = _is_data(row)
            if has_data and not data and _is_head(row, numbers_left, at - last > 1, step / usual):
                break
            has_data = has_data or data
            last = at
            left, right, size = min(left, row.left), max(right, row.right), max(size, row.size)
            value_lefts.append(row.segments[-1].left)
            numbers_left = min(numbers_left, _numbers_left(row))
            steps.append(step)
            continue
        only = row.segments[0]
        value_left = statistics.median(value_lefts)
        in_values = only.left >= value_left - only.size
        if not in_values and only.right > value_left + only.size:
            break
        if has_data and only.left < left - 2 * only.size:
            break
        if at - last > (12 if in_values else 4) or only.right > right + 4 * only.size:
            break
        if has_data and not is_number(only.text):
            over_numbers = only.middle > numbers_left and only.left > numbers_left - 2 * only.size
            if over_numbers or (only.right > numbers_left and step > 1.35 * usual):
                break
    return last + 1


def _numbers_left(row: Row) -> float:
    return min((one.left for one in row.segments[1:] if is_number(one.text)), default=math.inf)


def _is_head(row: Row, numbers_left: float, after_label: bool, step: float) -> bool:
    """Whether words without values, met after values, are the column heads of another table.

    ``step`` is the distance to the line before, 1 being usual in this table.
    """
    if after_label or row.left > numbers_left - 2 * row.size:
        return True
    years = sum(_YEAR.search(one.text) is not None for one in row.segments)
    return years >= max(2, len(row.segments) - 1) or (step > 1.7 and row.bold)


def _first_head(rows: list[Row], start: int, count: int, items: list[Row | Table]) -> int:
    """Index of the first line above ``start`` that is a column head standing over the values."""
    row = rows[start]
    values = row.segments[1:] if len(row.segments) > 1 else row.segments
    edge = min(one.left for one in values)
    if not _is_data(row):
        following = next((one for one in rows[start : start + 6] if _is_data(one)), row)
        edge = min(one.left for one in following.segments[1:] or following.segments)
    first = start
    while first > 0 and count - (start - first) > 0:
        above = rows[first - 1]
        item = items[count - (start - first) - 1]
        if item is not above or len(above.segments) != 1:
            break
        only = above.segments[0]
        near = rows[first].bottom - only.bottom < 1.9 * only.size
        if not near or only.left < edge - 2 * only.size or len(only.text) > 80:
            break
        first -= 1
    return first


def _build(rows: list[Row], join: Join) -> Table | None:
    tabular = [row for row in rows if len(row.segments) > 1]
    data = [row for row in tabular if _is_data(row)]
    cells = [one for row in tabular for one in row.segments[1:]]
    numbers = sum(is_number(one.text) for one in cells)
    numeric = numbers >= 0.3 * len(cells) and (
        len(data) >= 2 or (len(data) == 1 and len(tabular) >= 2)
    )
    if numeric:
        values, columns = _number_columns(data)
        if len(columns) < 2:
            return None
        body = next(i for i, row in enumerate(rows) if _is_data(row))
        heads = _count_heads(rows[:body], columns)
    else:
        values = columns = _text_columns(tabular)
        if not _aligned(tabular, columns):
            return None
        heads = _text_heads(rows, columns)
    head = _head_cells(rows[:heads], columns, values) if heads else None
    placed = [(row, _place(row, columns)) for row in rows[heads:]]
    lines = _join_labels(placed, join) if numeric else _join_wrapped(placed, join)
    if not lines:
        return None
    return Table(
        rows=([head] if head else []) + lines,
        header_rows=1 if head else 0,
        columns=columns,
        top=rows[0].top,
        bottom=rows[-1].bottom,
    )


def _merged(spans: list[Span]) -> list[Span]:
    result: list[Span] = []
    for left, right in sorted(spans):
        if result and left < result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], right))
        else:
            result.append((left, right))
    return result


def _number_columns(data: list[Row]) -> tuple[list[Span], list[Span]]:
    """Columns of a table of values: those of its numbers, and all of them, left to right."""
    spans = [
        (one.left, one.right, number)
        for number, row in enumerate(data)
        for position, one in enumerate(row.segments)
        if is_number(one.text) and (position or len(row.segments) == 1)
    ]
    values = _grown(spans)
    words: list[Span] = []
    for row in data:
        for one in row.segments:
            if is_number(one.text) and one is not row.segments[0]:
                continue
            start, stop = one.left, one.right
            for left, right in values:  # a long label may run into the first values
                if left <= start + 1 < right:
                    stop = start
                    break
                if start < left < stop:
                    stop = left
                    break
            if stop - start > 1:
                words.append((start, stop))
    return values, sorted(values + _merged(words))


def _grown(spans: list[tuple[float, float, int]]) -> list[Span]:
    """Columns grown from (left, right, row) of numbers, the narrowest first.

    A number that reaches over two columns joins them only when no row has a value in both.
    """
    columns: list[tuple[float, float, set[int]]] = []
    for left, right, row in sorted(spans, key=lambda span: span[1] - span[0]):
        over = [column for column in columns if left < column[1] and right > column[0]]
        rows = [number for column in over for number in column[2]]
        if len(over) > 1 and len(set(rows)) < len(rows):
            continue
        for column in over:
            columns.remove(column)
        columns.append(
            (
                min([left, *(column[0] for column in over)]),
                max([right, *(column[1] for column in over)]),
                {row, *rows},
            )
        )
    return sorted((left, right) for left, right, _ in columns)


def _text_columns(tabular: list[Row]) -> list[Span]:
    """Columns of a table of words: x ranges that most rows leave free separate them."""
    left = min(row.left for row in tabular)
    length = int(max(row.right for row in tabular) - left) + 2
    cover = np.zeros(length + 1, dtype=np.int32)
    for row in tabular:
        for one in row.segments:
            cover[int(one.left - left)] += 1
            cover[min(int(one.right - left) + 1, length)] -= 1
    used = np.cumsum(cover) > 0.1 * len(tabular)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], used, [False])).astype(np.int8)))
    bounds = edges.tolist()
    return [(left + a, left + b) for a, b in zip(bounds[::2], bounds[1::2], strict=True)]


def _aligned(tabular: list[Row], columns: list[Span]) -> bool:
    if len(columns) < 2 or len(tabular) < (2 if len(columns) > 2 else 3):
        return False
    edges: dict[int, list[Segment]] = {}
    for row in tabular:
        for one in row.segments:
            edges.setdefault(_nearest(one, columns), []).append(one)
    if len(edges) < 2:
        return False
    good = total = 0
    for members in edges.values():
        best = 0
        for side in ("left", "right", "middle"):
            values = [getattr(one, side) for one in members]
            centre = statistics.median(values)
            best = max(best, sum(abs(value - centre) < 0.6 * members[0].size for value in values))
        good += best
        total += len(members)
    return good >= 0.7 * total


def _count_heads(rows: list[Row], columns: list[Span]) -> int:
    """How many leading rows are column heads: until a row that only has a label."""
    for at, row in enumerate(rows):
        only = row.segments[0]
        if len(row.segments) == 1 and _nearest(only, columns) == 0 and only.left < columns[0][1]:
            return at
    return len(rows)


def _text_heads(rows: list[Row], columns: list[Span]) -> int:
    first = rows[0]
    if len(first.segments) < 2 or len(rows) < 3:
        return 0
    if first.bold and not all(row.bold for row in rows):
        return next(i for i, row in enumerate(rows) if not row.bold)
    full = len(first.segments) == len(columns) > 2
    return int(full and not any(any(map(str.isdigit, one.text)) for one in first.segments))


def _overlap(one: Segment, span: Span) -> float:
    return min(one.right, span[1]) - max(one.left, span[0])


def _nearest(one: Segment, columns: list[Span]) -> int:
    """The column a segment belongs to: a number by its right edge, words by most overlap."""
    if is_number(one.text):
        return min(
            range(len(columns)),
            key=lambda i: (-(_overlap(one, columns[i]) > 0), abs(columns[i][1] - one.right)),
        )
    inside = [i for i, span in enumerate(columns) if span[0] - 1 <= one.left < span[1]]
    if inside and (inside[0] == 0 or one.right <= columns[inside[0]][1] + one.size):
        return inside[0]
    return max(range(len(columns)), key=lambda i: _overlap(one, columns[i]))


def _place(row: Row, columns: list[Span]) -> list[str]:
    cells = [""] * len(columns)
    for one in _split(row.segments, columns):
        at = _nearest(one, columns)
        cells[at] = f"{cells[at]} {one.text}".strip()
    return cells


def _split(segments: list[Segment], columns: list[Span]) -> list[Segment]:
    """Segments that reach over several columns taken apart where they have gaps."""
    result: list[Segment] = []
    for one in segments:
        apart = len(one.parts) > 1 and len({_nearest(part, columns) for part in one.parts}) > 1
        result.extend(one.parts if apart else (one,))
    return result


def _head_cells(rows: list[Row], columns: list[Span], numbers: list[Span]) -> list[str]:
    """Column heads over several lines as one line; a head over several columns in each."""
    cells: list[list[str]] = [[] for _ in columns]
    values = [i for i, span in enumerate(columns) if span in numbers and (i or len(columns) == 1)]
    for row, below in zip(rows, [*rows[1:], None], strict=True):
        segments = _split(row.segments, columns)
        heads = [one for one in segments if one.right > columns[values[0]][0]]
        for one in segments:
            place = _nearest(one, columns)
            alone = place not in values and one.middle < columns[place][1]
            if alone or (below and _wraps(one, row, below)):
                group = [place]
            else:
                group = _spanned(one, heads, columns, values)
            for column in group:
                cells[column].append(one.text)
    return [" ".join(parts) for parts in cells]


def _wraps(one: Segment, row: Row, below: Row) -> bool:
    """Whether a head goes on in the line below it: set as tight as a paragraph, with words straight
    under it that are not much narrower. A head over several columns is wide, or stands over dates.
    """
    if below.bottom - row.bottom > _TIGHT * one.size:
        return False
    return any(
        abs(under.middle - one.middle) < 0.6 * one.size
        or abs(under.left - one.left) < 0.3 * one.size
        or abs(under.right - one.right) < 0.3 * one.size
        for under in below.segments
        if not any(map(str.isdigit, under.text))
        and one.right - one.left <= 2 * (under.right - under.left)
    )


def _spanned(
    one: Segment, heads: list[Segment], columns: list[Span], values: list[int]
) -> list[int]:
    """The columns of values a head stands over."""

    def centre(group: list[int]) -> float:
        return (columns[group[0]][0] + columns[group[-1]][1]) / 2

    if len(heads) == 1 and len(values) > 1 and abs(one.middle - centre(values)) < 2 * one.size:
        return values
    if 1 < len(heads) < len(values) and len(values) % len(heads) == 0 and one in heads:
        share = len(values) // len(heads)
        at = heads.index(one)
        group = values[at * share : (at + 1) * share]
        if abs(one.middle - centre(group)) < 2 * one.size:
            return group
    over = [i for i in values if _overlap(one, columns[i]) > 0.25 * _width(columns[i])]
    if len(over) > 1:
        return over
    return [min(values, key=lambda i: abs(centre([i]) - one.middle))]


def _width(span: Span) -> float:
    return span[1] - span[0]


def _join_labels(placed: list[tuple[Row, list[str]]], join: Join) -> list[list[str]]:
    """Body rows of a table of values, with labels that wrap over lines put together."""
    lines: list[list[str]] = []
    last: Row | None = None
    for at, (row, cells) in enumerate(placed):
        following = placed[at + 1][1][0] if at + 1 < len(placed) else ""
        step = (row.bottom - last.bottom) / row.size if last else math.inf
        joined = _joined_label(lines[-1], cells, following, step, join) if lines else None
        if joined:
            lines[-1] = joined
        else:
            lines.append(cells)
        last = row
    return [cells for cells in lines if any(cells)]


def _joined_label(
    above: list[str], cells: list[str], following: str, step: float, join: Join
) -> list[str] | None:
    """Two lines of one row as one, None when they are two rows.

    ``following`` is the label of the line after, ``step`` their distance in font sizes.
    """
    label, has_values = cells[0], any(cells[1:])
    if step >= 1.6:
        return None
    if above[0] and not any(above[1:]) and not above[0].endswith(":"):
        if label and (label[0].islower() or _OPEN_END.search(above[0])):
            return [join([above[0], label]), *cells[1:]]
        if not label and has_values and step < 0.85:
            return [above[0], *cells[1:]]
    if label and not has_values and any(above[1:]) and not following[:1].islower():
        wraps = label[0].islower() and not label.endswith(":")
        if wraps or step < 0.85:
            return [join([above[0], label]), *above[1:]]
    return None


def _join_wrapped(placed: list[tuple[Row, list[str]]], join: Join) -> list[list[str]]:
    """Body rows of a table of words: lines set tighter than its rows belong to one row."""
    gaps = [below.bottom - above.bottom for (above, _), (below, _) in pairwise(placed)]
    tight = min(gaps, default=0.0)
    loose = max(gaps, default=0.0) > 1.25 * tight
    filled = [sum(map(bool, cells)) for _, cells in placed]
    rows: list[list[str]] = []
    for at, (_, cells) in enumerate(placed):
        joins = at > 0 and (
            (loose and gaps[at - 1] < 1.12 * tight)
            or (not cells[0] and filled[at] < len(cells) and gaps[at - 1] < 1.3 * tight)
        )
        if joins and rows:
            rows[-1] = [
                join([a, b]) if a and b else a or b for a, b in zip(rows[-1], cells, strict=True)
            ]
        else:
            rows.append(cells)
    return [cells for cells in rows if any(cells)]
