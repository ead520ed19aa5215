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
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from services.embeddings import Identity
from services.ranking import TEXT_WEIGHT, VECTOR_WEIGHT, Ranked, cosine_span, scaled_cosine
from services.rerank.wording import wording

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from services.embeddings.identity import Vectors

AMONG_CANDIDATES = 0.5
"""Share of the words' weight that goes to their score among the candidates."""
PAIRS = 0.03
ENOUGH_COVER = 0.44
"""Share of the question's words, held by some candidate, from which words have their full weight."""
FEEDBACK = 0.375
"""What likeness to the best candidates weighs, of what likeness to the question does."""
_BEST = 3


def reorder(
    question: str,
    ranked: Sequence[Ranked],
    titles: Mapping[str, str],
    vectors: Mapping[str, Vectors],
    identity: Identity,
) -> list[Ranked]:
    """Score candidates of a hybrid search afresh; the new order, best first.

    Args:
        ranked: candidates of one table with what both searches measured.
        titles: what each candidate's source is called, by source id.
        vectors: the candidates' vectors, by chunk id; those without one are judged by the rest.
    """
    import numpy as np

    if not ranked:
        return []
    rows = [item.row for item in ranked]
    fit = wording(
        question,
        [" ".join((*row.chunk.headings, row.chunk.text)) for row in rows],
        [titles.get(row.source_id, "") for row in rows],
    )
    known = [item.cosine for item in ranked if item.cosine is not None]
    lowest = min(known, default=0.0)
    cosines = np.array(
        [scaled_cosine(lowest if i.cosine is None else i.cosine, identity) for i in ranked]
    )
    index = np.array([item.text_score or 0.0 for item in ranked])
    text = (1 - AMONG_CANDIDATES) * index / max(index.max(), 1e-9) + AMONG_CANDIDATES * fit.words
    weight = TEXT_WEIGHT * min(1.0, math.sqrt(fit.cover.max() / ENOUGH_COVER))
    scores = weight * text + (1 - weight) * cosines + PAIRS * fit.pairs
    low, high = cosine_span(identity)
    scores += FEEDBACK * VECTOR_WEIGHT / (high - low) * _likeness(ranked, scores, vectors)
    for item, score in zip(ranked, scores.tolist(), strict=True):
        item.score = score + (1.0 if item.exact else 0.0)
    return sorted(ranked, key=lambda item: (-item.score, item.row.chunk_id))


def _likeness(
    ranked: Sequence[Ranked], scores: NDArray[np.float64], vectors: Mapping[str, Vectors]
) -> NDArray[np.float64]:
    """Cosine of each candidate to the centre of the best ones, less the lowest of all."""
    import numpy as np

    held = [at for at, item in enumerate(ranked) if item.row.chunk_id in vectors]
    found = np.zeros(len(ranked))
    if held:
        matrix = np.stack([vectors[ranked[at].row.chunk_id] for at in held])
        own = scores[held]
        best = np.argsort(-own, kind="stable")[:_BEST]
        weights = own[best] / max(own[best].sum(), 1e-9)
        cosines = matrix @ (weights @ matrix[best])
        found[held] = cosines - cosines.min()
    return found
