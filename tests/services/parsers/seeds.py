"""One or more small but rich files of every kind, made here: what the fuzz test damages.

A kind is added with one entry in ``SEEDS``; ``test_fuzz`` holds that every kind has one.
"""

from __future__ import annotations

import functools
import io
import json
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import docx
import font_source_sans_pro
import openpyxl
import xlsxwriter
import xlwt
from PIL import Image, ImageDraw, ImageFont
from pptx import Presentation
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches
from pypdf import PdfWriter
from pypdf.constants import PageLabelStyle
from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import PageBreak, Paragraph, SimpleDocTemplate, Table

from services.speech.sound import RATE
from tests import sounds
from tests.services.parsers.test_epub import CONTAINER, page
from tests.services.parsers.test_msg import compound, with_attachments
from tests.services.parsers.test_odf import NAMES, package
from tests.services.parsers.test_structured import ARTICLE
from tests.services.parsers.test_xlsb import yields

Seed = Callable[[], bytes]

FONT = Path(font_source_sans_pro.__file__).parent / "files" / "SourceSansPro-Regular.ttf"

ROWS: list[list[str | float]] = [
    ["Region", "Tons", "Share"],
    ["North", 1250.5, 0.126],
    ["South", -98, 0.874],
    ["Total", 1152.5, 1],
]


def zipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def pdf(*, compressed: bool = True) -> bytes:
    buffer = io.BytesIO()
    styles = getSampleStyleSheet()
    table = Table([[str(cell) for cell in row] for row in ROWS])
    table.setStyle([("GRID", (0, 0), (-1, -1), 1, colors.black)])
    SimpleDocTemplate(buffer, pagesize=A4, pageCompression=int(compressed), title="Yields").build(
        [
            Paragraph("Yields of the year", styles["Heading1"]),
            Paragraph("The harvest was better than the one before. " * 8, styles["BodyText"]),
            table,
            PageBreak(),
            Paragraph("Outlook", styles["Heading2"]),
            Paragraph("More of the same is expected. " * 8, styles["BodyText"]),
        ]
    )
    return buffer.getvalue()


def pdf_with_more() -> bytes:
    """Page labels, an outline, an attachment, and a password that everybody has."""
    writer = PdfWriter(io.BytesIO(pdf()))
    writer.set_page_label(0, 0, style=PageLabelStyle.LOWERCASE_ROMAN)
    writer.add_outline_item(title="Yields", page_number=0)
    writer.add_attachment("notes.txt", b"Attached words.")
    writer.encrypt("", "owner", algorithm="AES-256")
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def word() -> bytes:
    made = docx.Document()
    made.add_heading("Yields", 1)
    run = made.add_paragraph("The harvest was good. ").add_run("Very good.")
    made.add_comment(run, "Is it so?", author="Ann", initials="A")
    for item in ("wheat", "rye"):
        made.add_paragraph(item, style="List Number")
    table = made.add_table(len(ROWS), len(ROWS[0]))
    for cells, row in zip(table.rows, ROWS, strict=True):
        for cell, value in zip(cells.cells, row, strict=True):
            cell.text = str(value)
    table.cell(1, 0).merge(table.cell(2, 0))
    made.sections[0].header.paragraphs[0].text = "Head of the page"
    made.add_heading("Outlook", 2)
    made.add_paragraph("More of the same.")
    return _saved(made)


def workbook() -> bytes:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer) as made:
        sheet = made.add_worksheet("Yields")
        percent = made.add_format({"num_format": "0.0%"})
        for at, row in enumerate(ROWS):
            sheet.write_row(at + 2, 0, row, percent if at else None)
        sheet.merge_range(0, 0, 0, 2, "Yield by region")
        sheet.write_formula(7, 1, "=SUM(B4:B5)", None, 1152.5)
        sheet.write_comment("A4", "As measured")
        chart = made.add_chart({"type": "column"})
        chart.add_series({"values": "=Yields!$B$4:$B$5", "categories": "=Yields!$A$4:$A$5"})
        sheet.insert_chart("F2", chart)
        hidden = made.add_worksheet("Quiet")
        hidden.write_rich_string(0, 0, "kept ", percent, "and", " shown")
        hidden.hide()
    return buffer.getvalue()


def workbook_of_another_program() -> bytes:
    made = openpyxl.Workbook()
    assert made.active is not None
    for row in ROWS:
        made.active.append(row)
    made.active["D2"] = "=B2*C2"
    made.active.merge_cells("A2:A3")
    return _saved(made)


def deck() -> bytes:
    made = Presentation()
    for title in ("Yields", "Outlook"):
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text_frame.text = "The harvest was good"
        slide.notes_slide.notes_text_frame.text = "Say it slowly"
        frame = slide.shapes.add_table(2, 2, 0, 0, Inches(4), Inches(1)).table
        frame.cell(0, 0).text, frame.cell(1, 1).text = "Tons", "12.5"
        group = slide.shapes.add_group_shape()
        group.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "Grouped words"
    data = CategoryChartData()
    data.categories = ["North", "South"]
    data.add_series("Tons", (1.5, 2.5))
    slide.shapes.add_chart(XL_CHART_TYPE.PIE, 0, 0, Inches(3), Inches(3), data)
    return _saved(made)


