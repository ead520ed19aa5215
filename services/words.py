"""Words for comparing texts: tokens with offsets, light stems, stop words, language and script.

Used where two pieces of text are compared by their words (citation checks, answer selection).
The search index has its own analysis; this one is deliberately small, works on English and German
and leaves other languages unstemmed. Scripts written without spaces become character bigrams.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

_EN = (
    "a about above after again all also am an and any are as at be because been before being "
    "below between both but by can could did do does doing down during each few for from "
    "further had has have having he her here hers him his how i if in into is it its itself "
    "just me more most my of off on once only or other our out over own same she should so some "
    "such than that the their them then there these they this those through to too under until "
    "up upon us very was we were what when where which while who whom whose why will with "
    "within would you your yes please tell give show list many much one ones s t d ll re ve m"
)
_DE = (
    "ab aber als am an auch auf aus bei beim bin bis bitte da dabei damit dann das dass dein "
    "dem den denn der deren des dessen dich die dies diese diesem diesen dieser dieses dir doch "
    "dort du durch ein eine einem einen einer eines er es etwa euch euer für gab gegen gibt "
    "habe haben hat hatte hatten hier hin ich ihm ihn ihnen ihr ihre ihrem ihren ihrer ihres im "
    "in ins ist ja jede jeden jeder jedes jene kann können man mehr mein mich mir mit nach noch "
    "nun nur ob oder schon sehr sei sein seine seinem seinen seiner seines seit sich sie sind "
    "so sowie über um und uns unter viel viele vom von vor war waren was wegen weil welche "
    "welchem welchen welcher welches wem wen wenn wer werde werden wessen wie wieder will wir "
    "wird wo wofür wodurch woher wohin womit worden wurde wurden zu zum zur zwischen"
)
_NEGATIONS = (
    "not no never none neither nor nothing nobody cannot without "
    "nicht kein keine keinen keinem keiner keines nie niemals nichts niemand ohne weder noch"
)
ENGLISH = frozenset(_EN.split())
GERMAN = frozenset(_DE.split())
STOP_WORDS = ENGLISH | GERMAN
NEGATIONS = frozenset(_NEGATIONS.split()) - {"noch"}

_ONLY_EN = ENGLISH - GERMAN - {"i", "s", "t", "d", "m", "re", "us", "her", "list"}
_ONLY_DE = GERMAN - ENGLISH - {"gab", "du", "ab", "den", "war"}

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
"""Thai, Lao, Burmese, Khmer, kana and Han: scripts written without spaces."""
_TOKEN = re.compile(rf"[{_UNSPACED}]+|(?:(?![{_UNSPACED}])[^\W_])+(?:['’](?:s|t|ll|re|ve|d)\b)?")
_STRETCH = 40
"""Words that are looked at together."""
_UNSPACED_RUN = re.compile(rf"[{_UNSPACED}]")

_IRREGULAR = {
    form: base
    for base, forms in {
        "win": "won", "give": "gave given", "write": "wrote written", "build": "built",
        "begin": "began begun", "become": "became", "lead": "led", "hold": "held", "make": "made",
        "take": "took taken", "rise": "rose risen", "fall": "fell fallen", "grow": "grew grown",
        "buy": "bought", "sell": "sold", "pay": "paid", "say": "said", "come": "came",
        "go": "went gone", "know": "knew known", "find": "found", "lose": "lost", "leave": "left",
        "speak": "spoke spoken", "choose": "chose chosen", "draw": "drew drawn", "think": "thought",
        "teach": "taught", "die": "died dying", "bring": "brought", "fight": "fought",
        "keep": "kept", "meet": "met", "mean": "meant", "run": "ran", "see": "saw seen",
        "send": "sent", "spend": "spent", "stand": "stood", "eat": "ate eaten",
        "drive": "drove driven", "break": "broke broken", "bear": "bore born",
        "person": "people", "child": "children", "man": "men", "woman": "women", "foot": "feet",
    }.items()
    for form in forms.split()
}  # fmt: skip
_SUFFIXES = (
    "ungen", "ation", "ments", "ungs", "ings", "ung", "ing", "ies", "ers", "ern", "ed", "es", "en",
    "er", "em", "ly", "et", "st", "s", "e", "n", "y", "t",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Word:
    """One token of a text: where it stands and its folded form."""

    start: int
    end: int
    text: str
    folded: str


def words(text: str) -> list[Word]:
    """The words of ``text`` in order; runs of an unspaced script give one token a bigram."""
    found: list[Word] = []
    for match in _TOKEN.finditer(text):
        start, end = match.span()
        token = match.group()
        if _UNSPACED_RUN.match(token) and len(token) > 2:
            found += [
                Word(start + i, start + i + 2, token[i : i + 2], fold(token[i : i + 2]))
                for i in range(len(token) - 1)
            ]
        else:
            found.append(Word(start, end, token, fold(token)))
    return found


@lru_cache(maxsize=65536)
def fold(word: str) -> str:
    """Lower case without accents, ligatures or a trailing 's: what counts as the same word."""
    if word.isascii():
        plain = word.lower()
    else:
        spread = unicodedata.normalize("NFKD", word.casefold())
        plain = "".join(c for c in spread if not unicodedata.combining(c)).replace("’", "'")
    return plain.removesuffix("'s")


