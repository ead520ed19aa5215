"""Text in pictures: one recogniser a process, loaded when the first picture is met.

One bundled model reads Latin script with all its accents, Chinese (simplified and traditional) and
Japanese, mixed on a page as they may be, so no language is chosen. Other scripts (Greek, Cyrillic,
Arabic, Hebrew, Korean, Thai, Indian) it does not know: such lines come out with a low score or
almost empty, are left out, and pull down the confidence that the report states. Nothing is
downloaded: the models lie in the package, and their paths are given.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from services.models import ImportReport, RecognisedLine
from services.parsers import budget

READS = "HALO recognises print in Latin, Chinese and Japanese script."
"""How to go on where nothing was recognised."""
LONGEST = 2400
"""Pixels of the longer side of a picture that is recognised: an A4 page at 205 dots an inch."""
SURE = 0.5
"""Lines with a lower score are no text, or of a script the model does not know."""
DOUBTFUL = 0.8
"""Pages below this confidence are named in the report."""
AT_ONCE = 2
"""Pages recognised side by side, each on one core."""
SECONDS = 120.0
"""What a page may take; most take two to five seconds on one core."""

_DETECTED = (1600, 640)
"""Pixels of the longer side in which lines are looked for; they are read in the whole picture. A
few words alone on a page are only seen when it is small."""
_LARGEST = 3
"""Small pictures are enlarged at most so many times."""
_STRIP = 2.5
"""A picture more than so many times as high as wide is read in strips."""
_FLAT = 16
"""Grey values between the darkest and the brightest spot of an empty page."""
_SHORT = 3.0
"""Heights up to which a line may be a mark of its own."""
_FEW = 2
"""Letters and digits from which a picture holds text."""
_STEEP = 1.5
"""From this ratio of height to width on, the recogniser lays a line on its side."""

Pixels = NDArray[np.uint8]


@dataclass(frozen=True)
class Page:
    """What was found in one picture; ``confidence`` (0 to 1) counts also lines left out, and is
    None where nothing looks like text."""

    lines: list[RecognisedLine]
    confidence: float | None

    @property
    def letters(self) -> int:
        return sum(map(str.isalnum, "".join(line.text for line in self.lines)))


def read_pages(
    numbers: Sequence[int], picture: Callable[[int], Image.Image]
) -> Iterator[tuple[int, Page]]:
    """Recognise pages, a few at once, and yield each under its number, in order. Of a single page
    the lines are read side by side.

    ``picture`` makes the picture of a page, upright; it is called in this thread, shortly before
    the page's turn, so that only a few pictures are in memory.
    """
    waiting: deque[tuple[int, Future[Page]]] = deque()
    lines = AT_ONCE if len(numbers) == 1 else 1
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for number in numbers:
            budget.more_time(SECONDS)
            waiting.append((number, threads.submit(recognise, picture(number), lines)))
            if len(waiting) > AT_ONCE:
                first, found = waiting.popleft()
                yield first, found.result()
        for number, found in waiting:
            budget.more_time(SECONDS)
            yield number, found.result()


def recognise(picture: Image.Image, at_once: int = 1) -> Page:
    """The lines of text in a picture, in no order, read by ``at_once`` threads."""
    if _is_flat(picture):
        return Page([], None)
    found: list[RecognisedLine] = []
    for top, strip in _strips(picture):
        found += _placed(
            _lines(strip, at_once), top / picture.height, strip.height / picture.height
        )
    lengths = [_length(line, *picture.size) for line in found]
    for line, length in zip(found, lengths, strict=True):
        if length > _SHORT and _says_nothing(line.text, length):
            line.score = 0.0
    sure = sum(line.score * length for line, length in zip(found, lengths, strict=True))
    page = Page(
        lines=[line for line in found if line.score >= SURE],
        confidence=sure / sum(lengths) if found else None,
    )
    if max(lengths, default=0.0) <= _SHORT and page.letters < _FEW:
        return Page([], None)  # an edge or a spot that looks like a letter
    return page


def _length(line: RecognisedLine, width: int, height: int) -> float:
    """How long a line is in its own heights: about half of its letters, whatever was read."""
    wide, high = (line.box[2] - line.box[0]) * width, (line.box[3] - line.box[1]) * height
    return max(wide, high) / max(min(wide, high), 1.0)


def _says_nothing(text: str, length: float) -> bool:
    """Whether hardly anything was read of a line: it is in a script that the model does not know,
    where it sees the full stop, or a Greek letter it knows from formulas, and is sure of these."""
    known = any(c.isalnum() and not "\u0370" <= c <= "\u03ff" for c in text)
    return not known and len(text.replace(" ", "")) < length


def tell(report: ImportReport, pages: dict[int, Page]) -> None:
    """Say in an import report which pages were recognised, and how surely."""
    read = {number: page for number, page in pages.items() if page.lines}
    if read:
        weights = {number: page.letters for number, page in read.items()}
        sure = sum((read[number].confidence or 0.0) * weight for number, weight in weights.items())
        confidence = sure / max(sum(weights.values()), 1)
        report.ocr_pages = sorted(read)
        report.ocr_confidence = round(confidence, 3)
        report.note(
            "recognised",
            f"The text of these pages was recognised in their pictures, with a confidence of "
            f"{int(confidence * 100)} %: {_listed(report.ocr_pages)}.",
            pages=report.ocr_pages,
            share=int(confidence * 100),
        )
    doubtful = [
        number
        for number, page in sorted(pages.items())
        if page.confidence is not None and page.confidence < DOUBTFUL
    ]
    if doubtful:
        report.note(
            "low_confidence",
            "The recognised text of these pages is doubtful or incomplete; the print may be poor, "
            f"or in a script that HALO does not recognise: {_listed(doubtful)}.",
            pages=doubtful,
        )


def _listed(pages: list[int], most: int = 12) -> str:
    return ", ".join(map(str, pages[:most])) + (" ..." if len(pages) > most else "")


# -- one picture ---------------------------------------------------------------------------------


def _is_flat(picture: Image.Image) -> bool:
    """Whether a picture shows nothing, specks and paper grain aside."""
    grey = picture.convert("L")
    low, high = grey.reduce(4).getextrema() if min(grey.size) >= 8 else grey.getextrema()
    return float(high) - float(low) < _FLAT  # type: ignore[arg-type]


def _strips(picture: Image.Image) -> Iterator[tuple[int, Image.Image]]:
    """A very high picture (a till slip, a whole web page) in strips with their tops, cut where the
    rows are even; any other as it is."""
    width, height = picture.size
    if height <= _STRIP * width:
        yield 0, picture
        return
    spread = np.asarray(picture.convert("L"), dtype=np.float32).std(axis=1)
    top = 0
    while height - top > _STRIP * width:
        first, last = top + int(1.2 * width), top + int(1.8 * width)
        cut = first + max(int(spread[first:last].argmin()), 1)
        yield top, picture.crop((0, top, width, cut))
        top = cut
    yield top, picture.crop((0, top, width, height))


def _placed(lines: list[RecognisedLine], top: float, share: float) -> list[RecognisedLine]:
    """Lines of a strip with boxes and falls as fractions of the whole picture."""
    if share == 1:
        return lines
    for line in lines:
        left, upper, right, lower = line.box
        line.box = (left, top + upper * share, right, top + lower * share)
        line.fall *= share
    return lines


def _lines(picture: Image.Image, at_once: int) -> list[RecognisedLine]:
    """Every line the recogniser finds in a picture, with whatever score.

    Lines are looked for in a small copy, which is quicker and as good, and read in the picture.
    """
    from rapidocr.utils.process_img import map_boxes_to_original

    engine = _engine()
    picture = _sized(picture, max(picture.size), LONGEST)
    for longest in _DETECTED:
        small = _sized(picture, _LARGEST * max(picture.size), longest)
        pixels, steps = engine.preprocess_img(_pixels(small))
        boxes = _boxes(engine, pixels, steps)
        if boxes is not None:
            break
    else:
        return []
    corners = map_boxes_to_original(boxes, steps, *small.size[::-1])
    corners = (corners * (np.array(picture.size) / np.array(small.size))).astype(np.float32)
    lines = _read(engine, engine.crop_text_regions(_pixels(picture), corners), at_once)
    return [
        _line(*line, corner, *picture.size)
        for line, corner in zip(lines, corners, strict=True)
        if line[0].strip()
    ]


def _boxes(engine: Any, pixels: Pixels, steps: Any) -> NDArray[np.float32] | None:
    """The corners of lines in a prepared picture: (lines, 4, 2); None where there are none."""
    from rapidocr.main import RapidOCRError

    try:
        _, found = engine.detect_and_crop(pixels, steps)
    except RapidOCRError:  # nothing found
        return None
    boxes: NDArray[np.float32] = found.boxes.astype(np.float32)
    return boxes


Reading = tuple[str, float, bool]
"""What a line says, how surely, and whether it stands upside down."""


def _read(engine: Any, lines: list[Pixels], at_once: int) -> list[Reading]:
    """Read the pictures of lines. Upside down makes no sense to the recogniser, so what it is not
    sure of is read turned too; where that holds for most of a page, it holds for all its lines."""

    def some(chosen: list[int], turned: bool) -> dict[int, Reading]:
        pictures = [np.rot90(lines[i], 2) if turned else lines[i] for i in chosen]
        found = engine.recognize_txt(pictures) if pictures else None
        if found is None:
            return {}
        pairs = zip(found.txts, found.scores, strict=True)
        return {
            i: (text, float(score), turned) for i, (text, score) in zip(chosen, pairs, strict=True)
        }

    def read(chosen: list[int], *, turned: bool) -> dict[int, Reading]:
        if at_once == 1:
            return some(chosen, turned)
        shares = [chosen[first::at_once] for first in range(at_once)]
        with ThreadPoolExecutor(at_once) as threads:
            parts = list(threads.map(some, shares, [turned] * at_once))
        found = {i: line for part in parts for i, line in part.items()}
        return {i: found[i] for i in chosen if i in found}

    upright = read(list(range(len(lines))), turned=False)
    turned = read([i for i, line in upright.items() if line[1] < DOUBTFUL], turned=True)
    better = {i: line for i, line in turned.items() if line[1] > upright[i][1]}
    if sum(len(line[0]) for line in better.values()) > sum(len(a[0]) for a in upright.values()) / 2:
        better |= read([i for i in upright if i not in better], turned=True)
    return list((upright | better).values())


def _sized(picture: Image.Image, longest: int, most: int) -> Image.Image:
    """The picture with its longer side ``longest`` pixels long, at most ``most``."""
    factor = min(longest, most) / max(picture.size)
    if factor == 1:
        return picture
    width, height = (max(round(side * factor), 1) for side in picture.size)
    return picture.resize((width, height), Image.Resampling.BICUBIC)


def _pixels(picture: Image.Image) -> Pixels:
    """Blue, green and red, as the recogniser takes them: (height, width, 3)."""
    return np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:, :, ::-1])


def _line(
    text: str, score: float, upside_down: bool, corners: Any, width: int, height: int
) -> RecognisedLine:
    """A line from its four corners (clockwise from the top left), in pixels."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = corners.tolist()
    along = max(np.hypot(x1 - x0, y1 - y0), np.hypot(x2 - x3, y2 - y3))
    across = max(np.hypot(x3 - x0, y3 - y0), np.hypot(x2 - x1, y2 - y1))
    left, right = min(x0, x3), max(x1, x2)
    top, bottom = min(y0, y1), max(y2, y3)
    fall = 0.0
    if across >= _STEEP * along:
        # Chinese and Japanese that runs downwards stands upright in its column.
        turn = 0 if _is_ideographic(text) else 3 if upside_down else 1
    else:
        turn = 2 if upside_down else 0
        fall = (y1 + y2 - y0 - y3) / 2
        middle = (y0 + y1 + y2 + y3) / 4
        top, bottom = middle - across / 2, middle + across / 2
    return RecognisedLine(
        text=text.strip(),
        box=(
            _fraction(left, width),
            _fraction(top, height),
            _fraction(right, width),
            _fraction(bottom, height),
        ),
        fall=round(fall / height, 5),
        turn=turn,
        score=round(score, 3),
    )


def _fraction(value: float, whole: int) -> float:
    return round(min(max(value / whole, 0.0), 1.0), 5)


def _is_ideographic(text: str) -> bool:
    return sum("\u3040" <= c <= "\u9fff" for c in text) > len(text) / 2


_making = threading.Lock()


def _engine() -> Any:
    with _making:
        return _made_engine()


@cache
def _made_engine() -> Any:
    """The recogniser. Its models are loaded when first used."""
    import rapidocr

    models = Path(rapidocr.__file__).parent / "models"
    logging.getLogger("RapidOCR").setLevel(logging.CRITICAL)
    return rapidocr.RapidOCR(
        params={
            "Global.log_level": "critical",
            "Global.max_side_len": LONGEST,
            "Det.model_path": str(models / "PP-OCRv6_det_small.onnx"),
            "Det.limit_type": "max",
            "Det.limit_side_len": _DETECTED[0],
            "Rec.model_path": str(models / "PP-OCRv6_rec_small.onnx"),
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        }
    )
