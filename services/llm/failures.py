"""What went wrong with a model, as a sentence with the way on; keys are cut out of what is told."""

from __future__ import annotations

import re
from collections.abc import Iterator

from services.errors import ModelError
from services.llm import PROVIDERS, Choice

_OVERFLOW = re.compile(
    r"context.?(?:length|window|size)|maximum context|too many tokens|token limit|prompt is too "
    r"long|input (?:is )?too long|exceeds? the (?:model|available context)|n_ctx|max_model_len",
    re.IGNORECASE,
)
_SECRET = re.compile(r"\b(?:sk|gsk|rk|pk)[-_]\S+|\bAIza\S+|\bBearer\s+\S+", re.IGNORECASE)


def kept_private(choice: Choice) -> ModelError:
    """Something of a private source was about to be sent to a hosted model."""
    return ModelError(
        f"A private source is not sent to “{choice.model}”, which runs outside your network.",
        code="model_private",
        step="Ask without that source, or choose a model of your own.",
        model=choice.model,
    )


def classified(error: BaseException, choice: Choice, *, begun: bool) -> ModelError:
    """The sentence for a failure that Agno or a client raised; ``begun``: text had come in."""
    import openai

    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, openai.APITimeoutError):
            return connecting(choice)
        if isinstance(cause, openai.APIConnectionError):
            return broken(choice) if begun else unreachable(choice)
    status, said = _status(chain), reason(chain, choice)
    if any(isinstance(cause, openai.APIError) for cause in chain) and status is None:
        return broken(choice, said)  # an error that came inside the stream
    if status is None or 200 <= status < 300:
        return broken(choice) if begun else no_answer(choice)
    if 300 <= status < 400:
        return ModelError(
            f"The model server at {choice.url} sends HALO to another address, which it does not "
            "follow.",
            code="model_redirect",
            step="Set OPENAI_BASE_URL to the server's own address.",
            url=choice.url,
        )
    if status in (401, 403):
        return ModelError(
            f"The model server at {choice.url} refused the key.",
            code="model_key",
            step=f"Check {PROVIDERS[choice.provider].key}, and that it may use this model.",
            url=choice.url,
            name=PROVIDERS[choice.provider].key,
        )
    if overflowed(chain, status, said):
        return ModelError(
            f"The question and its passages are too long for the model “{choice.model}”.",
            code="model_context",
            step="Ask about fewer sources, or set HALO_MODEL_CONTEXT to the model's real window.",
            model=choice.model,
        )
    if status == 404:
        return ModelError(
            f"The server at {choice.url} does not know the model “{choice.model}”.",
            code="model_unknown",
            step="Check HALO_MODEL and OPENAI_BASE_URL; the Configuration page lists its models.",
            url=choice.url,
            model=choice.model,
        )
    if status == 429 and _out_of_credit(chain):
        return ModelError(
            "The account behind the key has no credit left.",
            code="model_quota",
            step="Add credit at the provider, or choose another model.",
        )
    if status in (429, 529):
        return ModelError(
            "The model server asks for fewer requests, and went on doing so.",
            code="model_rate_limited",
            step="Try again in a few minutes.",
        )
    if status >= 500 or status == 408:
        return ModelError(
            f"The model server at {choice.url} has a fault of its own ({status}){said}.",
            code="model_server",
            step="Try again later.",
            url=choice.url,
            status=status,
            reason=said,
        )
    return ModelError(
        f"The model server at {choice.url} refused the request ({status}){said}.",
        code="model_refused",
        step="Check HALO_MODEL and OPENAI_BASE_URL.",
        url=choice.url,
        status=status,
        reason=said,
    )


def retry_after(error: BaseException) -> float | None:
    """Seconds after which a server wants to be asked again; None where that cannot help."""
    chain = list(_chain(error))
    if _status(chain) not in (429, 529) or _out_of_credit(chain):
        return None
    for cause in chain:
        headers = getattr(getattr(cause, "response", None), "headers", {})
        if re.fullmatch(r"\d+(\.\d+)?", asked := headers.get("retry-after", "")):
            return float(asked)
    return 2.0


def passing(error: BaseException) -> bool:
    """True for a fault that may be gone in a second: no connection, or one of the server's."""
    import openai

    chain = list(_chain(error))
    if any(isinstance(cause, openai.APITimeoutError) for cause in chain):
        return False
    if any(isinstance(cause, openai.APIConnectionError) for cause in chain):
        return True
    return (_status(chain) or 0) in (500, 502, 503, 504)


