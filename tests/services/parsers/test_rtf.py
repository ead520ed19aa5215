from __future__ import annotations

import time
from pathlib import Path

import pytest

from services.models import Document
from services.parsers import parse

HEAD = rb"""{\rtf1\ansi\ansicpg1252\deff0
{\fonttbl{\f0\fnil\fcharset0 Arial;}{\f1\fnil\fcharset204 Cyr;}{\f2\fnil\fcharset128 Jp;}}
{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s2 \'dcberschrift 2;}{\*\cs9 Quiet;}}
{\info{\title A report}{\author Ann}}"""


def read(folder: Path, body: bytes) -> Document:
    path = folder / "file"
    path.write_bytes(HEAD + body + b"}")
    return parse(path, "file.docx")


def texts(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in document.blocks]


def test_characters_of_every_code_page(tmp_path: Path) -> None:
    body = (
        rb"\pard\plain caf\'e9 \u8364?uro {\uc2\u-10179??\u-8704??} {\f1\'cf\'f0} "
        rb"{\f2\'93\'fa\'96\'7b} a\~b c\emdash d \{x\} \'93q\'94\par"
    )
    assert texts(read(tmp_path, body)) == [
        ("paragraph", "café €uro 😀 Пр 日本 a\u00a0b c—d {x} “q”")
    ]


def test_headings_lists_tables_and_notes(tmp_path: Path) -> None:
    body = (
        rb"\pard\s1 First\par\pard\s2 Below\par\pard Text{\footnote\pard\plain Small print}\par"
        rb"{\listtext\'b7\tab}\pard\ls1\ilvl0 One\par{\listtext a.\tab}\ilvl1 Two\par\pard"
        rb"\trowd\cellx1\cellx2\pard\intbl Year\cell Sum\cell\row"
        rb"\trowd\pard\intbl 2020\cell 5\par 6\cell\row\pard After\par"
    )
    document = read(tmp_path, body)
    assert texts(document) == [
        ("heading", "First"), ("heading", "Below"), ("paragraph", "Text"),
        ("note", "Small print"), ("list", "- One\n  a. Two"),
        ("table", "Year | Sum\n2020 | 5 6"), ("paragraph", "After"),
    ]  # fmt: skip
    assert document.blocks[2].headings == ["First", "Below"]
    assert (document.title, document.metadata) == ("A report", {"author": "Ann"})


def test_what_is_no_text_is_left_out(tmp_path: Path) -> None:
    body = (
        rb"{\header\pard Page head\par}\pard A{\*\shppict{\pict\pngblip 89504e}} "
        rb"{\pict\bin5 }{\\x} B {\*\unknown lost}{\v hidden}\par "
        rb"{\field{\*\fldinst HYPERLINK x}{\fldrslt a link}}{\object{\*\objdata 00ff}}\par"
        rb"{\shp{\*\shpinst{\sp{\sn a}{\sv b}}{\shptxt\pard In a box\par}}}"
    )
    document = read(tmp_path, body)
    assert texts(document) == [
        ("paragraph", "A  B"), ("paragraph", "a link"), ("paragraph", "In a box"),
        ("note", "Page head"),
    ]  # fmt: skip
    assert document.report.pictures == 2
    assert [finding.code for finding in document.report.findings] == ["hidden_text"]


def test_deletions_are_left_out_and_counted(tmp_path: Path) -> None:
    document = read(tmp_path, rb"\pard Old {\deleted\revauthdel1 gone }{\revised new} end\par")
    assert document.text == "Old new end" and document.report.tracked_changes == 2
    assert [finding.code for finding in document.report.findings] == ["tracked_changes"]


@pytest.mark.parametrize("body", [b"{" * 400_000, b"}" * 400_000, rb"\'e9" * 200_000,
                                  rb"{\footnote x\par}" * 20_000])  # fmt: skip
def test_hostile_nesting_takes_time_in_proportion(tmp_path: Path, body: bytes) -> None:
    begun = time.perf_counter()
    assert read(tmp_path, rb"\pard Words\par " + body).text.startswith("Words")
    assert time.perf_counter() - begun < 10


def test_cut_files_are_read_as_far_as_they_go(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(HEAD + rb"\pard Begun {\b and cut")
    assert parse(path, "a").text == "Begun and cut"