def old_workbook() -> bytes:
    made = xlwt.Workbook()
    sheet = made.add_sheet("Yields")
    sheet.write_merge(0, 0, 0, 2, "Yield by region")
    for at, row in enumerate(ROWS, 1):
        for column, value in enumerate(row):
            sheet.write(at, column, value, xlwt.easyxf(num_format_str="0.0%"))
    sheet.write(9, 0, xlwt.Formula("SUM(B2:B4)"))
    made.add_sheet("Blank")
    return _saved(made)


def odt() -> bytes:
    return zipped(
        package(
            "text",
            '<text:h text:outline-level="1">Yields</text:h><text:p>The harvest<text:note '
            'text:note-class="footnote"><text:note-citation>1</text:note-citation><text:note-body>'
            "<text:p>Of wheat</text:p></text:note-body></text:note> was good.</text:p>"
            '<text:list text:style-name="L1"><text:list-item><text:p>wheat</text:p>'
            "</text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>Region</text:p>"
            "</table:table-cell><table:table-cell table:number-columns-spanned='2'><text:p>Tons"
            "</text:p></table:table-cell></table:table-row></table:table>",
        )
    )


def flat() -> bytes:
    return (
        f"<office:document {NAMES} office:mimetype='application/vnd.oasis.opendocument.text'>"
        "<office:body><office:text><text:p>Flat words</text:p></office:text></office:body>"
        "</office:document>"
    ).encode()


def ods() -> bytes:
    cells = (
        '<table:table-cell office:value-type="string"><text:p>North</text:p></table:table-cell>'
        '<table:table-cell office:value-type="percentage" office:value="0.126"><text:p>12.6%'
        "</text:p></table:table-cell>"
        '<table:table-cell office:value-type="date" office:date-value="2021-03-04"><text:p>'
        "04/03/21</text:p></table:table-cell>"
    )
    return zipped(
        package(
            "spreadsheet",
            f'<table:table table:name="Yields"><table:table-row>{cells}</table:table-row>'
            f'<table:table-row table:number-rows-repeated="3">{cells}</table:table-row>'
            '<table:table-row table:number-rows-repeated="1048000"><table:table-cell '
            'table:number-columns-repeated="1024"/></table:table-row></table:table>',
        )
    )


def odp() -> bytes:
    return zipped(
        package(
            "presentation",
            '<draw:page draw:name="One"><draw:frame presentation:class="title"><draw:text-box>'
            "<text:p>Yields</text:p></draw:text-box></draw:frame><draw:g><draw:frame>"
            "<draw:text-box><text:p>Grouped</text:p></draw:text-box></draw:frame></draw:g>"
            "<presentation:notes><draw:frame><draw:text-box><text:p>Say it slowly</text:p>"
            "</draw:text-box></draw:frame></presentation:notes></draw:page>",
        )
    )


def rtf() -> bytes:
    return (
        rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}{\f1\fcharset204 Arial;}}"
        rb"{\stylesheet{\s1 heading 1;}}{\info{\title Yields}}\pard\s1\outlinelevel0 Yields\par"
        rb"\pard The harvest{\footnote Of wheat} was \u8364?good \f1\'cf\'f0.\f0\par"
        rb"\trowd\cellx1000\cellx2000 Region\cell Tons\cell\row"
        rb"\trowd\cellx1000\cellx2000 North\cell 12.5\cell\row\pard"
        rb"{\*\unknown junk}{\field{\*\fldinst HYPERLINK x}{\fldrslt a link}}\bin3 abc\par}"
    )


def book() -> bytes:
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Book</dc:title></metadata>'
        '<manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/><item id="b" '
        'href="b.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/>'
        '<itemref idref="b"/></spine></package>'
    )
    return zipped(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": CONTAINER.encode(),
            "OPS/book.opf": opf.encode(),
            "OPS/a.xhtml": page("<h1>One</h1><p>First words<sup>1</sup></p>").encode(),
            "OPS/b.xhtml": page("<h2>Two</h2><ul><li>a<li>b</ul>").encode(),
        }
    )


def letter() -> bytes:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "ann@x.org", "ben@x.org", "Täglich"
    made["Date"] = "Mon, 1 Jan 2024 10:00:00 +0000"
    made["MIME-Version"] = "1.0"
    made.set_content("The harvest was good.\n\n> And before?\n")
    made.add_alternative(PAGE, subtype="html")
    made.add_attachment(table().encode(), maintype="text", subtype="csv", filename="t.csv")
    made.add_attachment(word(), maintype="application", subtype="octet-stream", filename="w.docx")
    return made.as_bytes()


