"""An embedder for tests: hashes of words and their parts. It knows nothing of meaning.

Texts that share words, or parts of words, are nearer to each other. The same text has the same
vector in every process and on every platform.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from services.embeddings.identity import Identity
from services.errors import EmbedderError

if TYPE_CHECKING:
    from services.embeddings.identity import Vectors

PROVIDER = "hash"
DEFAULT_MODEL = "hash-64"
MAX_TOKENS = 512
_WORD = re.compile(r"\w+")
_NGRAM = 3
_NGRAM_WEIGHT = 0.3
"""Parts of words count for less than whole words."""


def identity(model: str | None = None) -> Identity:
    """The identity for ``hash-N``, N being the dimension; ``hash-64`` when none is named."""
    name = model or DEFAULT_MODEL
    found = re.fullmatch(r"hash-([1-9]\d{0,3})", name)
    if not found:
        raise EmbedderError(
            f"“{name}” is not a model of the hash embedder.",
            code="embedder_model",
            step="Use a name such as hash-64; the number is the dimension.",
            model=name,
        )
    return Identity(provider=PROVIDER, model=name, dimension=int(found[1]))


class HashEmbedder:
    """See the module. ``max_tokens`` is nominal: nothing is cut off."""

    hosted = False
    max_tokens = MAX_TOKENS

    def __init__(self, identity: Identity) -> None:
        self.identity = identity

    def count_tokens(self, texts: list[str]) -> list[int]:
        """Words of each text, and two for the special tokens of a real model."""
        return [len(_WORD.findall(text)) + 2 for text in texts]

    def embed_passages(self, texts: list[str]) -> Vectors:
        """Shape (len(texts), dimension), float32, each row of length 1."""
        import numpy as np

        rows = np.zeros((len(texts), self.identity.dimension), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for feature, weight in _features(text):
                number = int.from_bytes(hashlib.blake2b(feature.encode(), digest_size=8).digest())
                row[(number >> 1) % len(row)] += weight if number & 1 else -weight
            if not row.any():  # no word at all, or hashes that cancel each other out
                row[0] = 1.0
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows

    def embed_query(self, text: str) -> Vectors:
        """Shape (dimension,), float32, of length 1. The same as for a passage."""
        row: Vectors = self.embed_passages([text])[0]
        return row


def _features(text: str) -> Iterator[tuple[str, float]]:
    for word in _WORD.findall(unicodedata.normalize("NFKC", text).casefold()):
        yield word, 1.0
        padded = f"<{word}>"
        for at in range(len(padded) - _NGRAM + 1):
            yield padded[at : at + _NGRAM], _NGRAM_WEIGHT
