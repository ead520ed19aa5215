"""What a question asks for: its language, its words that matter, the kind of answer it wants."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from services.quantities import number_word, read_figures
from services.words import NEGATIONS, Word, is_stop, language, script, stem, stems, words

Wanted = Literal["person", "time", "amount", "place", "reason", "definition", "list", ""]

_WANTED: list[tuple[Wanted, str]] = [
    (
        "amount",
        r"how (?:much|many|often|long|large|big|high|tall|far|old|deep|wide|fast|heavy)\b|"
        r"what (?:percentage|percent|share|amount|number|proportion|is the (?:total|average|amount|"
        r"number|value|price|cost|ratio))\b|wie ?(?:viele?|oft|lange?|groß|hoch|weit|alt|tief|"
        r"breit|schnell|schwer)\b|welche[rn]? (?:anteil|betrag|anzahl|menge|prozentsatz)",
    ),
    (
        "time",
        r"\b(?:when|since when|until when|(?:what|which) (?:year|date|day|month|century|decade)|"
        r"wann|seit wann|bis wann|welche[mns]? (?:jahr|datum|tag|monat|jahrhundert))\b",
    ),
    ("person", r"\b(?:who|whom|whose|wer|wem|wen|wessen)\b"),
    (
        "place",
        r"\b(?:where|(?:what|which) (?:country|city|town|state|place|region|river|continent)|wo|"
        r"woher|wohin|welche[mnrs]? (?:land|stadt|ort|staat|region|fluss))\b",
    ),
    ("reason", r"\b(?:why|what (?:caused|causes|led to)|warum|weshalb|wieso|weswegen)\b"),
    (
        "list",
        r"\b(?:list|which ones|what are|name (?:all|the|two|three|some)|welche sind|was sind|nenne|"
        r"zähle)\b",
    ),
    (
        "definition",
        r"^\W*(?:what (?:is|was|does|do)|define|was (?:ist|sind|bedeutet|heißt)|definiere)\b",
    ),
]
_WANTED_PATTERNS = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _WANTED]

_MEASURES = (
    "margin revenue revenues sales turnover debt profit income earnings ebit ebitda cash.?flow "
    "cost costs expense expenses price rate share ratio percentage dividend salary budget "
    "headcount population temperature height length weight capacity growth tax yield speed marge "
    "umsatz erlöse schulden gewinn ergebnis kosten aufwand preis quote anteil verhältnis dividende "
    "gehalt bevölkerung temperatur höhe länge gewicht kapazität wachstum steuer rendite "
    "geschwindigkeit zahl"
)
_MEASURE = re.compile(
    r"^\W*(?:what|which|was|welche[rs]?) (?:is|was|are|were|ist|war|sind|waren) "
    r"(?:(?:the|its|their|our|der|die|das|ihr|ihre) )?(?:[\w-]+ ){0,4}?[\w-]*"
    rf"(?:{'|'.join(_MEASURES.split())})\b",
    re.IGNORECASE,
)
"""A question for a measure asks for an amount even where it says only "what is"."""

_ASKED_YEAR = re.compile(r"\b(?:1[0-9]|20)\d{2}\b")
_YEAR = re.compile(
    r"\b(?:1[0-9]|20)\d{2}(?:s|er)?\b|\b\d{1,2}(?:st|nd|rd|th|\.) (?:century|Jahrhundert)"
)
_REASON = re.compile(
    r"\b(?:because|due to|since|as a result|therefore|caused?|so that|in order to|owing to|reason|"
    r"weil|wegen|aufgrund|da|deshalb|daher|damit|durch|grund|um\b.*\bzu)\b",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"\b(?:is|are|was|were) (?:an?|the|any|one)\b|"
    r"\b(?:refers? to|means|defined as|known as|called)\b|"
    r"\b(?:ist|sind|war|waren) (?:ein|eine|einer|der|die|das)\b|"
    r"\b(?:bezeichnet|bedeutet|heißt|nennt)\b",
    re.IGNORECASE,
)
_NUMBER_NEARBY = re.compile(r"\d")


@dataclass(frozen=True)
class Question:
    """A question taken apart. ``terms`` maps each content stem to its prior weight."""

    text: str
    language: str | None
    script: str | None
    wanted: Wanted
    terms: dict[str, float]
    names: frozenset[str]
    """Stems of names, codes and numbers: what has to be there for the question to be answerable."""
    folded: frozenset[str]
    years: frozenset[str]
    """The years it names."""
    pairs: frozenset[tuple[str, str]]
    """Stems of content words that follow each other."""


def years(text: str) -> frozenset[str]:
    """The years a text names, as written."""
    return frozenset(_ASKED_YEAR.findall(text))


def pairs(text: str) -> frozenset[tuple[str, str]]:
    """The stems of content words that follow each other, little words between them left out."""
    found = stems(text)
    return frozenset(pairwise(found))


def read_question(text: str) -> Question:
    """Take a question apart; it may be any text, also a few words."""
    wanted: Wanted = next((kind for kind, pattern in _WANTED_PATTERNS if pattern.search(text)), "")
    if wanted in ("definition", "") and _MEASURE.search(text):
        wanted = "amount"
    tokens = words(text)
    spoken = language(text)
    terms: dict[str, float] = {}
    names: set[str] = set()
    for at, word in enumerate(tokens):
        if is_stop(word.folded) or word.folded in NEGATIONS:
            continue
        base = stem(word.folded)
        named = _is_name(word, at, spoken)
        if named:
            names.add(base)
        terms[base] = max(terms.get(base, 0.0), 1.5 if named else 1.0)
    folded = frozenset(word.folded for word in tokens)
    return Question(
        text,
        spoken,
        script(text),
        wanted,
        terms,
        frozenset(names),
        folded,
        years(text),
        pairs(text),
    )


_WHOLE = re.compile(
    r"\b(?:about|overview|summar\w+|gist|main|key|most important|deals? with|contains?|content|"
    r"überblick|übersicht|zusammenfass\w*|fasse?|geht|handel\w*|inhalt\w*|wichtigst\w*)\b",
    re.IGNORECASE,
)
_ANY_SOURCE = frozenset(
    "source sources document documents file files text texts paper papers notebook report reports "
    "material everything all point points topic topics idea ideas finding findings message thing "
    "messages things content contents about overview summary summaries summarise summarize gist "
    "main key important deal deals contain contains short brief briefly please sum "
    "quelle quellen dokument dokumente datei dateien text texte notizbuch bericht berichte alle "
    "unterlagen material alles punkte punkt themen thema aussagen aussage ergebnisse inhalt "
    "uberblick ubersicht zusammenfassung zusammen fass fasse zusammenfassen geht handelt "
    "inhalte handeln wichtigste wichtigsten wesentlichen kurz knapp hier darin drin erstelle mach "
    "worum wovon gib gebe".split()
)
"""Words of a question for the whole: they name nothing that a passage could hold."""


def asks_for_the_whole(text: str) -> bool:
    """Whether a question asks what the sources are about, and of nothing in them."""
    said = [w.folded for w in words(text) if not is_stop(w.folded)]
    return _WHOLE.search(text) is not None and all(word in _ANY_SOURCE for word in said)


def _is_name(word: Word, at: int, spoken: str | None) -> bool:
    if any(c.isdigit() for c in word.text):
        return True
    if spoken == "de":
        # every German noun is capitalised: only all capitals tell
        return len(word.text) > 1 and word.text.isupper()
    return at > 0 and word.text[:1].isupper()


def fits(question: Question, text: str) -> bool:
    """Whether ``text`` holds something of the kind the question wants that the question did not
    say itself: a number for "how much", a date for "when", a name for "who" and "where"."""
    match question.wanted:
        case "amount":
            return _new_number(question, text)
        case "time":
            if any(fold not in question.text for fold in _YEAR.findall(text)):
                return True
            return bool(read_figures(text).dates)
        case "person" | "place":
            return _new_name(question, text)
        case "reason":
            return bool(_REASON.search(text))
        case "definition":
            return bool(_DEFINITION.search(text))
        case _:
            return False


_LABEL = re.compile(r"^\W*(?:figure|fig\.|table|abbildung|abb\.|tabelle|tab\.) ?\d+", re.IGNORECASE)


def _new_number(question: Question, text: str) -> bool:
    for word in words(_LABEL.sub("", text)):
        digits = _NUMBER_NEARBY.search(word.text) is not None
        spelled = number_word(word.text.lower())
        if (
            digits or (spelled is not None and spelled != 1)
        ) and word.folded not in question.folded:
            return True
    return False


def _new_name(question: Question, text: str) -> bool:
    tokens = words(text)
    german = question.language == "de"
    for at, word in enumerate(tokens):
        if at and word.text[:1].isupper() and not is_stop(word.folded):
            if stem(word.folded) in question.terms:
                continue
            if not german or (tokens[at - 1].text[:1].isupper() and at > 1):
                return True
    return False
