"""Named values: the figure that a source states for a name, in a row of a table or a sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from services.figures import Quantity
from services.models import Quote
from services.quantities import read_figures
from services.questions import years
from services.studio.material import Reading, common_topics
from services.words import is_stop, stem, stems, words

_BEFORE, _BETWEEN, _FAR = 2, 3, 8
"""Content words before a name and between it and its figure, where HALO proposes the name; and
words in between where the user gave it."""
_ROUNDED = 0.005
_CHANGES = ("by", "um")
"""Before a figure that says how much something moved, not how much it is."""


@dataclass(frozen=True)
class Value:
    """A figure as written, where it stands, and to compare. ``head`` is its column's in a table,
    "" in a sentence."""

    text: str
    quote: Quote
    quantity: Quantity
    head: str = ""

    @property
    def kind(self) -> tuple[str, frozenset[str]]:
        """What it measures: unit and column; figures of two kinds are never compared."""
        return self.quantity.unit[0] if self.quantity.unit else "", frozenset(stems(self.head))


def values_of(readings: Sequence[Reading], name: str, *, given: bool = False) -> dict[str, Value]:
    """By source id, what each states for ``name``: of one kind of figure, the most frequent.

    ``given``: the user gave the name, so it may stand anywhere in a sentence before its figure.
    """
    found = {reading.source.id: _values(reading, name, given) for reading in readings}
    kinds = Counter(kind for values in found.values() for kind in {v.kind: v for v in values})
    if not kinds:
        return {}
    usual = max(kinds, key=kinds.__getitem__)
    alike = {key: [v for v in values if v.kind == usual] for key, values in found.items()}
    chosen = {key: _one(values, _others(alike, key), given) for key, values in alike.items()}
    return {key: value for key, value in chosen.items() if value}


def _others(values: dict[str, list[Value]], key: str) -> list[Value]:
    return [value for other, some in values.items() if other != key for value in some]


def _one(values: Sequence[Value], others: Sequence[Value], given: bool) -> Value | None:
    """The figure of one source. Where it states several, that which another source states too;
    without such a one it is not plain which is meant, and only a user who asked gets the first."""
    if not values or all(same(values[0], value) for value in values):
        return values[0] if values else None
    shared = [value for value in values if any(same(value, other) for other in others)]
    return next(iter(shared or (values if given else [])), None)


def titled(name: str, values: dict[str, Value]) -> str:
    """The name with the head of the column its figures are from."""
    head = next((value.head for value in values.values()), "")
    return f"{name} ({head})" if head else name


def _values(reading: Reading, name: str, given: bool) -> list[Value]:
    """Every figure a source states for a name: in sentences first, then in rows of that name."""
    wanted = set(stems(name))
    if not wanted:
        return []
    said = [found for quote in reading.stating if (found := _stated(wanted, quote, given))]
    for grid in reading.grids:
        for cells, quote in grid.rows:
            if set(stems(cells[0])) == wanted:
                pairs = list(zip(grid.heads, cells, strict=True))[1:]
                said += [
                    Value(cell, quote, figure, head)
                    for head, cell in pairs
                    if (figure := _figure(cell))
                ]
    return said


def _stated(wanted: set[str], quote: Quote, given: bool) -> Value | None:
    """The figure that follows the name in a sentence, where it plainly belongs to it."""
    text = quote.quote
    content = [word for word in words(text) if not is_stop(word.folded)]
    places = {stem(word.folded): n for n, word in reversed(list(enumerate(content)))}
    if not wanted <= places.keys():
        return None
    first, last = (pick(places[term] for term in wanted) for pick in (min, max))
    if last - first >= len(wanted) + 1 or (first > _BEFORE and not given):
        return None
    end = content[last].end
    for quantity in read_figures(text).quantities:
        if quantity.start < end or years(quantity.text):
            continue
        between = words(text[end : quantity.start])
        meant = [word for word in between if not is_stop(word.folded)]
        change = bool(between) and between[-1].folded in _CHANGES
        near = len(between) <= _FAR if given else len(meant) <= _BETWEEN
        plain = bool(quantity.unit) and not quantity.loose and any(map(str.isdigit, quantity.text))
        if not near or change or not plain:
            return None
        return Value(text[quantity.start : quantity.end].strip(" .,;"), quote, quantity)
    return None


def _figure(cell: str) -> Quantity | None:
    """The figure of a cell that is one."""
    found = read_figures(cell).quantities
    return found[0] if len(found) == 1 and any(map(str.isdigit, cell)) else None


def names(readings: Sequence[Reading], most: int) -> list[str]:
    """Names worth a column: labels of table rows and topics, those for which most sources state a
    figure of one kind first; of several sources at least two have to."""
    labels: Counter[str] = Counter()
    for reading in readings:
        labels.update(
            {row[0] for grid in reading.grids for row, _ in grid.rows if 0 < len(row[0]) <= 60}
        )
    offered = [*common_topics(readings, 3 * most), *(name for name, _ in labels.most_common(60))]
    enough = 1 if len(readings) == 1 else 2
    counted: dict[frozenset[str], tuple[int, int, str]] = {}
    for order, name in enumerate(offered):
        key = frozenset(stems(name))
        if key and key not in counted:
            number = len(values_of(readings, name))
            counted[key] = (-number if number >= enough else 0, order, name)
    ranked = sorted(entry for entry in counted.values() if entry[0])
    return [name for _, _, name in ranked[:most]]


def same(one: Value, other: Value) -> bool:
    """Whether two values of one kind agree, but for rounding."""
    a, b = (
        v.quantity.values[0] * (v.quantity.unit[1] if v.quantity.unit else 1) for v in (one, other)
    )
    return abs(a - b) <= _ROUNDED * max(abs(a), abs(b))
