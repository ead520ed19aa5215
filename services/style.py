"""How answers are written: style, length and language, kept with the notebook."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import BaseModel

from services.storage import load_config, update_config
from services.workspace import Workspace

Name = Literal["default", "analyst", "explain", "brief", "custom"]
Length = Literal["short", "medium", "long"]
Language = Literal["auto", "en", "de", "fr", "es", "it"]
NAMES: tuple[Name, ...] = get_args(Name)
LENGTHS: tuple[Length, ...] = get_args(Length)
LANGUAGES: tuple[Language, ...] = get_args(Language)
LONGEST_CUSTOM = 2_000
"""Characters of the user's own instructions."""

_MANNERS: dict[Name, str] = {
    "default": "Answer directly, in plain prose; use a list or table only where it reads better.",
    "analyst": "Write for an analyst: the finding first, then the figures behind it, compared; a "
    "table for more than three of them. Name contradictions between passages and what is missing.",
    "explain": "Explain step by step to somebody new to the subject; define each technical term at "
    "its first use, from the passages where they do.",
    "brief": "Answer in one to three short sentences without any introduction.",
    "custom": "",
}
_LENGTHS: dict[Length, str] = {
    "short": "Length: at most 80 words.",
    "medium": "Length: up to 250 words.",
    "long": "Length: as long as the passages give something to say, with headings.",
}
_NAMES = {"en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian"}


class Style(BaseModel):
    """How to write; unknown values of a stored one are those of the default."""

    name: Name = "default"
    length: Length = "medium"
    language: Language = "auto"
    custom: str = ""
    """The user's own words on how to write, for ``custom``."""

    def instructions(self) -> str:
        """The lines of a prompt that ask for it."""
        manner = self.custom.strip()[:LONGEST_CUSTOM] if self.name == "custom" else ""
        spoken = _NAMES.get(self.language)
        language = f"Answer in {spoken}." if spoken else "Answer in the language of the question."
        length = "" if self.name == "brief" else _LENGTHS[self.length]
        lines = (manner or _MANNERS[self.name] or _MANNERS["default"], length, language)
        return "\n".join(filter(None, lines))


def load_style(workspace: Workspace) -> Style:
    """The notebook's style."""
    stored = load_config(workspace).get("answer_style")
    known: dict[str, object] = {}
    for key, options in (("name", NAMES), ("length", LENGTHS), ("language", LANGUAGES)):
        value = stored.get(key) if isinstance(stored, dict) else None
        if value in options:
            known[key] = value
    if isinstance(stored, dict):
        known["custom"] = str(stored.get("custom") or "")
    return Style.model_validate(known)


def save_style(workspace: Workspace, style: Style) -> None:
    """Keep it for the notebook."""
    update_config({"answer_style": style.model_dump()}, workspace)
