"""From what a model wrote to an answer whose every claim can be opened.

For each sentence with a marker the stretch of the passage that holds it best is quoted, so one
passage may give several quotes; they are numbered as they appear, and the markers are written anew.
A sentence that its passage does not hold, but another one that was sent does, gets that one; one
without a marker gets the passage that holds it, if any. What no passage holds is said: nothing is
left out of the text. Only passages of this turn can be cited.

What this does not know: meaning. ``services.citations`` says what its check can tell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from services.answers import NOT_FOUND, QUOTE_CHARS
from services.citations import check_support
from services.excerpts import Excerpt
from services.models import Answer, Citation, Claim, Support
from services.quantities import read_figures
from services.sentences import Sentence, split_sentences
from services.words import is_stop, stem, words

MOST_CITATIONS = 40
LOOKED_AT = 5
_WINDOW = 4
"""Sentences of a passage that one quote takes in, at most."""
_NEAR = 3
"""So many passages are tried for a sentence that names none, those with most of its words."""
_FENCE = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(`{3,}|~{3,})")
_BARE = re.compile(r"[\s|:*_#>\-–—.]*")
_RANK: tuple[Support, ...] = ("unsupported", "unchecked", "partly", "supported")

Marker = tuple[int, int, tuple[int, ...]]


@dataclass
class _Quote:
    """A stretch of an excerpt that is cited."""

    excerpt: Excerpt
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.excerpt.text[self.start : self.end]


@dataclass
class _Statement:
    """One sentence of the answer: where it stands in the prose, what it cites, how it is held."""

    unit: Sentence
    numbers: list[int] = field(default_factory=list)
    quotes: list[_Quote] = field(default_factory=list)
    checked: bool = True
    """False for headings, questions and sentences that say nothing that could be checked."""


def grounded(
    text: str,
    markers: Sequence[Marker],
    excerpts: Sequence[Excerpt],
    *,
    most: int = MOST_CITATIONS,
) -> Answer:
    """The answer with its citations and checked claims.

    Args:
        text: what was written, with ``[n]`` for passage n.
        markers: (start, end, numbers) of each marker in it.
        excerpts: the passages that were sent.
        most: at most so many citations.
    """
    by_number = {excerpt.number: excerpt for excerpt in excerpts}
    prose, at = _without(text, markers)
    statements = [_Statement(unit) for unit in split_sentences(_blanked(prose))]
    owners = [_owner(statements, prose, place) for place in at]
    for owner, (_, _, numbers) in zip(owners, markers, strict=True):
        if owner is not None:
            owner.numbers += [number for number in numbers if number not in owner.numbers]
    book = _Book(most)
    added: dict[int, _Statement] = {}
    for statement in statements:
        said = _claimed(statement.unit.text)
        statement.checked = _checkable(statement, said)
        chosen = [by_number[number] for number in statement.numbers if number in by_number]
        if statement.checked:
            chosen = _holding(said, chosen, excerpts)
        statement.quotes = book.take(said, chosen)
        if statement.quotes and not statement.numbers:
            added[statement.unit.end] = statement
    numbered = book.numbered(statements)
    claims = [_claim(statement, numbered) for statement in statements if statement.checked]
    answer = Answer(
        text=_rewritten(text, markers, at, owners, added, numbered),
        grounded=bool(numbered),
        citations=_citations(numbered, claims),
        claims=claims,
    )
    if not answer.grounded:
        refused = any(words in text for words in NOT_FOUND.values())
        answer.claims = [] if refused else answer.claims
        answer.looked_at = [
            excerpt.quote(*_shortened(excerpt.found)) for excerpt in excerpts[:LOOKED_AT]
        ]
    return answer


def _shortened(span: tuple[int, int]) -> tuple[int, int]:
    return span[0], min(span[1], span[0] + QUOTE_CHARS)


# --- sentences and their markers --------------------------------------------------------------


def _without(text: str, markers: Sequence[Marker]) -> tuple[str, list[int]]:
    """The text without its markers and the spaces before them, and where in it each one stood."""
    parts: list[str] = []
    at: list[int] = []
    last = length = 0
    for start, end, _ in markers:
        part = text[last:start].rstrip(" \t")
        parts.append(part)
        length += len(part)
        at.append(length)
        last = end
    return "".join((*parts, text[last:])), at


def _blanked(prose: str) -> str:
    """The prose with its blocks of code as empty lines of the same length."""
    lines: list[str] = []
    fence = ""
    for line in prose.splitlines(keepends=True):
        found = _FENCE.match(line)
        inside = bool(fence)
        if found and not fence:
            fence, inside = found[1], True
        elif found and found[1].startswith(fence):
            fence = ""
        lines.append(re.sub(r"[^\r\n]", " ", line) if inside else line)
    return "".join(lines)


def _owner(statements: Sequence[_Statement], prose: str, at: int) -> _Statement | None:
    """The sentence that a marker stands in or behind; at the start of a line, the one after."""
    before = [statement for statement in statements if statement.unit.start < at]
    after = next((statement for statement in statements if statement.unit.start >= at), None)
    if before and (after is None or "\n" not in prose[before[-1].unit.end : at]):
        return before[-1]
    return after


def _claimed(text: str) -> str:
    return " ".join(text.replace("|", " ").split())


def _checkable(statement: _Statement, said: str) -> bool:
    """Whether a sentence states something: no heading, no question, no lead-in to a list."""
    plain = said.strip("*_ ")
    if statement.unit.kind == "heading" and not statement.numbers:
        return False
    if not plain or _BARE.fullmatch(plain) or plain.endswith(("?", ":")):
        return False
    if any(words_ in said for words_ in NOT_FOUND.values()):
        return False
    if statement.numbers:
        return True
    figures = read_figures(said)
    return bool(figures.quantities or figures.dates) or len(_stems(said)) >= 4


# --- which passage holds a sentence --------------------------------------------------------------


def _stems(text: str) -> set[str]:
    return {stem(word.folded) for word in words(text) if not is_stop(word.folded)}


def _holding(said: str, cited: list[Excerpt], excerpts: Sequence[Excerpt]) -> list[Excerpt]:
    """The passages to quote: those it cites, unless they do not hold it and another one does."""
    if cited and _state(said, cited) in ("supported", "partly", "unchecked"):
        return cited
    mine = _stems(said)
    shares = sorted(
        ((len(mine & _stems(e.shown)), -e.number, e) for e in excerpts if e not in cited),
        key=lambda share: share[:2],
        reverse=True,
    )
    for shared, _, excerpt in shares[:_NEAR]:
        if shared >= min(3, len(mine)) and _state(said, [excerpt]) == "supported":
            return [excerpt]
    return cited


def _state(said: str, excerpts: Sequence[Excerpt]) -> Support:
    return check_support(said, [excerpt.shown for excerpt in excerpts])


class _Book:
    """The quotes of an answer."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.quotes: list[_Quote] = []

    def take(self, said: str, excerpts: Sequence[Excerpt]) -> list[_Quote]:
        """The quotes for a sentence: of each excerpt the best stretch, and a second one where that
        holds what the first lacks."""
        taken: list[_Quote] = []
        for excerpt in excerpts:
            wanted = _terms(said)
            for _ in range(2):
                found = _stretch(excerpt, wanted)
                if found is None and not any(quote.excerpt is excerpt for quote in taken):
                    found = _shortened(excerpt.found)
                if found is None or found[0] == found[1]:
                    break
                quote = self._place(excerpt, *found)
                if quote is not None and not any(quote is other for other in taken):
                    taken.append(quote)
                held = _terms(excerpt.text[found[0] : found[1]])
                enough = check_support(said, [quote.text for quote in taken] + _heads(excerpts))
                wanted = wanted - held
                if enough == "supported" or len(wanted) < 2:
                    break
        return taken

    def _place(self, excerpt: Excerpt, start: int, end: int) -> _Quote | None:
        """The quote that the stretch lies in or grows into one with; else a new one while there
        may be more, else any of this passage."""
        same = [quote for quote in self.quotes if quote.excerpt is excerpt]
        for quote in same:
            a, b = min(quote.start, start), max(quote.end, end)
            between = excerpt.text[min(quote.end, end) : max(quote.start, start)]
            if b - a <= QUOTE_CHARS and not between.strip():
                quote.start, quote.end = a, b
                return quote
        if len(self.quotes) < self.most:
            self.quotes.append(_Quote(excerpt, start, end))
            return self.quotes[-1]
        return same[0] if same else None

    @staticmethod
    def numbered(statements: Sequence[_Statement]) -> dict[int, tuple[int, _Quote]]:
        """The quotes by their identity, with their numbers in the order of the text."""
        found: dict[int, tuple[int, _Quote]] = {}
        for statement in statements:
            for quote in statement.quotes:
                found.setdefault(id(quote), (len(found) + 1, quote))
        return found


