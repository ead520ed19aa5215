from __future__ import annotations

import datetime as dt
import re
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import openpyxl
import pytest
from openpyxl.comments import Comment
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from services.errors import UnreadableSourceError
from services.models import Document
from services.parsers import parse


def read(book: openpyxl.Workbook, folder: Path) -> Document:
    path = folder / "file.xlsx"
    book.save(path)
    return parse(path, "file.xlsx")


def texts(document: Document) -> list[str]:
    return [block.text for block in document.blocks]


@pytest.fixture
def book() -> openpyxl.Workbook:
    return openpyxl.Workbook()


def fill(sheet, *rows: Sequence[object]) -> None:  # type: ignore[no-untyped-def]
    for row in rows:
        sheet.append(row)


def test_merged_values_fill_their_range_and_formulas_without_result_are_shown(
    book: openpyxl.Workbook, tmp_path: Path
) -> None:
    sheet = book.active
    fill(sheet, ["Region", "Jan", "Feb", "Sum"], ["North", 1, 2, "=B2+C2"], [None, 3, 4, 7])
    sheet.merge_cells("A2:A3")
    document = read(book, tmp_path)
    (block,) = document.blocks
    assert block.text == "Region | Jan | Feb | Sum\nNorth | 1 | 2 | =B2+C2\nNorth | 3 | 4 | 7"
    assert (block.sheet, block.row, block.header_rows) == ("Sheet", 2, 1)
    (finding,) = document.report.findings
    assert (finding.code, finding.params) == ("no_stored_result", {"count": 1})


def test_a_stored_result_stands_for_its_formula(book: openpyxl.Workbook, tmp_path: Path) -> None:
    fill(book.active, ["Sum"], ["=1+1"])
    path = tmp_path / "file.xlsx"
    book.save(path)
    copy = tmp_path / "copy.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            new.writestr(name, re.sub(rb"</f><v ?/>|</f><v></v>", b"</f><v>2</v>", old.read(name)))
    document = parse(copy, "a.xlsx")
    assert texts(document) == ["Sum\n2"] and not document.report.findings


def test_dates_times_and_percentages_read_as_people_do(
    book: openpyxl.Workbook, tmp_path: Path
) -> None:
    sheet = book.active
    fill(sheet, [dt.date(2021, 1, 2), dt.datetime(2021, 1, 2, 3, 4, 5), dt.time(15, 30), 0.125,
                 dt.timedelta(hours=30), 0.1 + 0.2, True, "x"])  # fmt: skip
    sheet["D1"].number_format = "0.0%"
    (text,) = texts(read(book, tmp_path))
    assert text == (
        "2021-01-02 | 2021-01-02 03:04:05 | 15:30:00 | 12.5% | 30:00:00 | 0.3 | TRUE | x"
    )


def test_the_calendar_of_1904(book: openpyxl.Workbook, tmp_path: Path) -> None:
    book.epoch = CALENDAR_MAC_1904
    fill(book.active, [dt.date(2021, 1, 2), "x"])
    assert texts(read(book, tmp_path)) == ["2021-01-02 | x"]


def test_hidden_sheets_are_read_and_named(book: openpyxl.Workbook, tmp_path: Path) -> None:
    fill(book.active, ["open"])
    for name, state in (("Secret", "hidden"), ("Deep", "veryHidden")):
        sheet = book.create_sheet(name)
        sheet.sheet_state = state
        fill(sheet, [f"in {name}"])
    book.create_sheet("Blank")
    document = read(book, tmp_path)
    assert document.units == {"sheets": 4}
    report = document.report
    assert (report.hidden, report.unread, report.units_read) == (["Secret", "Deep"], [4], 3)
    assert [block.sheet for block in document.blocks] == ["Sheet", "Secret", "Deep"]


def test_titles_regions_and_grouped_headers(book: openpyxl.Workbook, tmp_path: Path) -> None:
    sheet = book.active
    fill(
        sheet,
        ["Sales by region"],
        ["", "2023", None, "2024", None],
        ["Region", "Units", "Euro", "Units", "Euro"],
        ["North", 1, 2, 3, 4],
        [],
        [],
        ["Name", "Note"],
        ["a", "b"],
    )
    sheet.merge_cells("B2:C2")
    sheet.merge_cells("D2:E2")
    document = read(book, tmp_path)
    title, table, second = document.blocks
    assert (title.kind, title.text) == ("heading", "Sales by region")
    assert table.headings == ["Sheet", "Sales by region"]
    assert table.text.split("\n")[:2] == [
        " | 2023 | 2023 | 2024 | 2024",
        "Region | Units | Euro | Units | Euro",
    ]
    assert (table.header_rows, table.row) == (2, 4)
    assert (second.text, second.row) == ("Name | Note\na | b", 8)


