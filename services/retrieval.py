"""Search and index by the names people know from the reference system.

New code uses ``search``, ``ingestion`` and ``tables``; these functions keep their signatures and
work on the first notebook. Unlike the reference they commit like everything else: what
``index_source_text`` adds is a source with a record, and a source id is data, never part of a
filter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services import adding, ingestion
from services.errors import NotFoundError
from services.pipeline import Pipeline
from services.search import search
from services.storage import get_source, load_sources, update_sources
from services.tables import writing_table
from services.workspace import open_workspace

__all__ = [
    "delete_source_chunks",
    "ensure_sources_table",
    "get_source_chunk_texts",
    "index_source_text",
    "query_similar",
    "rename_source",
    "search",
]


def ensure_sources_table() -> None:
    """Make the table that new passages go to, if it is not there. Raises EmbedderError."""
    writing_table(open_workspace())


def index_source_text(title: str, body: str, meta: dict[str, Any] | None = None) -> None:
    """Add a text as a source and wait until it can be searched. Raises UserInputError.

    ``meta`` may hold ``type`` and ``meta`` as in the reference system; the latter is kept.
    """
    workspace = open_workspace()
    added = adding.add_text(workspace, title, body)
    source_id = added.source_id or ""
    if meta and meta.get("meta"):
        update_sources({source_id: {"meta": str(meta["meta"])}}, workspace)
    worker = Pipeline(lambda: [workspace]).start()
    try:
        worker.wait(workspace, [source_id])
    finally:
        worker.stop()


def query_similar(
    text: str, limit: int = 5, source_ids: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """``[{text, meta, score}]``, nearest first; ``score`` is the cosine distance."""
    hits = search(open_workspace(), text, k=limit, source_ids=source_ids).hits
    return [
        {
            "text": hit.chunk.text,
            "meta": {
                "title": hit.source_name,
                "source_id": hit.source_id,
                "chunk_index": str(hit.chunk.index),
                "page": hit.chunk.page_start,
            },
            "score": 1.0 - (hit.cosine if hit.cosine is not None else 0.0),
        }
        for hit in hits
    ]


def get_source_chunk_texts(
    source_id: str | None = None, title: str | None = None, *, max_chunks: int = 200
) -> list[str]:
    """The first blocks of a source's text in reading order; [] when it is not there."""
    workspace = open_workspace()
    for source in load_sources(workspace):
        if source.id == source_id or (source_id is None and source.name == title):
            if not source.answerable:
                return []
            document = ingestion.load_document(workspace, source.id)
            return [block.text for block in document.blocks[:max_chunks]]
    return []


def delete_source_chunks(source_id: str, title: str | None = None) -> None:
    """Delete a source with its passages; nothing when it is not there."""
    try:
        ingestion.delete_sources(open_workspace(), [source_id])
    except NotFoundError:
        return


def rename_source(source_id: str, new_title: str, previous_title: str | None = None) -> None:
    """Change the name that is shown; passages need no change. Raises NotFoundError."""
    workspace = open_workspace()
    get_source(source_id, workspace)
    ingestion.rename_source(workspace, source_id, new_title)
