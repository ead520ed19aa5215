"""Language models: which one is chosen, and where it is asked.

``chosen()`` reads the settings and imports nothing; ``services.llm.talk`` asks the model and is the
only way to it. Keys are in no ``repr``, no stored record and no message.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from services.embeddings.endpoint import OPENAI, is_hosted, normalised
from services.errors import ModelError, SettingsError
from services.settings import setting

DEFAULT_MODEL = "gpt-5.4-mini"
NONE = "none"


@dataclass(frozen=True)
class Provider:
    """One kind of model service: the setting of its key, the package Agno needs for it, and where
    it is reached ("" where a setting says that)."""

    key: str
    package: str
    place: str = ""


PROVIDERS: dict[str, Provider] = {
    "openai": Provider("OPENAI_API_KEY", "openai"),
    "anthropic": Provider("ANTHROPIC_API_KEY", "anthropic", "https://api.anthropic.com"),
    "google": Provider(
        "GOOGLE_API_KEY", "google-genai", "https://generativelanguage.googleapis.com"
    ),
    "groq": Provider("GROQ_API_KEY", "groq", "https://api.groq.com"),
}


@dataclass(frozen=True)
class Choice:
    """A model and where it is asked; equal ones share a client."""

    provider: str
    model: str
    url: str
    key: str | None = field(repr=False, default=None)

    @property
    def name(self) -> str:
        """``provider:model``, as answers say who wrote them."""
        return f"{self.provider}:{self.model}"

    @property
    def hosted(self) -> bool:
        """True when what is sent leaves this computer and its private network."""
        return is_hosted(self.url)

    @property
    def official(self) -> bool:
        """True for OpenAI itself, whose models' windows are known."""
        return self.url == OPENAI

    def require_key(self) -> None:
        """Raises ModelError (``model_key_missing``) where the service wants a key and none is
        set."""
        if self.key or (self.provider == "openai" and not self.official):
            return
        name = PROVIDERS[self.provider].key
        raise ModelError(
            f"The model “{self.model}” needs a key, and none is set.",
            code="model_key_missing",
            step=f"Set {name} in the environment or in .streamlit/secrets.toml.",
            model=self.model,
            name=name,
        )


def chosen() -> Choice | None:
    """The model of the settings; None where answers are made without one.

    Raises SettingsError: HALO_MODEL names no model, or OPENAI_BASE_URL is no address.
    """
    name = setting("HALO_MODEL")
    if name is None:
        if not setting("OPENAI_API_KEY"):
            return None
        name = f"openai:{DEFAULT_MODEL}"
    return None if name.lower() == NONE else choice(name)


def choice(name: str, url: str | None = None) -> Choice:
    """The model called ``provider:model``; a name without a known provider is OpenAI's or that of
    the compatible server at ``url`` (None: OPENAI_BASE_URL). Raises SettingsError."""
    provider, colon, model = name.strip().partition(":")
    if not colon or provider.lower() not in PROVIDERS:
        provider, model = "openai", name
    provider, model = provider.strip().lower(), model.strip()
    if not model:
        raise SettingsError(
            f"HALO_MODEL is set to “{name}”, which names no model.",
            code="no_model_name",
            step="Use the form provider:model, such as openai:gpt-5.4-mini, or none.",
            name=name,
        )
    place = PROVIDERS[provider].place
    if not place:
        place = normalised(url or setting("OPENAI_BASE_URL") or OPENAI, "OPENAI_BASE_URL")
    return Choice(provider, model, place, setting(PROVIDERS[provider].key))
