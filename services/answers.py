"""Answers without a language model: the best sentences of the sources, verbatim and cited.

Every sentence shown is a slice of a passage (a table row is read out with its column heads), each
is followed by the number of the quote it stands in, and each is checked against that quote like
any other claim. Where the sources do not hold the answer the text says so in one sentence, cites
nothing, and lists what was looked at.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.citations import check_support
from services.confidence import confidence, signals
from services.disagreement import differing
from services.embeddings import Embedder
from services.evidence import Candidate, gather, score
from services.models import Answer, Citation, Claim, Finding, Hit, Quote, SearchResult, Support
from services.questions import Question, read_question
from services.sentences import Sentence, without_mark
from services.words import language

QUOTE_CHARS = 600
CONTEXT_CHARS = 350
"""A quote takes in the sentences before and after while it stays this short."""
MAX_CITATIONS = 8
MAX_SENTENCES = 5
LOOKED_AT = 5

NOT_FOUND = {"en": "Not in your sources.", "de": "Nicht in den Quellen."}

_MARGIN = 2.6
"""How far below the best a sentence's score may lie to be taken as well."""
_TIE = 0.3
"""How far below the best a sentence's score may lie to lead the answer with it."""
_SHARED, _NEAR = 0.4, 0.05
"""A further sentence holds this share of the best one's question words, or is that near to it."""
_SAME = 0.8
"""Share of stems (Jaccard) from which two sentences say the same."""
_SPREAD = 0.4
"""What another source's sentence gains over one more of a source already quoted twice."""


def extractive_answer(
    question: str,
    result: SearchResult,
    embedder: Embedder | None,
    *,
    max_citations: int = 5,
) -> Answer:
    """Answer ``question`` from the passages of ``result``.

    Args:
        question: as it was asked; its language decides that of the refusal.
        result: hits best first; they alone can be cited.
        embedder: the one that made the hits' cosines; None compares words only.
        max_citations: at most so many quotes, never more than eight.

    Returns:
        An answer with two to five sentences and their quotes, or ``grounded=False``.
    """
    asked = read_question(question)
    candidates, terms = gather(asked, result.hits)
    ranked = score(asked, candidates, embedder)
    identity = embedder.identity if embedder else None
    sure = confidence(signals(asked, ranked, terms, result.hits, identity)) if ranked else 0.0
    wordless = not any(character.isalnum() for character in question)
    if sure < 0.5 or wordless:
        refusal = _refusal(asked, result, ranked)
        if wordless:
            refusal.notices.append(
                Finding(code="no_words", message="The question holds no word to look for.")
            )
        return refusal
    picked = _pick(ranked, min(max_citations, MAX_CITATIONS))
    answer = _compose(picked, min(max_citations, MAX_CITATIONS))
    answer.notices = [*result.notices, *_disagreement(asked, picked, answer)]
    return answer


def _disagreement(asked: Question, picked: Sequence[Candidate], answer: Answer) -> list[Finding]:
    """Says that sources give different figures, each with the number of its quote."""
    shown = []
    for said in differing(asked, picked):
        text = _reading(said.candidate)
        claim = next((claim for claim in answer.claims if claim.text == text), None)
        if claim:
            shown.append(f"{said.text} [{claim.citations[0]}]")
    if len(shown) < 2:
        return []
    figures = " · ".join(shown)
    return [
        Finding(
            code="sources_differ",
            message=f"The sources give different figures: {figures}. Look at both.",
            params={"figures": figures},
        )
    ]


# --- choosing -------------------------------------------------------------------------------


def _pick(ranked: Sequence[Candidate], limit: int) -> list[Candidate]:
    """The sentences to show: close to the best, no near-duplicates, spread over the sources."""
    floor = ranked[0].score - _MARGIN
    pool = list(ranked[:24])
    picked: list[Candidate] = []
    while pool and len(picked) < min(limit, MAX_SENTENCES):
        used = [candidate.hit.source_id for candidate in picked]

        def worth(candidate: Candidate, used: list[str] = used) -> float:
            return candidate.score - _SPREAD * max(used.count(candidate.hit.source_id) - 1, 0)

        best = max(pool, key=worth)
        pool.remove(best)
        if best.score < floor and picked:
            break
        if picked and not _relevant(best, ranked[0]):
            continue
        if not any(_alike(best, other) for other in picked):
            picked.append(best)
    return picked


