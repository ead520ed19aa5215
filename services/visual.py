"""A found passage as a picture: its page with boxes around its lines."""

from __future__ import annotations

import io
from dataclasses import dataclass

from PIL import Image, ImageDraw

from services import pages
from services.errors import NotFoundError, UserInputError
from services.ingestion import load_document, original_path
from services.models import Hit
from services.pages import Box
from services.search import search
from services.words import densest
from services.workspace import Workspace

WIDTH = 1400
"""Pixels."""
_MARK = (255, 196, 0, 96)
_EDGE = (180, 83, 9, 255)
_PAGED = ("pdf", "image")


@dataclass(frozen=True)
class Drawn:
    """The best passage of a source for a query, drawn: a PNG, and what is on it."""

    png: bytes
    hit: Hit
    page: int
    boxes: list[Box]


def draw_passage(
    workspace: Workspace, source_id: str, query: str, *, password: str | None = None
) -> Drawn:
    """The page of the best passage for ``query`` that says most of it, its lines boxed.

    Raises NotFoundError for an unknown source or when nothing is found, UserInputError for a source
    without pages, PasswordNeededError, and what ``search`` raises.
    """
    document = load_document(workspace, source_id)
    if document.kind not in _PAGED:
        raise UserInputError(
            "Only pages of PDF files and pictures can be drawn.",
            code="no_pages",
            step="“halo search” shows the passage as text.",
            kind=document.kind,
        )
    hits = search(workspace, query, k=1, source_ids=[source_id]).hits
    if not hits:
        raise NotFoundError("Nothing was found in this source.", code="nothing_found")
    page, text = _asked_page(hits[0], query)
    path = original_path(workspace, source_id)
    recognised = document.recognised.get(page, [])
    boxes = pages.passage_boxes(path, page, text, password=password, recognised=recognised)
    picture = pages.render_page(path, page, width=WIDTH, password=password)
    return Drawn(_boxed(picture, boxes), hits[0], page, boxes)


def _asked_page(hit: Hit, query: str) -> tuple[int, str]:
    """The page on which a passage says most of the query's words, and what of it stands there."""
    chunk = hit.chunk
    page = hit.place(densest(chunk.text, query))[0] or 1
    ends = [*chunk.piece_starts[1:], len(chunk.text)]
    pieces = zip(chunk.piece_pages, chunk.piece_starts, ends, strict=True)
    return page, "\n".join(chunk.text[start:end].strip() for at, start, end in pieces if at == page)


def _boxed(picture: bytes, boxes: list[Box]) -> bytes:
    page = Image.open(io.BytesIO(picture)).convert("RGBA")
    layer = Image.new("RGBA", page.size, (0, 0, 0, 0))
    draw = ImageDraw.Draw(layer)
    width, height = page.size
    for box in boxes:
        corners = (box.left * width, box.top * height, box.right * width, box.bottom * height)
        draw.rectangle(corners, fill=_MARK, outline=_EDGE, width=2)
    out = io.BytesIO()
    Image.alpha_composite(page, layer).convert("RGB").save(out, "PNG")
    return out.getvalue()
