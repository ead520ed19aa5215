"""Files inside files: attachments of messages and PDF files, members of archives.

A parser module whose kind can hold files offers ``attachments(path, folder, password=None)``, which
writes each of them into ``folder`` under a number, never under a name of its own. This runs in the
process that parses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from services import pictures
from services.errors import (
    PasswordNeededError,
    TooLargeError,
    UnreadableSourceError,
    UnsupportedKindError,
    UserInputError,
)
from services.parsers import KINDS, sniff

MOST_FILES = 2_000
MOST_BYTES = 1 << 30
"""How many files one source may unpack to, and of what size together."""
_SMALLEST = 64
"""Pixels of the shorter side from which a picture inside a file is taken; below are logos, icons
and counters of readers, which would be failed sources. A message's report lists them."""


@dataclass(frozen=True)
class Extracted:
    """A file that was inside another: the name of its copy in the folder ("" when there is none),
    what it is called, its path inside an archive, and why it could not be unpacked."""

    file: str
    name: str
    inside: str = ""
    error: dict[str, Any] | None = None


class Writer:
    """Writes files into a folder and keeps count. ``found`` is what was written so far."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: list[Extracted] = []
        self._number = 0
        self._bytes = 0

    def add(self, name: str, data: bytes) -> None:
        """Write a file that is whole in memory. Raises TooLargeError."""
        path = self.next()
        self.spend(len(data))
        path.write_bytes(data)
        self.found.append(Extracted(path.name, name))

    def next(self) -> Path:
        """Where the next file goes. Raises TooLargeError when there are too many."""
        self._number += 1
        if self._number > MOST_FILES:
            raise too_many()
        return self.folder / f"{self._number:06d}"

    def spend(self, size: int) -> None:
        """Count bytes about to be written. Raises TooLargeError when they become too many."""
        self._bytes += size
        if self._bytes > MOST_BYTES:
            raise too_much()


def extract(path: Path, name: str, folder: Path, password: str | None) -> list[Extracted]:
    """Write the files inside a file into ``folder``: all of an archive, with the reason for those
    HALO cannot read; of other files those it can read. Archives among them are unpacked too; very
    small pictures are left out.

    Raises:
        TooLargeError: more or larger files than one source may hold; then nothing is to be kept.
        UnreadableSourceError: an archive of very small pictures only.
        HaloError: what the parser of the kind raises.
    """
    from services.parsers import archive

    kind = sniff(path, name, password=password)
    writer = Writer(folder)
    if kind == "zip":
        judged = _judged(archive.members(path, writer, password), writer, password, depth=0)
        if not judged:
            raise UnreadableSourceError(
                f"This archive holds only pictures of less than {_SMALLEST} pixels.",
                code="empty_archive",
                step="Unpack it and add the pictures that you need.",
            )
        return judged
    function = getattr(KINDS[kind].parser(), "attachments", None)
    if function is None:
        return []
    inside: list[Extracted] = function(path, folder, password)
    writer = Writer(folder / "more")
    writer.folder.mkdir()
    judged = _judged(inside, writer, password, depth=-1, folder=folder)
    return [one for one in judged if not one.error]


def _judged(
    found: list[Extracted],
    writer: Writer,
    password: str | None,
    *,
    depth: int,
    folder: Path | None = None,
) -> list[Extracted]:
    """Each file with the reason why it cannot be read, if there is one; archives as members."""
    from services.parsers import archive

    base = folder or writer.folder
    judged: list[Extracted] = []
    for one in found:
        if one.error:
            judged.append(one)
            continue
        path = base / one.file
        try:
            kind = _kind(path, one.name, password)
            if kind == "image" and _is_tiny(path):
                continue
            if kind != "zip":
                judged.append(replace(one, file=_below(path, base)))
                continue
            if depth >= archive.DEEPEST:
                raise UnsupportedKindError(
                    "This is an archive inside an archive inside an archive.",
                    step="Unpack it and add the files inside.",
                )
            members = archive.members(path, writer, password)
        except TooLargeError:
            raise
        except UserInputError as error:
            judged.append(Extracted("", one.name, one.inside, error.as_dict()))
            continue
        around = one.inside or one.name
        members = [replace(member, inside=f"{around}/{member.inside}") for member in members]
        inner = _judged(members, writer, password, depth=depth + 1)
        judged += [
            replace(member, file=_below(writer.folder / member.file, base))
            if member.file
            else member
            for member in inner
        ]
    return judged


def _kind(path: Path, name: str, password: str | None) -> str:
    """What a file is; one under a password of its own is for its parser to judge."""
    try:
        return sniff(path, name, password=password)
    except PasswordNeededError:
        return ""


def _is_tiny(path: Path) -> bool:
    """Whether a picture is too small for text; one that cannot be opened is its parser's matter."""
    try:
        return min(pictures.page_size(path, 1)) < _SMALLEST
    except UserInputError:
        return False


def _below(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def too_many() -> TooLargeError:
    return TooLargeError(
        f"This file holds more than {MOST_FILES:,} files.",
        code="unpacks_too_large",
        step="Unpack it and add the files you need.",
        limit=MOST_FILES,
    )


def too_much() -> TooLargeError:
    return TooLargeError(
        f"This file unpacks to more than {MOST_BYTES >> 20:,} MB.",
        code="unpacks_too_large",
        step="Unpack it and add the files you need.",
        limit_mb=MOST_BYTES >> 20,
    )
