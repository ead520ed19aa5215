"""Reading a file in a child process, so that no file can stop, fill or crash HALO.

``Reader`` keeps one warm child (``services.parsers.child``) and talks to it in JSON lines over
pipes; the parsed document itself goes through a file the caller names. A child that runs over
its time or memory, or crashes, is replaced and the file gets a ParserStoppedError. The memory limit
needs an operating system that enforces it (Linux does; macOS and Windows do not).
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path
from typing import IO, Any

from services.errors import CancelledError, HaloError, ParserStoppedError, rebuilt, told
from services.models import Document
from services.parsers import errands
from services.parsers.child import too_big

_log = logging.getLogger(__name__)

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 300.0
MEMORY_MB = 2048
OUTPUT_MB = 256
_START = 60.0
"""Seconds a child may take to start."""
_POLL = 0.05
"""Seconds between looks at ``cancelled``; a cancel takes effect within about two of them."""
_OUT_OF_MEMORY = re.compile(
    r"bad_alloc|bad allocation|MemoryError|(?:out of|insufficient) memory|can't start new thread|"
    r"(?:cannot|unable to|failed to) allocate",
    re.IGNORECASE,
)
"""What a child says at its end when native code (ONNX Runtime, OpenCV, CTranslate2, FFmpeg) met the
memory limit: each has an error of its own for it, or aborts."""


class Reader:
    """Parses files in one child process, one file at a time; safe to share between threads.

    Args:
        seconds: wall time a file may take.
        memory_mb: memory the child may use.
        output_mb: largest parsed document.
    """

    def __init__(
        self, *, seconds: float = SECONDS, memory_mb: int = MEMORY_MB, output_mb: int = OUTPUT_MB
    ) -> None:
        self.seconds = seconds
        self.memory_mb = memory_mb
        self.output_mb = output_mb
        self._turn = threading.Lock()
        self._child: _Child | None = None
        self._requests = 0

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def warm(self) -> None:
        """Start the child and let it import what PDF files need; returns at once."""
        with self._turn:
            self._ready().send({"warm": ["services.parsers.pdf"]})

    def read(
        self,
        path: Path,
        name: str,
        *,
        out: Path,
        password: str | None = None,
        language: str = "",
        private: bool = False,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> Document:
        """Parse ``path`` and write the document as compact JSON to ``out``, flushed to disk.

        Args:
            path: the file; its bytes say what it is.
            name: the name the user knows it by.
            out: where the document is written; left absent when reading fails.
            password: goes through the pipe only.
            language: what is spoken in a recording, "" where nobody said.
            private: nothing of the file is sent to a hosted service.
            progress: called as ``progress(done, total)`` in this thread.
            cancelled: asked about every 50 ms; True kills the child.

        Raises:
            ParserStoppedError: over the limits (``parser_time``, ``parser_memory``,
                ``parser_output``) or crashed (``parser_crashed``).
            CancelledError: ``cancelled`` said so.
            HaloError: whatever ``services.parsers.parse`` raised.
        """
        request = {
            "path": str(path.absolute()),
            "name": name,
            "password": password,
            "language": language,
            "private": private,
            "out": str(out.absolute()),
            "output": self.output_mb << 20,
        }
        try:
            self._ask(request, progress, cancelled)
            return Document.model_validate_json(out.read_bytes())
        except BaseException:
            out.unlink(missing_ok=True)
            raise

    def extract(
        self,
        path: Path,
        name: str,
        *,
        folder: Path,
        password: str | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> list[dict[str, Any]]:
        """Write the files inside ``path`` (attachments, members of an archive) into ``folder``.

        Returns:
            For each, in order, ``{"file", "name", "inside", "error"}``: the name of its file in
            the folder ("" when it could not be unpacked, then with the ``error``), what it is
            called and its path inside an archive. None of the names is safe as a path but
            ``file``.

        Raises what ``read`` raises.
        """
        request = {
            "path": str(path.absolute()),
            "name": name,
            "password": password,
            "folder": str(folder.absolute()),
        }
        found: list[dict[str, Any]] = self._ask(request, None, cancelled)["found"]
        return found

    def close(self) -> None:
        """End the child; the reader may be used again afterwards."""
        with self._turn:
            self._drop()

    def _ask(
        self,
        request: dict[str, Any],
        progress: Callable[[int, int], None] | None,
        cancelled: Callable[[], bool] | None,
    ) -> dict[str, Any]:
        """Send a request to the child in this thread's turn and wait for its last answer."""
        stop = cancelled or (lambda: False)
        while not self._turn.acquire(timeout=_POLL):
            _check(stop)
        try:
            _check(stop)
            return self._answer(request, progress, stop)
        finally:
            self._turn.release()

    def _answer(
        self,
        request: dict[str, Any],
        progress: Callable[[int, int], None] | None,
        stop: Callable[[], bool],
    ) -> dict[str, Any]:
        child = self._ready()
        self._requests += 1
        request |= {"id": self._requests, "seconds": self.seconds}
        deadline = time.monotonic() + max(self.seconds, _START)
        finished = False
        try:
            child.send(request)
            while True:
                answer = child.answer(_POLL)
                if answer is None:
                    _check(stop)
                    if time.monotonic() > deadline:
                        raise _too_slow(self.seconds)
                elif answer.get("id") != self._requests:
                    continue  # what a warm-up had to say
                elif "started" in answer:
                    deadline = time.monotonic() + self.seconds  # its own start does not count
                elif "more" in answer:
                    deadline = max(deadline, time.monotonic() + answer["more"])
                elif "errand" in answer:
                    child.send(_run(answer["errand"], request.get("private", False), stop))
                    deadline = time.monotonic() + self.seconds
                elif "progress" in answer:
                    _check(stop)
                    if progress:
                        progress(*answer["progress"])
                else:
                    finished = not answer.get("full", False)
                    break
        finally:
            if not finished:
                self._drop()
        if "error" in answer:
            raise rebuilt(answer["error"])
        return answer

    def _ready(self) -> _Child:
        if self._child is None or not self._child.alive:
            self._drop()
            self._child = _Child(self.memory_mb)
        return self._child

    def _drop(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child = None


class _Child:
    """The process, its pipes, and a thread that turns its lines into a queue."""

    def __init__(self, memory_mb: int) -> None:
        self._log: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "services.parsers.child", str(memory_mb)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
            process_group=0,  # Ctrl-C is for its parent, which then ends it
        )
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def send(self, request: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # its end is met when the answer is awaited
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def answer(self, timeout: float) -> dict[str, Any] | None:
        """The next line, None after ``timeout`` seconds; raises when the process has ended."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            return None
        if not line:
            raise self._crashed()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._listener.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        self._log.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _crashed(self) -> ParserStoppedError:
        code = self._process.wait()
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(size - 4000, 0))
        said = self._log.read().decode("utf-8", "replace").strip()
        _log.warning("The parser process ended with %s: %s", code, said)
        if _OUT_OF_MEMORY.search(said):
            return too_big()
        return ParserStoppedError(
            "The parser crashed on this file.",
            code="parser_crashed",
            step="Save the file again in the program that made it and add the new copy.",
            status=code,
        )


def _run(errand: dict[str, Any], private: bool, stop: Callable[[], bool]) -> dict[str, Any]:
    """Do for the child what it may not do itself, and say how it went.

    A server may take minutes; being stopped does not wait for it. Raises CancelledError.
    """
    done: Future[dict[str, Any]] = Future()

    def run() -> None:
        try:
            done.set_result({"done": errands.run(errand, private)})
        except HaloError as error:
            done.set_result({"error": told(error)})
        except Exception as fault:  # noqa: BLE001 - raised again where it is waited for
            done.set_exception(fault)

    threading.Thread(target=run, name="halo-errand", daemon=True).start()
    while not wait([done], _POLL).done:
        _check(stop)
    return done.result()


def _check(stop: Callable[[], bool]) -> None:
    if stop():
        raise CancelledError("Reading was stopped.")


def _too_slow(seconds: float) -> ParserStoppedError:
    return ParserStoppedError(
        f"This file took longer than {seconds:g} seconds to read.",
        code="parser_time",
        step="Split it into smaller files and add those.",
        seconds=seconds,
    )
