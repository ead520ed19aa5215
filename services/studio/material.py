"""What is read out of sources before anything is written: one ``Reading`` a source.

A source's text is looked at once and let go; only quotes of it are kept, so that hundreds of
sources fit. Nothing here knows what an output looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from services.digest import Digest, digest, quoted, units
from services.errors import UserInputError
from services.figures import Figures
from services.ingestion import load_document
from services.models import Block, Document, Quote, Source
from services.quantities import read_figures
from services.sentences import Sentence, without_mark
from services.studio.models import Options, Used
from services.words import is_stop, stem, stems, words
from services.workspace import Workspace

POINTS = {"short": 6, "medium": 12, "long": 24}
"""Central sentences that are read out of one source."""
_ROWS = 200
"""Rows of one table that are kept."""
_STATING = 300
"""Sentences with figures that are kept of one source."""
_DEFINED = re.compile(
    r"^(?:An? |The |Eine? |Der |Die |Das )?(?P<term>[^\W\d_][\w’'() -]{1,60}?),? "
    r"(?:(?:is|are|ist|sind) (?:an?|any|eine?|jede[rs]?)|means|refers to|describes|bezeichnet"
    r"|bedeutet|beschreibt)\b"
)
_VAGUE = frozenset(
    "this that these those it there here they he she we you what which who dies das dieser diese "
    "es hier sie er wir was wer one both each".split()
)


@dataclass(frozen=True)
class Dated:
    """A sentence with a date: its sort key (year, month, day; 0 where not said) and the date."""

    key: tuple[int, int, int]
    date: str
    quote: Quote


@dataclass(frozen=True)
class Grid:
    """A table of a source: heads, and (cells, quote of the row) each."""

    heads: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], Quote], ...]
    headings: tuple[str, ...]


@dataclass
class Reading:
    """What one source says, verbatim."""

    source: Source
    digest: Digest
    defined: list[tuple[str, Quote]] = field(default_factory=list)
    dated: list[Dated] = field(default_factory=list)
    asked: list[tuple[str, Quote]] = field(default_factory=list)
    """Headings that are questions, with the sentence below."""
    sections: list[tuple[str, Quote]] = field(default_factory=list)
    """Other headings, with the first sentence below."""
    stating: list[Quote] = field(default_factory=list)
    """Sentences with figures."""
    grids: list[Grid] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)

    @property
    def quotes(self) -> list[Quote]:
        """Its central sentences, most central first."""
        return [point.quote for point in self.digest.points]

    def used(self) -> Used:
        source = self.source
        return Used(
            id=source.id,
            name=source.name,
            revision=source.revision or "",
            url=source.url,
            metadata=self.metadata,
        )


def gather(
    workspace: Workspace,
    sources: Sequence[Source],
    options: Options,
    on_progress: Callable[[int, int], None],
) -> list[Reading]:
    """Read every source; ``on_progress(done, total)`` is called after each and may raise.

    Raises UserInputError where nothing is said, or nothing that has to do with the focus.
    """
    focus = {term for term in stems(options.focus) if not is_stop(term)}
    found = []
    for done, source in enumerate(sources, start=1):
        document = load_document(workspace, source.id, source.revision)
        found.append(_read(source, document, POINTS[options.length], focus))
        on_progress(done, len(sources))
    if not any(reading.digest.points or reading.grids for reading in found):
        if focus:
            raise UserInputError(
                f"The sources say nothing about “{options.focus}”.",
                code="focus_not_found",
                step="Use other words, or include more sources.",
                focus=options.focus,
            )
        raise UserInputError(
            "The sources hold no whole sentence and no table to make this from.",
            code="nothing_said",
            step="Include sources with running text.",
        )
    return found


def _read(source: Source, document: Document, points: int, focus: set[str]) -> Reading:
    """Where there is a focus, only the parts of the document that name it."""
    if focus:
        document = document.model_copy(
            update={"blocks": [b for b in document.blocks if _touches(b, focus)]}
        )
    reading = Reading(source, digest(source, document, points=points))
    reading.metadata = dict(document.metadata)
    headed: set[tuple[str, ...]] = set()
    for block, unit, _ in units(document):
        quote = quoted(source, block, unit)
        text = without_mark(unit.text)
        path = tuple(block.headings)
        if path and path not in headed:
            headed.add(path)
            asks = path[-1].rstrip().endswith("?")
            (reading.asked if asks else reading.sections).append((path[-1].strip(), quote))
        if term := defined_term(text):
            reading.defined.append((term, quote))
        if not any(map(str.isdigit, text)):
            continue
        figures = read_figures(text)
        if dated := _dated(figures, quote):
            reading.dated.append(dated)
        if figures.quantities and len(reading.stating) < _STATING:
            reading.stating.append(quote)
    reading.grids = [
        grid for block in document.blocks if block.kind == "table" if (grid := _grid(source, block))
    ]
    return reading


def _touches(block: Block, focus: set[str]) -> bool:
    return not focus.isdisjoint(stems(" ".join([*block.headings, block.text])))


def defined_term(text: str) -> str | None:
    """What a sentence defines ("A heat pump is a machine ..."); None where it defines nothing."""
    match = _DEFINED.match(text)
    if not match:
        return None
    term = match["term"].strip()
    said = words(term)
    vague = not said or said[0].text.lower() in _VAGUE or len(said) > 5
    little = all(is_stop(word.folded) for word in said)
    return None if vague or little else term


def _dated(figures: Figures, quote: Quote) -> Dated | None:
    for date in figures.dates:
        year, month, day = date.readings[0]
        if year:
            return Dated((year, month or 0, day or 0), date.text, quote)
    return None


def _grid(source: Source, block: Block) -> Grid | None:
    lines = block.text.split("\n")
    cells = [tuple(cell.strip() for cell in line.split(" | ")) for line in lines]
    count = max(block.header_rows, 1)
    if len(lines) <= count or len(cells[0]) < 2:
        return None
    heads = cells[count - 1]
    at = sum(len(line) + 1 for line in lines[:count])
    rows = []
    for line, row in zip(lines[count:], cells[count:], strict=True):
        unit = Sentence(at, at + len(line), line, "row")
        if len(row) == len(heads) and any(row[1:]):
            rows.append((row, quoted(source, block, unit)))
        at += len(line) + 1
    return Grid(heads, tuple(rows[:_ROWS]), tuple(block.headings)) if rows else None


def common_topics(readings: Sequence[Reading], most: int) -> list[str]:
    """Subjects of all sources together, those of many sources first."""
    weight: dict[tuple[str, ...], float] = {}
    written: dict[tuple[str, ...], str] = {}
    for reading in readings:
        for rank, topic in enumerate(reading.digest.topics):
            key = tuple(stem(word.folded) for word in words(topic))
            weight[key] = weight.get(key, 0.0) + 1.0 / (1 + rank / 4)
            written.setdefault(key, topic)
    chosen: list[tuple[str, ...]] = []
    for key in sorted(weight, key=lambda k: (-weight[k], k)):
        if len(chosen) < most and not any(set(key) & set(other) for other in chosen):
            chosen.append(key)
    return [written[key] for key in chosen]


def about(topic: str, text: str) -> bool:
    """Whether a sentence names a topic: all its content words."""
    wanted = {stem(word.folded) for word in words(topic)}
    return wanted <= set(stems(text))


def alike(one: str, other: str) -> bool:
    """Whether two sentences say the same, by the share of their words."""
    first, second = set(stems(one)), set(stems(other))
    return bool(first and second) and len(first & second) / len(first | second) > 0.6
