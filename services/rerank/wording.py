"""How well the wording of passages fits a question, judged within the candidates of one search.

The full text index scores words by how rare they are in all passages; among the candidates, which
are all about the subject, other words tell. Here the candidates are scored afresh against each
other, including those that only the vectors found. Words count by their stems, also inside a
compound ("Versicherung" in "Krankenversicherung") but less; words that stand side by side in the
question count more where they do in the passage. About 5 ms for 100 passages.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from services.words import is_stop, stem, words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MOST_TERMS = 24
_MOST_PLACES = 40
"""Places of one word in one passage that are looked at."""
_ENDING = 4
"""Letters that may follow a stem for the word to be the same one."""
_SHORT = 4
"""Stems below this length stand for themselves: only a plural or case ending may follow."""
_COMPOUND = 5
"""Stems from this length on are also looked for inside longer words."""
_INSIDE = 0.3
"""What a find inside a longer word counts."""
_SIDE_BY_SIDE = 25
"""Characters from the beginning of one word to that of the next."""
_TITLE = 2.0
"""What a word of the title counts, as in the index."""
_K1, _B = 1.2, 0.75
_MARKS = re.compile("[\u0300-\u036f]")


@dataclass(frozen=True)
class Wording:
    """Of each candidate, in 0..1: ``words`` BM25 by the best one's, ``pairs`` the share of the
    question's neighbouring words that are neighbours there, ``cover`` the share of its words."""

    words: NDArray[np.float64]
    pairs: NDArray[np.float64]
    cover: NDArray[np.float64]


@dataclass(frozen=True)
class _Term:
    """A word of the question: what is looked for, and whether its script has spaces."""

    needles: tuple[str, ...]
    spaced: bool


def wording(question: str, texts: Sequence[str], titles: Sequence[str]) -> Wording:
    """Compare ``texts`` (and the titles of what they are from, one each) with ``question``."""
    import numpy as np

    terms = _terms(question)
    count, size = len(texts), len(terms)
    often = np.zeros((count, size))
    there = np.zeros((count, size))
    lengths = np.empty(count)
    neighbours: list[set[int]] = []
    known: dict[str, list[float]] = {}
    for at, (text, title) in enumerate(zip(texts, titles, strict=True)):
        plain = _plain(text)
        places = [_places(plain, term) for term in terms]
        if title not in known:
            name = _plain(title)
            known[title] = [max((w for _, w in _places(name, term)), default=0) for term in terms]
        for number, found in enumerate(places):
            often[at, number] = sum(weight for _, weight in found)
            there[at, number] = max((weight for _, weight in found), default=0.0)
        often[at] += _TITLE * np.array(known[title])
        there[at] = np.maximum(there[at], known[title])
        lengths[at] = len(plain)
        neighbours.append(_side_by_side(places))
    seen = there.sum(0)
    rarity = np.log(1 + (count - seen + 0.5) / (seen + 0.5))
    norm = _K1 * (1 - _B + _B * lengths / max(lengths.mean(), 1))
    scores = (rarity * often * (_K1 + 1) / (often + norm[:, None])).sum(1)
    pair_weights = rarity[:-1] + rarity[1:]
    paired = np.array([sum(pair_weights[number] for number in pairs) for pairs in neighbours])
    return Wording(
        words=scores / max(scores.max(initial=0), 1e-9),
        pairs=paired / max(pair_weights.sum(), 1e-9),
        cover=(there * rarity).sum(1) / max(rarity.sum(), 1e-9),
    )


def _terms(question: str) -> list[_Term]:
    """The question's words that say something, each stem once, in order; all where none does."""
    spoken = words(question)
    spoken = [word for word in spoken if not is_stop(word.folded)] or spoken
    by_stem = {stem(word.folded): word.folded for word in reversed(spoken)}
    ordered = dict.fromkeys(stem(word.folded) for word in spoken)
    return [_term(base, by_stem[base]) for base in list(ordered)[:_MOST_TERMS]]


@lru_cache(maxsize=4096)
def _term(base: str, folded: str) -> _Term:
    needles = (base,) if folded.startswith(base) else (base, folded)
    return _Term(needles, spaced=ord(folded[0]) < 0x2E80)


def _plain(text: str) -> str:
    """Text folded like words are (services/words.py)."""
    if text.isascii():
        return text.lower()
    return _MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))


def _places(text: str, term: _Term) -> list[tuple[int, float]]:
    """Where a word stands, and what each place counts."""
    found: list[tuple[int, float]] = []
    for needle in term.needles:
        length = len(needle)
        at = text.find(needle)
        while at >= 0 and len(found) < _MOST_PLACES:
            weight = _weight(text, at, length) if term.spaced else 1.0
            if weight:
                found.append((at, weight))
            at = text.find(needle, at + length)
    return found


def _weight(text: str, at: int, length: int) -> float:
    """1 for a word of its own, less inside a longer one, 0 for a chance likeness."""
    end = at + length
    rest = 0
    while rest <= _ENDING and end + rest < len(text) and text[end + rest].isalnum():
        rest += 1
    if at == 0 or not text[at - 1].isalnum():
        if rest == 0:
            return 1.0
        if length < _SHORT or text[end - 1].isdigit():
            return float(rest == 1 and text[end] in "sen" and not text[end - 1].isdigit())
        if rest <= _ENDING:
            return 1.0
    return _INSIDE if length >= _COMPOUND else 0.0


def _side_by_side(places: Sequence[list[tuple[int, float]]]) -> set[int]:
    """Numbers of the words that the next one of the question follows at once."""
    order = sorted((at, number) for number, found in enumerate(places) for at, _ in found)
    return {
        number
        for (at, number), (after, following) in pairwise(order)
        if following == number + 1 and after - at < _SIDE_BY_SIDE
    }
