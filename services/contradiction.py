"""Whether a claim says the opposite of a text: negation and words with an opposite.

Works clause by clause: the clauses of the text that share most words with the claim are compared
with it. Knows English and German; in other languages nothing contradicts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from services.sentences import split_sentences
from services.words import NEGATIONS, Word, is_stop, stem, words

_NEGATIVE_SENSE = re.compile(
    r"^(?:fail|lack|absen|refus|unable|den(?:y|ied)|reject|declin|except|exclud|miss|hardly|barely|"
    r"rarely|prevent|avoid|ban|fehl|mangel|unmoglich|verweiger|ablehn|abgelehn|verhinder|kaum|"
    r"ausgeschloss|ausgenomm|zero|null|stop|ceas|instead|rather|unlike|anstatt|statt|un[a-z]{4}|"
    r"in(?:capab|sufficien|effectiv|significan)|non|dis[a-z]{4}|free|drop|withdr|remov|entfern|"
    r"abgeschaff|gestrich)"
)
_OPPOSITES = [
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (
        pair.split("|")
        for pair in """
        rise rose risen rising rises increase increased increases increasing grow grew grown grows
        growing gain gained climb climbed higher up steigen stieg gestiegen steigt zunahm
        zugenommen zunehmen wuchs gewachsen wachst erhoht erhohte anstieg zunahme zuwachs hoher |
        fall fell fallen falling falls decrease decreased decreases decreasing decline declined
        drop dropped drops shrink shrank lower down fiel gefallen fallt sinken sank gesunken sinkt
        abnahm abgenommen abnehmen ruckgang abnahme verringert verringerte niedriger gesenkt
        senkte;
        before earlier vor vorher fruher | after later nach nachher spater;
        above exceeds exceeded oberhalb uberschritt uberschreitet | below beneath unterhalb
        unterschritt unterschreitet;
        highest largest biggest most greatest maximum hochste hochsten großte grossten grosste
        hochster meisten maximal | lowest smallest least fewest minimum niedrigste niedrigsten
        kleinste kleinsten wenigsten minimal geringste geringsten;
        more mehr | less fewer weniger;
        first erste ersten erster erstes | last letzte letzten letzter letztes;
        north northern norden nordlich | south southern suden sudlich;
        east eastern osten ostlich | west western westen westlich;
        always immer stets | never nie niemals;
        profit profits gewinn gewinne uberschuss | loss losses verlust verluste defizit;
        export exports exported ausfuhr | import imports imported einfuhr;
        open opened offen geoffnet eroffnet | closed shut geschlossen;
        favour favor favoured supported zugunsten dafur | against opposed gegen dagegen;
        cheaper billiger | dearer costlier teurer;
        summer sommer | winter;
        accept accepted approved approve angenommen genehmigt | reject rejected refused denied
        abgelehnt;
        with mit | without ohne;
        all alle | none no kein keine;
        male men mannlich manner | female women weiblich frauen;
        improve improved improves better verbesserte verbessert besser | worsen worsened worsens
        worse verschlechterte verschlechtert schlechter;
        start started begin began begun begann beginnt | end ended finish finished endete endet;
        longer langer | shorter kurzer;
        safe sicher | unsafe dangerous unsicher gefahrlich;
        possible moglich | impossible unmoglich;
        allowed permitted erlaubt zulassig | forbidden prohibited banned verboten unzulassig;
        left links | right rechts;
        buy bought purchased acquired kaufte gekauft erwarb | sell sold verkaufte verkauft
        """.split(";")
    )
]
"""Pairs of words with opposite sense, folded, English and German."""


def _negations(text: str, tokens: Sequence[Word]) -> list[frozenset[str]]:
    """For each negation word the content stems it may bear on, within its clause."""
    found: list[frozenset[str]] = []
    for at, word in enumerate(tokens):
        if word.folded not in NEGATIONS and not word.folded.endswith("n't"):
            continue
        if word.folded == "no" and text[word.end : word.end + 1] == ".":
            continue
        if _until(text, tokens, at):
            continue
        reach: set[str] = set()
        for step, limit in ((1, 4), (-1, 3)):
            near = at
            for _ in range(limit):
                last, near = near, near + step
                if not 0 <= near < len(tokens):
                    break
                if parted(text, tokens[min(last, near)], tokens[max(last, near)]):
                    break
                if not is_stop(tokens[near].folded) and tokens[near].folded not in NEGATIONS:
                    reach.add(stem(tokens[near].folded))
        found.append(frozenset(reach))
    return found


def _until(text: str, tokens: Sequence[Word], at: int) -> bool:
    """Whether the negation is that of "not until 1956", which says that it happened."""
    for near in range(at + 1, min(at + _REACH, len(tokens))):
        if parted(text, tokens[near - 1], tokens[near]):
            return False
        if tokens[near].folded == "until":
            return True
    return False


_REACH = 6
"""Words after a negation among which its "until" is looked for."""

_CLAUSE = re.compile(
    r"[,;:()–—]\s|\b(?:while|whereas|because|although|though|but|since|however|and|"
    r"während|weil|obwohl|aber|sondern|jedoch|und)\b",
    re.IGNORECASE,
)


def contradicts(claim: str, text: str) -> bool:
    """Whether the clause of the quotes that is closest says the opposite."""
    said = words(claim)
    own = {stem(word.folded) for word in said if not is_stop(word.folded)}
    ours = {word.folded for word in said}
    clauses = [
        (piece, words(piece))
        for unit in split_sentences(text)
        for piece in _CLAUSE.split(unit.text)
        if piece.strip()
    ]
    claimed = _negations(claim, said)
    for part in _CLAUSE.split(claim):
        tokens = words(part)
        if _negations(part, tokens):
            near = _closest(clauses, {stem(w.folded) for w in tokens if not is_stop(w.folded)})
            if near and not any(_denies(clause, theirs, ours) for clause, theirs in near):
                return True
    if claimed:
        return False
    if any(_only_denies(piece, tokens, own) for piece, tokens in clauses):
        return True
    near = _closest(clauses, own)
    return bool(near) and all(_opposed(clause, tokens, said) for clause, tokens in near)


def _only_denies(text: str, tokens: Sequence[Word], own: set[str]) -> bool:
    """Whether a clause such as "not automatically" does nothing but deny words of the claim."""
    if not tokens or tokens[0].folded not in _DENYING or not _negations(text, tokens):
        return False
    content = [w for w in tokens if not is_stop(w.folded) and w.folded not in NEGATIONS]
    return bool(content) and all(stem(word.folded) in own for word in content)


_DENYING = frozenset(("not", "nicht"))


def parted(text: str, one: Word, other: Word) -> bool:
    """Whether a mark that ends a clause stands between two neighbouring words of ``text``."""
    between = text[one.end : other.start]
    return re.search(r"[,;:.!?()–—]\s|\n|[。；，！？]", between) is not None


def _opposed(text: str, tokens: Sequence[Word], said: Sequence[Word]) -> bool:
    """Whether a clause denies what a claim without a negation says, or uses an opposite word."""
    stated = _negations(text, tokens)
    ours, theirs = {word.folded for word in said}, {word.folded for word in tokens}
    if stated:
        held = {stem(word.folded) for word in said}
        denied = any(n and len(n & held) * 2 > len(n) for n in stated)
        return denied and not _negative_in_sense(said, theirs)
    for one, other in _OPPOSITES:
        for here, there in ((one, other), (other, one)):
            if ours & here and not ours & there and theirs & there and not theirs & here:
                return True
    return False


def _denies(text: str, tokens: Sequence[Word], ours: set[str]) -> bool:
    return bool(_negations(text, tokens)) or _negative_in_sense(tokens, ours)


def _negative_in_sense(tokens: Sequence[Word], others: set[str]) -> bool:
    """Whether a word denies by its sense ("failed", "unable") and is in no form among the others:
    what both sides say denies nothing."""
    begun = {other[:_FORM] for other in others}
    return any(
        _NEGATIVE_SENSE.match(word.folded) and word.folded[:_FORM] not in begun for word in tokens
    )


_FORM = 4
"""Letters by which two forms of a word are one."""


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
