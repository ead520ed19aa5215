"""Checking claims against the quotes they cite, and finding a kept quote again in its document.

``check_support`` reads words, names, numbers with units, dates and negation; it has no model and
does not know meaning. What it can say for certain is that something in a claim does **not** stand
in its quotes. Its rules, in order:

1. No quote: unsupported. A claim that stands word for word in a quote: supported.
2. Other script or other language than every quote: only numbers, dates and codes can be compared.
   All of them found: partly; one missing: unsupported when none was found, else partly; none in
   the claim: unchecked.
3. Negated here and not there (or the reverse), or a word whose opposite stands there (rose, fell):
   unsupported.
4. A number, date or unit that no quote has: unsupported when the claim has no other figure that
   is found and under 60 % of its words are, else partly. A name or code no quote has, or a
   word replaced inside an otherwise equal phrase: partly.
5. Otherwise by the share of the claim's content words (light stems; compounds count when one word
   contains the other) found in the quotes: supported from 40 %, from 25 % when figures or names
   anchor the claim, partly from 20 %, else unsupported.

Time is linear in the length of claim and quotes.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from services.models import Document, Support
from services.quantities import (
    Figures,
    holds_date,
    holds_number,
    number_word,
    ordinal_word,
    read_figures,
)
from services.sentences import split_sentences
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

SUPPORTED, ANCHORED, PARTLY = 0.4, 0.25, 0.2
"""Shares of content words found; see rule 5."""


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
    absent = [q for q in figures.quantities if not _negligible(q.text) and not holds_number(q, found)]
    undated = [date for date in figures.dates if not holds_date(date, found)]
    counted = [q for q in figures.quantities if not _negligible(q.text)]
    total, missing = len(counted) + len(figures.dates), len(absent) + len(undated)

    if _foreign(claim, text):
        return _by_figures_only(claim, text, total, missing)
    evidence = _Evidence(text)
    mine = [word for word in words(claim) if not _inside(word, figures)]
    content = [word for word in mine if not is_stop(word.folded)]
    held = [evidence.holds(word) for word in content]
    share = sum(held) / len(held) if held else 1.0
    if not content and not total:
        return "unchecked"
    if _contradicts(claim, mine, evidence):
        return "unsupported"
    if missing:
        return "unsupported" if missing == total and share < 0.6 else "partly"
    names = _names(claim, mine, evidence)
    lost = [word for word in names if not evidence.holds(word, name=True)]
    if lost or _replaced(mine, evidence):
        return "partly" if share >= PARTLY else "unsupported"
    anchored = total + len(names) > 0
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
_MARKERS = re.compile(r"\s*\[\d{1,3}(?:\s*,\s*\d{1,3})*\]|\*\*|__|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`")
_BULLET = re.compile(r"^\s*(?:[-*+•>#]+|\d{1,2}[.)])\s+")


def _plain(claim: str) -> str:
    return _BULLET.sub("", _MARKERS.sub("", claim)).strip()


def _normal(text: str) -> str:
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).translate(_SAME)).casefold().strip()


def _verbatim(claim: str, quote: str) -> bool:
    wanted, held = _normal(claim).rstrip(" .!?…。"), _normal(quote)
    at = held.find(wanted) if wanted else -1
    while at >= 0:
        before, after = held[:at][-1:], held[at + len(wanted) :][:2]
        cut_number = wanted[-1:].isdigit() and re.match(r"[.,]?\d|\s?%", after)
        if not before.isalnum() and not after[:1].isalnum() and not cut_number:
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
        self.capitals = {word.folded for word in self.words if word.text[:1].isupper()}

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
            return len(base) >= 5 and any(
                s[:4] == base[:4] and abs(len(s) - len(base)) <= 4 and s[:5] == base[:5]
                for s in self.stems
            )
        if len(base) >= 8:
            # a German compound holds the parts that the quote names
            return any(len(s) >= 5 and s in base for s in self.stems)
        return False


def _inside(word: Word, figures: Figures) -> bool:
    """Whether a word belongs to a number, unit or date, which are compared as such."""
    spans = (*figures.quantities, *figures.dates)
    return any(span.start <= word.start < span.end for span in spans)


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
        if any(c.isdigit() for c in word.text) and any(c.isalpha() for c in word.text):
            found.append(word)
            continue
        if not word.text[:1].isupper():
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


def _replaced(mine: Sequence[Word], evidence: _Evidence) -> bool:
    """Whether a word stands in a phrase of the quote where the quote has another one.

    Looks at (word before, word after): equal neighbours and another word between them. Counted
    when the two are capitalised (a name exchanged for another) and neither is elsewhere.
    """
    own = {word.folded for word in mine}
    frames: dict[tuple[str, str], list[Word]] = {}
    theirs = evidence.words
    for at, word in enumerate(theirs):
        for key in _frames(theirs, at, evidence.text):
            frames.setdefault(key, []).append(word)
    text_of = " ".join(word.text for word in mine)
    for at, word in enumerate(mine):
        if not word.text[:1].isupper() or is_stop(word.folded) or evidence.holds(word, name=True):
            continue
        determined = at > 0 and mine[at - 1].text.lower() in _DETERMINERS
        for key in _frames(mine, at, text_of):
            if "" in key and determined:
                continue
            for other in frames.get(key, ()):
                if other.text[:1].isupper() and other.folded not in own and not is_stop(other.folded):
                    return True
    return False


_LEADS = frozenset(
    "in aus nach bei von durch mit für by from of with for to at near between und and".split()
)


def _frames(tokens: Sequence[Word], at: int, text: str) -> list[tuple[str, str]]:
    before = tokens[at - 1].folded if at else "^"
    after = tokens[at + 1].folded if at + 1 < len(tokens) else "$"
    keys = [(before, after)]
    if before in _LEADS:
        keys.append((before, ""))
    if after != "$" and not is_stop(after):
        keys.append(("", after))
    return keys


# --- contradiction --------------------------------------------------------------------------

_NEGATIVE_SENSE = re.compile(
    r"^(?:fail|lack|absen|refus|unable|den(?:y|ied)|reject|declin|except|exclud|miss|hardly|barely|"
    r"rarely|prevent|avoid|ban|fehl|mangel|unmoglich|verweiger|ablehn|abgelehn|verhinder|kaum|"
    r"ausgeschloss|ausgenomm|zero|null|stop|ceas|instead|rather|unlike|anstatt|statt|un[a-z]{4}|"
    r"in(?:capab|sufficien|effectiv|significan)|non|dis[a-z]{4}|free)"
)
_OPPOSITES = [
    (frozenset(a.split()), frozenset(b.split()))
    for a, b in (
        ("rise rose risen rising rises increase increased increases increasing grow grew grown grows growing gain gained "
         "climb climbed higher up steigen stieg gestiegen steigt zunahm zugenommen zunehmen wuchs gewachsen wachst "
         "erhoht erhohte anstieg zunahme zuwachs hoher",
         "fall fell fallen falling falls decrease decreased decreases decreasing decline declined drop dropped drops "
         "shrink shrank lower down fiel gefallen fallt sinken sank gesunken sinkt abnahm abgenommen abnehmen "
         "ruckgang abnahme verringert verringerte niedriger gesenkt senkte"),
        ("before earlier vor vorher fruher", "after later nach nachher spater"),
        ("above exceeds exceeded oberhalb uberschritt uberschreitet", "below beneath unterhalb unterschritt unterschreitet"),
        ("highest largest biggest most greatest maximum hochste hochsten großte grossten grosste hochster meisten maximal",
         "lowest smallest least fewest minimum niedrigste niedrigsten kleinste kleinsten wenigsten minimal geringste geringsten"),
        ("more mehr", "less fewer weniger"),
        ("first erste ersten erster erstes", "last letzte letzten letzter letztes"),
        ("north northern norden nordlich", "south southern suden sudlich"),
        ("east eastern osten ostlich", "west western westen westlich"),
        ("always immer stets", "never nie niemals"),
        ("profit profits gewinn gewinne uberschuss", "loss losses verlust verluste defizit"),
        ("export exports exported ausfuhr", "import imports imported einfuhr"),
        ("open opened offen geoffnet eroffnet", "closed shut geschlossen"),
        ("accept accepted approved approve angenommen genehmigt", "reject rejected refused denied abgelehnt"),
        ("with mit", "without ohne"),
        ("all alle", "none no kein keine"),
        ("male men mannlich manner", "female women weiblich frauen"),
        ("improve improved improves better verbesserte verbessert besser", "worsen worsened worsens worse verschlechterte verschlechtert schlechter"),
        ("start started begin began begun begann beginnt", "end ended finish finished endete endet"),
        ("longer langer", "shorter kurzer"),
        ("safe sicher", "unsafe dangerous unsicher gefahrlich"),
        ("possible moglich", "impossible unmoglich"),
        ("allowed permitted erlaubt zulassig", "forbidden prohibited banned verboten unzulassig"),
        ("left links", "right rechts"),
        ("buy bought purchased acquired kaufte gekauft erwarb", "sell sold verkaufte verkauft"),
    )
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Negation:
    """A negation word and the content stems it may bear on, within its clause."""

    stems: frozenset[str]


def _negations(text: str, tokens: Sequence[Word]) -> list[_Negation]:
    found: list[_Negation] = []
    for at, word in enumerate(tokens):
        if word.folded not in NEGATIONS and not word.text.lower().endswith(("n't", "n’t")):
            if not (word.folded == "t" and at and tokens[at - 1].folded.endswith("n")):
                continue
        if word.folded == "no" and text[word.end : word.end + 1] == ".":
            continue
        reach: set[str] = set()
        for step, limit in ((1, 4), (-1, 3)):
            near, edge = at, word
            for _ in range(limit):
                near += step
                if not 0 <= near < len(tokens):
                    break
                if re.search(r"[,;:.!?()–—]\s|\n", text[_between(edge, tokens[near])]):
                    break
                edge = tokens[near]
                if not is_stop(edge.folded) and edge.folded not in NEGATIONS:
                    reach.add(stem(edge.folded))
        found.append(_Negation(frozenset(reach)))
    return found


def _contradicts(claim: str, mine: Sequence[Word], evidence: _Evidence) -> bool:
    """Whether the quote's closest sentence says the opposite: negated, or an opposite word."""
    own = {stem(word.folded) for word in mine if not is_stop(word.folded)}
    near = _closest(evidence.text, own)
    if not near:
        return False
    theirs = words(near)
    claimed, stated = _negations(claim, words(claim)), _negations(near, theirs)
    senses = [w for w in theirs if _NEGATIVE_SENSE.match(w.folded)]
    if claimed and not stated and not senses:
        return True
    if stated and not claimed and not any(_NEGATIVE_SENSE.match(w.folded) for w in mine):
        held = {stem(word.folded) for word in words(claim)}
        for negation in stated:
            if negation.stems and len(negation.stems & held) * 2 > len(negation.stems):
                return True
    ours, others = {w.folded for w in mine}, {w.folded for w in theirs}
    if claimed or stated:
        return False
    for one, other in _OPPOSITES:
        for here, there in ((one, other), (other, one)):
            if ours & here and not ours & there and others & there and not others & here:
                return True
    return False


