"""A reranking server: the ``/rerank`` endpoint that Jina, Cohere, vLLM, llama.cpp and others share,
``{query, documents, top_n} -> {results: [{index, relevance_score}]}``.
"""

from __future__ import annotations

import json
import math
from typing import Any

import requests

from services.embeddings.endpoint import is_hosted, normalised
from services.errors import RerankerError, SettingsError

_CONNECT, _ANSWER = 3.0, 20.0
"""Seconds. A person waits, and has the order of the search to fall back on."""


class EndpointReranker:
    """See ``Reranker``. Raises RerankerError when ``url`` is no address."""

    def __init__(self, url: str, model: str | None, key: str | None) -> None:
        base = url.strip().rstrip("/")
        try:
            checked = normalised(base.removesuffix("/rerank"), "HALO_RERANKER")
        except SettingsError as error:
            raise RerankerError(error.message, code=error.code, step=error.step) from None
        self.url = base if base.endswith("/rerank") else f"{checked}/rerank"
        self.hosted = is_hosted(self.url)
        self._model = model
        self._session = requests.Session()
        # A proxy of the house does not reach the house's own servers.
        self._session.trust_env = self.hosted
        if key:
            self._session.headers["Authorization"] = f"Bearer {key}"

    def scores(self, question: str, texts: list[str]) -> list[float]:
        body: dict[str, Any] = {"query": question, "documents": texts, "top_n": len(texts)}
        if self._model:
            body["model"] = self._model
        try:
            answer = self._session.post(
                self.url,
                json=body,
                timeout=(_CONNECT, _ANSWER),
                allow_redirects=False,  # it could carry private texts elsewhere
            )
        except requests.RequestException:
            raise RerankerError(
                f"HALO cannot reach the reranker at {self.url}.",
                code="reranker_unreachable",
                step="Check that it is running and that HALO_RERANKER is right.",
                url=self.url,
            ) from None
        if answer.status_code != 200:
            raise RerankerError(
                f"The reranker at {self.url} refused the request ({answer.status_code}).",
                code="reranker_refused",
                step="Check HALO_RERANKER, HALO_RERANKER_MODEL and HALO_RERANKER_KEY.",
                url=self.url,
                status=answer.status_code,
            )
        return _scores(answer.content, len(texts))


def _scores(content: bytes, count: int) -> list[float]:
    try:
        told = json.loads(content)["results"]
        by_index = {int(item["index"]): float(item["relevance_score"]) for item in told}
        scores = [by_index[index] for index in range(count)]
    except (ValueError, KeyError, TypeError):
        raise _odd() from None
    if not all(map(math.isfinite, scores)):
        raise _odd()
    return scores


def _odd() -> RerankerError:
    return RerankerError(
        "The reranker answered with something that is not a score for each passage.",
        code="reranker_answer",
        step="Check that HALO_RERANKER names a reranking endpoint.",
    )
