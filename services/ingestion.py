"""What a user does with the sources there are: look, rename, include, delete, bring back, re-index.

Everything here returns at once: the record is committed when a function returns; the work itself is
queued in jobs/ and done by ``pipeline``. How sources come in is in ``adding``.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services import jobs, probes, trash
from services.adding import ARCHIVE, add_files, add_text
from services.errors import (
    DiskFullError,
    HaloError,
    NotFoundError,
    StorageError,
    UserInputError,
)
from services.intake import Incoming, folder_files, title_name
from services.jsonfile import read_json
from services.models import Document, Job, Source, SourceStatus
from services.parsers import KINDS, extract_text_from_bytes, sniff
from services.speech import language_wanted
from services.storage import Shared, get_source, load_sources, update_sources
from services.tables import target_table
from services.workspace import Workspace, open_workspace

_BELOW = "restore_above"
"""Key of a deleted row for the id of the row that stood below it."""
_UNITS = {
    "xlsx": "sheet", "xls": "sheet", "xlsb": "sheet", "ods": "sheet", "pptx": "slide",
    "odp": "slide", "epub": "chapter", "mail": "message", "audio": "second", "video": "second",
}  # fmt: skip
"""What is counted while a source of a kind is read, where it is not pages."""


@dataclass(frozen=True)
class SourceView:
    """A source's record with its work as of now: ``done`` of ``total`` read or embedded."""

    source: Source
    status: SourceStatus
    done: int = 0
    total: int = 0
    unit: str = ""


def is_recording(source: Source, name: str) -> bool:
    """True for what has to be listened to; before it is read, its file's name says so."""
    return _unit_of(source, name) == "second"


# --- looking -----------------------------------------------------------------------------------


def list_sources(workspace: Workspace) -> list[SourceView]:
    """All sources, newest first, with their live progress, also of other processes' work."""
    by_source = {job.source_id: job for job in jobs.all_jobs(workspace)}
    return [_view(source, by_source.get(source.id)) for source in load_sources(workspace)]


def _view(source: Source, job: Job | None) -> SourceView:
    if source.status == "text_ready":
        done = job.done if job and job.state == "embedding" else source.vectors
        return SourceView(source, "text_ready", done, source.chunks, "passage")
    if job is None or job.state in ("queued", "waiting"):
        return SourceView(source, source.status)
    unit = {"embedding": "passage", "fetching": "byte"}.get(job.state) or _unit_of(
        source, source.name
    )
    status: SourceStatus = source.status if source.answerable else "reading"
    return SourceView(source, status, job.done, job.total, unit)


def _unit_of(source: Source, name: str) -> str:
    """What is counted while it is read; before that its name says what kind it seems to be."""
    kind = source.kind
    if not kind:
        ending = Path(name).suffix.lower()
        kind = next((kind.name for kind in KINDS.values() if ending in kind.extensions), "")
    return _UNITS.get(kind, "page")


def load_document(workspace: Workspace, source_id: str, revision: str | None = None) -> Document:
    """The parsed document of a source, its committed revision unless another is named.

    Raises NotFoundError when the source or its text is not there.
    """
    wanted = revision or get_source(source_id, workspace).revision
    if not wanted or not wanted.isalnum() or not source_id.isalnum():
        raise NotFoundError(
            "The text of this source is not there yet.", code="no_document", id=source_id
        )
    try:
        content = read_json(workspace.document(source_id, wanted))
    except FileNotFoundError as error:
        raise NotFoundError(
            "The text of this source is not there any more.", code="no_document", id=source_id
        ) from error
    return Document.model_validate(content)


def original_path(workspace: Workspace, source_id: str) -> Path:
    """Where the original bytes of a source lie. Raises NotFoundError."""
    source = get_source(source_id, workspace)
    path = workspace.original(source.sha256 or "-")
    if not path.is_file():
        raise NotFoundError("The original file is not there.", code="no_original", id=source_id)
    return path


# --- changing ------------------------------------------------------------------------------------


def rename_source(workspace: Workspace, source_id: str, name: str) -> None:
    """Change the name that is shown. Raises NotFoundError, UserInputError."""
    clean = title_name(name)
    if not name.strip():
        raise UserInputError("The name is empty.", code="empty_name", step="Type a name.")
    if not update_sources({source_id: {"name": clean}}, workspace):
        get_source(source_id, workspace)


def set_selected(workspace: Workspace, ids: Iterable[str], selected: bool) -> None:
    """Include sources in questions, or leave them out."""
    update_sources({source_id: {"selected": selected} for source_id in ids}, workspace)


def set_private(workspace: Workspace, source_id: str, private: bool) -> None:
    """Say whether nothing of a source, nor of its attachments, may leave for a hosted service.

    What was sent before cannot be called back. Raises NotFoundError.
    """
    get_source(source_id, workspace)
    sources = load_sources(workspace)
    within = {source_id}
    while more := {s.id for s in sources if s.parent in within} - within:
        within |= more
    update_sources({one: {"private": private} for one in within}, workspace)


