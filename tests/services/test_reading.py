from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from services.errors import (
    CancelledError,
    ParserStoppedError,
    StorageError,
    UnreadableSourceError,
    UnsupportedKindError,
)
from services.reading import ROOT, Reader

posix = pytest.mark.skipif(os.name != "posix", reason="needs signals")
linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux enforces memory limits")


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader() as one:
        yield one


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "document.json"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_text("Some words.", encoding="utf-8")
    return path


@pytest.fixture
def plant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A module that runs in the child before anything else: it changes how text is parsed."""
    folder = tmp_path / "planted"
    folder.mkdir()
    monkeypatch.setenv("PYTHONPATH", f"{folder}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    return folder / "sitecustomize.py"


def planted(code: str) -> str:
    head = "import services.parsers.text as text\n\ndef parse(path, name, **options):\n"
    return head + textwrap.indent(textwrap.dedent(code), "    ") + "\n\ntext.parse = parse\n"


def child_of(reader: Reader) -> int:
    assert reader._child is not None
    return reader._child._process.pid


def test_a_file_is_read_in_another_process_and_written_to_out(
    reader: Reader, file: Path, out: Path
) -> None:
    document = reader.read(file, "a.txt", out=out)
    assert document.text == "Some words." and document.title == "a"
    assert out.read_text(encoding="utf-8") == document.model_dump_json()
    assert child_of(reader) != os.getpid()


def test_the_child_stays_warm_and_is_found_from_any_folder(
    reader: Reader, file: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader.read(file, "a.txt", out=out)
    first = child_of(reader)
    monkeypatch.chdir(file.parent)
    reader.read(Path("file"), "a.txt", out=Path("relative.json"))
    assert child_of(reader) == first and Path("relative.json").exists()
    with Reader() as another:
        assert another.read(file, "a.txt", out=out).blocks


def test_errors_cross_with_class_code_and_params(reader: Reader, tmp_path: Path, out: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"8BPS\0\1")
    with pytest.raises(UnsupportedKindError) as caught:
        reader.read(path, "a.pdf", out=out)
    assert caught.value.params == {"found": "a picture"} and caught.value.step
    path.write_bytes(b"")
    with pytest.raises(UnreadableSourceError) as empty:
        reader.read(path, "a.pdf", out=out)
    assert empty.value.code == "empty_file"
    with pytest.raises(StorageError):
        reader.read(tmp_path / "absent", "a", out=out)
    assert not out.exists()


def test_a_name_that_is_no_unicode_still_reads(reader: Reader, file: Path, out: Path) -> None:
    document = reader.read(file, "bad\udcff name.txt", out=out)
    assert document.title == "bad name"


def test_a_slow_file_is_stopped_and_the_next_one_reads(plant: Path, file: Path, out: Path) -> None:
    code = """
    import time
    from services.models import Block, Document
    if name == "slow":
        time.sleep(60)
    return Document(blocks=[Block(text="word")])
    """
    plant.write_text(planted(code), encoding="utf-8")
    with Reader(seconds=1.0) as reader:
        assert reader.read(file, "fast", out=out).blocks
        with pytest.raises(ParserStoppedError) as caught:
            reader.read(file, "slow", out=out)
        assert caught.value.code == "parser_time"
        assert reader.read(file, "fast", out=out).blocks


def test_slow_work_that_asks_for_time_is_not_stopped(plant: Path, file: Path, out: Path) -> None:
    code = """
    import time
    from services.models import Block, Document
    from services.parsers.budget import more_time
    if name == "slow":
        for _ in range(3):
            more_time(2)
            time.sleep(0.7)
    return Document(blocks=[Block(text="word")])
    """
    plant.write_text(planted(code), encoding="utf-8")
    with Reader(seconds=1.0) as reader:
        assert reader.read(file, "fast", out=out).blocks
        assert reader.read(file, "slow", out=out).blocks


def test_a_crash_is_one_failed_file(plant: Path, file: Path, out: Path) -> None:
    plant.write_text(planted("import os\nos.abort()"), encoding="utf-8")
    with Reader() as reader:
        for _ in range(2):
            with pytest.raises(ParserStoppedError) as caught:
                reader.read(file, "a", out=out)
            assert caught.value.code == "parser_crashed"


def test_an_unforeseen_exception_is_a_crash_too(plant: Path, file: Path, out: Path) -> None:
    plant.write_text(planted("raise KeyError('surprise')"), encoding="utf-8")
    with Reader() as reader, pytest.raises(ParserStoppedError, match="crashed"):
        reader.read(file, "a", out=out)


@linux
def test_memory_is_limited(plant: Path, file: Path, out: Path) -> None:
    plant.write_text(planted("return bytearray(1 << 30)"), encoding="utf-8")
    with Reader(memory_mb=400) as reader, pytest.raises(ParserStoppedError) as caught:
        reader.read(file, "a", out=out)
    assert caught.value.code == "parser_memory"


def test_output_is_limited(tmp_path: Path, out: Path) -> None:
    path = tmp_path / "big"
    path.write_text("word " * 300_000, encoding="utf-8")
    with Reader(output_mb=1) as reader, pytest.raises(ParserStoppedError) as caught:
        reader.read(path, "a", out=out)
    assert caught.value.code == "parser_output" and not out.exists()


def test_a_cancel_kills_the_child_at_once(plant: Path, file: Path, out: Path) -> None:
    plant.write_text(planted("import time\ntime.sleep(60)"), encoding="utf-8")
    asked_at = 0.0
    begun = time.monotonic()

    def cancelled() -> bool:
        nonlocal asked_at
        if time.monotonic() - begun > 1.0 and not asked_at:
            asked_at = time.monotonic()
        return bool(asked_at)

    with Reader() as reader:
        reader.warm()
        child = psutil.Process(child_of(reader))
        with pytest.raises(CancelledError):
            reader.read(file, "a", out=out, cancelled=cancelled)
        assert time.monotonic() - asked_at < 0.3
        assert not child.is_running()


def test_a_reading_that_waits_its_turn_can_be_cancelled(plant: Path, file: Path, out: Path) -> None:
    plant.write_text(planted("import time\ntime.sleep(60)"), encoding="utf-8")
    done = threading.Event()
    with Reader() as reader:

        def first() -> None:
            with pytest.raises(CancelledError):
                reader.read(file, "a", out=out.with_suffix(".1"), cancelled=done.is_set)

        thread = threading.Thread(target=first)
        thread.start()
        time.sleep(0.3)
        with pytest.raises(CancelledError):
            reader.read(file, "a", out=out, cancelled=lambda: True)
        done.set()
        thread.join()


@pytest.mark.network_refused
def test_the_child_reaches_no_network(plant: Path, file: Path, out: Path) -> None:
    code = """
    import socket
    try:
        socket.create_connection(("127.0.0.1", 9), timeout=1)
    except PermissionError as error:
        from services.errors import UserInputError
        raise UserInputError(str(error))
    """
    plant.write_text(planted(code), encoding="utf-8")
    with Reader() as reader, pytest.raises(Exception, match="may not use the network"):
        reader.read(file, "a", out=out)


def test_what_a_parser_prints_does_not_disturb_the_answers(
    plant: Path, file: Path, out: Path
) -> None:
    code = "import os\nprint('noise')\nos.write(1, b'more noise')\nraise KeyboardInterrupt"
    plant.write_text(planted(code), encoding="utf-8")
    with Reader() as reader, pytest.raises(ParserStoppedError):
        reader.read(file, "a", out=out)


def test_progress_arrives(plant: Path, file: Path, out: Path) -> None:
    code = """
    from services.models import Block, Document
    for done in (1, 2):
        options["progress"](done, 2)
    return Document(blocks=[Block(text="word")])
    """
    plant.write_text(planted(code), encoding="utf-8")
    seen: list[tuple[int, int]] = []
    with Reader() as reader:
        reader.read(file, "a", out=out, progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (2, 2)


@linux
def test_the_password_is_in_no_command_line_and_no_environment(
    plant: Path, file: Path, out: Path
) -> None:
    code = """
    from pathlib import Path
    from services.models import Block, Document
    said = b"".join(Path(f"/proc/self/{part}").read_bytes() for part in ("cmdline", "environ"))
    assert options["password"] == "s3cret-word"
    return Document(blocks=[Block(text="leaked" if b"s3cret" in said else "kept")])
    """
    plant.write_text(planted(code), encoding="utf-8")
    with Reader() as reader:
        assert reader.read(file, "a", out=out, password="s3cret-word").text == "kept"


@posix
def test_the_child_dies_with_its_parent(plant: Path, file: Path, out: Path) -> None:
    plant.write_text(planted("import time\ntime.sleep(60)"), encoding="utf-8")
    code = f"""
    import sys, threading
    from pathlib import Path
    from services.reading import Reader
    reader = Reader()
    reader.warm()
    print(reader._child._process.pid, flush=True)
    reader.read(Path({str(file)!r}), "a", out=Path({str(out)!r}))
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, cwd=ROOT
    )
    assert parent.stdout is not None
    with parent.stdout:
        child = psutil.Process(int(parent.stdout.readline()))
        time.sleep(1)
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        child.wait(timeout=5)


