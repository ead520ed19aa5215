"""Finding the sentences of the passages found that answer a question, and how sure that is.

Every sentence, list item and table row of the hits is scored by a small linear formula over
features in 0..1 (``WEIGHTS``): the share of the question's words in it (weighted by rarity among
the candidates), in the sentence before, in its headings, the passage's own rank score, whether
it holds the kind of thing asked for, and the cosine of the best of them to the question when an
embedder is given. ``confidence`` puts the best values through a logistic (``DOUBT``). Weights were
fitted on open question sets; benchmarks/answers.py names them and measures the result.

What this does not know: meaning. A passage on the right subject that lacks the fact asked for
looks like an answer to it; such answers are the closest passage, not the truth.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from services.embeddings import Embedder, Identity
from services.models import Hit
from services.questions import Question, fits
from services.ranking import scaled_cosine
from services.sentences import Sentence, split_sentences
from services.words import is_stop, language, script, stem, words

WEIGHTS = {
    "overlap": 5.5,
    "before": 1.7,
    "context": 0.3,
    "passage": 7.0,
    "fit": 1.1,
    "cosine": 6.0,
    "length": 0.1,
    "row": -0.5,
}

EMBEDDED, EMBEDDED_CHARS = 12, 1800
"""At most so many sentences and characters are embedded for a question, in one batch: about 450
tokens. Twice as many changed no measured figure."""

FEATURES = ("overlap", "before", "context", "passage", "fit", "cosine", "length", "row")


@dataclass
class Candidate:
    """One sentence (item, row) of a hit, with its features in 0..1 and its score."""

    hit: Hit
    rank: int
    unit: Sentence
    number: int
    """Which unit of its passage it is."""
    stems: frozenset[str]
    heads: tuple[Sentence, ...] = ()
    """The head rows of the table a row belongs to."""
    neighbours: tuple[Sentence, ...] = ()
    """The units before and after, nearest first."""
    features: dict[str, float] = field(default_factory=dict)
    score: float = 0.0


class Terms:
    """The question's words with their weights: rare among the candidates weighs more."""

    def __init__(self, question: Question, pools: Sequence[frozenset[str]]) -> None:
        self.weights: dict[str, float] = {}
        for term, prior in question.terms.items():
            seen = sum(_has(pool, term) for pool in pools)
            rarity = math.log(1 + (len(pools) + 0.5) / (seen + 0.5))
            self.weights[term] = prior * rarity
        self.total = sum(self.weights.values()) or 1.0

    def share(self, stems: frozenset[str]) -> float:
        """The weighted share of the question's words that ``stems`` holds, 0..1."""
        return sum(w for term, w in self.weights.items() if _has(stems, term)) / self.total


def _has(stems: frozenset[str], term: str) -> bool:
    if term in stems:
        return True
    if len(term) < 5 or not term.isalpha():
        return False
    # inflections the light stemmer leaves apart, and German compounds
    return any(
        (len(s) >= 5 and s[:5] == term[:5] and abs(len(s) - len(term)) <= 3)
        or (len(s) > len(term) + 2 and term in s)
        or (len(term) > len(s) + 2 and len(s) >= 5 and s in term)
        for s in stems
    )


def content(text: str) -> frozenset[str]:
    """The stems of a text's content words."""
    return frozenset(stem(word.folded) for word in words(text) if not is_stop(word.folded))


