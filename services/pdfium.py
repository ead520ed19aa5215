"""The one door to pdfium: opening a file, and a page's words with their boxes in a few calls.

pdfium keeps global state and is not thread-safe, so everything that touches it, here and in the
modules that use it, holds ``LOCK``. A document is opened, read and closed under it; callers that
read many pages give it up between two pages.

Boxes are in points of the page as it is shown (its rotation applied), origin top left, y down.
Calls that are made for each word go through prototypes that take plain addresses: they run in a
C loop (``map``) and fill one array, several times faster than an object a character.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pypdfium2
import pypdfium2.raw as raw
from numpy.typing import NDArray

from services.errors import PasswordNeededError, UnreadableSourceError

LOCK = threading.RLock()
"""Held around every use of pdfium in this process."""

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]

_FONT_NAME_BYTES = 64
_MAP_SAMPLE = 4
"""Of how many words one is asked whether its glyphs are mapped; fonts fail as a whole."""
_LINE_HYPHENS = (0x0002, 0xFFFE)
"""What pdfium writes for a hyphen at a line end, with nothing between the two halves."""
_APART = np.zeros(0x10000, dtype=bool)
"""Whether a character ends a word: white space, hyphens at a line end; none beyond the table."""
_APART[[code for code in range(0x3001) if chr(code).isspace()]] = True
_APART[list(_LINE_HYPHENS)] = True


def _bind(function: Any, *arguments: Any, result: Any = ctypes.c_int) -> Any:
    """The same C function with cheap argument types: addresses as plain integers."""
    address = ctypes.cast(function, ctypes.c_void_p).value or 0
    return ctypes.CFUNCTYPE(result, *arguments)(address)


_pointer, _int, _long = ctypes.c_void_p, ctypes.c_int, ctypes.c_ulong
_get_text = _bind(raw.FPDFText_GetText, _pointer, _int, _int, _pointer)
_get_unicode = _bind(raw.FPDFText_GetUnicode, _pointer, _int, result=ctypes.c_uint)
_get_loose_box = _bind(raw.FPDFText_GetLooseCharBox, _pointer, _int, _pointer)
_get_font = _bind(raw.FPDFText_GetFontInfo, _pointer, _int, _pointer, _long, _pointer, result=_long)
_get_angle = _bind(raw.FPDFText_GetCharAngle, _pointer, _int, result=ctypes.c_float)
_has_map_error = _bind(raw.FPDFText_HasUnicodeMapError, _pointer, _int)
_get_object = _bind(raw.FPDFPage_GetObject, _pointer, _int, result=_pointer)
_get_object_type = _bind(raw.FPDFPageObj_GetType, _pointer)


def open_document(path: Path, password: str | None = None) -> Any:
    """Open a PDF; the caller holds ``LOCK`` and closes the document.

    An owner-only password does not matter: the empty password is tried first.

    Raises:
        PasswordNeededError: a password is needed, or the one given does not open the file.
        UnreadableSourceError: the file is missing, empty, damaged or no PDF.
    """
    try:
        empty = path.stat().st_size == 0
    except OSError as error:
        raise UnreadableSourceError(
            "The PDF is not where HALO kept it.", code="missing", step="Add the file again."
        ) from error
    if empty:
        raise UnreadableSourceError(
            "The file is empty (0 bytes).",
            code="empty_file",
            step="Check the original and add it again.",
        )
    try:
        return pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        # For a file without a page pdfium gives the code of the file before.
        if error.err_code != raw.FPDF_ERR_PASSWORD or b"/Encrypt" not in path.read_bytes():
            raise damaged() from error
    if not password:
        raise password_needed(given=False)
    try:
        return pypdfium2.PdfDocument(path, password=password)
    except pypdfium2.PdfiumError as error:
        if error.err_code != raw.FPDF_ERR_PASSWORD:
            raise damaged() from error
    raise password_needed(given=True)


def damaged() -> UnreadableSourceError:
    """The error for a file no reader can open."""
    return UnreadableSourceError(
        "The PDF is damaged or incomplete and could not be opened.",
        code="damaged",
        step="Check that it opens in a PDF viewer, download or export it again, then add it.",
    )


def password_needed(*, given: bool) -> PasswordNeededError:
    """The error for a locked file; ``given`` when a password was tried."""
    if given:
        return PasswordNeededError(
            "The password did not open the PDF.", step="Check it and try again.", wrong=True
        )
    return PasswordNeededError(
        "The PDF is protected with a password.",
        step="Enter its password; HALO does not keep it.",
        wrong=False,
    )


def code_points(text: str) -> NDArray[np.uint32]:
    """The characters of a text as numbers, one each, lone surrogates included."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def word_spans(text: str) -> tuple[Ints, Ints]:
    """Where the words of a text start and end; a hyphen at a line end belongs to its word."""
    codes = np.append(code_points(text), np.uint32(ord(" ")))
    inside = ~_APART[np.minimum(codes, 0xFFFF)]
    edges = np.flatnonzero(np.diff(inside, prepend=False))
    starts, ends = edges[::2], edges[1::2]
    return starts, ends + np.isin(codes[ends], _LINE_HYPHENS)


