"""A folder of documents, questions and judgements, indexed the way the product indexes.

A folder holds ``corpus.jsonl`` (id, title, text; ``kind`` "table" and ``block`` where they apply),
``queries.jsonl`` (id, text; ``block`` or ``doc`` where a question belongs to some documents only)
and ``qrels.tsv`` (query_id, doc_id, score). Ids of the form ``NAME#pN`` are pages of one source.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from services.chunking import chunk_document, passage_text
from services.embeddings import get_embedder
from services.models import Block, Document, Hit, Job, Source
from services.passages import readable_title, record_fields, row
from services.storage import load_config, load_sources, save_sources, update_config
from services.tables import writing_table
from services.workspace import Workspace, create_workspace, workspaces

_EMBEDDED_AT_ONCE = 256


@dataclass
class Collection:
    """One folder: its questions, judgements, and the notebook that holds its documents."""

    name: str
    queries: list[dict[str, Any]]
    grades: dict[str, dict[str, int]]
    """Query id -> document id -> grade, above 0."""
    workspace: Workspace
    scopes: dict[str, list[str]] = field(default_factory=dict)
    """Source ids of a block or document."""
    places: dict[str, str] = field(default_factory=dict)
    """Source id -> document id in the corpus, without its page."""

    def scope(self, query: dict[str, Any]) -> list[str] | None:
        """The sources a question is asked of; None for all."""
        return self.scopes.get(str(query.get("doc") or query.get("block", "-")))

    def document_of(self, hit: Hit) -> str:
        """The id of the document, or of its page, that a hit is from."""
        place = self.places[hit.source_id]
        return f"{place}#p{hit.chunk.page_start}" if hit.chunk.page_start else place


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def load(folder: Path) -> Collection:
    """Index a folder in a notebook of its own, or find the one made of the same corpus before."""
    grades: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query, document, grade = line.split("\t")
        if int(grade) > 0:
            grades[query][document] = int(grade)
    queries = read_lines(folder / "queries.jsonl")
    workspace = _indexed(folder)
    held = Collection(folder.name, queries, grades, workspace)
    for source in load_sources(workspace):
        extra = source.model_extra or {}
        held.places[source.id] = extra["document"]
        for key in {extra["block"], extra["document"]}:
            held.scopes.setdefault(key, []).append(source.id)
    return held


def _indexed(folder: Path) -> Workspace:
    corpus = (folder / "corpus.jsonl").read_bytes()
    made_of = hashlib.sha256(corpus + get_embedder().identity.to_json().encode()).hexdigest()
    for workspace in workspaces():
        if load_config(workspace).get("made_of") == made_of:
            return workspace
    workspace = create_workspace(folder.name)
    _index(workspace, folder)
    update_config({"made_of": made_of}, workspace)
    return workspace


def _index(workspace: Workspace, folder: Path) -> None:
    grouped: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in read_lines(folder / "corpus.jsonl"):
        if entry["text"].strip():
            grouped[entry["id"].split("#p")[0]].append(entry)
    sources: list[Source] = []
    rows: list[dict[str, Any]] = []
    table_name, table = writing_table(workspace)
    embedder = get_embedder(table.identity)
    for name, entries in grouped.items():
        stated = str(entries[0].get("title") or "")
        source = Source(name=stated or name)
        title = readable_title(stated) if stated else ""
        document = Document(title=title, blocks=[_block(entry) for entry in entries]).settle()
        job = Job(source_id=source.id)
        chunks = chunk_document(document, embedder.count_tokens, title=title)
        rows += [row(source, job, n, chunk, title, document) for n, chunk in enumerate(chunks)]
        fields = record_fields(document, job, table_name, len(chunks))
        fields |= {"status": "ready", "vectors": len(chunks)}
        fields |= {"document": name, "block": str(entries[0].get("block", ""))}
        sources.append(source.model_copy(update=fields))
    table.add(rows)
    for at in range(0, len(rows), _EMBEDDED_AT_ONCE):
        part = rows[at : at + _EMBEDDED_AT_ONCE]
        texts = [passage_text(r["title"], r["headings"], r["text"]) for r in part]
        table.fill([r["chunk_id"] for r in part], embedder.embed_passages(texts))
    table.refresh()
    save_sources(sources, workspace)


def _block(entry: dict[str, Any]) -> Block:
    return Block(
        text=entry["text"],
        kind="table" if entry.get("kind") == "table" else "paragraph",
        page=int(entry["id"].split("#p")[1]) if "#p" in entry["id"] else None,
    )
