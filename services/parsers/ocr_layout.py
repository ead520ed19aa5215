"""From lines recognised in a picture to rows in reading order, as those of a PDF's own text.

A recogniser's boxes are uneven: the page may lie askew, and a box is as high as the letters that
happen to stand in it. They are made level and lines of about the same size exactly so, because
columns, headings, paragraphs and tables are told by them.
"""

from __future__ import annotations

import statistics

from services.models import RecognisedLine
from services.parsers.pdf_layout import PageLayout, lay_out
from services.recognised import page_text

_LETTERS = 0.8
"""Font size over the height of a box, which has some air around it."""
_ALIKE = 1.3
"""Lines whose sizes differ by less than this factor are of one size."""

_GAP = 0.5
"""Font sizes between two lines side by side from which they are cells or columns, not one line."""


def layout(lines: list[RecognisedLine], width: float, height: float) -> PageLayout | None:
    """The rows of a page of ``width`` by ``height`` points; None when there are no lines."""
    if not lines:
        return None
    words = page_text(_even(lines, width, height), width, height, whole=True)
    return lay_out(None, words, cell_gap=_GAP)


def _even(lines: list[RecognisedLine], width: float, height: float) -> list[RecognisedLine]:
    """The lines with level boxes of few sizes."""
    level = [line for line in lines if not line.turn % 2]
    slope = _slope(level)
    sizes = _sizes([(_high(line) * height, len(line.text)) for line in level])
    even: list[RecognisedLine] = []
    for line in lines:
        if line.turn % 2 or _high(line) * height > 2 * _wide(line) * width:
            even.append(line)
            continue
        left, top, right, bottom = line.box
        middle = (top + bottom) / 2 - slope * ((left + right) / 2 - 0.5)
        half = _LETTERS * sizes[round(_high(line) * height, 2)] / height / 2
        box = left, middle - half, right, middle + half
        even.append(line.model_copy(update={"box": box, "fall": 0.0}))
    return even


def _high(line: RecognisedLine) -> float:
    return line.box[3] - line.box[1]


def _wide(line: RecognisedLine) -> float:
    return line.box[2] - line.box[0]


def _slope(lines: list[RecognisedLine]) -> float:
    """How much of its height the page falls over its width, going by its longer lines."""
    falls = [line.fall / _wide(line) for line in lines if _wide(line) > 0.15]
    return statistics.median(falls) if falls else 0.0


def _sizes(found: list[tuple[float, int]]) -> dict[float, float]:
    """For each height (to a hundredth) the one it is taken for: that of the most characters among
    those alike, the most common first."""
    weights: dict[float, int] = {}
    for high, count in found:
        weights[round(high, 2)] = weights.get(round(high, 2), 0) + count
    taken: dict[float, float] = {}
    while left := {high: weight for high, weight in weights.items() if high not in taken}:
        usual = max(left, key=lambda high: sum(_near(high, left)))
        alike = [high for high in left if _alike(high, usual)]
        taken |= dict.fromkeys(alike, usual)
    return taken


def _near(high: float, weights: dict[float, int]) -> list[int]:
    return [weight for other, weight in weights.items() if _alike(other, high, _ALIKE**0.5)]


def _alike(one: float, other: float, factor: float = _ALIKE) -> bool:
    return one < other * factor and other < one * factor
