"""What was deleted, for as long as it can be brought back.

A deletion writes one entry ``trash/<id>.json`` that holds the removed rows, then removes them from
their file. Bringing back puts the rows in again. Bytes of a deleted source stay where they are
until its entry expires; ``sweep`` then removes them for good.
"""

from __future__ import annotations

import datetime as dt
import json
import time
from pathlib import Path
from typing import Any

from services import jsonfile
from services.errors import NotFoundError, from_os_error
from services.models import new_id
from services.workspace import Workspace

KEEP = dt.timedelta(days=7)
"""How long a deletion can be undone."""
OFFERED = dt.timedelta(minutes=10)
"""How long a screen that is opened anew offers to undo the last deletion."""


def put(workspace: Workspace, kind: str, content: Any) -> str:
    """Keep ``content`` (JSON) of a deletion; returns the id to bring it back with. Raises
    StorageError."""
    try:
        workspace.trash.mkdir(exist_ok=True)
    except OSError as error:
        raise from_os_error(error, "deleting") from error
    entry_id = new_id()
    entry = {"id": entry_id, "kind": kind, "at": time.time(), "content": content}
    jsonfile.write_bytes(workspace.trash / f"{entry_id}.json", jsonfile.dump(entry))
    return entry_id


def get(workspace: Workspace, entry_id: str, kind: str) -> Any:
    """The content of an entry. Raises NotFoundError when it expired or never was."""
    path = workspace.trash / f"{entry_id}.json"
    try:
        entry = json.loads(path.read_bytes()) if entry_id.isalnum() else {}
    except (FileNotFoundError, ValueError):
        entry = {}
    if entry.get("kind") != kind:
        raise NotFoundError("This can no longer be brought back.", code="not_in_trash")
    return entry["content"]


def remove(workspace: Workspace, entry_id: str) -> None:
    """Forget an entry, because its content is back in place. Raises StorageError."""
    try:
        (workspace.trash / f"{entry_id}.json").unlink(missing_ok=True)
    except OSError as error:
        raise from_os_error(error, "emptying the trash") from error


def entries(workspace: Workspace) -> list[dict[str, Any]]:
    """All entries: ``{"id", "kind", "at" (seconds since 1970), "content"}``."""
    if not workspace.trash.is_dir():
        return []
    found = []
    for path in workspace.trash.glob("*.json"):
        try:
            found.append(json.loads(path.read_bytes()))
        except (FileNotFoundError, ValueError):
            continue
    return found


def newest(workspace: Workspace) -> dict[str, Any] | None:
    """The newest deletion, while it is ``OFFERED`` young and nobody waved it away."""
    if not workspace.trash.is_dir():
        return None
    since = time.time() - OFFERED.total_seconds()
    young = []
    for path in workspace.trash.glob("*.json"):
        try:
            if path.stat().st_mtime >= since:
                young.append(json.loads(path.read_bytes()))
        except (OSError, ValueError):
            continue
    kinds = ("sources", "note", "output", "conversation", "notebook")
    found = [e for e in young if e.get("kind") in kinds and float(e.get("at", 0)) >= since]
    last = max(found, key=lambda entry: float(entry["at"]), default=None)
    return None if last is None or last.get("dismissed") else last


def dismiss(workspace: Workspace, entry_id: str) -> None:
    """Never offer an entry by itself again; it can still be brought back. Raises StorageError."""
    path = workspace.trash / f"{entry_id}.json"
    try:
        entry = json.loads(path.read_bytes())
    except (FileNotFoundError, ValueError):
        return  # back in place, or gone for good
    except OSError as error:
        raise from_os_error(error, "reading the trash") from error
    jsonfile.write_bytes(path, jsonfile.dump(entry | {"dismissed": True}))


def expired(entry: dict[str, Any]) -> bool:
    """True when an entry is older than ``KEEP``."""
    return time.time() - float(entry.get("at", 0)) > KEEP.total_seconds()


def notebook(home: Path, entry_id: str) -> Path:
    """Where the folder of a deleted notebook waits."""
    return home / "trash" / "notebooks" / entry_id


def set_aside(workspace: Workspace, path: Path) -> None:
    """Move a leftover file into the trash, where it waits out the grace period."""
    folder = workspace.trash / "leftovers"
    folder.mkdir(parents=True, exist_ok=True)
    path.rename(folder / f"{new_id()[:8]}-{path.name}")


def empty_leftovers(workspace: Workspace) -> None:
    """Delete leftovers whose grace period is over."""
    folder = workspace.trash / "leftovers"
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if time.time() - path.stat().st_ctime > KEEP.total_seconds():
            path.unlink(missing_ok=True)