def _heads(excerpts: Sequence[Excerpt]) -> list[str]:
    return [excerpt.heads for excerpt in excerpts if excerpt.heads]


def _terms(text: str) -> set[str]:
    """What to look for: stems, and each number's digits."""
    return _stems(text) | set(re.findall(r"\d+", text))


def _stretch(excerpt: Excerpt, wanted: set[str]) -> tuple[int, int] | None:
    """The run of up to four sentences, no longer than a quote, with most of what is wanted; of
    equal ones the shortest. None when no sentence has any of it."""
    units = excerpt.units
    held = [_terms(unit.text) & wanted for unit in units]
    best: tuple[float, int, int] | None = None
    for first, unit in enumerate(units):
        together: set[str] = set()
        for last in range(first, min(first + _WINDOW, len(units))):
            end = units[last].end
            if end - unit.start > QUOTE_CHARS:
                break
            together |= held[last]
            worth = sum(2 if term.isdigit() else 1 for term in together) - 0.6 * (last - first)
            if together and (best is None or worth > best[0]):
                best = (worth, unit.start, end)
    return best[1:] if best else None


# --- writing ----------------------------------------------------------------------------------


def _claim(statement: _Statement, numbered: dict[int, tuple[int, _Quote]]) -> Claim:
    said = _claimed(statement.unit.text)
    cited = sorted({numbered[id(quote)][0] for quote in statement.quotes})
    if not statement.quotes:
        figures = read_figures(said)
        bare = not statement.numbers and not figures.quantities and not figures.dates
        return Claim(text=statement.unit.text, support="unchecked" if bare else "unsupported")
    heads = _heads([quote.excerpt for quote in statement.quotes])
    support = check_support(said, [quote.text for quote in statement.quotes] + heads)
    return Claim(text=statement.unit.text, citations=cited, support=support)


