"""Pages of a PDF or picture as the viewer shows them: pictures, sizes, boxes around a quote.

Pages count from 1. Every function opens the file, works under pdfium's lock where it needs it, and
closes the file, so they may be called from any thread.
"""

from __future__ import annotations

import io
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
import pypdfium2.raw as raw
from PIL import Image

from services import pdfium, pictures
from services.errors import NotFoundError, UserInputError
from services.models import RecognisedLine
from services.parsers import sniff
from services.recognised import Sides, page_text, part_box

WIDEST = 4000
"""Pictures are never wider than this many pixels."""
ENOUGH = 0.6
"""Share of a quote's characters that must be found in a row or run of words."""

_TALLEST_HEAD = 8
"""Rows a table's head may take up."""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle as fractions (0 to 1) of the page's shown width and height, origin top left."""

    left: float
    top: float
    right: float
    bottom: float


def page_count(path: Path, password: str | None = None) -> int:
    """How many pages a PDF or picture has.

    Raises:
        PasswordNeededError, UnreadableSourceError: as for ``services.pdfium.open_document``.
    """
    if _is_picture(path):
        return pictures.page_count(path)
    with _opened(path, password) as document:
        return len(document)


def page_size(path: Path, page: int, *, password: str | None = None) -> tuple[float, float]:
    """Width and height of a page as shown, its rotation applied: points, of a picture pixels.

    Raises:
        NotFoundError: there is no such page.
        PasswordNeededError, UnreadableSourceError: the file cannot be opened.
    """
    if _is_picture(path):
        return pictures.page_size(path, page)
    with _opened_page(path, page, password) as opened:
        width, height = opened.get_size()
        return float(width), float(height)


def render_page(path: Path, page: int, *, width: int = 1100, password: str | None = None) -> bytes:
    """A page as a JPEG ``width`` pixels wide (at most ``WIDEST``), filled form fields included.

    JPEG, because writing it takes a tenth of the time of a PNG of the same size in bytes.

    Raises:
        NotFoundError: there is no such page.
        PasswordNeededError, UnreadableSourceError: the file cannot be opened.
    """
    if _is_picture(path):
        within = min(max(width, 1), WIDEST), 4 * WIDEST
        return _jpeg(pictures.page(path, page, within=within).convert("RGB"))
    with _opened_page(path, page, password, forms=True) as opened:
        scale = min(max(width, 1), WIDEST) / max(opened.get_width(), 1.0)
        # A page may be a thousand times higher than wide; memory must stay bounded.
        scale = min(scale, 4 * WIDEST / max(opened.get_height(), 1.0))
        bitmap = opened.render(scale=scale, rev_byteorder=True)
        picture = bitmap.to_pil().convert("RGB")
        bitmap.close()
    return _jpeg(picture)


def _jpeg(picture: Image.Image) -> bytes:
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=88)
    return out.getvalue()


def _is_picture(path: Path) -> bool:
    """Whether a file is a picture; what cannot be told is left to pdfium to refuse."""
    try:
        return _sniffed(path, path.stat().st_mtime_ns) == "image"
    except (OSError, UserInputError):
        return False


@lru_cache(maxsize=64)
def _sniffed(path: Path, changed: int) -> str:
    """A file's kind, looked up once for all its pages: it only changes when the file does."""
    return sniff(path)


def passage_boxes(
    path: Path,
    page: int,
    quote: str,
    *,
    password: str | None = None,
    recognised: Sequence[RecognisedLine] = (),
) -> list[Box]:
    """Where a quote stands on a page: one box a line, in reading order; [] when it is not there.

    Only letters and digits are compared, so white space, hyphenation, ligatures, cell separators
    and punctuation may differ. What is not found in one piece is looked for line by line, then as
    a row of cells, then as runs of words. ``recognised`` are the lines of a page whose text was
    recognised; the quote is then looked for among them.

    Raises:
        NotFoundError: there is no such page.
        PasswordNeededError, UnreadableSourceError: the file cannot be opened.
    """
    if recognised:
        return _recognised_boxes(recognised, *page_size(path, page, password=password), quote)
    if _is_picture(path):
        return []
    with _opened_page(path, page, password) as opened:
        pdfium.widen_flat_text(opened)
        with pdfium.TextPage(opened) as textpage:
            words = textpage.words()
            boxes = [
                box
                for start, end in _Finder(words).find(quote)
                for box in _range_boxes(textpage, words, start, end)
            ]
    return _as_fractions(boxes, words.width, words.height)


