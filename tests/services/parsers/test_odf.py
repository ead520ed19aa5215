from __future__ import annotations

import base64
import hashlib
import io
import os
import zipfile
import zlib
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

from services.errors import PasswordNeededError, UnreadableSourceError
from services.models import Document
from services.parsers import parse

NAMES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
    for short, long in {
        "office": "office", "text": "text", "table": "table", "style": "style",
        "draw": "drawing", "presentation": "presentation", "svg": "svg-compatible",
        "meta": "meta", "chart": "chart", "number": "datastyle",
    }.items()
)  # fmt: skip
NAMES += ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xlink="http://www.w3.org/1999/xlink"'
STYLES = (
    '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Title"/>'
    '<text:list-style style:name="L1"><text:list-level-style-number text:level="1" '
    'style:num-format="1" style:num-suffix="."/><text:list-level-style-number text:level="2" '
    'style:num-format="a" style:num-suffix=")"/></text:list-style>'
    '<style:style style:name="hid" style:family="table"><style:table-properties '
    'table:display="false"/></style:style>'
    '<style:style style:name="dp" style:family="drawing-page"><style:drawing-page-properties '
    'presentation:visibility="hidden"/></style:style>'
)


def package(kind: str, body: str, styles: str = STYLES) -> dict[str, bytes]:
    """The parts of a file of a kind (text, spreadsheet, presentation)."""
    content = (
        f"<office:document-content {NAMES}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}>"
        "</office:body></office:document-content>"
    )
    meta = (
        f"<office:document-meta {NAMES}><office:meta><dc:title>Named</dc:title>"
        "<dc:creator>Last</dc:creator><meta:initial-creator>Ann</meta:initial-creator>"
        "<meta:creation-date>2020-01-02</meta:creation-date></office:meta></office:document-meta>"
    )
    page = (
        f"<office:document-styles {NAMES}><office:master-styles><style:master-page>"
        "<style:header><text:p>Page head</text:p></style:header></style:master-page>"
        "</office:master-styles></office:document-styles>"
    )
    return {
        "mimetype": f"application/vnd.oasis.opendocument.{kind}".encode(),
        "content.xml": content.encode(),
        "meta.xml": meta.encode(),
        "styles.xml": page.encode(),
    }


