"""How sources come in: files, archives, attachments, texts and links become records with jobs.

Everything here returns at once. Bytes are on disk and the record is committed when a function
returns; the reading is queued in jobs/ and done by ``pipeline``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence, Set
from typing import Any, Literal

from services import jobs, unpacking
from services.errors import PasswordNeededError, UserInputError
from services.intake import Added, Incoming, shown_name, take_in
from services.links import address
from services.models import Job, Source
from services.storage import Shared
from services.workspace import Workspace

ARCHIVE = "zip"
"""Kind of the record that stands for an archive which could not be opened."""
AGAIN = frozenset({"failed", "cancelled", "duplicate", "needs_password"})
"""Statuses of a link that is fetched again when it is added again."""


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


def add_links(
    workspace: Workspace, typed: Sequence[str], *, password: str | None = None
) -> list[Added]:
    """Make sources of addresses that a user typed; the pipeline fetches them. One commit for all.

    An address that is there already is a ``duplicate`` (one that failed or was cancelled is tried
    again instead); what is no address is ``refused`` with its reason.
    """
    results: list[Added] = []
    queued: list[Job] = []

    def change(rows: list[Shared]) -> list[Shared] | None:
        results.clear()
        queued.clear()
        stored = list(rows)
        at = {row["url"]: index for index, row in enumerate(rows) if row.get("url")}
        new: dict[str, Source] = {}
        for text in typed:
            try:
                url = str(address.parse(text))
            except UserInputError as error:
                refused = Added(address.shown(text), 0, "refused", error=error.as_dict())
                results.append(dataclasses.replace(refused, origin="link"))
                continue
            known = stored[at[url]] if url in at else None
            if url in new or (known and known["status"] not in AGAIN):
                there = new[url].id if url in new else stored[at[url]]["id"]
                results.append(Added(url, 0, "duplicate", there, origin="link"))
                continue
            if known:
                stored[at[url]] = {**known, "status": "queued", "error": None}
                queued.append(Job(source_id=known["id"]))
            else:
                new[url] = Source(name=url, origin="link", type_label="Web", url=url)
                queued.append(Job(source_id=new[url].id))
            results.append(Added(url, 0, "queued", queued[-1].source_id, origin="link"))
        made = [source.model_dump(mode="json") for source in reversed(new.values())]
        return made + stored if queued else None

    with jobs.queueing(workspace):
        workspace.sources_file.update(change)
        for job in queued:
            if password is not None:
                jobs.give_password(job.id, password)
            jobs.put(workspace, job, durable=False)
    return results


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
                refused = {**_failed_row(item, origin), **records.refused_before(item)}
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
                row = {**source.model_dump(mode="json"), **records.refused_before(item)}
                records.put(row)
                queued.append(Job(source_id=row["id"]))
                results.append(dataclasses.replace(item, source_id=row["id"]))
        if above is not None:
            ids = [item.source_id for item in results if item.source_id]
            records.put({**above, "children": list(dict.fromkeys(ids))})
        records.settle(opened)
        return records.rows() if records.changed else None

    with jobs.queueing(workspace):
        workspace.sources_file.update(change)
        for job in queued:
            if password is not None:
                jobs.give_password(job.id, password)
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
        if row.get("url"):
            if row.get("sha256"):
                self._by_content[row["sha256"]] = at
        elif row.get("sha256") and not _is_closed(row):
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

    def refused_before(self, item: Added) -> dict[str, Any]:
        """What stays of the record of the same file refused before, for it is updated, not doubled;
        {} where there is none, or where another file has taken it over."""
        at = self._refused.pop((item.name, item.meta), None)
        before = self._rows[at] if at is not None else {}
        return {key: before[key] for key in ("id", "created_at") if key in before}


def _is_closed(row: Shared) -> bool:
    """Whether a record stands for a file that was refused: an archive, or bytes not kept."""
    return not row.get("url") and (not row.get("sha256") or row.get("kind") == ARCHIVE)


def _file_fields(item: Added) -> dict[str, Any]:
    return {"sha256": item.sha256, "size": item.size, "file_name": item.name}


def _source(item: Added, origin: str, parent: Source | None) -> Source:
    source = Source(name=item.name, origin=origin, meta=item.meta)
    if parent is None:
        return source
    meta = f"from {parent.name}" + (f": {item.meta}" if item.meta else "")
    above = {"parent": parent.id, "depth": parent.depth + 1, "private": parent.private}
    return source.model_copy(update={**above, "meta": meta})


def _failed_row(item: Added, origin: str) -> dict[str, Any]:
    locked = (item.error or {}).get("code") == PasswordNeededError.code and not item.meta
    failed = Source(
        name=item.name,
        meta=item.meta,
        size=item.size,
        status="needs_password" if locked else "failed",
        sha256=item.sha256,
        kind=ARCHIVE if item.sha256 else "",
        error=item.error,
        origin=origin,
    )
    return failed.model_dump(mode="json")
