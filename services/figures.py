"""Numbers, units and dates as they were read, and whether one stands among others.

``quantities`` reads them from text. Where a form can be read two ways (``1.234``, ``03/04/2024``)
both readings are kept and one of them has to agree.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with what stands around it.

    ``values`` are the possible readings, scaled by words such as million but not by the unit;
    ``unit`` is (dimension, factor to its base) or None; ``scaled`` says that a scale word stood
    there; ``loose`` is ``about``, ``over``, ``under`` or "".
    """

    start: int
    end: int
    text: str
    values: tuple[float, ...]
    unit: tuple[str, float] | None = None
    scaled: bool = False
    negative: bool = False
    loose: str = ""
    decade: bool = False


@dataclass(frozen=True, slots=True)
class Date:
    """A date or part of one: (year, month, day) readings, None where a component is not said."""

    start: int
    end: int
    text: str
    readings: tuple[tuple[int | None, int | None, int | None], ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything countable in a text."""

    quantities: tuple[Quantity, ...] = ()
    dates: tuple[Date, ...] = ()
    units: frozenset[tuple[str, float]] = field(default_factory=frozenset)
    """Units found anywhere, also without a number (column heads such as "Nitrate (mg/l)")."""
    scales: frozenset[float] = field(default_factory=frozenset)
    """Scale words found anywhere ("in millions")."""


def holds_number(claimed: Quantity, found: Figures) -> bool:
    """Whether a quantity of a claim stands in ``found``: value, unit, scale and sign agree.

    A claim that says "about" may be 5 % off, "over" and "under" 10 % on their side. A unit the
    claim names must be the number's own there, or, where that number has none, be named
    elsewhere (a column head); the same goes for scale words.
    """
    return any(_same_number(claimed, other, found) for other in _with_dates(found))


def holds_date(claimed: Date, found: Figures) -> bool:
    """Whether a date of a claim stands in ``found``; parts the claim leaves out do not matter.

    Parts that the found date leaves out (the year in "on 3 March") may stand elsewhere.
    """
    years = {v for q in found.quantities if not q.unit for v in q.values}
    years |= {float(r[0]) for date in found.dates for r in date.readings if r[0]}
    for date in found.dates:
        for mine in claimed.readings:
            for other in date.readings:
                pairs = list(zip(mine, other, strict=True))
                if any(a and b and a != b for a, b in pairs):
                    continue
                missing = [a for a, b in pairs if a and not b]
                agree = any(a and b for a, b in pairs)
                if agree and all(float(part) in years for part in missing):
                    return True
    return False


def _with_dates(found: Figures) -> Iterable[Quantity]:
    """The quantities plus the years (and days) inside dates as plain numbers."""
    yield from found.quantities
    for date in found.dates:
        for year, _, day in date.readings:
            for part in (year, day):
                if part is not None:
                    yield Quantity(date.start, date.end, date.text, (float(part),))


def _same_number(claimed: Quantity, other: Quantity, found: Figures) -> bool:
    factor = 1.0
    scales: tuple[float, ...] = (1.0,)
    if claimed.unit and other.unit:
        if claimed.unit[0] != other.unit[0]:
            return False
        factor = claimed.unit[1] / other.unit[1]
    elif claimed.unit and claimed.unit not in found.units:
        return False
    if claimed.scaled and not other.scaled:
        scales = (1.0, *found.scales)
    elif other.scaled and not claimed.scaled and claimed.unit is None:
        scales = (1.0,)
    if claimed.negative and not other.negative:
        return False
    for mine in claimed.values:
        for theirs in other.values:
            if any(_close(mine * factor, theirs * scale, claimed) for scale in scales):
                return True
            # miles for kilometres: both are rounded to what the language writes
            if factor != 1.0 and abs(mine * factor - theirs) <= 0.005 * abs(theirs):
                return True
    return False


def _close(mine: float, theirs: float, claimed: Quantity) -> bool:
    if claimed.decade and theirs // 10 == mine // 10:
        return True
    gap = theirs - mine
    size = max(abs(mine), abs(theirs), 1e-12)
    if abs(gap) <= 1e-12 * size:
        return True
    if claimed.loose == "about":
        return abs(gap) <= 0.05 * size
    if claimed.loose == "over":
        return 0 <= gap <= 0.1 * size
    if claimed.loose == "under":
        return -0.1 * size <= gap <= 0
    return False
