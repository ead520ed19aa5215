"""How every benchmark prints: machine, versions, one table; or the same as JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

VERSIONS = ("lancedb", "onnxruntime", "pypdfium2", "streamlit", "numpy")


def machine() -> str:
    """Processor, cores, memory, Python and the versions that matter, on one line."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in VERSIONS)
    return (
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()}, "
        f"Python {platform.python_version()}; {packages}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(": ")[1] for line in lines if line.startswith("model name")), "CPU")


def table(title: str, rows: Sequence[dict[str, Any]], *, as_json: bool = False) -> None:
    """Print rows that share their keys as a Markdown table, or everything as JSON."""
    if as_json:
        print(json.dumps({"title": title, "machine": machine(), "rows": rows}, indent=2))
        return
    print(f"## {title}\n\n{machine()}\n")
    heads = list(rows[0])
    cells = [heads, ["---"] * len(heads), *([_cell(row[head]) for head in heads] for row in rows)]
    print("\n".join("| " + " | ".join(line) + " |" for line in cells))


def plain_json(rows: Sequence[dict[str, Any]]) -> None:
    """Print rows alone, for programs that read them."""
    print(json.dumps(rows, indent=2))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"
    return "" if value is None else str(value)


def measured(what: str, value: float, unit: str, goal: float | None) -> dict[str, Any]:
    """A row of a table that holds one figure a row, with its goal where it has one."""
    return {"what": what, "median": value, "unit": unit, "goal": goal}


def median_ms(action: Callable[[], object], times: int) -> float:
    """The median wall time of ``action`` in milliseconds, over ``times`` runs."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        taken.append((time.perf_counter() - start) * 1000)
    return statistics.median(taken)


@contextmanager
def data_folder(kept: Path | None = None) -> Iterator[Path]:
    """A data folder for the time of a benchmark: the one that is ``kept``, or one of its own. The
    model cache stays shared."""
    with nullcontext(kept) if kept else TemporaryDirectory(prefix="halo-bench-") as folder:
        before = os.environ.get("HALO_DATA_DIR")
        os.environ["HALO_DATA_DIR"] = str(Path(folder).absolute())
        try:
            yield Path(folder)
        finally:
            if before is None:
                del os.environ["HALO_DATA_DIR"]
            else:
                os.environ["HALO_DATA_DIR"] = before