# --- sentences that have no error behind them ---------------------------------------------------


def connecting(choice: Choice) -> ModelError:
    return ModelError(
        f"The model server at {choice.url} did not take the call in time.",
        code="model_connect_timeout",
        step="Check that it is running, or raise HALO_MODEL_CONNECT_SECONDS.",
        url=choice.url,
    )


def unreachable(choice: Choice) -> ModelError:
    return ModelError(
        f"HALO cannot reach the model server at {choice.url}.",
        code="model_unreachable",
        step="Check that it is running and that OPENAI_BASE_URL is right.",
        url=choice.url,
    )


def silent(choice: Choice, seconds: int) -> ModelError:
    return ModelError(
        f"The model “{choice.model}” said nothing for {seconds} s.",
        code="model_first_timeout",
        step="Try again, choose a faster model, or raise HALO_MODEL_FIRST_SECONDS.",
        model=choice.model,
        seconds=seconds,
    )


def stalled(choice: Choice, seconds: int) -> ModelError:
    return ModelError(
        f"The model “{choice.model}” stopped in the middle of the answer for {seconds} s.",
        code="model_stalled",
        step="The text so far is kept. Try again.",
        model=choice.model,
        seconds=seconds,
    )


def too_slow(choice: Choice, seconds: int) -> ModelError:
    return ModelError(
        f"The answer took longer than {seconds} s.",
        code="model_total_timeout",
        step="The text so far is kept. Ask for a shorter answer, or raise "
        "HALO_MODEL_TOTAL_SECONDS.",
        seconds=seconds,
    )


def broken(choice: Choice, said: str = "") -> ModelError:
    return ModelError(
        f"The answer of “{choice.model}” broke off{said}.",
        code="model_broken",
        step="The text so far is kept. Try again.",
        model=choice.model,
        reason=said,
    )


def empty(choice: Choice) -> ModelError:
    return ModelError(
        f"The model “{choice.model}” answered with nothing.",
        code="model_empty",
        step="Try again, or choose another model.",
        model=choice.model,
    )


def no_answer(choice: Choice) -> ModelError:
    return ModelError(
        f"What the server at {choice.url} sent is no answer of a chat model.",
        code="model_answer",
        step="Check HALO_MODEL and OPENAI_BASE_URL.",
        url=choice.url,
    )


def asked_to_wait(seconds: float) -> ModelError:
    whole = round(seconds)
    return ModelError(
        f"The model server asks to wait {whole} s before the next request.",
        code="model_wait",
        step="Try again then.",
        seconds=whole,
    )


# --- reading what was raised ----------------------------------------------------------------------


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and what it came from, outermost first. Agno raises some errors from themselves;
    what they really came from is then their context."""
    waiting: list[BaseException | None] = [error]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop(0)
        if found is None or id(found) in seen:
            continue
        seen.add(id(found))
        yield found
        waiting += (found.__cause__, found.__context__)


def _status(chain: list[BaseException]) -> int | None:
    """The HTTP status that was answered. Agno calls what has none a 502 of its own."""
    for cause in chain:
        response = getattr(cause, "response", None)
        if response is not None:
            return int(response.status_code)
    status = getattr(chain[0], "status_code", None)
    return int(status) if status not in (None, 502) else None


def overflowed(chain: list[BaseException], status: int, said: str) -> bool:
    named = any(getattr(cause, "code", None) == "context_length_exceeded" for cause in chain)
    return named or status == 413 or (status in (400, 422, 500) and bool(_OVERFLOW.search(said)))


def _out_of_credit(chain: list[BaseException]) -> bool:
    return any(getattr(cause, "code", None) == "insufficient_quota" for cause in chain)


def reason(chain: list[BaseException], choice: Choice) -> str:
    """What the server said, shortened, without keys; ``: what it said``, or ""."""
    for cause in chain:
        body = getattr(cause, "body", None)
        if isinstance(body, dict) and isinstance(said := body.get("message"), str):
            break
    else:
        said = str(getattr(chain[0], "message", "")) if _status(chain) else ""
    if choice.key:
        said = said.replace(choice.key, "…")
    said = _SECRET.sub("…", " ".join(said.split()))[:200].rstrip(". ")
    return f": {said}" if said else ""