def _relevant(candidate: Candidate, best: Candidate) -> bool:
    """Whether a further sentence is about the question itself, not only near to the best."""
    mine, other = candidate.features, best.features
    shared = mine["overlap"] + mine["before"] >= _SHARED * (other["overlap"] + other["before"])
    near = mine["cosine"] > 0 and mine["cosine"] >= other["cosine"] - _NEAR
    return (shared and mine["overlap"] > 0) or near


def _alike(one: Candidate, other: Candidate) -> bool:
    if one.hit.chunk_id == other.hit.chunk_id and one.number == other.number:
        return True
    if one.unit.text == other.unit.text:
        return True
    both = one.stems | other.stems
    if one.unit.kind == "row" or other.unit.kind == "row":
        return False
    return bool(both) and len(one.stems & other.stems) >= _SAME * len(both)


# --- writing --------------------------------------------------------------------------------


@dataclass
class _Quote:
    """A stretch of one passage that is cited."""

    hit: Hit
    start: int
    end: int

    def takes(self, hit: Hit, start: int, end: int) -> bool:
        """Whether the stretch can grow over ``start:end`` and stay one short quote."""
        if hit.chunk_id != self.hit.chunk_id:
            return False
        text = hit.chunk.text
        between = text[min(self.end, end) : max(self.start, start)]
        grown = max(self.end, end) - min(self.start, start)
        return grown <= QUOTE_CHARS and not between.strip()


def _compose(picked: Sequence[Candidate], limit: int) -> Answer:
    """Text, citations and claims of the sentences picked: the best lead, the others follow; within
    both a source stays together and its sentences in the order of the document."""
    order: dict[str, int] = {}
    for candidate in picked:
        order.setdefault(candidate.hit.source_id, len(order))
    best = max(candidate.score for candidate in picked)
    arranged = sorted(
        picked,
        key=lambda c: (
            c.score < best - _TIE,
            order[c.hit.source_id],
            c.hit.chunk.char_start,
            c.unit.start,
        ),
    )
    quotes: list[_Quote] = []
    stood: list[tuple[Candidate, list[_Quote]]] = []
    for candidate in arranged:
        places = [_place(quotes, candidate, *_stretch(candidate))]
        heads = candidate.heads
        if heads and not places[0].start <= heads[0].start < places[0].end:
            # a long table: its heads are a quote of their own
            places.append(_place(quotes, candidate, heads[0].start, heads[-1].end))
        stood.append((candidate, places))
    numbers: dict[int, int] = {}
    for _, places in stood:
        for quote in places:
            numbers.setdefault(id(quote), len(numbers) + 1)
    used = {id(quote): quote for _, places in stood for quote in places}
    citations = [_citation(used[key], n) for key, n in numbers.items() if n <= limit]
    claims: list[Claim] = []
    for candidate, places in stood:
        cited = list(dict.fromkeys(numbers[id(quote)] for quote in places))
        if max(cited) <= limit:
            text = _reading(candidate)
            support = check_support(text, [citations[n - 1].quote for n in cited])
            claims.append(Claim(text=text, citations=cited, support=support))
    named = {number for claim in claims for number in claim.citations}
    citations = [citation for citation in citations if citation.number in named]
    for citation in citations:
        citation.support = _worst([c.support for c in claims if citation.number in c.citations])
    text = "\n\n".join(
        f"{_shown(claim.text)} " + "".join(f"[{number}]" for number in claim.citations)
        for claim in claims
    )
    return Answer(text=text, grounded=True, citations=citations, claims=claims)


def _shown(text: str) -> str:
    """Source text beside HALO's own markers: the source's references ("[2]") must not be taken for
    one, so an invisible joiner stands in them."""
    return _REFERENCE.sub("\\1\u2060", text)


_REFERENCE = re.compile(r"([\[【])(?=\s*(?:\^|sources?\s*)?\d)", re.IGNORECASE)


