"""Splitting text into sentences, list items and table rows, with offsets.

Every unit is a verbatim slice: ``unit.text == text[unit.start:unit.end]``, units come in order and
never overlap. What lies between them is white space only. No model and no word list a language
beyond the abbreviations below; scripts that write no sentence mark (Thai, for example) fall back
to the length limit, cut at a space.

A line break inside a paragraph is taken as a wrap, not as an end, when the line above is about
as long as its neighbours or the next line starts in lower case.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["sentence", "item", "row", "heading"]

LONGEST = 500
"""Characters. A longer unit is cut at a semicolon, a comma or a space, so that it can be quoted."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One unit: ``text`` is the slice ``[start, end)`` of what was split.

    ``item`` is a list item (or one sentence of it), ``row`` a table row, ``heading`` a short line
    of its own without an end mark.
    """

    start: int
    end: int
    text: str
    kind: Kind


def split_sentences(text: str) -> list[Sentence]:
    """The sentences, list items, table rows and headings of ``text``, in order."""
    units: list[Sentence] = []
    for start, end, kind in _paragraphs(text):
        pieces = [(start, end)] if kind == "row" else list(_sentences(text, start, end))
        for a, b in pieces:
            units += [Sentence(x, y, text[x:y], kind) for x, y in _cut(text, a, b)]
    return units


def without_mark(text: str) -> str:
    """A unit as it is read out: without the mark of a list item, its line breaks smoothed."""
    return _MARK.sub("", " ".join(text.split()))


_MARK = re.compile(r"^(?:[-*+•‣◦▪●·–—]|\(?\d{1,3}[.)]) ")


# --- paragraphs -----------------------------------------------------------------------------

_ITEM = re.compile(r"\s*(?:[-*+•‣◦▪●·–—]|\(?\d{1,3}[.)]|\(?[a-zA-Z][.)])\s+\S")
_ENDS = re.compile(r"[.!?…。！？｡।؟۔:;,]['\"”’»«)\]」』）]*$")
_HEADING_WORDS, _HEADING_CHARS = 14, 100


def _paragraphs(text: str) -> Iterator[tuple[int, int, Kind]]:
    """(start, end, kind) of each run of lines that belongs together."""
    block: list[tuple[int, int]] = []
    for match in re.finditer(r"[^\r\n\f\v\x1c-\x1e\x85\u2028\u2029]*", text):
        start, end = _strip(text, match.start(), match.end())
        if start < end:
            # an empty line between this one and the last
            if block and text.count("\n", block[-1][1], start) > 1:
                yield from _block(text, block)
                block = []
            block.append((start, end))
    yield from _block(text, block)


def _block(text: str, lines: list[tuple[int, int]]) -> Iterator[tuple[int, int, Kind]]:
    """Join the lines of one block where a break is only a wrap."""
    longest = max((end - start for start, end in lines), default=0)
    at = 0
    while at < len(lines):
        start, end = lines[at]
        if _is_row(text[start:end]):
            yield start, end, "row"
            at += 1
            continue
        kind: Kind = "item" if _ITEM.match(text, start, end) else "sentence"
        last = at
        while last + 1 < len(lines) and _wraps(text, lines[last], lines[last + 1], longest):
            last += 1
        end = lines[last][1]
        if kind == "sentence" and last == at and _is_heading(text[start:end]):
            kind = "heading"
        yield start, end, kind
        at = last + 1


def _is_row(line: str) -> bool:
    return " | " in line or "\t" in line or (line.startswith("|") and line.endswith("|"))


def _is_heading(line: str) -> bool:
    if line.startswith("#"):
        return True
    if len(line) > _HEADING_CHARS or _ENDS.search(line) or _END.search(line):
        return False
    return len(line.split()) <= _HEADING_WORDS


def _wraps(text: str, line: tuple[int, int], after: tuple[int, int], longest: int) -> bool:
    """Whether the break between two lines is only a wrap."""
    this, following = text[slice(*line)], text[slice(*after)]
    if _is_row(following) or _ITEM.match(following) or following.startswith("#"):
        return False
    if this.startswith("#"):
        return False
    if following[0].islower():
        return True
    return len(this) >= 30 and len(this) >= 0.6 * longest


# --- sentences ------------------------------------------------------------------------------

_CLOSERS = r"['\"”“’‘»«)\]」』）]*(?:\[\d{1,3}\])*"
_END = re.compile(rf"(?:[。！？｡]+{_CLOSERS}|[.!?…।॥؟۔]+{_CLOSERS}(?=\s))")
_TITLES = frozenset(
    "mr mrs ms dr prof st sen gen col capt lt rev hon vs cf viz fig figs eq ref refs no nos vol "
    "pp approx est dept nr abb tab bd bzw vgl ca ggf evtl sog insb inkl exkl zzgl art abs str hr "
    "fr frl dipl ing geb gest mio mrd tsd bspw resp allg urspr lat griech engl franz e.g i.e z.b "
    "d.h u.a o.ä i.d.r v.a s.o s.u u.u m.e z.t b.z.w jan feb mar apr aug sept sep oct nov dec okt "
    "dez".split()
)
"""Abbreviations that hardly ever end a sentence, without their last full stop."""
_SUFFIXES = frozenset("etc usw inc ltd co corp jr sr u.s u.k u.n a.m p.m al bc ad chr".split())
"""Abbreviations that may: they do when a word follows that usually starts a sentence."""
_STARTERS = frozenset(
    "the a an in on at it its he she they we this that these those there but and for from with as "
    "if when while after before however although since by to our his her their der die das ein "
    "eine er sie es wir im am bei mit nach seit als wenn dies diese dieser dieses doch aber und "
    "auch für von zu".split()
)
_ORDINAL = re.compile(
    r"\s+(?:januar|jänner|februar|märz|april|mai|juni|juli|august|september|oktober|november|"
    r"dezember|jahrhundert|jahrtausend|jh\b|quartal|weltkrieg|kapitel|platz|auflage|klasse)",
    re.IGNORECASE,
)
_ORDINAL_BEFORE = frozenset(
    "am der die das dem den des im vom zum zur beim bis ab seit und ein eine eines einen einer "
    "jeder jede jedes dieser kaiser könig papst".split()
)
_WORD_BEFORE = re.compile(r"[^\s(\[„“\"'‘«»]*$")


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    at = start
    for match in _END.finditer(text, start, end):
        if match.end() < end and _breaks(text, at, match, end):
            yield _strip(text, at, match.end())
            at = match.end()
    a, b = _strip(text, at, end)
    if a < b:
        yield a, b


def _breaks(text: str, at: int, match: re.Match[str], end: int) -> bool:
    """Whether the mark found really ends a sentence."""
    following = text[match.end() : min(match.end() + 40, end)].lstrip()
    if not following:
        return False
    if match.group()[0] in "。！？｡।॥؟۔":
        return True
    first = following.lstrip("\"'“”„‘’«»([¿¡")[:1]
    if not first or first.islower():
        return False
    if match.group()[0] != ".":
        return True
    before = _WORD_BEFORE.search(text, max(at, match.start() - 24), match.start())
    word = before.group().lower() if before else ""
    if not word:
        # an item's own number at the start of a line, or a mark that stands alone
        return False
    if word.isdecimal() and len(word) <= 2:
        return not _is_ordinal(text, at, match, word)
    if len(word) == 1 and word.isalpha():
        return False
    if word in _TITLES:
        return False
    if word in _SUFFIXES or re.fullmatch(r"(?:\w\.)+\w", word):
        opening = re.match(r"\w+", following)
        return bool(opening) and opening is not None and opening.group().lower() in _STARTERS
    return True


def _is_ordinal(text: str, at: int, match: re.Match[str], word: str) -> bool:
    """German ordinals ("am 3. Oktober") and the numbers of list items ("2. Scope")."""
    head = text[at : match.start() - len(word)].split()
    if not head:
        return True
    return bool(_ORDINAL.match(text, match.end())) or head[-1].lower() in _ORDINAL_BEFORE


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """``[start, end)`` in pieces of at most ``LONGEST`` characters, cut where it hurts least."""
    while end - start > LONGEST:
        floor = start + LONGEST // 3
        cut = -1
        for mark in ("; ", ", ", " | ", " ", "，", "\n"):
            found = text.rfind(mark, floor, start + LONGEST)
            if found >= 0:
                cut = found + len(mark.rstrip())
                break
        a, b = _strip(text, start, cut if cut > start else start + LONGEST)
        if a < b:
            yield a, b
        start = cut if cut > start else start + LONGEST
    a, b = _strip(text, start, end)
    if a < b:
        yield a, b


def _strip(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end
