"""Questions that lean on the conversation, made to stand alone, by rules.

"And in 2023?" is no question that a search could answer. What it leaves out is taken from the
question before it, in one of three ways, the first that applies:

- a year, place or thing takes the place of its like: "What was the revenue in 2022?" and then "and
  in 2023?" is "What was the revenue in 2023?";
- a pronoun is followed by the name it stands for: "When was it (Acme) founded?";
- otherwise the question before is added in brackets.

English and German. A question that names what it is about is left as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.questions import years
from services.words import is_stop, language, words

REMEMBERED = 4
"""Questions back that a chain of follow-ups is traced."""
_FEW = 2
"""Content words up to which a question after "and" is only a part of one."""
_SHORT = 4
"""Words up to which "in the third quarter" without an "and" is only a part of a question."""
_LONGEST_ADDED = 300
"""Characters of the question before that are added in brackets."""

_OPENER = re.compile(
    r"^\W*(?:(?:and|but|or|und|aber|oder|also|then|dann)\b[ ,]*)?"
    r"(?:(?:what|how) about|was ist mit|wie (?:steht|sieht) es mit)\b\s*|"
    r"^\W*(?:and|und|or|oder|but|aber|same for|the same for|dasselbe für)\b\s*",
    re.IGNORECASE,
)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|theirs|he|him|his|she|her|hers|this|these|those|there|"
    r"that(?= one\b|\W*$)|(?<=of )that|(?<=about )that|(?<=is )that|(?<=was )that|(?<=do )that|"
    r"(?<=did )that|(?<=does )that|"
    r"the (?:former|latter|same)|"
    r"er|es|ihn|ihm|ihr|ihre|ihrem|ihren|ihrer|ihres|sein|seine|seinem|seinen|seiner|seines|"
    r"dessen|deren|diese[mnrs]?|dies|davon|dazu|dafür|dagegen|darüber|daran|darauf|damit|dabei|"
    r"darin|dort|das(?= so\b|\W*$)|(?-i:sie))\b",
    re.IGNORECASE,
)
_FACT = re.compile(r"(?:that|this|these|those|there|da\w+|dies\w*)$", re.IGNORECASE)
"""Pronouns for what was said rather than for whom or what it was about."""
_EMPTY_IT = re.compile(
    r"\b(?:(?:is|was|would be|be) it \w+ (?:to|that|for|if)|it (?:is|was) \w+ (?:to|that|for|if)|"
    r"(?:gibt|geht|handelt|kommt|heißt|regnet|ist|war|wäre) es|"
    r"es (?:gibt|gab|geht|handelt|kommt|heißt|ist|war)|(?:is|are|was|were|will) there|"
    r"there (?:is|are|was|were|will)|this (?:year|week|month)|diese[sn]? (?:Jahr|Monat|Woche))\b",
    re.IGNORECASE,
)
"""Where "it" and "there" stand for nothing."""
_PREPOSITIONS = (
    "in|im|at|of|for|from|on|during|since|by|with|für|bei|beim|von|vom|seit|am|auf|mit|nach"
)
_PLACED = re.compile(rf"^(?:{_PREPOSITIONS})\b", re.IGNORECASE)
_OF_YEARS = re.compile(r"\b(?:\d{4}|(?:fiscal )?year|FY|(?:Geschäfts)?jahre?s?)\b", re.IGNORECASE)
_LED = re.compile(r"^(?:the|der|die|das|its|their|ihre?|seine?)\b", re.IGNORECASE)
_THING = re.compile(
    r"\b(?:the|its|their|der|die|das|dem|den|ihre?|seine?) (?:[^\s?.,;]+(?: [^\s?.,;]+)??)"
    r"(?= (?:of|in|for|at|on|from|during|by|per|von|vom|im|bei|beim|für|seit|am|auf|pro|des|der)\b|"
    r" \d|\W*$)",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_][\w&.'’-]*[\w]|[^\W_]")


def standalone(question: str, earlier: Sequence[str]) -> str:
    """``question`` as it can be understood without the questions before it (oldest first); itself
    where it needs none of them."""
    before = ""
    for asked in (*earlier[-REMEMBERED:], question):
        before = _standing(" ".join(asked.split()), before) if before else asked
    return before if before != " ".join(question.split()) else question


def _standing(question: str, before: str) -> str:
    part = _part(question)
    if part:
        return _swapped(part, before) or _with_before(question, before)
    pronoun = _leaning(question)
    if pronoun is None:
        return _with_before(question, before) if _bare(question) else question
    name = "" if _FACT.match(pronoun[0]) else _last_name(before)
    if not name or name.casefold() in question.casefold():
        return _with_before(question, before)
    at = pronoun.end()
    return f"{question[:at]} ({name}){question[at:]}"


def _with_before(question: str, before: str) -> str:
    return f"{question} ({before[:_LONGEST_ADDED]})"


def _part(question: str) -> str:
    """What a question that is only a part of one holds: "in 2023" of "and in 2023?"."""
    opener = _OPENER.match(question)
    rest = question[opener.end() :] if opener else question
    rest = rest.strip(" ?!.,")
    if not rest or len(_content(_OF_YEARS.sub("", rest))) > _FEW:
        return ""
    if opener and not _asks(rest):
        return rest
    short = len(rest.split()) <= _SHORT and not any(map(_asks, rest.split()))
    return rest if short and _PLACED.match(rest) else ""


_ASKING = re.compile(
    r"^(?:who|what|when|where|why|how|which|whose|is|are|was|were|do|does|did|can|could|will|has|"
    r"have|wer|was|wann|wo|warum|wie|welche[mnrs]?|wieso|woher|wohin|ist|sind|war|waren|hat|haben|"
    r"kann|wird|gibt)\b",
    re.IGNORECASE,
)


def _asks(text: str) -> bool:
    return _ASKING.match(text) is not None


def _content(text: str) -> list[str]:
    return [word.folded for word in words(text) if not is_stop(word.folded)]


def _bare(question: str) -> bool:
    """Whether a question names nothing: "Why?", "Who was that?"."""
    return not _content(question) and any(character.isalpha() for character in question)


def _leaning(question: str) -> re.Match[str] | None:
    """The pronoun that stands for something said before: nothing in front of it could be meant."""
    hollow = [match.span() for match in _EMPTY_IT.finditer(question)]
    for pronoun in _PRONOUN.finditer(question):
        at = pronoun.start()
        if any(start <= at < end for start, end in hollow):
            continue
        if language(question) == "de" and pronoun[0].lower() in ("her", "hers", "it"):
            continue
        if len(_content(question[:at])) < _FEW and not _last_name(question[:at]):
            return pronoun
        return None
    return None


def _swapped(part: str, before: str) -> str:
    """The question before with ``part`` in the place of its like; "" where it has none."""
    told, had = sorted(years(part)), sorted(years(before))
    if told and had and not _content(_OF_YEARS.sub("", part)):
        return re.sub(r"\b(?:1[0-9]|20)\d{2}\b", " ".join(told), before, count=1)
    placed = _PLACED.match(part)
    if placed:
        same = [
            match
            for match in re.finditer(
                rf"\b{placed[0]}\b [^?.,;]+?(?= (?:{_PREPOSITIONS})\b|[?.,;]|$)",
                before,
                re.IGNORECASE,
            )
            if bool(years(match[0])) == bool(told)
        ]
        if not same:
            return f"{before.rstrip(' ?!.')} {part}?"
        at, stop = same[-1].span()
        return f"{before[:at]}{part}{before[stop:]}"
    if _LED.match(part):
        things = list(_THING.finditer(before))
        if things:
            at, stop = things[0].span()
            return f"{before[:at]}{part}{before[stop:]}"
        return ""
    name = _last_name(before)
    if name and part[:1].isupper():
        at = before.rindex(name)
        return f"{before[:at]}{part}{before[at + len(name) :]}"
    return ""


_BEGINS = re.compile(r"(?:^|[.?!:])[\s\"'„“(]*$")
_JOINED = re.compile(r" (?:(?:of|of the|the|de|van|von|&) )?")
_NOT_NAMES = re.compile(
    r"^(?:who|what|when|where|why|how|which|is|are|does|do|did|can|i|and|"
    r"wer|was|wann|wo|warum|wie|welche\w?|ist|sind|hat|haben|kann|und)$",
    re.IGNORECASE,
)


def _last_name(text: str) -> str:
    """The last name in a question: capitalised words that follow each other, not its first word.

    In German, where every noun is capitalised, a name follows "von", "bei" and their like, or
    stands in capitals."""
    german = language(text) == "de"
    names: list[str] = []
    last_end = -1
    for match in _NAME.finditer(text):
        word = match[0]
        first = _BEGINS.search(text[: match.start()]) is not None
        if first or not word[0].isupper() or _NOT_NAMES.match(word):
            continue
        joined = names and _JOINED.fullmatch(text[last_end : match.start()])
        if german and not joined and not _named_in_german(text[: match.start()], word):
            continue
        if joined:
            names[-1] += text[last_end : match.end()]
        else:
            names.append(word)
        last_end = match.end()
    return names[-1] if names else ""


def _named_in_german(before: str, word: str) -> bool:
    follows = re.search(r"\b(?:von|bei|für|hat|ist|wurde|war|verdient|macht)\s+$", before)
    return follows is not None or (len(word) > 1 and word.isupper())