def write(path: Path, parts: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def read(folder: Path, kind: str, body: str, **more: bytes) -> Document:
    return parse(write(folder / "file", package(kind, body) | more), "file.docx")


def shown(document: Document) -> list[tuple[str, str]]:
    return [(block.kind, block.text) for block in document.blocks]


def test_headings_lists_notes_and_comments(tmp_path: Path) -> None:
    body = (
        '<text:p text:style-name="P1">The title</text:p>'
        '<text:h text:outline-level="2">Part</text:h>'
        "<text:p>A <text:span>b</text:span><text:s text:c=\"2\"/>c<text:note><text:note-citation>1"
        "</text:note-citation><text:note-body><text:p>Small print</text:p></text:note-body>"
        "</text:note> d<office:annotation><dc:creator>Ann</dc:creator><text:p>Check</text:p>"
        '</office:annotation></text:p><text:list text:style-name="L1"><text:list-item>'
        "<text:p>One</text:p><text:list><text:list-item><text:p>Deep</text:p></text:list-item>"
        "</text:list></text:list-item><text:list-item><text:p>Two</text:p></text:list-item>"
        "</text:list>"
    )  # fmt: skip
    document = read(tmp_path, "text", body)
    assert shown(document) == [
        ("heading", "The title"), ("heading", "Part"), ("paragraph", "A b  c d"),
        ("note", "Small print"), ("note", "Comment by Ann: Check"),
        ("list", "1. One\n  a) Deep\n2. Two"), ("note", "Page head"),
    ]  # fmt: skip
    assert document.blocks[2].headings == ["The title", "Part"]
    assert (document.kind, document.title) == ("odt", "Named")
    assert document.metadata == {"author": "Ann", "date": "2020-01-02"}


def test_deletions_are_left_out_and_changes_counted(tmp_path: Path) -> None:
    body = (
        "<text:tracked-changes><text:changed-region><text:deletion><text:p>gone</text:p>"
        "</text:deletion></text:changed-region><text:changed-region><text:insertion/>"
        "</text:changed-region></text:tracked-changes><text:p>Old <text:change/>"
        "<text:change-start/>new<text:change-end/></text:p>"
    )
    document = read(tmp_path, "text", body)
    assert document.blocks[0].text == "Old new" and "gone" not in document.text
    assert document.report.tracked_changes == 2


def test_hidden_text_is_left_out_and_said(tmp_path: Path) -> None:
    styles = (
        '<style:style style:name="H" style:family="text"><style:text-properties '
        'text:display="none"/></style:style>'
        '<style:style style:name="B" style:family="paragraph" style:parent-style-name="H"/>'
    )
    body = (
        '<text:p>It costs 40<text:span text:style-name="H"> or 30</text:span> crowns.</text:p>'
        '<text:p text:style-name="B">For us only.</text:p>'
        '<text:section text:display="none"><text:p>A draft</text:p></text:section>'
        '<text:p>Gone<text:hidden-paragraph text:is-hidden="true"/></text:p>'
        '<text:p>Said <text:hidden-text text:is-hidden="true">not</text:hidden-text></text:p>'
    )
    content = package("text", body, styles)["content.xml"]
    document = read(tmp_path, "text", "", **{"content.xml": content})
    assert document.text.startswith("It costs 40 crowns.\n\nSaid\n\n")
    (finding,) = document.report.findings
    assert (finding.code, finding.params) == ("hidden_text", {"count": 5})


def test_tables_stand_in_place_with_merged_cells_in_their_first(tmp_path: Path) -> None:
    def cell(text: str, more: str = "") -> str:
        return f"<table:table-cell {more}><text:p>{text}</text:p></table:table-cell>"

    body = (
        "<text:p>Before</text:p><table:table><table:table-header-rows><table:table-row>"
        + cell("Name") + cell("Sum")
        + "</table:table-row></table:table-header-rows><table:table-row>"
        + cell("wide", 'table:number-columns-spanned="2"')
        + "<table:covered-table-cell/></table:table-row><table:table-row>"
        + cell("a") + cell("1") + "</table:table-row></table:table><text:p>After</text:p>"
        '<text:p><draw:frame><draw:text-box><text:p>Boxed</text:p></draw:text-box></draw:frame>'
        '<draw:frame><draw:image xlink:href="x"/><svg:desc>A map</svg:desc></draw:frame></text:p>'
    )  # fmt: skip
    document = read(tmp_path, "text", body)
    assert shown(document)[:5] == [
        ("paragraph", "Before"), ("table", "Name | Sum\nwide\na | 1"), ("paragraph", "After"),
        ("paragraph", "Boxed"), ("picture", "A map"),
    ]  # fmt: skip
    assert document.blocks[1].header_rows == 1 and document.report.pictures == 1


def test_slides_with_notes_and_hidden_ones(tmp_path: Path) -> None:
    body = (
        '<draw:page draw:style-name="dp"><draw:frame presentation:class="outline"><draw:text-box>'
        "<text:list><text:list-item><text:p>Point</text:p></text:list-item></text:list>"
        '</draw:text-box></draw:frame><draw:frame presentation:class="title"><draw:text-box>'
        "<text:p>Head</text:p></draw:text-box></draw:frame><presentation:notes>"
        '<draw:frame presentation:class="notes"><draw:text-box><text:p>Say it</text:p>'
        "</draw:text-box></draw:frame></presentation:notes></draw:page>"
        "<draw:page><draw:g><draw:custom-shape><text:p>Shape</text:p></draw:custom-shape></draw:g>"
        "</draw:page><draw:page/>"
    )
    document = read(tmp_path, "presentation", body)
    assert [(b.kind, b.text, b.slide) for b in document.blocks] == [
        ("heading", "Head", 1), ("list", "- Point", 1), ("note", "Say it", 1),
        ("paragraph", "Shape", 2),
    ]  # fmt: skip
    assert (document.kind, document.units) == ("odp", {"slides": 3})
    assert (document.report.hidden, document.report.unread) == (["1"], [3])


def cells(*values: str) -> str:
    found = "".join(
        f'<table:table-cell office:value-type="string"><text:p>{value}</text:p></table:table-cell>'
        for value in values
    )
    return f"<table:table-row>{found}</table:table-row>"


def test_sheets_keep_row_numbers_over_a_million_blank_rows(tmp_path: Path) -> None:
    body = (
        '<table:table table:name="Data">' + cells("Region", "Sum")
        + '<table:table-row><table:table-cell office:value-type="string"><text:p>North</text:p>'
        '<office:annotation><dc:creator>Ann</dc:creator><text:p>Check</text:p></office:annotation>'
        '</table:table-cell><table:table-cell table:formula="of:=1+2" office:value-type="float" '
        'office:value="3.50"><text:p>3,5</text:p></table:table-cell></table:table-row>'
        '<table:table-row table:number-rows-repeated="1000000"><table:table-cell '
        'table:number-columns-repeated="16000"/></table:table-row>' + cells("Far down", "x")
        + '</table:table><table:table table:name="Quiet" table:style-name="hid"><table:table-row>'
        '<table:table-cell office:value-type="date" office:date-value="2021-03-04"><text:p>'
        '4 March 2021</text:p></table:table-cell><table:table-cell office:value-type="percentage" '
        'office:value="0.125"><text:p>12.5%</text:p></table:table-cell><table:table-cell '
        'table:formula="of:=A1"/></table:table-row></table:table>'
    )  # fmt: skip
    document = read(tmp_path, "spreadsheet", body)
    assert [(b.kind, b.text, b.sheet, b.row) for b in document.blocks] == [
        ("table", "Region | Sum\nNorth | 3.5", "Data", 2),
        ("table", "Far down | x", "Data", 1_000_003),
        ("note", "Comment on A2 by Ann: Check", "Data", None),
        ("table", "4 March 2021 | 12.5% | =A1", "Quiet", 1),
    ]
    assert (document.kind, document.units) == ("ods", {"sheets": 2})
    assert document.report.hidden == ["Quiet"]
    assert [finding.code for finding in document.report.findings] == ["no_stored_result"]


def test_repeated_values_end_at_the_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.parsers.regions.CELLS", 1000)
    body = (
        '<table:table table:name="Full"><table:table-row table:number-rows-repeated="1048576">'
        '<table:table-cell table:number-columns-repeated="100" office:value-type="string">'
        '<text:p>x</text:p></table:table-cell></table:table-row></table:table>'
        '<table:table table:name="Next">' + cells("late") + "</table:table>"
    )  # fmt: skip
    document = read(tmp_path, "spreadsheet", body)
    (finding,) = document.report.findings
    assert finding.code == "cells_cut" and finding.params["sheets"] == ["Full", "Next"]
    assert document.units == {"sheets": 2}


def test_merged_values_fill_their_range_and_a_chart_alone_gives_its_numbers(tmp_path: Path) -> None:
    body = (
        '<table:table table:name="S">' + cells("Region", "Sum")
        + '<table:table-row><table:table-cell table:number-rows-spanned="2" '
        'office:value-type="string"><text:p>North</text:p></table:table-cell><table:table-cell '
        'office:value-type="float" office:value="1"/></table:table-row><table:table-row>'
        '<table:covered-table-cell/><table:table-cell office:value-type="float" office:value="2"/>'
        '</table:table-row></table:table><table:table table:name="C"><table:shapes><draw:frame>'
        '<draw:object xlink:href="./Object 1"/></draw:frame></table:shapes></table:table>'
    )  # fmt: skip
    chart = (
        f"<office:document-content {NAMES}><office:body><office:chart><chart:chart><chart:title>"
        "<text:p>Growth</text:p></chart:title><table:table>"
        + cells("Year", "Tons") + cells("2020", "5")
        + "</table:table></chart:chart></office:chart></office:body></office:document-content>"
    )  # fmt: skip
    document = read(tmp_path, "spreadsheet", body, **{"Object 1/content.xml": chart.encode()})
    assert [(b.text, b.sheet) for b in document.blocks] == [
        ("Region | Sum\nNorth | 1\nNorth | 2", "S"), ("Growth", "C"),
        ("Year | Tons\n2020 | 5", "C"),
    ]  # fmt: skip


def locked(folder: Path, password: str) -> Path:
    """A text whose content is encrypted as OpenDocument 1.2 says."""
    parts = package("text", "<text:p>Secret words</text:p>")
    squeezer = zlib.compressobj(wbits=-15)
    plain = squeezer.compress(parts["content.xml"]) + squeezer.flush()
    checksum = base64.b64encode(hashlib.sha256(plain[:1024]).digest()).decode()
    padding = 16 - len(plain) % 16
    salt, vector = os.urandom(16), os.urandom(16)
    start = hashlib.sha256(password.encode()).digest()
    key = PBKDF2HMAC(hashes.SHA1(), 32, salt, 1000).derive(start)
    encryptor = Cipher(algorithms.AES(key), modes.CBC(vector)).encryptor()
    parts["content.xml"] = encryptor.update(plain + b"\0" * (padding - 1) + bytes([padding]))
    ns = "urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"
    parts["META-INF/manifest.xml"] = (
        f'<m:manifest xmlns:m="{ns}"><m:file-entry m:full-path="content.xml"><m:encryption-data '
        f'm:checksum-type="{ns}#sha256-1k" m:checksum="{checksum}"><m:algorithm '
        'm:algorithm-name="http://www.w3.org/2001/04/xmlenc#aes256-cbc" '
        f'm:initialisation-vector="{base64.b64encode(vector).decode()}"/><m:start-key-generation '
        'm:start-key-generation-name="http://www.w3.org/2000/09/xmldsig#sha256"/>'
        '<m:key-derivation m:key-derivation-name="PBKDF2" m:key-size="32" '
        f'm:iteration-count="1000" m:salt="{base64.b64encode(salt).decode()}"/>'
        "</m:encryption-data></m:file-entry></m:manifest>"
    ).encode()
    return write(folder / "locked", parts)


def test_the_password_opens_a_locked_file(tmp_path: Path) -> None:
    path = locked(tmp_path, "s3cret")
    assert parse(path, "a.odt", password="s3cret").blocks[0].text == "Secret words"
    for password, wrong in ((None, False), ("no", True)):
        with pytest.raises(PasswordNeededError) as caught:
            parse(path, "a.odt", password=password)
        assert caught.value.params["wrong"] is wrong


def test_broken_content_is_damaged(tmp_path: Path) -> None:
    parts = package("text", "<text:p>x</text:p>")
    for content in (b"<office", parts["content.xml"].replace(b"<office:doc", b"<!DOCTYPE x>", 1)):
        path = write(tmp_path / "file", parts | {"content.xml": content})
        with pytest.raises(UnreadableSourceError, match="damaged"):
            parse(path, "a.odt")
    buffer = io.BytesIO(path.read_bytes()[:-40])
    path.write_bytes(buffer.getvalue())
    with pytest.raises(UnreadableSourceError):
        parse(path, "a.odt")


@pytest.mark.parametrize(
    ("kind", "name", "body", "text"),
    [
        ("text", "odt", "<text:p>Flat words</text:p>", "Flat words"),
        ("spreadsheet", "ods", f'<table:table table:name="S"><table:table-row>{cells("1", "a")}'
         "</table:table-row></table:table>", "1 | a"),
        ("presentation", "odp", '<draw:page><draw:frame><draw:text-box><text:p>Shown</text:p>'
         "</draw:text-box></draw:frame></draw:page>", "Shown"),
    ],
)  # fmt: skip
def test_flat_files_are_read_as_their_packages(
    tmp_path: Path, kind: str, name: str, body: str, text: str
) -> None:
    content = (
        f'<?xml version="1.0"?><office:document {NAMES} '
        f'office:mimetype="application/vnd.oasis.opendocument.{kind}"><office:meta><dc:title>Named'
        f"</dc:title></office:meta><office:body><office:{kind}>{body}</office:{kind}></office:body>"
        "</office:document>"
    )
    (tmp_path / "file").write_text(content, encoding="utf-8")
    document = parse(tmp_path / "file", "file.xml")
    assert (document.kind, document.title) == (name, "Named")
    assert text in document.text


def test_dates_and_percentages_are_as_exact_as_stored(tmp_path: Path) -> None:
    values = [
        ("percentage", 'office:value="0.126"', "13%"),
        ("percentage", 'office:value="0.126"', "12,6 %"),
        ("date", 'office:date-value="2021-03-04"', "04/03/21"),
        ("date", 'office:date-value="2021-03-04"', "4 March 2021"),
        ("currency", 'office:value="1234.5" office:currency="EUR"', "1.234,50 €"),
    ]
    row = "".join(
        f'<table:table-cell office:value-type="{kind}" {stored}><text:p>{shown}</text:p>'
        "</table:table-cell>"
        for kind, stored, shown in values
    )
    body = f'<table:table table:name="S"><table:table-row>{row}</table:table-row></table:table>'
    assert read(tmp_path, "spreadsheet", body).text == (
        "12.6% | 12,6 % | 2021-03-04 | 4 March 2021 | 1.234,50 €"
    )
