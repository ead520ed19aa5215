"""What is kept of a passage: its row in the table, the text that is embedded and indexed for it.

Title and headings go into both, so that a passage which says "it rose to 12.6 %" is found by what
it is about (the largest single gain in retrieval that was measured, docs/benchmarks.md).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from services.models import Chunk, Document, Job, Source


def readable_title(name: str) -> str:
    """A file's name as words: no suffix, separators as spaces ("ADOBE_2022_10K.pdf")."""
    stem = Path(name).stem if len(Path(name).suffix) <= 6 else name
    return " ".join(stem.replace("_", " ").replace("-", " ").split())


def row(
    source: Source, job: Job, number: int, chunk: Chunk, title: str, document: Document
) -> dict[str, Any]:
    """The passage as a row of the table, its vector still missing. The title counts twice."""
    words = "\n".join((title, title, *chunk.headings, chunk.text))
    return {
        "chunk_id": f"{job.revision}{number:06d}",
        "source_id": source.id,
        "revision": job.revision,
        "search_text": words,
        "vector": None,
        "chunk_index": number,
        "title": title,
        "type_label": document.type_label,
    } | chunk.model_dump(exclude={"index"})


def record_fields(document: Document, job: Job, table: str, chunks: int) -> dict[str, Any]:
    """What a source's record says once its text is there; the full report is in the document."""
    report = document.report
    return {
        "status": "text_ready",
        "revision": job.revision,
        "table": table,
        "type_label": document.type_label,
        "kind": document.kind,
        "units": document.units,
        "chunks": chunks,
        "vectors": 0,
        "words": report.words,
        "unread": len(report.unread),
        "hidden": len(report.hidden),
        "tables": report.tables,
        "notes": report.notes,
        "findings": len(report.findings),
        "language": report.language,
        "error": None,
    }
