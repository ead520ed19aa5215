"""Write the files of the sample notebook again (``make sample``): same texts, same bytes."""

from __future__ import annotations

import io
import re
import shutil
import sys
import zipfile
from pathlib import Path

from tools.sample import deck, facts, memo, model, report
from tools.sample.markup import FOLDER

TARGET = Path(__file__).resolve().parent.parent / "services" / "sample" / "files"
TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def _same_every_time(office: bytes) -> bytes:
    """An Office file with one fixed time in all places, the workbook inside a chart included."""
    result = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(office)) as before,
        zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as after,
    ):
        for name in before.namelist():
            data = before.read(name)
            if name == "docProps/core.xml":
                data = TIME.sub(b"2026-03-05T09:00:00Z", data)
            elif name.endswith(".xlsx"):
                data = _same_every_time(data)
            info = zipfile.ZipInfo(name, (2026, 3, 5, 9, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            after.writestr(info, data)
    return result.getvalue()


def make(target: Path) -> list[Path]:
    """Write the six files into ``target`` and return them."""
    target.mkdir(parents=True, exist_ok=True)
    report.write(target / facts.REPORT)
    memo.write(target / facts.MEMO)
    model.write(target / facts.MODEL)
    deck.write(target / facts.DECK)
    shutil.copyfile(FOLDER / "note.md", target / facts.NOTE)
    shutil.copyfile(FOLDER / "press.html", target / facts.PRESS)
    for name in (facts.MEMO, facts.MODEL, facts.DECK):
        path = target / name
        path.write_bytes(_same_every_time(path.read_bytes()))
    return [target / name for name in facts.FILES]


if __name__ == "__main__":
    for made in make(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET):
        print(f"{made.stat().st_size:>8}  {made}")
