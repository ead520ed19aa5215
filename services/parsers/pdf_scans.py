"""Pages of a PDF that are pictures of text: which they are, and their pictures.

Only what pdfium draws is recognised, without form fields, whose values are read as such.
"""

from __future__ import annotations

from typing import Any

import pypdfium2.raw as raw
from PIL import Image

from services import pdfium
from services.parsers import ocr

_STAMP = 100
"""Letters and digits up to which a text layer beside a large picture may be a stamp on a scan."""
_COVERED = 0.5
"""Share of the page that pictures then cover."""
_DOTS = 300 / 72
"""Pixels a point at most; more shows no more."""
_MOST_PIXELS = 24_000_000


def may_be_scan(page: Any, text: str) -> bool:
    """Whether a page with this text layer may hold text that only a picture shows.

    The caller holds pdfium's lock.
    """
    said = sum(map(str.isalnum, text))
    if not said:  # also text drawn as shapes
        return bool(raw.FPDFPage_CountObjects(page))
    return said < _STAMP and pdfium.picture_share(page) >= _COVERED


def picture(source: Any, number: int) -> Image.Image:
    """Page ``number`` (from 0) in grey as it is shown, at the size in which it is recognised."""
    with pdfium.LOCK:
        page = source[number]
        try:
            width, height = page.get_size()
            # Of a very long page the width decides, because it is recognised in strips.
            scale = min(_DOTS, ocr.LONGEST / max(min(max(width, height), 1.5 * width), 1.0))
            scale = min(scale, (_MOST_PIXELS / max(width * height, 1.0)) ** 0.5)
            plain = source.get_formtype() == raw.FORMTYPE_NONE
            bitmap = page.render(
                scale=scale, grayscale=True, may_draw_forms=False, draw_annots=plain
            )
            image: Image.Image = bitmap.to_pil().copy()
            bitmap.close()
            return image
        finally:
            page.close()