def gather(question: Question, hits: Sequence[Hit]) -> tuple[list[Candidate], Terms]:
    """All candidates of the hits with the features that need no embedder."""
    found: list[Candidate] = []
    pools: list[frozenset[str]] = []
    contexts: list[frozenset[str]] = []
    befores: list[frozenset[str]] = []
    for rank, hit in enumerate(hits):
        units = split_sentences(hit.chunk.text)
        heads = _table_heads(units, hit.chunk.text)
        above = content(" ".join((hit.source_name, *hit.chunk.headings)))
        before: frozenset[str] = frozenset()
        for number, unit in enumerate(units):
            own = content(unit.text)
            if unit.kind == "heading" and _heads_something(units, number):
                above, before = above | own, frozenset()
                continue
            table = heads.get(number, ())
            if table is None or not _SAYS.search(unit.text):
                continue
            columns = content(" ".join(head.text for head in table)) if table else frozenset()
            near = tuple(units[n] for n in (number - 1, number + 1) if 0 <= n < len(units))
            found.append(Candidate(hit, rank, unit, number, own | columns, table, near))
            pools.append(own | columns)
            contexts.append(above)
            befores.append(before)
            before = own
    terms = Terms(question, pools)
    best = max((hit.score for hit in hits), default=0.0) or 1.0
    for candidate, context, before in zip(found, contexts, befores, strict=True):
        unit = candidate.unit
        candidate.features = {
            "overlap": terms.share(candidate.stems),
            "before": terms.share(before - candidate.stems),
            "context": terms.share(context - candidate.stems),
            "passage": min(candidate.hit.score / best, 1.0),
            "fit": float(fits(question, unit.text)),
            "cosine": 0.0,
            "length": min(len(unit.text), 200) / 200,
            "row": float(unit.kind == "row"),
        }
    return found, terms


def _heads_something(units: Sequence[Sentence], number: int) -> bool:
    """A short line is a heading only when text follows it; alone or last it is a note."""
    return any(unit.kind != "heading" for unit in units[number + 1 :])


def _table_heads(units: Sequence[Sentence], text: str) -> dict[int, tuple[Sentence, ...] | None]:
    """For each table row its head rows; a head row itself maps to None.

    Of rows that follow each other the first is a head, and up to two more while they hold no
    figures but years (heads over two lines).
    """
    found: dict[int, tuple[Sentence, ...] | None] = {}
    at = 0
    while at < len(units):
        if units[at].kind != "row":
            at += 1
            continue
        end = at + 1
        while (
            end < len(units)
            and units[end].kind == "row"
            and not text[units[end - 1].end : units[end].start].strip()
            and text.count("\n", units[end - 1].end, units[end].start) <= 1
        ):
            end += 1
        if end - at == 1:
            found[at] = ()
        else:
            last = at + 1
            while last < min(at + 3, end - 1) and _is_head(units[last].text):
                last += 1
            for number in range(at, end):
                same_line = (
                    number > at and "\n" not in text[units[number - 1].end : units[number].start]
                )
                if same_line:
                    # the rest of a row too long for one unit: its cells have lost their columns
                    found[number] = None if found[number - 1] is None else ()
                else:
                    found[number] = None if number < last else tuple(units[at:last])
        at = end
    return found


