"""The worker that takes sources from ``queued`` to ``ready``; one a process, shared by all screens.

    fetchers (several)  bring the bytes of links in, so that slow servers hold up no reading
    readers (several)   take a job, parse in a child process, cut passages, write the document;
                        one of them never takes a recording, so that hours of sound hold up no text
    indexer (one)       adds passages and commits ``text_ready``; then makes vectors and commits
                        ``ready``
    caretaker (one)     notices new jobs (also other processes'), resumes what a killed process
                        left, sweeps when idle

It knows nothing of screens. What it commits is a replace of sources.json; everything before that is
invisible, so it may be killed at any point.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal

from filelock import FileLock
from pydantic import ValidationError

from services import adding, embeddings, ingestion, jobs, probes, sweep, unpacking
from services.chunking import chunk_document, passage_text
from services.embeddings import get_embedder
from services.errors import (
    CancelledError,
    HaloError,
    NotFoundError,
    ParserStoppedError,
    StorageError,
    UnreadableSourceError,
    UserInputError,
)
from services.indexer import Indexer, commit_move
from services.jsonfile import dump, fsync_folder, replace_file
from services.links.bring import bring, complete, is_due, without_text
from services.models import Document, Job, Source
from services.passages import readable_title, record_fields, row
from services.reading import Reader
from services.settings import embedder_name, passage_tokens
from services.storage import get_source, load_sources, update_sources
from services.tables import named_table, writing_table
from services.task import Task
from services.workspace import Workspace, folder_stamp, workspaces

log = logging.getLogger(__name__)

READERS = max(2, (os.cpu_count() or 2) // 2)
FETCHERS = 4
SWEEP_SECONDS = 600.0
FIRST_SWEEP_SECONDS = 30.0
END = frozenset({"ready", "failed", "needs_password", "cancelled", "duplicate"})


UNREAD = frozenset({"failed", "cancelled"})


class Pipeline:
    """Start it once; it works on what jobs/ of ``where()`` hold until ``stop``."""

    def __init__(self, where: Callable[[], Sequence[Workspace]] = workspaces) -> None:
        self._where = where
        self._wake = threading.Condition()
        self._to_read: deque[tuple[Workspace, Job]] = deque()
        self._to_hear: deque[tuple[Workspace, Job]] = deque()
        self._to_fetch: deque[tuple[Workspace, Job]] = deque()
        self._turns: dict[Path, int] = {}
        """By notebook, which turn of the readers was its last."""
        self._known: set[str] = set()
        self._indexer = Indexer(lambda: bool(self._to_read))
        self._stopping = False
        self._threads: list[threading.Thread] = []
        self._preparing: tuple[float, str] | None = None

    # --- life -----------------------------------------------------------------------------------

    def start(self) -> Pipeline:
        """Start the threads; does nothing when they run."""
        with self._wake:
            if self._threads:
                return self
            names = [("caretaker", self._care), ("indexer", self._indexer.run)]
            names += [("reader", self._read_loop)]
            names += [(f"listener-{n}", self._hear_loop) for n in range(1, READERS)]
            names += [(f"fetcher-{n}", self._fetch_loop) for n in range(FETCHERS)]
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
        self._indexer.stop()
        jobs.news.set()
        for thread in self._threads:
            thread.join(timeout=30)
        self._indexer.lay_down()

    def wait(
        self,
        workspace: Workspace,
        ids: Iterable[str],
        *,
        on_progress: Callable[[list[ingestion.SourceView]], None] | None = None,
        patience: float = math.inf,
    ) -> None:
        """Return when each of these sources has reached its end, here or in another process; or
        when this pipeline is stopped; or once all of them can be asked and ``patience`` seconds
        have passed over the making of their vectors."""
        wanted = set(ids)
        asked_from = math.inf
        while True:
            if on_progress:
                views = ingestion.list_sources(workspace)
                on_progress([view for view in views if view.source.id in wanted])
            left = [s for s in load_sources(workspace) if s.id in wanted and not _at_end(s)]
            if not left and not wanted & {job.source_id for job in jobs.all_jobs(workspace)}:
                return
            if all(source.answerable for source in left):
                asked_from = min(asked_from, time.monotonic())
            if self._stopping or time.monotonic() - asked_from > patience:
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
            jobs.news.wait(0.2)
            jobs.news.clear()

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
            sources = {source.id: source for source in load_sources(workspace)}
            with self._wake:
                for job in sorted(found, key=lambda job: (job.created_at, job.id)):
                    self._known.add(job.id)
                    self._queue_of(sources.get(job.source_id), job).append((workspace, job))
                self._wake.notify_all()
        if full:
            moving = [job for job in jobs.all_jobs(workspace) if job.moving]
            if moving and all(job.state == "waiting" for job in moving):
                commit_move(workspace, moving[0].table)
            if not jobs.ids(workspace):
                probes.after(workspace)

    def _queue_of(self, source: Source | None, job: Job) -> deque[tuple[Workspace, Job]]:
        if source and source.url and is_due(source, job):
            return self._to_fetch
        if source is None or source.revision == job.revision:
            return self._to_read
        recorded = ingestion.is_recording(source, job.fields.get("file_name") or source.name)
        return self._to_hear if recorded else self._to_read

    def _idle(self) -> bool:
        return not (self._to_read or self._to_hear or self._to_fetch) and self._indexer.idle

    def _guarded(self, action: Callable[[], object]) -> None:
        """Run a part of the caretaker's round; a failure is logged and tried again next round."""
        try:
            action()
        except HaloError as error:
            log.warning("%s", error)
        except Exception:  # the job runner must outlive any single fault
            log.exception("the caretaker met an unexpected fault")

    # --- fetching --------------------------------------------------------------------------------

    def _fetch_loop(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._to_fetch or self._stopping)
                if self._stopping:
                    return
                workspace, job = self._to_fetch.popleft()
            lock = jobs.take(workspace, job)
            if lock is None:
                self._known.discard(job.id)
                continue
            try:
                source = get_source(job.source_id, workspace)
            except NotFoundError:
                source = Source(name="", url="")
            task = Task(workspace, job, lock, source, self._known.discard)
            if not source.url:
                task.end()
                continue
            with task.fails():
                try:
                    fetched = self._fetch(task)
                except CancelledError:
                    if jobs.is_cancelled(workspace, job.id):
                        raise
                    task.lay_down()  # HALO itself stops; the next process fetches it
                    return
                if fetched:
                    jobs.release(workspace, lock, ended=False)
                    with self._wake:
                        self._queue_of(source, job).append((workspace, job))
                        self._wake.notify_all()

    def _fetch(self, task: Task) -> bool:
        """Bring a link's bytes in. False when that was all: it did not change, or another source
        has the same bytes."""
        workspace, job, source = task.workspace, task.job, task.source
        task.progress("fetching", 0, 1)
        found = bring(
            workspace,
            source,
            progress=lambda done, total: task.progress(
                "fetching", done if total else 0, total or 1
            ),
            cancelled=lambda: self._stopping or jobs.is_cancelled(workspace, job.id),
        )
        sha256 = found.get("sha256")
        others = [other for other in load_sources(workspace) if other.status not in UNREAD]
        twin = sha256 is not None and any(other.sha256 == sha256 for other in others)
        if sha256 is None or (twin and not source.answerable):
            ended = {"fetched": found["fetched"]} if sha256 is None else {"status": "duplicate"}
            update_sources({source.id: ended | {"error": None}}, workspace)
            task.end()
            return False
        job.fields |= found
        if not jobs.is_cancelled(workspace, job.id):
            jobs.put(workspace, job)  # whoever takes the job after a kill need not fetch again
        return True

    # --- reading ---------------------------------------------------------------------------------

    def _read_loop(self) -> None:
        self._read_from(self._to_read)

    def _hear_loop(self) -> None:
        self._read_from(self._to_hear, self._to_read)

    def _read_from(self, *queues: deque[tuple[Workspace, Job]]) -> None:
        """Read what stands in the queues, the first of them first, until HALO stops."""
        reader = Reader()
        try:
            while True:
                with self._wake:
                    self._wake.wait_for(lambda: any(queues) or self._stopping)
                    if self._stopping:
                        return
                    workspace, job = self._next(next(filter(None, queues)))
                lock = jobs.take(workspace, job)
                if lock is None:
                    self._known.discard(job.id)  # somebody else has it; look again later
                    continue
                self._run(workspace, job, lock, reader)
        finally:
            reader.close()

    def _next(self, queue: deque[tuple[Workspace, Job]]) -> tuple[Workspace, Job]:
        """Take the oldest job of the notebook whose turn was longest ago, so that one source of a
        notebook never waits for hundreds of another."""
        taken = min(queue, key=lambda item: self._turns.get(item[0].root, 0))
        queue.remove(taken)
        self._turns[taken[0].root] = max(self._turns.values(), default=0) + 1
        return taken

    def _run(self, workspace: Workspace, job: Job, lock: FileLock, reader: Reader) -> None:
        try:
            source = get_source(job.source_id, workspace)
        except NotFoundError:
            Task(workspace, job, lock, Source(name=""), self._known.discard).end()
            return
        task = Task(workspace, job, lock, source, self._known.discard)
        with task.fails():
            if source.revision == job.revision:
                task.table_name = source.table or ""
                task.table = named_table(workspace, task.table_name)
                self._indexer.resume(task)
            else:
                self._read(task, reader)

    def _read(self, task: Task, reader: Reader) -> None:
        workspace, job, source = task.workspace, task.job, task.source
        progress = task.progress
        progress("reading", 0, 0)
        target = workspace.document(source.id, job.revision)
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(".part")
        record = source.model_dump(mode="json") | job.fields
        name = record.get("file_name") or source.name
        original = workspace.original(record["sha256"] or "-")
        password = jobs.take_password(job.id)

        def cancelled() -> bool:
            progress.beat()
            return jobs.is_cancelled(workspace, job.id)

        try:
            document = self._known_document(task, unfinished) or reader.read(
                original,
                name,
                out=unfinished,
                password=password,
                language=source.speech_language,
                private=source.private,
                progress=lambda done, total: progress("reading", done, total),
                cancelled=cancelled,
            )
        except UnreadableSourceError as error:
            raise without_text(source, original, error) from error
        called = complete(document, original, record) if source.url else ""
        title = called or readable_title(name)
        if document.report.attachments:
            self._add_attachments(task, reader, original, document, password)
        if source.url or document.report.attachments:
            unfinished.write_bytes(document.model_dump_json().encode())
        replace_file(unfinished, target)
        fsync_folder(target.parent.parent)
        (target.parent / Workspace.RECORD_COPY).write_bytes(dump(record, indent=None))
        if job.table:
            task.table_name, task.table = job.table, named_table(workspace, job.table)
        else:
            task.table_name, task.table = writing_table(workspace)
        embedder = get_embedder(task.table.identity)
        longest = min(passage_tokens(), embedder.max_tokens)
        chunks = chunk_document(document, embedder.count_tokens, max_tokens=longest, title=title)
        task.rows = [
            row(source, job, number, chunk, title, document) for number, chunk in enumerate(chunks)
        ]
        task.fields = job.fields | record_fields(document, job, task.table_name, len(chunks))
        if source.url and get_source(source.id, workspace).name == source.url:
            task.fields["name"] = called or name  # nobody gave it another name meanwhile
        task.total = len(chunks)
        for new in task.rows:
            text = passage_text(new["title"], new["headings"], new["text"])
            task.pending.append((new["chunk_id"], text))
        self._indexer.add(task)

    def _known_document(self, task: Task, copy: Path) -> Document | None:
        """What was read before, copied for a source that only moves to another embedder; None where
        it has to be read."""
        if not task.job.moving:
            return None
        try:
            document = ingestion.load_document(task.workspace, task.source.id)
        except (NotFoundError, StorageError, ValidationError):
            return None
        copy.write_bytes(document.model_dump_json().encode())
        return document

    def _add_attachments(
        self, task: Task, reader: Reader, original: Path, document: Document, password: str | None
    ) -> None:
        """Make sources of a source's attachments, before its own commit: whoever is killed in
        between does both again, and finds those that are there already by their bytes.

        A source that is only read again keeps the attachments it has, or has no more.
        """
        workspace, job, source = task.workspace, task.job, task.source
        known = source.children is not None and not job.fields.get("sha256")
        if known or source.depth >= unpacking.DEEPEST:
            return
        try:
            taken = unpacking.expand(
                workspace,
                reader,
                original,
                source.name,
                password=password,
                cancelled=lambda: jobs.is_cancelled(workspace, job.id),
            )
        except (UserInputError, ParserStoppedError) as error:
            document.report.note(
                "attachments_unread",
                f"The attached files were not read: {error.message}",
                reason=error.message,
            )
            return
        adding.add_children(workspace, source, taken)


def _at_end(source: Source) -> bool:
    return source.status in END or (source.status == "text_ready" and source.error is not None)


_pipeline: Pipeline | None = None
_pipeline_guard = threading.Lock()


def pipeline() -> Pipeline:
    """The process's one pipeline, made on first use; ``start`` it to make it work."""
    global _pipeline
    with _pipeline_guard:
        if _pipeline is None:
            _pipeline = Pipeline()
        return _pipeline