@posix
def test_an_interrupt_of_the_parent_is_not_for_the_child(
    plant: Path, file: Path, out: Path
) -> None:
    """Ctrl-C goes to the whole foreground group; a parser ended by it would report a crash."""
    plant.write_text(
        planted(f"Path({str(out)!r} + '.begun').touch(); time.sleep(1); return DOCUMENT")
        + "\nimport time\nfrom pathlib import Path\n"
        "from services.models import Block, Document\n"
        "DOCUMENT = Document(blocks=[Block(text='words')])\n"
    )
    script = f"""
        import signal
        from pathlib import Path
        from services.reading import Reader
        signal.signal(signal.SIGINT, lambda *_: None)
        with Reader() as reader:
            print(reader.read(Path({str(file)!r}), "a.txt", out=Path({str(out)!r})).text)
    """
    parent = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ["PYTHONPATH"]])},
    )
    begun = Path(f"{out}.begun")
    while not begun.exists() and parent.poll() is None:
        time.sleep(0.02)
    os.killpg(parent.pid, signal.SIGINT)
    assert parent.communicate()[0] == "words\n"


def test_a_closed_reader_starts_again(file: Path, out: Path) -> None:
    reader = Reader()
    reader.close()
    assert reader.read(file, "a", out=out).blocks
    reader.close()
    assert reader.read(file, "a", out=out).blocks
    reader.close()