def _closest(text: str, own: set[str]) -> str:
    """The sentence of the evidence that shares most content stems with the claim."""
    best, found = 0, ""
    for unit in split_sentences(text):
        shared = len(own & {stem(word.folded) for word in words(unit.text)})
        if shared > best:
            best, found = shared, unit.text
    return found


# --- finding a quote again ------------------------------------------------------------------

FUZZY = 0.6
"""Share of the quote's words, in order, that a window must hold to count as the same passage."""


def locate(document: Document, quote: str, start: int) -> tuple[int, int] | None:
    """Offsets of a kept quote in ``document.text``, or None when it is no longer there.

    Tried in turn: exactly at ``start``; the nearest exact occurrence; the nearest one that differs
    only in white space, punctuation, case or hyphenation; the window of about the same length with
    most of the quote's words in their order, from 60 %. Linear in the document's length.
    """
    text, quote = document.text, quote.strip()
    if not quote:
        return None
    if text.startswith(quote, max(start, 0)):
        return max(start, 0), max(start, 0) + len(quote)
    exact = _nearest(text, quote, start)
    if exact is not None:
        return exact, exact + len(quote)
    wanted = _Skeleton(quote)
    if not wanted.text:
        return None
    held = _Skeleton(text)
    at = _nearest(held.text, wanted.text, held.to_skeleton(start))
    if at is not None:
        return held.to_text(at, at + len(wanted.text))
    return _fuzzy(held, wanted, start)