@lru_cache(maxsize=65536)
def stem(folded: str) -> str:
    """A light stem of a folded word: one ending taken off, at least four letters kept."""
    if folded in _IRREGULAR:
        return _IRREGULAR[folded]
    if len(folded) < 5 or not folded.isalpha():
        return folded[:-1] if len(folded) == 4 and folded.endswith("s") else folded
    for suffix in _SUFFIXES:
        if folded.endswith(suffix) and len(folded) - len(suffix) >= 4:
            return folded[: -len(suffix)]
    return folded


_FOLDED_STOPS = frozenset(fold(word) for word in STOP_WORDS)


def is_stop(folded: str) -> bool:
    """Whether a folded word carries no content of its own in English or German."""
    return folded in _FOLDED_STOPS


def stems(text: str) -> list[str]:
    """The light stems of the content words of ``text``, in order, with repeats."""
    return [stem(word.folded) for word in words(text) if not is_stop(word.folded)]


def densest(text: str, query: str) -> int:
    """The character at which the stretch of ``text`` begins that says most of a query's words, of
    equal ones the shortest, then the first; 0 where none of them is there."""
    asked = set(stems(query)) or {stem(word.folded) for word in words(query)}
    met = [
        (number, word.start, said)
        for number, word in enumerate(words(text))
        if (said := stem(word.folded)) in asked
    ]
    inside: Counter[str] = Counter()
    best, most, left = 0, (0, 0), 0
    for number, _, said in met:
        inside[said] += 1
        while number - met[left][0] > _STRETCH or inside[met[left][2]] > 1:
            inside[met[left][2]] -= 1  # too far away, or said again since
            left += 1
        score = (sum(map(bool, inside.values())), met[left][0] - number)
        if score > most:
            best, most = met[left][1], score
    return best


def language(text: str) -> str | None:
    """``en`` or ``de`` where the little words tell, else None (short, mixed or another one)."""
    tokens = [word.text.lower() for word in words(text[:4000])]
    english = sum(token in _ONLY_EN for token in tokens)
    german = sum(token in _ONLY_DE for token in tokens)
    umlauts = len(re.findall(r"[äöüßÄÖÜ]", text[:4000]))
    german += min(umlauts, 1 + len(tokens) // 8)
    if english > 2 * german:
        return "en"
    if german > 2 * english:
        return "de"
    return None


def script(text: str) -> str | None:
    """The script most letters of ``text`` belong to: latin, han, cyrillic ...; None without any.

    Kana count as han, so that Japanese text has one script.
    """
    counts: dict[str, int] = {}
    for char in text[:2000]:
        if not char.isalpha():
            continue
        if char.isascii():
            name = "latin"
        else:
            name = unicodedata.name(char, "?").split()[0].lower()
            name = "han" if name in ("cjk", "hiragana", "katakana", "katakana-hiragana") else name
        counts[name] = counts.get(name, 0) + 1
    return max(counts, key=counts.__getitem__) if counts else None
