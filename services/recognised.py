"""Lines recognised in the picture of a page as words with boxes, as pdfium gives them of text.

A recogniser tells where a line stands, not its words: a word has the part of the line that its
characters have, wide ones (Chinese, Japanese) counting twice.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from services.models import RecognisedLine
from services.pdfium import PageText

_WORD = re.compile(r"\S+")
_WHOLE = re.compile(r".+")

Sides = tuple[float, float, float, float]


def page_text(
    lines: Sequence[RecognisedLine], width: float, height: float, *, whole: bool = False
) -> PageText:
    """The words of recognised lines, in the lines' order, on a page of ``width`` by ``height``.

    ``whole`` takes each line for one word.
    """
    starts, ends, boxes, turns = [], [], [], []
    at = 0
    for line in lines:
        for found in (_WHOLE if whole else _WORD).finditer(line.text):
            starts.append(at + found.start())
            ends.append(at + found.end())
            boxes.append(part_box(line, found.start(), found.end(), width, height))
            turns.append(line.turn)
        at += len(line.text) + 1
    return PageText(
        width=width,
        height=height,
        text="\n".join(line.text for line in lines),
        starts=np.array(starts, dtype=np.int64),
        ends=np.array(ends, dtype=np.int64),
        boxes=np.array(boxes, dtype=np.float32).reshape(-1, 4),
        turns=np.array(turns, dtype=np.int64),
        unmapped=0.0,
    )


def part_box(line: RecognisedLine, start: int, end: int, width: float, height: float) -> Sides:
    """The box of characters ``start`` to ``end`` of a line on a page of ``width`` by ``height``."""
    reach = [0, *accumulate(map(_breadth, line.text))]
    first, last = reach[start] / reach[-1], reach[end] / reach[-1]
    if line.turn in (2, 3):  # written towards the left or the top
        first, last = 1 - last, 1 - first
    left, top = line.box[0] * width, line.box[1] * height
    wide, high = line.box[2] * width - left, line.box[3] * height - top
    # Lines of a few characters that are much higher than wide are columns of upright ones.
    if line.turn % 2 or (len(line.text) > 2 and high > 2 * wide):
        return left, top + first * high, left + wide, top + last * high
    lower = line.fall * height * ((first + last) / 2 - 0.5)
    return left + first * wide, top + lower, left + last * wide, top + high + lower


def _breadth(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
