"""Trying a model out: where it is asked, what its server offers, and one round trip."""

from __future__ import annotations

from dataclasses import dataclass

from services.errors import ModelError
from services.llm import Choice
from services.llm.talk import Said, Stopper, offered, talk, window
from services.written import Written


@dataclass(frozen=True)
class Probed:
    """What came of it. ``models`` is empty where a server lists none."""

    url: str
    models: list[str]
    window: int
    reply: str
    seconds: float


def probe(choice: Choice) -> Probed:
    """Ask the model for one word. Raises ModelError, SettingsError."""
    choice.require_key()
    models: list[str] = []
    if choice.provider == "openai":
        try:
            models = sorted(found.id for found in offered(choice))
        except ModelError as error:  # some servers answer, but list nothing
            if error.code not in ("model_unknown", "model_refused", "model_answer"):
                raise
    written = Written(())
    ended = talk(
        choice,
        [Said("user", "Answer with the one word: ready")],
        on_text=written.feed,
        on_wait=lambda _: None,
        stopper=Stopper(),
    )
    written.close()
    url = f"{choice.url}/chat/completions" if choice.provider == "openai" else choice.url
    reply = " ".join(written.text.split())[:80]
    return Probed(url, models, window(choice), reply, ended.seconds)