def _recognised_boxes(
    lines: Sequence[RecognisedLine], width: float, height: float, quote: str
) -> list[Box]:
    words = page_text(lines, width, height)
    begins = [0, *accumulate(len(line.text) + 1 for line in lines)]
    boxes = [
        part_box(line, max(start - begin, 0), min(end - begin, len(line.text)), width, height)
        for start, end in _Finder(words).find(quote)
        for line, begin in zip(lines, begins, strict=False)
        if start < begin + len(line.text) and end > begin
    ]
    return _as_fractions(boxes, width, height)


def _as_fractions(boxes: list[Sides], width: float, height: float) -> list[Box]:
    return [
        Box(
            left=_fraction(left, width),
            top=_fraction(top, height),
            right=_fraction(right, width),
            bottom=_fraction(bottom, height),
        )
        for left, top, right, bottom in _lines(boxes)
    ]


@contextmanager
def _opened(path: Path, password: str | None, *, forms: bool = False) -> Iterator[Any]:
    with pdfium.LOCK:
        document = pdfium.open_document(path, password)
        try:
            if forms and document.get_formtype() != raw.FORMTYPE_NONE:
                document.init_forms()
            yield document
        finally:
            document.close()


@contextmanager
def _opened_page(
    path: Path, page: int, password: str | None, *, forms: bool = False
) -> Iterator[Any]:
    with _opened(path, password, forms=forms) as document:
        total = len(document)
        if not 1 <= page <= total:
            raise NotFoundError(
                f"There is no page {page}; the document has {total}.",
                code="no_such_page",
                page=page,
                total=total,
            )
        try:
            opened = document[page - 1]
        except pypdfium2.PdfiumError as error:
            raise pdfium.damaged() from error
        try:
            yield opened
        finally:
            opened.close()


def comparable(text: str) -> tuple[str, list[int]]:
    """Letters and digits of a text, case folded and decomposed, and the index each comes from."""
    characters: list[str] = []
    sources: list[int] = []
    for index, character in enumerate(text):
        if character.isascii():
            if character.isalnum():
                characters.append(character.lower())
                sources.append(index)
            continue
        for part in unicodedata.normalize("NFKC", character).casefold():
            if part.isalnum() or unicodedata.category(part)[0] == "M":
                characters.append(part)
                sources.append(index)
    return "".join(characters), sources


Range = tuple[int, int]
"""Indexes of the first character and of the one after the last."""


