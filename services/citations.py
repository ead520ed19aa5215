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
from difflib import SequenceMatcher
from itertools import accumulate, pairwise

from services.models import Document, Support
from services.quantities import (
    Figures,
    holds_date,
    holds_number,
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
    absent = [q for q in figures.quantities if not _negligible(q.text) and not holds_number(q, found)]
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
    if _contradicts(claim, said, evidence):
        return "unsupported"
    if missing:
        return "unsupported" if missing == total and share < 0.6 else "partly"
    names = _names(claim, mine, evidence)
    lost = [word for word in names if not evidence.holds(word, name=True)]
    codes = _CODE.findall(claim)
    strange = [code for code in codes if not _holds_code(code, evidence)]
    orders = _orders(said) - _orders(evidence.words)
    other_units = _other_units(figures, found)
    if lost or strange or orders or other_units or _replaced(claim, said, evidence):
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
        denied = [word.folded for word in words(held[max(at - 30, 0) : at])][-1:]
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
        self.roots = {
            root for w in self.words if w.text[:1].isupper() for root in _roots(w.folded)
        }

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
    if at and not _parted(text, tokens[at - 1], tokens[at]):
        before = tokens[at - 1].folded
    if at + 1 < len(tokens) and not _parted(text, tokens[at], tokens[at + 1]):
        after = tokens[at + 1].folded
    keys = [(before, after)] if (before, after) != ("^", "$") else []
    if before in _LEADS:
        keys.append((before, ""))
    if after != "$" and not is_stop(after):
        keys.append(("", after))
    return keys


def _parted(text: str, one: Word, other: Word) -> bool:
    """Whether a mark that ends a clause stands between two neighbouring words."""
    return re.search(r"[,;:.!?()–—]\s|\n|[。；，！？]", text[_between(one, other)]) is not None


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
        ("favour favor favoured supported zugunsten dafur", "against opposed gegen dagegen"),
        ("cheaper billiger", "dearer costlier teurer"),
        ("summer sommer", "winter"),
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


def _negations(text: str, tokens: Sequence[Word]) -> list[frozenset[str]]:
    """For each negation word the content stems it may bear on, within its clause."""
    found: list[frozenset[str]] = []
    for at, word in enumerate(tokens):
        if word.folded not in NEGATIONS and not word.folded.endswith("n't"):
            continue
        if word.folded == "no" and text[word.end : word.end + 1] == ".":
            continue
        reach: set[str] = set()
        for step, limit in ((1, 4), (-1, 3)):
            near = at
            for _ in range(limit):
                last, near = near, near + step
                if not 0 <= near < len(tokens):
                    break
                if _parted(text, tokens[min(last, near)], tokens[max(last, near)]):
                    break
                if not is_stop(tokens[near].folded) and tokens[near].folded not in NEGATIONS:
                    reach.add(stem(tokens[near].folded))
        found.append(frozenset(reach))
    return found


_CLAUSE = re.compile(
    r"[,;:()–—]\s|\b(?:while|whereas|because|although|though|but|since|however|and|"
    r"während|weil|obwohl|aber|sondern|jedoch|und)\b",
    re.IGNORECASE,
)


def _contradicts(claim: str, said: Sequence[Word], evidence: _Evidence) -> bool:
    """Whether the clause of the quotes that is closest says the opposite."""
    own = {stem(word.folded) for word in said if not is_stop(word.folded)}
    ours = {word.folded for word in said}
    clauses = [
        (piece, words(piece))
        for unit in split_sentences(evidence.text)
        for piece in _CLAUSE.split(unit.text)
        if piece.strip()
    ]
    claimed = _negations(claim, said)
    for part in _CLAUSE.split(claim):
        tokens = words(part)
        if _negations(part, tokens):
            near = _closest(clauses, {stem(w.folded) for w in tokens if not is_stop(w.folded)})
            if near and not any(_denies(text, theirs, ours) for text, theirs in near):
                return True
    near = _closest(clauses, own)
    if claimed or not near:
        return False
    soft = any(_NEGATIVE_SENSE.match(word.folded) for word in said)
    return all(_opposed(text, tokens, said, soft) for text, tokens in near)


def _opposed(text: str, tokens: Sequence[Word], said: Sequence[Word], soft: bool) -> bool:
    """Whether a clause denies what a claim without a negation says, or uses an opposite word."""
    stated = _negations(text, tokens)
    if stated:
        held = {stem(word.folded) for word in said}
        denied = any(n and len(n & held) * 2 > len(n) for n in stated)
        return denied and not soft
    ours, theirs = {word.folded for word in said}, {word.folded for word in tokens}
    for one, other in _OPPOSITES:
        for here, there in ((one, other), (other, one)):
            if ours & here and not ours & there and theirs & there and not theirs & here:
                return True
    return False


def _denies(text: str, tokens: Sequence[Word], ours: set[str]) -> bool:
    return bool(_negations(text, tokens)) or any(
        _NEGATIVE_SENSE.match(word.folded) and word.folded not in ours for word in tokens
    )


def _closest(
    clauses: Sequence[tuple[str, list[Word]]], own: set[str]
) -> list[tuple[str, list[Word]]]:
    """The clauses that share most stems with ``own``, none when no clause shares any."""
    best = 1
    found: list[tuple[str, list[Word]]] = []
    for text, tokens in clauses:
        theirs = {stem(word.folded) for word in tokens}
        shared = len(own & theirs)
        # "unverändert" shares "verändert"
        shared += any(s[2:] in own for s in theirs - own if s.startswith("un") and len(s) > 6)
        if shared > best:
            best, found = shared, []
        if shared == best:
            found.append((text, tokens))
    return found


# --- finding a quote again ------------------------------------------------------------------

NEAR = 100_000
"""Characters before and after the old place that are searched first."""
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
    # most passages move little: look around the old place before reading a long document
    low = max(min(start, len(text)) - NEAR, 0)
    around = _Skeleton(text[low : low + 2 * NEAR], low)
    at = _nearest(around.text, wanted.text, around.to_skeleton(start))
    if at is not None:
        return around.to_text(at, at + len(wanted.text))
    held = around if len(text) <= 2 * NEAR and not low else _Skeleton(text)
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

    def __init__(self, text: str, low: int = 0) -> None:
        """``low`` is the offset of ``text`` in the document."""
        found = list(re.finditer(r"[^\W_]+", text))
        self.spans = [(match.start() + low, match.end() + low) for match in found]
        self.words = [
            token.lower()
            if token.isascii()
            else unicodedata.normalize("NFKC", token).casefold()
            for token in (match.group() for match in found)
        ]
        self.text = "".join(self.words)
        self.at = list(accumulate(map(len, self.words), initial=0))[:-1]

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
