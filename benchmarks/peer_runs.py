"""One peer's run, in the peer's own environment: it knows nothing of HALO.

    python benchmarks/peer_runs.py NAME GIVEN WORK

Each peer is a class with ``add`` (documents with their passages and vectors), ``finish`` (whatever
must be built before questions) and ``ask`` (document ids of the best passages). Their packages are
imported by name, because HALO's environment does not have them.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import sys
import time
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import numpy as np

DOCUMENTS = 500
"""Documents handed over at once."""
WANTED = 10
POOL = 100
RRF = 60
Passages = list[tuple[dict[str, Any], Any]]
"""Of one document: each passage and its vector."""


class Peer(Protocol):
    def add(self, documents: list[tuple[str, Passages]]) -> None: ...

    def finish(self) -> None: ...

    def ask(self, text: str, vector: Any, k: int) -> list[str]: ...


def grades_of(folder: Path) -> dict[str, dict[str, int]]:
    """Query id -> document id -> grade above 0, of a folder's qrels.tsv."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            grades[query][document] = int(grade)
    return dict(grades)


def measured(peer: Peer, given: Path) -> dict[str, Any]:
    """Ingestion rate, query times, peak memory, and what was found for each question."""

    def lines(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (given / name).read_text("utf-8").splitlines()]

    vectors = np.load(given / "vectors.npz")
    grouped: dict[str, Passages] = defaultdict(list)
    for passage, vector in zip(lines("passages.jsonl"), vectors["passages"], strict=True):
        grouped[passage["document"]].append((passage, vector))
    documents = list(grouped.items())
    start = time.perf_counter()
    for at in range(0, len(documents), DOCUMENTS):
        peer.add(documents[at : at + DOCUMENTS])
    peer.finish()
    seconds = time.perf_counter() - start
    questions = lines("questions.jsonl")
    times, found = [], {}
    for warm in (True, False):
        for question, vector in zip(questions, vectors["questions"], strict=True):
            start = time.perf_counter()
            documents_found = peer.ask(question["text"], vector, WANTED)
            if not warm:
                times.append((time.perf_counter() - start) * 1000)
                found[question["id"]] = documents_found
    count = sum(map(len, grouped.values()))
    return {
        "passages": count,
        "passages_s": round(count / seconds),
        "ms_p50": round(statistics.median(times), 1),
        "ms_p95": round(sorted(times)[int(0.95 * (len(times) - 1))], 1),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "found": found,
    }


class Lancedb:
    """A table and its defaults: full text index, exact vector search, reciprocal ranks."""

    def __init__(self, work: Path) -> None:
        self.lancedb: Any = import_module("lancedb")
        self.database = self.lancedb.connect(str(work))
        self.table: Any = None

    def add(self, documents: list[tuple[str, Passages]]) -> None:
        rows = [
            {"document": key, "text": f"{passage['title']}\n{passage['text']}", "vector": vector}
            for key, passages in documents
            for passage, vector in passages
        ]
        if self.table is None:
            self.table = self.database.create_table("passages", rows)
        else:
            self.table.add(rows)

    def finish(self) -> None:
        self.table.create_index("text", config=import_module("lancedb.index").FTS())

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        plain = "".join(c if c.isalnum() else " " for c in text)
        query = self.table.search(query_type="hybrid").vector(vector).text(plain)
        rows = query.distance_type("cosine").limit(k).select(["document", "text"]).to_list()
        return [row["document"] for row in rows]


class Faiss:
    """HNSW over vectors and bm25s over words, fused by reciprocal ranks; all in memory."""

    def __init__(self, work: Path) -> None:
        self.faiss: Any = import_module("faiss")
        self.bm25s: Any = import_module("bm25s")
        self.stemmer: Any = import_module("Stemmer").Stemmer("english")
        self.documents: list[str] = []
        self.texts: list[str] = []
        self.index: Any = None
        self.words: Any = None

    def add(self, documents: list[tuple[str, Passages]]) -> None:
        vectors = []
        for key, passages in documents:
            for passage, vector in passages:
                self.documents.append(key)
                self.texts.append(f"{passage['title']}\n{passage['text']}")
                vectors.append(vector)
        if self.index is None:
            metric = self.faiss.METRIC_INNER_PRODUCT
            self.index = self.faiss.IndexHNSWFlat(len(vectors[0]), 32, metric)
            self.index.hnsw.efSearch = 128
        self.index.add(np.stack(vectors))

    def finish(self) -> None:
        self.words = self.bm25s.BM25()
        self.words.index(self._tokens(self.texts), show_progress=False)

    def _tokens(self, texts: list[str]) -> Any:
        return self.bm25s.tokenize(texts, stopwords="en", stemmer=self.stemmer, show_progress=False)

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        _, near = self.index.search(vector[None], POOL)
        told, _ = self.words.retrieve(self._tokens([text]), k=POOL, show_progress=False)
        scores: dict[int, float] = defaultdict(float)
        for ranked in (near[0], told[0]):
            for rank, number in enumerate(ranked):
                scores[int(number)] += 1 / (RRF + rank)
        best = sorted(scores, key=lambda number: -scores[number])[:k]
        return [self.documents[number] for number in best]


