"""The second stage of a search: what orders the candidates that the first one found.

``light`` costs no model and always runs. A model of the user's own, named by HALO_RERANKER, may
follow: a server with a ``/rerank`` endpoint, or a folder with a cross-encoder in ONNX. It decides
the order; the scores stay those of the places, so what reads them needs to know nothing of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

from services.errors import RerankerError
from services.models import Finding, Source
from services.ranking import Ranked
from services.settings import setting


class Reranker(Protocol):
    """Judges how well texts answer a question."""

    @property
    def hosted(self) -> bool:
        """True when texts leave for an address that is neither loopback nor private."""

    def scores(self, question: str, texts: list[str]) -> list[float]:
        """One number a text, higher is better. Raises RerankerError."""


def chosen_reranker() -> Reranker | None:
    """The model that HALO_RERANKER names; None where it names none. Raises RerankerError."""
    value = setting("HALO_RERANKER")
    if value is None:
        return None
    return _opened(value, setting("HALO_RERANKER_MODEL"), setting("HALO_RERANKER_KEY"))


@lru_cache(maxsize=2)
def _opened(value: str, model: str | None, key: str | None) -> Reranker:
    if "://" in value:
        from services.rerank.endpoint import EndpointReranker

        return EndpointReranker(value, model, key)
    from services.rerank.cross_encoder import CrossEncoder

    return CrossEncoder(value)


def rerank(
    question: str, ranked: Sequence[Ranked], sources: Mapping[str, Source], notices: list[Finding]
) -> list[Ranked]:
    """``ranked`` in the order of the user's own model.

    Passages that hold an identifier or phrase of the question verbatim stay first, and what may not
    leave the house keeps its place. When the model fails the order stays, and ``notices`` say so.
    """
    try:
        judge = chosen_reranker()
        if judge is None:
            return list(ranked)
        found = [
            at
            for at, item in enumerate(ranked)
            if not (judge.hosted and sources[item.row.source_id].private)
        ]
        texts = [ranked[at].row.words for at in found]
        scores = judge.scores(question, texts) if texts else []
    except RerankerError as error:
        notices.append(
            Finding(
                code="not_reranked",
                message=f"The passages stand in the order of the search. {error}",
                params={"reason": str(error)},
            )
        )
        return list(ranked)
    judged = sorted(
        zip(found, scores, strict=True), key=lambda pair: (not ranked[pair[0]].exact, -pair[1])
    )
    order = list(ranked)
    places = [item.score for item in ranked]
    for place, (at, _) in zip(found, judged, strict=True):
        order[place] = ranked[at]
    for item, score in zip(order, places, strict=True):
        item.score = score
    return order
