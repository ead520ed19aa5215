"""Damaged files of every kind: never a crash, a hang, a write outside, or an empty success.

HALO_FUZZ sets how many files are tried in all, HALO_FUZZ_SEED which ones; the same numbers give the
same files. `make fuzz` runs the large number.
"""

from __future__ import annotations

import math
import os
import random
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from services.errors import HaloError
from services.models import Document
from services.parsers import KINDS
from services.reading import Reader
from services.settings import cache_dir
from tests.services.parsers.mutations import mutate
from tests.services.parsers.seeds import ENDINGS, SEEDS

TRIES = int(os.environ.get("HALO_FUZZ", "230"))
SEED = os.environ.get("HALO_FUZZ_SEED", "0")
SECONDS = 30
SLOW = {"image": 2, "audio": 4, "video": 4}
"""Kinds that a model reads, and of how many of their tries one is made."""
NEVER = {"parser_crashed", "parser_time", "unexpected", "error"}
WITH_FILES = {"pdf", "mail", "msg", "zip"}
NOT_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

# Runs in the child: every file it opens for writing, and every change to a folder, is noted.
WATCH = """
    import os, sys
    _log = os.open({log!r}, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    _WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def _watch(event, args):
        if event == "open":
            if isinstance(args[0], int) or not (args[2] or 0) & _WRITES:
                return
        elif event not in {{"os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link",
                            "os.truncate", "subprocess.Popen", "os.system", "os.exec"}}:
            return
        os.write(_log, f"{{event}} {{args[0]!r}}\\n".encode("utf-8", "backslashreplace"))

    sys.addaudithook(_watch)
"""


class Bench:
    """A reader whose child is watched, in folders where nothing else happens."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.file, self.out = folder / "file", folder / "work" / "out.json"
        self.log = folder / "writes.log"
        self.places = [folder / "work", folder / "unpacked", folder / "temporary", folder / "here"]
        for place in self.places:
            place.mkdir()
        planted = folder / "planted"
        planted.mkdir()
        watch = textwrap.dedent(WATCH).format(log=str(self.log))
        (planted / "sitecustomize.py").write_text(watch, encoding="utf-8")
        patch.setenv("PYTHONPATH", str(planted))
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        patch.setenv("TMPDIR", str(self.places[2]))
        patch.chdir(self.places[3])
        self.reader = Reader(seconds=SECONDS)

    def faults(self, data: bytes, kind: str) -> list[str]:
        """What HALO did wrong with these bytes; nothing in the best case."""
        self.file.write_bytes(data)
        name = f"file{ENDINGS.get(kind, '.txt')}"
        found: list[str] = []
        try:
            found += broken(self.reader.read(self.file, name, out=self.out))
        except HaloError as error:
            found += unwanted(error)
        if kind in WITH_FILES:
            try:
                self.reader.extract(self.file, name, folder=self.places[1])
            except HaloError as error:
                found += unwanted(error)
        return found + self._outside()

    def _outside(self) -> list[str]:
        """What was written elsewhere than it may be; clears the rest away."""
        work, unpacked, *others = self.places
        # What a model is made of on first use is kept for all later ones.
        models = str(cache_dir())
        allowed = (repr(str(self.out)), f"'{unpacked}{os.sep}", f"'{models}")
        written = self.log.read_text(encoding="utf-8") if self.log.exists() else ""
        self.log.write_bytes(b"")
        found = [
            f"writes: {line}"
            for line in written.splitlines()
            if not line.partition(" ")[2].startswith(allowed)
            and str(self.places[2]) not in line
            and "/dev/null" not in line
        ]
        found += [f"left: {path}" for place in others for path in place.iterdir()]
        found += [f"left: {path}" for path in work.iterdir() if path != self.out]
        for path in sorted(unpacked.rglob("*"), reverse=True):
            if path.is_symlink():
                found.append(f"unpacked a link: {path}")
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        self.out.unlink(missing_ok=True)
        return found


def unwanted(error: HaloError) -> list[str]:
    """An error no file may end in."""
    return [f"{error.code}: {error}"] if error.code in NEVER or not error.message else []


def broken(document: Document) -> list[str]:
    """Which promises of a document do not hold."""
    report, text = document.report, document.text
    pages, slides = document.units.get("pages"), document.units.get("slides")
    numbers = {block.id: number for number, block in enumerate(document.blocks)}
    found = []

    def hold(true: bool, promise: str) -> None:
        if not true:
            found.append(promise)

    hold(report.words > 0 and bool(text.strip()), "it has words")
    hold(len(numbers) == len(document.blocks), "every block has an id of its own")
    hold(not NOT_TEXT.search(text + document.title), "it holds nothing but text")
    hold(all(count >= 0 for count in document.units.values()), "units are counted from 0")
    hold(0 <= report.units_read <= max(report.units_total, 0), "no more is read than there is")
    unread = report.unread
    hold(unread == sorted(set(unread)), "unread units are in order, each once")
    hold(all(1 <= one <= report.units_total for one in unread), "unread units exist")
    hold(all(one.code and one.message for one in report.findings), "findings have a sentence")
    for number, block in enumerate(document.blocks):
        at = f"{block.id} {block.kind}"
        hold(text[block.start : block.end] == block.text, f"{at}: offsets point at the text")
        hold(block.page is None or 1 <= block.page <= (pages or 0), f"{at}: its page exists")
        hold(block.slide is None or 1 <= block.slide <= (slides or 0), f"{at}: its slide exists")
        hold(block.row is None or block.row >= 1, f"{at}: rows count from 1")
        hold(block.continues is None or numbers.get(block.continues, number) < number,
             f"{at}: goes on from an earlier block")  # fmt: skip
        hold(0 <= block.header_rows <= block.text.count("\n") + 1, f"{at}: has its header rows")
        hold((block.level is not None) == (block.kind == "heading"), f"{at}: headings have a level")
        hold(block.time is None or (math.isfinite(block.time) and block.time >= 0), f"{at}: time")
    return found[:5]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with pytest.MonkeyPatch.context() as patch:
        made = Bench(tmp_path_factory.mktemp("bench"), patch)
        yield made
        made.reader.close()


def test_every_kind_has_a_seed() -> None:
    assert KINDS.keys() <= SEEDS.keys(), "add a small file of the new kind to seeds.py"


@pytest.mark.parametrize("kind", [kind for kind in SEEDS if kind in KINDS and kind != "zip"])
def test_a_sound_file_is_read_as_its_kind(kind: str, bench: Bench) -> None:
    for seed in SEEDS[kind]:
        bench.file.write_bytes(seed())
        document = bench.reader.read(bench.file, f"file{ENDINGS.get(kind, '')}", out=bench.out)
        assert document.kind == kind
        assert not broken(document)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", SEEDS)
def test_a_damaged_file_is_read_or_refused_in_words(
    kind: str, bench: Bench, tmp_path: Path
) -> None:
    seeds = [seed() for seed in SEEDS[kind]]
    failed = []
    for number in range(-(-TRIES // (len(SEEDS) * SLOW.get(kind, 1)))):
        rng = random.Random(f"{SEED} {kind} {number}")
        data, done = mutate(rng, rng.choice(seeds))
        if faults := bench.faults(data, kind):
            saved = tmp_path / f"{kind}-{number}"
            saved.write_bytes(data)
            failed.append(f"{saved} ({done}): {'; '.join(faults)}")
    assert not failed, "\n".join(failed)
    assert not bench.faults(b"plain words", "text"), "the child is as good as before"
