"""Tables and comparisons: cells that are cited or not stated, files that run nothing."""

from __future__ import annotations

import csv
import io

import openpyxl
import pytest

from services.studio.export import export
from services.studio.models import Cell, Data, StudioOutput, Table
from services.workspace import Workspace
from tests.services.conftest import Library
from tests.services.studio.test_report import make

NORTH = """# North

Revenue rose to EUR 12 million in the north last year. The operating margin was 11 % there.
The north has a port and the port is used by many ships.
"""
SOUTH = """# South

Revenue reached EUR 15 million in the south last year. The operating margin was 11 % as well.
The south has hills and the hills are used by many farms.
"""
EAST = "# East\n\nThe east has lakes and the lakes are used by many people in the summer.\n"


def test_each_cell_is_cited_or_not_stated(workspace: Workspace, library: Library) -> None:
    library.add(north=NORTH, south=SOUTH, east=EAST)
    output = make(workspace, "table", columns=["Revenue", "Operating margin"])
    assert output.state == "done", output.error
    table = output.data.table
    assert table and table.columns == ["Source", "Revenue", "Operating margin"]
    rows = {row[0].text: row[1:] for row in table.rows}
    assert [cell.text for cell in rows["north.md"]] == ["EUR 12 million", "11 %"]
    assert [cell.text for cell in rows["east.md"]] == ["", ""]
    quotes = {citation.number: citation.quote for citation in output.citations}
    for row in table.rows:
        for cell in row[1:]:
            assert (cell.text in quotes[cell.citation]) if cell.citation else not cell.text
    assert "not stated" in output.content
    assert {claim.support for claim in output.claims} == {"supported"}

    book = openpyxl.load_workbook(io.BytesIO(export(output, "xlsx")))
    sheet = book.worksheets[0]
    found = {row[0].value: row[1] for row in sheet.iter_rows()}
    assert found["south.md"].value == "EUR 15 million"
    assert found["south.md"].comment and "south.md" in found["south.md"].comment.text
    read = list(csv.reader(io.StringIO(export(output, "csv").decode("utf-8-sig"))))
    assert read[0][:3] == ["Source", "Revenue", "Revenue (Source)"]


def test_a_comparison_says_where_sources_agree_differ_and_are_silent(
    workspace: Workspace, library: Library
) -> None:
    library.add(north=NORTH, south=SOUTH, east=EAST)
    output = make(workspace, "comparison", columns=["Revenue", "Operating margin"])
    assert output.state == "done", output.error
    differ, agree = output.content.split("## Where figures agree")
    assert "**Revenue**" in differ and "**Operating margin**" in agree
    assert "**Revenue**: east" in output.content.split("## Where a source is silent")[1]
    assert {claim.support for claim in output.claims} == {"supported"}
    assert export(output, "docx") and export(output, "pdf")


def test_figures_of_two_kinds_are_never_compared(workspace: Workspace, library: Library) -> None:
    library.add(one="# One\n\nRevenue was EUR 5 million in the year before the last one.\n")
    library.add(two="# Two\n\nRevenue was 7 % of what the whole country had in that year.\n")
    output = make(workspace, "comparison")
    assert output.error and output.error["code"] == "nothing_to_compare"


@pytest.mark.parametrize("text", ["=1+2", "+A1", "-cmd", "@SUM(A1)", "\t=1", '=HYPERLINK("x")'])
def test_no_cell_is_run_as_a_formula(text: str) -> None:
    table = Table(columns=["A", text], rows=[[Cell(text="r"), Cell(text=text)]])
    output = StudioOutput(template_id="table", title=text, content="x", data=Data(table=table))
    sheet = openpyxl.load_workbook(io.BytesIO(export(output, "xlsx"))).worksheets[0]
    assert all(cell.data_type == "s" for row in sheet.iter_rows() for cell in row)
    for row in csv.reader(io.StringIO(export(output, "csv").decode("utf-8-sig"))):
        assert not any(value.lstrip().startswith(tuple("=+-@")) for value in row)


def test_numbers_stay_numbers() -> None:
    table = Table(columns=["A", "B"], rows=[[Cell(text="r"), Cell(text="-1.1 %")]])
    output = StudioOutput(template_id="table", title="t", content="x", data=Data(table=table))
    assert "-1.1 %" in export(output, "csv").decode("utf-8-sig").replace("'", "*")
