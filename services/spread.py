"""Which of the passages found are shown: none twice, and none of a source too often.

Passages that say the same in the same words are merged into the best of them. A source takes at
most half of the places while others have passages that are nearly as good. Whoever wants one source
says so ("only in lease.pdf", "nur in Mietvertrag", "@lease"), and then nothing else is looked at.
A question for a list hears the best passage of every source first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from services.lance import Row
from services.models import Source
from services.ranking import Ranked
from services.words import words

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHARE = 0.5
"""Of the places, what one source may take,"""
NEARLY = 0.85
"""while another's passage has this share of the score of what it displaces."""
_SAME = 0.9
"""Share of three-word stretches (Jaccard) from which two passages say the same."""
_ALIKE = 0.95
"""Cosine below which no two passages are the same."""
_STRETCH = 3
_LEAST = 8
"""Words of a passage below which only the very same one is merged with it."""
_COMPARED, _MOST = 4, 200
"""For each passage asked for, how many candidates are looked at, up to so many in all (but never
fewer than were asked for)."""

_ONLY = re.compile(
    r"(?:^|(?<=\s))@|\b(?:only|just|solely|nur|ausschließlich) (?:in|from|within|aus|im|von)"
    r"(?: (?:the|der|dem|den|source|file|document|quelle|datei|dokument))* ",
    re.IGNORECASE,
)
_OPENING = "\"'“„«‚‘"


def spread(ranked: Sequence[Ranked], k: int, *, every_source: bool = False) -> list[Ranked]:
    """The ``k`` passages to show of ``ranked``, best first; with ``every_source`` the best one of
    each source goes before its second."""
    apart = merged(ranked[: max(k, min(k * _COMPARED, _MOST))])
    if every_source:
        firsts = list({item.row.source_id: item for item in reversed(apart)}.values())
        chosen = sorted(firsts, key=lambda item: -item.score)[:k]
    else:
        chosen = _uncrowded(apart, k)
    taken = {item.row.chunk_id for item in chosen}
    chosen += [item for item in apart if item.row.chunk_id not in taken][: k - len(chosen)]
    chosen.sort(key=lambda item: -item.score)  # stable: what is equal stays as it was
    return chosen


def _uncrowded(ranked: Sequence[Ranked], k: int) -> list[Ranked]:
    most = max(2, round(k * SHARE))
    used: Counter[str] = Counter()
    chosen: list[Ranked] = []
    waiting: list[Ranked] = []
    for item in ranked:
        if len(chosen) == k:
            break
        if waiting and item.score < NEARLY * waiting[0].score:
            break
        if used[item.row.source_id] < most:
            used[item.row.source_id] += 1
            chosen.append(item)
        else:
            waiting.append(item)
    return chosen


def merged(ranked: Sequence[Ranked]) -> list[Ranked]:
    """The passages without those that say in the same words what a better one says.

    Two that differ in a figure, as rows of tables do, are not the same.
    """
    import numpy as np

    near = _may_be_same([item.row for item in ranked])
    kept = np.zeros(len(ranked), bool)
    for at, item in enumerate(ranked):
        kept[at] = not any(_same(item, ranked[n]) for n in np.flatnonzero(near[at] & kept).tolist())
    return [item for at, item in enumerate(ranked) if kept[at]]


def _may_be_same(rows: Sequence[Row]) -> NDArray[np.bool_]:
    """Of each one and those before it, what costs little to see: whether they are about as long,
    and alike in meaning where that is known."""
    import numpy as np

    sizes = np.array([len(row.words) for row in rows])
    longest = np.maximum.outer(sizes, sizes)
    near: NDArray[np.bool_] = np.tri(len(rows), k=-1, dtype=bool)
    near &= np.minimum.outer(sizes, sizes) >= _SAME * longest
    for one, other in np.argwhere(near).tolist():
        first, second = rows[one].vector, rows[other].vector
        if first is not None and second is not None:
            near[one, other] = np.dot(first, second) >= _ALIKE
    return near


def _same(one: Ranked, other: Ranked) -> bool:
    (figures, parts), (other_figures, other_parts) = _said(one.row.words), _said(other.row.words)
    shared = len(parts & other_parts)
    return figures == other_figures and shared >= _SAME * len(parts | other_parts)


@lru_cache(maxsize=1024)
def _said(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a text that hold a figure, and its stretches of three words."""
    said = [word.folded for word in words(text)]
    figures = frozenset(word for word in said if any(map(str.isdigit, word)))
    size = _STRETCH if len(said) >= _LEAST else max(len(said), 1)
    starts = range(max(len(said) - size + 1, 1))
    return figures, frozenset(" ".join(said[at : at + size]) for at in starts)


def only_in(question: str, sources: Sequence[Source]) -> tuple[list[Source], str]:
    """The sources that a question confines itself to, and the question without saying so; none
    and the question as it is where it does not, or names none that is there."""
    found: list[Source] = []
    rest = question
    for match in reversed(list(_ONLY.finditer(question))):
        start = match.end() + (question[match.end() : match.end() + 1] in tuple(_OPENING))
        named, length = _named(question[start:], sources)
        if named:
            found = [*named, *found]
            after = question[start + length :].lstrip("\"'”“»’")
            rest = f"{question[: match.start()].rstrip(' ,:(')} {after.lstrip(' ,:)')}".strip()
            question = rest
    if found and not any(character.isalnum() for character in rest):
        rest = ""
    return list({source.id: source for source in found}.values()), rest


def _named(text: str, sources: Sequence[Source]) -> tuple[list[Source], int]:
    """The sources with the longest name that ``text`` begins with, and its length."""
    folded = text.lower()
    best: list[Source] = []
    longest = 0
    for source in sources:
        for name in {source.name.lower(), PurePath(source.name).stem.lower()}:
            after = folded[len(name) : len(name) + 1]
            if not name or not folded.startswith(name) or after.isalnum():
                continue
            if len(name) > longest:
                best, longest = [], len(name)
            if len(name) == longest:
                best.append(source)
    return best, longest
