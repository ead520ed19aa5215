"""Taking away what no committed record names: leftovers of killed processes, expired deletions.

A sweep touches nothing that somebody works on (their revision's lock is held) and looks at
sources.json again after it has the lock. It does not run at all when sources.json is missing or
was just restored from a copy, because then what looks like a leftover may be the user's work.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from services import jobs, probes, trash
from services.lance import VectorTable, connect, drop_table, open_table
from services.storage import load_sources
from services.unpacking import FOLDERS
from services.workspace import Workspace

INCOMING_GRACE = 3600.0
"""Seconds an unnamed original may wait for its record."""
ROWS_GRACE = 600.0
"""Seconds that rows of a replaced revision stay for readers that have it in hand."""


def may_sweep(workspace: Workspace) -> bool:
    """False when the notebook's own list of sources cannot be trusted to be complete."""
    restored = any(notice.params.get("file") == "sources.json" for notice in workspace.notices())
    return workspace.sources_file.path.exists() and not restored


def sweep(workspace: Workspace) -> int:
    """Clear leftovers; returns how many revisions, documents and originals were taken away."""
    if not may_sweep(workspace):
        return 0
    with workspace.lock("sweep", wait=False) as mine:
        if not mine:
            return 0
        _expire(workspace)
        taken = _sweep_rows(workspace) + _sweep_documents(workspace) + _sweep_originals(workspace)
        trash.empty_leftovers(workspace)
        _clear_unfinished_writes(workspace)
        return taken


def _expire(workspace: Workspace) -> None:
    """Forget deletions that can no longer be undone; the rest of the sweep then takes the files."""
    for entry in trash.entries(workspace):
        old = time.time() - float(entry["at"])
        if trash.expired(entry) or (entry["kind"] == "revision" and old > ROWS_GRACE):
            shutil.rmtree(trash.notebook(workspace.home, entry["id"]), ignore_errors=True)
            trash.remove(workspace, entry["id"])


def _kept(workspace: Workspace) -> tuple[set[str], set[str]]:
    """Revisions and originals that a record, a deletion or a job still names."""
    revisions = {source.revision for source in load_sources(workspace) if source.revision}
    originals = {source.sha256 for source in load_sources(workspace) if source.sha256}
    for entry in trash.entries(workspace):
        rows = entry["content"] if entry["kind"] == "sources" else []
        revisions |= {row["revision"] for row in rows if row.get("revision")}
        originals |= {row["sha256"] for row in rows if row.get("sha256")}
        if entry["kind"] == "revision":
            revisions.add(entry["content"]["revision"])
    for job in jobs.all_jobs(workspace):
        revisions.add(job.revision)
        if job.fields.get("sha256"):
            originals.add(job.fields["sha256"])
    return revisions, originals


def _source_ids(workspace: Workspace) -> set[str]:
    """Sources that a record, a deletion or a job still names."""
    ids = {source.id for source in load_sources(workspace)}
    ids |= {job.source_id for job in jobs.all_jobs(workspace)}
    for entry in trash.entries(workspace):
        if entry["kind"] == "sources":
            ids |= {row["id"] for row in entry["content"]}
    return ids


def _leftover(workspace: Workspace, revision: str) -> bool:
    """True when nobody works on a revision and no record names it, looked at under its lock."""
    with workspace.lock(revision, wait=False) as free:
        left = free and revision not in _kept(workspace)[0]
        if left:
            (workspace.locks / f"{revision}.lock").unlink(missing_ok=True)
        return left


def _tables(workspace: Workspace) -> Iterator[tuple[str, VectorTable]]:
    for name in connect(workspace.vector_uri).list_tables().tables:
        table = open_table(workspace.vector_uri, name) if name.startswith("sources") else None
        if table is not None:
            yield name, table


def _sweep_rows(workspace: Workspace) -> int:
    taken = 0
    in_use = {source.table for source in load_sources(workspace) if source.table}
    at_work = bool(jobs.all_jobs(workspace))
    for name, table in list(_tables(workspace)):
        if not at_work and table.worn():
            with probes.compared(workspace):
                table.tidy()
        kept, _ = _kept(workspace)
        dead = [
            revision
            for revision in table.revisions()
            if revision not in kept and _leftover(workspace, revision)
        ]
        if dead:
            table.delete(dead)
            taken += len(dead)
        if in_use and not at_work and name not in in_use and table.count() == 0:
            drop_table(workspace.vector_uri, name)
    return taken


def _sweep_documents(workspace: Workspace) -> int:
    taken = 0
    kept, _ = _kept(workspace)
    known = _source_ids(workspace)
    for folder in [path for path in workspace.documents.iterdir() if path.is_dir()]:
        files = [path for path in folder.iterdir() if path.name != Workspace.RECORD_COPY]
        for path in files:
            revision = path.name.split(".")[0]
            if revision not in kept and _leftover(workspace, revision):
                trash.set_aside(workspace, path)
                taken += 1
        rest = [path.name for path in folder.iterdir()]
        if folder.name not in known and rest in ([], [Workspace.RECORD_COPY]):
            shutil.rmtree(folder, ignore_errors=True)
    return taken


def _sweep_originals(workspace: Workspace) -> int:
    taken = 0
    _, kept = _kept(workspace)
    for path in list(workspace.originals.iterdir()):
        if path.name not in kept and _age(path) > INCOMING_GRACE:
            trash.set_aside(workspace, path)
            taken += 1
    return taken


def _clear_unfinished_writes(workspace: Workspace) -> None:
    """Temporary files of writers that were killed before their rename."""
    for folder in (workspace.root, workspace.jobs, workspace.chats, workspace.trash):
        for path in folder.glob("*.tmp"):
            if _age(path) > INCOMING_GRACE:
                path.unlink(missing_ok=True)
    for path in workspace.root.glob(f"{FOLDERS}*"):
        if _age(path) > INCOMING_GRACE:
            shutil.rmtree(path, ignore_errors=True)


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
