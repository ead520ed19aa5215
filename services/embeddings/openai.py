"""Embeddings from OpenAI, or from any server that speaks its protocol (Ollama, vLLM ...).

Every vector is checked before it is handed on: a wrong answer is an error, never a row. Nothing
this module raises or logs holds a key.
"""

from __future__ import annotations

import base64
import binascii
import json
import random
import re
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from services.embeddings.endpoint import OPENAI, is_hosted
from services.embeddings.identity import Identity
from services.errors import EmbedderError
from services.tokens import estimated

if TYPE_CHECKING:
    import openai

    from services.embeddings.identity import Vectors

PROVIDER = "openai"
DEFAULT_MODEL = "text-embedding-3-small"
_DIMENSIONS = {
    "text-embedding-3-small": 1536,
    "text-embedding-3-large": 3072,
    "text-embedding-ada-002": 1536,
}
_PREFIXES = {  # models that lose much without theirs, by how their names begin
    "nomic-embed-text": ("search_query: ", "search_document: "),
    "intfloat/multilingual-e5-": ("query: ", "passage: "),
}
_OPENAI_TOKENS, _OTHER_TOKENS = 8191, 512
"""The window of OpenAI's models, and the smallest one that others have."""
_BATCH_TEXTS, _BATCH_TOKENS = 64, 32_000
"""Well below OpenAI's own limits (2048 and 300,000): small servers answer 413 or run dry."""
_PATIENCE = {"passages": 120.0, "query": 4.0}
"""Seconds that waiting between attempts may take in all. Behind a query sits a person, and
full-text search."""
_ATTEMPTS = 5
_FIRST_WAIT = 0.5
_TIMEOUT = 60.0


def prefixes(model: str) -> tuple[str, str]:
    """What the model wants before a query and before a passage."""
    return next((pair for start, pair in _PREFIXES.items() if model.startswith(start)), ("", ""))


