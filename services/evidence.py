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
from collections.abc import Sequence, Set
from dataclasses import dataclass, field

from services.embeddings import Embedder
from services.models import Hit
from services.questions import Question, fits, pairs, years
from services.ranking import scaled_cosine
from services.sentences import Sentence, split_sentences
from services.words import is_stop, script, stem, stems, words

WEIGHTS = {
    "overlap": 5.8,
    "before": 2.2,
    "context": 0.3,
    "passage": 6.5,
    "fit": 1.3,
    "cosine": 6.3,
    "length": 0.1,
    "row": 0.2,
    "pairs": 1.0,
    "dense": 0.3,
    "begins": 0.5,
    "other_year": -1.5,
    "bare": -2.0,
    "misfit": -0.5,
}

EMBEDDED, EMBEDDED_CHARS = 12, 1800
"""At most so many sentences and characters are embedded for a question, in one batch: about 450
tokens. Twice as many changed no measured figure."""

COMMON = 0.8
COMPOUND = 6
HARD = ("person", "time", "amount", "place")

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
    said: frozenset[str] = frozenset()
    """Its stems with those of its headings and of the sentence before."""
    years: frozenset[str] = frozenset()
    """The years it speaks of: its own, or else those of the nearest heading that names any."""
    features: dict[str, float] = field(default_factory=dict)
    score: float = 0.0


class Terms:
    """The question's words with their weights: rare among the candidates weighs more."""

    def __init__(
        self,
        question: Question,
        pools: Sequence[frozenset[str]],
        passages: Sequence[frozenset[str]],
    ) -> None:
        self.weights: dict[str, float] = {}
        for term, prior in question.terms.items():
            seen = sum(has(pool, term) for pool in pools)
            rarity = math.log(1 + (len(pools) + 0.5) / (seen + 0.5))
            if term in question.names and len(passages) > 1:
                # a name that every passage holds is what they are about and tells none apart
                held = sum(has(passage, term) for passage in passages) / len(passages)
                prior *= 1 - COMMON * held
            self.weights[term] = prior * rarity
        self.total = sum(self.weights.values()) or 1.0

    def share(self, stems: frozenset[str]) -> float:
        """The weighted share of the question's words that ``stems`` holds, 0..1."""
        return sum(w for term, w in self.weights.items() if has(stems, term)) / self.total

    def share_of(self, asked: Set[str], stems: frozenset[str]) -> float:
        """The weighted share of some of the question's words that ``stems`` holds, 0..1."""
        total = sum(self.weights[term] for term in asked) or 1.0
        return sum(self.weights[term] for term in asked if has(stems, term)) / total

    def density(self, stems: frozenset[str]) -> float:
        """The share of ``stems`` that are words of the question, 0..1."""
        return sum(has(stems, term) for term in self.weights) / max(len(stems), 1)


def has(stems: frozenset[str], term: str) -> bool:
    if term in stems:
        return True
    if len(term) < 5 or not term.isalpha():
        return False
    near = 3 if len(term) > 5 else 1
    # inflections the light stemmer leaves apart, and German compounds
    return any(
        (len(s) >= 5 and s[:5] == term[:5] and abs(len(s) - len(term)) <= near)
        or (len(s) > len(term) + 2 and len(term) >= COMPOUND and term in s)
        or (len(term) > len(s) + 2 and len(s) >= COMPOUND and s in term)
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
    passages: list[frozenset[str]] = []
    for rank, hit in enumerate(hits):
        units = split_sentences(hit.chunk.text)
        heads = _table_heads(units, hit.chunk.text)
        above = content(" ".join((hit.source_name, *hit.chunk.headings)))
        dated = next((y for y in map(years, _nearest_first(hit)) if y), frozenset())
        passages.append(above | content(hit.chunk.text))
        before: frozenset[str] = frozenset()
        for number, unit in enumerate(units):
            own = content(unit.text)
            if unit.kind == "heading" and _heads_something(units, number):
                above, before = above | own, frozenset()
                dated = years(unit.text) or dated
                continue
            table = heads.get(number, ())
            if table is None or not _SAYS.search(unit.text):
                continue
            columns = content(" ".join(head.text for head in table)) if table else frozenset()
            near = tuple(units[n] for n in (number - 1, number + 1) if 0 <= n < len(units))
            said = years(" ".join((unit.text, *(head.text for head in table)))) or dated
            # "Results 2025" above, and below it a line that needs not say the year again
            stems = own | columns | (said & question.years)
            held = stems | above | before
            found.append(Candidate(hit, rank, unit, number, stems, table, near, held, said))
            pools.append(own | columns)
            contexts.append(above)
            befores.append(before)
            before = own
    terms = Terms(question, pools, passages)
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
            "pairs": _shared_pairs(question, candidate),
            "dense": terms.density(candidate.stems),
            "begins": float(_begins_with(question, unit.text)),
            "other_year": float(
                bool(question.years and candidate.years and not question.years & candidate.years)
            ),
            "bare": float(_says_little(candidate)),
            "misfit": float(question.wanted in HARD and not fits(question, unit.text)),
        }
    return found, terms


def _shared_pairs(question: Question, candidate: Candidate) -> float:
    """The share of the question's neighbouring words that are neighbours in the sentence too."""
    if not question.pairs:
        return 0.0
    return len(question.pairs & pairs(candidate.unit.text)) / len(question.pairs)


def _nearest_first(hit: Hit) -> tuple[str, ...]:
    return (*reversed(hit.chunk.headings), hit.source_name)


def _begins_with(question: Question, text: str) -> bool:
    """True where one of the first two content words is one the question asks about."""
    first = stems(text)[:2]
    return any(stem in question.terms and stem not in question.names for stem in first)


def _says_little(candidate: Candidate) -> bool:
    """True for what is no sentence: running titles, labels, names, and rows of figures whose heads
    are elsewhere. Every sentence of a language HALO knows has little words."""
    text = candidate.unit.text
    if candidate.unit.kind == "row":
        return not candidate.heads and sum(map(str.isdigit, text)) > len(text) / 4
    return script(text) == "latin" and not any(is_stop(word.folded) for word in words(text))


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
