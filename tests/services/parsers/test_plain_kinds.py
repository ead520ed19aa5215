"""Text, Markdown and delimited files."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.models import Document
from services.parsers import parse
from services.parsers.delimited import find_delimiter


def read(folder: Path, data: bytes | str, name: str) -> Document:
    path = folder / "bytes"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return parse(path, name)


def test_text_keeps_its_paragraphs_and_line_ends(tmp_path: Path) -> None:
    document = read(tmp_path, "One\r\nline two\r\n\r\n \r\n  indented\r\n\r\n", "a.txt")
    assert [block.text for block in document.blocks] == ["One\nline two", "  indented"]


def test_endless_lines_of_text_become_blocks_of_a_readable_size(tmp_path: Path) -> None:
    lines = [f"line {i} of a long log" for i in range(2000)]
    document = read(tmp_path, "\n".join(lines), "a.log")
    assert max(len(block.text) for block in document.blocks) <= 2000
    assert "\n".join(block.text for block in document.blocks).split("\n") == lines


MARKDOWN = """---
title: "Front title"
author: A. Writer
tags: [one, two]
---

Intro with **bold**, `code`, [a link](http://example.org) and ![a picture](http://x/y.png).

Setext heading
==============

- first
  continued
  - nested
- second

3. three
4. four

## Sub *heading*

```python
if x:
    y = 1
```

| Name | Value |
|------|------:|
| a    | 1     |
| b c  | 2<br>3 |

<div>html <b>text</b></div>

> quoted
"""


def test_markdown_becomes_plain_blocks_under_its_headings(tmp_path: Path) -> None:
    document = read(tmp_path, MARKDOWN, "a.md")
    assert document.title == "Front title"
    assert document.metadata == {"author": "A. Writer"}
    assert [(block.kind, block.text, block.headings) for block in document.blocks] == [
        ("note", 'title: "Front title"\nauthor: A. Writer\ntags: [one, two]', []),
        ("paragraph", "Intro with bold, code, a link and a picture.", []),
        ("heading", "Setext heading", []),
        ("list", "- first\n  continued\n  - nested\n- second", ["Setext heading"]),
        ("list", "3. three\n4. four", ["Setext heading"]),
        ("heading", "Sub heading", ["Setext heading"]),
        ("code", "if x:\n    y = 1", ["Setext heading", "Sub heading"]),
        ("table", "Name | Value\na | 1\nb c | 2 3", ["Setext heading", "Sub heading"]),
        ("paragraph", "html text", ["Setext heading", "Sub heading"]),
        ("paragraph", "quoted", ["Setext heading", "Sub heading"]),
    ]
    assert document.report.tables == 1


def test_a_markdown_file_without_front_matter_is_named_by_its_first_heading(
    tmp_path: Path,
) -> None:
    assert read(tmp_path, "# The Title\n\ntext", "file.md").title == "The Title"
    assert read(tmp_path, "text\n\n# Later", "file.md").title == "file"


def test_csv_with_quoted_line_ends(tmp_path: Path) -> None:
    document = read(tmp_path, 'a,b\n1,"ha \n""ha"" \nha"\n3,4\n', "a.csv")
    assert document.units == {"rows": 2, "columns": 2}
    (block,) = document.blocks
    assert block.text == 'a | b\n1 | ha "ha" ha\n3 | 4'
    assert (block.header_rows, block.row) == (1, 2)


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a;b;c\n1,5;2,5;3,5\n", ";"),
        ("a\tb\n1,2\t3,4\n", "\t"),
        ("a|b|c\n1|2|3\n", "|"),
        ("name,text\nx,one; two; three\ny,four\n", ","),
        ("single\ncolumn\n", ","),
        ('"a;b",c\n"d;e",f\n', ","),
    ],
)
def test_the_delimiter_is_found(text: str, delimiter: str) -> None:
    assert find_delimiter(text) == delimiter


def test_what_stands_above_a_table_is_no_part_of_it(tmp_path: Path) -> None:
    text = "Sales of 2024\n# in tons\n\nRegion,Tons,Share\nNorth,1,2\nSouth,3,4\n"
    document = read(tmp_path, text, "a.csv")
    assert [(block.kind, block.row, block.text) for block in document.blocks] == [
        ("paragraph", 1, "Sales of 2024"),
        ("paragraph", 2, "# in tons"),
        ("table", 5, "Region | Tons | Share\nNorth | 1 | 2\nSouth | 3 | 4"),
    ]
    assert document.units == {"rows": 2, "columns": 3}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a||b\n1||2\n3||x|y\n", "a |  | b\n1 |  | 2\n3 |  | x | y"),
        ("a||b\n1||2\n", "a | b\n1 | 2"),
        ("a::b\n1::2\n", "a | b\n1 | 2"),
        ('a, b\n1, "x, y"\n', "a | b\n1 | x, y"),
        ("A question of more than eighty characters, as those that surveys put to people ask it;B\n"
         "31;x\n45;x\n", "A question of more than eighty characters, as those that surveys put to "
         "people ask it | B\n31 | x\n45 | x"),
    ],
)  # fmt: skip
def test_double_separators_blanks_and_long_heads(tmp_path: Path, text: str, shown: str) -> None:
    document = read(tmp_path, text, "a.csv")
    assert document.text == shown
    assert document.blocks[0].header_rows == 1


def test_a_large_file_is_read_piece_by_piece_as_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = '\ufeffname;wert\r\n"Köln\r\nam Rhein";1\r\nBonn;2\r\n'.encode()
    small = read(tmp_path, data, "a.csv")
    monkeypatch.setattr("services.parsers.decoding._LARGE", 10)
    large = read(tmp_path, data, "a.csv")
    assert (large.text, large.units) == (small.text, small.units)
    assert read(tmp_path, "name;wert\nKöln;1\n".encode("cp1252"), "a.csv").text.endswith("Köln | 1")


def test_a_table_without_header_keeps_its_first_row_as_data(tmp_path: Path) -> None:
    document = read(tmp_path, "清华大学,2,985\n北京大学,1,985\n浙江大学,3,985\n", "rank.csv")
    assert document.units == {"rows": 3, "columns": 3}
    assert document.blocks[0].header_rows == 0


def test_long_tables_are_blocks_that_repeat_the_header(tmp_path: Path) -> None:
    rows = "".join(f"{i};name {i}\n" for i in range(1, 251))
    document = read(tmp_path, "sep=;\nNr;Name\n" + rows, "a.csv")
    assert document.units == {"rows": 250, "columns": 2}
    assert [block.row for block in document.blocks] == [3, 103, 203]
    assert [block.continues for block in document.blocks] == [None, "b0", "b1"]
    assert all(block.text.startswith("Nr | Name\n") for block in document.blocks)
    assert document.report.tables == 1


def test_rows_keep_their_numbers_over_blank_ones(tmp_path: Path) -> None:
    lines = [f"{number},name {number}" for number in range(2, 302)]  # a line says which it is
    for blank in (4, 5, 6, 120, 202):
        lines[blank - 2] = ""
    document = read(tmp_path, "\n".join(["Nr,Name", *lines]), "a.csv")
    assert len(document.blocks) == 3 and len(document.blocks[0].rows) == 1
    for block in document.blocks:
        jumps = {block.header_rows: block.row, **dict(block.rows)}
        row = 0
        for number, line in enumerate(block.text.splitlines()):
            row = jumps.get(number) or row + 1
            assert number == 0 or line.startswith(f"{row} |")


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path: Path) -> None:
    document = read(tmp_path, "Nr;Frage\n1;Größe?\n".encode("utf-8-sig"), "a.csv")
    assert document.blocks[0].text.startswith("Nr | Frage")
    assert document.report.encoding == "utf-8-sig"


def test_rows_over_the_budget_are_counted_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.parsers.delimited._CELL_BUDGET", 10)
    document = read(tmp_path, "a,b\n" + "1,2\n" * 20, "a.csv")
    report = document.report
    assert (report.units_read, report.units_total) == (4, 20)
    assert report.findings[0].code == "rows_cut"