def delete_sources(workspace: Workspace, ids: Iterable[str]) -> str:
    """Delete sources; returns what ``restore_sources`` brings them back with for seven days.

    On a full disk, where deleting is the way out, they go for good at once, and "" is returned.
    Raises NotFoundError when none of them is there.
    """
    wanted = set(ids)
    try:
        entry = _delete(workspace, wanted, keep=True)
    except DiskFullError:
        _free(workspace, wanted)
        entry = _delete(workspace, wanted, keep=False)
    for job in jobs.all_jobs(workspace):
        if job.source_id in wanted:
            jobs.remove(workspace, job.id)
    return entry


def _delete(workspace: Workspace, wanted: set[str], *, keep: bool) -> str:
    """Take records out of the list, first into the trash where they are kept."""
    taken: list[dict[str, Any]] = []
    entry = ""

    def change(rows: list[Shared]) -> list[Shared] | None:
        nonlocal entry
        below = [*(row.get("id") for row in rows[1:]), None]
        taken[:] = [
            {**row, _BELOW: after}
            for row, after in zip(rows, below, strict=False)  # no row has none below
            if row.get("id") in wanted
        ]
        if not taken:
            return None
        if keep:
            entry = trash.put(workspace, "sources", taken)
        return [row for row in rows if row.get("id") not in wanted]

    try:
        workspace.sources_file.update(change)
    except StorageError:
        if entry:
            trash.remove(workspace, entry)
        raise
    if not taken:
        raise NotFoundError("There is no such source.", code="no_such_source")
    return entry


def _free(workspace: Workspace, ids: set[str]) -> None:
    """Remove the files of sources that are about to be deleted for good."""
    sources = load_sources(workspace)
    others = {source.sha256 for source in sources if source.id not in ids}
    for entry in trash.entries(workspace):
        others |= {row.get("sha256") for row in entry["content"] if entry["kind"] == "sources"}
    for source in sources:
        if source.id in ids:
            shutil.rmtree(workspace.documents / source.id, ignore_errors=True)
            if source.sha256 and source.sha256 not in others:
                workspace.original(source.sha256).unlink(missing_ok=True)


def restore_sources(workspace: Workspace, trash_id: str) -> list[str]:
    """Bring deleted sources back as they were. Raises NotFoundError when it is too late."""
    rows = trash.get(workspace, trash_id, "sources")
    from_trash = [row | _as_restored(row) for row in rows]

    def change(stored: list[Shared]) -> list[Shared]:
        there = {row.get("id") for row in stored}
        kept = list(stored)
        for row in reversed(from_trash):
            if row["id"] not in there:
                ids = [other.get("id") for other in kept]
                below = row[_BELOW]
                at = ids.index(below) if below in ids else 0 if below else len(ids)
                kept.insert(at, {key: value for key, value in row.items() if key != _BELOW})
        return kept

    workspace.sources_file.update(change)
    trash.remove(workspace, trash_id)
    resume_missing_jobs(workspace)
    return [row["id"] for row in rows]


def _as_restored(row: dict[str, Any]) -> dict[str, Any]:
    unfinished = not row.get("revision") and row.get("status") in ("queued", "reading")
    return {"status": "queued"} if unfinished else {}


def reindex_sources(workspace: Workspace, ids: Iterable[str] | None = None) -> list[str]:
    """Read sources again from their stored originals (None: all) under new revisions; the old
    ones answer until the new are whole. Returns the ids queued.

    When the settings name another embedder than the index has, all sources move to a new index
    together: name none.
    """
    sources = load_sources(workspace)
    wanted = None if ids is None else set(ids)
    chosen = [
        s for s in sources if (wanted is None or s.id in wanted) and s.sha256 and s.kind != ARCHIVE
    ]
    if wanted is not None and not chosen:
        raise NotFoundError("There is no such source.", code="no_such_source")
    probes.before(workspace)
    target = target_table(workspace) if wanted is None else ""
    unread = {s.id: {"status": "queued", "error": None} for s in chosen if not s.answerable}
    with jobs.queueing(workspace):
        busy = {job.source_id: job for job in jobs.all_jobs(workspace)}
        if unread:
            update_sources(unread, workspace)
        for source in chosen:
            moving = bool(target) and source.answerable and source.table != target
            if source.id in busy and not moving:
                continue
            if source.id in busy:
                jobs.remove(workspace, busy[source.id].id)
            job = Job(source_id=source.id, table=target if moving else "", moving=moving)
            jobs.put(workspace, job)
    return [source.id for source in chosen]


def set_language(workspace: Workspace, ids: Iterable[str], language: str) -> None:
    """Say what is spoken in recordings; it holds from their next reading on.

    ``language`` is a code such as "de", or "auto": the setting's, or what HALO finds. Raises
    SettingsError for anything else.
    """
    language_wanted(language)
    spoken = "" if language.lower() == "auto" else language.lower()
    update_sources({source_id: {"speech_language": spoken} for source_id in ids}, workspace)


