"""From two ranked lists to one: the first stage (services/rerank is the second).

Fusion is convex: ``0.2 * bm25 / best bm25 + 0.8 * scaled cosine``. The weights were chosen by
measurement on ten open sets (docs/benchmarks.md): better than reciprocal ranks on all of them.
Passages that hold an identifier or a quoted phrase of the query verbatim come first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from services.embeddings import Identity
from services.lance import Row
from services.words import NEGATIONS, is_stop, words

TEXT_WEIGHT = 0.2
VECTOR_WEIGHT = 0.8

_COSINE_SPAN = {"local": (0.7, 1.0), "openai": (0.1, 0.7)}
"""Where cosines of an embedder lie in practice: e5 gives .75-.90 even to strangers."""

_QUOTED = re.compile(r"[\"“”„«»]([^\"“”„«»]{2,200})[\"“”„«»]")
_IDENTIFIER = re.compile(r"[^\W_]+(?:[-_./:#][^\W_]+)+|(?=\w*\d)(?=\w*[^\W\d_])\w{2,}")
_CODE = re.compile(r"_|::|#|[^\W_]{2}\.[^\W_]{2}")
"""What marks a word without a digit as a code: ``foo_bar``, ``std::map``, ``example.com``."""
_UNIT = (
    "mg/l|µg/l|g/l|kg/m[³3]|km/h|m/s|[kmcµn]?m[²³23]?|[kmµ]?g|[mch]?l|[kMGT]?Wh?|[kmM]?V|mA|A|"
    "[kMG]?Hz|[kMGT]?B|°[CF]|[khM]?Pa|bar|ppm|ppb|dB|mol|ha|kcal|k?J|t|h|min|%|€|EUR|USD|\\$"
)
_MEASURED = re.compile(rf"(?<![\w.,])\d+(?:[.,]\d+)* ?(?:{_UNIT})(?!\w)")
"""A figure with its unit."""
_GLUED = re.compile(r"(?<=\d)(?=[^\W\d_°µ%]{1,4}\b|[°µ%])")
_SPACED = re.compile(r"(?<=\d) (?=[^\W\d_]|[°µ%])")
_MARK = re.compile(r"(?<=\d)[.,](?=\d{1,2}(?!\d))")
"""A decimal point or comma."""
_OTHER_MARK = str.maketrans(".,", ",.")


@dataclass
class Ranked:
    """A passage with what both searches measured."""

    row: Row
    cosine: float | None = None
    text_score: float | None = None
    exact: bool = False
    score: float = 0.0


def exact_terms(query: str) -> list[str]:
    """What must be found verbatim: quoted phrases, figures with units, and words that look like
    identifiers (``ZX-4417-B``, ``foo_bar.baz``, ``Q4``), longest first."""
    phrases = [phrase.strip() for phrase in _QUOTED.findall(query)]
    rest = _QUOTED.sub(" ", query)
    words = [word for word in _IDENTIFIER.findall(rest) if _is_code(word)]
    figures = _MEASURED.findall(rest)
    words = [word for word in words if not any(word in figure for figure in figures)]
    terms = dict.fromkeys(term for term in (*phrases, *figures, *words) if term)
    return sorted(terms, key=len, reverse=True)


def _is_code(word: str) -> bool:
    return any(character.isdigit() for character in word) or _CODE.search(word) is not None


def spellings(term: str) -> list[str]:
    """A code or figure as it may stand in a text: "25kg" and "25 kg", "63.8 l" and "63,8 l"."""
    forms = [term, _GLUED.sub(" ", term), _SPACED.sub("", term)]
    forms += [_MARK.sub(lambda m: m[0].translate(_OTHER_MARK), form) for form in forms]
    return list(dict.fromkeys(forms))


def with_other_figures(query: str) -> str:
    """The query and its figures with units in their other spellings."""
    others = [spelling for term in _MEASURED.findall(query) for spelling in spellings(term)[1:]]
    return " ".join((query, *others))


def without_stop_words(query: str) -> str:
    """The query without English and German words that say nothing by themselves; all of it when
    nothing would be left. Everything else stays as it is typed."""
    found = words(query)
    if all(is_stop(word.folded) or word.folded in NEGATIONS for word in found):
        return query
    kept, at = [], 0
    for word in found:
        if is_stop(word.folded):
            kept.append(query[at : word.start])
            at = word.end
    return " ".join("".join([*kept, query[at:]]).split())


def fold(text: str) -> str:
    """Text as it is compared for exact finds: NFKC, case folded, single spaces."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def holds(row: Row, term: str) -> bool:
    """True when the passage or its headings hold ``term`` verbatim, not inside a longer word."""
    text = fold(row.words)
    return any(
        re.search(rf"(?<!\w){re.escape(fold(spelling))}(?!\w)", text)
        for spelling in spellings(term)
    )


def cosine_span(identity: Identity) -> tuple[float, float]:
    """Between what values the cosines of an embedder lie in practice."""
    return _COSINE_SPAN.get(identity.provider, (0.0, 1.0))


def scaled_cosine(cosine: float, identity: Identity) -> float:
    """The cosine mapped to 0..1 over the span where this embedder's cosines lie."""
    low, high = cosine_span(identity)
    return min(max((cosine - low) / (high - low), 0.0), 1.0)


def fuse(
    by_text: Sequence[Row],
    by_vector: Sequence[Row],
    exact: Sequence[Row],
    identity: Identity,
    *,
    without_vector: frozenset[str] = frozenset(),
) -> list[Ranked]:
    """One list, best first, each passage once.

    ``without_vector`` names revisions whose vectors are not all there yet: their passages stand
    by their text score alone instead of counting as dissimilar.
    """
    ranked: dict[str, Ranked] = {}
    for row in by_vector:
        ranked.setdefault(row.chunk_id, Ranked(row)).cosine = row.measure
    for row in by_text:
        ranked.setdefault(row.chunk_id, Ranked(row)).text_score = row.measure
    for row in exact:
        ranked.setdefault(row.chunk_id, Ranked(row)).exact = True
    best_text = max((row.measure for row in by_text), default=0.0)
    lowest = min((row.measure for row in by_vector), default=0.0)
    for item in ranked.values():
        text = (item.text_score or 0.0) / best_text if best_text else 0.0
        if not by_vector or (item.cosine is None and item.row.revision in without_vector):
            item.score = text
        elif not by_text:
            item.score = scaled_cosine(item.cosine or lowest, identity)
        else:
            cosine = scaled_cosine(item.cosine if item.cosine is not None else lowest, identity)
            item.score = TEXT_WEIGHT * text + VECTOR_WEIGHT * cosine
        if item.exact:
            item.score += 1.0
    return sorted(ranked.values(), key=lambda item: (-item.score, item.row.chunk_id))
