"""What a parser is told about one file beside its bytes, and what it may ask to have done.

The process that parses has no network. A recording that shall be transcribed by a server is cut
there and sent from the process that started it: the parser writes a piece into a file and sends
somebody on an errand with it; likewise a picture that a model shall describe. Where a file is
parsed in the process itself, the errand is run at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Errand = dict[str, Any]

_language = ""
_private = False
_sent: Callable[[Errand], Errand] | None = None


def told(language: str, private: bool, send: Callable[[Errand], Errand]) -> None:
    """Set what holds for the next file; by the process that parses."""
    global _language, _private, _sent
    _language, _private, _sent = language, private, send


def private() -> bool:
    """True when nothing of this file may leave for a hosted service."""
    return _private


def language() -> str:
    """The language the user says is spoken in this file, "" where they did not say."""
    return _language


def send(errand: Errand) -> Errand:
    """Have an errand run, here or where the network is; raises the HaloError it ended with."""
    return run(errand, _private) if _sent is None else _sent(errand)


def run(errand: Errand, private: bool) -> Errand:
    """Run an errand of a parser, by what it is to ``do``. Raises SpeechError, ModelError (also
    where something ``private`` would leave the house) and SettingsError."""
    if errand["do"] == "describe":
        from services.llm import vision

        return vision.run(errand, private=private)
    from services.speech.openai import transcribe

    return transcribe(errand, private=private)
