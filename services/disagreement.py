"""Where sources give different figures for the thing asked about.

Of each sentence or table row picked for an answer the one figure is taken that it states for the
question: a row's cell below the year asked for, or the figure right behind the question's words.
Two sources whose figures have one unit and differ are named to the reader, who alone can tell which
one holds. It compares figures, never opinions, and rather misses a difference than invents one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.evidence import Candidate
from services.figures import Quantity
from services.quantities import read_figures
from services.questions import Question, years
from services.words import is_stop, stem, words

APART = 0.005
"""Relative difference from which two figures are two; below it they are rounded differently."""
_BEFORE, _BETWEEN = 2, 3
"""Content words that may stand before the question's words, and between them and the figure."""

_CHANGES = ("by", "um")
"""Before a figure that says how much something moved, not how much it is."""

_HOW = re.compile(r"\b(?:how|wie) \w+", re.IGNORECASE)


@dataclass(frozen=True)
class Stated:
    """A figure that a candidate states for the question: as written, and to compare."""

    candidate: Candidate
    text: str
    value: float
    unit: tuple[str, float] | None


def differing(question: Question, picked: Sequence[Candidate]) -> list[Stated]:
    """One statement for each different figure, in the order of ``picked``; empty when the sources
    agree or only one of them states a figure."""
    if question.wanted != "amount":
        return []
    found = [said for candidate in picked if (said := stated(question, candidate)) is not None]
    units = [said.unit[0] if said.unit else "" for said in found]
    if not found:
        return []
    usual = max(units, key=units.count)
    apart: list[Stated] = []
    for said, unit in zip(found, units, strict=True):
        if unit == usual and all(_differ(said.value, other.value) for other in apart):
            apart.append(said)
    sources = {said.candidate.hit.source_id for said in apart}
    return apart if len(apart) > 1 and len(sources) > 1 else []


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > APART * max(abs(one), abs(other))


def stated(question: Question, candidate: Candidate) -> Stated | None:
    """The figure a candidate states for the question; None where that is not plain."""
    if candidate.features.get("other_year"):
        return None
    how = {stem(word.folded) for match in _HOW.finditer(question.text) for word in words(match[0])}
    asked = question.terms.keys() - question.years - how
    if candidate.unit.kind == "row" and candidate.heads:
        text = _cell(question, candidate, asked)
    else:
        text = _following(candidate.unit.text, asked)
    quantity = _first(text)
    if quantity is None:
        return None
    value = quantity.values[0] * (quantity.unit[1] if quantity.unit else 1)
    shown = text[quantity.start : quantity.end].strip()
    return Stated(candidate, shown, -value if quantity.negative else value, quantity.unit)


def _first(text: str) -> Quantity | None:
    """The first figure of ``text`` unless it is rough or a second makes it a range ("11.8 % to
    12.4 %")."""
    found = _figures(text)
    if not found or found[0].loose:
        return None
    if len(found) > 1:
        between = text[found[0].end : found[1].start].strip().lower()
        if between in ("to", "bis", "-", "–", "and", "und"):
            return None
    return found[0]


def _figures(text: str) -> list[Quantity]:
    """The figures of ``text`` without its years."""
    return [q for q in read_figures(text).quantities if not years(q.text)]


def _cell(question: Question, candidate: Candidate, asked: set[str]) -> str:
    """The cell of a row named by nothing but words of the question, below the year asked for."""
    label, *cells = _cells(candidate.unit.text)
    if not asked or {stem(w.folded) for w in words(label) if not is_stop(w.folded)} != asked:
        return ""
    heads = [_cells(head.text) for head in candidate.heads]
    for at, cell in enumerate(cells, start=1):
        above = " ".join(head[at] for head in heads if at < len(head))
        if not question.years or any(year in above for year in question.years):
            return cell
    return ""


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.replace("\t", " | ").split("|")]


def _following(text: str, asked: set[str]) -> str:
    """What follows the question's words where they open the sentence and a figure is near."""
    content = [word for word in words(text) if not is_stop(word.folded)]
    places = {stem(word.folded): n for n, word in reversed(list(enumerate(content)))}
    if not asked or not asked <= places.keys():
        return ""
    first, last = (pick(places[term] for term in asked) for pick in (min, max))
    if first > _BEFORE or last - first >= len(asked) + 1:
        return ""
    rest = text[content[last].end :]
    quantity = next(iter(_figures(rest)), None)
    if quantity is None:
        return ""
    way = words(rest[: quantity.start])
    if way and way[-1].folded in _CHANGES:
        return ""
    between = [word for word in way if not is_stop(word.folded)]
    return rest if len(between) <= _BETWEEN else ""