class Chroma:
    """A collection on disk, cosine distance; it has no words of its own to search by."""

    def __init__(self, work: Path) -> None:
        chromadb: Any = import_module("chromadb")
        settings = chromadb.Settings(anonymized_telemetry=False)
        client = chromadb.PersistentClient(path=str(work), settings=settings)
        space = {"hnsw": {"space": "cosine"}}
        self.collection = client.create_collection("passages", configuration=space)
        self.count = 0

    def add(self, documents: list[tuple[str, Passages]]) -> None:
        flat = [(key, *item) for key, passages in documents for item in passages]
        ids = [str(self.count + number) for number in range(len(flat))]
        self.count += len(flat)
        self.collection.add(
            ids=ids,
            embeddings=[vector for _, _, vector in flat],
            documents=[passage["text"] for _, passage, _ in flat],
            metadatas=[{"document": key} for key, _, _ in flat],
        )

    def finish(self) -> None:
        pass

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        found = self.collection.query(query_embeddings=[vector], n_results=k)
        return [item["document"] for item in found["metadatas"][0]]


class Haiku:
    """haiku.rag with ``import_documents`` and its own hybrid search, in one event loop."""

    def __init__(self, work: Path) -> None:
        self.loop = asyncio.new_event_loop()
        self.client_module: Any = import_module("haiku.rag.client")
        self.docling: Any = import_module("docling_core.types.doc.document")
        self.labels: Any = import_module("docling_core.types.doc.labels").DocItemLabel
        self.chunk: Any = import_module("haiku.rag.store.models.chunk").Chunk
        config: Any = import_module("haiku.rag.config")
        chosen = config.AppConfig()
        chosen.embeddings.model.vector_dim = 384
        chosen.storage.data_dir = work
        self.client = self.client_module.HaikuRAG(work / "peer.lancedb", config=chosen, create=True)
        self.loop.run_until_complete(self.client.__aenter__())

    def add(self, documents: list[tuple[str, Passages]]) -> None:
        imports = []
        for key, passages in documents:
            held = self.docling.DoclingDocument(name=passages[0][0]["title"] or key)
            chunks = []
            for number, (passage, vector) in enumerate(passages):
                item = held.add_text(label=self.labels.PARAGRAPH, text=passage["text"])
                chunks.append(
                    self.chunk(
                        content=f"{passage['title']}\n{passage['text']}",
                        metadata={"doc_item_refs": [item.self_ref], "labels": ["paragraph"]},
                        order=number,
                        embedding=vector.tolist(),
                    )
                )
            imports.append(
                self.client_module.DocumentImport(
                    docling_document=held, chunks=chunks, uri=f"peer://{key}", title=key
                )
            )
        self.loop.run_until_complete(self.client.import_documents(imports))

    def finish(self) -> None:
        pass

    def ask(self, text: str, vector: Any, k: int) -> list[str]:
        async def asked(*_: object) -> list[float]:
            return list(map(float, vector))

        self.client.chunk_repository.embedder.embed_query = asked
        found = self.loop.run_until_complete(self.client.search(text, limit=k))
        return [result.document_title for result in found]


PEERS = {"haiku.rag": Haiku, "lancedb": Lancedb, "faiss": Faiss, "chroma": Chroma}

if __name__ == "__main__":
    peer: Peer = PEERS[sys.argv[1]](Path(sys.argv[3]))  # type: ignore[assignment]
    print(json.dumps(measured(peer, Path(sys.argv[2]))))
