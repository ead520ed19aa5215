from __future__ import annotations

import re
import zipfile
from pathlib import Path

import docx
import pytest
from docx.document import Document as Word
from docx.enum.style import WD_STYLE_TYPE
from docx.oxml import parse_xml

from services.errors import TooLargeError, UnreadableSourceError
from services.models import Document
from services.parsers import parse

NS = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)


def run(text: str, tag: str = "t") -> str:
    return f"<w:r><w:{tag}>{text}</w:{tag}></w:r>"


def add(word: Word, xml: str) -> None:
    """Append block-level XML to the body, before its section properties."""
    element = parse_xml(re.sub(r"^<([\w:]+)", rf"<\1 {NS}", xml, count=1))
    word.element.body.insert(len(word.element.body) - 1, element)


def read(word: Word, folder: Path) -> Document:
    path = folder / "file.docx"
    word.save(str(path))
    return parse(path, "file.docx")


def rewritten(path: Path, part: str, change: tuple[bytes, bytes] | bytes) -> Path:
    """A copy of a package with one part changed or replaced."""
    copy = path.with_suffix(".copy")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(copy, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            data = old.read(name)
            if name == part:
                data = change if isinstance(change, bytes) else data.replace(*change)
            new.writestr(name, data)
    return copy


@pytest.fixture
def word() -> Word:
    return docx.Document()


def test_body_order_changes_boxes_and_controls(word: Word, tmp_path: Path) -> None:
    word.core_properties.title = "Offer"
    word.core_properties.author = "A. Writer"
    word.add_paragraph("BEFORE TABLE")
    table = word.add_table(2, 2)
    for cell, text in zip([c for row in table.rows for c in row.cells], "abcd", strict=True):
        cell.text = text
    word.add_paragraph("AFTER TABLE")
    add(word, f"<w:p>{run('Price is ')}<w:ins>{run('250')}</w:ins>"
              f"<w:del>{run('100', 'delText')}</w:del>{run(' euro')}</w:p>")  # fmt: skip
    box = f"<w:txbxContent><w:p>{run('IN A BOX')}</w:p></w:txbxContent>"
    old = box.replace("IN A", "OLD")
    add(word, "<w:p><w:r><mc:AlternateContent>"
              '<mc:Choice Requires="wps">'
              f"<w:drawing><wps:txbx>{box}</wps:txbx></w:drawing></mc:Choice>"
              f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback>"
              "</mc:AlternateContent></w:r></w:p>")  # fmt: skip
    add(
        word,
        f"<w:p><w:r><w:pict><v:textbox>{old}</v:textbox></w:pict></w:r></w:p>",
    )
    add(word, f"<w:sdt><w:sdtContent><w:p>{run('CONTROLLED')}</w:p></w:sdtContent></w:sdt>")
    add(word, "<w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent>"
              f"<w:p>{run('Click here')}</w:p></w:sdtContent></w:sdt>")  # fmt: skip
    word.sections[0].header.paragraphs[0].text = "HEADER LINE"
    document = read(word, tmp_path)
    assert [block.text for block in document.blocks] == [
        "BEFORE TABLE",
        "a | b\nc | d",
        "AFTER TABLE",
        "Price is 250 euro",
        "IN A BOX",
        "OLD BOX",
        "CONTROLLED",
        "HEADER LINE",
    ]
    assert document.title == "Offer" and document.metadata["author"] == "A. Writer"
    assert document.report.tracked_changes == 2
    assert [finding.code for finding in document.report.findings] == ["tracked_changes"]
    assert {block.page for block in document.blocks} == {None}


def test_headings_by_style_by_base_style_and_by_outline_level(word: Word, tmp_path: Path) -> None:
    style = word.styles.add_style("Ours", WD_STYLE_TYPE.PARAGRAPH)
    style.base_style = word.styles["Heading 2"]
    word.add_paragraph("The title", style="Title")
    word.add_heading("One", 1)
    word.add_paragraph("Two", style="Ours")
    add(word, f'<w:p><w:pPr><w:outlineLvl w:val="2"/></w:pPr>{run("Three")}</w:p>')
    word.add_paragraph("text")
    document = read(word, tmp_path)
    assert [(b.kind, b.level, b.text) for b in document.blocks[:4]] == [
        ("heading", 1, "The title"),
        ("heading", 1, "One"),
        ("heading", 2, "Two"),
        ("heading", 3, "Three"),
    ]
    assert document.blocks[4].headings == ["One", "Two", "Three"]
    assert document.title == "The title"


def test_lists_are_numbered_and_indented(word: Word, tmp_path: Path) -> None:
    word.add_paragraph("bullet", style="List Bullet")
    word.add_paragraph("one", style="List Number")
    word.add_paragraph("two", style="List Number")
    number = word.styles["List Number"].element.pPr.numPr.numId.val
    add(word, '<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/>'
              f'<w:numId w:val="{number}"/></w:numPr></w:pPr>'
              f"{run('below')}</w:p>")  # fmt: skip
    (block,) = read(word, tmp_path).blocks
    assert block.kind == "list"
    assert block.text == "- bullet\n1. one\n2. two\n  - below"


def test_merged_cells_come_once_and_marked_rows_are_the_header(word: Word, tmp_path: Path) -> None:
    table = word.add_table(4, 3)
    for r, row in enumerate(table.rows):
        for c, cell in enumerate(row.cells):
            cell.text = f"{r}{c}"
    table.cell(1, 0).merge(table.cell(2, 0)).text = "North"
    table.cell(3, 0).merge(table.cell(3, 1)).text = "Wide"
    for row in table.rows[:2]:
        row._tr.get_or_add_trPr().append(parse_xml(f"<w:tblHeader {NS}/>"))
    (block,) = read(word, tmp_path).blocks
    assert block.text == "00 | 01 | 02\nNorth | 11 | 12\n | 21 | 22\nWide |  | 32"
    assert block.header_rows == 2


def test_notes_and_comments_follow_their_paragraph(word: Word, tmp_path: Path) -> None:
    paragraph = word.add_paragraph("Claim")
    word.add_comment(paragraph.runs, text="Is it so?", author="Jane")
    word.add_paragraph("Next")
    document = read(word, tmp_path)
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("paragraph", "Claim"),
        ("note", "Comment by Jane: Is it so?"),
        ("paragraph", "Next"),
    ]
    assert document.report.notes == 1


