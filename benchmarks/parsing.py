"""How fast files are read, against pdfium's own text and with one reader against two.

    python -m benchmarks.parsing [--pdf DIR] [--files 200] [--json]

- pages per CPU-second of ``parse`` on text PDFs, beside pdfium's own text in reading order on the
  same pages (goal: at least a third of it);
- the most memory that reading 1,000 pages takes (goal: 600 MB);
- a batch of mixed files through the pipeline until each can be asked, with one reader and with as
  many as HALO starts (goal: at least 1.6 times as fast on two cores).
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pypdfium2

from benchmarks import report
from benchmarks.intake import made_pdf
from services import pipeline
from services.adding import add_files
from services.intake import Incoming
from services.parsers import parse
from services.storage import load_sources
from services.workspace import open_workspace

RUNS = 3
MANY_PAGES = 1000


def cpu_seconds(action: Callable[[], object]) -> float:
    """The median CPU time of this process for ``action``, over ``RUNS`` runs."""
    taken = []
    for _ in range(RUNS):
        start = time.process_time()
        action()
        taken.append(time.process_time() - start)
    return statistics.median(taken)


def pdfium_text(path: Path) -> int:
    """Take the text of every page with pdfium alone; returns how many pages there are."""
    document = pypdfium2.PdfDocument(path)
    for page in document:
        page.get_textpage().get_text_range()
    return len(document)


def pages_per_second(path: Path) -> dict[str, float]:
    pages = pdfium_text(path)
    parse(path, path.name)  # imports and caches are paid before the measured runs
    bare = pages / cpu_seconds(lambda: pdfium_text(path))
    own = pages / cpu_seconds(lambda: parse(path, path.name))
    return {"pages": pages, "pdfium": bare, "halo": own, "ratio": own / bare}


def peak_mb(path: Path) -> float:
    """The most memory a process of its own has while it reads a file."""
    code = (
        "import sys, resource; from services.parsers import parse; parse(sys.argv[1], 'a.pdf');"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True
    )
    return int(done.stdout) / 1000


def mixed(number: int) -> Incoming:
    """File ``number`` of a batch: PDF, Word, Excel, PowerPoint, web page, text and CSV in turn."""
    makers = (_pdf, _docx, _xlsx, _pptx, _html, _markdown, _csv)
    maker = makers[number % len(makers)]
    return Incoming(f"{number}.{maker.__name__[1:]}", maker(number))


def sentences(number: int, count: int) -> list[str]:
    return [
        f"Report {number}: pump {line} held {line * 3 + number} bar while the flow fell by "
        f"{line % 7} per cent against the week before."
        for line in range(count)
    ]


def _pdf(number: int) -> bytes:
    return made_pdf(20, number)


def _docx(number: int) -> bytes:
    import docx

    document = docx.Document()
    for at, sentence in enumerate(sentences(number, 300)):
        if at % 30 == 0:
            document.add_heading(f"Part {at // 30 + 1}", 1)
        document.add_paragraph(sentence)
    return _saved(document)


def _xlsx(number: int) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    for row in range(800):
        book.active.append([f"Well {row}", number, row * 1.5, f"2024-01-{row % 28 + 1:02d}"])
    return _saved(book)


def _pptx(number: int) -> bytes:
    import pptx

    deck = pptx.Presentation()
    for sentence in sentences(number, 25):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = "Pumps"
        slide.placeholders[1].text = sentence
    return _saved(deck)


def _html(number: int) -> bytes:
    body = "".join(f"<p>{sentence}</p>" for sentence in sentences(number, 300))
    return f"<html><body><main><h1>Pumps</h1>{body}</main></body></html>".encode()


def _markdown(number: int) -> bytes:
    return "\n\n".join(["# Pumps", *sentences(number, 300)]).encode()


def _csv(number: int) -> bytes:
    return "\n".join(["well;bar;flow", *(f"W{n};{n * number};{n},5" for n in range(800))]).encode()


def _saved(document: Any) -> bytes:
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def batch_seconds(files: list[Incoming], readers: int) -> float:
    """Seconds from adding the files until each can be asked."""
    usual, pipeline.READERS = pipeline.READERS, readers
    try:
        with report.data_folder():
            workspace = open_workspace()
            worker = pipeline.Pipeline(lambda: [workspace]).start()
            start = time.perf_counter()
            add_files(workspace, files)
            while not all(source.answerable for source in load_sources(workspace)):
                time.sleep(0.02)
            taken = time.perf_counter() - start
            worker.stop()
    finally:
        pipeline.READERS = usual
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pdf", type=Path, help="a folder of text PDFs to read besides a made one")
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ["HALO_EMBEDDER"] = "hash"
    with TemporaryDirectory(prefix="halo-bench-") as folder:
        made = Path(folder) / "made.pdf"
        made.write_bytes(made_pdf(MANY_PAGES, 1))
        paths = [made, *(sorted(options.pdf.glob("*.pdf")) if options.pdf else [])]
        rates = [{"file": path.name} | pages_per_second(path) for path in paths]
        memory = peak_mb(made)
    files = [mixed(number) for number in range(options.files)]
    batch_seconds(files[:7], 1)
    usual = pipeline.READERS
    one = statistics.median(batch_seconds(files, 1) for _ in range(RUNS))
    all_ = statistics.median(batch_seconds(files, usual) for _ in range(RUNS))
    report.table("Text PDFs: pages per CPU-second", rates, as_json=options.json)
    rows = [
        report.measured(f"{MANY_PAGES} pages: memory, peak", memory, "MB", 600),
        report.measured(f"{options.files} mixed files: one reader", one, "s", None),
        report.measured(f"{options.files} mixed files: {usual} readers", all_, "s", None),
        report.measured("times as fast", one / all_, "times", 1.6),
    ]
    report.table("Reading files", rows, as_json=options.json)


if __name__ == "__main__":
    main()
