"""What pictures show, in the words of a model that sees, beside the text recognised in them."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from services.errors import ModelError
from services.models import Block, ImportReport
from services.parsers import errands

if TYPE_CHECKING:
    from PIL import Image

MOST = 12
"""Pictures of one file that are described; a TIFF may hold thousands of pages."""
_LONGEST = 1568
"""Pixels; more than that the models make smaller themselves."""


def wanted() -> bool:
    """Whether pictures are described: those of a private source not by a hosted model. Raises
    SettingsError."""
    from services.llm.vision import seeing

    model = seeing()
    return model is not None and not (errands.private() and model.hosted)


def kept(image: Image.Image) -> bytes:
    """A picture as a small JPEG, to be described later."""
    from PIL import Image

    copy = image.convert("RGB")
    copy.thumbnail((_LONGEST, _LONGEST), Image.Resampling.LANCZOS)
    held = io.BytesIO()
    copy.save(held, "JPEG", quality=85)
    return held.getvalue()


def add(
    blocks: list[Block], jpegs: Mapping[int, bytes], language: str | None, report: ImportReport
) -> None:
    """Put a caption behind the text of each page that is kept in ``jpegs``.

    What a model saw is no text of the source: its block is a caption under a heading that names
    the model, and the report says so. It is written in ``language`` (a code; None: English). Where
    the model fails the text stays and the report says why; raises ModelError when there is no text
    either.
    """
    described: list[int] = []
    by = ""
    with tempfile.TemporaryDirectory(prefix="halo-picture-") as folder:
        for page, jpeg in jpegs.items():
            file = Path(folder) / "picture.jpg"
            file.write_bytes(jpeg)
            try:
                told = errands.send(
                    {"do": "describe", "file": str(file), "language": language or "en"}
                )
            except ModelError as error:
                if not blocks:
                    raise
                report.note(
                    "not_described",
                    f"What the picture shows could not be described. {error}",
                    reason=str(error),
                )
                break
            by = told["by"]
            described.append(page)
            place = sum((block.page or 0) <= page for block in blocks)
            headings = [f"Picture described by {by}"]
            block = Block(kind="caption", text=told["text"], page=page, headings=headings)
            blocks.insert(place, block)
    if described:
        report.unread = [page for page in report.unread if page not in described]
        report.units_read = report.units_total - len(report.unread)
        report.note(
            "described",
            f"What {len(described)} pictures show was written by {by}; it may err.",
            count=len(described),
            by=by,
        )
