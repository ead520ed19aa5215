"""Real files and what people found in them: each is read or refused as it should be.

The folder of cases lies beside the project or where HALO_CASES says; without it there is nothing
to hold the files against. ``benchmarks.cases`` judges, and prints the table of outcomes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import cases
from services.reading import Reader
from tests.conftest import PROJECT

FOLDER = Path(os.environ.get("HALO_CASES") or PROJECT.parent / "shared" / "cases")
CASES = cases.cases(FOLDER) if (FOLDER / "expected.json").is_file() else []


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader() as one:
        yield one


@pytest.mark.skipif(not CASES, reason=f"no cases in {FOLDER}")
@pytest.mark.parametrize("case", CASES, ids=[case["file"] for case in CASES])
def test_a_real_file_comes_out_as_it_should(case: dict[str, Any], reader: Reader) -> None:
    _, found = cases.faults(case, FOLDER, reader)
    assert not found


def test_what_is_wrong_with_a_reading_is_named(tmp_path: Path, reader: Reader) -> None:
    (tmp_path / "a.csv").write_text("Region,Tons\nNorth,1\nSouth,2\n", encoding="utf-8")
    (tmp_path / "b.txt").write_bytes(b"")
    right = {
        "outcome": "text",
        "must": [{"text": "North"}],
        "must_not": ["East"],
        "order": [["North", "South"]],
        "table_rows": [["South", 2]],
        "max_count": {"North": 1},
    }
    wrong = {
        "outcome": "text",
        "units": {"pages": 2},
        "must": [{"text": "Nor", "whole_word": True}],
        "must_not": ["North"],
        "order": [["South", "North"]],
        "table_rows": [["South", 9]],
        "max_count": {"North": 0},
        "attachments": ["c.txt"],
    }

    def found(file: str, expect: dict[str, Any]) -> list[str]:
        return cases.faults({"file": file, "expect": expect}, tmp_path, reader)[1]

    assert found("a.csv", right) == []
    assert len(found("a.csv", wrong)) == len(wrong) - 1
    assert found("a.csv", {"outcome": "unreadable"})
    assert found("b.txt", {"outcome": "unreadable"}) == []
    assert found("b.txt", {"outcome": "text"})
