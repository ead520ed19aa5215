"""A job in hand: what it works on, and the three ways it ends."""

from __future__ import annotations

import contextlib
import logging
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from filelock import FileLock

from services import ingestion, jobs
from services.errors import CancelledError, HaloError, PasswordNeededError, unexpected
from services.lance import VectorTable
from services.models import Job, Source
from services.storage import update_sources
from services.workspace import Workspace

log = logging.getLogger(__name__)


@dataclass(eq=False)
class Task:
    """A taken job on its way through the pipeline."""

    workspace: Workspace
    job: Job
    lock: FileLock
    source: Source
    forget: Callable[[str], None]
    """Called with the job's id when it is no longer in hand."""
    table_name: str = ""
    table: VectorTable | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    fields: dict[str, Any] = field(default_factory=dict)
    pending: deque[tuple[str, str]] = field(default_factory=deque)
    """(chunk id, text to embed) of passages without a vector."""
    total: int = 0
    made: int = 0

    def __post_init__(self) -> None:
        self.progress = jobs.Progress(self.workspace, self.job)

    @property
    def keeps_old(self) -> bool:
        """True when an older revision answers until this one is whole."""
        return self.source.answerable and self.source.revision != self.job.revision

    def end(self) -> None:
        """The job is done, or its source is gone."""
        jobs.remove(self.workspace, self.job.id)
        jobs.release(self.workspace, self.lock, ended=True)
        self.forget(self.job.id)

    def lay_down(self) -> None:
        """Leave the job for another time or process."""
        jobs.release(self.workspace, self.lock, ended=False)
        self.forget(self.job.id)

    def drop(self) -> None:
        """End a job whose user said stop."""
        ingestion.end_cancelled(self.workspace, self.job)
        self.end()

    def fail(self, error: HaloError) -> None:
        """Record why a source did not get on; what was committed stays as it is."""
        if isinstance(error, CancelledError):
            self.drop()
            return
        fields: dict[str, Any] = {"error": error.as_dict()}
        if self.source.revision is None:
            locked = isinstance(error, PasswordNeededError)
            fields["status"] = "needs_password" if locked else "failed"
        try:
            update_sources({self.source.id: fields}, self.workspace)
        except HaloError as worse:  # a full disk: the job stays and is taken up again
            log.warning("%s", worse)
            self.lay_down()
            return
        self.end()

    @contextlib.contextmanager
    def fails(self) -> Iterator[None]:
        """Turn any fault inside into the source's recorded failure."""
        try:
            yield
        except HaloError as error:
            self.fail(error)
        except Exception as error:  # the job runner: one bad file never stops the others
            log.exception("an unexpected fault while reading a source")
            self.fail(unexpected("Reading", error))
