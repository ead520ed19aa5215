"""The comparison: what sources state for the same name, where they agree, differ or are silent."""

from __future__ import annotations

from collections.abc import Sequence

from services.errors import UserInputError
from services.passages import readable_title
from services.studio.material import Reading
from services.studio.models import Cell, Content, Data, Options, Table
from services.studio.templates import Template
from services.studio.writing.composing import Composer, plain, word
from services.studio.writing.table import add_table
from services.studio.writing.values import Value, names, same, titled, values_of

_NAMES = {"short": 8, "medium": 16, "long": 32}
Stated = list[tuple[Reading, Value]]


def write(readings: Sequence[Reading], template: Template, options: Options) -> Content:
    """Raises UserInputError for one source, or where no two state a figure for the same name."""
    if len(readings) < 2:
        raise UserInputError(
            "A comparison needs two sources.",
            code="one_source",
            step="Choose another source as well.",
        )
    offered = options.columns or names(readings, _NAMES[options.length])
    stated: dict[str, Stated] = {}
    for name in offered:
        values = values_of(readings, name, given=bool(options.columns))
        found = [(r, values[r.source.id]) for r in readings if r.source.id in values]
        if len(found) > 1:
            stated[titled(name, values)] = found
    if not stated:
        raise UserInputError(
            "No two of the sources state a figure for the same thing.",
            code="nothing_to_compare",
            step="Name what to compare, or choose other sources.",
        )
    language = options.language
    composer = Composer()
    for key, wanted in (("differ", False), ("agree", True)):
        chosen = [name for name, found in stated.items() if _agree(found) is wanted]
        if chosen:
            composer.heading(word(key, language))
            for name in chosen:
                composer.paragraph(_lines(composer, name, stated[name]))
    silent = [
        f"**{plain(name)}**: {', '.join(plain(readable_title(n)) for n in absent)}"
        for name, found in stated.items()
        if (absent := _absent(readings, found))
    ]
    if silent:
        composer.heading(word("silent", language))
        composer.items(silent)
    table = Table(columns=["", *(reading.source.name for reading in readings)])
    for name, found in stated.items():
        by_id = {reading.source.id: value for reading, value in found}
        cells = [Cell(text=name)]
        for reading in readings:
            value = by_id.get(reading.source.id)
            number = composer.number(value.quote) if value else None
            cells.append(Cell(text=value.text if value else "", citation=number))
        table.rows.append(cells)
    composer.heading(word("figures", language))
    add_table(composer, table, language)
    title = f"{template.name(language)}: {', '.join(list(stated)[:3])}"
    return composer.content(title, Data(table=table))


def _agree(found: Stated) -> bool:
    """Whether all sources state the same figure."""
    return all(same(found[0][1], value) for _, value in found[1:])


def _absent(readings: Sequence[Reading], found: Stated) -> list[str]:
    there = {reading.source.id for reading, _ in found}
    return [reading.source.name for reading in readings if reading.source.id not in there]


def _lines(composer: Composer, name: str, found: Stated) -> str:
    """The name, and below it each figure with its source and that source's date."""
    lines = [f"- **{plain(name)}**"]
    for reading, value in found:
        dated = reading.metadata.get("date", "")[:10]
        where = plain(", ".join(filter(None, [readable_title(reading.source.name), dated])))
        lines.append(f"  - {plain(value.text)} [{composer.number(value.quote)}] {where}")
    return "\n".join(lines)
