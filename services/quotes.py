"""Finding a kept quote again in its document, which may have been parsed anew since."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import accumulate

from services.models import Document

FUZZY = 0.6
"""Share of the quote's words, in order, that a stretch must hold to count as the same passage."""

_NEAR = 50_000
_ANCHORS, _PLACES, _HITS = 12, 4, 400
_IDEOGRAM = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[{_IDEOGRAM}]|(?:(?![{_IDEOGRAM}])[^\W_])+")


def locate(document: Document, quote: str, start: int) -> tuple[int, int] | None:
    """Offsets of a kept quote in ``document.text``, or None when it is no longer there.

    Tried in turn: exactly at ``start``; the nearest exact occurrence; the nearest one that differs
    only in white space, punctuation, case or hyphenation; the stretch of about the same length
    with most of the quote's words in their order, from 60 %. The last two look around ``start``
    and where the quote's longest words gather, so a long document is only skimmed.
    """
    text, quote = document.text, quote.strip()
    if not quote:
        return None
    start = min(max(start, 0), len(text))
    at = _nearest(text, quote, start)
    if at is not None:
        return at, at + len(quote)
    spaced = _spaced_otherwise(text, quote, start)
    if spaced is not None:
        return spaced
    wanted = _Skeleton(quote)
    if not wanted.text:
        return None
    stretches = [_Skeleton(text[a:b], a) for a, b in _stretches(text, quote, start)]
    found: list[tuple[int, int]] = []
    for held in stretches:
        place = _nearest(held.text, wanted.text, held.to_skeleton(start))
        if place is not None:
            found.append(held.to_text(place, place + len(wanted.text)))
    if found:
        return min(found, key=lambda span: abs(span[0] - start))
    close = [match for held in stretches if (match := _fuzzy(held, wanted, start))]
    if not close:
        return None
    return max(close, key=lambda match: (match[0], -abs(match[1] - start)))[1:]


def _nearest(text: str, part: str, start: int) -> int | None:
    """The occurrence of ``part`` that begins nearest to ``start``."""
    after = text.find(part, start)
    before = text.rfind(part, 0, max(start + len(part) - 1, 0))
    options = [at for at in (before, after) if at >= 0]
    return min(options, key=lambda at: abs(at - start)) if options else None


def _spaced_otherwise(text: str, quote: str, start: int) -> tuple[int, int] | None:
    """The nearest occurrence with the same words and other white space or punctuation."""
    tokens = re.findall(r"[^\W_]+", quote)
    if not tokens:
        return None
    pattern = re.compile(r"[\W_]+".join(map(re.escape, tokens)))
    spans = (match.span() for match in pattern.finditer(text))
    return min(spans, key=lambda span: abs(span[0] - start), default=None)


def _stretches(text: str, quote: str, start: int) -> Iterator[tuple[int, int]]:
    """Where to look closely: around the old place, then where the anchor words gather."""
    yield max(start - _NEAR, 0), min(start + _NEAR, len(text))
    if len(text) <= _NEAR:
        return
    lower = text.lower()
    if len(lower) != len(text):
        lower = text
    # a page laid out in columns spreads a quote over several times its length
    size = max(4 * len(quote), 800)
    gathered: dict[int, float] = {}
    for anchor in _anchors(quote):
        buckets: set[int] = set()
        at = lower.find(anchor)
        for _ in range(_HITS):
            if at < 0:
                break
            buckets.update((at // size, at // size + 1))
            at = lower.find(anchor, at + len(anchor))
        for bucket in buckets:
            # a rare word says more about the place than one that is everywhere
            gathered[bucket] = gathered.get(bucket, 0.0) + 1 / (1 + len(buckets)) ** 0.5
    for bucket, _ in sorted(
        gathered.items(), key=lambda item: (-item[1], abs(item[0] * size - start))
    )[:_PLACES]:
        yield max((bucket - 2) * size, 0), min((bucket + 2) * size, len(text))


def _anchors(quote: str) -> list[str]:
    """The longest words of the quote; of a text without spaces, pieces of six characters."""
    parts: set[str] = set()
    for run in re.findall(r"[^\W_]+", quote.lower()):
        short = len(run) <= 12
        parts.update([run] if short else (run[i : i + 6] for i in range(0, len(run) - 5, 6)))
    return sorted(parts, key=lambda part: (-len(part), part))[:_ANCHORS]


class _Skeleton:
    """A text reduced to its folded letters and digits, with the way back to offsets.

    ``low`` is the offset of ``text`` in the document.
    """

    def __init__(self, text: str, low: int = 0) -> None:
        found = list(_WORD.finditer(text))
        self.spans = [(match.start() + low, match.end() + low) for match in found]
        self.words = [_fold(match.group()) for match in found]
        self.text = "".join(self.words)
        self.at = list(accumulate(map(len, self.words), initial=0))[:-1]

    def to_skeleton(self, offset: int) -> int:
        """The skeleton position of the first word at or after a text offset."""
        index = bisect_right(self.spans, (offset, -1))
        return self.at[index] if index < len(self.at) else len(self.text)

    def to_text(self, start: int, end: int) -> tuple[int, int]:
        """The text offsets of skeleton characters ``[start, end)``."""
        first = bisect_right(self.at, start) - 1
        last = bisect_right(self.at, end - 1) - 1
        begin = min(self.spans[first][0] + start - self.at[first], self.spans[first][1] - 1)
        stop = min(self.spans[last][0] + end - self.at[last], self.spans[last][1])
        if end == self.at[last] + len(self.words[last]):
            stop = self.spans[last][1]
        return begin, stop


def _fold(token: str) -> str:
    return token.lower() if token.isascii() else unicodedata.normalize("NFKC", token).casefold()


def _fuzzy(held: _Skeleton, wanted: _Skeleton, start: int) -> tuple[float, int, int] | None:
    """(share, start, end) of the stretch of the quote's length that shares most words."""
    size = len(wanted.words)
    if size < 4:
        return None
    need = Counter(wanted.words)
    hits = [at for at, word in enumerate(held.words) if word in need]
    count: Counter[str] = Counter()
    shared = left = 0
    best, place = (0, 0), -1
    for at in hits:
        word = held.words[at]
        count[word] += 1
        shared += count[word] <= need[word]
        while hits[left] <= at - size:
            gone = held.words[hits[left]]
            shared -= count[gone] <= need[gone]
            count[gone] -= 1
            left += 1
        better = (shared, -abs(held.spans[hits[left]][0] - start))
        if better > best or place < 0:
            best, place = better, hits[left]
    if best[0] < FUZZY * size:
        return None
    low = max(place - size // 4, 0)
    window = held.words[low : place + size + size // 4 + 1]
    matcher = SequenceMatcher(None, wanted.words, window, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    share = sum(block.size for block in blocks) / size
    if share < FUZZY:
        return None
    first, last = low + blocks[0].b, low + blocks[-1].b + blocks[-1].size - 1
    return share, held.spans[first][0], held.spans[last][1]