def retry_source(workspace: Workspace, source_id: str, password: str | None = None) -> None:
    """Try a failed, cancelled or locked source again; the password is used once, never stored."""
    source = get_source(source_id, workspace)
    if not source.obtainable:
        raise NotFoundError(
            "The file itself was not kept.", code="no_original", step="Add it again."
        )
    if source.kind == ARCHIVE:  # it becomes the files inside it, or is refused again
        path = workspace.original(source.sha256 or "-")
        add_files(workspace, [Incoming(source.name, path)], password=password)
        return
    fields: dict[str, Any] = {"error": None}
    if not source.answerable:
        fields["status"] = "queued"
    job = Job(source_id=source_id)
    if source.status == "text_ready" and source.revision:
        job.revision = source.revision
    with jobs.queueing(workspace):
        update_sources({source_id: fields}, workspace)
        if any(queued.source_id == source_id for queued in jobs.all_jobs(workspace)):
            return
        if password is not None:
            jobs.give_password(job.id, password)
        jobs.put(workspace, job)


def fetch_again(workspace: Workspace, source_id: str) -> None:
    """Ask for a link's page again. What came before answers until the new text is whole; nothing
    changes where the page did not. Raises NotFoundError, UserInputError."""
    source = get_source(source_id, workspace)
    if not source.url:
        raise UserInputError("This source did not come from a link.", code="no_link")
    if not source.answerable:
        retry_source(workspace, source_id)
        return
    with jobs.queueing(workspace):
        update_sources({source_id: {"error": None}}, workspace)
        if all(queued.source_id != source_id for queued in jobs.all_jobs(workspace)):
            jobs.put(workspace, Job(source_id=source_id, fetch=True))


def cancel_source(workspace: Workspace, source_id: str) -> None:
    """Stop the work on a source. What is committed stays; a source without text is cancelled."""
    for job in jobs.all_jobs(workspace):
        if job.source_id == source_id:
            jobs.request_cancel(workspace, job.id)
            if not jobs.is_taken(workspace, job.revision):
                end_cancelled(workspace, job)


def end_cancelled(workspace: Workspace, job: Job) -> None:
    """Record that a job was cancelled and forget it."""
    try:
        source = get_source(job.source_id, workspace)
    except NotFoundError:
        pass
    else:
        if source.revision is None:
            update_sources({source.id: {"status": "cancelled", "error": None}}, workspace)
        elif source.revision == job.revision:
            stopped = HaloError(
                "The making of vectors was stopped.", code="vectors_stopped", step="Try again."
            )
            update_sources({source.id: {"error": stopped.as_dict()}}, workspace)
    jobs.remove(workspace, job.id)


def resume_missing_jobs(workspace: Workspace) -> None:
    """Give every unfinished source without a job a new one: its process died in between."""
    if not _without_job(workspace):
        return
    with jobs.queueing(workspace):  # nobody is between a record and its job now
        for source in _without_job(workspace):
            job = Job(source_id=source.id)
            if source.revision:
                job.revision = source.revision
            jobs.put(workspace, job)


def _without_job(workspace: Workspace) -> list[Source]:
    """Unfinished sources that no job names. The jobs are read last: a job goes after its commit."""
    sources = load_sources(workspace)
    with_job = {job.source_id for job in jobs.all_jobs(workspace)}
    unfinished = [
        source
        for source in sources
        if source.obtainable
        and source.id not in with_job
        and (source.status in ("queued", "reading") or _lacks_vectors(source))
    ]
    if not unfinished:
        return []
    now = {source.id: source for source in load_sources(workspace)}
    return [s for s in unfinished if s.id in now and now[s.id].status == s.status]


def _lacks_vectors(source: Source) -> bool:
    return source.status == "text_ready" and source.error is None


# --- names of the reference system ----------------------------------------------------------------


def infer_type_label(filename: str, data: bytes | None = None) -> str:
    """The label of a file's kind, from its bytes where given, else from its name; else "Doc"."""
    if data:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            try:
                return KINDS[sniff(Path(file.name), filename)].type_label
            except UserInputError:
                return "Doc"
    suffix = Path(filename).suffix.lower()
    return next((k.type_label for k in KINDS.values() if suffix in k.extensions), "Doc")


def extract_document_payload(filename: str, data: bytes) -> dict[str, str]:
    """``{title, type_label, body}`` of a file. Raises ValueError when it cannot be read."""
    try:
        body = extract_text_from_bytes(filename, data)
    except UserInputError as error:
        raise ValueError(str(error)) from error
    return {"title": filename, "type_label": infer_type_label(filename, data), "body": body}


def load_directory_documents(directory: str | Path) -> list[dict[str, str]]:
    """``{title, type_label, body, source_path}`` of each readable file below a folder.

    Raises ValueError when there is none.
    """
    try:
        paths = folder_files(str(directory))
    except UserInputError as error:
        raise ValueError(str(error)) from error
    return [
        extract_document_payload(path.name, path.read_bytes()) | {"source_path": str(path)}
        for path in paths
    ]


def ingest_source_content(title: str, body: str, meta: str = "") -> None:
    """Add a text to the first notebook; the running workspace, or the next one, indexes it."""
    workspace = open_workspace()
    added = add_text(workspace, title, body)
    if meta and added.source_id:
        update_sources({added.source_id: {"meta": meta}}, workspace)
