"""How often the evidence page of a FinanceBench question is found and cited.

    python -m benchmarks.financebench DIR [--json]

DIR holds ``pdf/``, ``queries.jsonl`` and ``qrels.tsv`` (document ids ``NAME#pN``). All filings are
added in one go through the product; each question is searched in its filing (``hit5``), in all
filings (``open5``) and answered from its filing (``cited``, ``grounded``).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks import report
from services import chat, embeddings
from services.adding import add_files
from services.intake import Incoming
from services.models import Citation, Hit
from services.pipeline import Pipeline
from services.search import search
from services.storage import load_sources
from services.workspace import open_workspace


def evidence(folder: Path) -> dict[str, set[tuple[str, int]]]:
    """Query id -> {(filing, page)}."""
    found: dict[str, set[tuple[str, int]]] = defaultdict(set)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            name, page = document.split("#p")
            found[query].add((name, int(page)))
    return found


def pages(item: Hit | Citation) -> set[int]:
    """The physical pages a hit or citation covers."""
    first = item.chunk.page_start if isinstance(item, Hit) else item.page
    last = (item.chunk.page_end if isinstance(item, Hit) else item.page_end) or first
    return set(range(first, (last or first) + 1)) if first else set()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    embeddings.prepare()
    gold = evidence(options.folder)
    queries = [
        json.loads(line) for line in (options.folder / "queries.jsonl").open(encoding="utf-8")
    ]
    with report.data_folder():
        workspace = open_workspace()
        worker = Pipeline(lambda: [workspace]).start()
        files = sorted((options.folder / "pdf").glob("*.pdf"))
        start = time.perf_counter()
        added = add_files(workspace, [Incoming(file.name, file) for file in files])
        worker.wait(workspace, [item.source_id or "" for item in added])
        seconds = time.perf_counter() - start
        worker.stop()
        sources = {Path(source.name).stem: source for source in load_sources(workspace)}
        read = sum(source.units.get("pages", 0) for source in sources.values())
        counts: dict[str, int] = defaultdict(int)
        took: list[float] = []
        for query in queries:
            if query["id"] not in gold:
                continue
            name = next(iter(gold[query["id"]]))[0]
            wanted = {page for _, page in gold[query["id"]]}
            source = sources[name]
            began = time.perf_counter()
            inside = search(workspace, query["text"], k=5, source_ids=[source.id]).hits
            took.append((time.perf_counter() - began) * 1000)
            everywhere = search(workspace, query["text"], k=5).hits
            answer = chat.answer_question(workspace, query["text"], [source.id])
            counts["questions"] += 1
            counts["hit5"] += any(wanted & pages(hit) for hit in inside)
            counts["open5"] += any(
                hit.source_id == source.id and wanted & pages(hit) for hit in everywhere
            )
            counts["cited"] += any(wanted & pages(cited) for cited in answer.citations[:5])
            counts["grounded"] += answer.grounded
    total = counts["questions"]
    row: dict[str, Any] = {"filings": len(files), "pages": read, "questions": total}
    row |= {key: round(counts[key] / total, 2) for key in ("hit5", "open5", "cited", "grounded")}
    row |= {"add all, s": seconds, "search, ms (median)": statistics.median(took)}
    report.table("FinanceBench: evidence pages found and cited", [row], as_json=options.json)


if __name__ == "__main__":
    main()
