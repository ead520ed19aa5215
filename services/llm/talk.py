"""Asking a model: one request, streamed, with every way it can end badly told apart.

All requests run in one event loop in a thread of its own: its clients keep their connections from
turn to turn, and stopping a turn cancels its task, which closes the provider's stream at once.
What is said comes in by ``on_text``, in that thread.

A server that asks to wait (429) is asked again after the time it names while that is short; a
connection that failed, or a fault of the server's own, once more after a second. Nothing is
repeated after the first word.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from services.errors import CancelledError, ModelError
from services.llm import Choice, failures
from services.settings import model_context, model_seconds

if TYPE_CHECKING:
    from agno.models.base import Model

PATIENCE = 90.0
"""Seconds that waiting for a busy server may take in all."""
_TRIES = 4
T = TypeVar("T")


@dataclass(frozen=True)
class Said:
    """Something said in a conversation: ``role`` is system, user or assistant; with it a user may
    show a picture.

    ``private`` says that it holds something of a source that may not leave the house.
    """

    role: str
    text: str
    private: bool = False
    jpeg: bytes | None = None


@dataclass(frozen=True)
class Ended:
    """How an answer ended: why (``stop``, ``length`` ...), tokens where they were counted, and
    seconds from the request to the first word and to the end."""

    finish: str
    tokens_in: int
    tokens_out: int
    first_seconds: float
    seconds: float


class Stopper:
    """Stops a request from any thread; once stopped, whatever is asked with it ends at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: concurrent.futures.Future[Any] | None = None
        self.stopped = False

    def stop(self) -> None:
        """Close the provider's stream; returns without waiting for it."""
        with self._lock:
            self.stopped = True
            if self._running:
                self._running.cancel()

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run ``work`` in the loop and return its result. Raises CancelledError when stopped."""
        future = asyncio.run_coroutine_threadsafe(work, _loop())
        with self._lock:
            self._running = future
            if self.stopped:
                future.cancel()
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise CancelledError("The answer was stopped.") from None


@functools.cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="halo-models", daemon=True).start()
    return loop


_models: dict[tuple[Choice, int], Model] = {}
_building = threading.Lock()


def _model(choice: Choice, connect_seconds: int) -> Model:
    """The model of a choice with its client, built once."""
    from services.llm.factory import build

    with _building:
        key = (choice, connect_seconds)
        if key not in _models:
            _models[key] = build(choice, connect_seconds)
        return _models[key]


def forget() -> None:
    """Close all connections; after a change of settings the old ones serve nobody."""
    with _building:
        gone = list(_models.values())
        _models.clear()
    for model in gone:
        client = getattr(model, "async_client", None)
        if client is not None:
            Stopper().wait_for(client.close())


def warm(choice: Choice) -> None:
    """Import and build what asking this model needs, so that the first question does not wait for
    it. Raises nothing: the question will say what is wrong."""
    try:
        _model(choice, model_seconds()[0])
    except ModelError:
        return


def talk(
    choice: Choice,
    messages: Sequence[Said],
    *,
    on_text: Callable[[str], None],
    on_wait: Callable[[int], None],
    stopper: Stopper,
) -> Ended:
    """Ask the model and give each piece of its answer to ``on_text``.

    ``on_wait`` is told how many seconds a busy server wants to be left alone, and 0 when that is
    over. Raises ModelError (``model_private``: something private for a hosted model; nothing is
    sent), SettingsError, CancelledError when ``stopper`` stops it.
    """
    if choice.hosted and any(message.private for message in messages):
        raise failures.kept_private(choice)
    connect, _, _ = model_seconds()
    model = _model(choice, connect)
    return stopper.wait_for(_patiently(model, choice, messages, on_text, on_wait))


async def _patiently(
    model: Model,
    choice: Choice,
    messages: Sequence[Said],
    on_text: Callable[[str], None],
    on_wait: Callable[[int], None],
) -> Ended:
    from agno.exceptions import AgnoError

    patience, begun = PATIENCE, False

    def heard(piece: str) -> None:
        nonlocal begun
        begun = True
        on_text(piece)

    for attempt in range(_TRIES):
        try:
            return await _once(model, choice, messages, heard)
        except AgnoError as error:
            wait = failures.retry_after(error)
            if wait is None and attempt == 0 and failures.passing(error):
                wait = 1.0
            if begun or wait is None or attempt == _TRIES - 1:
                raise failures.classified(error, choice, begun=begun) from None
            if wait > patience:
                raise failures.asked_to_wait(wait) from None
        patience -= wait
        on_wait(max(round(wait), 1))
        await asyncio.sleep(wait)
        on_wait(0)
    raise AssertionError("the last attempt returns or raises")


async def _once(
    model: Model, choice: Choice, messages: Sequence[Said], on_text: Callable[[str], None]
) -> Ended:
    from agno.media import Image
    from agno.metrics import MessageMetrics
    from agno.models.message import Message

    _, pause, total = model_seconds()
    sent = [
        Message(
            role=message.role,
            content=message.text,
            images=[Image(content=message.jpeg, mime_type="image/jpeg", format="jpeg")]
            if message.jpeg
            else None,
        )
        for message in messages
    ]
    reply = Message(role="assistant", metrics=MessageMetrics())
    loop = asyncio.get_running_loop()
    started, first, finish = loop.time(), 0.0, ""
    tokens_in = tokens_out = 0
    try:
        async with asyncio.timeout(min(pause, total)) as timer:
            # Agno's retrying layers above this one drop what the server said of a failure
            async with aclosing(model.ainvoke_stream(sent, reply)) as pieces:  # type: ignore[type-var]
                async for piece in pieces:
                    timer.reschedule(min(loop.time() + pause, started + total))
                    finish = (piece.provider_data or {}).get("finish", finish)
                    if piece.response_usage is not None:
                        tokens_in = piece.response_usage.input_tokens or tokens_in
                        tokens_out = piece.response_usage.output_tokens or tokens_out
                    if piece.content:
                        first = first or loop.time() - started
                        on_text(str(piece.content))
    except TimeoutError:
        if loop.time() - started >= total:
            raise failures.too_slow(choice, total) from None
        raise (failures.stalled if first else failures.silent)(choice, pause) from None
    if choice.provider == "openai" and not finish:
        raise (failures.broken if first else failures.no_answer)(choice)
    if not first:
        raise failures.empty(choice)
    seconds = loop.time() - started
    return Ended(finish or "stop", tokens_in, tokens_out, round(first, 3), round(seconds, 3))


# --- what a server offers -----------------------------------------------------------------------


@dataclass(frozen=True)
class Offered:
    """A model that a server lists, with its context window in tokens where it states one."""

    id: str
    window: int = 0


def offered(choice: Choice) -> list[Offered]:
    """The models that a compatible server lists. Raises ModelError."""
    return Stopper().wait_for(_offered(choice))


async def _offered(choice: Choice) -> list[Offered]:
    import openai

    connect, pause, _ = model_seconds()
    model: Any = await asyncio.to_thread(_model, choice, connect)
    try:
        async with asyncio.timeout(min(pause, 10)):
            listed = await model.get_async_client().models.list()
    except TimeoutError:
        raise failures.connecting(choice) from None
    except openai.OpenAIError as error:
        raise failures.classified(error, choice, begun=False) from None
    rows = getattr(listed, "data", None)
    if not isinstance(rows, list):  # a web page, for instance
        raise failures.no_answer(choice)
    return [Offered(row.id, _window(row.model_dump())) for row in rows]


_STATED = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")


def _window(row: dict[str, Any]) -> int:
    """The window a server states in its list: vLLM, OpenRouter, Groq, LM Studio and llama.cpp each
    in their own words. Ollama states none, and cuts what does not fit without a word."""
    for place in (row, row.get("meta") or {}):
        stated = [place[name] for name in _STATED if isinstance(place.get(name), int)]
        if stated:
            return int(stated[0])
    return 4_096 if row.get("owned_by") == "library" else 0


@functools.lru_cache(maxsize=32)
def _known_window(choice: Choice, hour: int) -> int:
    try:
        return next((found.window for found in offered(choice) if found.id == choice.model), 0)
    except ModelError:
        return 0


GUESSED = 8_192
_LARGE = 128_000


def window(choice: Choice) -> int:
    """The model's context window in tokens: as it was set, as its server states it, or a guess
    that is rather too small. Raises SettingsError."""
    if set_ := model_context():
        return set_
    if choice.official or choice.provider != "openai":
        return _LARGE
    return _known_window(choice, int(time.time() // 3600)) or GUESSED
