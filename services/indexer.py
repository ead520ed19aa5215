"""Passages into the table, vectors after them; one thread, all sources.

Text always goes before vectors, and what waits together is committed together. What it commits is a
replace of sources.json; everything before that is invisible, so it may be killed at any point.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from services import jobs, probes, trash
from services.chunking import passage_text
from services.embeddings import get_embedder
from services.errors import HaloError, unexpected
from services.lance import VectorTable
from services.models import Job, Source
from services.storage import load_sources, update_sources
from services.task import Task
from services.workspace import Workspace

log = logging.getLogger(__name__)

SLICE = 16
"""Passages embedded at once: small enough that new text never waits long."""
FLUSH = 256
"""Vectors gathered before they are written, unless a source is finished earlier."""
GATHER_SECONDS = 0.5
"""While many sources are read, their commits are gathered for so long."""


REFRESH_SECONDS = 2.0
"""The indexes of a table are brought up to date when it was left alone for so long,"""
REFRESH_WRITES = 32
"""or after so many writes: each adds a fragment, and every later write looks into all of them."""


class Indexer:
    """Takes read sources from ``add`` to ``ready``.

    Args:
        more_coming: true while further sources are being read, so that commits are gathered.
    """

    def __init__(self, more_coming: Callable[[], bool]) -> None:
        self._more = more_coming
        self._wake = threading.Condition()
        self._texts: deque[Task] = deque()
        self._to_embed: deque[Task] = deque()
        self._buffer: list[tuple[Task, str, Any]] = []
        self._finished: list[Task] = []
        self._gathered: VectorTable | None = None
        """The table that the vectors in ``_buffer`` are for."""
        self._flushed = self._committed = time.monotonic()
        self._touched: dict[int, tuple[Workspace, VectorTable]] = {}
        self._writes = 0
        self._upkeep = ThreadPoolExecutor(1, thread_name_prefix="halo-upkeep")
        self._refreshed: Future[None] | None = None
        self._stopping = False

    def add(self, task: Task) -> None:
        """Take in a source whose rows are made."""
        with self._wake:
            self._texts.append(task)
            self._wake.notify_all()

    def resume(self, task: Task) -> None:
        """Take in a source whose text is committed: what has no vector yet is embedded."""
        assert task.table is not None
        todo = task.table.pending(task.job.revision)
        task.total = task.source.chunks
        task.made = task.total - len(todo)
        task.pending.extend((key, passage_text(t, h, text)) for key, t, h, text in todo)
        with self._wake:
            self._to_embed.append(task)
            self._wake.notify_all()

    @property
    def idle(self) -> bool:
        """True when nothing waits here."""
        return not (self._texts or self._to_embed)

    def stop(self) -> None:
        """Let ``run`` return after what it has in hand."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()

    def lay_down(self) -> None:
        """After ``run`` returned: leave what is unfinished to the next process."""
        for task in {id(t): t for t in (*self._texts, *self._to_embed, *self._finished)}.values():
            task.lay_down()

    def run(self) -> None:
        """Work until ``stop``."""
        while True:
            with self._wake:
                self._wake.wait_for(
                    lambda: self._texts or self._to_embed or self._stopping,
                    timeout=REFRESH_SECONDS if self._touched else None,
                )
                if self._stopping:
                    break
                texts = list(self._texts) if self._text_is_due() else []
                for _ in texts:
                    self._texts.popleft()
            in_hand = texts or list(self._to_embed)
            try:
                if texts:
                    self._add_texts(texts)
                    self._committed = time.monotonic()
                elif in_hand:
                    self._embed_slice()
                if self._writes >= REFRESH_WRITES or not (in_hand or self._texts):
                    self._refresh_tables(busy=bool(in_hand or self._texts))
            except Exception as error:  # the job runner must outlive any single fault
                log.exception("an unexpected fault while indexing")
                in_hand = [*texts, *self._to_embed, *self._finished]
                self._to_embed.clear()
                self._buffer, self._finished, self._gathered = [], [], None
                for task in in_hand:
                    task.fail(unexpected("Reading", error))
            if self._texts and not in_hand:
                time.sleep(0.02)  # more is being read; it will be committed together
        self._upkeep.shutdown()
        self._refresh(list(self._touched.values()))

    def _text_is_due(self) -> bool:
        """A single source's text is committed at once, those of many together twice a second."""
        return not self._more() or time.monotonic() - self._committed > GATHER_SECONDS

    def _add_texts(self, tasks: list[Task]) -> None:
        """Add the passages of all waiting sources, then commit them together."""
        for (workspace, _), group in _grouped(tasks).items():
            try:
                table = group[0].table
                assert table is not None
                table.add([row for task in group for row in task.rows])
                self._wrote(workspace, table)
                first = [task for task in group if not task.keeps_old and not task.job.moving]
                gone = _commit(workspace, {task.source.id: task.fields for task in first}, first)
            except HaloError as error:
                for task in group:
                    task.fail(error)
                continue
            for task in group:
                task.rows = []
                if task.source.id in gone:
                    task.end()
                    continue
                if task in first:
                    task.source = task.source.model_copy(update=task.fields)
                with self._wake:
                    self._to_embed.append(task)

    def _embed_slice(self) -> None:
        """Embed the next few passages, of as many sources as they come from."""
        table = min(list(self._to_embed), key=_left).table
        assert table is not None
        if self._gathered is not table:
            self._settle()  # what was gathered for another table
            self._gathered = table
        slice_ = self._next_slice(table)
        try:
            if slice_:
                vectors = get_embedder(table.identity).embed_passages([s[2] for s in slice_])
                for (task, key, _), vector in zip(slice_, vectors, strict=True):
                    self._buffer.append((task, key, vector))
                    task.made += 1
        except HaloError as error:
            self._fail([task for task, _, _ in slice_], error)
            return
        if self._flush_is_due():
            self._settle()
        for task in {id(s[0]): s[0] for s in slice_}.values():
            if task.pending and task.progress:
                task.progress("embedding", task.made, task.total)

    def _next_slice(self, table: VectorTable) -> list[tuple[Task, str, str]]:
        """The passages to embed next: those of the source with the fewest left come first, so that
        no small source waits for the vectors of a large one."""
        slice_: list[tuple[Task, str, str]] = []
        for task in sorted(self._to_embed, key=_left):  # readers add to it meanwhile
            if task.table is not table:
                continue
            if len(slice_) >= SLICE:
                break
            if jobs.is_cancelled(task.workspace, task.job.id):
                self._to_embed.remove(task)
                self._buffer = [item for item in self._buffer if item[0] is not task]
                task.drop()
                continue
            if task.pending and _kept_private(task, table):
                task.pending.clear()  # found by its words alone
            while task.pending and len(slice_) < SLICE:
                slice_.append((task, *task.pending.popleft()))
            if not task.pending:
                self._to_embed.remove(task)
                self._finished.append(task)
        return slice_

    def _flush_is_due(self) -> bool:
        """At once when nothing more of this table waits; else when enough or long enough."""
        more = any(task.table is self._gathered for task in list(self._to_embed))
        waited = time.monotonic() - self._flushed
        finished_one = bool(self._finished) and waited > GATHER_SECONDS
        return not more or finished_one or len(self._buffer) >= FLUSH or waited > 2.0

    def _settle(self) -> None:
        """Write the vectors that were gathered and commit the sources that have all of theirs."""
        buffer, finished = self._buffer, self._finished
        self._flushed = time.monotonic()
        try:
            if buffer:
                import numpy as np

                table = self._gathered
                assert table is not None
                table.fill(
                    [key for _, key, _ in buffer], np.stack([vector for *_, vector in buffer])
                )
                self._wrote(buffer[0][0].workspace, table)
            self._buffer, self._finished = [], []
            self._finish(finished)
        except HaloError as error:
            self._fail([*finished, *(task for task, _, _ in buffer)], error)

    def _fail(self, hit: list[Task], error: HaloError) -> None:
        """Let go of sources that cannot go on."""
        self._buffer = [item for item in self._buffer if item[0] not in hit]
        self._finished = [task for task in self._finished if task not in hit]
        for task in {id(task): task for task in hit}.values():
            if task in self._to_embed:
                self._to_embed.remove(task)
            task.fail(error)

    def _wrote(self, workspace: Workspace, table: VectorTable) -> None:
        self._writes += 1
        self._touched[id(table)] = (workspace, table)

    def _finish(self, tasks: list[Task]) -> None:
        """Commit sources whose vectors are all there."""
        for (workspace, _), group in _grouped(tasks).items():
            moving = [task for task in group if task.job.moving]
            for task in moving:
                task.job.state = "waiting"
                task.job.fields = task.fields | {"status": "ready", "vectors": task.made}
                jobs.put(workspace, task.job)
                task.lay_down()
            settled = [task for task in group if not task.job.moving]
            changes: dict[str, dict[str, Any]] = {
                task.source.id: (task.fields if task.keeps_old else {})
                | {"status": "ready", "vectors": task.made, "error": None}
                for task in settled
            }
            _commit(workspace, changes, settled)
            for task in settled:
                task.end()
            if moving:
                commit_move(workspace, moving[0].job.table)

    def _refresh_tables(self, *, busy: bool) -> None:
        """Bring the indexes of what was written up to date, beside further work."""
        if self._refreshed is not None and not self._refreshed.done():
            return  # what was written meanwhile is looked at when that is over
        self._writes = 0
        if self._touched:
            touched, self._touched = list(self._touched.values()), {}
            self._refreshed = self._upkeep.submit(self._refresh, touched, busy=busy)

    def _refresh(self, touched: list[tuple[Workspace, VectorTable]], *, busy: bool = False) -> None:
        for workspace, table in touched:
            try:
                if busy:
                    table.refresh(busy=True)
                elif table.due():
                    with probes.compared(workspace):
                        table.refresh()
            except HaloError as error:  # the index answers as it is; the next batch tries again
                log.warning("%s", error)