def test_long_sheets_repeat_their_header(book: openpyxl.Workbook, tmp_path: Path) -> None:
    fill(book.active, ["id", "name"], *([i, f"name {i}"] for i in range(1, 251)))
    document = read(book, tmp_path)
    assert [block.row for block in document.blocks] == [2, 102, 202]
    assert all(block.text.startswith("id | name\n") for block in document.blocks)
    assert [block.continues for block in document.blocks] == [None, "b0", "b1"]


def test_a_sparse_giant_takes_no_time(book: openpyxl.Workbook, tmp_path: Path) -> None:
    sheet = book.active
    sheet["A1"] = "first"
    sheet["XFD1048576"] = "last"
    sheet.merged_cells.add("B2:XFC1048575")
    path = tmp_path / "a.xlsx"
    book.save(path)
    started = time.thread_time()
    document = parse(path, "a.xlsx")
    assert time.thread_time() - started < 2
    assert [(block.text, block.row) for block in document.blocks] == [
        ("first", 1),
        ("last", 1048576),
    ]


def test_cells_over_the_budget_are_cut_and_the_sheets_named(
    book: openpyxl.Workbook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.parsers.regions.CELLS", 10)
    fill(book.active, *[[1, 2]] * 20)
    fill(book.create_sheet("Second"), ["unread"])
    document = read(book, tmp_path)
    (finding,) = document.report.findings
    assert finding.code == "cells_cut" and finding.params["sheets"] == ["Sheet", "Second"]
    assert document.blocks[0].text.count("\n") == 4


def test_comments_are_notes_of_their_sheet(book: openpyxl.Workbook, tmp_path: Path) -> None:
    fill(book.active, ["a", 1])
    book.active["B1"].comment = Comment("Estimated", "Jane")
    document = read(book, tmp_path)
    assert (document.blocks[1].kind, document.blocks[1].text) == (
        "note",
        "Comment on B1: Estimated",
    )


def test_a_workbook_cut_short_is_damaged(book: openpyxl.Workbook, tmp_path: Path) -> None:
    fill(book.active, ["a"])
    path = tmp_path / "a.xlsx"
    book.save(path)
    copy = tmp_path / "b.xlsx"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            new.writestr(name, data[: len(data) // 2] if "sheet1" in name else data)
    with pytest.raises(UnreadableSourceError) as caught:
        parse(copy, "a.xlsx")
    assert caught.value.code == "damaged"


def test_totals_below_a_blank_row_keep_the_heads_of_their_table(
    book: openpyxl.Workbook, tmp_path: Path
) -> None:
    rows: list[list[object]] = [
        ["Region", "2023", "2024"],
        ["North", 10, 20],
        ["South", 30, 40],
        [],
        ["Total", 40],
    ]
    fill(book.active, *rows, [], ["Staff", "Men", "Women"], ["North", 3, 4])
    document = read(book, tmp_path)
    assert texts(document) == [
        "Region | 2023 | 2024\nNorth | 10 | 20\nSouth | 30 | 40",
        "Region | 2023 | 2024\nTotal | 40",
        "Staff | Men | Women\nNorth | 3 | 4",
    ]
    assert [block.continues for block in document.blocks] == [None, "b0", None]
    assert [(block.row, block.header_rows) for block in document.blocks] == [(2, 1), (5, 1), (8, 1)]
    assert document.report.tables == 2


def test_what_stands_below_a_table_in_other_columns_is_its_own(
    book: openpyxl.Workbook, tmp_path: Path
) -> None:
    rows: list[list[object]] = [
        ["Region", "2023"],
        ["North", 10],
        [],
        ["Checked by", "the audit"],
        [],
        [None, 4, 5],
    ]
    fill(book.active, *rows)
    document = read(book, tmp_path)
    assert texts(document)[1:] == ["Checked by | the audit", "4 | 5"]
    assert {block.continues for block in document.blocks} == {None}