def test_an_entity_bomb_is_refused_and_an_outside_entity_not_fetched(
    word: Word, tmp_path: Path
) -> None:
    word.add_paragraph("words")
    path = tmp_path / "a.docx"
    word.save(str(path))
    laughs = b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>'
    for declaration in (laughs, b'<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">'):
        bomb = rewritten(path, "word/document.xml", (b"<w:document", declaration + b"<w:document"))
        with pytest.raises(UnreadableSourceError):
            parse(bomb, "a.docx")


def test_a_part_that_unpacks_to_far_too_much_is_refused(
    word: Word, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.docx"
    word.save(str(path))
    monkeypatch.setattr("services.parsers.ooxml.PART_LIMIT", 1 << 20)
    bomb = rewritten(path, "word/document.xml", b"<w:document>" + b" " * (2 << 20))
    assert bomb.stat().st_size < 100_000
    with pytest.raises(TooLargeError) as caught:
        parse(bomb, "a.docx")
    assert caught.value.code == "unpacks_too_large"


@pytest.mark.parametrize("part", ["word/document.xml", "[Content_Types].xml", "_rels/.rels"])
def test_a_broken_part_is_damage_or_does_no_harm(word: Word, tmp_path: Path, part: str) -> None:
    word.add_paragraph("words")
    path = tmp_path / "a.docx"
    word.save(str(path))
    broken = rewritten(path, part, b"<broken")
    if part == "[Content_Types].xml":
        assert parse(broken, "a.docx").text == "words"
    else:
        with pytest.raises(UnreadableSourceError) as caught:
            parse(broken, "a.docx")
        assert caught.value.code == "damaged"


def test_a_document_without_text_is_refused(word: Word, tmp_path: Path) -> None:
    with pytest.raises(UnreadableSourceError) as caught:
        read(word, tmp_path)
    assert caught.value.code == "no_text"


def test_merged_heads_symbols_and_fractions_say_what_word_shows(tmp_path: Path) -> None:
    made = docx.Document()
    table = made.add_table(4, 3)
    table.cell(0, 0).merge(table.cell(1, 0)).text = "Region"
    table.cell(0, 1).merge(table.cell(0, 2)).text = "2024"
    table.cell(1, 1).text, table.cell(1, 2).text = "Spring", "Autumn"
    for row, name in ((2, "North"), (3, "South")):
        for column, text in enumerate((name, "1", "2")):
            table.cell(row, column).text = text
    math = "http://schemas.openxmlformats.org/officeDocument/2006/math"
    body = made.element.body
    for run in (
        '<w:r><w:t xml:space="preserve">dose </w:t><w:sym w:font="Symbol" w:char="F0A3"/>'
        '<w:t xml:space="preserve"> 5 </w:t>'
        '<w:sym w:font="Symbol" w:char="F06D"/><w:t>g</w:t></w:r>',
        '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/><w:t xml:space="preserve"> agreed</w:t>'
        "</w:r>",
        "<m:oMath><m:f><m:num><m:r><m:t>a+b</m:t></m:r></m:num><m:den><m:sSup><m:e><m:r><m:t>x</m:t>"
        "</m:r></m:e><m:sup><m:r><m:t>2</m:t></m:r></m:sup></m:sSup></m:den></m:f></m:oMath>",
    ):
        paragraph = f'<w:p {NS} xmlns:m="{math}">{run}</w:p>'
        body.insert(len(body) - 1, parse_xml(paragraph))
    made.save(str(tmp_path / "file.docx"))
    document = parse(tmp_path / "file.docx", "file.docx")
    assert [(block.header_rows, block.text) for block in document.blocks] == [
        (2, "Region | 2024\n | Spring | Autumn\nNorth | 1 | 2\nSouth | 1 | 2"),
        (0, "dose ≤ 5 μg"),
        (0, "☒ agreed"),
        (0, "(a+b)/(x^2)"),
    ]


def test_hidden_text_is_left_out_and_said(word: Word, tmp_path: Path) -> None:
    secret = word.styles.add_style("Secret", WD_STYLE_TYPE.CHARACTER)
    secret.font.hidden = True
    internal = word.styles.add_style("Internal", WD_STYLE_TYPE.PARAGRAPH)
    internal.font.hidden = True
    below = word.styles.add_style("Below", WD_STYLE_TYPE.PARAGRAPH)
    below.base_style = internal
    paragraph = word.add_paragraph("The price is 40")
    paragraph.add_run(" (we would take 30)").font.hidden = True
    paragraph.add_run(" or less").font.hidden = True
    paragraph.add_run(" crowns, ", style="Secret")
    paragraph.add_run("taxes").font.hidden = False
    word.add_paragraph("Remarks for ourselves", style="Internal")
    word.add_paragraph("More of them ", style="Below").add_run("but this").font.hidden = False
    table = word.add_table(2, 1)
    for row, text in zip(table.rows, ("Seen", "Unseen"), strict=True):
        row.cells[0].text = text
    table.rows[1]._tr.get_or_add_trPr().append(parse_xml(f"<w:hidden {NS}/>"))
    document = read(word, tmp_path)
    assert document.text == "The price is 40taxes\n\nbut this\n\nSeen"
    (finding,) = document.report.findings
    assert (finding.code, finding.params) == ("hidden_text", {"count": 4})
    assert not document.report.complete
