"""As many passages as wanted, made of a few thousand real ones, with vectors that fit them.

Each passage mixes the sentences of two real passages and gets a reference number of its own; its
vector mixes their real vectors in the same proportion, with some noise. So words follow the
frequencies of real text, and vectors lie where an embedder puts them: close together, in uneven
groups. Everything is made in batches and comes out the same on every run.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from services.embeddings import get_embedder, prepare
from services.settings import cache_dir

Floats = NDArray[np.float32]
NOISE = 0.25
"""Length of the random part of a vector whose real part has length 1."""
_EMBEDDED_AT_ONCE = 128
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


@dataclass(frozen=True)
class Base:
    """Real passages and questions with their vectors, shape (number, dimension), of length 1."""

    texts: list[str]
    vectors: Floats
    questions: list[str]
    question_vectors: Floats


def base(folder: Path | None) -> Base:
    """The passages and questions of a folder in the layout of ``benchmarks.collection``; without
    one, the docstrings of Python's own library and their first sentences. Embedded once, and kept
    in the cache folder."""
    texts, questions = _of_folder(folder) if folder else _of_library()
    embedder = get_embedder()
    made_of = json.dumps([texts, questions, embedder.identity.to_json()]).encode()
    kept = cache_dir() / "benchmarks" / f"{hashlib.sha256(made_of).hexdigest()[:16]}.npz"
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        prepare()
        parts = [
            embedder.embed_passages(texts[at : at + _EMBEDDED_AT_ONCE])
            for at in range(0, len(texts), _EMBEDDED_AT_ONCE)
        ]
        asked = [embedder.embed_query(question) for question in questions]
        np.savez(kept, texts=np.concatenate(parts), questions=np.stack(asked))
    held = np.load(kept)
    return Base(texts, held["texts"], questions, held["questions"])


def _of_folder(folder: Path) -> tuple[list[str], list[str]]:
    def lines(name: str) -> list[str]:
        rows = (folder / name).read_text(encoding="utf-8").splitlines()
        return [json.loads(row)["text"] for row in rows if row]

    return [text for text in lines("corpus.jsonl") if text.strip()], lines("queries.jsonl")


def _of_library() -> tuple[list[str], list[str]]:
    found: dict[str, None] = {}
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
                text = " ".join((ast.get_docstring(node) or "").split())
                if len(text.split()) >= 30:
                    found[text] = None
    texts = list(found)
    return texts, [_SENTENCE.split(text)[0] for text in texts[:: max(1, len(texts) // 200)]]


def batches(real: Base, count: int, size: int) -> Iterator[tuple[list[str], Floats]]:
    """``count`` passages and their vectors, ``size`` at a time."""
    sentences = [_SENTENCE.split(text) for text in real.texts]
    for at in range(0, count, size):
        rng = np.random.default_rng(at)
        some = min(size, count - at)
        first, second = rng.integers(len(sentences), size=(2, some))
        share = rng.uniform(0.5, 0.95, size=(some, 1)).astype(np.float32)
        noise = rng.standard_normal((some, real.vectors.shape[1]), dtype=np.float32)
        noise *= NOISE / np.sqrt(real.vectors.shape[1])
        vectors = share * real.vectors[first] + (1 - share) * real.vectors[second] + noise
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        texts = [
            _mixed(sentences[a], sentences[b], float(part), at + number)
            for number, (a, b, part) in enumerate(zip(first, second, share[:, 0], strict=True))
        ]
        yield texts, vectors


def _mixed(first: list[str], second: list[str], share: float, number: int) -> str:
    """The beginning of one passage, the end of another, and a reference of its own."""
    head = first[: max(1, round(share * len(first)))]
    tail = second[max(1, round(share * len(second))) :]
    return " ".join((*head, *tail, f"Ref {number:07d}."))