def _nearest(text: str, part: str, start: int) -> int | None:
    """The occurrence of ``part`` that begins nearest to ``start``."""
    start = min(max(start, 0), len(text))
    after = text.find(part, start)
    before = text.rfind(part, 0, start + len(part) - 1 if start else 0)
    options = [at for at in (before, after) if at >= 0]
    return min(options, key=lambda at: abs(at - start)) if options else None


class _Skeleton:
    """A text reduced to its folded letters and digits, with the way back to offsets."""

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self.spans: list[tuple[int, int]] = []
        for match in re.finditer(r"[^\W_]+", text):
            token = match.group()
            plain = token if token.isascii() else unicodedata.normalize("NFKC", token)
            self.words.append(plain.casefold())
            self.spans.append(match.span())
        self.text = "".join(self.words)
        self.at: list[int] = []
        total = 0
        for word in self.words:
            self.at.append(total)
            total += len(word)

    def to_skeleton(self, offset: int) -> int:
        """The skeleton position of the first word at or after a text offset."""
        index = bisect_right(self.spans, (offset, -1))
        return self.at[index] if index < len(self.at) else len(self.text)

    def to_text(self, start: int, end: int) -> tuple[int, int]:
        """The text offsets of skeleton characters ``[start, end)``."""
        first = bisect_right(self.at, start) - 1
        last = bisect_right(self.at, end - 1) - 1
        begin = self.spans[first][0] + start - self.at[first]
        stop = self.spans[last][0] + end - self.at[last]
        if end == self.at[last] + len(self.words[last]):
            stop = self.spans[last][1]
        return begin, stop


