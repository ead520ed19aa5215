"""The LanceDB table: flat rows, one a passage, found by text at once and by vector later.

A row belongs to a ``revision`` of a source. Which revisions count is not written here but in
sources.json (the one commit point); this module only adds, fills, searches and removes.
The table's schema metadata says which embedder its vectors came from.

Measured on LanceDB 0.40 (docs/benchmarks.md): a nullable vector column is skipped by vector search;
``merge_insert`` of (chunk_id, vector) keeps rows in the text index while an update of whole rows
drops them; fresh rows are found at once but slow the text search down by 45 ms per 1,000, hence
``refresh`` after some hundred; a handle sees other processes' writes only with a read consistency
interval. Indexes are built and extended beside reads and writes: LanceDB settles who came first.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import os
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from services import indexes
from services.embeddings import Identity
from services.errors import StorageError
from services.lance_import import import_lancedb
from services.models import Chunk
from services.settings import read_consistency

if TYPE_CHECKING:
    from services.embeddings.identity import Vectors

FIRST_TABLE = "sources"
REFRESH_ROWS = 500
"""So many rows outside the text index are tolerated before it is extended,"""
REFRESH_SHARE = 100
"""or a hundredth of the table where that is more: extending it rewrites what it was not told."""
COMPACT_FRAGMENTS = 64
"""So many small fragments are tolerated before they are rewritten into few."""
KEPT_VERSIONS = 16
"""So many old versions are tolerated before those that no reader can be at are removed."""
_KEEP_VERSIONS = dt.timedelta(minutes=10)
INDEX_CACHE, METADATA_CACHE = 512 * 2**20, 128 * 2**20
"""Bytes that LanceDB may keep in memory for all tables of this process."""
_IDENTITY = b"halo.embedder"

_SOURCE_PLACE = re.compile(r",? ?\S*\.rs:\d+(?::\d+)?")
_FAULTS = (OSError, ValueError, RuntimeError)
"""What lancedb raises when a table cannot be read or written."""

_PLAIN = ("text", "page_start", "page_end", "sheet", "slide", "char_start", "char_end")
_LISTS = (
    "headings",
    "block_ids",
    "piece_starts",
    "piece_chars",
    "piece_pages",
    "piece_labels",
    "time_starts",
    "times",
)
_RETURNED = [
    *("chunk_id", "source_id", "revision", "title", "chunk_index", "vector"),
    *_PLAIN,
    *_LISTS,
]

_connections: dict[str, Any] = {}
_tables: dict[tuple[str, str], VectorTable] = {}
_guard = threading.RLock()
_pair = ThreadPoolExecutor(2, thread_name_prefix="halo-search")


@dataclass
class Row:
    """A found passage: its chunk, where it belongs, and what the search measured."""

    chunk_id: str
    source_id: str
    revision: str
    made: Chunk | Callable[[], Chunk]
    """The chunk, or what makes it: most of what is found is never looked at."""
    measure: float
    """Cosine similarity (vector search) or BM25 score (text search); higher is better."""
    title: str
    """Of its source."""
    words: str
    """The headings above it, and its text."""
    vector: Vectors | None
    """None until it was made."""

    @property
    def chunk(self) -> Chunk:
        if not isinstance(self.made, Chunk):
            self.made = self.made()
        return self.made


@dataclass(frozen=True)
class Scope:
    """Which revisions to look in: all, only some, or all but some. Ids are our own hex ids."""

    only: tuple[str, ...] | None = None
    but: tuple[str, ...] = ()
    rows: int | None = None
    """How many rows that leaves, as far as is known."""

    @property
    def where(self) -> str | None:
        if self.only is not None:
            return f"revision IN ({_quoted(self.only)})"
        return f"revision NOT IN ({_quoted(self.but)})" if self.but else None


def _quoted(ids: Iterable[str]) -> str:
    ids = list(ids)
    assert ids and all(item.isalnum() for item in ids), "only own ids may enter a filter"
    return ", ".join(f"'{item}'" for item in ids)


def connect(uri: str) -> Any:
    """The process's one connection to ``uri``. Raises StorageError when it cannot be opened."""
    with _guard:
        if uri not in _connections:
            try:
                _connections[uri] = import_lancedb().connect(
                    uri,
                    session=_session(),
                    read_consistency_interval=dt.timedelta(seconds=read_consistency()),
                    storage_options=_storage_options(uri),
                )
            except _FAULTS as error:
                raise _storage_error(error, "opening the index") from error
        return _connections[uri]