def _citations(numbered: dict[int, tuple[int, _Quote]], claims: Sequence[Claim]) -> list[Citation]:
    found = []
    for number, quote in numbered.values():
        states: list[Support] = [c.support for c in claims if number in c.citations]
        support: Support = min(states, key=_RANK.index, default="unchecked")
        passage = quote.excerpt.quote(quote.start, quote.end)
        found.append(Citation(number=number, support=support, **passage.model_dump()))
    return found


def _rewritten(
    text: str,
    markers: Sequence[Marker],
    at: Sequence[int],
    owners: Sequence[_Statement | None],
    added: dict[int, _Statement],
    numbered: dict[int, tuple[int, _Quote]],
) -> str:
    """The text with its markers as the citations are numbered, and with those that were added."""

    def written(quotes: Iterable[_Quote]) -> str:
        return "".join(f"[{n}]" for n in sorted({numbered[id(quote)][0] for quote in quotes}))

    edits: list[tuple[int, int, str]] = []
    told: set[int] = set()
    for (start, end, numbers), owner in zip(markers, owners, strict=True):
        marks = ""
        if owner is not None:
            kept = [q for q in owner.quotes if q.excerpt.number in numbers]
            moved = [q for q in owner.quotes if q.excerpt.number not in owner.numbers]
            if moved and id(owner) not in told:
                kept += moved
            told.add(id(owner))
            marks = written(kept)
        lead = len(text[:start]) - len(text[:start].rstrip(" \t"))
        edits.append((start if marks else start - lead, end, marks))
    shift = list(_shifts(markers, at, text))
    for end_in_prose, statement in added.items():
        place = end_in_prose + sum(cut for position, cut in shift if position < end_in_prose)
        place -= statement.unit.kind == "row" and text[place - 1 : place] == "|"
        edits.append((place, place, f" {written(statement.quotes)}"))
    out: list[str] = []
    last = 0
    for start, end, marks in sorted(edits):
        out += (text[last:start], marks)
        last = max(end, last)
    return "".join((*out, text[last:]))


def _shifts(markers: Sequence[Marker], at: Sequence[int], text: str) -> Iterator[tuple[int, int]]:
    """(place in the prose, characters that were taken out there) of each marker."""
    last = length = 0
    for (start, end, _), position in zip(markers, at, strict=True):
        kept = position - length
        yield position, (start - last - kept) + (end - start)
        last, length = end, position
