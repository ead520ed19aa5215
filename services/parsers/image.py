"""Pictures (PNG, JPEG, WebP, TIFF, BMP, GIF) to ``Document``: their text, recognised, and what they
show, where a model that sees is set.

A TIFF is read frame by frame, each a page; of a moving picture only the first frame is read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PIL import Image

from services import pictures
from services.errors import UnreadableSourceError
from services.models import Document, ImportReport
from services.parsers import captions, ocr
from services.parsers.language import guess_language
from services.parsers.ocr_layout import layout
from services.parsers.pdf_blocks import Outline, assemble
from services.parsers.pdf_layout import PageLayout
from services.parsers.pdf_running import drop_running_lines

Progress = Callable[[int, int], None]

_POINTS = 842.0
"""Length given to the longer side of every picture, whose own resolution is seldom true."""
_HIGHEST = 40_000
"""Pixels in height up to which a very long picture is read in full width."""


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a picture.

    Args:
        path: the file.
        name: its display name and title.
        password: pictures have none.
        progress: called with (pages done, pages in all) after each page.

    Raises:
        TooLargeError: too many pixels (code ``too_many_pixels``).
        UnreadableSourceError: damaged, or without any text (code ``no_text``).
        ModelError: there is no text, and the model that sees could not describe it.
        SettingsError: the model that sees is set wrongly.
    """
    total = pictures.page_count(path)
    upright = pictures.pages(path, within=(ocr.LONGEST, _HIGHEST))
    sizes: dict[int, tuple[int, int]] = {}
    describe = captions.wanted()
    jpegs: dict[int, bytes] = {}

    def picture(number: int) -> Image.Image:
        image = next(upright)
        sizes[number] = image.size
        if describe and number <= captions.MOST:
            jpegs[number] = captions.kept(image)
        return image

    pages: dict[int, ocr.Page] = {}
    layouts: list[PageLayout | None] = []
    for number, page in ocr.read_pages(range(1, total + 1), picture):
        pages[number] = page
        scale = _POINTS / max(sizes[number])
        layouts.append(layout(page.lines, sizes[number][0] * scale, sizes[number][1] * scale))
        if progress:
            progress(number, total)
    drop_running_lines(layouts)
    assembled = assemble(layouts, Outline(), [None] * total)
    report = _report(pages, total)
    blocks = assembled.blocks
    continued = [(blocks[one], blocks[other]) for one, other in assembled.continues.items()]
    captions.add(blocks, jpegs, guess_language(blocks), report)
    if not blocks:
        raise _no_text(total)
    document = Document(
        title=Path(name).stem or name,
        blocks=blocks,
        units={"pages": total},
        recognised={number: page.lines for number, page in pages.items() if page.lines},
        report=report,
    ).settle()
    for later, earlier in continued:
        later.continues = earlier.id
    return document


def _report(pages: dict[int, ocr.Page], total: int) -> ImportReport:
    report = ImportReport(unit="page", units_total=total, pictures=total)
    report.unread = [number for number, page in pages.items() if not page.lines]
    report.units_read = total - len(report.unread)
    ocr.tell(report, pages)
    return report


def _no_text(total: int) -> UnreadableSourceError:
    what = "this picture" if total == 1 else f"any of the {total} pages of this picture"
    return UnreadableSourceError(
        f"No text was found in {what}.",
        code="no_text",
        step=ocr.READS,
        pages=total,
        pictures=total,
    )