def _fuzzy(held: _Skeleton, wanted: _Skeleton, start: int) -> tuple[int, int] | None:
    """The best window of the quote's length: most shared words, then nearest to ``start``."""
    size = len(wanted.words)
    if size < 4:
        return None
    need: dict[str, int] = {}
    for word in wanted.words:
        need[word] = need.get(word, 0) + 1
    hits = [at for at, word in enumerate(held.words) if word in need]
    count: dict[str, int] = {}
    shared = left = 0
    best: tuple[int, int] = (0, 0)
    place = -1
    for at in hits:
        word = held.words[at]
        count[word] = count.get(word, 0) + 1
        shared += count[word] <= need[word]
        while hits[left] <= at - size:
            gone = held.words[hits[left]]
            shared -= count[gone] <= need[gone]
            count[gone] -= 1
            left += 1
        score = (shared, -abs(held.spans[hits[left]][0] - start))
        if score > best:
            best, place = score, hits[left]
    if best[0] < FUZZY * size:
        return None
    low = max(place - size // 4, 0)
    window = held.words[low : place + size + size // 4 + 1]
    matcher = SequenceMatcher(None, wanted.words, window, autojunk=False)
    blocks = [block for block in matcher.get_matching_blocks() if block.size]
    if sum(block.size for block in blocks) < FUZZY * size:
        return None
    first, last = low + blocks[0].b, low + blocks[-1].b + blocks[-1].size - 1
    return held.spans[first][0], held.spans[last][1]
