"""The data table: a source a row, a named value a column, each cell cited or not stated."""

from __future__ import annotations

from collections.abc import Sequence

from services.errors import UserInputError
from services.studio.material import Reading
from services.studio.models import Cell, Content, Data, Options, Table
from services.studio.templates import Template
from services.studio.writing.composing import Composer, plain, word
from services.studio.writing.values import names, titled, values_of

_COLUMNS = {"short": 4, "medium": 7, "long": 12}


def write(readings: Sequence[Reading], template: Template, options: Options) -> Content:
    """Columns are those the user named, or else proposed. Raises UserInputError without any."""
    language = options.language
    columns = options.columns or names(readings, _COLUMNS[options.length])
    if not columns:
        raise UserInputError(
            "The sources state no figures that could be columns.",
            code="no_columns",
            step="Name the columns yourself, or include sources with figures.",
        )
    composer = Composer()
    stated = [values_of(readings, column, given=bool(options.columns)) for column in columns]
    columns = [titled(name, values) for name, values in zip(columns, stated, strict=True)]
    table = Table(columns=[word("source", language), *columns])
    for reading in readings:
        cells = [Cell(text=reading.source.name)]
        for values in stated:
            value = values.get(reading.source.id)
            found = (
                Cell(text=value.text, citation=composer.number(value.quote)) if value else Cell()
            )
            cells.append(found)
        table.rows.append(cells)
    add_table(composer, table, language)
    title = f"{template.name(language)}: {', '.join(columns[:3])}"
    return composer.content(title, Data(table=table))


def add_table(composer: Composer, table: Table, language: str) -> None:
    """The table as Markdown."""
    composer.table(
        [plain(column) for column in table.columns],
        [[shown(cell, language) for cell in row] for row in table.rows],
    )


def shown(cell: Cell, language: str) -> str:
    marker = f" [{cell.citation}]" if cell.citation else ""
    return f"{plain(cell.text) or word('not_stated', language)}{marker}"
