"""The bundled embedder: multilingual-e5-small on the processor, without key or network.

It does not know where texts come from or how they are stored. Cosines of this model sit between
.75 and .90: use them to rank, not against a threshold such as .5.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from services.embeddings import convert
from services.embeddings.identity import Identity
from services.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from services.embeddings.identity import Vectors

IDENTITY = Identity(
    provider="local",
    model="multilingual-e5-small",
    dimension=384,
    query_prefix="query: ",
    passage_prefix="passage: ",
)
MAX_TOKENS = 512
_BEGIN, _PAD, _END = 0, 1, 2
_BATCH_TOKENS = 512
"""Tokens, padding included, that run at once. Measured: what lies between two layers then fits the
processor's cache; 2048 take four times the memory and half as long again or twice as long."""


class LocalEmbedder:
    """One a process, shared between threads. See ``Embedder`` for the contract.

    A query never waits for a batch of passages: only passages take turns.
    """

    hosted = False
    max_tokens = MAX_TOKENS

    def __init__(self, identity: Identity = IDENTITY) -> None:
        self.identity = identity
        self._loading = threading.Lock()
        self._passages = threading.Lock()
        self._model: _Model | None = None

    def count_tokens(self, texts: list[str]) -> list[int]:
        """Exact counts, prefix and both special tokens included; about 2 million tokens/s."""
        prefix = self.identity.passage_prefix
        return [len(ids) + 2 for ids in self._loaded().ids([prefix + text for text in texts])]

    def embed_passages(self, texts: list[str]) -> Vectors:
        """Shape (len(texts), 384), float32, each row of length 1, in the order of ``texts``."""
        import numpy as np

        rows = np.empty((len(texts), self.identity.dimension), np.float32)
        if not texts:
            return rows
        model = self._loaded()
        tokens = model.tokens([self.identity.passage_prefix + text for text in texts])
        for batch in batches([len(ids) for ids in tokens]):
            with self._passages:
                rows[batch] = model.run([tokens[number] for number in batch])
        return rows

    def embed_query(self, text: str) -> Vectors:
        """Shape (384,), float32, of length 1."""
        model = self._loaded()
        vector: Vectors = model.run(model.tokens([self.identity.query_prefix + text]))[0]
        return vector

    def load(self) -> None:
        """Load now what would be loaded on first use: about 1 s, 150 MB."""
        self._loaded()

    def _loaded(self) -> _Model:
        if self._model is None:
            with self._loading:
                if self._model is None:
                    self._model = _Model()
        return self._model


def batches(lengths: list[int], budget: int = _BATCH_TOKENS) -> Iterator[list[int]]:
    """Group texts of similar length: lists of their numbers, each at most ``budget`` tokens padded.

    Longest first, so that the memory needed shows at the start and not at the end. A text longer
    than the budget is alone.
    """
    order = sorted(range(len(lengths)), key=lambda number: -lengths[number])
    at = 0
    while at < len(order):
        size = max(1, budget // lengths[order[at]])
        yield order[at : at + size]
        at += size


class _Model:
    """The tokenizer and the session, loaded side by side: neither holds the interpreter."""

    def __init__(self) -> None:
        folder = convert.ensure_converted(thorough=True)
        with ThreadPoolExecutor(1, "halo-embedder") as pool:
            session = pool.submit(_session, str(folder / convert.MODEL))
            self._tokenizer = _tokenizer(str(folder / convert.TOKENIZER))
            self._session = session.result()

    def ids(self, texts: list[str]) -> list[list[int]]:
        """Ids of each whole text, without special tokens."""
        # Half a character, as damaged files hold them, stops the tokenizer: make it a "?".
        whole = [text.encode("utf-8", "replace").decode() for text in texts]
        ids: list[list[int]] = self._tokenizer.encode(whole)
        return ids

    def tokens(self, texts: list[str]) -> list[list[int]]:
        """Ids of each text between its special tokens, cut at ``MAX_TOKENS``."""
        return [[_BEGIN, *ids[: MAX_TOKENS - 2], _END] for ids in self.ids(texts)]

    def run(self, tokens: list[list[int]]) -> NDArray[np.float32]:
        """Vectors of one batch, shape (len(tokens), 384)."""
        import numpy as np

        rows: NDArray[np.float32] = self._session.run(None, padded(tokens))[0]
        if not np.isfinite(rows).all():
            raise EmbedderError(
                "The bundled language model gave numbers that make no sense.",
                code="embedder_answer",
                step="Remove the cache folder of HALO and try again.",
            )
        return rows


def padded(tokens: list[list[int]]) -> dict[str, NDArray[np.int64]]:
    """The inputs of the graph: ids and mask, int64 of shape (texts, longest)."""
    import numpy as np

    longest = max(map(len, tokens))
    ids = np.full((len(tokens), longest), _PAD, np.int64)
    mask = np.zeros_like(ids)
    for row, text in enumerate(tokens):
        ids[row, : len(text)] = text
        mask[row, : len(text)] = 1
    return {"input_ids": ids, "attention_mask": mask}


def _tokenizer(path: str) -> Any:
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(model_file=path)


def _session(path: str) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = _cores()
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _cores() -> int:
    """Physical cores this process may use; a second thread on a core only disturbs."""
    import psutil

    if hasattr(os, "sched_getaffinity"):
        allowed = len(os.sched_getaffinity(0))
    else:
        allowed = os.cpu_count() or 1
    return min(allowed, psutil.cpu_count(logical=False) or allowed)