class _Finder:
    """Finds quotes among the characters of one page."""

    def __init__(self, words: pdfium.PageText) -> None:
        self._words = words
        self._text, self._sources = comparable(words.text)

    def find(self, quote: str) -> list[Range]:
        wanted, _ = comparable(quote)
        if not wanted or not self._text:
            return []
        whole = self._exact(wanted, 0)
        if whole:
            return [whole]
        ranges: list[Range] = []
        at = 0
        found = 0
        for line in quote.splitlines():
            key, _ = comparable(line)
            if not key:
                continue
            exact = self._exact(key, at) or (self._exact(key, 0) if len(key) > 3 else None)
            parts = [exact] if exact else self._row(line) if "|" in line else []
            if not parts:
                parts = self._runs(line)
            if parts:
                ranges.extend(parts)
                found += len(key)
                at = bisect_left(self._sources, parts[-1][1])
        return ranges if found >= ENOUGH * len(wanted) else []

    def _exact(self, key: str, start: int) -> Range | None:
        at = self._text.find(key, start)
        if at < 0:
            return None
        return self._sources[at], self._sources[at + len(key) - 1] + 1

    def _row(self, line: str) -> list[Range]:
        """The page's row with most of a table row's words, as ranges of its words.

        Heads over several lines were put on one, and labels may wrap: when no row holds enough,
        neighbouring rows are taken together.
        """
        wanted = {key for word in _WORD.findall(line) if (key := comparable(word)[0])}
        needed = ENOUGH * sum(map(len, wanted))
        rows = [
            [(key, span) for span in row if (key := self._key(span)) in wanted]
            for row in self._rows()
        ]
        for height in (1, 3, _TALLEST_HEAD):
            best = max(
                ([hit for row in rows[at : at + height] for hit in row] for at in range(len(rows))),
                key=lambda hits: sum(map(len, {key for key, _ in hits})),
                default=[],
            )
            if sum(map(len, {key for key, _ in best})) >= needed:
                return [span for _, span in best]
        return []

    def _key(self, span: Range) -> str:
        return comparable(self._words.text[span[0] : span[1]])[0]

    def _rows(self) -> list[list[Range]]:
        """Words grouped into lines by their middle, left to right."""
        boxes = self._words.boxes
        middles = (boxes[:, 1] + boxes[:, 3]) / 2
        heights = np.maximum(boxes[:, 3] - boxes[:, 1], 1.0)
        order = np.argsort(middles, kind="stable").tolist()
        groups: list[list[int]] = []
        for i in order:
            last = groups[-1][-1] if groups else None
            if last is not None and middles[i] - middles[last] < 0.5 * heights[i]:
                groups[-1].append(i)
            else:
                groups.append([i])
        starts, ends = self._words.starts.tolist(), self._words.ends.tolist()
        return [
            [(starts[i], ends[i]) for i in sorted(group, key=lambda i: float(boxes[i, 0]))]
            for group in groups
        ]

    def _runs(self, line: str) -> list[Range]:
        """Runs of at least two words that a line has in common with the page, in its order."""
        spans = list(zip(self._words.starts.tolist(), self._words.ends.tolist(), strict=True))
        page = [self._key(span) for span in spans]
        wanted = [key for word in _WORD.findall(line) if (key := comparable(word)[0])]
        matcher = SequenceMatcher(None, page, wanted, autojunk=False)
        blocks = [
            block for block in matcher.get_matching_blocks() if block.size >= min(2, len(wanted))
        ]
        matched = sum(len(word) for b in blocks for word in page[b.a : b.a + b.size])
        if not blocks or matched < ENOUGH * sum(map(len, wanted)):
            return []
        return [(spans[b.a][0], spans[b.a + b.size - 1][1]) for b in blocks]


def _range_boxes(
    textpage: pdfium.TextPage, words: pdfium.PageText, start: int, end: int
) -> list[Sides]:
    """Boxes in points of the words in a range, those at its ends cut to their characters."""
    boxes: list[Sides] = []
    first = int(np.searchsorted(words.ends, start, side="right"))
    for i in range(first, len(words.starts)):
        from_, to = int(words.starts[i]), int(words.ends[i])
        if from_ >= end:
            break
        box = words.boxes[i]
        if from_ < start or to > end:
            cut = textpage.loose_boxes([max(from_, start), min(to, end) - 1])
            if words.turns[i] == 0 and float((cut[:, 1] - cut[:, 3]).min()) > 0.01:
                shown = textpage.shown(cut)
                box = np.concatenate((shown[:, :2].min(axis=0), shown[:, 2:].max(axis=0)))
        left, top, right, bottom = box.tolist()
        boxes.append((left, top, right, bottom))
    return boxes


def _lines(boxes: list[Sides]) -> list[Sides]:
    """Neighbouring boxes of one line put together; upright columns are left apart."""
    if not boxes:
        return []
    lines = [boxes[0]]
    for before, box in pairwise(boxes):
        height = min(before[3] - before[1], box[3] - box[1])
        overlap = min(before[3], box[3]) - max(before[1], box[1])
        column = box[3] - box[1] > 3 * (box[2] - box[0])
        if overlap > 0.5 * height and not column:
            last = lines[-1]
            lines[-1] = (
                min(last[0], box[0]),
                min(last[1], box[1]),
                max(last[2], box[2]),
                max(last[3], box[3]),
            )
        else:
            lines.append(box)
    return lines


def _fraction(value: float, whole: float) -> float:
    return round(min(max(value / whole, 0.0), 1.0), 5) if whole else 0.0
