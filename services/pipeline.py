"""The worker that takes sources from ``queued`` to ``ready``; one a process, shared by all screens.

    readers (several)   take a job, parse in a child process, cut passages, write the document
    indexer (one)       adds passages and commits ``text_ready``; then makes vectors in slices and
                        commits ``ready``; text always goes before vectors, and what is waiting
                        together is committed together
    caretaker (one)     notices new jobs (also other processes'), resumes what a killed process
                        left, sweeps when idle

It knows nothing of screens. What it commits is a replace of sources.json; everything before that is
invisible, so it may be killed at any point.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock

from services import embeddings, ingestion, jobs, sweep, trash
from services.chunking import chunk_document, passage_text
from services.embeddings import get_embedder
from services.errors import (
    CancelledError,
    HaloError,
    NotFoundError,
    PasswordNeededError,
)
from services.jsonfile import dump, fsync_folder, replace_file
from services.lance import VectorTable
from services.models import Job, Source
from services.passages import readable_title, record_fields, row
from services.reading import Reader
from services.settings import embedder_name
from services.storage import get_source, load_sources, update_sources
from services.tables import named_table, writing_table
from services.workspace import Workspace, folder_stamp, workspaces

log = logging.getLogger(__name__)

READERS = max(2, (os.cpu_count() or 2) // 2)
SLICE = 16
"""Passages embedded at once: small enough that new text never waits long."""
FLUSH = 256
"""Vectors gathered before they are written, unless a source is finished earlier."""
GATHER_SECONDS = 0.5
"""While many sources are read, their commits are gathered for so long."""
SWEEP_SECONDS = 600.0
FIRST_SWEEP_SECONDS = 30.0
END = frozenset({"ready", "failed", "needs_password", "cancelled"})


@dataclass
class _Task:
    """A taken job on its way through the pipeline."""

    workspace: Workspace
    job: Job
    lock: FileLock
    source: Source
    table_name: str = ""
    table: VectorTable | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    pending: deque[tuple[str, str]] = field(default_factory=deque)
    """(chunk id, text to embed) of passages without a vector."""
    total: int = 0
    made: int = 0
    progress: jobs.Progress | None = None

    @property
    def keeps_old(self) -> bool:
        """True when an older revision answers until this one is whole."""
        return self.source.answerable and self.source.revision != self.job.revision


class Pipeline:
    """Start it once; it works on what jobs/ of ``where()`` hold until ``stop``."""

    def __init__(self, where: Callable[[], Sequence[Workspace]] = workspaces) -> None:
        self._where = where
        self._wake = threading.Condition()
        self._to_read: deque[tuple[Workspace, Job]] = deque()
        self._known: set[str] = set()
        self._to_index: deque[_Task] = deque()
        self._to_embed: deque[_Task] = deque()
        self._buffer: list[tuple[_Task, str, Any]] = []
        self._finished: list[_Task] = []
        self._flushed = self._committed = time.monotonic()
        self._touched: dict[int, VectorTable] = {}
        self._stopping = False
        self._threads: list[threading.Thread] = []
        self._preparing: tuple[float, str] | None = None

    # --- life -----------------------------------------------------------------------------------

    def start(self) -> Pipeline:
        """Start the threads; does nothing when they run."""
        with self._wake:
            if self._threads:
                return self
            names = [("caretaker", self._care), ("indexer", self._index_loop)]
            names += [(f"reader-{n}", self._read_loop) for n in range(READERS)]
            self._threads = [
                threading.Thread(target=target, name=f"halo-{name}", daemon=True)
                for name, target in names
            ]
        for thread in self._threads:
            thread.start()
        return self

    def stop(self) -> None:
        """Let the threads end after what they have in hand; unfinished work stays in jobs/."""
        with self._wake:
            self._stopping = True
            self._wake.notify_all()
        for thread in self._threads:
            thread.join(timeout=30)
        for task in (*self._to_index, *self._to_embed, *self._finished):
            jobs.release(task.workspace, task.lock, ended=False)

    def wait(
        self,
        workspace: Workspace,
        ids: Iterable[str],
        *,
        on_progress: Callable[[list[ingestion.SourceView]], None] | None = None,
    ) -> None:
        """Return when each of these sources has reached its end, here or in another process."""
        wanted = set(ids)
        while True:
            if on_progress:
                views = ingestion.list_sources(workspace)
                on_progress([view for view in views if view.source.id in wanted])
            left = [s for s in load_sources(workspace) if s.id in wanted and not _at_end(s)]
            if not left and not wanted & {job.source_id for job in jobs.all_jobs(workspace)}:
                return
            time.sleep(0.02 if len(left) < 10 else 0.2)

    def embedder_state(self) -> Literal["ready", "preparing", "missing"]:
        """Whether the embedder can be used now."""
        if embedder_name() not in ("local", "auto") or embeddings.prepared():
            return "ready"
        return "preparing" if self._preparing else "missing"

    def preparing_progress(self) -> tuple[float, str]:
        """Fraction done and stage while the bundled weights are converted."""
        return self._preparing or (0.0, "")

    # --- caretaker -------------------------------------------------------------------------------

    def _care(self) -> None:
        self._guarded(self._prepare_embedder)
        last_sweep, last_scan = time.monotonic() - SWEEP_SECONDS + FIRST_SWEEP_SECONDS, 0.0
        stamps: dict[Path, int] = {}
        while not self._stopping:
            now = time.monotonic()
            full = now - last_scan > 2.0
            for workspace in self._where():
                stamp = folder_stamp(workspace.jobs)
                if full or stamps.get(workspace.root) != stamp:
                    stamps[workspace.root] = stamp
                    self._guarded(lambda w=workspace, f=full: self._scan(w, f))  # type: ignore[misc]
            if full:
                last_scan = now
            if now - last_sweep > SWEEP_SECONDS and self._idle():
                last_sweep = now
                for workspace in self._where():
                    self._guarded(lambda w=workspace: sweep.sweep(w))  # type: ignore[misc]
            with self._wake:
                self._wake.wait(0.1 if not self._idle() else 0.2)

    def _prepare_embedder(self) -> None:
        """Convert the bundled weights once and load them, so that the first question is quick."""
        if embedder_name() == "hash":
            return
        if embedder_name() == "local" and not embeddings.prepared():
            self._preparing = (0.0, "")

            def show(fraction: float, stage: str) -> None:
                self._preparing = (fraction, stage)

            try:
                embeddings.prepare(show)
            finally:
                self._preparing = None
        if embedder_name() == "local" and self._warm:
            get_embedder().embed_query("warm")

    _warm = False

    def warm(self) -> Pipeline:
        """Load the embedder at start instead of at first use; for servers."""
        self._warm = True
        return self

    def _scan(self, workspace: Workspace, full: bool) -> None:
        """Queue jobs nobody has in hand. A full scan also gives unfinished sources without a job a
        new one, and ends a move to another embedder that waits for nobody."""
        if full:
            ingestion.resume_missing_jobs(workspace)
        new = [jobs.get(workspace, key) for key in jobs.ids(workspace) if key not in self._known]
        found = [job for job in new if job and job.state != "waiting"]
        if found:
            with self._wake:
                for job in sorted(found, key=lambda job: (job.created_at, job.id)):
                    self._known.add(job.id)
                    self._to_read.append((workspace, job))
                self._wake.notify_all()
        if full:
            moving = [job for job in jobs.all_jobs(workspace) if job.moving]
            if moving and all(job.state == "waiting" for job in moving):
                self._commit_move(workspace, moving[0].table)

    def _idle(self) -> bool:
        return not (self._to_read or self._to_index or self._to_embed)

    def _guarded(self, action: Callable[[], object]) -> None:
        """Run a part of the caretaker's round; a failure is logged and tried again next round."""
        try:
            action()
        except HaloError as error:
            log.warning("%s", error)
        except Exception:  # the job runner must outlive any single fault
            log.exception("the caretaker met an unexpected fault")

    # --- reading ---------------------------------------------------------------------------------

    def _read_loop(self) -> None:
        reader = Reader()
        try:
            while True:
                with self._wake:
                    self._wake.wait_for(lambda: self._to_read or self._stopping)
                    if self._stopping:
                        return
                    workspace, job = self._to_read.popleft()
                lock = jobs.take(workspace, job)
                if lock is None:
                    self._known.discard(job.id)  # somebody else has it; look again later
                    continue
                self._run(workspace, job, lock, reader)
        finally:
            reader.close()

    def _run(self, workspace: Workspace, job: Job, lock: FileLock, reader: Reader) -> None:
        try:
            source = get_source(job.source_id, workspace)
        except NotFoundError:
            self._end(_Task(workspace, job, lock, Source(name="")))
            return
        task = _Task(workspace, job, lock, source)
        task.progress = jobs.Progress(workspace, job)
        with self._fails_to(task):
            if source.revision == job.revision:
                task.table_name = source.table or ""
                task.table = named_table(workspace, task.table_name)
                self._queue_vectors(task)
            else:
                self._read(task, reader)

    def _read(self, task: _Task, reader: Reader) -> None:
        workspace, job, source = task.workspace, task.job, task.source
        progress = task.progress
        assert progress is not None
        progress("reading", 0, 0)
        target = workspace.document(source.id, job.revision)
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".part")
        name = str(job.fields.get("file_name") or (source.model_extra or {}).get("file_name") or "")
        document = reader.read(
            workspace.original(job.fields.get("sha256") or source.sha256 or "-"),
            name or source.name,
            out=unfinished,
            password=ingestion.take_password(job.id),
            progress=lambda done, total: progress("reading", done, total),
            cancelled=lambda: jobs.is_cancelled(workspace, job.id),
        )
        replace_file(unfinished, target)
        fsync_folder(target.parent.parent)
        record = dump(source.model_dump(mode="json"), indent=None)
        (target.parent / Workspace.RECORD_COPY).write_bytes(record)
        if job.table:
            task.table_name, task.table = job.table, named_table(workspace, job.table)
        else:
            task.table_name, task.table = writing_table(workspace)
        title = readable_title(name or source.name)
        embedder = get_embedder(task.table.identity)
        chunks = chunk_document(document, embedder.count_tokens, title=title)
        task.rows = [
            row(source, job, number, chunk, title, document) for number, chunk in enumerate(chunks)
        ]
        task.fields = job.fields | record_fields(document, job, task.table_name, len(chunks))
        task.total = len(chunks)
        for new in task.rows:
            text = passage_text(new["title"], new["headings"], new["text"])
            task.pending.append((new["chunk_id"], text))
        with self._wake:
            self._to_index.append(task)
            self._wake.notify_all()

    # --- indexing --------------------------------------------------------------------------------

    def _index_loop(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(
                    lambda: self._to_index or self._to_embed or self._touched or self._stopping,
                )
                if self._stopping:
                    return
                texts = list(self._to_index) if self._text_is_due() else []
                for _ in texts:
                    self._to_index.popleft()
            in_hand = texts or list(self._to_embed)
            try:
                if texts:
                    self._add_texts(texts)
                    self._committed = time.monotonic()
                elif in_hand:
                    self._embed_slice()
            except Exception as error:  # the job runner must outlive any single fault
                log.exception("an unexpected fault while indexing")
                in_hand = [*texts, *self._to_embed, *self._finished]
                self._to_embed.clear()
                self._buffer, self._finished = [], []
                for task in in_hand:
                    self._fail(task, _unexpected(error))
            if in_hand:
                continue
            if self._to_index:
                time.sleep(0.02)  # more is being read; it will be committed together
            else:
                self._refresh_tables()

    def _text_is_due(self) -> bool:
        """A single source's text is committed at once, those of many together twice a second."""
        return not self._to_read or time.monotonic() - self._committed > GATHER_SECONDS

    def _add_texts(self, tasks: list[_Task]) -> None:
        """Add the passages of all waiting sources, then commit them together."""
        for (workspace, _), group in _grouped(tasks).items():
            try:
                table = group[0].table
                assert table is not None
                table.add([row for task in group for row in task.rows])
                first = [task for task in group if not task.keeps_old and not task.job.moving]
                gone = self._commit(
                    workspace, {task.source.id: task.fields for task in first}, first
                )
            except HaloError as error:
                for task in group:
                    self._fail(task, error)
                continue
            for task in group:
                task.rows = []
                if task.source.id in gone:
                    self._end(task)
                    continue
                if task in first:
                    task.source = task.source.model_copy(update=task.fields)
                with self._wake:
                    self._to_embed.append(task)

    def _queue_vectors(self, task: _Task) -> None:
        """Resume a source whose text is committed: embed what has no vector yet."""
        assert task.table is not None
        todo = task.table.pending(task.job.revision)
        task.total = task.source.chunks
        task.made = task.total - len(todo)
        task.pending.extend((key, passage_text(t, h, text)) for key, t, h, text in todo)
        with self._wake:
            self._to_embed.append(task)
            self._wake.notify_all()

    def _embed_slice(self) -> None:
        """Embed the next few passages, of as many sources as they come from."""
        first = self._to_embed[0]
        table = first.table
        assert table is not None
        slice_: list[tuple[_Task, str, str]] = []
        for task in list(self._to_embed):
            if len(slice_) >= SLICE or task.table is not table:
                break
            if jobs.is_cancelled(task.workspace, task.job.id):
                self._to_embed.remove(task)
                self._buffer = [item for item in self._buffer if item[0] is not task]
                self._drop(task)
                continue
            while task.pending and len(slice_) < SLICE:
                slice_.append((task, *task.pending.popleft()))
            if not task.pending:
                self._to_embed.remove(task)
                self._finished.append(task)
        try:
            if slice_:
                vectors = get_embedder(table.identity).embed_passages([s[2] for s in slice_])
                for (task, key, _), vector in zip(slice_, vectors, strict=True):
                    self._buffer.append((task, key, vector))
                    task.made += 1
            if self._flush_is_due(table):
                self._flush(table)
                finished, self._finished = self._finished, []
                self._finish(finished)
        except HaloError as error:
            hit = [*self._finished, *(item[0] for item in (*slice_, *self._buffer))]
            self._buffer, self._finished = [], []
            for task in {id(task): task for task in hit}.values():
                if task in self._to_embed:
                    self._to_embed.remove(task)
                self._fail(task, error)
            return
        for task in {id(s[0]): s[0] for s in slice_}.values():
            if task.pending and task.progress:
                task.progress("embedding", task.made, task.total)

    def _flush_is_due(self, table: VectorTable) -> bool:
        """At once when nothing more of this table waits; else when enough or long enough."""
        more = any(task.table is table for task in self._to_embed)
        waited = time.monotonic() - self._flushed
        finished_one = bool(self._finished) and waited > GATHER_SECONDS
        return not more or finished_one or len(self._buffer) >= FLUSH or waited > 2.0

    def _flush(self, table: VectorTable) -> None:
        import numpy as np

        self._flushed = time.monotonic()
        if not self._buffer:
            return
        buffer, self._buffer = self._buffer, []
        table.fill([key for _, key, _ in buffer], np.stack([vector for _, _, vector in buffer]))
        self._touched[id(table)] = table

    def _finish(self, tasks: list[_Task]) -> None:
        """Commit sources whose vectors are all there."""
        for (workspace, _), group in _grouped(tasks).items():
            moving = [task for task in group if task.job.moving]
            for task in moving:
                task.job.state = "waiting"
                task.job.fields = task.fields | {"status": "ready", "vectors": task.total}
                jobs.put(workspace, task.job)
                jobs.release(workspace, task.lock, ended=False)
            settled = [task for task in group if not task.job.moving]
            changes = {
                task.source.id: (task.fields if task.keeps_old else {})
                | {"status": "ready", "vectors": task.total, "error": None}
                for task in settled
            }
            self._commit(workspace, changes, settled)
            for task in settled:
                self._end(task)
            if moving:
                self._commit_move(workspace, moving[0].job.table)

    def _commit(
        self, workspace: Workspace, changes: dict[str, dict[str, Any]], tasks: list[_Task]
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

    def _commit_move(self, workspace: Workspace, table: str) -> None:
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

    def _refresh_tables(self) -> None:
        """Nothing waits: bring the indexes of what was written up to date."""
        while self._touched:
            _, table = self._touched.popitem()
            self._guarded(table.refresh)

    # --- ends ------------------------------------------------------------------------------------

    def _end(self, task: _Task) -> None:
        jobs.remove(task.workspace, task.job.id)
        jobs.release(task.workspace, task.lock, ended=True)
        self._known.discard(task.job.id)

    def _drop(self, task: _Task) -> None:
        """End a job whose user said stop, or whose source is gone."""
        ingestion.end_cancelled(task.workspace, task.job)
        self._end(task)

    def _fail(self, task: _Task, error: HaloError) -> None:
        """Record why a source did not get on; what was committed stays as it is."""
        if isinstance(error, CancelledError):
            self._drop(task)
            return
        fields: dict[str, Any] = {"error": error.as_dict()}
        if task.source.revision is None:
            locked = isinstance(error, PasswordNeededError)
            fields["status"] = "needs_password" if locked else "failed"
        try:
            update_sources({task.source.id: fields}, task.workspace)
        except HaloError as worse:  # a full disk: the job stays and is taken up again
            log.warning("%s", worse)
            jobs.release(task.workspace, task.lock, ended=False)
            self._known.discard(task.job.id)
            return
        self._end(task)

    @contextlib.contextmanager
    def _fails_to(self, task: _Task) -> Iterator[None]:
        """Turn any fault inside into the source's recorded failure."""
        try:
            yield
        except HaloError as error:
            self._fail(task, error)
        except Exception as error:  # the job runner: one bad file never stops the others
            log.exception("an unexpected fault while reading a source")
            self._fail(task, _unexpected(error))


def _unexpected(error: Exception) -> HaloError:
    return HaloError(
        f"Reading met an unexpected fault ({type(error).__name__}).",
        code="unexpected",
        step="Try again; the log has the details.",
        kind=type(error).__name__,
    )


def _retired(source: Source) -> dict[str, Any]:
    return {"source_id": source.id, "revision": source.revision, "table": source.table}


def _grouped(tasks: Iterable[_Task]) -> dict[tuple[Workspace, int], list[_Task]]:
    groups: dict[tuple[Workspace, int], list[_Task]] = {}
    for task in tasks:
        groups.setdefault((task.workspace, id(task.table)), []).append(task)
    return groups


def _at_end(source: Source) -> bool:
    return source.status in END or (source.status == "text_ready" and source.error is not None)


_pipeline: Pipeline | None = None
_pipeline_guard = threading.Lock()


def state_stamp(workspace: Workspace) -> str:
    """A cheap fingerprint of a notebook's files; it differs after any commit of any process."""
    return workspace.stamp()


def pipeline() -> Pipeline:
    """The process's one pipeline, made on first use; ``start`` it to make it work."""
    global _pipeline
    with _pipeline_guard:
        if _pipeline is None:
            _pipeline = Pipeline()
        return _pipeline
