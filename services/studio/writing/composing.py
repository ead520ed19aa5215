"""Putting a content together: numbered citations, escaped text, claims that are checked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.citations import check_support
from services.models import Citation, Claim, Quote
from services.passages import readable_title
from services.sentences import split_sentences, without_mark
from services.studio.material import Reading, alike, common_topics
from services.studio.models import Content, Data

WORDS: dict[str, dict[str, str]] = {
    "en": {
        "short": "In short",
        "figures": "Figures",
        "each": "Source by source",
        "terms": "Terms",
        "learn": "What to know",
        "review": "Questions to review",
        "what_is": "What is {term}?",
        "what_said": "What do the sources say about {term}?",
        "answer": "Answer",
        "when": "Date",
        "what": "What is stated",
        "source": "Source",
        "not_stated": "not stated",
        "agree": "Where figures agree",
        "differ": "Where figures differ",
        "silent": "Where a source is silent",
        "and": "{a} and {b}",
    },
    "de": {
        "short": "In Kürze",
        "figures": "Zahlen",
        "each": "Quelle für Quelle",
        "terms": "Begriffe",
        "learn": "Was man wissen sollte",
        "review": "Fragen zur Wiederholung",
        "what_is": "Was ist {term}?",
        "what_said": "Was sagen die Quellen zu {term}?",
        "answer": "Antwort",
        "when": "Datum",
        "what": "Was gesagt wird",
        "source": "Quelle",
        "not_stated": "nicht angegeben",
        "agree": "Wo die Zahlen übereinstimmen",
        "differ": "Wo die Zahlen abweichen",
        "silent": "Wo eine Quelle schweigt",
        "and": "{a} und {b}",
    },
}
"""Headings and labels of outputs, by language; other languages get the English ones."""
_MARK = re.compile(r"(?<!\\)\[(\d{1,4}(?:\s*,\s*\d{1,4})*)\]")


def word(key: str, language: str, **values: str) -> str:
    """A heading or label in the output's language."""
    return WORDS.get(language, WORDS["en"])[key].format(**values)


def plain(text: str) -> str:
    """Text of a source inside Markdown: what would be markup there is escaped."""
    line = " ".join(text.split())
    escaped = re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", line)
    return re.sub(r"^(#|[-+>]|\d+[.)])(?=\s|$)", r"\\\1", escaped)


class Composer:
    """Collects a content and numbers what it cites, each quote once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.citations: list[Citation] = []
        self._numbers: dict[tuple[str, int, int], int] = {}

    def number(self, quote: Quote) -> int:
        """The number of a quote."""
        key = (quote.source_id, quote.start, quote.end)
        if key not in self._numbers:
            self._numbers[key] = len(self.citations) + 1
            kept = Citation(number=self._numbers[key], support="supported", **quote.model_dump())
            self.citations.append(kept)
        return self._numbers[key]

    def cited(self, quote: Quote) -> bool:
        return (quote.source_id, quote.start, quote.end) in self._numbers

    def said(self, quote: Quote) -> str:
        """A quote as a sentence with its marker."""
        return f"{plain(without_mark(quote.quote))} [{self.number(quote)}]"

    def heading(self, text: str, level: int = 2) -> None:
        self.lines.append(f"{'#' * level} {plain(text[:1].upper() + text[1:])}")

    def paragraph(self, text: str) -> None:
        self.lines.append(text)

    def items(self, texts: Sequence[str]) -> None:
        self.lines.append("\n".join(f"- {text}" for text in texts))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Cells are Markdown already."""
        lines = [columns, ["---"] * len(columns), *rows]
        self.lines.append("\n".join(f"| {' | '.join(line)} |" for line in lines))

    def content(self, title: str, data: Data | None = None) -> Content:
        text = "\n\n".join(self.lines)
        return Content(
            title=title,
            content=text,
            citations=self.citations,
            claims=claims_of(text, self.citations),
            data=data or Data(),
        )


def claims_of(content: str, citations: Sequence[Citation]) -> list[Claim]:
    """Every sentence, item and cell of a content that has markers, held against its quotes.

    The same check for what HALO wrote and for what a user changed.
    """
    quotes = {citation.number: citation.quote for citation in citations}
    claims = []
    for line in content.splitlines():
        last = 0
        for match in _MARK.finditer(line):
            numbers = [int(number) for number in match[1].split(",")]
            said = _unescaped(line[last : match.start()])
            last = match.end()
            sentences = split_sentences(said)
            text = sentences[-1].text if sentences else said.strip()
            known = [number for number in numbers if number in quotes]
            # what stands word for word in its quote may be more than one sentence
            whole = said.strip(" .")
            held = any(whole and whole in " ".join(quotes[n].split()) for n in known)
            text = said.strip() if held else text
            if text.strip(" .|"):
                support = check_support(text, [quotes[number] for number in known])
                claims.append(Claim(text=text, citations=known, support=support))
    return claims


def _unescaped(text: str) -> str:
    text = re.sub(r"^\s*(?:#{1,6}|[-*+]|\d+\.)\s+", "", text.rsplit(" | ", 1)[-1].lstrip("| "))
    return re.sub(r"\\([\\`*_\[\]<>|~$#])", r"\1", text)


def subject(readings: Sequence[Reading], focus: str, language: str) -> str:
    """What an output is about, in a few words: the focus, or the sources' names or topics."""
    if focus:
        return focus
    if len(readings) == 1:
        return readings[0].digest.topics[0] if readings[0].digest.topics else _name(readings[0])
    topics = common_topics(readings, 2)
    if len(topics) == 2:
        return word("and", language, a=topics[0], b=topics[1])
    return topics[0] if topics else _name(readings[0])


def _name(reading: Reading) -> str:
    return readable_title(reading.source.name)


def distinct(quotes: Sequence[Quote], most: int) -> list[Quote]:
    """The first ``most`` of ``quotes`` that do not say the same as one before."""
    chosen: list[Quote] = []
    for quote in quotes:
        if len(chosen) == most:
            break
        if not any(alike(quote.quote, other.quote) for other in chosen):
            chosen.append(quote)
    return chosen