@functools.cache
def _session() -> Any:
    """What bounds the caches, shared by all places."""
    return import_lancedb().Session(INDEX_CACHE, METADATA_CACHE)


def _storage_options(uri: str) -> dict[str, str] | None:
    """What a store that speaks S3 but is not Amazon's needs to be told; LanceDB itself reads keys
    and region from the usual variables."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if not uri.startswith("s3://") or not endpoint:
        return None
    return {
        "aws_endpoint": endpoint,
        "allow_http": str(endpoint.startswith("http://")).lower(),
        "aws_virtual_hosted_style_request": "false",
    }


def _storage_error(error: Exception, doing: str) -> StorageError:
    if "No space left" in str(error) or "StorageFull" in str(error):
        from services.errors import DiskFullError

        return DiskFullError(
            f"The disk is full, so HALO could not finish {doing}.",
            step="Nothing that was saved is lost. Free some space and try again.",
            doing=doing,
        )
    why = _SOURCE_PLACE.sub("", str(error).splitlines()[0])[:200].rstrip(" ,.")
    return StorageError(
        f"HALO could not finish {doing}: {why}.",
        code="index",
        step="Run “halo doctor --repair”; it builds the index again from the stored sources.",
        doing=doing,
    )


@contextlib.contextmanager
def _told(doing: str) -> Iterator[None]:
    """Turn what lancedb raises into a sentence."""
    try:
        yield
    except _FAULTS as error:
        raise _storage_error(error, doing) from error


def _schema(identity: Identity) -> Any:
    import pyarrow as pa

    text, number = pa.string(), pa.int32()
    fields = [
        pa.field("chunk_id", text, nullable=False),
        pa.field("source_id", text, nullable=False),
        pa.field("revision", text, nullable=False),
        pa.field("text", text, nullable=False),
        pa.field("search_text", text, nullable=False),
        pa.field("vector", pa.list_(pa.float32(), identity.dimension)),
        pa.field("chunk_index", number),
        pa.field("title", text),
        pa.field("type_label", text),
        pa.field("headings", pa.list_(text)),
        pa.field("page_start", number),
        pa.field("page_end", number),
        pa.field("sheet", text),
        pa.field("slide", number),
        pa.field("char_start", number),
        pa.field("char_end", number),
        pa.field("block_ids", pa.list_(text)),
        pa.field("piece_starts", pa.list_(number)),
        pa.field("piece_chars", pa.list_(number)),
        pa.field("piece_pages", pa.list_(number)),
        pa.field("piece_labels", pa.list_(text)),
        pa.field("time_starts", pa.list_(number)),
        pa.field("times", pa.list_(pa.float64())),
    ]
    return pa.schema(fields, metadata={_IDENTITY: identity.to_json().encode()})


def open_table(uri: str, name: str, identity: Identity | None = None) -> VectorTable | None:
    """The shared handle of a table; made for ``identity`` if it is not there and one is given."""
    with _guard:
        key = (uri, name)
        if key in _tables:
            if _tables[key].alive():
                return _tables[key]
            del _tables[key]  # its folder was removed or replaced under a running server
        connection = connect(uri)
        try:
            if name in connection.list_tables().tables:
                table = connection.open_table(name)
            elif identity is None:
                return None
            else:
                table = connection.create_table(name, schema=_schema(identity), exist_ok=True)
        except _FAULTS as error:
            raise _storage_error(error, "opening the index") from error
        opened = VectorTable(table)
        opened.complete()
        _tables[key] = opened
        return opened


def drop_table(uri: str, name: str) -> None:
    """Remove a table that no source row names any more."""
    with _guard:
        _tables.pop((uri, name), None)
        connection = connect(uri)
        if name in connection.list_tables().tables:
            connection.drop_table(name)


def forget(uri: str) -> None:
    """Drop the handles of a place, before its folder is moved away."""
    with _guard:
        _connections.pop(uri, None)
        for key in [key for key in _tables if key[0] == uri]:
            del _tables[key]


class VectorTable:
    """One table. Writers are serialised within the process; LanceDB settles races between
    processes by trying again."""

    def __init__(self, table: Any) -> None:  # lancedb's own stubs do not know its query builders
        self._table = table
        self._folder = None if "://" in table.uri else Path(table.uri)
        self._write, self._upkeep = threading.Lock(), threading.Lock()
        metadata = table.schema.metadata or {}
        if _IDENTITY not in metadata:
            raise StorageError(
                "The index does not say which embedder made it.",
                code="index",
                step="Run “halo reindex” to build it afresh.",
            )
        self.identity = Identity.from_json(metadata[_IDENTITY].decode())

    def alive(self) -> bool:
        """False when a local table's folder is gone."""
        return self._folder is None or self._folder.is_dir()

    def complete(self) -> None:
        """Give a table of an earlier version the columns it lacks, empty."""
        with self._write:
            self._attempt(self._add_missing, "opening the index")

    def _add_missing(self) -> None:
        have = set(self._table.schema.names)
        missing = [field for field in _schema(self.identity) if field.name not in have]
        if missing:
            self._table.add_columns(missing)

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Append rows without vectors. Raises StorageError or DiskFullError.

        Rows of the same revisions, left by a process that was killed before its commit, go first.
        """
        import pyarrow as pa

        self._clear(sorted({row["revision"] for row in rows}))
        with self._write, _told("adding passages to the index"):
            schema = self._table.schema
            data = pa.Table.from_pylist(list(rows), schema=schema)
            self._attempt(lambda: self._table.add(data), "adding passages to the index")
            self._make(indexes.missing(self._table))

    def _clear(self, revisions: list[str]) -> None:
        for at in range(0, len(revisions), 500):
            some = revisions[at : at + 500]
            with _told("adding passages to the index"):
                left = self._table.count_rows(f"revision IN ({_quoted(some)})")
            if left:
                self.delete(some)

    def fill(self, chunk_ids: Sequence[str], vectors: Vectors) -> None:
        """Store the vectors of rows that are there; every vector was checked by the embedder."""
        import pyarrow as pa

        flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).ravel())
        size = self.identity.dimension
        data = pa.table(
            {
                "chunk_id": pa.array(list(chunk_ids)),
                "vector": pa.FixedSizeListArray.from_arrays(flat, size),
            }
        )
        with self._write:
            self._attempt(
                lambda: (
                    self._table.merge_insert("chunk_id").when_matched_update_all().execute(data)
                ),
                "adding vectors to the index",
            )

    def delete(self, revisions: Iterable[str]) -> None:
        """Remove all rows of these revisions."""
        ids = list(revisions)
        with self._write:
            for at in range(0, len(ids), 500):
                where = f"revision IN ({_quoted(ids[at : at + 500])})"
                self._attempt(lambda w=where: self._table.delete(w), "removing passages")

    def revisions(self) -> dict[str, int]:
        """How many rows each revision has."""
        with _told("reading the index"):
            column = self._table.search().select(["revision"]).to_arrow()["revision"]
        return {item["values"]: item["counts"] for item in column.value_counts().to_pylist()}

    def pending(self, revision: str) -> list[tuple[str, str, list[str], str]]:
        """Rows of a revision that have no vector: (chunk id, title, headings, text) in order."""
        with _told("reading the index"):
            rows = (
                self._table.search()
                .where(f"revision = {_quoted([revision])} AND vector IS NULL")
                .select(["chunk_id", "title", "headings", "text", "chunk_index"])
                .to_list()
            )
        rows.sort(key=lambda row: row["chunk_index"])
        return [(r["chunk_id"], r["title"] or "", r["headings"] or [], r["text"]) for r in rows]

    def search_text(self, words: str, k: int, scope: Scope, *, phrase: bool = False) -> list[Row]:
        """The best ``k`` rows by BM25; ``words`` is data, whatever characters it holds."""
        from lancedb import query as queries

        kind: Any = queries.PhraseQuery if phrase else queries.MatchQuery
        query = self._table.search(kind(words, "search_text"), query_type="fts")
        found = self._run(query.select([*_RETURNED, "_score"]), k, scope)
        return _rows(found, found["_score"].to_pylist())

    def search_vector(self, vector: Vectors, k: int, scope: Scope) -> list[Row]:
        """The best ``k`` rows by cosine similarity; rows without a vector are not found."""
        query = self._table.search(vector, vector_column_name="vector").distance_type("cosine")
        query = indexes.tuned(query.select([*_RETURNED, "_distance"]), scope.rows)
        found = self._run(query, k, scope)
        return _rows(found, [1.0 - distance for distance in found["_distance"].to_pylist()])

    def search_both(
        self, words: str, vector: Vectors, k: int, scope: Scope
    ) -> tuple[list[Row], list[Row]]:
        """Text and vector search side by side: (text rows, vector rows)."""
        by_text = _pair.submit(self.search_text, words, k, scope)
        by_vector = _pair.submit(self.search_vector, vector, k, scope)
        return by_text.result(), by_vector.result()

    def count(self) -> int:
        """All rows, committed or not."""
        with _told("reading the index"):
            return int(self._table.count_rows())

    def refresh(self, *, busy: bool = False) -> None:
        """Build the vector index once it pays, extend the indexes when enough rows lie outside
        them, compact many small fragments. ``busy``: more rows are about to come."""
        with self._upkeep, _told("tidying the index"):
            self._make(indexes.missing(self._table))
            if self._frayed(busy=busy):
                self._optimize()
            if (better := indexes.outgrown(self._table)) is not None:
                old = indexes.vector_names(self._table)
                self._make([better])
                for name in old:
                    self._attempt(
                        functools.partial(self._table.drop_index, name), "tidying the index"
                    )

    def due(self) -> bool:
        """True when ``refresh`` would do something."""
        with _told("reading the index"):
            return self._frayed() or indexes.outgrown(self._table) is not None

    def _frayed(self, *, busy: bool = False) -> bool:
        most = max(REFRESH_ROWS, self.count() // REFRESH_SHARE if busy else 0)
        fragments = int(self._table.stats()["fragment_stats"]["num_small_fragments"])
        return fragments >= COMPACT_FRAGMENTS or indexes.outside(self._table) >= most

    def worn(self) -> bool:
        """True when ``tidy`` would give back space."""
        with _told("tidying the index"):
            return len(self._table.list_versions()) > KEPT_VERSIONS

    def tidy(self) -> None:
        """Give back the space of old versions: each write leaves one, with what it replaced."""
        with self._upkeep, _told("tidying the index"):
            self._optimize()

    def _optimize(self) -> None:
        self._attempt(
            lambda: self._table.optimize(cleanup_older_than=_KEEP_VERSIONS), "tidying the index"
        )

    def _make(self, wanted: Iterable[indexes.Making]) -> None:
        for new in wanted:
            make = functools.partial(
                self._table.create_index, new.column, config=new.config, name=new.name
            )
            self._attempt(make, "building the index")

    def _run(self, query: Any, k: int, scope: Scope) -> Any:
        if scope.where:
            query = query.where(scope.where, prefilter=True)
        with _told("searching the index"):
            return self._fetch(query.limit(k))

    def _fetch(self, query: Any) -> Any:
        return query.to_arrow()

    def _attempt(self, action: Any, doing: str) -> None:
        """Run a write, again when another process's commit came in between."""
        for attempt in range(5):
            try:
                action()
                return
            except _FAULTS as error:
                conflict = "conflict" in str(error).lower()
                if not conflict or attempt == 4:
                    raise _storage_error(error, doing) from error
                self._table.checkout_latest()


def _rows(found: Any, measures: list[float]) -> list[Row]:
    names = ("chunk_id", "source_id", "revision", "title", "headings", "text")
    columns = zip(*(found[name].to_pylist() for name in names), strict=True)
    vectors = _vectors(found["vector"])
    return [
        Row(
            chunk_id=chunk_id,
            source_id=source_id,
            revision=revision,
            made=functools.partial(_chunk, found, at),
            measure=measures[at],
            title=title or "",
            words=" ".join((*(headings or ()), text)),
            vector=vectors[at],
        )
        for at, (chunk_id, source_id, revision, title, headings, text) in enumerate(columns)
    ]


def _vectors(column: Any) -> list[Vectors | None]:
    there = column.is_valid().to_pylist()
    size = column.type.list_size
    filled = iter(column.drop_null().combine_chunks().flatten().to_numpy().reshape(-1, size))
    return [next(filled) if one else None for one in there]


def _chunk(found: Any, at: int) -> Chunk:
    (item,) = found.slice(at, 1).to_pylist()
    fields: dict[str, Any] = {name: item[name] for name in _PLAIN}
    fields |= {name: item[name] or [] for name in _LISTS}
    return Chunk(index=item["chunk_index"], **fields)
