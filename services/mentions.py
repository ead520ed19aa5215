"""Sources that found passages name: the second step of a question that needs two documents.

"What office did the woman hold who played Corliss Archer?" finds the film; the film's passage names
the woman, and her own source holds the answer. Passages of sources that the best hits name are
raised a little (docs/benchmarks.md: both documents among the first ten for 97 % instead of 87 % of
such questions, no change elsewhere).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from services.models import Source
from services.passages import readable_title
from services.ranking import Ranked
from services.words import words

BONUS = 0.1
"""Of the score of the passage that names a source, what its own passages gain."""
_NAMING = 5
"""How many of the best passages are read for names."""
_MOST = 40
"""When they name more sources than these, the names are common words and mean nothing."""
_LONGEST = 8
"""Words of a name."""
_SHORTEST = 5
"""Characters of a name."""
_IN_BRACKETS = re.compile(r"\s*\([^)]*\)\s*$")


def raise_named(ranked: Sequence[Ranked], sources: Sequence[Source]) -> list[Ranked]:
    """The passages, best first, after those of sources were raised that the best ones name."""
    best = sorted(ranked, key=_order)
    names = _names(sources)
    gains: dict[str, float] = {}
    for item in best[:_NAMING]:
        for source_id in _named(item, names):
            gains[source_id] = max(gains.get(source_id, 0.0), BONUS * item.score)
    if not gains or len(gains) > _MOST:
        return best
    for item in best:
        item.score += gains.get(item.row.source_id, 0.0)
    return sorted(best, key=_order)


def _order(item: Ranked) -> tuple[float, str]:
    return -item.score, item.row.chunk_id


def _named(item: Ranked, names: Names) -> set[str]:
    """Ids of other sources whose whole name stands in a passage."""
    said = [word.folded for word in words(item.row.chunk.text)]
    found: set[str] = set()
    for start in (at for at, word in enumerate(said) if word in names.firsts):
        for end in range(start + 1, min(start + _LONGEST, len(said)) + 1):
            found.update(names.ids.get(" ".join(said[start:end]), ()))
    return found - {item.row.source_id}


class Names:
    """Ids of sources by their name, and the words that names begin with."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.ids: dict[str, list[str]] = {}
        for source in sources:
            self.ids.setdefault(_name(source.name), []).append(source.id)
        self.ids.pop("", None)
        self.firsts = {name.partition(" ")[0] for name in self.ids}


_latest = Names(())


def _names(sources: Sequence[Source]) -> Names:
    """Made once for the sources of a notebook, which are the same object until they change."""
    global _latest
    if _latest.sources is not sources:
        _latest = Names(sources)
    return _latest


@lru_cache(maxsize=65536)
def _name(name: str) -> str:
    """A source's name as words, as they would stand in a text; "" when it is too short for that."""
    plain = " ".join(word.folded for word in words(_IN_BRACKETS.sub("", readable_title(name))))
    return plain if len(plain) >= _SHORTEST and not plain.replace(" ", "").isdigit() else ""
