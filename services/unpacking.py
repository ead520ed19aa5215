"""Files inside files on their way in: unpacked by the parsing process, then taken in like others.

What is unpacked lies in a folder of its own below the notebook until its bytes are stored under
their hash; a folder that a killed process left is cleared by the sweep.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from services.errors import ParserStoppedError, PasswordNeededError, UserInputError, from_os_error
from services.intake import Added, Incoming, shown_name, take_in
from services.parsers import sniff
from services.reading import Reader
from services.workspace import Workspace

DEEPEST = 3
"""How deep attachments of attachments are followed."""
FOLDERS = "unpacked-"


def is_archive(path: Path) -> bool:
    """Whether stored bytes are an archive and no office file."""
    try:
        with path.open("rb") as file:
            if file.read(2) != b"PK":
                return False
        return sniff(path) == "zip"
    except (UserInputError, FileNotFoundError):
        return False


def members(workspace: Workspace, archive: Added, password: str | None) -> list[Added]:
    """The members of an archive that was taken in, taken in; the archive itself, refused with the
    reason, where it cannot be unpacked. Raises StorageError and DiskFullError."""
    try:
        with Reader() as reader:
            path = workspace.original(archive.sha256 or "-")
            found = expand(workspace, reader, path, archive.name, password=password)
    except (UserInputError, ParserStoppedError) as error:
        # Only a locked archive is worth keeping: its password may come.
        kept = archive.sha256 if isinstance(error, PasswordNeededError) else None
        return [replace(archive, outcome="refused", sha256=kept, error=error.as_dict())]
    return [replace(one, meta=_short(f"{archive.name}/{one.meta or one.name}")) for one in found]


def expand(
    workspace: Workspace,
    reader: Reader,
    path: Path,
    name: str,
    *,
    password: str | None = None,
    cancelled: Callable[[], bool] | None = None,
) -> list[Added]:
    """Take in the files inside a file, each with its path inside an archive as ``meta``.

    Raises UserInputError, ParserStoppedError, CancelledError, StorageError and DiskFullError.
    """
    with _folder(workspace) as folder:
        found = reader.extract(path, name, folder=folder, password=password, cancelled=cancelled)
        return [_taken(workspace, folder, one) for one in found]


def _taken(workspace: Workspace, folder: Path, one: dict[str, Any]) -> Added:
    name, inside = shown_name(one["name"]), _short(one["inside"])
    if one["error"]:
        return Added(name, 0, "refused", error=one["error"], meta=inside)
    return replace(take_in(workspace, Incoming(name, folder / one["file"])), meta=inside)


@contextmanager
def _folder(workspace: Workspace) -> Iterator[Path]:
    folder = workspace.root / f"{FOLDERS}{uuid.uuid4().hex}"
    try:
        folder.mkdir()
    except OSError as error:
        raise from_os_error(error, "unpacking a file") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _short(text: str) -> str:
    """A path as text for a record: no control characters, bounded."""
    clean = "".join(c for c in text if c.isprintable())
    return clean if len(clean) <= 300 else f"…{clean[-299:]}"
