"""Numbers and bullets of Word lists and headings, which the text itself does not hold."""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

from services.parsers.attributes import whole
from services.parsers.ooxml import W

_ROMAN = ((1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"),
          (40, "xl"), (10, "x"), (9, "ix"), (5, "v"), (4, "iv"), (1, "i"))  # fmt: skip


@dataclass(frozen=True)
class _Level:
    format: str
    pattern: str
    start: int


class Numbering:
    """Counts list items as Word does. Ask for each paragraph once, in order."""

    def __init__(self, root: etree._Element | None) -> None:
        self._levels: dict[str, dict[int, _Level]] = {}
        self._lists: dict[str, str] = {}
        self._counts: dict[str, dict[int, int]] = {}
        if root is None:
            return
        for abstract in root.iter(f"{W}abstractNum"):
            self._levels[abstract.get(f"{W}abstractNumId", "")] = {
                whole(level.get(f"{W}ilvl")): _level(level) for level in abstract.iter(f"{W}lvl")
            }
        for number in root.iter(f"{W}num"):
            link = number.find(f"{W}abstractNumId")
            if link is not None:
                self._lists[number.get(f"{W}numId", "")] = link.get(f"{W}val", "")

    def mark(self, list_id: str, depth: int) -> str:
        """What stands before the item: "-", "3." or "2.1"; "" when nothing does."""
        abstract = self._lists.get(list_id, "")
        levels = self._levels.get(abstract, {})
        level = levels.get(depth)
        if level is None or level.format == "bullet":
            return "-"
        counts = self._counts.setdefault(abstract, {})
        counts[depth] = counts.get(depth, level.start - 1) + 1
        for deeper in [other for other in counts if other > depth]:
            del counts[deeper]
        if level.format == "none":
            return ""

        def shown(match: re.Match[str]) -> str:
            at = int(match[1]) - 1
            other = levels.get(at, level)
            return _written(counts.get(at, other.start), other.format)

        return re.sub(r"%(\d)", shown, level.pattern).strip()


def _level(element: etree._Element) -> _Level:
    def value(name: str, default: str) -> str:
        found = element.find(f"{W}{name}")
        return found.get(f"{W}val", default) if found is not None else default

    start = value("start", "1")
    return _Level(value("numFmt", "decimal"), value("lvlText", ""), whole(start, 1))


def _written(number: int, kind: str) -> str:
    if kind in ("lowerLetter", "upperLetter") and 0 < number < 1000:
        letter = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter.upper() if kind == "upperLetter" else letter
    if kind in ("lowerRoman", "upperRoman") and 0 < number < 4000:
        text = ""
        for value, letters in _ROMAN:
            text += letters * (number // value)
            number %= value
        return text.upper() if kind == "upperRoman" else text
    return f"{number:02}" if kind == "decimalZero" else str(number)