def test_a_large_parent_does_not_make_its_child_look_large(file: Path, out: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from services.reading import Reader\n"
        "big = bytearray(900 << 20)\n"
        "with Reader() as reader:\n"
        "    reader.read(Path(sys.argv[1]), 'a.txt', out=Path(sys.argv[2]))\n"
        "    assert reader._child is not None\n"
    )
    subprocess.run([sys.executable, "-c", code, str(file), str(out)], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    "end",
    [
        "raise RuntimeError('Exception during initialization: std::bad_alloc')",
        'import os\nos.write(2, b"terminate called after throwing an instance of '
        "'std::bad_alloc'\\n\")\nos.abort()",
        "raise RuntimeError('Insufficient memory (Failed to allocate 9 bytes)')",
    ],
    ids=["exception", "abort", "opencv"],
)
def test_native_code_out_of_memory_says_so_and_the_next_file_is_read(
    plant: Path, file: Path, out: Path, end: str
) -> None:
    plant.write_text(planted(end), encoding="utf-8")
    page = file.with_suffix(".html")
    page.write_text("<html><body><p>Good words.</p></body></html>", encoding="utf-8")
    with Reader() as reader:
        with pytest.raises(ParserStoppedError) as caught:
            reader.read(file, "a.txt", out=out)
        assert caught.value.code == "parser_memory"
        assert reader.read(page, "a.html", out=out).blocks[0].text == "Good words."
