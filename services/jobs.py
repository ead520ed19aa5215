"""Work that is queued or running, one small file each in jobs/.

A job is taken by holding the OS lock of its revision; the lock dies with its process, so work of a
killed process is free for the next one. Job files are hints for resuming and for showing progress:
what counts is the source's record, and a job whose record is gone is nothing.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock

from services import jsonfile
from services.errors import StorageError, from_os_error
from services.models import Job, JobState
from services.workspace import Workspace

log = logging.getLogger(__name__)

news = threading.Event()
"""Set when this process queues a job, for its caretaker; others' jobs are found by looking."""

_passwords: dict[str, str] = {}
"""Passwords by job id, in memory only, each used once."""
_seen: dict[Path, tuple[tuple[int, int], Job]] = {}
_guard = threading.Lock()


def _path(workspace: Workspace, job_id: str) -> Path:
    return workspace.jobs / f"{job_id}.json"


def put(workspace: Workspace, job: Job, *, durable: bool = True) -> None:
    """Write a job file; ``durable=False`` spares the disk where only progress is at stake."""
    path = _path(workspace, job.id)
    data = jsonfile.dump(job.model_dump(mode="json"), indent=None)
    if durable:
        jsonfile.write_bytes(path, data)
    else:
        temporary = path.with_suffix(f".{os.getpid()}.tmp")
        with contextlib.suppress(OSError):  # only the progress shown elsewhere is lost
            temporary.write_bytes(data)
            os.replace(temporary, path)
    if job.state == "queued":
        news.set()


def give_password(job_id: str, password: str) -> None:
    """Keep a locked file's password in memory until its job is read."""
    _passwords[job_id] = password


def take_password(job_id: str) -> str | None:
    """The password given with a job, once."""
    return _passwords.pop(job_id, None)


def get(workspace: Workspace, job_id: str) -> Job | None:
    """The job as last written, None when it ended."""
    job = _read(_path(workspace, job_id))
    return job.model_copy() if job else None


def remove(workspace: Workspace, job_id: str) -> None:
    """Forget a job; its result is committed or no longer wanted. Raises StorageError."""
    path = _path(workspace, job_id)
    try:
        path.unlink(missing_ok=True)
        path.with_suffix(".cancel").unlink(missing_ok=True)
    except OSError as error:
        raise from_os_error(error, "removing a finished job") from error


def request_cancel(workspace: Workspace, job_id: str) -> None:
    """Ask whoever works on a job, in any process, to stop. Raises StorageError."""
    try:
        _path(workspace, job_id).with_suffix(".cancel").touch()
    except OSError as error:
        raise from_os_error(error, "stopping the work") from error


def is_cancelled(workspace: Workspace, job_id: str) -> bool:
    """True when a job was cancelled or its source deleted."""
    path = _path(workspace, job_id)
    return path.with_suffix(".cancel").exists() or not path.exists()


def all_jobs(workspace: Workspace) -> list[Job]:
    """Every job, oldest first. Unchanged files answer from memory: treat them as immutable."""
    found = [job for job in map(_read, _files(workspace)) if job]
    return sorted(found, key=lambda job: (job.created_at, job.id))


def ids(workspace: Workspace) -> list[str]:
    """The ids of all jobs, without reading them."""
    return [path.stem for path in _files(workspace)]


def _files(workspace: Workspace) -> list[Path]:
    try:
        return list(workspace.jobs.glob("*.json"))
    except FileNotFoundError:
        return []


def _read(path: Path) -> Job | None:
    """A job file's content; a damaged one is dropped, its source still says what is to be done."""
    try:
        stat = path.stat()
        stamp = (stat.st_ino, stat.st_mtime_ns)
        with _guard:
            known = _seen.get(path)
        if known and known[0] == stamp:
            return known[1]
        job = Job.model_validate(json.loads(path.read_bytes()))
    except FileNotFoundError:
        with _guard:
            _seen.pop(path, None)
        return None
    except ValueError:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
        return None
    with _guard:
        _seen[path] = (stamp, job)
    return job


@contextlib.contextmanager
def queueing(workspace: Workspace) -> Iterator[None]:
    """Held from committing a record to writing its job, so that whoever looks for unfinished
    sources without a job finds only those whose process died in between."""
    with workspace.lock("queueing"):
        yield


def take(workspace: Workspace, job: Job) -> FileLock | None:
    """Take a job: its revision's lock, or None when somebody has it or it ended meanwhile."""
    try:
        lock = workspace.take_lock(job.revision, wait=False)
    except StorageError as error:  # the worker that asks must live on; it looks again later
        log.warning("a job could not be taken: %s", error)
        return None
    if lock is None:
        return None
    if get(workspace, job.id) is None:
        lock.release()
        return None
    return lock


def is_taken(workspace: Workspace, revision: str) -> bool:
    """True while some process works on this revision."""
    if not (workspace.locks / f"{revision}.lock").exists():
        return False
    with workspace.lock(revision, wait=False) as free:
        return not free


def release(workspace: Workspace, lock: FileLock, *, ended: bool) -> None:
    """Give a revision's lock back; the file goes when the job ended, for its id never returns."""
    if ended:
        Path(lock.lock_file).unlink(missing_ok=True)
    lock.release()


class Progress:
    """Writes a job's progress at most twice a second; a job that ends sooner writes none."""

    def __init__(self, workspace: Workspace, job: Job) -> None:
        self._workspace, self._job, self._last = workspace, job, time.monotonic()
        self._told = ""

    def __call__(self, state: JobState, done: int, total: int) -> None:
        self._job.state, self._job.done, self._job.total = state, done, total
        if time.monotonic() - self._last > 0.5:
            self._write()

    def beat(self) -> None:
        """Say what is being done, once, when its first step takes long; call it now and then."""
        if self._told != self._job.state and time.monotonic() - self._last > 0.5:
            self._write()

    def _write(self) -> None:
        self._last, self._told = time.monotonic(), self._job.state
        if _path(self._workspace, self._job.id).exists():
            put(self._workspace, self._job, durable=False)
