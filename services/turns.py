"""Turns: a question that is being answered.

A question and its (still empty) answer are on disk before the turn starts; the turn runs in a
thread of this module, not of a screen, so a reload or a closed tab changes nothing. A turn whose
process died is shown as interrupted with the text it had.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from filelock import FileLock

from services.answering import answer_question, checked_question
from services.conversations import load_messages, stored_messages
from services.errors import HaloError, NotFoundError, unexpected
from services.models import Answer, Message, MessageState
from services.storage import Shared, history_file, load_sources
from services.workspace import Workspace

log = logging.getLogger(__name__)

Stage = Literal["searching", "reading", "writing", "done"]
_FINISHED = 60.0
"""Seconds that an ended turn can still be asked for."""


@dataclass(frozen=True)
class TurnView:
    """A turn as of now."""

    message_id: str
    state: MessageState
    stage: Stage
    text: str


@dataclass
class _Turn:
    workspace: Workspace
    conversation_id: str
    message_id: str
    question: str
    source_ids: list[str] | None
    lock: FileLock
    state: MessageState = "running"
    stage: Stage = "searching"
    text: str = ""
    stopped: threading.Event = field(default_factory=threading.Event)
    settled: bool = False
    """True once its end is decided; whoever sets it writes it."""
    ended_at: float | None = None


_turns: dict[str, _Turn] = {}
_guard = threading.RLock()


def ask(
    workspace: Workspace,
    conversation_id: str,
    question: str,
    source_ids: Sequence[str] | None = None,
) -> str:
    """Store the question and start answering it; returns the id of the answer's message.

    The same question again while it is being answered is the same turn (a double click, a second
    tab). Raises EmptyQuestionError, UserInputError when it is too long, NotFoundError,
    StorageError.
    """
    text = checked_question(question)
    with _guard:
        for turn in _turns_of(workspace, conversation_id):
            if turn.question == text:
                return turn.message_id
        asked = Message(role="user", content=text)
        scope = None if source_ids is None else list(source_ids)
        answer = Message(
            role="assistant", content="", state="running", reply_to=asked.id, scope=scope
        )
        return _start(workspace, conversation_id, text, scope, [asked, answer], answer)


def regenerate(workspace: Workspace, conversation_id: str, message_id: str) -> str:
    """Answer the same question again, over the sources included now, below the old answer."""
    messages = load_messages(workspace, conversation_id)
    old = next((m for m in messages if m.id == message_id and m.role == "assistant"), None)
    asked = next((m for m in messages if old and m.id == old.reply_to), None)
    if old is None or asked is None:
        raise NotFoundError("There is no such answer.", code="no_such_message")
    scope = [s.id for s in load_sources(workspace) if s.selected and s.answerable]
    answer = Message(role="assistant", content="", state="running", reply_to=asked.id, scope=scope)
    with _guard:
        return _start(workspace, conversation_id, asked.content, scope, [answer], answer)


def turn(workspace: Workspace, message_id: str) -> TurnView | None:
    """A turn of this process as of now; None when no such turn runs or lately ran here."""
    with _guard:
        found = _turns.get(message_id)
    return _view(found) if found and found.workspace == workspace else None


def running_turn(workspace: Workspace, conversation_id: str) -> TurnView | None:
    """The turn that is being answered in a conversation, if it runs in this process."""
    running = _turns_of(workspace, conversation_id)
    return _view(running[-1]) if running else None


def stop_all(workspace: Workspace, conversation_id: str) -> None:
    """Stop whatever is being answered in a conversation."""
    for running in _turns_of(workspace, conversation_id):
        stop(workspace, running.message_id)


def stop(workspace: Workspace, message_id: str) -> None:
    """Stop answering; the text so far is kept and marked stopped before this returns."""
    with _guard:
        found = _turns.get(message_id)
        if found is None or found.settled:
            return
        found.settled = True
        found.stopped.set()
    kept = Answer(text=found.text, grounded=False) if found.text else None
    _settle(found, "stopped", kept, None, 0.0)


def _view(found: _Turn) -> TurnView:
    return TurnView(found.message_id, found.state, found.stage, found.text)


def _turns_of(workspace: Workspace, conversation_id: str) -> list[_Turn]:
    with _guard:
        running = [
            item
            for item in _turns.values()
            if item.workspace == workspace
            and item.conversation_id == conversation_id
            and item.state == "running"
        ]
    return [item for item in running if _unanswered(item)]


def _unanswered(found: _Turn) -> bool:
    """True until its end is on disk, which is when screens show it: a moment before it is noted
    here."""
    stored = stored_messages(history_file(found.conversation_id, found.workspace))
    return any(m.id == found.message_id and m.state == "running" for m in stored)


def _start(
    workspace: Workspace,
    conversation_id: str,
    text: str,
    scope: list[str] | None,
    messages: list[Message],
    answer: Message,
) -> str:
    lock = workspace.take_lock(f"turn-{answer.id}")
    assert lock, "a new turn's lock is free"
    rows = [message.model_dump(mode="json", exclude_none=True) for message in messages]
    try:
        history_file(conversation_id, workspace).update(lambda stored: [*stored, *rows])
    except HaloError:
        lock.release()
        raise
    started = _Turn(workspace, conversation_id, answer.id, text, scope, lock)
    for key in [
        k for k, t in _turns.items() if t.ended_at and t.ended_at < time.time() - _FINISHED
    ]:
        del _turns[key]
    _turns[answer.id] = started
    threading.Thread(target=_run, args=(started,), name="halo-turn", daemon=True).start()
    return answer.id


def _run(running: _Turn) -> None:
    """Answer one question; whatever happens ends up in the stored message."""
    started = time.monotonic()
    try:
        answer = answer_question(
            running.workspace,
            running.question,
            running.source_ids,
            on_stage=lambda stage: setattr(running, "stage", stage),
        )
        _write_out(running, answer)
        error = None
    except HaloError as problem:
        answer, error = None, problem.as_dict()
    except Exception as problem:  # the job runner: a fault becomes a failed message, not silence
        log.exception("a turn met an unexpected fault")
        answer, error = None, unexpected("Answering", problem).as_dict()
    with _guard:
        if running.settled:
            return
        running.settled = True
    _settle(running, "failed" if error else "done", answer, error, time.monotonic() - started)


def _write_out(running: _Turn, answer: Answer) -> None:
    running.stage = "writing"
    running.text = answer.text


def _settle(
    running: _Turn,
    state: MessageState,
    answer: Answer | None,
    error: dict[str, Any] | None,
    seconds: float,
) -> None:
    """Write the end of a turn into its message; only then does the turn show that it ended."""
    fields: dict[str, Any] = {
        "content": answer.text if answer else running.text,
        "state": state,
        "seconds": round(seconds, 2) or None,
        "answer": answer.model_dump(mode="json") if answer else None,
        "error": error,
    }

    def change(rows: list[Shared]) -> list[Shared] | None:
        for index, row in enumerate(rows):
            if row.get("id") == running.message_id:
                rows[index] = {**row, **fields}
                return rows
        return None  # the conversation was deleted meanwhile

    try:
        history_file(running.conversation_id, running.workspace).update(change)
    except HaloError as problem:
        log.warning("an answer could not be stored: %s", problem)
        state = "failed"
    finally:
        running.state = state
        running.stage, running.ended_at = "done", time.time()
        running.lock.release()
        lock_file = running.workspace.locks / f"turn-{running.message_id}.lock"
        with contextlib.suppress(OSError):
            lock_file.unlink(missing_ok=True)
