"""HALO beside what people would use instead: the same passages and vectors, one run, one machine.

    python -m benchmarks.peers [DIR] [--passages 4000] [--peer NAME]... [--json]

DIR is a folder as ``benchmarks.collection`` reads it (a set that comes with judgements). Its
documents are cut by HALO's chunking, and passages and questions embedded once; everybody gets the
same texts and vectors and asks with the same question vectors. Each peer runs in a process and an
environment of its own, which is made with uv below the cache folder at the first run:

- ``haiku.rag``: ``import_documents`` and its own hybrid search;
- ``lancedb``: one table, its default full text index, hybrid search with its own fusion;
- ``faiss``: an HNSW index and bm25s, fused by reciprocal ranks, everything in memory;
- ``chroma``: its own collection; vectors only.

``passages_s`` counts what is searchable with all indexes per second, ``ms_p50`` and ``ms_p95``
are for ten passages, ``ndcg10`` for the documents among them, ``peak_mb`` is the process's memory.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import peer_runs, report
from benchmarks.collection import read_lines
from benchmarks.retrieval import ndcg
from services import embeddings
from services.chunking import chunk_document, passage_text
from services.embeddings import get_embedder
from services.models import Block, Chunk, Document, Job, Source
from services.passages import readable_title, record_fields, row
from services.search import search
from services.settings import cache_dir
from services.storage import save_sources
from services.tables import writing_table
from services.workspace import open_workspace

PACKAGES = {
    "haiku.rag": ["haiku.rag-slim==0.101.1"],
    "lancedb": ["lancedb==0.40.0", "pyarrow", "numpy"],
    "faiss": ["faiss-cpu==1.15.1", "bm25s==0.3.16", "PyStemmer", "numpy"],
    "chroma": ["chromadb==1.5.9", "numpy"],
}
PYTHON = "3.12"
"""What the youngest of them asks for."""
_EMBEDDED_AT_ONCE = 128


def given(folder: Path, most: int) -> Path:
    """A folder with ``passages.jsonl``, ``questions.jsonl`` and ``vectors.npz``: the judged
    documents first, then others, until there are ``most`` passages."""
    embedder = get_embedder()
    made_of = f"{folder.absolute()} {most} {embedder.identity.to_json()}"
    kept = cache_dir() / "benchmarks" / f"peers-{hashlib.sha256(made_of.encode()).hexdigest()[:16]}"
    if (kept / "vectors.npz").is_file():
        return kept
    kept.mkdir(parents=True, exist_ok=True)
    embeddings.prepare()
    passages = list(_passages(folder, most))
    grades = peer_runs.grades_of(folder)
    questions = [q for q in read_lines(folder / "queries.jsonl") if q["id"] in grades]
    texts = [passage_text(p["title"], p["headings"], p["text"]) for p in passages]
    parts = [
        embedder.embed_passages(texts[at : at + _EMBEDDED_AT_ONCE])
        for at in range(0, len(texts), _EMBEDDED_AT_ONCE)
    ]
    asked = np.stack([embedder.embed_query(" ".join(q["text"].split())) for q in questions])
    for name, rows in (("passages", passages), ("questions", questions)):
        lines = "".join(json.dumps(item) + "\n" for item in rows)
        (kept / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    np.savez(kept / "vectors.npz", passages=np.concatenate(parts), questions=asked)
    return kept


def _passages(folder: Path, most: int) -> Iterator[dict[str, Any]]:
    judged = {document for grades in peer_runs.grades_of(folder).values() for document in grades}
    corpus = [entry for entry in read_lines(folder / "corpus.jsonl") if entry["text"].strip()]
    corpus.sort(key=lambda entry: entry["id"] not in judged)
    count_tokens, count = get_embedder().count_tokens, 0
    for entry in corpus:
        title = readable_title(str(entry.get("title") or ""))
        document = Document(title=title, blocks=[Block(text=entry["text"])]).settle()
        for chunk in chunk_document(document, count_tokens, title=title):
            yield chunk.model_dump() | {"document": entry["id"], "title": title}
            count += 1
        if count >= most:
            return


class Halo:
    """HALO as a peer: rows, table, records and search of the product."""

    def __init__(self) -> None:
        self.workspace = open_workspace()
        self.documents: dict[str, str] = {}
        writing_table(self.workspace)

    def add(self, documents: list[tuple[str, list[tuple[dict[str, Any], Any]]]]) -> None:
        name, table = writing_table(self.workspace)
        rows, sources, vectors = [], [], []
        for key, passages in documents:
            title = passages[0][0]["title"]
            source = Source(name=title or key)
            job = Job(source_id=source.id)
            for number, (passage, vector) in enumerate(passages):
                chunk = Chunk.model_validate(passage)
                rows.append(row(source, job, number, chunk, title, Document()))
                vectors.append(vector)
            fields = record_fields(Document(), job, name, len(passages))
            fields |= {"status": "ready", "vectors": len(passages)}
            sources.append(source.model_copy(update=fields))
            self.documents[source.id] = key
        table.add(rows)
        table.fill([item["chunk_id"] for item in rows], np.stack(vectors))
        save_sources(sources, self.workspace)

    def finish(self) -> None:
        table = writing_table(self.workspace)[1]
        table.refresh()

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        embedder = mock.Mock(embed_query=lambda _: vector)
        with mock.patch("services.search.get_embedder", return_value=embedder):
            hits = search(self.workspace, text, k=k).hits
        return [self.documents[hit.source_id] for hit in hits]


def environment(name: str) -> str:
    """The Python of a peer's environment, made at the first use. Raises CalledProcessError."""
    wanted = PACKAGES[name]
    key = hashlib.sha256(" ".join([PYTHON, *wanted]).encode()).hexdigest()[:8]
    folder = cache_dir() / "peers" / f"{name}-{key}"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        print(f"{name}: making its environment", file=sys.stderr, flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        uv = [sys.executable, "-m", "uv"]
        subprocess.run([*uv, "venv", "--quiet", "--python", PYTHON, str(folder)], check=True)
        install = [*uv, "pip", "install", "--quiet", "--python", str(python), *wanted]
        subprocess.run(install, check=True)
        (folder / "complete").touch()
    return str(python)


def run(name: str, kept: Path) -> dict[str, Any]:
    """What a peer measured of itself."""
    with tempfile.TemporaryDirectory(prefix="halo-peer-") as work:
        command = (
            [sys.executable, "-m", "benchmarks.peers", "--halo", str(kept)]
            if name == "HALO"
            else [environment(name), peer_runs.__file__, name, str(kept), work]
        )
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--passages", type=int, default=4000)
    parser.add_argument("--peer", action="append", choices=PACKAGES)
    parser.add_argument("--halo", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.halo:
        with report.data_folder():
            print(json.dumps(peer_runs.measured(Halo(), options.halo)))
        return
    if options.folder is None:
        parser.error("name a folder of documents, questions and judgements")
    kept = given(options.folder, options.passages)
    grades = peer_runs.grades_of(options.folder)
    rows = []
    for name in ("HALO", *(options.peer or PACKAGES)):
        found = run(name, kept)
        ranked = {
            key: [(document, 0.0) for document in dict.fromkeys(documents)]
            for key, documents in found.pop("found").items()
        }
        quality = sum(ndcg(ranked[key], grades[key]) for key in ranked) / len(ranked)
        rows.append({"peer": name, **found, "ndcg10": round(quality, 3)})
        print(rows[-1], file=sys.stderr, flush=True)
    if options.json:
        report.plain_json(rows)
    else:
        report.table("Beside others", rows)


if __name__ == "__main__":
    main()