def _kept_private(task: Task, table: VectorTable) -> bool:
    """Whether the embedder is outside the house and the source, as of now, may not leave it."""
    if not get_embedder(table.identity).hosted:
        return False
    return any(s.private for s in load_sources(task.workspace) if s.id == task.source.id)


def _left(task: Task) -> int:
    """How many passages of a source still lack their vector."""
    return len(task.pending)


def _commit(
    workspace: Workspace, changes: dict[str, dict[str, Any]], tasks: list[Task]
) -> set[str]:
    """The one commit: lay fields over the records. Returns the ids that are gone."""
    if not changes:
        return set()
    replaced = [task for task in tasks if task.keeps_old]
    expected = {task.source.id: task.source.revision for task in tasks}
    there = update_sources(changes, workspace, expected=expected)
    for task in replaced:
        if task.source.id in there:
            trash.put(workspace, "revision", _retired(task.source))
    return set(changes) - there


def commit_move(workspace: Workspace, table: str) -> None:
    """Point every row to the new embedder's table at once, when all of them are there."""
    with workspace.lock("move"):
        waiting = {
            job.source_id: job
            for job in jobs.all_jobs(workspace)
            if job.moving and job.table == table and job.state == "waiting"
        }
        sources = load_sources(workspace)
        left = [s for s in sources if s.answerable and s.table != table]
        missing = [source for source in left if source.id not in waiting]
        if missing:
            busy = {job.source_id for job in jobs.all_jobs(workspace)}
            for source in missing:
                if source.id not in busy:
                    jobs.put(workspace, Job(source_id=source.id, table=table, moving=True))
            return
        update_sources({s.id: waiting[s.id].fields | {"error": None} for s in left}, workspace)
        for source in left:
            trash.put(workspace, "revision", _retired(source))
        for job in waiting.values():
            jobs.remove(workspace, job.id)


def _retired(source: Source) -> dict[str, Any]:
    return {"source_id": source.id, "revision": source.revision, "table": source.table}


def _grouped(tasks: Iterable[Task]) -> dict[tuple[Workspace, int], list[Task]]:
    groups: dict[tuple[Workspace, int], list[Task]] = {}
    for task in tasks:
        groups.setdefault((task.workspace, id(task.table)), []).append(task)
    return groups
