"""Is everything there that the records name? And what can be mended when it is not.

The index can be rebuilt from originals/ and documents/ alone; so can the list of sources, because
each document's folder keeps a copy of its record.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from services import embeddings, jobs, lance, probes, sweep
from services.embeddings import get_embedder
from services.errors import DamagedFileError, HaloError, StorageError
from services.ingestion import reindex_sources, resume_missing_jobs
from services.jsonfile import JsonFile, dump, write_bytes
from services.lance import open_table
from services.models import Note, Source, Stored
from services.settings import cache_dir, embedder_name
from services.storage import history_file, load_notes, load_sources
from services.tables import embedder_change
from services.workspace import Workspace


@dataclass(frozen=True)
class Check:
    """One thing looked at: its name, whether it is as it should be, and a sentence."""

    name: str
    ok: bool
    says: str

    def as_dict(self) -> dict[str, Any]:
        return {"name": self.name, "ok": self.ok, "says": self.says}


def examine(workspace: Workspace) -> list[Check]:
    """Look at everything; a fault in one check never hides the others."""
    checks: list[tuple[str, Callable[[Workspace], tuple[bool, str]]]] = [
        ("data folder", _folder),
        ("list of sources", _sources),
        ("conversations and notes", _writings),
        ("originals", _originals),
        ("documents", _documents),
        ("index", _index),
        ("recent questions", _questions),
        ("embedder", _embedder),
        ("work", _work),
    ]
    found = []
    for name, check in checks:
        try:
            ok, says = check(workspace)
        except HaloError as error:
            ok, says = False, str(error)
        found.append(Check(name, ok, says))
    return found


def _folder(workspace: Workspace) -> tuple[bool, str]:
    probe = workspace.root / ".halo-probe"
    write_bytes(probe, b"probe")
    probe.unlink()
    free = shutil.disk_usage(workspace.root).free
    enough = free > 500_000_000
    says = f"{workspace.root} can be written, {free / 1e9:.1f} GB free"
    return enough, says if enough else f"{says}; that is little"


def _sources(workspace: Workspace) -> tuple[bool, str]:
    sources = load_sources(workspace)
    notices = [notice for notice in workspace.notices() if notice.code != "finds_lost"]
    if notices:
        return False, " ".join(notice.message for notice in notices)
    bad = [s.name for s in sources if s.status in ("failed", "needs_password", "cancelled")]
    says = f"{len(sources)} sources"
    return True, says + (f", {len(bad)} of them not readable" if bad else "")


def _writings(workspace: Workspace) -> tuple[bool, str]:
    damaged = [file.path.name for file in _damaged(workspace)]
    if damaged:
        return False, f"{len(damaged)} damaged without a copy: {', '.join(damaged[:5])}"
    return True, f"{len(list(workspace.chats.glob('*.json')))} conversations, all readable"


def _originals(workspace: Workspace) -> tuple[bool, str]:
    named = [s for s in load_sources(workspace) if s.sha256]
    missing = [s.name for s in named if not workspace.original(s.sha256 or "-").is_file()]
    return not missing, _missing(missing, f"all {len(named)} there")


def _documents(workspace: Workspace) -> tuple[bool, str]:
    named = [s for s in load_sources(workspace) if s.answerable]
    missing = [s.name for s in named if not workspace.document(s.id, s.revision or "-").is_file()]
    return not missing, _missing(missing, f"all {len(named)} there")


def _missing(names: list[str], otherwise: str) -> str:
    if not names:
        return otherwise
    return f"{len(names)} missing: {', '.join(names[:5])}. “halo doctor --repair” reads them again."


def _short_of_rows(workspace: Workspace) -> list[Source]:
    """Answerable sources whose passages are not all in the table their record names."""
    short = []
    counts: dict[str, dict[str, int]] = {}
    for source in load_sources(workspace):
        if not source.answerable:
            continue
        name = source.table or ""
        if name not in counts:
            table = open_table(workspace.vector_uri, name) if name else None
            counts[name] = table.revisions() if table else {}
        if counts[name].get(source.revision or "", 0) != source.chunks:
            short.append(source)
    return short


def _index(workspace: Workspace) -> tuple[bool, str]:
    short = _short_of_rows(workspace)
    total = sum(source.chunks for source in load_sources(workspace) if source.answerable)
    return not short, _missing([s.name for s in short], f"{total} passages, all there")


def _questions(workspace: Workspace) -> tuple[bool, str]:
    compared = probes.last(workspace)
    if compared is None:
        return True, "the index was not rebuilt since they were asked"
    asked, lost = compared
    if not lost:
        return True, f"{asked} find after work on the index what they found before"
    named = "; ".join(f"“{question}”" for question in lost[:5])
    return False, f"{len(lost)} of {asked} find less than before work on the index: {named}"


def _embedder(workspace: Workspace) -> tuple[bool, str]:
    change = embedder_change(workspace)
    if change is not None:
        return False, f"{change.message} “halo reindex” does that."
    if embedder_name() == "local" and not embeddings.prepared():
        return True, f"bundled, not converted yet; will be, once, into {cache_dir()}"
    identity = get_embedder().identity
    return True, f"{identity.provider}: {identity.model}, {identity.dimension} dimensions"


def _work(workspace: Workspace) -> tuple[bool, str]:
    waiting = jobs.all_jobs(workspace)
    running = sum(jobs.is_taken(workspace, job.revision) for job in waiting)
    return True, f"{len(waiting)} jobs, {running} of them running" if waiting else "none waiting"


def repair(workspace: Workspace) -> list[str]:
    """Mend what can be mended; returns a sentence for each thing done.

    Rebuilds a damaged list of sources from the copies of its records, sets damaged conversations
    and notes and an unreadable index aside, queues sources whose document or passages are gone, and
    clears leftovers. The queued work is done by the next ``halo add``, ``halo reindex`` or the
    running workspace.
    """
    done = []
    try:
        load_sources(workspace)
    except DamagedFileError:
        count = _rebuild_sources(workspace)
        done.append(f"the list of sources was rebuilt: {count} records")
    for file in _damaged(workspace):
        _set_aside(workspace, file)
        done.append(f"the damaged file {file.path.name} was set aside in “quarantine”")
    try:
        broken = {source.id for source in _short_of_rows(workspace)}
    except StorageError:
        _set_index_aside(workspace)
        done.append("the unreadable index was set aside in “quarantine”")
        broken = {source.id for source in load_sources(workspace) if source.answerable}
    broken |= {
        source.id
        for source in load_sources(workspace)
        if source.answerable and not workspace.document(source.id, source.revision or "-").is_file()
    }
    if broken:
        reindex_sources(workspace, broken)
        done.append(f"{len(broken)} sources will be read again")
    resume_missing_jobs(workspace)
    taken = sweep.sweep(workspace)
    if taken:
        done.append(f"{taken} leftovers were taken away")
    return done


def _damaged(workspace: Workspace) -> list[JsonFile]:
    """The files of conversations, notes and outputs that cannot be read as they are."""
    histories = [path.stem for path in workspace.chats.glob("*.json")]
    names = ("studio_outputs.json", "conversations.json")
    files = [workspace.file(name, []) for name in names]
    files += [history_file(key, workspace) for key in histories if len(key) == 32]
    found = []
    for file, read in [
        *((file, file.read) for file in files),
        (workspace.file("studio_notes.json", []), lambda: load_notes(workspace)),
    ]:
        try:
            read()
        except DamagedFileError:
            found.append(file)
    return found


def _aside(workspace: Workspace, name: str) -> Path:
    """A place in quarantine that is not told about again."""
    workspace.quarantine.mkdir(parents=True, exist_ok=True)
    return workspace.quarantine / f"seen-{time.strftime('%Y%m%dT%H%M%S')}-{name}"


def _set_aside(workspace: Workspace, file: JsonFile) -> None:
    """Move a file and its copies into quarantine; entries that are whole stay."""
    model = Note if file.path.name == "studio_notes.json" else None
    with file.locked():
        rows = _readable_rows(file.path, model)
        for path in sorted(file.path.parent.glob(f"{file.path.name}*")):
            path.replace(_aside(workspace, path.name))
        if rows:
            write_bytes(file.path, dump(rows))
    _dismiss(workspace, file.path.name)


def _dismiss(workspace: Workspace, name: str) -> None:
    """The notices about a file that is mended now."""
    for notice in workspace.notices():
        if notice.params.get("file") == name:
            workspace.dismiss_notice(notice.id)


def _set_index_aside(workspace: Workspace) -> None:
    """Move the local table away; one that lies elsewhere is dropped by name when it is rebuilt."""
    folder = Path(workspace.vector_uri)
    lance.forget(workspace.vector_uri)
    if folder.is_dir():
        folder.replace(_aside(workspace, folder.name))


def _rebuild_sources(workspace: Workspace) -> int:
    """Write sources.json afresh: what can still be read of it, and else the record copies in
    documents/. Returns how many."""
    rows = [row for row in _readable_rows(workspace.sources_file.path, Source) if row.get("id")]
    known = {row["id"] for row in rows}
    for folder in sorted(workspace.documents.iterdir()):
        try:
            row = json.loads((folder / Workspace.RECORD_COPY).read_bytes())
        except (OSError, ValueError):
            continue
        if row.get("id") in known:
            continue
        row["status"], row["error"] = "queued", None
        row["revision"], row["chunks"], row["vectors"] = None, 0, 0
        if workspace.original(str(row.get("sha256") or "-")).is_file():
            rows.append(row)
    with workspace.sources_file.locked():
        shutil.copy2(workspace.sources_file.path, _aside(workspace, "sources.json"))
        write_bytes(workspace.sources_file.path, dump(rows))
    _dismiss(workspace, workspace.sources_file.path.name)
    return len(rows)


def _readable_rows(path: Path, model: type[Stored] | None) -> list[dict[str, Any]]:
    """The entries of a file that are whole: objects, and of the ``model`` where one is named."""
    try:
        rows = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return []
    found = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, dict):
            continue
        try:
            if model:
                model.model_validate(row)
        except ValidationError:
            continue
        found.append(row)
    return found
