"""Which encoding a text of unknown origin is in, judged by how natural it reads.

A candidate decodes the sample strictly and is scored per byte beyond ASCII: frequent letters of
one language score high; letters no single language uses together, symbols inside words, capitals
after small letters and rare ideographs score low. It knows the encodings people meet in old
files; it does not know languages, so two encodings that give the same text are equal to it.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from functools import lru_cache

_WIDE = ("cp932", "euc_jp", "gb18030", "big5hkscs", "cp949")
_NARROW = (
    "cp1252 cp1250 cp1251 cp1254 cp1257 cp1253 cp1255 cp1256 cp874 koi8_r cp866 cp850 "
    "iso8859_2 iso8859_5 iso8859_7 iso8859_15 mac_roman cp437"
).split()

_RARE = frozenset({"cp850", "mac_roman", "cp437"})

_LATIN = (
    "äöüß",
    "àâçéèêëîïôùûüœ",
    "áéíóúñüªº",
    "áâãàçéêíóôõúªº",
    "àèéìòùî",
    "åäöæøéü",
    "éëïöüè",
    "áðéíóúýþæö",
    "ąćęłńóśźż",
    "áčďéěíňóřšťúůýžľĺŕôä",
    "áéíóöőúüű",
    "ăâîșțşţ",
    "çğıöşüâ",
    "čćđšž",
    "ąčęėįšųūž",
    "āčēģīķļņšūž",
    "äöõüšž",
)
_FREQUENT = {
    "CYRILLIC": "оеаинтсрвлкмдпуяыьі",
    "GREEK": "αοιετσνηυρπκςάίόέ",
    "HEBREW": "יוהלאמרתבשנ",
    "ARABIC": "اليمنوتربدعس",
    "THAI": "านรอกเงมยลวดทสตะปบคหแจพชขใไ",
}
_MARKS = (
    "\u2018\u2019\u201c\u201d\u201e\u201a\u2013\u2014\u2026\u20ac\u00a0\u2022\u2122«»°§¿¡£©®·½²³µ"
)
_WIDE_MARKS = "、。・「」『』（）！？：；，．《》〈〉【】ー々～…—“”‘’"


def ranked_encodings(sample: bytes) -> list[str]:
    """Python codec names that decode ``sample`` strictly and read like text, best first."""
    scores: list[tuple[float, int, str]] = []
    for rank, codec in enumerate((*_NARROW[:1], *_WIDE, *_NARROW[1:])):
        try:
            # The sample may end inside a multi-byte character: that is no error.
            text = codecs.getincrementaldecoder(codec)().decode(sample)
        except UnicodeDecodeError:
            continue
        score = _wide_score(text, codec) if codec in _WIDE else _narrow_score(text)
        score -= 0.15 * (codec in _RARE)
        if score > 0:
            scores.append((-round(score, 3), rank, codec))
    return [codec for _, _, codec in sorted(scores)]


def _wide_score(text: str, codec: str) -> float:
    total = beyond = 0.0
    japanese, korean = codec in ("cp932", "euc_jp"), codec == "cp949"
    previous = " "
    for char in text:
        if char < "\x80":
            if previous >= "\u3400" and char.isalpha():
                total -= 0.5  # an ideograph glued to a Latin letter
            previous = char
            continue
        width = len(char.encode(codec, "replace"))
        beyond += width
        if "\uff61" <= char <= "\uff9f":
            value = 0.2
        elif "\u3041" <= char <= "\u30ff":
            value = 1.05 if japanese else 0.3
        elif "\uac00" <= char <= "\ud7a3":
            value = 1.05 if korean and _frequent(char, codec) else 0.2
        elif char in _WIDE_MARKS or "\uff01" <= char <= "\uff5e":
            value = 0.9
        elif "\u4e00" <= char <= "\u9fff":
            value = (1.0 if _frequent(char, codec) else 0.1) * (0.4 if korean else 1)
        else:
            value = -0.5
        if previous.isascii() and previous.isalpha():
            value -= 0.5
        total += value * width
        previous = char
    return total / beyond if beyond else 0.0


@lru_cache(maxsize=20_000)
def _frequent(char: str, codec: str) -> bool:
    """True for the characters a national standard lists first, by how common they are."""
    lead = char.encode(codec)[0]
    first, last = {
        "cp932": (0x88, 0x98),
        "euc_jp": (0xB0, 0xCF),
        "gb18030": (0xB0, 0xD7),
        "big5hkscs": (0xA4, 0xC6),
        "cp949": (0xB0, 0xC8),
    }[codec]
    trail_ok = codec not in ("gb18030", "cp949") or char.encode(codec)[-1] >= 0xA1
    return first <= lead <= last and trail_ok


def _narrow_score(text: str) -> float:
    beyond = [(i, c) for i, c in enumerate(text) if c >= "\x80" or c == "\n"]
    latin: dict[int, list[str]] = {}  # by line: a text may hold several languages
    number = 0
    total = 0.0
    for i, char in beyond:
        before, after = text[i - 1 : i], text[i + 1 : i + 2]
        if char == "\n":
            number += 1
        elif char in _MARKS:
            total += -0.5 if before.isalpha() and after.isalpha() and char != "\u2019" else 0.9
        elif char < "\xa0":
            total -= 2  # a C1 control
        elif char.isalpha() or unicodedata.category(char) == "Mn":
            script = _script(char)
            if script == "LATIN":
                latin.setdefault(number, []).append(char.lower())
                if before >= "\x80" and after >= "\x80" and before.isalpha() and after.isalpha():
                    total -= 0.5  # words are not made of accented letters alone
            elif before.isalpha() and _script(before) != script:
                total -= 0.5
            else:
                total += 1.0 if char.lower() in _FREQUENT.get(script, "") else 0.3
            if char.isupper() and before.islower():
                total -= 1
            elif char.isupper():
                total -= 0.3 if before.isupper() and script != "LATIN" else 0.1
        else:
            total -= 0.7
    for line in latin.values():
        total += max(sum(1.0 if c in letters else 0.1 for c in line) for letters in _LATIN)
    return total / max(len(beyond) - number, 1)


@lru_cache(maxsize=2_000)
def _script(char: str) -> str:
    return re.split(r"[ -]", unicodedata.name(char, ""))[0]
