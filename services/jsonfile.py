"""JSON files that survive anything: atomic replace under a lock, last good copies, quarantine.

Writing: temporary file in the same folder, fsync, ``os.replace``, fsync of the folder, all under an
inter-process lock. Before each replace the version that was just read (and so is known to parse)
is kept as ``.bak1``; three such copies are kept. A file that does not parse is moved to the
``quarantine`` folder and the newest copy that parses takes its place; nothing is ever answered with
"empty" because it could not be read.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

from services.errors import DamagedFileError, StorageError, from_os_error

COPIES = 3
_RETRIES = 20  # a held file (virus scanner, OneDrive) is let go within a second or two
T = TypeVar("T")
Stamp = tuple[int, int, int]
_parsed: dict[Path, dict[Stamp, Any]] = {}
"""Per file the values of its last two versions: while one replaces the other, both are read."""
_lines: dict[Path, tuple[list[Any], list[bytes]]] = {}
"""Per file the rows written last and their JSON: a row that is still the same object is not
encoded again."""
_parsed_lock = threading.Lock()


def fsync_folder(folder: Path) -> None:
    """Make renames in ``folder`` durable; does nothing where folders cannot be opened (Windows)."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _while_held(action: Callable[[], None]) -> None:
    """Run ``action``, again while another program holds the file (Windows, synced folders)."""
    for attempt in range(_RETRIES):
        try:
            return action()
        except PermissionError:
            if os.name != "nt" or attempt == _RETRIES - 1:
                raise
            time.sleep(0.1)


def replace_file(temporary: Path, target: Path) -> None:
    """Rename ``temporary`` over ``target`` and make it durable."""
    _while_held(lambda: os.replace(temporary, target))
    fsync_folder(target.parent)


