"""A notebook's folder: where everything lies, whose folder it is, and what went wrong with it.

``Workspace(home, "")`` is the first notebook and sits at the top of the data folder; further
notebooks sit under ``notebooks/<id>/`` with the same set of files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from filelock import FileLock, Timeout

from services import settings
from services.errors import ForeignFolderError, NewerFormatError, NotFoundError, from_os_error
from services.jsonfile import JsonFile, read_json
from services.models import new_id, now

FORMAT = 1
"""Version of the folder's layout, stored in config.json; its absence marks a foreign folder."""

LOST_FINDS = "lost-finds.json"
"""End of the name of a note that work on the index lost finds (``services.probes``)."""
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class Notice:
    """Something about the folder the user must hear: a damaged file was moved aside."""

    id: str
    code: str
    message: str
    params: dict[str, Any]


@dataclass(frozen=True)
class Workspace:
    """One notebook. ``home`` is the data folder, ``id`` "" or 32 hex digits."""

    home: Path
    id: str = ""

    RECORD_COPY: ClassVar[str] = "source.json"
    """Name of the copy of a source's record beside its documents, for rebuilding the list."""

    @property
    def root(self) -> Path:
        return self.home / "notebooks" / self.id if self.id else self.home

    @property
    def originals(self) -> Path:
        return self.root / "originals"

    @property
    def documents(self) -> Path:
        return self.root / "documents"

    @property
    def jobs(self) -> Path:
        return self.root / "jobs"

    @property
    def trash(self) -> Path:
        return self.root / "trash"

    @property
    def locks(self) -> Path:
        return self.root / "locks"

    @property
    def chats(self) -> Path:
        return self.root / "chat_history"

    @property
    def quarantine(self) -> Path:
        return self.root / "quarantine"

    def file(self, name: str, empty: Any) -> JsonFile:
        """The JSON file ``name`` of this notebook; ``empty``: its value before the first write."""
        path, objects = self.root / name, isinstance(empty, list)
        return JsonFile(path, empty, self.locks, self.quarantine, objects=objects)

    @property
    def sources_file(self) -> JsonFile:
        return self.file("sources.json", [])

    @property
    def config_file(self) -> JsonFile:
        return self.file("config.json", {})

    def original(self, sha256: str) -> Path:
        """Where the bytes with this SHA-256 (hex) lie."""
        return self.originals / sha256

    def document(self, source_id: str, revision: str) -> Path:
        """Where the parsed document of a revision lies."""
        return self.documents / source_id / f"{revision}.json"

    @contextmanager
    def lock(self, name: str, *, wait: bool = True) -> Iterator[bool]:
        """Hold the OS lock ``name`` (it dies with the process). Yields False when it is taken
        and ``wait`` is False."""
        handle = self.take_lock(name, wait=wait)
        if handle is None:
            yield False
            return
        try:
            yield True
        finally:
            handle.release()

    def take_lock(self, name: str, *, wait: bool = True) -> FileLock | None:
        """Take the OS lock ``name``; it may be released in another thread. None when it is taken
        and ``wait`` is False. Raises StorageError."""
        handle = FileLock(self.locks / f"{name}.lock", thread_local=False)
        try:
            self.locks.mkdir(parents=True, exist_ok=True)
            handle.acquire(timeout=-1 if wait else 0)
        except Timeout:
            return None
        except OSError as error:
            raise from_os_error(error, "locking the data folder") from error
        return handle

    def notices(self) -> list[Notice]:
        """What happened to this folder and was not dismissed yet, oldest first."""
        if not self.quarantine.is_dir():
            return []
        return [_notice(path) for path in sorted(self.quarantine.glob("[0-9]*.json*"))]

    def dismiss_notice(self, notice_id: str) -> None:
        """Stop showing a notice; the file set aside stays where it is. Raises StorageError."""
        for path in self.quarantine.glob("[0-9]*.json*"):
            if path.name == notice_id:
                try:
                    path.rename(path.with_name(f"seen-{path.name}.kept"))
                except FileNotFoundError:
                    return  # another tab was quicker
                except OSError as error:
                    raise from_os_error(error, "putting a notice away") from error

    def stamp(self) -> str:
        """A cheap fingerprint of the notebook's files; it differs after any process's commit."""
        names = (
            "sources.json",
            "studio_notes.json",
            "studio_outputs.json",
            "config.json",
            "conversations.json",
        )
        paths = [self.root / name for name in names]
        return "-".join(
            str(folder_stamp(path)) for path in (*paths, self.jobs, self.chats, self.quarantine)
        )

    @property
    def vector_uri(self) -> str:
        """Where this notebook's LanceDB tables live; a prefix of its own below a remote address."""
        base = settings.setting("HALO_VECTOR_URI")
        if base is None:
            return str(self.root / "lancedb")
        key = self.config_file.read()["workspace_id"]
        return f"{base.rstrip('/')}/{key}"


