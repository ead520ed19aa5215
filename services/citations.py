"""Checking claims against the quotes they cite.

``check_support`` reads words, names, numbers with units, dates and negation; it has no model and
does not know meaning. What it can say for certain is that something in a claim does **not** stand
in its quotes. Its rules, in order:

1. No quote: unsupported. A claim that stands word for word in a quote: supported.
2. Other script or other language than every quote: only numbers, dates and codes can be compared.
   All of them found: partly; one missing: unsupported when none was found, else partly; none in
   the claim: unchecked.
3. Negated here and not there (or the reverse), or a word whose opposite stands there (rose, fell):
   unsupported.
4. A number (value, scale, unit) or date that no quote has: unsupported when none of the claim's
   is found, else partly. A name or code no quote has, another unit of the same kind, or a word
   replaced inside an otherwise equal phrase: partly.
5. Otherwise by the share of the claim's content words (light stems; compounds count when one word
   contains the other) found in the quotes: supported from 40 %, from 25 % when figures or names
   anchor the claim, partly from 20 %, else unsupported.

Time is linear in the length of claim and quotes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from itertools import pairwise

from services.contradiction import contradicts, parted
from services.figures import Figures, holds_date, holds_number
from services.models import Support
from services.quantities import ordinal_word, read_figures
from services.quotes import locate
from services.words import (
    NEGATIONS,
    Word,
    fold,
    is_stop,
    language,
    script,
    stem,
    words,
)

__all__ = ["check_support", "locate"]

SUPPORTED, ANCHORED, PARTLY = 0.4, 0.25, 0.2
"""Shares of content words found; see rule 5."""
COPY = 0.6
"""Share of word pairs from which a claim is a copy of its quote, in which one changed word of any
kind is seen."""


def check_support(claim: str, quotes: list[str]) -> Support:
    """Whether ``quotes`` hold ``claim``: supported, partly, unsupported or unchecked.

    ``claim`` is one sentence; Markdown emphasis, list marks and ``[n]`` markers in it are ignored.
    """
    claim = _plain(claim)
    quotes = [quote for quote in quotes if quote.strip()]
    if not claim or not quotes:
        return "unsupported" if claim else "unchecked"
    if any(_verbatim(claim, quote) for quote in quotes):
        return "supported"
    text = "\n\n".join(quotes)
    figures, found = read_figures(claim), read_figures(text)
    absent = [
        q for q in figures.quantities if not _negligible(q.text) and not holds_number(q, found)
    ]
    undated = [date for date in figures.dates if not holds_date(date, found)]
    counted = [q for q in figures.quantities if not _negligible(q.text)]
    total, missing = len(counted) + len(figures.dates), len(absent) + len(undated)

    if _foreign(claim, text):
        return _by_figures_only(claim, text, total, missing)
    evidence = _Evidence(text)
    said = words(claim)
    mine = [word for word in said if not _inside(word, figures)]
    content = [word for word in mine if not is_stop(word.folded)]
    held = [evidence.holds(word) for word in content]
    share = sum(held) / len(held) if held else 1.0
    if not content and not total:
        return "unchecked"
    if contradicts(claim, text):
        return "unsupported"
    if missing:
        return "unsupported" if missing == total else "partly"
    names = _names(claim, mine, evidence)
    lost = [word for word in names if not evidence.holds(word, name=True)]
    codes = _CODE.findall(claim)
    strange = [code for code in codes if not _holds_code(code, evidence)]
    orders = _orders(said) - _orders(evidence.words)
    other_units = _other_units(figures, found)
    replaced = _replaced(claim, said, evidence) or _swapped(claim, names, said, evidence)
    if lost or strange or orders or other_units or replaced:
        return "partly" if share >= PARTLY else "unsupported"
    anchored = total + len(names) + len(codes) > 0
    if share >= SUPPORTED or (anchored and share >= ANCHORED):
        return "supported"
    return "partly" if share >= PARTLY else "unsupported"


# --- verbatim -------------------------------------------------------------------------------

_SAME = str.maketrans(
    {
        **dict.fromkeys("“”„‟«»″", '"'),
        **dict.fromkeys("‘’‚‛‹›′`", "'"),
        **dict.fromkeys("‐‑‒–—−", "-"),
        **dict.fromkeys("\u00a0\u202f\u2009\u2007", " "),
        "\u00ad": None,
        "\u200b": None,
    }
)
_MARKERS = re.compile(
    r"\s*\[\d{1,3}(?:\s*,\s*\d{1,3})*\]|\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`"
)
_BULLET = re.compile(r"^\s*(?:[-*+•>#]+|\d{1,2}[.)])\s+")


def _plain(claim: str) -> str:
    return _BULLET.sub("", _MARKERS.sub("", claim)).strip()


def _normal(text: str) -> str:
    return (
        re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).translate(_SAME)).casefold().strip()
    )


_THIS_CLAUSE = re.compile(r"[^,;:.!?()\n]{0,30}")


def _verbatim(claim: str, quote: str) -> bool:
    wanted, held = _normal(claim).rstrip(" .!?…。"), _normal(quote)
    at = held.find(wanted) if wanted else -1
    while at >= 0:
        before, after = held[:at][-1:], held[at + len(wanted) :][:2]
        cut_number = wanted[-1:].isdigit() and re.match(r"[.,]?\d|\s?%", after)
        denied = [word.folded for word in words(held[max(at - 30, 0) : at])][-1:]
        rest = _THIS_CLAUSE.match(held, at + len(wanted))
        denied += [word.folded for word in words(rest[0])][:1] if rest else []  # "fand sich nicht"
        whole = not before.isalnum() and not after[:1].isalnum() and not cut_number
        if whole and not NEGATIONS.intersection(denied):
            return True
        at = held.find(wanted, at + 1)
    return False


# --- words of the evidence ------------------------------------------------------------------


class _Evidence:
    """The quotes, looked up by word, stem, prefix, neighbours and initials."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.words = words(text)
        self.folded = {word.folded for word in self.words}
        self.stems = {stem(word.folded) for word in self.words}
        self.prefixes = {s[:5] for s in self.stems if len(s) >= 5}
        self.joined = " ".join(word.folded for word in self.words)
        self.initials = "".join(word.folded[:1] for word in self.words)
        self.roots = {root for w in self.words if w.text[:1].isupper() for root in _roots(w.folded)}

    def holds(self, word: Word, *, name: bool = False) -> bool:
        """Whether the word, a form of it or a compound with it occurs."""
        base = stem(word.folded)
        if word.folded in self.folded or base in self.stems:
            return True
        if len(base) >= 5 and (base in self.joined or (not name and base[:5] in self.prefixes)):
            return True
        if name:
            # Germany for German, and acronyms of words that stand side by side
            if word.text.isupper() and 2 <= len(word.text) <= 6 and word.folded in self.initials:
                return True
            return bool(_roots(word.folded) & self.roots)
        if len(base) >= 8:
            # a German compound holds the parts that the quote names
            return any(len(s) >= 5 and s in base for s in self.stems)
        return False