_SAYS = re.compile(r"[^\W\d_]{3}|[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""What a unit needs to say anything: the labels along a chart's axis ("0 Q1 2024") lack it."""
_FIGURE = re.compile(r"\d")


def _is_head(row: str) -> bool:
    cells = [cell.strip() for cell in row.split("|")]
    figures = [c for c in cells if _FIGURE.search(c) and not re.search(r"\b(?:19|20)\d\d\b", c)]
    return not figures and (not cells[0] or len([c for c in cells if c]) > 1)


def score(
    question: Question, candidates: list[Candidate], embedder: Embedder | None
) -> list[Candidate]:
    """The candidates best first, after embedding the most promising of them in one batch."""
    for candidate in candidates:
        candidate.score = _weigh(candidate.features)
    candidates = sorted(candidates, key=_order)
    if embedder is not None and candidates:
        chosen: list[Candidate] = []
        chars = 0
        for candidate in candidates[:EMBEDDED]:
            chars += len(candidate.unit.text)
            if chars > EMBEDDED_CHARS:
                break
            chosen.append(candidate)
        cosines = _cosines(question.text, chosen, embedder)
        for candidate, cosine in zip(chosen, cosines, strict=True):
            candidate.features["cosine"] = cosine
            candidate.score = _weigh(candidate.features)
        rest = candidates[len(chosen) :]
        candidates = sorted(chosen, key=_order) + rest
    return candidates


def _order(candidate: Candidate) -> tuple[float, int, int]:
    return -candidate.score, candidate.rank, candidate.number


def _weigh(features: dict[str, float]) -> float:
    return sum(WEIGHTS[name] * value for name, value in features.items())


def _cosines(question: str, chosen: Sequence[Candidate], embedder: Embedder) -> list[float]:
    """Cosines of the candidates to the question."""
    passages = embedder.embed_passages([candidate.unit.text for candidate in chosen])
    cosines = passages @ embedder.embed_query(question)
    return [scaled_cosine(float(cosine), embedder.identity) for cosine in cosines]


# --- how sure -------------------------------------------------------------------------------


MEANING = (6.0, 5.0, 2.0, 1.0)
"""Weights of the best passage's cosine, the best sentence's, overlap and names. Cosines are scaled
to the embedder's span (``ranking.scaled_cosine``)."""
COMPARED, ACROSS = -6.35, -4.6
"""Constants where question and passages share a language, and where they do not. With e5 the
borderline answer has a passage at .83 and a sentence at .83, half of the words and all names."""
WORDS, WORDS_ONLY = (4.0, 1.5, 5.0), -4.05
"""Weights of overlap, names and focus, and the constant, where no vectors know meaning."""
EXACT = 1.5
ELSEWHERE = -1.5
"""Added where a question names something the passages hold and asks about it what they do not: none
of its other words stands in any of them."""


@dataclass(frozen=True)
class Signals:
    """What tells an answerable question from one the sources do not hold, each 0..1.

    ``cosine`` is the best passage's and ``sentence`` the best sentence's, both scaled; None
    without an embedder that knows meaning. ``overlap`` is the share of the question's words in the
    best passage and its headings, ``names`` the share of its names, numbers and codes there (1 when
    it has none), ``focus`` the share of its words in one sentence and the one before. ``exact``
    says that the search found an identifier or phrase of the question verbatim; ``comparable``
    that question and passages share a language, so that overlap means something; ``elsewhere`` that
    beyond its names no word of the question stands in the best passages.
    """

    cosine: float | None
    sentence: float | None
    overlap: float
    names: float
    focus: float
    exact: bool
    comparable: bool
    elsewhere: bool = False


def signals(
    question: Question,
    candidates: Sequence[Candidate],
    terms: Terms,
    hits: Sequence[Hit],
    identity: Identity | None,
) -> Signals:
    """The signals of ranked candidates; ``identity`` is the embedder's that gave the cosines."""
    knows_meaning = identity is not None and identity.provider != "hash"
    cosine = sentence = None
    if identity is not None and knows_meaning:
        cosines = [hit.cosine for hit in hits if hit.cosine is not None]
        cosine = max((scaled_cosine(c, identity) for c in cosines), default=None)
        sentence = max((c.features["cosine"] for c in candidates), default=None)
    overlap = names = 0.0
    asked = question.terms.keys() - question.names
    elsewhere = bool(asked and question.names)
    for hit in hits[:5]:
        held = content(" ".join((hit.source_name, *hit.chunk.headings, hit.chunk.text)))
        overlap = max(overlap, terms.share(held))
        if question.names:
            found = sum(_has(held, name) for name in question.names)
            names = max(names, found / len(question.names))
        elsewhere = elsewhere and not any(_has(held, term) for term in asked)
    focus = (c.features["overlap"] + c.features["before"] for c in candidates[:3])
    text = candidates[0].hit.chunk.text if candidates else ""
    spoken, written = question.language, language(text)
    same_script = question.script is None or question.script == script(text)
    comparable = same_script and not (spoken and written and spoken != written)
    return Signals(
        cosine,
        sentence,
        overlap,
        names if question.names else 1.0,
        max(focus, default=0.0),
        any(hit.exact for hit in hits[:3]),
        comparable,
        elsewhere and comparable,
    )


def confidence(found: Signals) -> float:
    """How sure it is that the sources hold an answer, 0..1; a logistic over the signals.

    ``MEANING`` with a constant for one language or two, or ``WORDS`` without such vectors.
    """
    if found.cosine is None or found.sentence is None:
        z = WORDS_ONLY + _dot(WORDS, (found.overlap, found.names, found.focus))
    else:
        values = (found.cosine, found.sentence, found.overlap, found.names)
        z = (COMPARED if found.comparable else ACROSS) + _dot(MEANING, values)
    # an identifier or phrase of the question that was found verbatim is worth much
    z += EXACT * found.exact + ELSEWHERE * found.elsewhere
    return 1 / (1 + math.exp(-z))


def _dot(weights: Sequence[float], values: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(weights, values, strict=True))
