"""Making outputs in the background: steps, progress, cancel, and again into the same record.

A thread of the service works and writes its own end into studio_outputs.json; the screen only
looks. The lock of an output dies with its process, so a record that says "running" without it was
interrupted, and is made again like a failed one.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from filelock import FileLock

from services.errors import CancelledError, HaloError, NotFoundError, UserInputError, unexpected
from services.models import Source, now
from services.storage import load_sources
from services.studio import outputs
from services.studio.material import gather
from services.studio.models import Content, Options, StudioOutput, Used
from services.studio.templates import template
from services.studio.writing import write
from services.workspace import Workspace

log = logging.getLogger(__name__)
Step = Literal["reading", "writing", "checking"]


@dataclass
class Run:
    """An output in the making. ``done`` of ``total`` sources were read."""

    workspace: Workspace
    output_id: str
    lock: FileLock
    step: Step = "reading"
    done: int = 0
    total: int = 0
    cancelled: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)


_runs: dict[str, Run] = {}
_guard = threading.Lock()


def start(workspace: Workspace, template_id: str, options: Options) -> str:
    """Begin an output from the sources of ``options`` (none named: all included ones).

    Raises NotFoundError for an unknown template, UserInputError where no source can be used.
    """
    chosen = template(template_id)
    sources = chosen_sources(workspace, options)
    options = options.model_copy(update={"source_ids": [source.id for source in sources]})
    output = StudioOutput(
        template_id=chosen.id,
        title=chosen.name(options.language),
        state="running",
        options=options,
        sources=[source.name for source in sources],
    )
    lock = workspace.take_lock(outputs.lock_name(output.output_id))
    assert lock, "a new output's lock is free"
    try:
        outputs.keep(workspace, output)
    except HaloError:
        lock.release()
        raise
    _begin(Run(workspace, output.output_id, lock, total=len(sources)))
    return output.output_id


def again(workspace: Workspace, output_id: str, options: Options | None = None) -> None:
    """Make an output again into its record: after a failure, an interruption, or because its
    sources changed. What it said is kept as a version. Nothing happens while it is being made.

    Raises NotFoundError, UserInputError where none of its sources is left.
    """
    output = outputs.get_output(workspace, output_id)
    template(output.template_id)
    options = options or output.options
    chosen_sources(workspace, options)
    lock = workspace.take_lock(outputs.lock_name(output_id), wait=False)
    if lock is None:
        return
    fields = {"state": "running", "error": None, "options": options}
    try:
        outputs.change(workspace, output_id, lambda old: old.model_copy(update=fields))
    except HaloError:
        lock.release()
        raise
    _begin(Run(workspace, output_id, lock, total=len(options.source_ids)))


def chosen_sources(workspace: Workspace, options: Options) -> list[Source]:
    """The sources an output is made from. Raises UserInputError where there are none."""
    wanted = set(options.source_ids)
    found = [
        source
        for source in load_sources(workspace)
        if source.answerable and (source.id in wanted if wanted else source.selected)
    ]
    if not found:
        raise UserInputError(
            "None of the chosen sources can be read.",
            code="no_usable_source",
            step="Add a source, or include one that is ready.",
        )
    return found


def run_of(workspace: Workspace, output_id: str) -> Run | None:
    """An output that is being made in this process."""
    with _guard:
        found = _runs.get(output_id)
    return found if found and found.workspace == workspace else None


def cancel(workspace: Workspace, output_id: str) -> None:
    """Stop making an output; it ends within the source that is being read."""
    if found := run_of(workspace, output_id):
        found.cancelled.set()


def wait(workspace: Workspace, output_id: str, timeout: float | None = None) -> StudioOutput:
    """Wait for an output of this process and return it as stored. Raises NotFoundError."""
    if found := run_of(workspace, output_id):
        found.ended.wait(timeout)
    return outputs.get_output(workspace, output_id)


def _begin(run: Run) -> None:
    with _guard:
        _runs[run.output_id] = run
    threading.Thread(target=_work, args=(run,), name="halo-studio", daemon=True).start()


def _work(run: Run) -> None:
    """Make one output; whatever happens ends up in its record."""
    started = time.monotonic()
    try:
        output = outputs.get_output(run.workspace, run.output_id)
        content, used = _made(run, output)
        fields = {name: getattr(content, name) for name in Content.model_fields}
        if output.content:  # a title that the user gave stays
            fields["title"] = output.title
        fields |= {"state": "done", "error": None, "generated_at": now(), "edited_at": None}
        fields |= {"used": used, "sources": [source.name for source in used]}
        fields |= {"seconds": round(time.monotonic() - started, 2)}
        _settle(run, fields, content=True)
    except CancelledError:
        _settle(run, {"state": "cancelled"})
    except HaloError as problem:
        _settle(run, {"state": "failed", "error": problem.as_dict()})
    except Exception as problem:  # the job runner: a fault becomes a failed output, not silence
        log.exception("the studio met an unexpected fault")
        _settle(run, {"state": "failed", "error": unexpected("The Studio", problem).as_dict()})
    finally:
        run.lock.release()
        with contextlib.suppress(OSError):
            (run.workspace.locks / f"{outputs.lock_name(run.output_id)}.lock").unlink()
        with _guard:
            _runs.pop(run.output_id, None)
        run.ended.set()


def _made(run: Run, output: StudioOutput) -> tuple[Content, Sequence[Used]]:
    def progress(done: int, total: int) -> None:
        run.done, run.total = done, total
        _go_on(run)

    sources = chosen_sources(run.workspace, output.options)
    readings = gather(run.workspace, sources, output.options, progress)
    run.step = "writing"
    content = write(readings, template(output.template_id), output.options)
    _go_on(run)
    run.step = "checking"
    return content, [reading.used() for reading in readings]


def _go_on(run: Run) -> None:
    if run.cancelled.is_set():
        raise CancelledError("Stopped.")


def _settle(run: Run, fields: dict[str, Any], *, content: bool = False) -> None:
    def ended(output: StudioOutput) -> StudioOutput:
        if content:
            fields["versions"] = outputs.with_version(output)
        return output.model_copy(update=fields)

    try:
        outputs.change(run.workspace, run.output_id, ended)
    except NotFoundError:
        return  # deleted meanwhile
    except HaloError as problem:
        log.warning("an output could not be stored: %s", problem)
