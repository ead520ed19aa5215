"""ZIP archives: each member is a source of its own, as if the archive were a folder.

Members are written out under numbers; their names are only text. What an archive may unpack to is
limited by size and by how far it grows, and both are held against what is really unpacked, not
against what it states.
"""

from __future__ import annotations

import errno
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

from services.errors import (
    HaloError,
    PasswordNeededError,
    TooLargeError,
    UnreadableSourceError,
    UnsupportedKindError,
)
from services.models import Document
from services.parsers import Progress, zip_aes
from services.parsers.attached import MOST_BYTES, MOST_FILES, Extracted, Writer, too_many, too_much
from services.parsers.protected import password_needed
from services.parsers.sniff import BROKEN_ZIP, damaged, unsupported

DEEPEST = 1
"""How deep archives may lie in archives."""
_MOST_GROWTH = 200
_GROWTH_MATTERS = 64 << 20
"""Bytes from which growth is looked at: a small file of blanks is no bomb."""
_PIECE = 1 << 20
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zip_aes.METHOD)


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """An archive is no source itself; it comes here only where it could not be unpacked."""
    raise unsupported("a ZIP archive", "Add it again, or unpack it and add the files inside.")


def members(path: Path, writer: Writer, password: str | None) -> list[Extracted]:
    """Write the members of an archive out; those that cannot be have their reason.

    Raises:
        PasswordNeededError: all members are encrypted and ``password`` opens none.
        TooLargeError: it holds too many members, or unpacks to too much.
        UnreadableSourceError: it is damaged, or holds no files.
    """
    try:
        archive = zipfile.ZipFile(path)
    except BROKEN_ZIP as error:
        raise damaged("ZIP archive") from error
    with archive:
        wanted = [one for one in archive.infolist() if _is_wanted(one)]
        if len(wanted) > MOST_FILES:
            raise too_many()
        size = path.stat().st_size
        _refuse_bomb(sum(one.file_size for one in wanted), size)
        if not wanted:
            raise UnreadableSourceError(
                "This archive holds no files.", code="empty_archive", step="Check the archive."
            )
        _ask_password(wanted, archive, path, password)
        return [_member(archive, path, one, writer, password, size) for one in wanted]


def _is_wanted(member: zipfile.ZipInfo) -> bool:
    """Files that a user put there: no folders, links, hidden files or leavings of the system."""
    parts = [part for part in member.filename.replace("\\", "/").split("/") if part]
    mode = member.external_attr >> 16
    if not parts or member.is_dir() or stat.S_ISLNK(mode):
        return False
    hidden = any(part.startswith((".", "~$")) and part not in (".", "..") for part in parts)
    return not hidden and "__MACOSX" not in parts and parts[-1].lower() != "thumbs.db"


def _refuse_bomb(unpacked: int, size: int) -> None:
    if unpacked > MOST_BYTES:
        raise too_much()
    if unpacked > _GROWTH_MATTERS and unpacked > _MOST_GROWTH * size:
        raise TooLargeError(
            f"This archive unpacks to more than {_MOST_GROWTH} times its size.",
            code="unpacks_too_large",
            step="Unpack it and add the files you need.",
            growth=_MOST_GROWTH,
        )


def _ask_password(
    wanted: list[zipfile.ZipInfo], archive: zipfile.ZipFile, path: Path, password: str | None
) -> None:
    """Refuse an archive that is locked as a whole; single locked members have their own reason."""
    locked = [one for one in wanted if one.flag_bits & 1]
    if not locked or len(locked) < len(wanted):
        return
    if not password:
        raise _locked(given=False)
    if locked[0].compress_type in _METHODS:
        try:
            next(_pieces(archive, path, locked[0], password), b"")
        except NotImplementedError:
            return
        except RuntimeError as error:
            raise _locked(given=True) from error
        except BROKEN_ZIP:
            return  # its own row says so


def _locked(*, given: bool) -> PasswordNeededError:
    error = password_needed(given=given)
    if not given:
        error.message = "This archive is protected by a password."
        error.step = "Add it again with its password, or unpack it and add the files inside."
    return error


def _member(
    archive: zipfile.ZipFile,
    source: Path,
    member: zipfile.ZipInfo,
    writer: Writer,
    password: str | None,
    size: int,
) -> Extracted:
    inside = _shown_path(member)
    name = inside.rpartition("/")[2]
    try:
        if member.compress_type not in _METHODS:
            raise _unknown()
        if member.flag_bits & 1 and not password:
            raise _locked(given=False)
        path = writer.next()
        pieces = _pieces(archive, source, member, password)
        _write(pieces, path, writer, size)
    except TooLargeError:
        raise
    except NotImplementedError:
        return Extracted("", name, inside, _unknown().as_dict())
    except RuntimeError:  # what the reader of archives says about a wrong password
        return Extracted("", name, inside, _locked(given=True).as_dict())
    except BROKEN_ZIP as error:
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise
        return Extracted("", name, inside, damaged("member of an archive").as_dict())
    except HaloError as error:
        return Extracted("", name, inside, error.as_dict())
    return Extracted(path.name, name, inside)


def _pieces(
    archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo, password: str | None
) -> Iterator[bytes]:
    """The unpacked bytes of a member. Raises RuntimeError for a wrong password."""
    if member.compress_type == zip_aes.METHOD:
        yield from zip_aes.pieces(path, member, password or "")
        return
    with archive.open(member, pwd=password.encode() if password else None) as stream:
        while piece := stream.read(_PIECE):
            yield piece


def _unknown() -> UnsupportedKindError:
    return UnsupportedKindError(
        "This member is compressed or encrypted in a way that HALO does not know.",
        step="Unpack the archive and add the file itself.",
        found="a member of an archive",
    )


def _write(pieces: Iterator[bytes], path: Path, writer: Writer, size: int) -> None:
    written = 0
    with path.open("xb") as out:
        for piece in pieces:
            writer.spend(len(piece))
            written += len(piece)
            _refuse_bomb(written, size)
            out.write(piece)


def _shown_path(member: zipfile.ZipInfo) -> str:
    """Where a member lies in the archive, as text."""
    name = member.filename
    if not member.flag_bits & 0x800:
        # Without the mark for UTF-8 it was read as the code page of old DOS; many programs write
        # UTF-8 all the same.
        try:
            name = name.encode("cp437").decode("utf-8")
        except (UnicodeEncodeError, UnicodeDecodeError):
            name = member.filename
    parts = name.replace("\\", "/").split("/")
    return "/".join(part for part in parts if part not in ("", ".", "..")) or "unnamed"