_ENDINGS = re.compile(r"(?:ese|ish|ians?|an|ische[nrsm]?|isch|land|ien|ia|y|a|e|s)$")


def _roots(name: str) -> set[str]:
    """The name and what is left without an ending of peoples and countries (China, Chinese)."""
    cut = _ENDINGS.sub("", name)
    return {name, cut} if len(cut) >= 4 else {name}


def _inside(word: Word, figures: Figures) -> bool:
    """Whether a word belongs to a number, unit or date, which are compared as such."""
    spans = [(q.start, q.end) for q in figures.quantities]
    spans += [(date.start, date.end) for date in figures.dates]
    return any(start <= word.start < end for start, end in spans)


def _negligible(text: str) -> bool:
    """Number words that are mostly articles or idioms ("one", "zero doubt")."""
    return text.lower() in ("one", "eins", "zero", "null", "both", "beide", "beiden")


# --- other languages ------------------------------------------------------------------------


def _foreign(claim: str, text: str) -> bool:
    mine, theirs = script(claim), script(text)
    if mine and theirs and mine != theirs:
        return True
    spoken, written = language(claim), language(text)
    return bool(spoken and written and spoken != written)


def _by_figures_only(claim: str, text: str, total: int, missing: int) -> Support:
    codes = _CODE.findall(claim)
    found = fold(text)
    lost = sum(fold(code) not in found for code in codes)
    total, missing = total + len(codes), missing + lost
    if not total:
        return "unchecked"
    return "unsupported" if missing == total else "partly"


# --- names ----------------------------------------------------------------------------------

_CODE = re.compile(r"\b(?=[\w./-]*\d)(?=[\w./-]*[A-Z])[A-Z][\w]*(?:[-./_]\w+)*")
_DETERMINERS = frozenset(
    "der die das des dem den ein eine einen einem einer eines kein keine keinen im am zum zur vom "
    "beim ins ans sein seine seiner seinen seinem ihr ihre ihrer ihren ihrem dieser diese dieses "
    "diesem diesen jeder jede jedes alle aller viele vieler einige mehrere unser unsere".split()
)


def _names(claim: str, mine: Sequence[Word], evidence: _Evidence) -> list[Word]:
    """Words of the claim that look like names or codes.

    English: capitalised, not opening the sentence. German, where every noun is capitalised: only
    capitalised words side by side, or one that the quote's names make look like one.
    """
    german = (language(claim) or language(evidence.text)) == "de"
    found: list[Word] = []
    for at, word in enumerate(mine):
        if is_stop(word.folded):
            continue
        if not word.text[:1].isupper() or any(c.isdigit() for c in word.text):
            continue
        paired = any(
            0 <= near < len(mine)
            and mine[near].text[:1].isupper()
            and not is_stop(mine[near].folded)
            and not re.search(r"[^\s.-]", claim[_between(word, mine[near])])
            for near in (at - 1, at + 1)
        )
        opening = _opens(claim, word)
        if german:
            acronym = word.text.isupper() and len(word.text) > 1
            if (paired and not opening) or acronym or (paired and opening and at + 1 < len(mine)):
                found.append(word)
        elif not opening or paired:
            found.append(word)
    return found


