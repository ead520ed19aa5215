"""How search behaves as a notebook grows: time, recall, bytes and memory.

    python -m benchmarks.scale [--chunks 4000,100000,1000000] [--texts DIR] [--data FOLDER] [--json]

Each size is loaded in a process of its own, through the product's own rows, table and records, in
batches; passages come from ``benchmarks.varied``. Then the product's ``search`` is asked with the
questions' vectors given: each mode over all sources, and over 5, 50 and 500 chosen ones.

- ``load_s``, ``gb``, ``peak_mb``: seconds to load and index, size on disk, peak memory;
- ``ms_p50``, ``ms_p95``: milliseconds of a search for ten passages;
- ``bare``: the same time as a multiple of the LanceDB calls it made, made again one by one;
- ``recall10``: how many of the ten nearest passages by exact comparison are found (vector mode).

With ``--data`` what was loaded stays in a folder and is found there again.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, get_args
from unittest import mock

import numpy as np

from benchmarks import report, varied
from services import lance
from services.embeddings import Identity, get_embedder
from services.lance import VectorTable
from services.models import Chunk, Document, Job, Source
from services.passages import record_fields, row
from services.search import Mode, search
from services.storage import load_config, load_sources, save_sources, update_config
from services.tables import writing_table
from services.workspace import Workspace, open_workspace

BATCH = 10_000
REFRESHED_AFTER = 10
"""Batches."""
IN_A_SOURCE = 50
CHOSEN = (None, 5, 50, 500)
QUERIES = 100
EXACT_QUERIES = 40
MODES: tuple[Mode, ...] = get_args(Mode)


class Given:
    """An embedder whose vectors are there already."""

    hosted = False
    max_tokens = 512

    def __init__(self, real: varied.Base) -> None:
        self.identity: Identity = get_embedder().identity
        self._vectors: dict[str, varied.Floats] = dict(
            zip((" ".join(q.split()) for q in real.questions), real.question_vectors, strict=True)
        )

    def embed_query(self, text: str) -> varied.Floats:
        return self._vectors[text]


def load(workspace: Workspace, real: varied.Base, count: int) -> float:
    """Seconds that it took to load and index ``count`` passages."""
    start = time.perf_counter()
    sources: list[Source] = []
    name, table = writing_table(workspace)
    document = Document()
    for number, (texts, vectors) in enumerate(varied.batches(real, count, BATCH), start=1):
        rows: list[dict[str, Any]] = []
        for at in range(0, len(texts), IN_A_SOURCE):
            title = f"Paper {len(sources):05d}"
            source = Source(name=f"{title}.pdf", kind="pdf", meta="PDF")
            job = Job(source_id=source.id)
            part = texts[at : at + IN_A_SOURCE]
            rows += [
                row(source, job, n, _chunk(n, text), title, document) for n, text in enumerate(part)
            ]
            fields = record_fields(document, job, name, len(part))
            fields |= {"status": "ready", "vectors": len(part)}
            sources.append(source.model_copy(update=fields))
        table.add(rows)
        table.fill([item["chunk_id"] for item in rows], vectors)
        if number % REFRESHED_AFTER == 0:
            table.refresh(busy=True)
        print(f"{len(sources) * IN_A_SOURCE:,} loaded", file=sys.stderr, flush=True)
    table.refresh()
    save_sources(sources, workspace)
    return time.perf_counter() - start


def _chunk(number: int, text: str) -> Chunk:
    page = number // 3 + 1
    return Chunk(
        index=number,
        text=text,
        headings=[f"Section {number // 10 + 1}"],
        page_start=page,
        page_end=page,
        char_start=number * 600,
        char_end=number * 600 + len(text),
        block_ids=[f"b{number}"],
        piece_starts=[0],
        piece_chars=[number * 600],
        piece_pages=[page],
        piece_labels=[""],
    )


def measure(workspace: Workspace, real: varied.Base, count: int) -> list[dict[str, Any]]:
    """A row for each mode and number of chosen sources."""
    ids = [source.id for source in load_sources(workspace)]
    rng = np.random.default_rng(1)
    rows = []
    for chosen in CHOSEN:
        if chosen and chosen > len(ids) // 2:
            continue
        some = None if chosen is None else list(rng.choice(ids, chosen, replace=False))
        for mode in MODES:
            times, bare = [], []
            for question in real.questions[:20]:
                search(workspace, question, mode=mode, source_ids=some)
            for question in real.questions[:QUERIES]:
                with _calls() as made:
                    start = time.perf_counter()
                    search(workspace, question, mode=mode, source_ids=some)
                    times.append((time.perf_counter() - start) * 1000)
                start = time.perf_counter()
                for query in made:
                    query.to_arrow()
                bare.append((time.perf_counter() - start) * 1000)
            rows.append(
                {
                    "passages": count,
                    "sources": chosen or "all",
                    "mode": mode,
                    "ms_p50": round(statistics.median(times), 1),
                    "ms_p95": round(sorted(times)[int(0.95 * (len(times) - 1))], 1),
                    "bare": round(statistics.median(times) / statistics.median(bare), 2),
                    "recall10": recall(workspace, real, some) if mode == "vector" else None,
                }
            )
            print(rows[-1], file=sys.stderr, flush=True)
    return rows


@contextmanager
def _calls() -> Iterator[list[Any]]:
    """The LanceDB queries that searches make meanwhile."""
    made: list[Any] = []
    run = VectorTable._fetch

    def noted(self: VectorTable, query: Any) -> Any:
        made.append(query)
        return run(self, query)

    with mock.patch.object(VectorTable, "_fetch", noted):
        yield made


def recall(workspace: Workspace, real: varied.Base, chosen: list[str] | None) -> float:
    """Share of the ten nearest passages, by comparing every vector, that vector search finds."""
    sources = load_sources(workspace)
    table = lance.connect(workspace.vector_uri).open_table(sources[0].table)
    wanted = {source.revision or "" for source in sources if chosen and source.id in chosen}
    found = []
    for question, vector in islice(
        zip(real.questions, real.question_vectors, strict=True), EXACT_QUERIES
    ):
        query = table.search(vector, vector_column_name="vector").distance_type("cosine")
        query = query.bypass_vector_index().select(["chunk_id", "_distance"]).limit(10)
        if wanted:
            query = query.where(lance.Scope(only=tuple(wanted)).where, prefilter=True)
        nearest = set(query.to_arrow()["chunk_id"].to_pylist())
        hits = search(workspace, question, mode="vector", source_ids=chosen).hits
        found.append(sum(hit.chunk_id in nearest for hit in hits) / len(nearest))
    return round(statistics.fmean(found), 3)


def one_size(count: int, texts: Path | None) -> dict[str, Any]:
    """Load, unless the folder holds it, and measure."""
    workspace = open_workspace()
    real = varied.base(texts)
    if "scale" not in load_config(workspace):
        update_config({"scale": {"load_s": load(workspace, real, count)}}, workspace)
    with mock.patch("services.search.get_embedder", return_value=Given(real)):
        rows = measure(workspace, real, count)
    files = [path for path in Path(workspace.vector_uri).rglob("*") if path.is_file()]
    loaded = {
        "passages": count,
        "load_s": round(load_config(workspace)["scale"]["load_s"], 1),
        "gb": round(sum(path.stat().st_size for path in files) / 1e9, 2),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    return {"loaded": loaded, "rows": rows}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--chunks", default="4000,100000,1000000")
    parser.add_argument("--texts", type=Path, help="a folder of documents and questions")
    parser.add_argument("--data", type=Path, help="keep what is loaded in this folder")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = [int(size) for size in options.chunks.split(",")]
    if options.one:
        with report.data_folder(options.data):
            print(json.dumps(one_size(sizes[0], options.texts)))
        return
    varied.base(options.texts)
    loaded, rows = [], []
    for size in sizes:
        command = [sys.executable, "-m", "benchmarks.scale", "--one", "--chunks", str(size)]
        command += ["--texts", str(options.texts)] if options.texts else []
        command += ["--data", str(options.data / str(size))] if options.data else []
        done = subprocess.run(command, stdout=subprocess.PIPE, check=True)
        found = json.loads(done.stdout)
        loaded.append(found["loaded"])
        rows += found["rows"]
    if options.json:
        report.plain_json([{"loaded": loaded, "rows": rows}])
    else:
        report.table("Scale: loading", loaded)
        report.table("Scale: searching", rows)


if __name__ == "__main__":
    main()
