"""How fast scanned pages are read, against the recogniser alone and with pages side by side.

    python -m benchmarks.ocr [--pages 4] [--runs 3] [--json]

Pages of text are drawn, turned a little and given grain, as a scanner gives them, and bound into a
PDF file. What is compared runs in turns, so that other work on the machine meets all alike:

- rapidocr with its usual settings, one page after another, from pictures that are in memory;
- HALO's ``parse`` of the PDF file, one page after another (goal: at most 1.15 times as long), and
  as it is set up (goal: less than one after another where there are two cores).

The share of words that came back is stated for each. On a busy machine the ratios of wall times
say little; processor times hold.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import font_source_serif_pro
import numpy as np
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from benchmarks import report
from services.parsers import ocr, parse

DOTS = 300
"""Dots an inch of the scans: what offices scan with."""
FONT = Path(font_source_serif_pro.__file__).parent / "files" / "SourceSerifPro-Regular.ttf"
WORDS = (
    "the harbour was closed after storm because seventeen ships had to wait outside until pumps "
    "of northern basin held again while engineers measured pressure and flow in every valve "
    "report states that repairs cost more than planned but less insurance paid during winter"
).split()


def scan(number: int) -> Image.Image:
    """Page ``number`` as a scanner sees it: grey, 300 dots an inch, askew and with grain."""
    rng = random.Random(number)
    width, height = (round(side / 72 * DOTS) for side in A4)
    page = Image.new("L", (width, height), 244)
    pen, font = ImageDraw.Draw(page), ImageFont.truetype(str(FONT), round(10.5 / 72 * DOTS))
    for line in range(45):
        if line % 11 != 10:  # a gap between paragraphs
            pen.text((300, 300 + 62 * line), sentence(rng), font=font, fill=30)
    askew = page.rotate(rng.uniform(-0.4, 0.4), Image.Resampling.BICUBIC, fillcolor=244)
    grain = np.random.default_rng(number).normal(0, 9, (height, width))
    return Image.fromarray(np.clip(np.asarray(askew) + grain, 0, 255).astype(np.uint8))


def sentence(rng: random.Random) -> str:
    """A line of words with a number here and there, about 80 characters."""
    words = [rng.choice(WORDS) for _ in range(13)]
    words[rng.randrange(13)] = f"{rng.randrange(10_000):,}"
    return " ".join(words).capitalize() + "."


def said(number: int) -> set[str]:
    """The words of page ``number``."""
    rng = random.Random(number)
    return {word for line in range(45) if line % 11 != 10 for word in sentence(rng).split()}


def bound(pages: list[Image.Image], path: Path) -> None:
    """Write pages as a PDF file of pictures."""
    canvas = Canvas(str(path), pagesize=A4)
    for page in pages:
        canvas.drawImage(ImageReader(page), 0, 0, *A4)
        canvas.showPage()
    canvas.save()


def alone(engine: Any, pages: list[np.ndarray[Any, Any]]) -> str:
    """The text that the recogniser finds by itself, page after page."""
    return "\n".join(text for page in pages for text in engine(page).txts or ())


@contextmanager
def at_once(pages: int) -> Any:
    """So many pages side by side."""
    usual, ocr.AT_ONCE = ocr.AT_ONCE, pages
    try:
        yield
    finally:
        ocr.AT_ONCE = usual


def seconds(action: Callable[[], str], texts: list[str]) -> tuple[float, float]:
    """Wall time and processor time of ``action``, whose text is kept."""
    start, worked = time.perf_counter(), time.process_time()
    texts.append(action())
    return time.perf_counter() - start, time.process_time() - worked


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pages", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    import rapidocr

    engine = rapidocr.RapidOCR(params={"Global.log_level": "critical"})
    scans = [scan(number) for number in range(options.pages)]
    pixels = [np.asarray(page.convert("RGB"))[:, :, ::-1] for page in scans]
    words = set().union(*map(said, range(options.pages)))
    side_by_side = ocr.AT_ONCE
    with TemporaryDirectory(prefix="halo-bench-") as folder:
        path = Path(folder) / "scans.pdf"
        bound(scans, path)

        def halo(pages: int) -> str:
            with at_once(pages):
                return parse(path, path.name).text

        ways: dict[str, Callable[[], str]] = {
            "rapidocr alone": lambda: alone(engine, pixels),
            "HALO, one page after another": lambda: halo(1),
            f"HALO, {side_by_side} pages side by side": lambda: halo(side_by_side),
        }
        texts: dict[str, list[str]] = {name: [] for name in ways}
        alone(engine, pixels[:1])  # models are loaded before anything is measured
        halo(1)
        rounds = [[seconds(ways[name], texts[name]) for name in ways] for _ in range(options.runs)]
    rows = [
        {
            "what": name,
            "seconds a page": statistics.median(one[at][0] for one in rounds) / options.pages,
            "of a processor": statistics.median(one[at][1] for one in rounds) / options.pages,
            "times rapidocr": statistics.median(one[at][0] / one[0][0] for one in rounds),
            "times one after another": statistics.median(one[at][0] / one[1][0] for one in rounds),
            "words found": len(words & set(texts[name][-1].split())) / len(words),
        }
        for at, name in enumerate(ways)
    ]
    report.table("Scanned pages", rows, as_json=options.json)


if __name__ == "__main__":
    main()