@dataclass(frozen=True, slots=True)
class PageText:
    """The words of one page in pdfium's reading order (n words).

    ``text`` is the page's characters, line breaks included; word i is
    ``text[starts[i]:ends[i]]``. ``boxes`` is (n, 4): left, top, right, bottom in points as shown;
    the height of an upright word is its font size. ``turns`` is (n,): quarter turns clockwise of
    the word's writing direction as shown, 0 for ordinary text.
    """

    width: float
    height: float
    text: str
    starts: Ints
    ends: Ints
    boxes: Floats
    turns: Ints
    unmapped: float
    """Share of sampled words whose first glyph has no Unicode value in its font."""


class TextPage:
    """An open text page; use as a context manager, under ``LOCK``."""

    def __init__(self, page: Any) -> None:
        self._page = page
        self._textpage = page.get_textpage()
        self._handle = ctypes.cast(self._textpage.raw, ctypes.c_void_p).value or 0
        self.width, self.height = page.get_size()
        self.rotation: int = page.get_rotation() // 90
        bounds = raw.FS_RECTF()
        if not raw.FPDF_GetPageBoundingBox(page, bounds):
            bounds.left, bounds.bottom, bounds.right, bounds.top = page.get_mediabox()
        self._bounds = (bounds.left, bounds.bottom, bounds.right, bounds.top)

    def __enter__(self) -> TextPage:
        return self

    def __exit__(self, *_: object) -> None:
        self._textpage.close()

    def characters(self) -> str:
        """All characters, one for each index of pdfium's own numbering."""
        count = self._textpage.count_chars()
        buffer = ctypes.create_string_buffer(2 * count + 2)
        written = _get_text(self._handle, 0, count, ctypes.addressof(buffer))
        text = buffer.raw[: 2 * max(written - 1, 0)].decode("utf-16-le", "surrogatepass")
        if len(text) == count:
            return text
        codes = map(_get_unicode, repeat(self._handle), range(count))
        return "".join(chr(code) if code <= 0x10FFFF else "\ufffd" for code in codes)

    def words(self) -> PageText:
        """The page's words with one box each."""
        text = self.characters()
        starts, ends = word_spans(text)
        boxes, turns = self._word_boxes(starts, ends)
        sample = starts[::_MAP_SAMPLE].tolist()
        errors = list(map(_has_map_error, repeat(self._handle), sample)).count(1)
        return PageText(
            width=self.width,
            height=self.height,
            text=text,
            starts=starts,
            ends=ends,
            boxes=boxes,
            turns=turns,
            unmapped=errors / len(sample) if sample else 0.0,
        )

    def loose_boxes(self, indexes: Sequence[int]) -> Floats:
        """Boxes of characters as (n, 4) left, top, right, bottom in the page's own space."""
        boxes = np.zeros((len(indexes), 4), dtype=np.float32)
        at = boxes.ctypes.data
        steps = range(at, at + 16 * len(indexes), 16)
        for _ in map(_get_loose_box, repeat(self._handle), indexes, steps):
            pass
        return boxes

    def fonts(self, indexes: Sequence[int]) -> list[bytes]:
        """Font names of characters, cut at 63 bytes; b"" where unknown."""
        names = np.zeros(len(indexes), dtype=f"S{_FONT_NAME_BYTES}")
        at = names.ctypes.data
        steps = range(at, at + _FONT_NAME_BYTES * len(indexes), _FONT_NAME_BYTES)
        size = repeat(_FONT_NAME_BYTES - 1)
        for _ in map(_get_font, repeat(self._handle), indexes, steps, size, repeat(None)):
            pass
        found: list[bytes] = names.tolist()
        return found

    def shown(self, boxes: Floats) -> Floats:
        """Boxes of the page's own space (y up) as they are shown (y down, rotation applied)."""
        left, bottom, right, top = self._bounds
        x0 = np.minimum(boxes[:, 0], boxes[:, 2])
        x1 = np.maximum(boxes[:, 0], boxes[:, 2])
        y0 = np.minimum(boxes[:, 1], boxes[:, 3])
        y1 = np.maximum(boxes[:, 1], boxes[:, 3])
        sides = {
            0: (x0 - left, top - y1, x1 - left, top - y0),
            1: (y0 - bottom, x0 - left, y1 - bottom, x1 - left),
            2: (right - x1, y0 - bottom, right - x0, y1 - bottom),
            3: (top - y1, right - x1, top - y0, right - x0),
        }[self.rotation]
        return np.stack(sides, axis=1).astype(np.float32)

    def _word_boxes(self, starts: Ints, ends: Ints) -> tuple[Floats, Ints]:
        count = len(starts)
        turns = np.full(count, self.rotation, dtype=np.int64)
        if not count:
            return np.zeros((0, 4), dtype=np.float32), turns
        indexes: list[int] = np.concatenate((starts, ends - 1)).tolist()
        loose = self.loose_boxes(indexes)
        first, last = loose[:count], loose[count:]
        own = np.concatenate(
            (np.minimum(first[:, :2], last[:, :2]), np.maximum(first[:, 2:], last[:, 2:])), axis=1
        )
        own[:, 1] = np.maximum(first[:, 1], last[:, 1])
        own[:, 3] = np.minimum(first[:, 3], last[:, 3])
        along = np.abs(first[:, 0] - last[:, 0]) >= np.abs(first[:, 1] - last[:, 1])
        if self.rotation or not along.all():
            angles = list(map(_get_angle, repeat(self._handle), starts.tolist()))
            turns += np.round(np.array(angles) / (np.pi / 2)).astype(np.int64)
        turns %= 4
        # For some turned glyphs the loose boxes, measured along the x axis, come out flat.
        for i in np.flatnonzero(first[:, 1] - first[:, 3] < 0.01).tolist():
            own_turn = (int(turns[i]) - self.rotation) % 4
            own[i] = self._turned_box(int(starts[i]), int(ends[i]) - 1, own_turn)
        return self.shown(own), turns

    def _turned_box(self, first: int, last: int, turn: int) -> Floats:
        """Box, in the page's own space, of a word that is turned there."""
        sides = [ctypes.c_double() for _ in range(4)]
        tight = []
        for index in {first, last}:
            raw.FPDFText_GetCharBox(self._textpage, index, *sides)
            tight.append([side.value for side in sides])
        x0, x1 = min(box[0] for box in tight), max(box[1] for box in tight)
        y0, y1 = min(box[2] for box in tight), max(box[3] for box in tight)
        matrix = raw.FS_MATRIX()
        raw.FPDFText_GetMatrix(self._textpage, first, matrix)
        size = raw.FPDFText_GetFontSize(self._textpage, first)
        reach = float(np.hypot(matrix.c, matrix.d)) * size
        x, y = ctypes.c_double(), ctypes.c_double()
        raw.FPDFText_GetCharOrigin(self._textpage, first, x, y)
        above, below = 0.8 * reach, 0.2 * reach
        match turn:
            case 1:  # reads downwards, its top is to the right
                x0, x1 = x.value - below, x.value + above
            case 2:
                y0, y1 = y.value - above, y.value + below
            case 3:  # reads upwards, its top is to the left
                x0, x1 = x.value - above, x.value + below
            case _:
                y0, y1 = y.value - below, y.value + above
        return np.array([x0, y1, x1, y0], dtype=np.float32)


