"""Agno models for a choice: the one module that imports Agno, and only when a model is asked."""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from services.errors import ModelError
from services.llm import PROVIDERS, Choice

if TYPE_CHECKING:
    from agno.models.base import Model

_CLASSES = {
    "anthropic": ("agno.models.anthropic", "Claude"),
    "google": ("agno.models.google", "Gemini"),
    "groq": ("agno.models.groq", "Groq"),
}
_SYSTEM_ROLE = {"system": "system", "user": "user", "assistant": "assistant", "tool": "tool"}
"""Servers other than OpenAI's know no ``developer``."""


def build(choice: Choice, connect_seconds: float) -> Model:
    """The Agno model of a choice, with a client that keeps to what HALO promises.

    No retries of its own (``talk`` decides), no proxy for addresses in the house, no redirects,
    and no time limit but that for connecting.

    Raises ModelError: the key is missing (``model_key_missing``) or the package that Agno needs
    for this provider is (``model_package``).
    """
    choice.require_key()
    model = _compatible(choice, connect_seconds) if choice.provider == "openai" else _other(choice)
    # Agno prints to stdout, where commands write their JSON, and what it says may repeat a key
    logging.getLogger("agno").disabled = True
    return model


def _other(choice: Choice) -> Model:
    module, name = _CLASSES[choice.provider]
    try:
        made: Model = getattr(importlib.import_module(module), name)(
            id=choice.model, api_key=choice.key
        )
        return made
    except ImportError:
        package = PROVIDERS[choice.provider].package
        raise ModelError(
            f"Models of {choice.provider} need the package “{package}”, which is not installed.",
            code="model_package",
            step=f"Install it into HALO's environment: uv pip install {package}",
            provider=choice.provider,
            package=package,
        ) from None


def _compatible(choice: Choice, connect_seconds: float) -> Model:
    import openai
    from agno.models.openai import OpenAIChat

    class Chat(OpenAIChat):
        """Also keeps why an answer ended, which Agno drops: without it, it broke off."""

        def _parse_provider_response_delta(self, response_delta: Any) -> Any:
            response = super()._parse_provider_response_delta(response_delta)
            ended = response_delta.choices and response_delta.choices[0].finish_reason
            if ended:
                response.provider_data = (response.provider_data or {}) | {"finish": ended}
            return response

    timeout = openai.Timeout(None, connect=connect_seconds)
    client = openai.AsyncOpenAI(
        base_url=choice.url,
        api_key=choice.key or "none",
        max_retries=0,
        timeout=timeout,
        # A proxy of the house does not reach the house's own servers. A redirect could carry
        # passages elsewhere.
        http_client=openai.DefaultAsyncHttpxClient(
            trust_env=choice.hosted, follow_redirects=False, timeout=timeout
        ),
    )
    role_map = None if choice.official else _SYSTEM_ROLE
    return Chat(id=choice.model, async_client=client, role_map=role_map)
