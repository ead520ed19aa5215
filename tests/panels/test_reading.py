"""Documents as HTML: escaped, cut into parts, the cited characters marked wherever they stand."""

from __future__ import annotations

import re
from typing import get_args

from panels import reading
from services.models import Block, BlockKind, Document


def document(*blocks: Block) -> Document:
    return Document(blocks=list(blocks)).settle()


def html_of(doc: Document, hit: tuple[int, int] | None = None) -> str:
    return "".join(reading.part_html(part, hit) for part in reading.parts(doc))


def shown(html: str) -> str:
    return re.sub(r"<[^>]+>", "", html)


def test_everything_is_escaped() -> None:
    kinds = get_args(BlockKind)
    hostile = "<script>alert(1)</script> & <img src=x>"
    doc = document(*(Block(kind=kind, text=hostile, sheet=hostile) for kind in kinds))
    html = html_of(doc, (0, 8))
    assert "<script" not in html and "<img" not in html
    assert html.count("&lt;script&gt;") >= len(kinds) - 1


def test_a_quote_over_two_blocks_is_marked_in_both() -> None:
    doc = document(Block(text="One two."), Block(text="Three four."))
    html = html_of(doc, (4, 15))
    assert re.findall(r"<mark[^>]*>(.*?)</mark>", html) == ["two.", "Three"]


def test_a_table_is_a_table_with_marked_cells_and_columns_of_figures() -> None:
    text = "Driver | Points\nMembrane prices | −1.1\nSegment mix | −0.4"
    doc = document(Block(kind="table", text=text, header_rows=1))
    at = text.index("Segment")
    html = html_of(doc, (at, len(text)))
    assert html.count("<tr>") == 3 and html.count("<th") == 2
    assert "<th class=n>Points</th>" in html
    assert re.findall(r"<mark[^>]*>(.*?)</mark>", html) == ["Segment mix", "−0.4"]


def test_a_long_table_is_cut_and_its_header_repeated() -> None:
    rows = "\n".join(f"Row {n} | {n}" for n in range(100))
    doc = document(Block(kind="table", text=f"Name | Value\n{rows}", header_rows=1))
    html = html_of(doc)
    assert len(re.findall("<table>", html)) == 3
    assert html.count("<th>Name</th>") == 3
    assert [int(n) for n in re.findall(r"<td>Row (\d+)</td>", html)] == list(range(100))


def test_parts_hold_every_character_once() -> None:
    blocks = [Block(text=f"Paragraph {n}. " + "word " * 300, page=n + 1) for n in range(30)]
    doc = document(*blocks)
    parts = reading.parts(doc)
    assert len(parts) > 3
    pieces = [piece for part in parts for piece in part]
    assert "".join(p.block.text[p.start : p.end] for p in pieces) == "".join(b.text for b in blocks)
    for block in (blocks[0], blocks[17], blocks[29]):
        part = parts[reading.part_of(parts, block.start)]
        assert any(piece.block is block for piece in part)
        assert any(
            p.block is block for p in parts[reading.first_part_of_page(parts, block.page or 0)]
        )
    assert reading.page_of(doc, blocks[17].start) == 18


def test_an_endless_line_is_one_piece() -> None:
    doc = document(Block(text="x" * 50_000))
    assert [len(part) for part in reading.parts(doc)] == [1]


def test_an_empty_document_has_one_empty_part() -> None:
    assert reading.parts(Document()) == [[]]
    assert shown(html_of(Document())) == ""


def test_pages_slides_and_sheets_are_named_once() -> None:
    doc = document(
        Block(text="a", page=51, page_label="47"),
        Block(text="b", page=51, page_label="47"),
        Block(text="c", slide=2),
        Block(text="d", sheet="Segments"),
    )
    marks = re.findall(r'class="pagemark num">(.*?)<', html_of(doc))
    assert marks == ["p. 47 (PDF 51)", "Slide 2", "Sheet Segments"]


def test_a_sheet_is_named_once_and_speaker_notes_are_labelled() -> None:
    doc = document(
        Block(kind="heading", text="Segments", sheet="Segments"),
        Block(kind="note", text="Say hello.", slide=2),
        Block(kind="note", text="A footnote."),
    )
    html = html_of(doc)
    assert html.count("Segments") == 1
    assert html.count("Speaker notes") == 1 and "A footnote." in html


def test_a_numbered_item_keeps_its_number_and_gets_no_bullet() -> None:
    html = html_of(document(Block(kind="list", text="1. First\n- Second\n12) Third\n3.5 million")))
    items = re.findall(r"<li( class=\"numbered\")?>(.*?)</li>", html)
    assert [(bool(own), text) for own, text in items] == [
        (True, "1. First"),
        (False, "Second"),
        (True, "12) Third"),
        (False, "3.5 million"),
    ]
