"""Picture files as pages: how many, of what size, each upright and of bounded size.

A TIFF has as many pages as it has frames; of moving pictures only the first frame is read. Pictures
are turned as their EXIF data says, and what is transparent becomes white.
"""

from __future__ import annotations

import struct
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from services.errors import NotFoundError, TooLargeError, UnreadableSourceError

FORMATS = ("PNG", "JPEG", "WEBP", "TIFF", "BMP", "GIF")
"""Pillow's names of the formats that are opened, whatever a file says it is."""

_ORIENTATION = 0x0112

# A picture of more pixels than Pillow takes for safe is refused, not only remarked upon.
warnings.simplefilter("error", Image.DecompressionBombWarning)
_TOO_LARGE = (Image.DecompressionBombError, Image.DecompressionBombWarning)
# What Pillow is known to raise on damaged files; it means them all to be OSError.
_DAMAGED = (OSError, SyntaxError, ValueError, LookupError, TypeError, struct.error, EOFError)


def page_count(path: Path) -> int:
    """How many pages a picture file has. Raises what ``page`` raises."""
    with _opened(path) as image:
        return _pages(image)


def page_size(path: Path, number: int) -> tuple[float, float]:
    """Width and height of page ``number`` (from 1) in pixels as shown. Raises as ``page`` does."""
    with _opened(path, number) as image:
        width, height = image.size
        return (height, width) if _lies(image) else (width, height)


def page(path: Path, number: int, *, within: tuple[int, int]) -> Image.Image:
    """Page ``number`` (from 1), grey or in colour, made smaller where it exceeds ``within``, the
    largest width and height as shown.

    Raises:
        NotFoundError: there is no such page.
        TooLargeError: more pixels than are read; nothing was unpacked.
        UnreadableSourceError: no picture, or a damaged one.
    """
    with _opened(path, number) as image:
        return _shown(image, within)


def pages(path: Path, *, within: tuple[int, int]) -> Iterator[Image.Image]:
    """All pages in order, each as ``page`` gives it. The file stays open between them, because a
    TIFF is searched from its beginning for each page that is asked for by itself.

    Raises what ``page`` raises.
    """
    with _opened(path) as image:
        for number in range(_pages(image)):
            image.seek(number)
            yield _shown(image, within)


def _shown(image: Image.Image, within: tuple[int, int]) -> Image.Image:
    """An opened page upright, in grey or colour, no larger than ``within``."""
    if _lies(image):
        within = within[1], within[0]
    image.draft(None, within)  # a JPEG may be unpacked smaller, which is quicker
    plain = _plain(image)
    plain.thumbnail(within, Image.Resampling.LANCZOS, reducing_gap=2.0)
    return ImageOps.exif_transpose(plain)


def _lies(image: Image.Image) -> bool:
    """Whether the EXIF data says that the picture lies on its side."""
    return image.getexif().get(_ORIENTATION, 1) in (5, 6, 7, 8)


def _pages(image: Image.Image) -> int:
    return getattr(image, "n_frames", 1) if image.format == "TIFF" else 1


@contextmanager
def _opened(path: Path, number: int = 1) -> Iterator[Image.Image]:
    """The file with page ``number`` in place, its errors in HALO's words."""
    try:
        with Image.open(path, formats=FORMATS) as image:
            total = _pages(image)
            if not 1 <= number <= total:
                raise NotFoundError(
                    f"There is no page {number}; the picture has {total}.",
                    code="no_such_page",
                    page=number,
                    total=total,
                )
            if number > 1:
                image.seek(number - 1)
            yield image
    except _TOO_LARGE as error:
        limit = (Image.MAX_IMAGE_PIXELS or 0) // 1_000_000
        raise TooLargeError(
            f"This picture has more than {limit} million pixels.",
            code="too_many_pixels",
            step="Save it smaller and add it again.",
            limit=limit,
        ) from error
    except _DAMAGED as error:
        raise UnreadableSourceError(
            "This picture is damaged and cannot be opened.",
            code="damaged",
            step="Open it in a picture viewer, save it again, and add the new copy.",
        ) from error


def _plain(image: Image.Image) -> Image.Image:
    """The same picture in grey or colour with eight bits a channel, on white; EXIF data kept."""
    if image.mode == "1":
        return image.convert("L")
    if image.mode.startswith(("I", "F")):  # more than eight bits: stretched over them
        values = np.asarray(image, dtype=np.float32)
        low, high = float(values.min()), float(values.max())
        stretched = (values - low) * (255 / max(high - low, 1.0))
        plain = Image.fromarray(stretched.astype(np.uint8))
        plain.getexif()[_ORIENTATION] = image.getexif().get(_ORIENTATION, 1)
        return plain
    if image.has_transparency_data:
        clear = image.convert("RGBA")
        white = Image.new("RGBA", clear.size, "white")
        plain = Image.alpha_composite(white, clear).convert("RGB")
        plain.getexif()[_ORIENTATION] = image.getexif().get(_ORIENTATION, 1)
        return plain
    return image.copy() if image.mode in ("L", "RGB") else image.convert("RGB")
