"""What a workbook's number formats say of a stored number: a date, a time, a percentage, a unit.

Numbers are shown as they are stored, not rounded to what a format shows of them; a format adds
what the number would not mean without it. The same for every kind of workbook.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
from dataclasses import dataclass

BUILT_IN = {9: "0%", 10: "0.00%", **dict.fromkeys((14, 15, 16, 17), "d/m/yy"),
            **dict.fromkeys((18, 19, 20, 21), "h:mm"), 22: "d/m/yy h:mm",
            45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss"}  # fmt: skip
"""Codes that files name by number only and that change what a number means."""
_NO_CODE = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]|general', re.IGNORECASE)
_AFFIX = re.compile(r'"([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|([$€£¥₹])|_.|\*.|\[[^\]]*\]')
_DIGITS = re.compile(r"[0#?]")
_SECTION = re.compile(r';(?=(?:[^"]*"[^"]*")*[^"]*$)')
_CONDITION = re.compile(r"\[[<>=]")
_LONGEST = 200
"""Characters of a code from which it is not looked at."""


@dataclass(frozen=True)
class _Format:
    kind: str = ""
    """"date", "time", "span", "%", "padded" or "" (a plain number)."""
    width: int = 0
    affixes: tuple[tuple[str, str], ...] = ()
    """What stands before and after positive and, where they differ, negative numbers."""


def shown(number: float, code: str, *, since_1904: bool = False) -> str:
    """A stored number as text: dates and times in ISO form, percentages with their sign, others
    with the currency or unit that the format writes beside them.

    >>> shown(0.126, "0%"), shown(44260, "d/m/yy"), shown(-5, '#,##0" kg"'), shown(7, "000")
    ('12.6%', '2021-03-05', '-5 kg', '007')
    """
    form = _format(code)
    try:
        if form.kind == "%":
            return f"{number * 100:.8g}%"
        if form.kind == "padded":
            return f"{number:0{form.width}.0f}" if number == int(number) else f"{number:.15g}"
        if form.kind:
            return _date(number, form.kind, since_1904=since_1904)
    except (ValueError, OverflowError):
        pass
    text = f"{abs(number):.15g}"
    if form.affixes:
        before, after = form.affixes[-1 if number < 0 else 0]
        text = f"{before}{text}{after}".strip()
    return f"-{text}" if number < 0 else text


@functools.lru_cache(maxsize=4096)
def is_plain(code: str) -> bool:
    """Whether a format adds nothing to the stored number."""
    return _format(code) == _Format()


@functools.lru_cache(maxsize=4096)
def _format(code: str) -> _Format:
    if len(code) > _LONGEST:
        return _Format()
    sections = _SECTION.split(code)
    bare = _NO_CODE.sub("", sections[0]).lower()
    if "[" in bare:
        return _Format("span")
    if any(letter in bare for letter in "dy") or (
        "m" in bare and "h" not in bare and "s" not in bare
    ):
        return _Format("date")
    if "h" in bare or "s" in bare:
        return _Format("time")
    if "%" in bare:
        return _Format("%")
    if re.fullmatch("0{2,}", sections[0]):
        return _Format("padded", len(sections[0]))
    # A number that is scaled, split into a fraction or chosen by its size is stored as another
    # number than is shown: a unit of the format would be wrong beside it.
    scaled = re.search(r"[0#?],+(?![0#?,])|/|e[+-]", bare)
    if scaled or any(map(_CONDITION.search, sections)):
        return _Format()
    affixes = tuple(map(_affixes, sections[:2]))
    return _Format(affixes=affixes) if any(any(pair) for pair in affixes) else _Format()


def _affixes(section: str) -> tuple[str, str]:
    """The literal text before the first and after the last digit of a format's section."""
    section = re.sub("general", "0", section, flags=re.IGNORECASE)
    before, after, met = "", "", False
    at = 0
    while at < len(section):
        if found := _AFFIX.match(section, at):
            text = next(filter(None, found.groups()), "")
            before, after = (before, after + text) if met else (before + text, after)
            at = found.end()
            continue
        if _DIGITS.match(section[at]):
            met, after = True, ""
        elif section[at] == " ":
            before, after = (before, after + " ") if met else (before + " ", after)
        at += 1
    if not met or not any(c.isalpha() or c in "$€£¥₹°%" for c in before + after):
        return "", ""  # signs of a layout: brackets, dashes, blanks
    return before.lstrip(), after.rstrip()


def _date(number: float, kind: str, *, since_1904: bool) -> str:
    seconds = round(number * 86400)
    if kind == "span":
        hours, rest = divmod(abs(seconds), 3600)
        return f"{'-' if seconds < 0 else ''}{hours}:{rest // 60:02}:{rest % 60:02}"
    span = dt.timedelta(seconds=seconds)
    if kind == "time" or (0 <= number < 1 and not since_1904):
        return str(span - dt.timedelta(days=span.days))
    if 0 < number < 60 and not since_1904:
        span += dt.timedelta(days=1)  # Excel counts a 29 February 1900
    epoch = dt.datetime(1904, 1, 1) if since_1904 else dt.datetime(1899, 12, 30)
    return (epoch + span).isoformat(" ").removesuffix(" 00:00:00")
