"""What a text says in short, without a language model: its central sentences and its subjects.

A sentence is central when its words are those of the whole text (cosine to the centroid of its
tf-idf vectors), a little more so where sections begin; of sentences that say the same one is kept.
Subjects are runs of content words that come back, headings count double. Everything is verbatim.

It does not know what matters to a reader, and it reads at most ``LONGEST`` sentences.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.models import Block, Document, Quote, Source
from services.quantities import counts_something
from services.sentences import Sentence, split_sentences
from services.words import Word, is_stop, language, script, stem, words

LONGEST = 1500
"""Sentences that are weighed, about; of a longer text every n-th paragraph is read."""
_LONGEST_TEXT = 300_000
"""Characters that are searched for subjects, spread over the text in the same way."""
_SHORTEST, _LONGEST_QUOTE = 30, 400
"""Characters of a sentence that can stand by itself."""
_SAME = 0.5
"""Cosine from which two sentences say the same."""
_OPENING, _FIRST, _POINTING = 1.15, 1.3, 0.6
"""Weight of the first sentence of a section, of the text's first sentences, and of one that begins
with a word for something said before."""
_POINTS = frozenset(
    "this these that those it they he she such but however therefore thus also both so dies diese "
    "dieser dieses er sie es damit daher deshalb dabei jedoch aber auch so beide if wenn".split()
)
_MOST_WORDS = 4
_UNSURE = re.compile(r"https?://|www\.|@|[|{}<>]|\.{4}|…$")
_OPEN_END = re.compile(r"[.!?。！？]['\"”’»)\]]*$")


@dataclass(frozen=True)
class Point:
    """One sentence of a text with its place; ``weight`` is comparable within one digest only."""

    quote: Quote
    weight: float
    order: int
    """Where it stands among the sentences of the text."""


@dataclass(frozen=True)
class Digest:
    """A text in short: ``points`` most central first, ``topics`` most frequent first."""

    points: tuple[Point, ...]
    topics: tuple[str, ...]
    language: str | None


def digest(source: Source, document: Document, *, points: int = 5, topics: int = 6) -> Digest:
    """The digest of one source. Linear in its length; empty where it holds no whole sentence."""
    said_in = list(units(document))
    vectors = [Counter(_content(unit)) for _, unit, _ in said_in]
    weights = _centrality(vectors)
    ranked = sorted(
        range(len(said_in)),
        key=lambda n: (-weights[n] * _place_weight(n, said_in[n][1], opening=said_in[n][2]), n),
    )
    chosen: list[int] = []
    for number in ranked:
        if len(chosen) == points:
            break
        if all(_cosine(vectors[number], vectors[other]) < _SAME for other in chosen):
            chosen.append(number)
    said = tuple(
        Point(quoted(source, said_in[n][0], said_in[n][1]), round(weights[n], 4), n) for n in chosen
    )
    sample = " ".join(unit.text for _, unit, _ in said_in[:200])
    return Digest(said, tuple(_topics(document, topics)), language(sample))


def _place_weight(number: int, unit: Sentence, *, opening: bool) -> float:
    first = next(iter(words(unit.text)), None)
    weight = _FIRST if number < 2 else _OPENING if opening else 1.0
    return weight * (_POINTING if first and first.text.lower() in _POINTS else 1.0)


def units(document: Document) -> Iterator[tuple[Block, Sentence, bool]]:
    """(block, sentence, whether a section begins with it) of running text and lists."""
    running = [block for block in document.blocks if block.kind in ("paragraph", "list")]
    step = max(1, sum(block.text.count(".") for block in running) // LONGEST)
    last: list[str] | None = None
    for block in running[::step]:
        for unit in split_sentences(block.text):
            if unit.kind == "heading" or not _stands_alone(unit):
                continue
            yield block, unit, block.headings != last
            last = block.headings


def _stands_alone(unit: Sentence) -> bool:
    text = unit.text
    latin = script(text) == "latin"
    shortest = _SHORTEST if latin else _SHORTEST // 2
    if not shortest <= len(text) <= _LONGEST_QUOTE or _UNSURE.search(text):
        return False
    if not latin:
        return True
    found = words(text)
    little = sum(is_stop(word.folded) for word in found)
    figures = sum(any(c.isdigit() for c in word.text) for word in found)
    if unit.kind == "sentence" and not _OPEN_END.search(text):
        return False
    return little > 0 and figures * 3 <= len(found)


def _content(unit: Sentence) -> list[str]:
    return [stem(word.folded) for word in words(unit.text) if _says(word)]


_EMPTY = frozenset(
    "year years quarter quarters month months week weeks day days table figure fig chapter section "
    "page pages jahr jahre jahren jahres quartal quartale monat monate woche wochen tag tage "
    "tabelle abbildung abb kapitel abschnitt seite seiten new neu neue neuen first second third "
    "erste ersten zweite zweiten dritte end ende".split()
)
"""Words that come back in any text and say nothing of it."""


def _says(word: Word) -> bool:
    """Whether a word can be what a text is about: no little word, no figure and nothing that only
    stands beside one."""
    folded = word.folded
    return not (
        is_stop(folded)
        or folded in _EMPTY
        or counts_something(word.text.lower())
        or any(character.isdigit() for character in folded)
    )


def _centrality(vectors: Sequence[Counter[str]]) -> list[float]:
    """Cosine of each sentence to the centroid, by tf-idf; short sentences count a little less."""
    seen = Counter(term for vector in vectors for term in vector)
    total = len(vectors)
    idf = {term: math.log(1 + total / count) for term, count in seen.items()}
    centroid: dict[str, float] = {}
    for vector in vectors:
        for term in vector:
            # what stands in one sentence only says nothing of the whole
            if seen[term] > 1 or total < 8:
                centroid[term] = centroid.get(term, 0.0) + idf[term]
    centroid = {term: math.sqrt(value) for term, value in centroid.items()}
    length = math.sqrt(sum(value * value for value in centroid.values())) or 1.0
    scores = []
    for vector in vectors:
        mine = {term: count * idf[term] for term, count in vector.items()}
        norm = math.sqrt(sum(value * value for value in mine.values())) or 1.0
        dot = sum(value * centroid[term] for term, value in mine.items() if term in centroid)
        scores.append(dot / norm / length * min(1.0, 0.6 + len(vector) / 20))
    return scores


def _cosine(one: Counter[str], other: Counter[str]) -> float:
    dot = sum(count * other[term] for term, count in one.items())
    norms = math.sqrt(sum(c * c for c in one.values()) * sum(c * c for c in other.values()))
    return dot / norms if norms else 0.0


def quoted(source: Source, block: Block, unit: Sentence) -> Quote:
    """A stretch of a block as a quote of its source."""
    times = [seconds for at, seconds in block.timed() if at <= unit.start]
    return Quote(
        source_id=source.id,
        source_name=source.name,
        revision=source.revision or "",
        chunk_id="",
        page=block.page,
        page_end=block.page,
        page_label=block.page_label,
        sheet=block.sheet,
        slide=block.slide,
        time=times[-1] if times else None,
        headings=block.headings,
        quote=unit.text,
        start=block.start + unit.start,
        end=block.start + unit.end,
    )


# --- subjects -------------------------------------------------------------------------------


def _topics(document: Document, most: int) -> list[str]:
    """Runs of content words that come back, as they are mostly written."""
    counts: Counter[tuple[str, ...]] = Counter()
    written: dict[tuple[str, ...], Counter[str]] = {}
    running = [block for block in document.blocks if block.kind != "table"]
    step = max(1, sum(len(block.text) for block in running) // _LONGEST_TEXT)
    for block in running[::step]:
        weight = 2 if block.kind == "heading" else 1
        for run in _runs(block.text[:20_000]):
            for size in range(1, min(len(run), _MOST_WORDS) + 1):
                for start in range(len(run) - size + 1):
                    part = run[start : start + size]
                    key = tuple(stem(word.folded) for word in part)
                    counts[key] += weight
                    spelled = block.text[part[0].start : part[-1].end]
                    written.setdefault(key, Counter())[" ".join(spelled.split())] += 1
    worth = {
        key: count * (1 + 1.2 * (len(key) - 1)) * _named(written[key])
        for key, count in counts.items()
        if count > 1 and (len(key) > 1 or len(key[0]) > 3)
    }
    chosen: list[tuple[str, ...]] = []
    for key in sorted(worth, key=lambda k: (-worth[k], k)):
        if len(chosen) == most:
            break
        if not any(set(key) & set(other) for other in chosen):
            chosen.append(key)
    return [written[key].most_common(1)[0][0] for key in chosen]


def _named(spellings: Counter[str]) -> float:
    """More for what is mostly written with a capital: names, and German nouns."""
    capitals = sum(n for text, n in spellings.items() if text[:1].isupper())
    return 1.0 + 0.5 * capitals / spellings.total()


_BREAK = re.compile(r"[^\w\s'’-]")


def _runs(text: str) -> Iterator[list[Word]]:
    """Content words that follow each other with nothing but space between them."""
    run: list[Word] = []
    for word in words(text):
        apart = run and _BREAK.search(text[run[-1].end : word.start])
        says = _says(word)
        if run and (apart or not says):
            yield run
            run = []
        if says:
            run.append(word)
    if run:
        yield run
