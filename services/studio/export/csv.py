"""Tables and cards as CSV, UTF-8 with a mark at its start so that Excel reads it as such."""

from __future__ import annotations

import csv
import io

from services.studio.export.cells import harmless
from services.studio.export.flow import place
from services.studio.models import StudioOutput
from services.studio.writing.composing import word


def export(output: StudioOutput) -> bytes:
    """A table with one more column for each that has citations; the place of the passage."""
    table = output.data.table
    assert table, "offered for outputs with a table"
    language = output.options.language
    cited = {c.number: place(c, language) for c in output.citations}
    stream = io.StringIO()
    writer = csv.writer(stream)
    heads = [table.columns[0]]
    for column in table.columns[1:]:
        heads += [column, f"{column} ({word('source', language)})"]
    writer.writerow(map(harmless, heads))
    for first, *rest in table.rows:
        line = [first.text]
        for cell in rest:
            line += [cell.text or word("not_stated", language), cited.get(cell.citation or 0, "")]
        writer.writerow(map(harmless, line))
    return stream.getvalue().encode("utf-8-sig", "replace")


def check(data: bytes) -> None:
    if not list(csv.reader(io.StringIO(data.decode("utf-8-sig")))):
        raise ValueError("no row")
