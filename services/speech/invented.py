"""Lines that speech models invent where nobody speaks.

Trained on subtitles, Whisper fills silence, music and noise with what often stands at the end of
subtitles. Such a line is dropped when the model is not sure that anybody spoke; credits of
subtitlers are dropped always, for nobody says them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from services.speech import Utterance

_CREDITS = re.compile(
    r"amara\.org|untertitel(?:ung)?\b.*\b(?:zdf|ndr|wdr|swr|ard|orf|srf|funk|\d{4})|"
    r"sous-titr\w+\b.*\b(?:radio-canada|société|communauté)|subtitles? by\b|"
    r"subt[íi]tulos\b.*\b(?:por|realizados)|legendas pela comunidade|"
    r"sottotitoli\b.*\b(?:creati|a cura)|субтитры (?:сделал|создавал|подогнал)|字幕(?:由|by)|"
    r"transcri(?:bed|ption) by\b.*(?:\.com|\.ai|castingwords)",
    re.IGNORECASE,
)
_FAREWELLS = re.compile(
    r"(?:thank(?:s| you)(?: (?:so|very) much)?(?: for (?:watching|listening))?|"
    r"please subscribe.*|(?:like and )?subscribe.*|see you (?:in the )?next (?:time|video)|"
    r"bye(?: bye)?|you|"
    r"vielen dank(?: (?:fürs|für das|für die) (?:zuschauen|zuhören|zusehen|aufmerksamkeit))?|"
    r"bis zum nächsten mal|tschüss|danke(?: fürs zuschauen)?|"
    r"merci(?: d'avoir regardé cette vidéo)?|gracias(?: por ver(?: el v[íi]deo)?)?|"
    r"grazie(?: per la visione)?|obrigado(?: por assistir)?|"
    r"ご視聴ありがとうございました|おやすみなさい|продолжение следует|спасибо за просмотр|"
    r"感谢观看|谢谢观看|請訂閱.*|시청해주셔서 감사합니다)",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"[\[(*♪♫].*[\])*♪♫]|[♪♫\W\d_]*")
_EDGES = " \t\n.,!?…。！？"


def is_invented(text: str, log_probability: float, no_speech: float) -> bool:
    """Whether a line was most likely not spoken.

    Args:
        log_probability: mean over the line's tokens.
        no_speech: probability 0..1 that its sound holds no speech.
    """
    line = text.strip(_EDGES)
    if not line or (_SIGNS.fullmatch(line) and not any(c.isdigit() for c in line)):
        return True
    if _CREDITS.search(line):
        return True
    unsure = no_speech > 0.3 or log_probability < -0.7
    if unsure and _FAREWELLS.fullmatch(line):
        return True
    return no_speech > 0.8 and log_probability < -0.6


def without_loops(utterances: Iterable[Utterance]) -> tuple[list[Utterance], int]:
    """The utterances without the third and further of the same in a row, and how many went."""
    kept: list[Utterance] = []
    dropped = 0
    for utterance in utterances:
        if len(kept) > 1 and kept[-1].text == kept[-2].text == utterance.text:
            dropped += 1
        else:
            kept.append(utterance)
    return kept, dropped