def _place(quotes: list[_Quote], candidate: Candidate, start: int, end: int) -> _Quote:
    """The quote that a stretch stands in or touches, grown over it; a new one otherwise."""
    unit = candidate.unit
    inner = (unit.start, unit.end) if start <= unit.start < end else (start, end)
    for a, b in ((start, end), inner):
        for quote in quotes:
            if quote.takes(candidate.hit, a, b):
                quote.start, quote.end = min(quote.start, a), max(quote.end, b)
                return quote
    quotes.append(_Quote(candidate.hit, start, end))
    return quotes[-1]


def _stretch(candidate: Candidate) -> tuple[int, int]:
    """What is quoted for a sentence: with its neighbours while that is short, since "it" and "this"
    point there; for a table row from the head down where that fits."""
    unit, text = candidate.unit, candidate.hit.chunk.text
    start, end = unit.start, unit.end
    if unit.kind == "row":
        if candidate.heads and end - candidate.heads[0].start <= QUOTE_CHARS:
            start = candidate.heads[0].start
        return start, end
    for near in candidate.neighbours:
        a, b = min(start, near.start), max(end, near.end)
        gap = text[min(end, near.end) : max(start, near.start)]
        if near.kind in ("sentence", "item") and b - a <= CONTEXT_CHARS and "\n\n" not in gap:
            start, end = a, b
    return start, end


def _reading(candidate: Candidate) -> str:
    """The sentence as it is shown: the slice itself with its line breaks smoothed, a row with its
    column heads."""
    unit = candidate.unit
    if unit.kind == "row" and candidate.heads:
        return _read_row(unit, candidate.heads)
    return without_mark(unit.text)


_AMOUNT = re.compile(
    r"[-−+(]?\s*[$€£¥]?\s*(?!(?:19|20)\d\d\b)\d[\d.,]*+(?!\s*(?!million|billion)[^\W\d_])"
)
"""An amount where a column head should be: the first row of such a table is none."""


def _read_row(row: Sentence, heads: Sequence[Sentence]) -> str:
    """``Total sales — 2019: $1,496.5; 2018: $1,202.9``."""
    columns: list[str] = []
    for line in heads:
        for at, cell in enumerate(_cells(line.text)):
            if at >= len(columns):
                columns.append("")
            columns[at] = f"{columns[at]} {cell}".strip()
    label, *cells = _cells(row.text)
    parts = []
    for at, cell in enumerate(cells, start=1):
        head = columns[at] if at < len(columns) else ""
        if _AMOUNT.match(head):
            head = ""
        if cell:
            parts.append(f"{head}: {cell}" if head else cell)
    return f"{label} — {'; '.join(parts)}" if label and parts else label or "; ".join(parts)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.replace("\t", " | ").split("|")]


def _citation(quote: _Quote, number: int) -> Citation:
    passage = quote.hit.quote(quote.start, quote.end)
    return Citation(number=number, **passage.model_dump())


_RANK: tuple[Support, ...] = ("unsupported", "unchecked", "partly", "supported")


def _worst(states: Sequence[Support]) -> Support:
    return min(states, key=_RANK.index, default="unchecked")


# --- refusing -------------------------------------------------------------------------------


def _refusal(asked: Question, result: SearchResult, ranked: Sequence[Candidate]) -> Answer:
    """The answer that says the sources do not hold it, with the passages considered."""
    best: dict[str, Candidate] = {}
    for candidate in ranked:
        best.setdefault(candidate.hit.chunk_id, candidate)
    looked: list[Quote] = []
    for hit in result.hits[:LOOKED_AT]:
        chosen = best.get(hit.chunk_id)
        start, end = (chosen.unit.start, chosen.unit.end) if chosen else (0, len(hit.chunk.text))
        looked.append(hit.quote(start, min(end, start + QUOTE_CHARS)))
    spoken = asked.language or language(" ".join(hit.chunk.text for hit in result.hits[:3])) or "en"
    return Answer(
        text=NOT_FOUND[spoken], grounded=False, looked_at=looked, notices=list(result.notices)
    )
