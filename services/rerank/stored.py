"""What the table holds of candidates: their words and vectors, all in one read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from services.embeddings.identity import Vectors
    from services.lance import VectorTable

_WORDS = ("chunk_id", "title", "headings", "text")


@dataclass(frozen=True)
class Stored:
    """A passage with its headings, the title of its source, and its vector where there is one."""

    text: str
    title: str
    vector: Vectors | None


def stored(table: VectorTable, chunk_ids: Sequence[str]) -> dict[str, Stored]:
    """The passages with these ids, by id; those that were removed meanwhile are missing.

    Raises StorageError.
    """
    import numpy as np

    if not chunk_ids:
        return {}
    found = table.read(chunk_ids, [*_WORDS, "vector"])
    ids, titles, headings, texts = (found[name].to_pylist() for name in _WORDS)
    column = found["vector"].combine_chunks()
    filled = column.is_valid().to_pylist()
    matrix = np.zeros((len(ids), table.identity.dimension), np.float32)
    matrix[filled] = column.drop_null().flatten().to_numpy().reshape(-1, matrix.shape[1])
    return {
        key: Stored(
            text=" ".join((*(path or ()), text)),
            title=title or "",
            vector=matrix[at] if filled[at] else None,
        )
        for at, (key, title, path, text) in enumerate(
            zip(ids, titles, headings, texts, strict=True)
        )
    }