def _between(a: Word, b: Word) -> slice:
    return slice(min(a.end, b.end), max(a.start, b.start))


def _opens(text: str, word: Word) -> bool:
    before = text[: word.start].rstrip("\"'“”„‘’«»( \n")
    return not before or before[-1] in ".!?:…;"


def _replaced(claim: str, said: Sequence[Word], evidence: _Evidence) -> bool:
    """Whether a word stands in a phrase of the quote where the quote has another one.

    Looks at (word before, word after): equal neighbours and another word between them. Counted
    when both words are capitalised (a name for another name), or, in a claim that otherwise
    repeats the quote, when both neighbours are equal.
    """
    own = {word.folded for word in said}
    copied = _pairs(said, evidence) >= COPY
    frames: dict[tuple[str, str], list[Word]] = {}
    for at, word in enumerate(evidence.words):
        for key in _frames(evidence.words, at, evidence.text):
            frames.setdefault(key, []).append(word)
    for at, word in enumerate(said):
        if is_stop(word.folded) or word.text[0].isdigit() or evidence.holds(word, name=True):
            continue
        named = word.text[:1].isupper()
        if not named and (not copied or evidence.holds(word)):
            continue
        determined = at > 0 and said[at - 1].text.lower() in _DETERMINERS
        for key in _frames(said, at, claim):
            if "" in key and (determined or not named):
                continue
            for other in frames.get(key, ()):
                alike = not named or other.text[:1].isupper()
                if alike and other.folded not in own and not is_stop(other.folded):
                    return True
    return False


def _swapped(claim: str, names: Sequence[Word], said: Sequence[Word], evidence: _Evidence) -> bool:
    """Whether a name of the quote stands before a word ("chairs") that has another name before it
    wherever the quote says it. Not in German, where every noun looks like a name."""
    if (language(claim) or language(evidence.text)) == "de":
        return False
    own = {word.folded for word in said}
    for name, after in pairwise(said):
        if name not in names or after.text[:1].isupper() or is_stop(after.folded):
            continue
        if parted(claim, name, after):
            continue
        places = [at for at, word in enumerate(evidence.words) if word.folded == after.folded]
        if places and all(_other_name(evidence, at, own) for at in places):
            return True
    return False


def _other_name(evidence: _Evidence, at: int, own: set[str]) -> bool:
    """Whether the word before place ``at`` of the quote is the second one of a name (so it is no
    opening word) that the claim does not have."""
    if at < 2:
        return False
    first, last = evidence.words[at - 2 : at]
    named = first.text[:1].isupper() and last.text[:1].isupper()
    return named and last.folded not in own and not parted(evidence.text, first, last)


_LEADS = frozenset(
    "in aus nach bei von durch mit für by from of with for to at near between und and".split()
)


def _pairs(said: Sequence[Word], evidence: _Evidence) -> float:
    """The share of the claim's neighbouring words that are neighbours in the quote too."""
    theirs = {(a.folded, b.folded) for a, b in pairwise(evidence.words)}
    mine = [
        (a.folded, b.folded) in theirs
        for a, b in pairwise(said)
        if a.text.isalpha() and b.text.isalpha()
    ]
    return sum(mine) / len(mine) if mine else 0.0


def _frames(tokens: Sequence[Word], at: int, text: str) -> list[tuple[str, str]]:
    """The neighbours of a word: both, and one of them where it says what the word is."""
    before, after = "^", "$"
    if at and not parted(text, tokens[at - 1], tokens[at]):
        before = tokens[at - 1].folded
    if at + 1 < len(tokens) and not parted(text, tokens[at], tokens[at + 1]):
        after = tokens[at + 1].folded
    keys = [(before, after)] if (before, after) != ("^", "$") else []
    if before in _LEADS:
        keys.append((before, ""))
    if after != "$" and not is_stop(after):
        keys.append(("", after))
    return keys


def _holds_code(code: str, evidence: _Evidence) -> bool:
    if re.search(rf"(?<!\w){re.escape(fold(code))}(?![\w-]*\w)", fold(evidence.text)):
        return True
    quarter = re.fullmatch(r"Q([1-4])", code)
    return bool(quarter) and quarter is not None and int(quarter[1]) in _orders(evidence.words)


def _orders(tokens: Sequence[Word]) -> set[int]:
    """Spelled ordinals from the second on ("third quarter", "zweite Stufe", Q3)."""
    found: set[int] = set()
    for word in tokens:
        value = ordinal_word(word.text.lower())
        quarter = re.fullmatch(r"Q([1-4])", word.text)
        if value and value > 1:
            found.add(value)
        elif quarter:
            found.add(int(quarter[1]))
    return found


def _other_units(figures: Figures, found: Figures) -> bool:
    """Whether the claim names a unit without a number where the quote has another of its kind
    ("per kg" for "per tonne")."""
    free = figures.units - {q.unit for q in figures.quantities if q.unit} - found.units
    kinds = {dimension for dimension, _ in found.units}
    return any(dimension in kinds for dimension, _ in free)