def folder_stamp(path: Path) -> int:
    """When a folder's entries or a file last changed, in ns; 0 when it is not there."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def _notice(path: Path) -> Notice:
    if path.name.endswith(LOST_FINDS):
        found = read_json(path)
        count, asked = len(found["lost"]), found["asked"]
        first = "; ".join(f"“{question}”" for question in found["lost"][:3])
        return Notice(
            path.name,
            "finds_lost",
            f"After work on the index, {count} of {asked} recent questions no longer find all that "
            f"they found before: {first}.",
            {"n": count, "asked": asked, "questions": first},
        )
    name = path.name.removesuffix(".missing").split("-", 1)[-1]
    if path.name.endswith(".missing"):
        return Notice(
            path.name,
            "file_missing",
            f"The file {name} had disappeared. HALO put its last good copy back.",
            {"file": name},
        )
    return Notice(
        path.name,
        "file_damaged",
        f"The file {name} was damaged. HALO uses its last good copy and kept the damaged file "
        f"as {path.name} in the folder “quarantine”.",
        {"file": name, "kept": path.name},
    )


def is_foreign(home: Path) -> bool:
    """True for a folder with somebody else's state: HALO Core's JSON or table without our mark.

    The mark is looked for last: HALO makes it first, so a folder that another process is just
    preparing, or was killed over, is never taken for a foreign one.
    """
    state = ("sources.json", "studio_notes.json", "studio_outputs.json", "chat_history")
    if not (any((home / name).exists() for name in state) or any(home.glob("lancedb/*.lance"))):
        return False
    if (home / "config.json").exists() or any(home.glob("config.json.bak*")):
        return "halo_format" not in Workspace(home).config_file.read()
    return True


def open_workspace(notebook: str | None = None) -> Workspace:
    """The notebook with this id or title (None: the first one), its folders made if needed.

    Raises ForeignFolderError for a folder written by HALO Core (it is left untouched),
    NewerFormatError for one of a later version, NotFoundError, StorageError.
    """
    home = settings.data_dir()
    _prepare(Workspace(home))
    if not notebook:
        return Workspace(home)
    for found in workspaces(home):
        title = str(found.config_file.read().get("title", ""))
        if notebook == found.id or notebook.casefold() == title.casefold():
            _prepare(found)
            return found
    raise NotFoundError(
        f"There is no notebook “{notebook}”.", step="Check its name.", notebook=notebook
    )


def create_workspace(title: str) -> Workspace:
    """A further, empty notebook with this title."""
    workspace = Workspace(settings.data_dir(), new_id())
    _prepare(workspace)
    workspace.config_file.update(lambda config: config | {"title": title})
    return workspace


def workspaces(home: Path | None = None) -> list[Workspace]:
    """The first notebook and all further ones, in the order they were made."""
    home = home or settings.data_dir()
    folder = home / "notebooks"
    further = (
        [path for path in folder.iterdir() if _ID.fullmatch(path.name) and path.is_dir()]
        if folder.is_dir()
        else []
    )
    found = [Workspace(home, path.name) for path in further]
    found.sort(key=lambda workspace: str(workspace.config_file.read().get("created_at", "")))
    return [Workspace(home), *found]


def _prepare(workspace: Workspace) -> None:
    """Make the folders and mark them as ours; cheap when that was done before."""
    root = workspace.root
    try:
        if is_foreign(root):
            raise ForeignFolderError(
                f"The folder {root.name} was written by another program (HALO Core). "
                "HALO left it untouched.",
                step="Set HALO_DATA_DIR to a new, empty folder.",
                folder=str(root),
            )
    except OSError as error:
        raise from_os_error(error, f"opening the data folder {root}") from error
    config = workspace.config_file.read()
    if not config.get("halo_format"):
        mark = {"halo_format": FORMAT, "workspace_id": new_id(), "created_at": now()}
        workspace.config_file.update(
            lambda stored: None if "halo_format" in stored else stored | mark
        )
    elif config["halo_format"] > FORMAT:
        raise NewerFormatError(
            "This data folder was written by a newer version of HALO.",
            step="Update HALO, or set HALO_DATA_DIR to another folder.",
            found=config["halo_format"],
        )
    try:
        for folder in (
            workspace.originals,
            workspace.documents,
            workspace.jobs,
            workspace.locks,
            workspace.chats,
        ):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise from_os_error(error, f"opening the data folder {root}") from error