def write_bytes(
    target: Path, data: bytes, *, written: Callable[[os.stat_result], None] | None = None
) -> None:
    """Write ``data`` to ``target`` atomically and durably. Raises StorageError or DiskFullError.

    ``written`` is called with the new file's stat before it takes its place.
    """
    temporary = target.with_name(f".{target.name}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with temporary.open("wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(handle.fileno())
            stat = os.fstat(handle.fileno())
        if written:
            written(stat)
        replace_file(temporary, target)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise from_os_error(error, f"writing {target.name}") from error


def dump(value: Any, *, indent: int | None = 2) -> bytes:
    """``value`` as UTF-8 JSON, non-ASCII kept; lone surrogates become a question mark.

    A list of objects is written one object a line: as easy to read, and twenty times faster than
    indenting each of them.
    """
    if indent and isinstance(value, list) and value:
        return _joined([_line(item) for item in value])
    separators = (",", ": ") if indent else (",", ":")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    return (text + "\n").encode("utf-8", "replace")


def _line(item: Any) -> bytes:
    return json.dumps(item, ensure_ascii=False).encode("utf-8", "replace")


def _joined(lines: list[bytes]) -> bytes:
    return b"[\n  " + b",\n  ".join(lines) + b"\n]\n"


@dataclass(frozen=True)
class JsonFile:
    """One JSON file of a known top-level type, shared between threads and processes.

    Args:
        path: the file.
        empty: the value of a file that was never written; its type is the only one accepted.
        locks: folder for the lock file.
        quarantine: folder that damaged files are moved to.
        objects: a list whose items are objects, all of them.
    """

    path: Path
    empty: Any
    locks: Path
    quarantine: Path
    objects: bool = False

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the inter-process lock; may be nested in one thread."""
        name = f"{self.path.parent.name}-{self.path.name}.lock"
        guard = FileLock(self.locks / name, is_singleton=True)
        try:
            self.locks.mkdir(parents=True, exist_ok=True)
            guard.acquire()
        except OSError as error:
            raise from_os_error(error, f"locking {self.path.name}") from error
        try:
            yield
        finally:
            guard.release()

    def read(self) -> Any:
        """The current value. Treat it as immutable: unchanged files answer from memory.

        Raises DamagedFileError when the file does not parse and no good copy is left, or when a
        list of objects holds something else (``damaged_entry``).
        """
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return self._recover() if self._copies() else self.empty
        except OSError as error:
            raise from_os_error(error, f"reading {self.path.name}") from error
        with _parsed_lock:
            known = _parsed.get(self.path, {}).get(_stamp(stat))
        if known is not None:
            return known
        value = self._parse(self.path)
        if value is None:
            return self._recover()
        if self.objects and not all(isinstance(item, dict) for item in value):
            raise damaged_entry(self.path.name)
        self._remember(stat, value)
        return value

    def _remember(self, stat: os.stat_result, value: Any) -> None:
        with _parsed_lock:
            versions = list(_parsed.get(self.path, {}).items())[-1:]
            _parsed[self.path] = dict([*versions, (_stamp(stat), value)])

    def update(self, change: Callable[[Any], Any]) -> Any:
        """Read, change and replace under the lock; returns the new value.

        ``change`` gets a list (or mapping) of its own whose items are shared with every reader: it
        replaces items and never changes one in place. It returns what to store, or None to leave
        the file alone.
        """
        with self.locked():
            before = self.read()
            after = change(before.copy())
            if after is None:
                return before
            self._keep_copy()
            write_bytes(
                self.path, self._encoded(after), written=lambda stat: self._remember(stat, after)
            )
        return after

    def _encoded(self, value: Any) -> bytes:
        if not isinstance(value, list) or not value:
            return dump(value)
        kept = made_before(_lines.get(self.path), value)
        lines = [line or _line(row) for row, line in zip(value, kept, strict=True)]
        _lines[self.path] = (list(value), lines)
        return _joined(lines)

    def _parse(self, path: Path) -> Any | None:
        try:
            value = json.loads(path.read_bytes().decode("utf-8-sig"))
        except (ValueError, RecursionError):
            return None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise from_os_error(error, f"reading {path.name}") from error
        return value if isinstance(value, type(self.empty)) else None

    def _copies(self) -> list[Path]:
        names = (self.path.with_name(f"{self.path.name}.bak{n}") for n in range(1, COPIES + 1))
        return [path for path in names if path.exists()]

    def _keep_copy(self) -> None:
        """Turn the current file, which was just read, into .bak1 by a second name for its bytes."""
        if not self.path.exists():
            return
        try:
            for n in range(COPIES, 1, -1):
                older = self.path.with_name(f"{self.path.name}.bak{n - 1}")
                if older.exists():
                    os.replace(older, self.path.with_name(f"{self.path.name}.bak{n}"))
            copy = self.path.with_name(f"{self.path.name}.bak1")
            try:
                os.link(self.path, copy)
            except OSError as error:
                if error.errno == errno.ENOSPC:
                    raise
                shutil.copy2(self.path, copy)  # file systems without hard links
        except OSError as error:
            raise from_os_error(error, f"keeping a copy of {self.path.name}") from error

    def _is_aside(self) -> bool:
        """True when the damaged file already lies in quarantine as it is now."""
        data = self.path.read_bytes()
        kept = self.quarantine.glob(f"*-{self.path.name}*")
        return any(path.read_bytes() == data for path in kept)

    def _recover(self) -> Any:
        """Move a damaged or vanished file aside and let the newest good copy take its place."""
        try:
            return self._recovered()
        except OSError as error:
            raise from_os_error(error, f"putting {self.path.name} back") from error

    def _recovered(self) -> Any:
        with self.locked():
            if self.path.exists():
                value = self._parse(self.path)
                if value is not None:  # another process was quicker
                    return value
            copies = [(copy, self._parse(copy)) for copy in self._copies()]
            good = next(((copy, value) for copy, value in copies if value is not None), None)
            self.quarantine.mkdir(parents=True, exist_ok=True)
            aside = self.quarantine / f"{time.strftime('%Y%m%dT%H%M%S')}-{self.path.name}"
            if self.path.exists():
                if good or not self._is_aside():
                    shutil.copy2(self.path, aside)
            else:
                aside.with_name(aside.name + ".missing").touch()
            if good is None:
                raise DamagedFileError(
                    f"The file {self.path.name} is damaged and no earlier copy of it is readable.",
                    step="A copy lies in the folder “quarantine”. Run “halo doctor --repair” to "
                    "rebuild what can be rebuilt.",
                    file=self.path.name,
                )
            write_bytes(self.path, good[0].read_bytes())
            return good[1]


def damaged_entry(name: str) -> DamagedFileError:
    """The refusal of a file with an entry that nobody can use; the others are good."""
    return DamagedFileError(
        f"The file {name} holds an entry that HALO cannot read.",
        code="damaged_entry",
        step="Run “halo doctor --repair”; it keeps all that can be read.",
        file=name,
    )


def _stamp(stat: os.stat_result) -> Stamp:
    """What differs after every replace of a file."""
    return (stat.st_ino, stat.st_mtime_ns, stat.st_size)


def made_before(known: tuple[Sequence[Any], Sequence[T]] | None, rows: list[Any]) -> list[T | None]:
    """What was made of each of ``rows``, where ``known`` (rows, made) has the same object."""
    if known is None:
        return [None] * len(rows)
    made = dict(zip(map(id, known[0]), known[1], strict=True))
    return list(map(made.get, map(id, rows)))


def read_json(path: Path) -> Any:
    """The value of a JSON file that is written once and never changed. Raises StorageError."""
    try:
        return json.loads(path.read_bytes())
    except FileNotFoundError:
        raise
    except OSError as error:
        raise from_os_error(error, f"reading {path.name}") from error
    except ValueError as error:
        raise StorageError(
            f"The file {path.name} is damaged.",
            step="Re-index the source to write it afresh.",
            file=path.name,
        ) from error