def outlook() -> bytes:
    return compound(with_attachments())


def table(delimiter: str = ",") -> str:
    rows = "\r\n".join(delimiter.join(str(cell) for cell in row) for row in ROWS)
    return f'{rows}\r\n"quoted {delimiter} and\nbroken",1,"x""y"\r\n' * 3


PAGE = (
    "<!doctype html><html lang=en><head><title>Yields</title><meta charset=utf-8></head><body>"
    "<nav><a href=/>Home</a></nav><article><h1>Yields</h1><p>The harvest was good &amp; more than "
    "that.</p><ul><li>wheat<ul><li>summer</ul></ul><table><tr><th colspan=2>Region<th>Tons</tr>"
    "<tr><td>North<td>a<td>12.5</table><pre>code</pre></article></body></html>"
)
CUES = "1\n00:00:01,000 --> 00:00:02,000\nThe harvest\n\n2\n00:01:02,000 --> 00:01:04,000\nwas good"
MARKDOWN = (
    "---\ntitle: Yields\n---\n# Yields\n\nThe *harvest* was [good](x).\n\n"
    "| Region | Tons |\n|---|---|\n| North | 1 |\n\n1. a\n   - b\n\n```py\ncode\n```\n\n> quoted\n"
)
RECORDS: dict[str, Any] = {"harvest": [{"region": "North", "tons": 12.5, "sub": {"a": [1, None]}}]}
NOTEBOOK: dict[str, Any] = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"language_info": {"name": "python"}},
    "cells": [
        {"cell_type": "markdown", "source": ["# Yields\n", "words"], "metadata": {}},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"text/html": "<b>x</b>"}, "metadata": {}},
            ],
        },
    ],
}


def archive() -> bytes:
    return zipped(
        {"a/notes.txt": b"words of a member", "b.csv": table().encode(), "c.docx": word()}
    )


def picture(form: str) -> bytes:
    return _saved(_drawn("The harvest was good"), form)


def pages_of_pictures() -> bytes:
    """A TIFF of two frames as a fax machine packs them."""
    first, second = (_drawn(words).convert("1") for words in ("The harvest", "was good"))
    buffer = io.BytesIO()
    first.save(buffer, "tiff", save_all=True, append_images=[second], compression="group4")
    return buffer.getvalue()


def _drawn(words: str) -> Image.Image:
    made = Image.new("RGB", (320, 80), "white")
    font = ImageFont.truetype(str(FONT), 28)
    ImageDraw.Draw(made).text((20, 20), words, "black", font=font)
    return made


@functools.cache
def recording() -> bytes:
    return sounds.wav(_few_words())


@functools.cache
def film() -> bytes:
    return sounds.film(_few_words(), frames=5)


def _few_words() -> sounds.Samples:
    """Four seconds of speech."""
    return sounds.spoken()[2 * RATE : 6 * RATE]


def _saved(made: Any, *more: Any) -> bytes:
    buffer = io.BytesIO()
    made.save(buffer, *more)
    return buffer.getvalue()


def _of(text: str, encoding: str = "utf-8") -> Seed:
    return lambda: text.encode(encoding)


SEEDS: dict[str, tuple[Seed, ...]] = {
    "pdf": (pdf, functools.partial(pdf, compressed=False), pdf_with_more),
    "docx": (word,),
    "xlsx": (workbook, workbook_of_another_program),
    "pptx": (deck,),
    "xls": (old_workbook,),
    "xlsb": (yields,),
    "odt": (odt, flat),
    "ods": (ods,),
    "odp": (odp,),
    "rtf": (rtf,),
    "epub": (book,),
    "mail": (letter, lambda: b"From a@b Mon Jan  1 10:00:00 2024\n" + letter() + b"\n"),
    "msg": (outlook,),
    "csv": (_of(table()), _of(table(";"), "utf-16"), _of(table("\t"), "cp1252")),
    "html": (_of(PAGE),),
    "xml": (_of(ARTICLE), _of("<feed><entry id='1'><t>Words</t></entry><entry/></feed>")),
    "json": (_of(json.dumps(RECORDS)), _of(f"{json.dumps(RECORDS)}\n" * 3)),
    "ipynb": (_of(json.dumps(NOTEBOOK)),),
    "subtitles": (_of(CUES), _of("WEBVTT\n\n" + CUES.replace(",", "."))),
    "markdown": (_of(MARKDOWN),),
    "text": (_of("The harvest was good.\n\nSo it was — für alle.\n" * 9, "cp1252"),),
    "zip": (archive,),
    "image": (
        functools.partial(picture, "png"),
        functools.partial(picture, "jpeg"),
        pages_of_pictures,
    ),
    "audio": (recording, sounds.GERMAN.read_bytes),
    "video": (film,),
}
ENDINGS = {"csv": ".csv", "markdown": ".md", "html": ".html"}
"""Names decide only between these and plain text."""
