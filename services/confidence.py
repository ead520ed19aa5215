"""How sure it is that the sources hold an answer, from the evidence found.

A logistic over a few signals in 0..1 decides between an answer and "not in your sources". Its
constants were chosen on open question sets; benchmarks/answers.py names them and measures the
result.

What this does not know: meaning. A passage on the right subject that lacks the fact asked for
looks like an answer to it; such answers are the closest passage, not the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from services.embeddings import Identity
from services.evidence import HARD, Candidate, Terms, content, has
from services.models import Hit
from services.questions import Question
from services.ranking import scaled_cosine
from services.words import language, script

MEANING = (6.0, 5.0, 2.0, 1.0)
"""Weights of the best passage's cosine, the best sentence's, overlap and names. Cosines are scaled
to the embedder's span (``ranking.scaled_cosine``)."""
COMPARED, ACROSS = -6.35, -4.6
"""Constants where question and passages share a language, and where they do not. With e5 the
borderline answer has a passage at .83 and a sentence at .83, half of the words and all names."""
WORDS, WORDS_ONLY = (4.0, 1.5, 5.0), -4.05
"""Weights of overlap, names and focus, and the constant, where no vectors know meaning."""
EXACT = 1.5
UNFIT, CLEAR = -3.0, 0.6
"""Added where ``unfit``, unless a sentence is that near: then it says it in other words."""
_READ = 5
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
    unfit: bool = False
    """That a kind of thing is asked for (a name for "who", a number for "how many") and no sentence
    holds one together with what is said of it."""


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
            found = sum(has(held, name) for name in question.names)
            names = max(names, found / len(question.names))
        elsewhere = elsewhere and not any(has(held, term) for term in asked)
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
        comparable and _unfit(question, candidates),
    )


def _unfit(question: Question, candidates: Sequence[Candidate]) -> bool:
    if question.wanted not in HARD:
        return False
    asked = question.terms.keys() - question.names
    fitting = [candidate for candidate in candidates[:_READ] if candidate.features["fit"]]
    return not any(not asked or any(has(c.said, term) for term in asked) for c in fitting)


def confidence(found: Signals) -> float:
    """How sure it is that the sources hold an answer, 0..1; a logistic over the signals.

    ``MEANING`` with a constant for one language or two, or ``WORDS`` without such vectors.
    """
    if found.cosine is None or found.sentence is None:
        z = WORDS_ONLY + _dot(WORDS, (found.overlap, found.names, found.focus))
    else:
        values = (found.cosine, found.sentence, found.overlap, found.names)
        z = (COMPARED if found.comparable else ACROSS) + _dot(MEANING, values)
        z += UNFIT * (found.unfit and found.sentence < CLEAR)
    # an identifier or phrase of the question that was found verbatim is worth much
    z += EXACT * found.exact + ELSEWHERE * found.elsewhere
    return 1 / (1 + math.exp(-z))


def _dot(weights: Sequence[float], values: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(weights, values, strict=True))
