"""How fast sources become answerable, and whether that stays so as a notebook grows.

    python -m benchmarks.intake [--pdf FILE] [--many 2000] [--json]

- first answer: a 100-page PDF is added to a warm server's pipeline and asked about until a cited
  answer comes (goal: at most 3 s);
- growth: adding the 2,000th small source against the 10th, each until it is ready (goal: at most
  1.5 times);
- cold ask: ``halo ask`` as a new process, the model already converted (goal: at most 3 s);
- memory: of a process with the pipeline, the table and the embedder loaded (goal: 900 MB with the
  screen; benchmarks/screen.py measures the whole server).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks import report
from services import chat, embeddings
from services.adding import add_files
from services.ingestion import delete_sources
from services.intake import Incoming
from services.pipeline import Pipeline
from services.storage import get_source
from services.workspace import Workspace, open_workspace

PAGES = 100
QUESTION = "What did pump 57 deliver in the test run?"
RUNS = 5


def made_pdf(pages: int, salt: int) -> bytes:
    """A text PDF of ``pages`` pages of about 400 words, different for each ``salt``."""
    from io import BytesIO

    from reportlab.lib.pagesizes import A4
    from reportlab.pdfgen.canvas import Canvas

    out = BytesIO()
    canvas = Canvas(out, pagesize=A4)
    for page in range(1, pages + 1):
        text = canvas.beginText(60, 780)
        text.setFont("Helvetica-Bold", 14)
        text.textLine(f"Station {page} of series {salt}")
        text.setFont("Helvetica", 10)
        text.textLine(f"Pump {page} delivered {page * 13 + salt} litres an hour in the test run.")
        for line in range(45):
            text.textLine(
                f"Line {line}: valve {page + line} held {line * 3 + page} bar while the flow in "
                f"the north pipe fell by {line % 7} per cent."
            )
        canvas.drawText(text)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def first_answer(workspace: Workspace, data: bytes) -> dict[str, Any]:
    """Seconds from dropping a PDF to its text being ready and to the first cited answer."""
    start = time.perf_counter()
    (added,) = add_files(workspace, [Incoming("series.pdf", data)])
    source_id = added.source_id or ""
    while not get_source(source_id, workspace).answerable:
        time.sleep(0.01)
    text_ready = time.perf_counter() - start
    answer = chat.answer_question(workspace, QUESTION, [source_id])
    answered = time.perf_counter() - start
    cited = any("Pump 57 delivered" in citation.quote for citation in answer.citations)
    return {"id": source_id, "text_ready": text_ready, "answered": answered, "cited": cited}


def growth(workspace: Workspace, worker: Pipeline, many: int) -> dict[str, float]:
    """Milliseconds from adding a small source to ``ready``: around the 10th and the last."""

    def add(number: int) -> float:
        body = f"# Memo {number}\n\nMemo {number} is about valve {number * 17 % 1009} and its seal."
        start = time.perf_counter()
        (added,) = add_files(workspace, [Incoming(f"memo {number}.md", body.encode())])
        worker.wait(workspace, [added.source_id or ""])
        return (time.perf_counter() - start) * 1000

    early = statistics.median(add(n) for n in range(5, 16))
    bulk = [
        Incoming(f"bulk {n}.md", f"# Bulk {n}\n\nBulk memo {n} on seal {n * 31 % 997}.".encode())
        for n in range(many - 26)
    ]
    start = time.perf_counter()
    added = add_files(workspace, bulk)
    worker.wait(workspace, [item.source_id or "" for item in added])
    bulk_seconds = time.perf_counter() - start
    late = statistics.median(add(n) for n in range(many - 5, many + 6))
    return {"early": early, "late": late, "bulk_per_source": bulk_seconds * 1000 / len(bulk)}


def cold_ask() -> float:
    """Median seconds of ``halo ask`` as a new process on the data folder as it is."""
    taken = []
    for _ in range(RUNS):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "interfaces.cli", "ask", QUESTION, "--json"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pdf", type=Path, help="use this PDF instead of a made one")
    parser.add_argument("--many", type=int, default=2000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    embeddings.prepare()
    with report.data_folder():
        workspace = open_workspace()
        worker = Pipeline(lambda: [workspace]).warm().start()
        first_answer(workspace, made_pdf(3, 99))
        firsts = []
        for number in range(RUNS):
            data = options.pdf.read_bytes() if options.pdf else made_pdf(PAGES, number)
            firsts.append(first_answer(workspace, data))
            if number < RUNS - 1:
                delete_sources(workspace, [firsts[-1]["id"]])
        start = time.perf_counter()
        worker.wait(workspace, [firsts[-1]["id"]])
        vectors = time.perf_counter() - start
        cold = cold_ask()
        delete_sources(workspace, [firsts[-1]["id"]])
        grown = growth(workspace, worker, options.many)
        worker.stop()
        memory = _peak_mb()

    def middle(key: str) -> float:
        return statistics.median(float(first[key]) for first in firsts)

    cited = sum(first["cited"] for first in firsts)
    rows = [
        report.measured("100-page PDF: text ready", middle("text_ready"), "s", None),
        report.measured(
            f"100-page PDF: first cited answer ({cited}/{RUNS} cited)", middle("answered"), "s", 3.0
        ),
        report.measured("100-page PDF: all vectors after that (one run)", vectors, "s", None),
        report.measured("halo ask, cold process", cold, "s", 3.0),
        report.measured("adding a source: around the 10th", grown["early"], "ms", None),
        report.measured(f"adding a source: around the {options.many}th", grown["late"], "ms", None),
        report.measured("ratio of the two", grown["late"] / grown["early"], "times", 1.5),
        report.measured("many at once, each", grown["bulk_per_source"], "ms", None),
        report.measured("memory of this process, peak", memory, "MB", None),
    ]
    report.table("Sources in, first answers out", rows, as_json=options.json)


def _peak_mb() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


if __name__ == "__main__":
    main()
