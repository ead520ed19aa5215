"""Notebooks, JSON, XML and subtitles."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest

from services.errors import UnreadableSourceError
from services.models import Document
from services.parsers import parse


def read(folder: Path, content: str | bytes | Any) -> Document:
    path = folder / "file"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
        path.write_text(text, encoding="utf-8")
    return parse(path, "file")


def shown(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in document.blocks]


# --- notebooks -----------------------------------------------------------------------------------


def test_cells_and_what_they_printed(tmp_path: Path) -> None:
    outputs = [
        {"output_type": "stream", "text": ["\x1b[31mred\x1b[0m\n", "line\n"]},
        {"output_type": "display_data", "data": {"image/png": "iVBOR", "text/plain": "<Figure>"}},
        {"output_type": "error", "ename": "ValueError", "evalue": "no", "traceback": ["x"]},
    ]
    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Yield\n", "\n", "By *region*."]},
            {"cell_type": "code", "source": "print(1)", "outputs": outputs},
            {"cell_type": "raw", "source": "As it is"},
        ],
        "metadata": {},
        "nbformat": 4,
    }
    document = read(tmp_path, notebook)
    assert shown(document) == [
        ("heading", "Yield"), ("paragraph", "By region."), ("code", "print(1)"),
        ("code", "Output:\nred\nline"), ("code", "Output:\n<Figure>"),
        ("code", "Output:\nValueError: no"), ("paragraph", "As it is"),
    ]  # fmt: skip
    assert (document.kind, document.title) == ("ipynb", "Yield")
    assert document.units == {"cells": 3} and document.report.pictures == 1


def test_a_long_output_is_cut_and_said(tmp_path: Path) -> None:
    long = [{"output_type": "stream", "text": "log line\n" * 10_000}]
    cells = [{"cell_type": "code", "source": "run()", "outputs": long}]
    document = read(tmp_path, {"cells": cells, "nbformat": 4, "cell_type": 0})
    assert len(document.text) < 21_000
    assert [finding.code for finding in document.report.findings] == ["outputs_cut"]


# --- JSON ----------------------------------------------------------------------------------------


def test_flat_records_are_a_table(tmp_path: Path) -> None:
    records = [{"name": "a", "sum": 1.5, "tags": ["x", "y"]}, {"name": "b", "late": None}]
    expected = "name | sum | tags | late\na | 1.5 | x, y\nb |  |  | null"
    for content in (records, "\n".join(map(json.dumps, records))):
        document = read(tmp_path, content)
        assert shown(document) == [("table", expected)]
        assert document.units == {"rows": 2, "columns": 4} and document.blocks[0].row == 1


def test_nested_values_stand_under_their_paths(tmp_path: Path) -> None:
    content = {
        "title": "Plan",
        "owner": {"name": "Zoë", "mail": ["a@x", {"b": True}]},
        "steps": [{"n": 1}, {"n": 2}],
    }
    document = read(tmp_path, content)
    assert shown(document) == [
        ("paragraph", "title: Plan"),
        ("paragraph", "owner.name: Zoë\nowner.mail[1]: a@x\nowner.mail[2].b: true"),
        ("caption", "steps"),
        ("table", "n\n1\n2"),
    ]
    assert document.title == "Plan" and document.blocks[1].headings == ["owner"]


def test_a_broken_line_is_named_and_what_stands_before_is_kept(tmp_path: Path) -> None:
    document = read(tmp_path, '{"a": 1}\n{"a": 2}\n{"a": \n')
    assert document.text == "a\n1\n2"
    (finding,) = document.report.findings
    assert (finding.code, finding.params) == ("json_broken", {"line": 3})


def test_more_values_than_are_read_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.parsers.jsondata._VALUES", 10)
    document = read(tmp_path, {"list": list(range(50))})
    assert [finding.code for finding in document.report.findings] == ["values_cut"]
    document = read(tmp_path, [{"a": n, "b": n} for n in range(50)])
    assert [finding.code for finding in document.report.findings] == ["rows_cut"]


def test_deep_nesting_ends(tmp_path: Path) -> None:
    document = read(tmp_path, '{"a": ' + "[" * 900 + '"x"' + "]" * 900 + "}")
    assert "…" in document.text
    assert read(tmp_path, "[" * 100_000 + "1").kind == "json"


# --- XML -----------------------------------------------------------------------------------------

ARTICLE = """<?xml version="1.0"?><!DOCTYPE article PUBLIC "-//NLM//DTD" "x.dtd">
<article xml:lang="en"><front><journal-meta><journal-title-group><journal-title>Tides
</journal-title></journal-title-group></journal-meta><article-meta>
<article-id pub-id-type="doi">10.1/x</article-id><title-group><article-title>On <i>waves</i>
</article-title></title-group><contrib-group><contrib contrib-type="author"><name>
<surname>Berg</surname><given-names>Ann</given-names></name></contrib></contrib-group>
<pub-date><month>3</month><year>2021</year></pub-date><abstract><p>We measured.</p></abstract>
</article-meta></front><body><sec><label>1</label><title>Methods</title><p>We used a list:
<list list-type="order"><list-item><p>buoys</p></list-item></list> there<xref>1</xref>.</p>
<table-wrap><label>Table 1</label><caption><p>Heights</p></caption><table><thead><tr><th>Site</th>
<th>m</th></tr></thead><tbody><tr><td>A</td><td>1.2</td></tr></tbody></table></table-wrap>
<sec><title>Detail</title><p>Small.</p></sec></sec></body><back><ack><p>Thanks.</p></ack><ref-list>
<title>References</title><ref><label>1.</label><mixed-citation>Lee 2019, <i>Sea</i>
</mixed-citation></ref></ref-list></back></article>"""


def test_a_scientific_article_keeps_its_structure(tmp_path: Path) -> None:
    document = read(tmp_path, ARTICLE)
    assert shown(document) == [
        ("heading", "On waves"),
        ("paragraph", "Authors: Ann Berg\nJournal: Tides\nPublished: 2021-03\nDOI: 10.1/x"),
        ("heading", "Abstract"), ("paragraph", "We measured."),
        ("heading", "1 Methods"), ("paragraph", "We used a list: there1."), ("list", "1. buoys"),
        ("caption", "Table 1 Heights"), ("table", "Site | m\nA | 1.2"),
        ("heading", "Detail"), ("paragraph", "Small."),
        ("heading", "Acknowledgements"), ("paragraph", "Thanks."),
        ("heading", "References"), ("list", "1. Lee 2019, Sea"),
    ]  # fmt: skip
    assert document.blocks[10].headings == ["On waves", "1 Methods", "Detail"]
    assert (document.title, document.report.language) == ("On waves", "en")
    assert document.metadata == {"author": "Ann Berg", "date": "2021-03"}


def test_other_xml_gives_its_text_in_order(tmp_path: Path) -> None:
    xml = (
        '<feed xmlns="urn:x"><title>News</title><entry><title>Dam built</title><p>The <b>dam</b> '
        "stands.</p><by>Ann</by><on>May</on></entry><rows><row id='1'><a>x</a></row><row id='2'>"
        "<a>y</a></row></rows>loose</feed>"
    )
    document = read(tmp_path, xml)
    assert shown(document) == [
        ("heading", "News"), ("heading", "Dam built"), ("paragraph", "The dam stands."),
        ("paragraph", "by: Ann\non: May"), ("table", "id | a\n1 | x\n2 | y"),
        ("paragraph", "loose"),
    ]  # fmt: skip


def test_entities_and_broken_xml(tmp_path: Path) -> None:
    bomb = (
        '<!DOCTYPE x [<!ENTITY a "aaaaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]>'
        "<x><p>safe &a; &b; caf&eacute;</p></x>"
    )
    text = read(tmp_path, bomb).text
    assert "safe" in text and "café" in text and "aaaaaa" not in text and "root:" not in text
    document = read(tmp_path, "<?xml version='1.0'?><a><b>kept</a>")
    assert document.text == "kept"
    assert [finding.code for finding in document.report.findings] == ["xml_broken"]


# --- subtitles -----------------------------------------------------------------------------------


def test_cues_carry_their_time_and_speaker(tmp_path: Path) -> None:
    vtt = (
        "WEBVTT - A talk\n\nSTYLE\n::cue {}\n\nNOTE checked\n\nintro\n00:01.500 --> 00:03.000 "
        "align:start\n<v Ann Berg>Good <i>morning</i>,\nall</v>\n\n1:02:03.000 --> 1:02:04.000\n"
        "<v A>Yes.</v>\n<v B>No.</v>\n\n1:02:05.000 --> 1:02:06.000\nR &amp; D\n"
    )
    document = read(tmp_path, vtt)
    assert [(block.text, block.time) for block in document.blocks] == [
        ("checked", None), ("Ann Berg: Good morning, all", 1.5), ("A: Yes. B: No.", 3723.0),
        ("R & D", 3725.0),
    ]  # fmt: skip
    assert (document.title, document.units) == ("A talk", {"cues": 3})


def test_subrip_in_an_old_code_page_and_repeated_captions(tmp_path: Path) -> None:
    srt = (
        "1\r\n00:00:01,000 --> 00:00:02,000\r\n{\\an8}<i>Schöne Grüße</i>\r\n\r\n"
        "2\r\n00:00:02,000 --> 00:00:03,000\r\nSchöne Grüße\r\nan alle\r\n"
    )
    document = read(tmp_path, srt.encode("cp1252"))
    assert [(block.text, block.time) for block in document.blocks] == [
        ("Schöne Grüße", 1.0), ("an alle", 2.0),
    ]  # fmt: skip
    assert document.kind == "subtitles"


@pytest.mark.parametrize("text", ["<x>" * 5_000, "<x>" + "<!-- a -->" * 5_000 + "</x>",
                                  "WEBVTT\n\n" + "<v " * 30_000])  # fmt: skip
def test_hostile_text_takes_time_in_proportion(tmp_path: Path, text: str) -> None:
    begun = time.perf_counter()
    with contextlib.suppress(UnreadableSourceError):
        read(tmp_path, f"<?xml version='1.0'?>{text}" if text.startswith("<x") else text)
    assert time.perf_counter() - begun < 10
