from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
import xlwt

from services.errors import UnreadableSourceError, UnsupportedKindError
from services.parsers import parse, sniff

DATE = xlwt.easyxf(num_format_str="yyyy-mm-dd")


def book(path: Path) -> Path:
    made = xlwt.Workbook()
    sheet = made.add_sheet("Übersicht")
    sheet.write_merge(0, 0, 0, 2, "Yield by region")
    rows: list[list[object]] = [
        ["Region", "Tons", "Day"],
        ["North", 1.5, dt.date(2021, 3, 4)],
        ["South", 2, None],
    ]
    for at, row in enumerate(rows, 2):
        for column, value in enumerate(row):
            if value is not None:
                plain = xlwt.Style.default_style
                sheet.write(at, column, value, DATE if isinstance(value, dt.date) else plain)
    sheet.write(9, 4, True)
    hidden = made.add_sheet("Quiet")
    hidden.visibility = 1
    hidden.write(0, 0, "kept")
    made.add_sheet("Blank")
    made.save(str(path))
    return path


def test_sheets_read_as_those_of_new_workbooks(tmp_path: Path) -> None:
    document = parse(book(tmp_path / "file"), "file.doc")
    assert [(b.text, b.sheet, b.row) for b in document.blocks] == [
        ("Yield by region", "Übersicht", 1),
        ("Region | Tons | Day\nNorth | 1.5 | 2021-03-04\nSouth | 2", "Übersicht", 4),
        ("TRUE", "Übersicht", 10),
        ("kept", "Quiet", 1),
    ]
    assert (document.kind, document.type_label) == ("xls", "Excel")
    assert document.units == {"sheets": 3}
    assert (document.report.hidden, document.report.unread) == (["Quiet"], [3])


def test_merged_values_fill_their_range(tmp_path: Path) -> None:
    made = xlwt.Workbook()
    sheet = made.add_sheet("S")
    sheet.write(0, 0, "Region")
    sheet.write(0, 1, "Sum")
    sheet.write_merge(1, 2, 0, 0, "North")
    sheet.write(1, 1, 1)
    sheet.write(2, 1, 2)
    made.save(str(tmp_path / "file"))
    assert parse(tmp_path / "file", "a").text == "Region | Sum\nNorth | 1\nNorth | 2"


def test_a_budget_of_cells_cuts_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.parsers.regions.CELLS", 4)
    document = parse(book(tmp_path / "file"), "a.xls")
    (finding,) = document.report.findings
    assert finding.code == "cells_cut"


def test_a_cut_workbook_is_damaged_or_told(tmp_path: Path) -> None:
    path = book(tmp_path / "file")
    path.write_bytes(path.read_bytes()[:2500])
    with pytest.raises((UnreadableSourceError, UnsupportedKindError)):
        parse(path, "a.xls")


def test_the_kind_is_told_by_what_the_container_holds(tmp_path: Path) -> None:
    assert sniff(book(tmp_path / "file"), "message.msg") == "xls"


def test_numbers_are_shown_as_their_formats_say(tmp_path: Path) -> None:
    made = xlwt.Workbook()
    sheet = made.add_sheet("S")
    sheet.write(0, 0, "x")
    formats = ["0.0%", "0.00%", '#,##0.00 "€"', "h:mm", "[h]:mm", "00000", "general"]
    for column, code in enumerate(formats, 1):
        sheet.write(0, column, 0.126 if "%" in code else 1.5, xlwt.easyxf(num_format_str=code))
    made.save(str(tmp_path / "file"))
    assert parse(tmp_path / "file", "a").text == (
        "x | 12.6% | 12.6% | 1.5 € | 12:00:00 | 36:00:00 | 1.5 | 1.5"
    )
