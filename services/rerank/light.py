"""The second stage that costs no model: candidates are compared with each other.

Three things are added to what both searches measured (gains in docs/benchmarks.md):

- the candidates' wording is scored against the candidates (``wording``), and takes the place of
  half of the index's BM25; words that stand side by side in the question count where they do so;
- words weigh less where no candidate holds half of what the question says, as when question and
  sources are in different languages;
- likeness to the three best candidates counts beside likeness to the question.

The formula has five numbers, chosen by measurement; a ranker learned on other sets was no better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from services.ranking import TEXT_WEIGHT, VECTOR_WEIGHT, Ranked, cosine_span, scaled_cosine
from services.rerank.wording import wording

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from services.embeddings.identity import Identity, Vectors

AMONG_CANDIDATES = 0.5
"""Share of the words' weight that goes to their score among the candidates."""
PAIRS = 0.03
ENOUGH_COVER = 0.44
"""Share of the question's words, in some candidate, from which words have their full weight."""
FEEDBACK = 0.375
"""What likeness to the best candidates weighs, of what likeness to the question does."""
_BEST = 3


def reorder(
    question: str, ranked: Sequence[Ranked], depth: int, identity: Identity
) -> list[Ranked]:
    """Score the first ``depth`` candidates of a hybrid search afresh; the rest follow."""
    import numpy as np

    first, rest = ranked[:depth], ranked[depth:]
    if not first:
        return []
    rows = [item.row for item in first]
    fit = wording(question, [row.words for row in rows], [row.title for row in rows])
    known = [item.cosine for item in first if item.cosine is not None]
    lowest = min(known, default=0.0)
    cosines = np.array(
        [scaled_cosine(lowest if i.cosine is None else i.cosine, identity) for i in first]
    )
    index = np.array([item.text_score or 0.0 for item in first])
    text = (1 - AMONG_CANDIDATES) * index / max(index.max(), 1e-9) + AMONG_CANDIDATES * fit.words
    weight = TEXT_WEIGHT * min(1.0, math.sqrt(fit.cover.max() / ENOUGH_COVER))
    scores = weight * text + (1 - weight) * cosines + PAIRS * fit.pairs
    low, high = cosine_span(identity)
    near = likeness([row.vector for row in rows], scores)
    scores += FEEDBACK * VECTOR_WEIGHT / (high - low) * near
    for item, score in zip(first, scores.tolist(), strict=True):
        item.score = score + (1.0 if item.exact else 0.0)
    least = min(item.score for item in first)
    for item in rest:
        item.score = min(item.score, least)
    return sorted(first, key=lambda item: (-item.score, item.row.chunk_id)) + list(rest)


def likeness(vectors: Sequence[Vectors | None], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosine of each candidate to the centre of the three that score best, less the lowest of all;
    0 for those without a vector."""
    import numpy as np

    held = [at for at, vector in enumerate(vectors) if vector is not None]
    found = np.zeros(len(vectors))
    if held:
        matrix = np.stack([vector for vector in vectors if vector is not None])
        own = scores[held]
        best = np.argsort(-own, kind="stable")[:_BEST]
        weights = own[best] / max(own[best].sum(), 1e-9)
        cosines = matrix @ (weights @ matrix[best])
        found[held] = cosines - cosines.min()
    return found