class OpenAIEmbedder:
    """One endpoint and model. See ``Embedder`` for the contract; shared between threads.

    Args:
        url: base address, normalised.
        key: None for a server that wants none.
        identity: what a table was built with; without one the dimension is the known one of the
            model, or is asked for by one call when it is first needed.
    """

    def __init__(
        self, url: str, model: str, key: str | None, identity: Identity | None = None
    ) -> None:
        self.url = url
        self.model = model
        self.hosted = is_hosted(url)
        self.max_tokens = _OPENAI_TOKENS if model in _DIMENSIONS else _OTHER_TOKENS
        self._key = key
        self._identity = identity
        self._client: openai.OpenAI | None = None
        self._lock = threading.RLock()
        if identity is None and model in _DIMENSIONS:
            self._identity = self._described(_DIMENSIONS[model])

    @property
    def identity(self) -> Identity:
        """Known for OpenAI's models; asks the server once for others (EmbedderError)."""
        with self._lock:
            if self._identity is None:
                probe = self._ask(["dimension"], "query", None)
                self._identity = self._described(probe.shape[1])
            return self._identity

    def _described(self, dimension: int) -> Identity:
        query, passage = prefixes(self.model)
        return Identity(
            provider=PROVIDER,
            model=self.model,
            dimension=dimension,
            query_prefix=query,
            passage_prefix=passage,
        )

    def count_tokens(self, texts: list[str]) -> list[int]:
        """An estimate from above, the same with and without a network.

        See ``services.tokens``.
        """
        prefix = prefixes(self.model)[1]
        return [2 + estimated(prefix + text) for text in texts]

    def embed_passages(self, texts: list[str]) -> Vectors:
        """Shape (len(texts), dimension), float32, each row of length 1, in the order of ``texts``.

        Raises EmbedderError when one batch fails for good; there is no partial result.
        """
        import numpy as np

        identity = self.identity
        prefixed = [identity.passage_prefix + text for text in texts]
        rows = np.empty((len(texts), identity.dimension), np.float32)
        at = 0
        for batch in _batches(prefixed):
            rows[at : at + len(batch)] = self._ask(batch, "passages", identity.dimension)
            at += len(batch)
        return rows

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimension,), float32, of length 1. Gives up soon: see ``_PATIENCE``."""
        identity = self.identity
        rows = self._ask([identity.query_prefix + text], "query", identity.dimension)
        vector: Vectors = rows[0]
        return vector

    def _ask(self, texts: list[str], purpose: str, dimension: int | None) -> Vectors:
        """One request, repeated while that can help; halves a batch that is too large."""
        import openai

        patience = _PATIENCE[purpose]
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return _vectors(self._post(texts), len(texts), dimension)
            except openai.APIStatusError as error:
                if error.status_code == 413 and len(texts) > 1:
                    break
                wait = _wait(error, attempt)
                if wait is None or wait > patience or attempt == _ATTEMPTS:
                    raise self._classified(error) from None
            except openai.APIConnectionError as error:
                wait = _FIRST_WAIT * 2 ** (attempt - 1)
                # A server that refuses the connection will not be there in a minute either.
                if wait > patience or attempt > 2:
                    raise self._unreachable(error) from None
            patience -= wait
            time.sleep(wait)
        import numpy as np

        half = len(texts) // 2
        return np.concatenate(
            [self._ask(part, purpose, dimension) for part in (texts[:half], texts[half:])]
        )

    def _post(self, texts: list[str]) -> bytes:
        # base64 is a quarter of the size; other servers may refuse it.
        answer = self._opened().embeddings.with_raw_response.create(
            model=self.model,
            input=[_sendable(text) for text in texts],
            encoding_format="base64" if self.url == OPENAI else "float",
        )
        content: bytes = answer.content
        return content

    def _opened(self) -> openai.OpenAI:
        with self._lock:
            if self._client is None:
                import openai

                self._client = openai.OpenAI(
                    base_url=self.url,
                    api_key=self._key or "none",
                    max_retries=0,
                    timeout=_TIMEOUT,
                    # A proxy of the house does not reach the house's own servers. A redirect
                    # could carry private texts elsewhere.
                    http_client=openai.DefaultHttpxClient(
                        trust_env=self.hosted, follow_redirects=False
                    ),
                )
            return self._client

    def _unreachable(self, error: openai.APIConnectionError) -> EmbedderError:
        import openai

        if isinstance(error, openai.APITimeoutError):
            return EmbedderError(
                f"The embedding server at {self.url} did not answer in time.",
                code="embedder_timeout",
                step="Check that it is not overloaded, and try again.",
                url=self.url,
            )
        return EmbedderError(
            f"HALO cannot reach the embedding server at {self.url}.",
            code="embedder_unreachable",
            step="Check that it is running and that HALO_EMBEDDING_URL is right.",
            url=self.url,
        )

    def _classified(self, error: openai.APIStatusError) -> EmbedderError:
        status = error.status_code
        if status in (401, 403):
            return EmbedderError(
                f"The embedding server at {self.url} refused the key.",
                code="embedder_key",
                step="Check OPENAI_API_KEY, and that it may use this model.",
                url=self.url,
            )
        if status == 404:
            return EmbedderError(
                f"The server at {self.url} does not know the embedding model “{self.model}”.",
                code="embedder_model",
                step="Check HALO_EMBEDDING_MODEL and HALO_EMBEDDING_URL.",
                url=self.url,
                model=self.model,
            )
        if status == 429 and _out_of_quota(error):
            return EmbedderError(
                "The account behind the key has no credit left for embeddings.",
                code="embedder_quota",
                step="Add credit at the provider, or use the local embedder for new notebooks.",
            )
        if status == 429:
            return EmbedderError(
                "The embedding server asks for fewer requests, and went on doing so.",
                code="embedder_rate_limited",
                step="Try again in a few minutes.",
            )
        if status >= 500 or status == 408:
            return EmbedderError(
                f"The embedding server at {self.url} has a fault of its own ({status}).",
                code="embedder_server",
                step="Try again later.",
                url=self.url,
                status=status,
            )
        reason = self._reason(error)
        return EmbedderError(
            f"The embedding server at {self.url} refused the request ({status}){reason}.",
            code="embedder_refused",
            step="Check HALO_EMBEDDING_MODEL and HALO_EMBEDDING_URL.",
            url=self.url,
            status=status,
        )

    def _reason(self, error: openai.APIStatusError) -> str:
        """What the server said, shortened, in case it repeats the key: without it."""
        body = error.body
        said = body.get("message") if isinstance(body, dict) else None
        if not isinstance(said, str):
            return ""
        if self._key:
            said = said.replace(self._key, "…")
        said = re.sub(r"\bsk-\S+", "…", " ".join(said.split()))[:200].rstrip(". ")
        return f": {said}" if said else ""


def _batches(texts: list[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    tokens = 0
    for text in texts:
        size = estimated(text)
        if batch and (len(batch) == _BATCH_TEXTS or tokens + size > _BATCH_TOKENS):
            yield batch
            batch, tokens = [], 0
        batch.append(text)
        tokens += size
    if batch:
        yield batch


def _sendable(text: str) -> str:
    """An empty text is refused by OpenAI, half a character by every encoder."""
    return text.encode("utf-8", "replace").decode() or " "


def _wait(error: openai.APIStatusError, attempt: int) -> float | None:
    """Seconds until the next attempt, as the server asks; None when asking again cannot help."""
    status = error.status_code
    if not (status in (408, 429) or status >= 500) or _out_of_quota(error):
        return None
    asked: str = error.response.headers.get("retry-after", "")
    if re.fullmatch(r"\d+(\.\d+)?", asked):
        return float(asked)
    # Spread out, so that several that were turned away do not come back together.
    return _FIRST_WAIT * float(2 ** (attempt - 1)) * random.uniform(0.75, 1)


def _out_of_quota(error: openai.APIStatusError) -> bool:
    return "insufficient_quota" in (error.code, error.type)


def _vectors(content: bytes, count: int, dimension: int | None) -> Vectors:
    """The answer as (count, dimension), float32, rows of length 1; EmbedderError when it is not.

    Rows are put in the order of ``index`` where the server gives one.
    """
    import numpy as np

    try:
        items = json.loads(content)["data"]
        if len(items) != count:
            raise _wrong(f"{len(items)} vectors for {count} texts")
        places = [item.get("index", place) for place, item in enumerate(items)]
        if sorted(places) != list(range(count)):
            raise _wrong("vectors that belong to no text")
        by_place = dict(zip(places, items, strict=True))
        rows = [_numbers(by_place[place]["embedding"]) for place in range(count)]
    except (ValueError, KeyError, TypeError, AttributeError, binascii.Error):
        raise _wrong("something that is not a list of vectors") from None
    wanted = dimension or len(rows[0])
    odd = next((len(row) for row in rows if len(row) != wanted), None)
    if odd is not None or wanted == 0:
        raise _wrong(f"a vector of {odd or 0} numbers instead of {wanted}")
    matrix = np.stack(rows)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    if not np.isfinite(norms).all() or not norms.all():
        raise _wrong("a vector that is zero or not a number")
    vectors: Vectors = (matrix / norms).astype(np.float32)
    return vectors


def _numbers(embedding: Any) -> Any:
    import numpy as np

    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding, validate=True), "<f4").astype(np.float64)
    numbers = np.array(embedding, np.float64)
    if numbers.ndim != 1:
        raise TypeError("not a flat list")
    return numbers


def _wrong(what: str) -> EmbedderError:
    return EmbedderError(
        f"The embedding server answered with {what}.",
        code="embedder_answer",
        step="Check that HALO_EMBEDDING_MODEL is an embedding model, or build the index anew.",
        what=what,
    )
