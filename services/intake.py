"""Bytes on their way in: stored under their hash before anything else is done with them.

A file's name is shown, never used as a path. Bytes that were taken in but never named by a record
are cleared by the sweep.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

from services import settings
from services.errors import (
    NotFoundError,
    TooLargeError,
    UnreadableSourceError,
    UserInputError,
    from_os_error,
)
from services.jsonfile import replace_file
from services.parsers import SUPPORTED_EXTENSIONS
from services.workspace import Workspace

LONGEST_NAME = 250
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Incoming:
    """A file on its way in: the name to show and its bytes, or where to read them from: a path, or
    an open file at its start, which stays open."""

    name: str
    data: bytes | Path | BinaryIO


@dataclass(frozen=True)
class Added:
    """What became of one incoming file. ``same_name`` waits for ``settle_same_name``."""

    name: str
    size: int
    outcome: Literal["queued", "duplicate", "same_name", "refused"]
    source_id: str | None = None
    sha256: str | None = None
    error: dict[str, Any] | None = None
    meta: str = ""
    """Where it came from: its path inside an archive."""
    origin: Literal["file", "link"] = "file"


_TURNS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that turn the direction of writing: they make "gpj.exe" look like "exe.jpg"."""


def shown_name(name: str) -> str:
    """The last part of a file's name, as text: never a path, no control characters, bounded."""
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    clean = "".join(
        c
        for c in unicodedata.normalize("NFC", last)
        if unicodedata.category(c) not in ("Cc", "Cs") and c not in _TURNS
    ).strip()
    if len(clean) > LONGEST_NAME:
        stem, dot, suffix = clean.rpartition(".")
        keep = len(dot + suffix) if stem and len(suffix) <= 10 else 0
        clean = clean[: LONGEST_NAME - keep - 1] + "…" + (clean[-keep:] if keep else "")
    return clean or "unnamed"


def title_name(title: str) -> str:
    """A title as a name: on one line, its slashes no path."""
    return " ".join(shown_name(title.replace("/", "∕")).split())


def folder_files(path: str) -> list[Path]:
    """All files below a folder whose names say HALO can read them, sorted; left out are hidden ones
    and what lies in HALO's own data folder.

    Raises NotFoundError, UserInputError.
    """
    folder = Path(path.strip().strip("\"'")).expanduser()
    if not path.strip() or not folder.is_dir():
        raise NotFoundError(
            f"There is no folder “{path.strip()}”.",
            code="no_such_folder",
            step="Type the folder's full path.",
            path=path.strip(),
        )
    found = []
    own = settings.data_dir().resolve()  # what HALO keeps itself is no source
    for root, folders, names in os.walk(folder, followlinks=False):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and (Path(root) / name).resolve() != own
        )
        for name in sorted(names):
            file = Path(root) / name
            readable = file.suffix.lower() in SUPPORTED_EXTENSIONS and not name.startswith(
                (".", "~$")
            )
            if readable and file.is_file() and not file.is_symlink():
                found.append(file)
    if not found:
        raise UserInputError(
            f"The folder “{folder.name}” holds no file that HALO can read.",
            code="nothing_in_folder",
            path=str(folder),
        )
    return found


def take_in(workspace: Workspace, file: Incoming) -> Added:
    """Store the bytes under their hash. Nothing of the name ever becomes a path."""
    name = shown_name(file.name)
    incoming = workspace.originals / f".incoming-{uuid.uuid4().hex}"
    size = 0
    try:
        size, sha256 = _store(file.data, incoming)
        if size == 0:
            raise UnreadableSourceError(
                "The file is empty (0 bytes).", code="empty_file", step="Check the file itself."
            )
        target = workspace.original(sha256)
        if target.exists():
            os.utime(target)  # tells the sweep that somebody is about to name it
        else:
            replace_file(incoming, target)
        return Added(name, size, "queued", sha256=sha256)
    except TooLargeError as error:
        return Added(name, _size(file.data), "refused", error=error.as_dict())
    except UserInputError as error:
        return Added(name, size, "refused", error=error.as_dict())
    except OSError as error:  # of several files, a smaller one may still find room
        refusal = from_os_error(error, f"storing {name}")
        return Added(name, _size(file.data), "refused", error=refusal.as_dict())
    finally:
        incoming.unlink(missing_ok=True)


def _store(data: bytes | Path | BinaryIO, target: Path) -> tuple[int, str]:
    """Write ``data`` to ``target``, durably; returns its size and SHA-256."""
    limit = settings.upload_limit()
    digest, size = hashlib.sha256(), 0
    with target.open("xb") as out:
        for block in _blocks(data):
            size += len(block)
            if size > limit:
                raise TooLargeError(
                    f"The file is larger than {limit // 1_000_000} MB.",
                    step="Split it, or raise HALO_UPLOAD_LIMIT_MB.",
                    limit=limit // 1_000_000,
                )
            digest.update(block)
            out.write(block)
        out.flush()
        os.fsync(out.fileno())
    return size, digest.hexdigest()


def _size(data: bytes | Path | BinaryIO) -> int:
    """Bytes of a file that was not taken in whole."""
    if isinstance(data, Path):
        return data.stat().st_size
    return len(data) if isinstance(data, bytes) else data.seek(0, os.SEEK_END)


def _blocks(data: bytes | Path | BinaryIO) -> Iterable[bytes]:
    if isinstance(data, bytes):
        yield data
        return
    if not isinstance(data, Path):
        while block := data.read(_BLOCK):
            yield block
        return
    if data.exists() and not data.is_file():  # opening a pipe would wait for ever
        raise UserInputError(
            f"“{data.name}” is a folder, pipe or device, not a file.",
            code="unreadable_file",
            step="Add files or a folder of files.",
        )
    try:
        handle = data.open("rb")
    except FileNotFoundError as error:
        raise NotFoundError(
            f"There is no file “{data.name}”.", code="no_such_file", step="Check the path."
        ) from error
    except PermissionError as error:
        raise UserInputError(
            f"The file “{data.name}” cannot be read: {error.strerror}.", code="unreadable_file"
        ) from error
    with handle:
        while block := handle.read(_BLOCK):
            yield block
