"""Tables as Excel files: the table, a note on each cell with its passage, and all passages."""

from __future__ import annotations

import io
import zipfile

import xlsxwriter

from services.studio.export.cells import harmless
from services.studio.export.flow import label, place, quote
from services.studio.models import StudioOutput
from services.studio.writing.composing import word


def export(output: StudioOutput) -> bytes:
    """An .xlsx file. Nothing in it is a formula or a link, whatever the sources hold."""
    table = output.data.table
    assert table, "offered for outputs with a table"
    language = output.options.language
    cited = {citation.number: citation for citation in output.citations}
    stream = io.BytesIO()
    plain = {"strings_to_formulas": False, "strings_to_urls": False, "strings_to_numbers": False}
    book = xlsxwriter.Workbook(stream, {"in_memory": True, **plain})
    head = book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1})
    body = book.add_format({"text_wrap": True, "valign": "top"})
    soft = book.add_format({"text_wrap": True, "valign": "top", "font_color": "#7A807D"})
    sheet = book.add_worksheet(label("table", language))
    sheet.freeze_panes(1, 1)
    sheet.set_column(0, 0, 34)
    sheet.set_column(1, max(len(table.columns) - 1, 1), 20)
    for at, column in enumerate(table.columns):
        sheet.write_string(0, at, harmless(column), head)
    for line, row in enumerate(table.rows, start=1):
        for at, cell in enumerate(row):
            text = harmless(cell.text) or word("not_stated", language)
            sheet.write_string(line, at, text, body if cell.text else soft)
            if citation := cited.get(cell.citation or 0):
                said = f"[{citation.number}] {place(citation, language)}: {quote(citation)}"
                sheet.write_comment(line, at, said[:2000], {"x_scale": 2.5, "y_scale": 1.5})
    passages = book.add_worksheet(label("passages", language)[:31])
    passages.set_column(0, 0, 6)
    passages.set_column(1, 1, 40)
    passages.set_column(2, 2, 90)
    for line, citation in enumerate(output.citations):
        passages.write_number(line, 0, citation.number, body)
        passages.write_string(line, 1, harmless(place(citation, language)), body)
        passages.write_string(line, 2, harmless(quote(citation))[:32_000], body)
    book.set_properties({"title": output.title[:250]})
    book.close()
    return stream.getvalue()


def check(data: bytes) -> None:
    """Raises ValueError or KeyError for a file that does not open."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as members:
            members.getinfo("xl/workbook.xml")
            damaged = members.testzip()
    except zipfile.BadZipFile as problem:
        raise ValueError(str(problem)) from problem
    if damaged:
        raise ValueError(damaged)
