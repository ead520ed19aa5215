"""Every word on the screen, in English and German, and numbers and dates in either.

``t("chat.claims", n=7)`` looks the sentence up in ``texts/<language>*.json``. An entry is a
sentence, or ``{"one": ..., "other": ...}`` chosen by ``n``. Integers and floats among the values
are written the language's way; pass a string to keep digits as they are.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from services.errors import HaloError
from services.models import Finding
from services.workspace import Notice

Language = Literal["en", "de"]
LANGUAGES: tuple[Language, ...] = ("en", "de")
TEXTS = Path(__file__).parent / "texts"
NBSP = "\u00a0"
_MONTHS = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(),
    "de": "Jan. Feb. März Apr. Mai Juni Juli Aug. Sept. Okt. Nov. Dez.".split(),
}
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+\-.!~:$<>|&^=])")


@cache
def catalogue(language: Language) -> dict[str, str | dict[str, str]]:
    """All sentences of a language: every file ``texts/<language>*.json``."""
    entries: dict[str, str | dict[str, str]] = {}
    for path in sorted(TEXTS.glob(f"{language}*.json")):
        entries |= json.loads(path.read_text(encoding="utf-8"))
    return entries


def choose(setting: str | None, locale: str | None) -> Language:
    """The language of the screen: the setting, or else the browser's, or else English."""
    if setting in LANGUAGES:
        return setting
    return "de" if (locale or "").lower().startswith("de") else "en"


def use(language: Language) -> None:
    """Set this tab's language; ``frame.begin`` calls it on each run."""
    st.session_state["language"] = language


def language() -> Language:
    chosen: Language = st.session_state.get("language", "en")
    return chosen


def t(key: str, /, **values: Any) -> str:
    """The sentence ``key`` in the tab's language with its values filled in."""
    entry = catalogue(language())[key]
    if isinstance(entry, dict):
        entry = entry["one" if values.get("n") == 1 else "other"]
    return entry.format(**{name: _written(value) for name, value in values.items()})


def has(key: str) -> bool:
    return key in catalogue(language())


def _written(value: Any) -> str:
    if isinstance(value, list | tuple):
        return listed(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return number(value)


def listed(values: Sequence[Any]) -> str:
    """Up to forty of them, with commas."""
    return ", ".join(map(str, values[:40])) + (" …" if len(values) > 40 else "")


def number(value: float, digits: int | None = None) -> str:
    """1,240 and 9.8 in English; 1.240 and 9,8 in German."""
    places = digits if digits is not None else (0 if isinstance(value, int) else 1)
    text = f"{value:,.{places}f}"
    return text.translate(str.maketrans(",.", ".,")) if language() == "de" else text


def percent(share: float) -> str:
    """62 % with a no-break space, from a share of 1."""
    return f"{number(int(share * 100))}{NBSP}%"


def size(count: int) -> str:
    """312 KB, 8.4 MB: decimal units, one digit from a megabyte on."""
    if count < 1_000_000:
        return f"{number(max(round(count / 1000), 1 if count else 0))}{NBSP}KB"
    if count < 1_000_000_000:
        return f"{number(count / 1_000_000, 1)}{NBSP}MB"
    return f"{number(count / 1_000_000_000, 1)}{NBSP}GB"


def moment(stamp: str) -> dt.datetime:
    """A stored time in the browser's time zone."""
    when = dt.datetime.fromisoformat(stamp)
    offset = st.context.timezone_offset
    zone = dt.timezone(dt.timedelta(minutes=-offset)) if offset is not None else None
    return when.astimezone(zone)


def date(stamp: str) -> str:
    """12 Nov 2026 or 12. Nov. 2026."""
    return _written_day(moment(stamp).date())


def _written_day(when: dt.date) -> str:
    month = _MONTHS[language()][when.month - 1]
    dot = "." if language() == "de" else ""
    return f"{when.day}{dot}{NBSP}{month} {when.year}"


def day(stated: str) -> str:
    """A day as a document states it, in the tab's language; as it stands where it is no date."""
    try:
        found = dt.date.fromisoformat(stated[:10])
    except ValueError:
        return stated
    return _written_day(found)


def when(stamp: str) -> str:
    """14:20 for a time of today, else the date."""
    local = moment(stamp)
    today = dt.datetime.now(local.tzinfo).date()
    return f"{local:%H:%M}" if local.date() == today else date(stamp)


def label(text: str) -> str:
    """Text of a user or a source, so escaped that a Streamlit label shows it as it is.

    Streamlit's icons are found before Markdown is read, so a word joiner stands in their names.
    """
    escaped = _SPECIAL.sub(r"\\\1", " ".join(text.split()))
    return re.sub(r":(?=material|streamlit)", ":\u2060", escaped)


def spoken(text: str) -> str:
    """Text for a label that only screen readers get: as it is, but never a picture to load."""
    return " ".join(text.split()).replace("![", "!\u2060[")


def error(problem: HaloError | dict[str, Any]) -> str:
    """The sentence for an error, kept or raised; its own English where there is no other."""
    stored = problem.as_dict() if isinstance(problem, HaloError) else problem
    return _sentence("error", stored)


def finding(found: Finding | Notice) -> str:
    """The sentence for a finding of an import report, or for a notice about the folder."""
    stored = {"code": found.code, "message": found.message, "params": found.params}
    return _sentence("finding", stored)


def short(stored: dict[str, Any]) -> str:
    """A stored error in a few words, for a status line; the whole sentence where there are none."""
    key = f"short.{stored.get('code')}"
    return t(key, **(stored.get("params") or {})) if has(key) else error(stored)


def _sentence(group: str, stored: dict[str, Any]) -> str:
    key, params = f"{group}.{stored.get('code')}", stored.get("params") or {}
    if has(key):
        try:
            return t(key, **params)
        except KeyError:  # written by another version, with other params
            pass
    return str(stored.get("message") or "")
