"""What the largest files cost: time and memory of the process that reads them.

    python -m benchmarks.limits [--json]

- a workbook of a few kilobytes that claims all 17 billion cells of a sheet (goal: 1 s);
- a table of 100 MB as CSV, with the number of its last row that was read (goal: 500 MB).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import openpyxl
import psutil

from benchmarks import report
from services.models import Document
from services.reading import Reader

CSV_BYTES = 100_000_000


def sparse_workbook(path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet["A1"], sheet["XFD1048576"] = "first", "last"
    book.save(path)


def large_table(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("number,station,reading,remark\n")
        written = row = 0
        while written < CSV_BYTES:
            row += 1
            line = f'{row},Station {row % 97},{row * 0.25},"checked, and found “good”"\n'
            file.write(line)
            written += len(line.encode())


def measured(path: Path) -> tuple[Document, float, float]:
    """The document of a file, seconds, and the most memory of the reading process in MB."""
    with Reader() as reader, TemporaryDirectory() as folder:
        reader.warm()
        (Path(folder) / "small").write_text("Words", encoding="utf-8")
        reader.read(Path(folder) / "small", "small.txt", out=Path(folder) / "out")
        process = psutil.Process().children()[0]
        status = Path(f"/proc/{process.pid}/status")
        most = 0.0

        def look(*_: object) -> bool:
            nonlocal most
            line = next(one for one in status.read_text().splitlines() if "VmHWM" in one)
            most = max(most, int(line.split()[1]) / 1024)
            return False

        begun = time.perf_counter()
        document = reader.read(path, path.name, out=Path(folder) / "out", cancelled=look)
        return document, time.perf_counter() - begun, most


def rows() -> list[dict[str, Any]]:
    with TemporaryDirectory(prefix="halo-bench-") as folder:
        found = []
        for name, make, goal in (
            ("sparse.xlsx", sparse_workbook, "1 s"),
            ("large.csv", large_table, "500 MB"),
        ):
            path = Path(folder) / name
            make(path)
            document, seconds, memory = measured(path)
            last = document.blocks[-1]
            end = (last.row or 0) + last.text.count("\n") - last.header_rows
            found.append(
                {
                    "file": name,
                    "size, KB": round(path.stat().st_size / 1000),
                    "seconds": seconds,
                    "memory, MB": memory,
                    "last row read": end,
                    "its text": last.text.rpartition("\n")[2][:40].replace("|", "·"),
                    "goal": goal,
                }
            )
        return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.limits")
    parser.add_argument("--json", action="store_true")
    report.table("The largest files", rows(), as_json=parser.parse_args().json)


if __name__ == "__main__":
    main()
