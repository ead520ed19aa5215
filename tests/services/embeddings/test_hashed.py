"""The hash embedder: the same everywhere, and nearer where texts share words."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from services.embeddings.hashed import HashEmbedder, identity
from services.errors import EmbedderError

SCRIPT = (
    "from services.embeddings.hashed import HashEmbedder, identity\n"
    "print(HashEmbedder(identity()).embed_query('Größe und 大きさ').tobytes().hex())\n"
)


def test_equal_in_every_process() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-X", f"utf8={mode}", "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": "."},
        ).stdout
        for mode, seed in (("0", "1"), ("1", "2"))
    }
    here = HashEmbedder(identity()).embed_query("Größe und 大きさ").tobytes().hex() + "\n"
    assert outputs == {here}


def test_shared_words_are_nearer_than_shared_letters_than_nothing() -> None:
    embedder = HashEmbedder(identity("hash-1024"))
    query = embedder.embed_query("pump failed")
    rows = embedder.embed_passages(["failed pump", "pumping failures", "blue sky"])
    same, parts, nothing = rows @ query
    assert same > parts > nothing


@pytest.mark.parametrize("texts", [[], [""], ["", "  \n", "日本", "a" * 10_000]])
def test_every_row_is_a_unit_vector(texts: list[str]) -> None:
    rows = HashEmbedder(identity("hash-8")).embed_passages(texts)
    assert rows.shape == (len(texts), 8)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert len(HashEmbedder(identity()).count_tokens(texts)) == len(texts)


@pytest.mark.parametrize("name", ["hash", "hash-0", "hash-x", "e5", "hash-99999"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(EmbedderError) as caught:
        identity(name)
    assert caught.value.code == "embedder_model"