def count_pictures(page: Any, *, least: float = 36.0) -> int:
    """How many pictures at least ``least`` points wide and high stand directly on a page."""
    handle = ctypes.cast(page.raw, ctypes.c_void_p).value
    objects = list(map(_get_object, repeat(handle), range(raw.FPDFPage_CountObjects(page))))
    pictures = 0
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    for found, kind in zip(objects, map(_get_object_type, objects), strict=True):
        if kind != raw.FPDF_PAGEOBJ_IMAGE:
            continue
        pointer = ctypes.cast(found, raw.FPDF_PAGEOBJECT)
        raw.FPDFPageObj_GetBounds(pointer, left, bottom, right, top)
        wide, high = right.value - left.value, top.value - bottom.value
        pictures += wide >= least and high >= least
    return pictures


def picture_share(page: Any) -> float:
    """The share of a page that its pictures cover, 0 to 1, each counted whole."""
    width, height = page.get_size()
    covered = 0.0
    for found in page.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE,), max_depth=4):
        left, bottom, right, top = found.get_bounds()
        covered += max(right - left, 0.0) * max(top - bottom, 0.0)
    return float(min(covered / max(width * height, 1.0), 1.0))


def widen_flat_text(page: Any) -> bool:
    """Make text visible to pdfium that it skips because its glyphs have no width here.

    Vertical writing in a font that is neither embedded nor installed gives boxes without width,
    and pdfium leaves such text out. A stroke gives them one. Returns whether anything changed;
    text pages opened before do not see it, the file itself is not touched.
    """
    changed = False
    for found in page.get_objects(filter=(raw.FPDF_PAGEOBJ_TEXT,), max_depth=4):
        left, bottom, right, top = found.get_bounds()
        if right - left < 0.01 or top - bottom < 0.01:
            raw.FPDFTextObj_SetTextRenderMode(found, raw.FPDF_TEXTRENDERMODE_STROKE)
            raw.FPDFPageObj_SetStrokeWidth(found, 1.0)
            raw.FPDFPageObj_Transform(found, 1, 0, 0, 1, 0, 0)  # has the box computed again
            changed = True
    return changed


def has_picture(page: Any) -> bool:
    """Whether a picture stands on a page at any depth, however small."""
    return any(True for _ in page.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE,), max_depth=4))
