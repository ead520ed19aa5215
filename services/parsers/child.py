"""The process that parses: requests as JSON lines on stdin, answers as JSON lines on stdout.

Started by ``services.reading.Reader`` as ``python -m services.parsers.child MEMORY_MB``. It may use
that much memory and no network, and ends when its stdin does, so it never outlives its parent. An
unforeseen exception ends it on purpose: the parent reports the crash and starts a new one.
"""

from __future__ import annotations

import importlib
import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from services.errors import HaloError, ParserStoppedError, from_os_error, rebuilt, told

resource: ModuleType | None
try:
    import resource
except ImportError:  # Windows has no resource limits
    resource = None

_BARRED = frozenset(
    {
        "socket.bind",
        "socket.connect",
        "socket.getaddrinfo",
        "socket.gethostbyaddr",
        "socket.gethostbyname",
        "socket.sendmsg",
        "socket.sendto",
    }
)


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where there are no process groups (Windows)
    memory_mb = int(sys.argv[1])
    tell = _speech()
    sys.addaudithook(_bar_network)
    _limit_memory(memory_mb)
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    while True:
        request = requests.get()
        if "warm" in request:
            for module in request["warm"]:
                importlib.import_module(module)
            continue
        answer = _answer(request, tell, requests.get)
        # A child that has grown is replaced, so that one file's needs never limit the next.
        answer["full"] = _peak_mb() > memory_mb / 3
        tell({"id": request["id"], **answer})


def _answer(
    request: dict[str, Any],
    tell: Callable[[dict[str, Any]], None],
    hear: Callable[[], dict[str, Any]],
) -> dict[str, Any]:
    tell({"id": request["id"], "started": True})
    try:
        _limit_cpu(request["seconds"])
        if "folder" in request:
            return {"done": True, "found": _extract(request)}
        _parse(request, tell, hear)
    except HaloError as error:
        return {"error": told(error)}
    except MemoryError:
        return {"error": told(too_big())}
    except OSError as error:
        return {"error": told(from_os_error(error, "reading the file"))}
    return {"done": True}


def _parse(
    request: dict[str, Any],
    tell: Callable[[dict[str, Any]], None],
    hear: Callable[[], dict[str, Any]],
) -> None:
    from services.parsers import budget, errands, parse

    said = 0.0

    def progress(done: int, total: int) -> None:
        nonlocal said
        if done == total or time.monotonic() - said > 0.1:
            said = time.monotonic()
            tell({"id": request["id"], "progress": [done, total]})

    def more_time(seconds: float) -> None:
        _limit_cpu(max(seconds, request["seconds"]))
        tell({"id": request["id"], "more": seconds})

    def send(errand: dict[str, Any]) -> dict[str, Any]:
        tell({"id": request["id"], "errand": errand})
        answer = hear()
        if "error" in answer:
            raise rebuilt(answer["error"])
        done: dict[str, Any] = answer["done"]
        return done

    budget.granted_by(more_time)
    errands.told(request["language"], request["private"], send)
    document = parse(
        Path(request["path"]), request["name"], password=request["password"], progress=progress
    )
    data = document.model_dump_json().encode()
    if len(data) > request["output"]:
        raise ParserStoppedError(
            "This file holds more text than HALO can take from one source.",
            code="parser_output",
            step="Split it into smaller files and add those.",
        )
    with Path(request["out"]).open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _extract(request: dict[str, Any]) -> list[dict[str, Any]]:
    from services.parsers.attached import extract

    found = extract(
        Path(request["path"]), request["name"], Path(request["folder"]), request["password"]
    )
    return [
        {
            "file": one.file,
            "name": one.name,
            "inside": one.inside,
            "error": json.loads(json.dumps(one.error, default=str)),
        }
        for one in found
    ]


def _speech() -> Callable[[dict[str, Any]], None]:
    """A function that writes one answer; what libraries print goes to stderr instead."""
    pipe = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)

    def tell(answer: dict[str, Any]) -> None:
        pipe.write(json.dumps(answer).encode() + b"\n")
        pipe.flush()

    return tell


def _listen(requests: queue.SimpleQueue[dict[str, Any]]) -> None:
    # Unbuffered: a buffer's lock held here would turn any end of this process into an abort.
    with os.fdopen(0, "rb", buffering=0, closefd=False) as stdin:
        for line in stdin:
            requests.put(json.loads(line))
    os._exit(0)  # the parent is gone or has closed the pipe; whatever is parsed has no reader


def _bar_network(event: str, args: tuple[object, ...]) -> None:
    if event in _BARRED:
        raise PermissionError("parsers may not use the network")


def _limit_memory(memory_mb: int) -> None:
    if resource is not None and sys.platform == "linux":
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        limit = memory_mb << 20
        if hard != resource.RLIM_INFINITY:
            limit = min(limit, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def _limit_cpu(seconds: float) -> None:
    """End this process should it still compute long after its parent has given up on it.

    Code that never lets go of the interpreter lock would also keep it from seeing that stdin
    has ended.
    """
    if resource is not None:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        _, hard = resource.getrlimit(resource.RLIMIT_CPU)
        # All cores' worth: native code may use several threads.
        cores = max(os.cpu_count() or 2, 2)
        limit = int(usage.ru_utime + usage.ru_stime + cores * seconds) + 5
        if hard == resource.RLIM_INFINITY or limit < hard:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, hard))


def _peak_mb() -> float:
    """Most memory this process ever had. Linux's getrusage starts at the parent's own size."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        pass
    if resource is None:
        return 0.0
    peak: int = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def too_big() -> ParserStoppedError:
    """The refusal of a file for which the memory limit is too low."""
    return ParserStoppedError(
        "This file needs more memory to read than HALO allows.",
        code="parser_memory",
        step="Split it into smaller files and add those.",
    )


if __name__ == "__main__":
    main()
