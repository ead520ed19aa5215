"""Indexes of a table through its life: made, extended, replaced; seen from another process."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from services import indexes, lance
from services.embeddings import Identity
from services.lance import Scope, VectorTable, open_table
from services.models import Chunk, Document, Job, Source
from services.passages import row
from services.search import search
from services.storage import load_sources
from tests.conftest import PROJECT
from tests.services.conftest import Library

SIZE = 64
IDENTITY = Identity(provider="hash", model=f"hash-{SIZE}", dimension=SIZE)
IN_A_SOURCE = 20
POOL = 100
"""What a search for ten passages asks of the table."""


@pytest.fixture
def table(tmp_path: Path) -> Iterator[VectorTable]:
    made = open_table(str(tmp_path), "sources", IDENTITY)
    assert made
    yield made
    lance.forget(str(tmp_path))


class Filler:
    """Adds passages of sources with random vectors, and knows them all."""

    def __init__(self, table: VectorTable) -> None:
        self.table = table
        self.revisions: list[str] = []
        self.ids: list[str] = []
        self.vectors = np.zeros((0, SIZE), np.float32)
        self.rng = np.random.default_rng(3)

    def add(self, count: int, *, fill: bool = True) -> list[str]:
        rows: list[dict[str, Any]] = []
        for _ in range(0, count, IN_A_SOURCE):
            source = Source(name="paper.md")
            job = Job(source_id=source.id)
            self.revisions.append(job.revision)
            for n in range(IN_A_SOURCE):
                chunk = Chunk(index=n, text=f"well number {len(self.ids) + len(rows)}")
                rows.append(row(source, job, n, chunk, "paper", Document()))
        self.table.add(rows)
        ids = [item["chunk_id"] for item in rows]
        if fill:
            self.fill(ids)
        return ids

    def fill(self, ids: list[str]) -> None:
        vectors = self.rng.standard_normal((len(ids), SIZE)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        self.table.fill(ids, vectors)
        self.ids += ids
        self.vectors = np.concatenate([self.vectors, vectors])

    def nearest(self, vector: Any, k: int, revisions: set[str]) -> set[str]:
        order = np.argsort(-(self.vectors @ vector))
        inside = [self.ids[at] for at in order if self.ids[at][:32] in revisions]
        return set(inside[:k])

    def recall(self, scope: Scope, revisions: set[str]) -> float:
        shares = []
        for vector in self.vectors[::97][:20]:
            best = self.table.search_vector(vector, POOL, scope)[:10]
            found = {item.chunk_id for item in best}
            shares.append(len(found & self.nearest(vector, 10, revisions)) / 10)
        return float(np.mean(shares))


def test_no_vector_index_while_comparing_is_quick_nor_before_there_are_vectors(
    table: VectorTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "EXACT_SCAN_ROWS", 300)
    filler = Filler(table)
    filler.add(200)
    ids = filler.add(200, fill=False)
    table.refresh()
    assert indexes.vector_names(table._table) == []
    filler.fill(ids)
    assert table.due()
    table.refresh()
    assert indexes.vector_names(table._table) == ["vector_400"]


def test_an_outgrown_vector_index_is_replaced_and_everything_stays_found(
    table: VectorTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "EXACT_SCAN_ROWS", 300)
    filler = Filler(table)
    filler.add(400)
    table.refresh()
    filler.add(800)
    table.refresh()
    assert indexes.vector_names(table._table) == ["vector_400"]
    filler.add(600)
    table.refresh()
    assert indexes.vector_names(table._table) == ["vector_1800"]
    assert not table.due()
    assert filler.recall(Scope(), set(filler.revisions)) >= 0.95


def test_a_filter_that_leaves_few_rows_finds_all_of_the_nearest(
    table: VectorTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "EXACT_SCAN_ROWS", 300)
    filler = Filler(table)
    filler.add(2000)
    table.refresh()
    few = filler.revisions[::10]
    scope = Scope(only=tuple(few), rows=len(few) * IN_A_SOURCE)
    assert filler.recall(scope, set(few)) == 1.0
    many = filler.revisions[::2]
    scope = Scope(only=tuple(many), rows=len(many) * IN_A_SOURCE)
    assert filler.recall(scope, set(many)) >= 0.95


def test_text_is_found_before_it_is_in_the_index_and_in_it_after_a_batch(
    table: VectorTable,
) -> None:
    filler = Filler(table)
    filler.add(200)
    filler.add(600)
    assert indexes.outside(table._table) == 600
    assert table.search_text("number 700", 5, Scope(), phrase=True)
    table.refresh()
    assert indexes.outside(table._table) == 0
    assert table.search_text("number 700", 5, Scope(), phrase=True)


def test_indexes_are_made_while_others_read_and_write(
    table: VectorTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(indexes, "EXACT_SCAN_ROWS", 300)
    monkeypatch.setattr(lance, "REFRESH_ROWS", 1)
    filler = Filler(table)
    filler.add(400)
    over = threading.Event()

    def upkeep() -> None:
        while not over.is_set():
            table.refresh()

    def read() -> None:
        while not over.is_set():
            assert len(table.search_text("well number", 20, Scope())) == 20
            assert len(table.search_vector(filler.vectors[0], 20, Scope())) == 20

    with ThreadPoolExecutor() as threads:
        beside = [threads.submit(work) for work in (upkeep, read)]
        for _ in range(8):
            filler.add(200)
        table.delete(filler.revisions[:5])
        over.set()
        for work in beside:
            work.result()
    assert table.count() == 400 + 8 * 200 - 5 * IN_A_SOURCE
    assert filler.recall(Scope(), set(filler.revisions[5:])) >= 0.9


READER = textwrap.dedent(
    """
    import sys
    from services.search import search
    from services.workspace import open_workspace

    workspace = open_workspace()
    for line in sys.stdin:
        names = [hit.source_name for hit in search(workspace, line).hits]
        print(" ".join(names), flush=True)
    """
)


@pytest.mark.parametrize("seconds", ["0", "1"])
def test_a_reader_in_another_process_sees_a_commit(
    library: Library, monkeypatch: pytest.MonkeyPatch, seconds: str
) -> None:
    library.add(wells="Well ZX-4417-B gave nitrate.")
    monkeypatch.setenv("HALO_READ_CONSISTENCY_SECONDS", seconds)
    with subprocess.Popen(
        [sys.executable, "-c", READER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=PROJECT,
        env=os.environ | {"PYTHONPATH": f"{PROJECT}{os.pathsep}{os.environ['PYTHONPATH']}"},
    ) as reader:
        assert reader.stdin and reader.stdout

        def reads(query: str) -> str:
            assert reader.stdin and reader.stdout
            print(query, file=reader.stdin, flush=True)
            return reader.stdout.readline().strip()

        assert reads("nitrate") == "wells.md"
        library.add(parts="The pump holds four screws.")
        if seconds != "0":
            threading.Event().wait(float(seconds))
        assert reads("screws").split()[0] == "parts.md"
        reader.stdin.close()


def test_how_often_a_reader_looks_is_a_setting(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(wells="Well ZX-4417-B gave nitrate.")
    (wells,) = load_sources(library.workspace)
    assert wells.table
    for seconds in ("0", "600"):
        monkeypatch.setenv("HALO_READ_CONSISTENCY_SECONDS", seconds)
        lance.forget(library.workspace.vector_uri)
        connection = lance.connect(library.workspace.vector_uri)
        assert connection.read_consistency_interval.total_seconds() == float(seconds)
        assert search(library.workspace, "nitrate").hits
