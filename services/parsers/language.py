"""The language of a document, cheaply: its script, or the small words of Latin-script languages.

It answers only when it is clear; short or mixed texts have no language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from services.models import Block

_ENOUGH = 20_000
_SCRIPTS = (
    ("ja", re.compile("[\u3041-\u30ff]")),
    ("ko", re.compile("[\uac00-\ud7a3]")),
    ("zh", re.compile("[\u4e00-\u9fff]")),
    ("ru", re.compile("[\u0400-\u04ff]")),
    ("el", re.compile("[\u0370-\u03ff]")),
    ("he", re.compile("[\u0590-\u05ff]")),
    ("ar", re.compile("[\u0600-\u06ff]")),
    ("th", re.compile("[\u0e00-\u0e7f]")),
    ("hi", re.compile("[\u0900-\u097f]")),
)
_UKRAINIAN = re.compile("[іїєґІЇЄҐ]")
_SMALL_WORDS = {
    "en": "the of and to in is that for it was with as on are be this by from which have",
    "de": "der die und das den von zu mit sich des ist im dem nicht ein eine als auch auf für",
    "fr": "le la les des et est une dans que pour qui sur pas au par avec ce sont du aux",
    "es": "el los las del que una por con para es como más pero sus al lo se su la y",
    "it": "il di che la per una del non sono della con le dei gli alla nel anche più è",
    "pt": "os das dos não uma para com por mais como ao são foi pela pelo em à é um da",
    "nl": "de het een van en dat is niet zijn op voor met aan ook door maar worden bij wordt",
    "sv": "och att det som en är på för av med den inte till om ett har de var kan från",
    "da": "og at det som er på for af med den ikke til et har de var kan fra blev der",
    "pl": "w na z do się nie że jest to o jak po od przez co dla oraz są ale był",
    "tr": "ve bir bu için ile da de olarak olan çok en gibi daha sonra kadar ne var ise",
    "cs": "a se na v že je s z do o to jako za pro by ale jsou k po jeho",
}
_VOTES = {code: frozenset(words.split()) for code, words in _SMALL_WORDS.items()}
_WORDS = re.compile(r"[^\W\d_]+")


def guess_language(blocks: Iterable[Block]) -> str | None:
    """Two-letter code of the main language, or None when it is not clear."""
    parts: list[str] = []
    size = 0
    for block in blocks:
        parts.append(block.text[:2_000])
        size += len(parts[-1])
        if size > _ENOUGH:
            break
    text = " ".join(parts)[:_ENOUGH]
    letters = sum(char.isalpha() for char in text)
    if letters < 20:
        return None
    shares = {code: len(script.findall(text)) / letters for code, script in _SCRIPTS}
    if shares["ja"] > 0.1:
        return "ja"
    for code, share in shares.items():
        if share > 0.4:
            cyrillic = code == "ru" and len(_UKRAINIAN.findall(text)) > 0.02 * letters
            return "uk" if cyrillic else code
    words = Counter(_WORDS.findall(text.lower()))
    votes = Counter({code: sum(words[word] for word in small) for code, small in _VOTES.items()})
    (best, count), (_, second) = votes.most_common(2)
    enough = count >= max(0.08 * words.total(), 4)
    return best if enough and count > 1.15 * second else None
