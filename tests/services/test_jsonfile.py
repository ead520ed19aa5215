"""JSON files survive crashes, damage and other writers."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from services.errors import DamagedFileError, DiskFullError
from services.jsonfile import COPIES, JsonFile

PROJECT = Path(__file__).resolve().parents[2]


def things(folder: Path) -> JsonFile:
    return JsonFile(
        folder / "things.json", [], locks=folder / "locks", quarantine=folder / "quarantine"
    )


@pytest.fixture
def file(tmp_path: Path) -> JsonFile:
    return things(tmp_path)


def append(file: JsonFile, item: object) -> None:
    file.update(lambda rows: [*rows, item])


def test_a_file_that_was_never_written_has_its_empty_value(file: JsonFile) -> None:
    assert file.read() == []


def test_what_was_written_is_read_and_kept_readable_for_people(file: JsonFile) -> None:
    append(file, {"name": "Größe 東京"})
    assert file.read() == [{"name": "Größe 東京"}]
    assert "Größe 東京" in file.path.read_text(encoding="utf-8")


def test_a_byte_order_mark_is_tolerated(file: JsonFile) -> None:
    file.path.write_bytes(b"\xef\xbb\xbf[1]")
    assert file.read() == [1]


def test_an_update_that_returns_none_writes_nothing(file: JsonFile) -> None:
    append(file, 1)
    before = file.path.stat().st_mtime_ns
    file.update(lambda rows: None)
    assert file.path.stat().st_mtime_ns == before


def test_a_failing_change_leaves_the_file_as_it_was(file: JsonFile) -> None:
    append(file, {"n": 1})

    def change(rows: list[dict[str, int]]) -> list[dict[str, int]]:
        rows[0] = {"n": 2}
        raise RuntimeError

    with pytest.raises(RuntimeError):
        file.update(change)
    assert file.read() == [{"n": 1}]


def test_rows_left_alone_keep_their_identity_and_their_text(file: JsonFile) -> None:
    append(file, {"n": 1})
    append(file, {"n": 2, "name": "Größe"})
    (first, second) = file.read()
    file.update(lambda rows: [{"n": 3}, *rows])
    assert file.read()[1] is first
    file.update(lambda rows: [row for row in rows if row is not first])
    assert file.read()[1] is second
    assert json.loads(file.path.read_bytes()) == [{"n": 3}, {"n": 2, "name": "Größe"}]


@pytest.mark.parametrize(
    "damage", [b"", b'[{"n": 1', b"\x00\x00\x00", b'{"not": "a list"}', b"\xff\xfe"]
)
def test_a_damaged_file_is_set_aside_and_the_last_good_copy_answers(
    file: JsonFile, damage: bytes
) -> None:
    append(file, 1)
    append(file, 2)
    file.path.write_bytes(damage)
    assert file.read() == [1]
    kept = list(file.quarantine.iterdir())
    assert [path.read_bytes() for path in kept] == [damage]
    append(file, 3)
    assert file.read() == [1, 3]


def test_the_newest_copy_that_parses_is_used(file: JsonFile) -> None:
    for n in range(1, 5):
        append(file, n)
    file.path.write_bytes(b"{")
    file.path.with_name("things.json.bak1").write_bytes(b"{")
    assert file.read() == [1, 2]


def test_damage_without_a_good_copy_is_an_error_and_loses_nothing(file: JsonFile) -> None:
    file.path.write_bytes(b"[1, 2")
    with pytest.raises(DamagedFileError, match=r"things\.json"):
        file.read()
    with pytest.raises(DamagedFileError):
        append(file, 3)
    assert file.path.read_bytes() == b"[1, 2"


def test_a_vanished_file_comes_back_from_its_copy_and_is_reported(file: JsonFile) -> None:
    append(file, 1)
    append(file, 2)
    file.path.unlink()
    assert file.read() == [1]
    assert [path.suffix for path in file.quarantine.iterdir()] == [".missing"]


def test_only_so_many_copies_are_kept(file: JsonFile) -> None:
    for n in range(10):
        append(file, n)
    copies = sorted(path.name for path in file.path.parent.glob("*.bak*"))
    assert copies == [f"things.json.bak{n}" for n in range(1, COPIES + 1)]


def test_reading_again_costs_no_parsing(file: JsonFile) -> None:
    append(file, {"a": 1})
    assert file.read() is file.read()


def test_threads_do_not_lose_each_others_writes(file: JsonFile) -> None:
    def write(who: int) -> None:
        for n in range(20):
            append(file, (who, n))

    threads = [threading.Thread(target=write, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(file.read()) == 80


APPEND = """
import sys
from pathlib import Path
from services.jsonfile import JsonFile
folder, who = Path(sys.argv[1]), sys.argv[2]
file = JsonFile(
    folder / "things.json", [], locks=folder / "locks", quarantine=folder / "quarantine"
)
for n in range(20):
    file.update(lambda rows: [*rows, [who, n]])
"""


def test_processes_do_not_lose_each_others_writes(file: JsonFile) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", APPEND, str(file.path.parent), str(k)], cwd=PROJECT)
        for k in range(3)
    ]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    assert len(file.read()) == 60


def test_lone_surrogates_do_not_stop_a_save(file: JsonFile) -> None:
    append(file, "a\ud800b")
    assert json.loads(file.path.read_bytes()) == ["a?b"]


def test_a_full_disk_is_said_and_leaves_the_old_file(
    file: JsonFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(file, 1)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFullError, match="disk is full"):
        append(file, 2)
    monkeypatch.undo()
    assert file.read() == [1]
    assert not list(file.path.parent.glob("*.tmp"))
