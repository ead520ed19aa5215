"""From words with boxes to rows in reading order: the geometry of a PDF page.

A ``Segment`` is a run of words on one line without a wide gap: a line of prose or one cell.
A ``Row`` is what stands side by side on one line of a column. Columns of prose are separated
first, so that a row never joins two of them.
"""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise

import numpy as np

from services.pdfium import PageText, TextPage, code_points

CELL_GAP = 1.2
"""A gap of this many font sizes starts another segment, where the words are known."""
NUMBER_GAP = 0.3
"""The same between two words that both look like numbers."""

LOOSE_GAP = 0.4
"""From here on a gap may be one between cells set close together."""

_LONGEST_HEAD = 90
_BEFORE_GAP = np.array([ord(character) for character in "0123456789)%—–"], dtype=np.uint32)
_AFTER_GAP = np.array([ord(character) for character in "0123456789($€£¥—–-"], dtype=np.uint32)
_RTL = re.compile(r"[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]")
_SPACES = re.compile(r"\s+")
_LEADERS = re.compile(r"[.·…_]{4,}|(?:[.·…] ){3,}[.·…]?")
_MARKER = re.compile(
    r"[•●▪■◦○∙·‣➢➤✓\uf0b7\uf0a7\uf0d8–—*-]|\(?(?:[0-9]{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]"
)
_CURRENCY = re.compile(r"[$€£¥]|US\$|[A-Z]{3}")
_AMOUNT = re.compile(r"[(\-–—]?[\d.,]*\d[\d.,]*|[—–-]")
_TAIL = re.compile(r"[)%]+|\(?[a-z0-9]\)")


