"""How well and how fast passages are found, per set and mode.

    python -m benchmarks.retrieval DIR... [--mode hybrid] [--data FOLDER] [--runs FOLDER] [--json]

Each DIR is a folder as benchmarks/collection.py describes. Its documents go through the product's
own chunking, index and search. For each set and mode a run file is written (query id, document id,
score; the best passage of a document stands for it, at most 100 documents a query) and measured:

- ``ndcg10`` with graded gains (Cranfield's grades contradict each other and count as yes or no);
- ``recall5``, ``recall100``: share of the judged documents found so early;
- ``hit5``: a judged document is among the first five;
- ``all_evidence10``: all judged documents are among the first ten;
- ``ms_p50``, ``ms_p95``: milliseconds of a search for ten passages, the query's embedding included.

Questions without judgements are left out; a question with a ``block`` or ``doc`` is asked of these
documents only. With ``--data`` the indexed sets stay in a folder and are found there again.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast, get_args

from benchmarks import report
from benchmarks.collection import Collection, load
from services import embeddings
from services.search import Mode, search

DOCUMENTS = 100
PASSAGES = 200
"""Passages asked for, so that ``DOCUMENTS`` documents are among them."""
BINARY = ("cranfield",)
Ranking = list[tuple[str, float]]
"""Document ids and scores, best first."""


def ranking(held: Collection, query: dict[str, Any], mode: Mode) -> Ranking:
    """The documents found for a question, each by its best passage."""
    found: dict[str, float] = {}
    result = search(
        held.workspace, query["text"], k=PASSAGES, mode=mode, source_ids=held.scope(query)
    )
    for hit in result.hits:
        found.setdefault(held.document_of(hit), hit.score)
    return list(found.items())[:DOCUMENTS]


def ndcg(found: Ranking, grades: dict[str, int], depth: int = 10) -> float:
    """Normalised discounted cumulative gain of the first ``depth`` documents, gain = grade."""
    gained = sum(
        grades.get(document, 0) / math.log2(at + 2)
        for at, (document, _) in enumerate(found[:depth])
    )
    best = sorted(grades.values(), reverse=True)[:depth]
    return gained / sum(grade / math.log2(at + 2) for at, grade in enumerate(best))


def measure(held: Collection, mode: Mode, runs: Path) -> dict[str, Any]:
    """One row of the table; writes the run file."""
    judged = [query for query in held.queries if held.grades.get(query["id"])]
    if held.name in BINARY:
        held.grades = {key: dict.fromkeys(grades, 1) for key, grades in held.grades.items()}
    found = {query["id"]: ranking(held, query, mode) for query in judged}
    times = sorted(_milliseconds(held, query, mode) for query in judged)
    path = runs / f"{held.name}.{mode}.tsv"
    path.write_text(
        "".join(
            f"{key}\t{document}\t{score:.6f}\n"
            for key, documents in found.items()
            for document, score in documents
        ),
        encoding="utf-8",
    )

    def recall(key: str, depth: int) -> float:
        grades = held.grades[key]
        return sum(document in grades for document, _ in found[key][:depth]) / len(grades)

    def mean(values: Iterator[float]) -> float:
        return round(statistics.fmean(values), 4)

    return {
        "set": held.name,
        "mode": mode,
        "queries": len(judged),
        "ndcg10": mean(ndcg(found[key], held.grades[key]) for key in found),
        "recall5": mean(recall(key, 5) for key in found),
        "recall100": mean(recall(key, 100) for key in found),
        "hit5": mean(float(recall(key, 5) > 0) for key in found),
        "all_evidence10": mean(float(recall(key, 10) == 1) for key in found),
        "ms_p50": round(statistics.median(times), 1),
        "ms_p95": round(times[int(0.95 * (len(times) - 1))], 1),
        "run": str(path),
    }


def _milliseconds(held: Collection, query: dict[str, Any], mode: Mode) -> float:
    scope = held.scope(query)
    start = time.perf_counter()
    search(held.workspace, query["text"], k=10, mode=mode, source_ids=scope)
    return (time.perf_counter() - start) * 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--mode", choices=get_args(Mode), action="append")
    parser.add_argument("--data", type=Path, help="keep the indexed sets in this folder")
    parser.add_argument("--runs", type=Path, default=Path("build/runs"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    modes = cast("list[Mode]", options.mode or list(get_args(Mode)))
    options.runs.mkdir(parents=True, exist_ok=True)
    embeddings.prepare()
    rows = []
    with report.data_folder(options.data):
        for folder in options.folders:
            held = load(folder)
            print(f"{folder.name}: indexed", file=sys.stderr, flush=True)
            rows += [measure(held, mode, options.runs) for mode in modes]
    if options.json:
        report.plain_json(rows)
    else:
        report.table("Retrieval", rows)


if __name__ == "__main__":
    main()
