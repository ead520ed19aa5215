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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from services.answering import answer_question, checked_question
from services.conversations import load_messages, stored_messages, text_file
from services.errors import HaloError, NotFoundError, unexpected
from services.models import Answer, Message, MessageState
from services.progress import Progress, Stage
from services.prompt import Earlier
from services.storage import Shared, history_file, load_sources
from services.workspace import Workspace

log = logging.getLogger(__name__)

_FINISHED = 60.0
"""Seconds that an ended turn can still be asked for."""
_WRITTEN_DOWN = 1.0
"""Seconds of text that a killed process may lose."""


@dataclass(frozen=True)
class TurnView:
    """A turn as of now."""

    message_id: str
    state: MessageState
    stage: Stage
    text: str
    wait: int = 0
    """Seconds that a busy model server asked for, while ``stage`` is ``waiting``."""


@dataclass
class _Turn:
    workspace: Workspace
    conversation_id: str
    answer: Message
    question: str
    lock: FileLock
    progress: Progress
    without_model: bool
    state: MessageState = "running"
    settled: bool = False
    """True once its end is decided; whoever sets it writes it."""
    ended_at: float | None = None

    @property
    def message_id(self) -> str:
        return self.answer.id


_turns: dict[str, _Turn] = {}
_guard = threading.RLock()


def ask(
    workspace: Workspace,
    conversation_id: str,
    question: str,
    source_ids: Sequence[str] | None = None,
    *,
    replaces: str | None = None,
) -> str:
    """Store the question and start answering it; returns the id of the answer's message.

    ``replaces`` is the question that this one is another version of; that one and its answers stay.
    The same question again while it is being answered is the same turn (a double click, a second
    tab). Raises EmptyQuestionError, UserInputError when it is too long, NotFoundError,
    StorageError.
    """
    text = checked_question(question)
    with _guard:
        for turn in _turns_of(workspace, conversation_id):
            if turn.question == text:
                return turn.message_id
        asked = Message(role="user", content=text, replaces=replaces)
        scope = None if source_ids is None else list(source_ids)
        answer = Message(
            role="assistant", content="", state="running", reply_to=asked.id, scope=scope
        )
        return _start(workspace, conversation_id, text, [asked, answer], answer)


def regenerate(
    workspace: Workspace, conversation_id: str, message_id: str, *, without_model: bool = False
) -> str:
    """Answer the same question again, over the sources included now, below the old answer."""
    messages = load_messages(workspace, conversation_id)
    old = next((m for m in messages if m.id == message_id and m.role == "assistant"), None)
    asked = next((m for m in messages if old and m.id == old.reply_to), None)
    if old is None or asked is None:
        raise NotFoundError("There is no such answer.", code="no_such_message")
    scope = [s.id for s in load_sources(workspace) if s.selected and s.answerable]
    answer = Message(role="assistant", content="", state="running", reply_to=asked.id, scope=scope)
    with _guard:
        return _start(
            workspace,
            conversation_id,
            asked.content,
            [answer],
            answer,
            without_model=without_model,
        )


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
    found.progress.stopper.stop()
    _settle(found, "stopped", _so_far(found), None, 0.0)


def earlier_turns(messages: Sequence[Message], question_id: str | None) -> list[Earlier]:
    """The answered turns before a question (None: all), oldest first, each with its newest answer;
    of a question with several versions the last one counts."""
    replaced = {message.replaces for message in messages}
    found: dict[str, Earlier] = {}
    for message in messages:
        if message.id == question_id:
            break
        if message.role == "user" and message.id not in replaced:
            found[message.id] = Earlier(message.content, "")
        elif message.reply_to in found and message.content and message.state != "running":
            question = found[message.reply_to].question
            found[message.reply_to] = Earlier(question, message.content, _rests_on(message.answer))
    return [turn for turn in found.values() if turn.answer]


def _rests_on(answer: Answer | None) -> frozenset[str]:
    """The sources whose words an answer may hold: those it cites and those the model was sent."""
    if answer is None:
        return frozenset()
    sent = answer.record.passages if answer.record else []
    cited = {citation.source_id for citation in answer.citations}
    return frozenset(cited | {passage.source_id for passage in sent})


def _view(found: _Turn) -> TurnView:
    now = found.progress
    return TurnView(found.message_id, found.state, now.stage, now.text, now.wait)


def _so_far(running: _Turn) -> Answer | None:
    """The answer that can be made of what was written, None where nothing was."""
    if not running.progress.text:
        return None
    if running.progress.partial is not None:
        return running.progress.partial()
    return Answer(text=running.progress.text, grounded=False)


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
    messages: list[Message],
    answer: Message,
    *,
    without_model: bool = False,
) -> str:
    lock = workspace.take_lock(f"turn-{answer.id}")
    assert lock, "a new turn's lock is free"
    rows = [message.model_dump(mode="json", exclude_none=True) for message in messages]
    try:
        history_file(conversation_id, workspace).update(lambda stored: [*stored, *rows])
    except HaloError:
        lock.release()
        raise
    progress = Progress(_WriteDown(text_file(workspace, answer.id)))
    started = _Turn(
        workspace, conversation_id, answer, text, lock, progress, without_model=without_model
    )
    for key in [
        k for k, t in _turns.items() if t.ended_at and t.ended_at < time.time() - _FINISHED
    ]:
        del _turns[key]
    _turns[answer.id] = started
    threading.Thread(target=_run, args=(started,), name="halo-turn", daemon=True).start()
    return answer.id


class _WriteDown:
    """Keeps the text of a turn in a file, now and then, for the case that its process dies."""

    def __init__(self, path: Path) -> None:
        self.path, self.last = path, time.monotonic()

    def __call__(self, progress: Progress) -> None:
        if progress.text and time.monotonic() - self.last > _WRITTEN_DOWN:
            self.last = time.monotonic()
            with contextlib.suppress(OSError):  # the end of the turn will say what is wrong
                self.path.write_text(progress.text, "utf-8")


def _run(running: _Turn) -> None:
    """Answer one question; whatever happens ends up in the stored message."""
    started = time.monotonic()
    answer: Answer | None = None
    error: dict[str, Any] | None = None
    try:
        messages = stored_messages(history_file(running.conversation_id, running.workspace))
        answer = answer_question(
            running.workspace,
            running.question,
            running.answer.scope,
            earlier=earlier_turns(messages, running.answer.reply_to),
            without_model=running.without_model,
            progress=running.progress,
        )
    except HaloError as problem:
        error = problem.as_dict()
    except Exception as problem:  # the job runner: a fault becomes a failed message, not silence
        log.exception("a turn met an unexpected fault")
        error = unexpected("Answering", problem).as_dict()
    with _guard:
        if running.settled:
            return
        running.settled = True
    answer = answer or _so_far(running)
    _settle(running, "failed" if error else "done", answer, error, time.monotonic() - started)


def _settle(
    running: _Turn,
    state: MessageState,
    answer: Answer | None,
    error: dict[str, Any] | None,
    seconds: float,
) -> None:
    """Write the end of a turn into its message; only then does the turn show that it ended."""
    fields: dict[str, Any] = {
        "content": answer.text if answer else running.progress.text,
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
        running.progress.stage, running.progress.partial = "done", None
        running.ended_at = time.time()
        running.lock.release()
        lock_file = running.workspace.locks / f"turn-{running.message_id}.lock"
        for file in (lock_file, text_file(running.workspace, running.message_id)):
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