@dataclass(slots=True)
class Segment:
    """A run of words on one line; box in points as shown, y down; ``order`` is pdfium's."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    size: float
    bold: bool
    italic: bool
    order: int
    parts: tuple[Segment, ...] = ()
    """Its pieces between gaps wider than a space, when there are such: cells set close."""

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def middle(self) -> float:
        return (self.left + self.right) / 2


@dataclass(slots=True)
class Row:
    """Segments side by side, in reading order, and their line as a whole."""

    segments: list[Segment]
    text: str = field(init=False)
    left: float = field(init=False)
    top: float = field(init=False)
    right: float = field(init=False)
    bottom: float = field(init=False)
    size: float = field(init=False)
    bold: bool = field(init=False)
    italic: bool = field(init=False)

    def __post_init__(self) -> None:
        first = self.segments[0]
        self.text, self.left, self.top, self.right = first.text, first.left, first.top, first.right
        self.bottom, self.size = first.bottom, first.size
        self.bold, self.italic = first.bold, first.italic
        for one in self.segments[1:]:
            self.text = f"{self.text} {one.text}"
            self.left, self.right = min(self.left, one.left), max(self.right, one.right)
            self.top, self.size = min(self.top, one.top), max(self.size, one.size)
            self.bold, self.italic = self.bold and one.bold, self.italic and one.italic


@dataclass(slots=True)
class PageLayout:
    """One page ready for assembling: flows (columns, bands) of rows, in reading order."""

    width: float
    height: float
    flows: list[list[Row]]
    vertical: bool = False
    """True when the page is written in vertical columns; rows must not be merged."""


def lay_out(
    textpage: TextPage | None, words: PageText, *, cell_gap: float = CELL_GAP
) -> PageLayout:
    """The rows of a page in reading order; the caller holds pdfium's lock.

    ``textpage`` tells bold and italic words; None for words that were recognised in a picture.
    A gap of ``cell_gap`` font sizes starts another segment.
    """
    boxes, width, height = words.boxes, words.width, words.height
    main_turn = int(np.bincount(words.turns, minlength=4).argmax()) if len(boxes) else 0
    if main_turn:
        boxes, width, height = _turned(words, main_turn)
    upright = words.turns == main_turn
    if is_vertical(words):
        return PageLayout(width, height, [_vertical_rows(words)], vertical=True)
    flows = _flows(_segments(textpage, words, boxes, np.flatnonzero(upright), cell_gap), width)
    if not upright.all():  # margin notes and axis labels: after the text, as pdfium orders them
        rest = _segments(textpage, words, boxes, np.flatnonzero(~upright), cell_gap)
        flows.append([Row([segment]) for segment in rest])
    return PageLayout(width, height, flows)


def _turned(words: PageText, turn: int) -> tuple[np.ndarray, float, float]:
    """Boxes, width and height after turning the page so that most of its words are upright."""
    x0, y0, x1, y1 = words.boxes.T
    width, height = words.width, words.height
    match turn:
        case 1:
            sides, width, height = (y0, width - x1, y1, width - x0), height, width
        case 2:
            sides = (width - x1, height - y1, width - x0, height - y0)
        case _:
            sides, width, height = (height - y1, x0, height - y0, x1), height, width
    return np.stack(sides, axis=1), width, height


def _segments(
    textpage: TextPage | None,
    words: PageText,
    all_boxes: np.ndarray,
    chosen: np.ndarray,
    cell_gap: float,
) -> list[Segment]:
    if not len(chosen):
        return []
    boxes = all_boxes[chosen].astype(np.float64)
    starts, ends = words.starts[chosen], words.ends[chosen]
    text = words.text
    left, top, right, bottom = boxes.T
    size = bottom - top
    smaller = np.minimum(size[1:], size[:-1])
    overlap = np.minimum(bottom[1:], bottom[:-1]) - np.maximum(top[1:], top[:-1])
    gap = np.maximum(left[1:] - right[:-1], left[:-1] - right[1:])
    codes = code_points(text)
    numbers = np.isin(codes[ends[:-1] - 1], _BEFORE_GAP) & np.isin(codes[starts[1:]], _AFTER_GAP)
    wide = gap > LOOSE_GAP * np.maximum(smaller, 1.0)
    limit = np.where(numbers, NUMBER_GAP, cell_gap) * np.maximum(smaller, 1.0)
    breaks = (overlap < 0.5 * smaller) | (gap > limit)
    firsts = np.concatenate(([0], np.flatnonzero(breaks) + 1))
    lasts = np.concatenate((firsts[1:] - 1, [len(starts) - 1]))
    lefts = np.minimum.reduceat(left, firsts).tolist()
    tops = np.minimum.reduceat(top, firsts).tolist()
    rights = np.maximum.reduceat(right, firsts).tolist()
    bottoms = np.maximum.reduceat(bottom, firsts).tolist()
    sizes = np.maximum.reduceat(size, firsts).tolist()
    begin = starts[firsts].tolist()
    bold, italic = frozenset[int](), frozenset[int]()
    if textpage:
        bold, italic = _styles(textpage, begin, starts[lasts].tolist())
    segments = []
    for i, stop in enumerate(ends[lasts].tolist()):
        segments.append(
            Segment(
                _SPACES.sub(" ", text[begin[i] : stop]),
                lefts[i],
                tops[i],
                rights[i],
                bottoms[i],
                sizes[i],
                i in bold,
                i in italic,
                i,
            )
        )
    line = np.cumsum(np.concatenate(([0], breaks)))
    inside = np.flatnonzero(wide & ~breaks).tolist()
    for i, gaps in groupby(inside, key=lambda gap: int(line[gap])):
        whole = segments[i]
        if len(whole.text) > _LONGEST_HEAD:
            continue  # justified prose
        bounds = [int(firsts[i]), *(gap + 1 for gap in gaps), int(lasts[i]) + 1]
        whole.parts = tuple(
            Segment(
                _SPACES.sub(" ", text[starts[a] : ends[b - 1]]),
                float(left[a]),
                whole.top,
                float(right[b - 1]),
                whole.bottom,
                whole.size,
                whole.bold,
                whole.italic,
                i,
            )
            for a, b in pairwise(bounds)
        )
    return _without_leaders(segments)


_BOLD = re.compile(rb"bold|black|heavy|demi|,b(?!a)|-b(?![a-z])", re.IGNORECASE)
_ITALIC = re.compile(rb"italic|oblique|-it(?![a-z])|,i", re.IGNORECASE)


def _styles(
    textpage: TextPage, first: list[int], last: list[int]
) -> tuple[frozenset[int], frozenset[int]]:
    """Which of the runs from character ``first[i]`` to word ``last[i]`` are bold and italic.

    Judged by the names of the fonts of their first and last word.
    """
    found = []
    for style in (_BOLD, _ITALIC):
        runs = list(range(len(first)))
        for ends in (first, last):
            fonts = textpage.fonts([ends[i] for i in runs])
            named = {font for font in set(fonts) if style.search(font)}
            runs = [i for i, font in zip(runs, fonts, strict=True) if font in named]
        found.append(frozenset(runs))
    return found[0], found[1]


def _without_leaders(segments: list[Segment]) -> list[Segment]:
    """Dots that lead from an entry to its page number are a gap, not text."""
    result = []
    for segment in segments:
        if "...." not in segment.text and ". . ." not in segment.text and "…" not in segment.text:
            result.append(segment)
            continue
        parts = [part.strip() for part in _LEADERS.split(segment.text)]
        cut = segment.width / max(len(segment.text), 1)
        at = 0
        for part in parts:
            if not part:
                continue
            at = segment.text.find(part, at)
            result.append(
                replace(
                    segment,
                    text=part,
                    left=segment.left + at * cut,
                    right=segment.left + (at + len(part)) * cut,
                    parts=(),
                )
            )
    return result


def is_vertical(words: PageText) -> bool:
    """Whether most characters stand in columns that run downwards (Chinese, Japanese)."""
    if not len(words.boxes):
        return False
    length = words.ends - words.starts
    wide = words.boxes[:, 2] - words.boxes[:, 0]
    high = words.boxes[:, 3] - words.boxes[:, 1]
    tall = (length >= 3) & (high > 2 * wide) & (words.turns == 0)
    return bool(length[tall].sum() > 0.5 * length.sum())


def _vertical_rows(words: PageText) -> list[Row]:
    """Columns as rows: bands from the top, in each the columns from right to left."""
    bands: list[tuple[float, list[int]]] = []
    for i in np.argsort(words.boxes[:, 1], kind="stable").tolist():
        _, top, _, bottom = words.boxes[i].tolist()
        if bands and top < bands[-1][0]:
            bands[-1][1].append(i)
            bands[-1] = (max(bands[-1][0], bottom), bands[-1][1])
        else:
            bands.append((bottom, [i]))
    columns: list[Segment] = []
    for _, members in bands:
        before: Segment | None = None
        for i in sorted(members, key=lambda i: (-round(words.boxes[i, 2] / 4), words.boxes[i, 1])):
            left, top, right, bottom = words.boxes[i].tolist()
            text = words.text[words.starts[i] : words.ends[i]]
            if before is not None and abs(before.right - right) < 4:
                before.text += text
                before.bottom = bottom
                continue
            before = Segment(text, left, top, right, bottom, right - left, False, False, i)
            columns.append(before)
    return [Row([column]) for column in columns]


def _flows(segments: list[Segment], width: float) -> list[list[Row]]:
    return [_rows(flow) for flow in _columns(segments, width, depth=2) if flow]


def _columns(segments: list[Segment], width: float, depth: int) -> list[list[Segment]]:
    """Split at a gutter between two columns of prose, if there is one, band by band."""
    gutter = _gutter(segments, width) if depth else None
    if gutter is None:
        return [segments]
    flows: list[list[Segment]] = []
    left: list[Segment] = []
    right: list[Segment] = []
    across: list[Segment] = []

    def close_band() -> None:
        prose = [sum(len(one.text) > 18 for one in side) for side in (left, right)]
        if min(prose) >= 2:
            flows.extend(_columns(list(left), width / 2, depth - 1))
            flows.extend(_columns(list(right), width / 2, depth - 1))
        elif left or right:
            flows.append(sorted(left + right, key=lambda one: one.order))
        left.clear()
        right.clear()

    for segment in sorted(segments, key=lambda one: one.bottom):
        if segment.left < gutter - 2 and segment.right > gutter + 2:
            close_band()
            across.append(segment)
            continue
        if across:
            flows.append(across)
            across = []
        (left if segment.right <= gutter + 2 else right).append(segment)
    close_band()
    if across:
        flows.append(across)
    return flows


def _gutter(segments: list[Segment], width: float) -> float | None:
    """The x where a second column of prose starts, or None.

    Prose columns are many long lines that fill their column on both sides of the gutter; the
    cells of a table are short, ragged or numbers.
    """
    lines = [
        one
        for one in segments
        if len(one.text) >= 18
        and one.width > 0.12 * width
        and sum(map(str.isdigit, one.text)) < 0.3 * len(one.text)
    ]
    if len(lines) < 12:
        return None
    edges = sorted(one.left for one in lines)
    tried = -1.0
    for edge in edges[5:]:
        if edge - tried < 4:
            continue
        tried = edge
        right = [one for one in lines if one.left >= edge - 2]
        left = [one for one in lines if one.right <= edge]
        if len(left) < 6 or len(right) < 6 or len(left) + len(right) < 0.7 * len(lines):
            continue
        top = max(min(one.top for one in side) for side in (left, right))
        bottom = min(max(one.bottom for one in side) for side in (left, right))
        extent = min(
            max(one.bottom for one in side) - min(one.top for one in side) for side in (left, right)
        )
        if bottom - top < 0.5 * extent:
            continue
        reach = max(one.right for one in left)
        full = statistics.median(one.right for one in left)
        start = min(one.left for one in left)
        if full > reach - 0.3 * (reach - start):
            return edge - 1
    return None


def _rows(segments: list[Segment]) -> list[Row]:
    """Segments of one column grouped into lines, top to bottom."""
    lines: list[list[Segment]] = []
    for segment in sorted(segments, key=lambda one: (one.bottom, one.order)):
        if lines and _on_one_line(lines[-1][0], segment):
            lines[-1].append(segment)
        else:
            lines.append([segment])
    return [Row(_in_line(line) if len(line) > 1 else line) for line in lines]


def _on_one_line(above: Segment, below: Segment) -> bool:
    smaller = min(above.size, below.size)
    if below.bottom - above.bottom < 0.4 * smaller:
        return True
    raised = smaller < 0.85 * max(above.size, below.size)  # a footnote mark beside its line
    return raised and min(above.bottom, below.bottom) - max(above.top, below.top) > 0.6 * smaller


def _in_line(segments: list[Segment]) -> list[Segment]:
    """Segments of one line in reading order; currency signs, list marks, tails put back."""
    text = "".join(segment.text for segment in segments)
    rtl = len(_RTL.findall(text)) * 2 > sum(map(str.isalpha, text))
    segments = sorted(segments, key=lambda one: -one.right if rtl else one.left)
    if rtl:
        return segments
    merged = [segments[0]]
    for segment in segments[1:]:
        last = merged[-1]
        glue: str | None = None
        if _CURRENCY.fullmatch(last.text) and _AMOUNT.match(segment.text):
            glue = "" if len(last.text) == 1 else " "
        elif _TAIL.fullmatch(segment.text) and segment.left - last.right < segment.size:
            glue = ""
        elif (
            len(segments) == 2
            and _MARKER.fullmatch(last.text)
            and not _AMOUNT.fullmatch(segment.text)
        ):
            glue = " "
        if glue is None:
            merged.append(segment)
        else:
            merged[-1] = replace(
                last,
                text=last.text + glue + segment.text,
                top=min(last.top, segment.top),
                right=max(last.right, segment.right),
                size=max(last.size, segment.size),
                bold=last.bold and segment.bold,
                italic=last.italic and segment.italic,
                parts=(),
            )
    return merged


def letters(text: str) -> int:
    """How many letters a text has."""
    return sum(map(str.isalpha, text))
