"""What a user does with sources: add, replace, rename, include, delete, bring back, re-index.

Everything here returns at once. Bytes are on disk and the record is committed when a function
returns; the work itself is queued in jobs/ and done by ``pipeline``.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from services import jobs, trash, unpacking
from services.errors import HaloError, NotFoundError, PasswordNeededError, UserInputError
from services.intake import Added, Incoming, folder_files, shown_name, take_in
from services.jsonfile import read_json
from services.models import Document, Job, Source, SourceStatus
from services.parsers import KINDS, extract_text_from_bytes, sniff
from services.speech import language_wanted
from services.storage import Shared, get_source, load_sources, update_sources
from services.tables import target_table
from services.workspace import Workspace, open_workspace

_BELOW = "restore_above"
"""Key of a deleted row for the id of the row that stood below it."""
_passwords: dict[str, str] = {}
"""Passwords by job id, in memory only, each used once."""


_ARCHIVE = "zip"
_UNITS = {
    "xlsx": "sheet", "xls": "sheet", "ods": "sheet", "pptx": "slide", "odp": "slide",
    "epub": "chapter", "mail": "message", "audio": "second", "video": "second",
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


# --- adding ------------------------------------------------------------------------------------


def add_files(
    workspace: Workspace,
    files: Sequence[Incoming],
    *,
    same_name: Literal["keep", "replace", "ask"] = "keep",
    password: str | None = None,
    origin: str = "file",
) -> list[Added]:
    """Take files in and queue their reading; one commit for all of them.

    The same bytes again are a ``duplicate`` of the source that is there (one that failed or was
    cancelled is tried again instead). Another file of the same name is kept beside the first,
    replaces it, or is left waiting for an answer, as ``same_name`` says. A file that cannot be
    taken in is ``refused`` with its reason and stops none of the others. An archive is taken in as
    the files inside it, or refused as a whole.
    Raises StorageError and DiskFullError.
    """
    taken: list[Added] = []
    opened: set[str] = set()
    for file in files:
        item = take_in(workspace, file)
        if item.sha256 and unpacking.is_archive(workspace.original(item.sha256)):
            found = unpacking.members(workspace, item, password)
            taken += found
            if any(one.meta for one in found):
                opened.add(item.name)
        else:
            taken.append(item)
    return _record(workspace, taken, same_name, password, origin, opened=opened)


def add_children(workspace: Workspace, parent: Source, taken: list[Added]) -> list[Added]:
    """Make sources of a source's attachments and name them in its record, in one commit.

    What is there already becomes no second source, so doing this again after a kill changes
    nothing. Attachments of a source that was deleted meanwhile are dropped.
    """
    wanted = [item for item in taken if item.outcome == "queued"]
    return _record(workspace, wanted, "keep", None, "file", parent=parent)


def settle_same_name(workspace: Workspace, added: Added, *, replace: bool) -> Added:
    """Answer the question of an ``Added`` with outcome ``same_name``."""
    waiting = dataclasses.replace(added, outcome="queued", source_id=None)
    return _record(workspace, [waiting], "replace" if replace else "keep", None, "file")[0]


def add_text(workspace: Workspace, title: str, body: str, *, origin: str = "text") -> Added:
    """Add pasted text as a source. Raises UserInputError when there is none."""
    if not body.strip():
        raise UserInputError("There is no text to add.", code="empty_text", step="Paste some text.")
    first = next(line for line in body.splitlines() if line.strip())
    name = shown_name(title.strip() or first.strip("# ").strip()[:80])
    data = body.encode("utf-8", "replace")
    return add_files(workspace, [Incoming(name, data)], origin=origin)[0]


def _record(
    workspace: Workspace,
    taken: list[Added],
    same_name: Literal["keep", "replace", "ask"],
    password: str | None,
    origin: str,
    *,
    opened: Set[str] = frozenset(),
    parent: Source | None = None,
) -> list[Added]:
    """Give each taken file its record and job: records first, in one commit, then jobs, so that a
    deleted source never comes back through its job.

    ``opened`` names archives whose earlier refusal is settled, ``parent`` the source that the files
    are attached to.
    """
    results: list[Added] = []
    queued: list[Job] = []

    def change(rows: list[Shared]) -> list[Shared] | None:
        results.clear()
        queued.clear()
        above = next((row for row in rows if parent and row.get("id") == parent.id), None)
        if parent and above is None:
            return None
        records = _Records(rows, taken)
        for item in taken:
            known = records.with_content(item)
            twin = records.with_name(item)
            if item.outcome == "refused":
                is_empty = (item.error or {}).get("code") == "empty_file"
                if item.size == 0 and not is_empty and not item.meta:
                    results.append(item)  # there was never a file
                    continue
                before = records.refused_before(item) or {}
                kept = {key: before[key] for key in ("id", "created_at") if key in before}
                refused = {**_failed_row(item, origin), **kept}
                records.put(refused)
                results.append(dataclasses.replace(item, source_id=refused["id"]))
            elif known and known["status"] not in ("failed", "cancelled", "needs_password"):
                results.append(
                    dataclasses.replace(item, outcome="duplicate", source_id=known["id"])
                )
            elif known or (twin and same_name == "replace"):
                row = known or twin or {}
                if row.get("revision"):
                    job = Job(source_id=row["id"], fields=_file_fields(item))
                else:
                    records.put({**row, **_file_fields(item), "status": "queued", "error": None})
                    job = Job(source_id=row["id"])
                queued.append(job)
                results.append(dataclasses.replace(item, source_id=row["id"]))
            elif twin and same_name == "ask":
                results.append(dataclasses.replace(item, outcome="same_name", source_id=twin["id"]))
            else:
                source = _source(item, origin, parent).model_copy(update=_file_fields(item))
                records.put(source.model_dump(mode="json"))
                queued.append(Job(source_id=source.id))
                results.append(dataclasses.replace(item, source_id=source.id))
        if above is not None:
            ids = [item.source_id for item in results if item.source_id]
            records.put({**above, "children": list(dict.fromkeys(ids))})
        records.settle(opened)
        return records.rows() if records.changed else None

    with jobs.queueing(workspace):
        workspace.sources_file.update(change)
        for job in queued:
            if password is not None:
                _passwords[job.id] = password
            jobs.put(workspace, job, durable=bool(job.fields))
    return results


class _Records:
    """The rows of sources.json while files are taken in, found by content and by name; new ones
    come in front, the last first."""

    def __init__(self, rows: list[Shared], items: Sequence[Added]) -> None:
        names = {item.name for item in items}
        contents = {item.sha256 for item in items if item.sha256}
        self._rows = rows[::-1]
        self._at: dict[str, int] = {}
        self._by_content: dict[str, int] = {}
        self._by_name: dict[str, int] = {}
        self._refused: dict[tuple[str, str], int] = {}
        for at, row in enumerate(self._rows):
            self._at[str(row.get("id"))] = at
            if row.get("name") in names or row.get("sha256") in contents:
                self._index(at)
        self.changed = False

    def _index(self, at: int) -> None:
        row = self._rows[at]
        self._at[str(row.get("id"))] = at
        failed = row.get("status") == "failed" or _is_closed(row)
        if row.get("sha256") and not _is_closed(row):
            self._by_content[row["sha256"]] = at
            if not failed:
                self._by_name[row["name"]] = at
        elif failed:
            self._refused[row["name"], row.get("meta") or ""] = at

    def put(self, row: Shared) -> None:
        at = self._at.get(row["id"])
        if at is None:
            at = len(self._rows)
            self._rows.append(row)
        else:
            self._rows[at] = row
        self._index(at)
        self.changed = True

    def settle(self, names: Set[str]) -> None:
        """Forget the refusals of archives that were opened now."""
        kept = [row for row in self._rows if not _is_closed(row) or row.get("name") not in names]
        self.changed = self.changed or len(kept) < len(self._rows)
        self._rows = kept

    def rows(self) -> list[Shared]:
        return self._rows[::-1]

    def with_content(self, item: Added) -> Shared | None:
        at = self._by_content.get(item.sha256 or "")
        found = None if at is None else self._rows[at]
        return found if found and found.get("sha256") == item.sha256 else None

    def with_name(self, item: Added) -> Shared | None:
        """The newest source of this name whose file was read or is being read."""
        at = self._by_name.get(item.name)
        return None if at is None else self._rows[at]

    def refused_before(self, item: Added) -> Shared | None:
        """The record of the same file refused before: it is updated, not doubled."""
        at = self._refused.get((item.name, item.meta))
        return None if at is None else self._rows[at]


def _is_closed(row: Shared) -> bool:
    """Whether a record stands for a file that was refused: an archive, or bytes not kept."""
    return not row.get("sha256") or row.get("kind") == _ARCHIVE


def _file_fields(item: Added) -> dict[str, Any]:
    return {"sha256": item.sha256, "size": item.size, "file_name": item.name}


def _source(item: Added, origin: str, parent: Source | None) -> Source:
    source = Source(name=item.name, origin=origin, meta=item.meta)
    if parent is None:
        return source
    meta = f"from {parent.name}" + (f": {item.meta}" if item.meta else "")
    return source.model_copy(update={"parent": parent.id, "depth": parent.depth + 1, "meta": meta})


def _failed_row(item: Added, origin: str) -> dict[str, Any]:
    locked = (item.error or {}).get("code") == PasswordNeededError.code and not item.meta
    failed = Source(
        name=item.name,
        meta=item.meta,
        size=item.size,
        status="needs_password" if locked else "failed",
        sha256=item.sha256,
        kind=_ARCHIVE if item.sha256 else "",
        error=item.error,
        origin=origin,
    )
    return failed.model_dump(mode="json")


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
    unit = "passage" if job.state == "embedding" else _unit_of(source)
    status: SourceStatus = source.status if source.answerable else "reading"
    return SourceView(source, status, job.done, job.total, unit)


def _unit_of(source: Source) -> str:
    """What is counted while it is read; before that its name says what kind it seems to be."""
    kind = source.kind
    if not kind:
        ending = Path(source.name).suffix.lower()
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
    clean = " ".join(shown_name(name.replace("/", "∕")).split())
    if not name.strip():
        raise UserInputError("The name is empty.", code="empty_name", step="Type a name.")
    if not update_sources({source_id: {"name": clean}}, workspace):
        get_source(source_id, workspace)


def set_selected(workspace: Workspace, ids: Iterable[str], selected: bool) -> None:
    """Include sources in questions, or leave them out."""
    update_sources({source_id: {"selected": selected} for source_id in ids}, workspace)


def delete_sources(workspace: Workspace, ids: Iterable[str]) -> str:
    """Delete sources; returns what ``restore_sources`` brings them back with for seven days.

    Raises NotFoundError when none of them is there.
    """
    wanted = set(ids)
    taken: list[dict[str, Any]] = []
    entry = ""

    def change(rows: list[Shared]) -> list[Shared] | None:
        nonlocal entry
        below = [*(row.get("id") for row in rows[1:]), None]
        taken[:] = [
            {**row, _BELOW: after}
            for row, after in zip(rows, below, strict=True)
            if row.get("id") in wanted
        ]
        if not taken:
            return None
        entry = trash.put(workspace, "sources", taken)
        return [row for row in rows if row.get("id") not in wanted]

    workspace.sources_file.update(change)
    if not taken:
        raise NotFoundError("There is no such source.", code="no_such_source")
    for job in jobs.all_jobs(workspace):
        if job.source_id in wanted:
            jobs.remove(workspace, job.id)
    return entry


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
        s for s in sources if (wanted is None or s.id in wanted) and s.sha256 and s.kind != _ARCHIVE
    ]
    if wanted is not None and not chosen:
        raise NotFoundError("There is no such source.", code="no_such_source")
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
    if not source.sha256:
        raise NotFoundError(
            "The file itself was not kept.", code="no_original", step="Add it again."
        )
    if source.kind == _ARCHIVE:  # it becomes the files inside it, or is refused again
        path = workspace.original(source.sha256)
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
            _passwords[job.id] = password
        jobs.put(workspace, job)


def take_password(job_id: str) -> str | None:
    """The password given with a job, once."""
    return _passwords.pop(job_id, None)


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
        if source.sha256
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
