"""The board memo: a Word file with headings, tables, bullets and a real footnote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import docx
from docx.enum.text import WD_ALIGN_PARAGRAPH
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls, qn
from docx.shared import Cm, Pt, RGBColor

from tools.sample.markup import Piece, read, runs

NAVY, COPPER = RGBColor(0x16, 0x32, 0x4F), RGBColor(0xB8, 0x56, 0x2A)
FOOTNOTES = (
    "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"  # content type
)


def _look(document: Any) -> None:
    for name, size, colour, bold in (
        ("Normal", 10.5, None, False),
        ("Title", 20, NAVY, True),
        ("Heading 1", 14, NAVY, True),
        ("Heading 2", 11.5, COPPER, True),
    ):
        style = document.styles[name]
        style.font.name, style.font.size, style.font.bold = "Calibri", Pt(size), bold
        fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
        for theme in ("asciiTheme", "hAnsiTheme", "eastAsiaTheme", "cstheme"):
            fonts.attrib.pop(qn(f"w:{theme}"), None)
        if colour is not None:
            style.font.color.rgb = colour
    document.styles["Normal"].paragraph_format.space_after = Pt(6)
    section = document.sections[0]
    section.page_width, section.page_height = Cm(21), Cm(29.7)
    section.left_margin = section.right_margin = Cm(2.5)
    section.header.paragraphs[0].text = "Tarvendal N.V. · Board memo · Confidential"
    section.footer.paragraphs[
        0
    ].text = "Tarvendal is an invented company; this file belongs to the sample notebook of HALO."
    for edge in (section.header, section.footer):
        edge.paragraphs[0].runs[0].font.size = Pt(8)


def _fill(paragraph: Any, text: str) -> None:
    for part, bold in runs(text):
        paragraph.add_run(part).bold = bold or None


def _footnote_reference(paragraph: Any, number: str) -> None:
    run = paragraph.add_run()
    run.font.superscript = True
    run._r.append(parse_xml(f'<w:footnoteReference {nsdecls("w")} w:id="{number}"/>'))


def _rules(table: Any) -> None:
    """Thin lines between rows only."""
    line = 'w:val="single" w:sz="4" w:color="B8C4CF"'
    edges = "".join(f"<w:{edge} {line}/>" for edge in ("top", "bottom", "insideH"))
    none = "".join(f'<w:{edge} w:val="nil"/>' for edge in ("left", "right", "insideV"))
    borders = f"<w:tblBorders {nsdecls('w')}>{edges}{none}</w:tblBorders>"
    table._tbl.tblPr.append(parse_xml(borders))


def _table(document: Any, piece: Piece) -> None:
    caption = document.add_paragraph(style="Caption")
    caption.add_run(piece.text).font.color.rgb = NAVY
    caption.paragraph_format.keep_with_next = True
    table = document.add_table(len(piece.rows), len(piece.rows[0]), style="Table Grid")
    words = max(len(cell) for row in piece.rows[1:] for cell in row[1:]) > 20
    _rules(table)
    for number, (row, cells) in enumerate(zip(table.rows, piece.rows, strict=True)):
        for at, (cell, text) in enumerate(zip(row.cells, cells, strict=True)):
            paragraph = cell.paragraphs[0]
            text, _, footnote = text.partition("[")
            _fill(paragraph, text)
            if footnote:
                _footnote_reference(paragraph, footnote[0])
            if at and not words:
                paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
            paragraph.paragraph_format.space_after = Pt(2)
            paragraph.paragraph_format.keep_with_next = number < len(piece.rows) - 1
            for run in paragraph.runs:
                run.font.size, run.font.bold = Pt(9), number == 0 or None
            if number == 0:
                shade = f'<w:shd {nsdecls("w")} w:val="clear" w:fill="E3EAF0"/>'
                cell._tc.get_or_add_tcPr().append(parse_xml(shade))
    document.add_paragraph()


def _footnotes_part(document: Any, notes: list[Piece]) -> None:
    def note(identity: str, body: str, kind: str = "") -> str:
        return f'<w:footnote {kind} w:id="{identity}"><w:p><w:r>{body}</w:r></w:p></w:footnote>'

    body = note("-1", "<w:separator/>", 'w:type="separator"')
    body += note("0", "<w:continuationSeparator/>", 'w:type="continuationSeparator"')
    body += "".join(
        note(
            piece.name,
            '<w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:footnoteRef/></w:r><w:r>'
            f'<w:rPr><w:sz w:val="17"/></w:rPr><w:t xml:space="preserve"> {piece.text}</w:t>',
        )
        for piece in notes
    )
    xml = f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?><w:footnotes {nsdecls("w")}>'
    part = Part(
        PackURI("/word/footnotes.xml"),
        FOOTNOTES,
        f"{xml}{body}</w:footnotes>".encode(),
        document.part.package,
    )
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)


def write(path: Path) -> None:
    """Write the memo to ``path``."""
    document = docx.Document()
    _look(document)
    pieces = read("memo.md")
    title, *lines = [piece.text for piece in pieces if piece.kind == "title"]
    document.add_paragraph(title.removeprefix("Board memo: ").capitalize(), style="Title")
    for line in lines:
        document.add_paragraph().add_run(line).italic = True
    notes = [piece for piece in pieces if piece.kind == "footnote"]
    for piece in pieces:
        if piece.kind == "heading":
            document.add_heading(piece.text, piece.level)
        elif piece.kind == "text":
            _fill(document.add_paragraph(), piece.text)
        elif piece.kind == "list":
            for row in piece.rows:
                _fill(document.add_paragraph(style="List Bullet"), row[0])
        elif piece.kind == "table":
            _table(document, piece)
    _footnotes_part(document, notes)
    document.core_properties.title = title
    document.core_properties.author = "Tarvendal N.V."
    document.core_properties.comments = ""
    document.save(str(path))
