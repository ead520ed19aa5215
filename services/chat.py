"""Conversations, and the turns that answer them.

Messages are appended, never rewritten as a whole: two tabs cannot lose each other's. A question and
its (still empty) answer are on disk before the turn starts; the turn runs in a thread of this
module, not of a screen, so a reload or a closed tab changes nothing. A turn whose process died is
shown as interrupted with the text it had.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock

from services import jsonfile, probes, trash
from services.answers import extractive_answer
from services.embeddings import Embedder, get_embedder, prepared
from services.errors import (
    DamagedFileError,
    EmbedderError,
    EmptyQuestionError,
    HaloError,
    NotFoundError,
    StorageError,
    UserInputError,
    from_os_error,
    unexpected,
)
from services.jsonfile import JsonFile
from services.models import Answer, Message, MessageState, SearchResult, Source, new_id, now
from services.search import search
from services.speech import clock
from services.storage import Shared, history_file, load_sources
from services.tables import current_name, named_table
from services.workspace import Workspace

log = logging.getLogger(__name__)

Stage = Literal["searching", "reading", "writing", "done"]
PASSAGES = 12
"""Passages a turn looks at."""
LONGEST_QUESTION = 50_000
"""Characters of a question; all of them are kept."""
_FINISHED = 60.0
"""Seconds that an ended turn can still be asked for."""


@dataclass(frozen=True)
class Conversation:
    """One conversation as listed."""

    id: str
    title: str
    updated_at: str
    messages: int
    damaged: bool = False
    """Its history cannot be read; opening it says why."""


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
_read: dict[Path, tuple[Any, list[Message]]] = {}
_guard = threading.RLock()


# --- conversations ------------------------------------------------------------------------------


def _index(workspace: Workspace) -> JsonFile:
    return workspace.file("conversations.json", [])


def list_conversations(workspace: Workspace) -> list[Conversation]:
    """All conversations, the last used first. Histories without a listed title are found too."""
    listed = _titles(workspace)
    found = []
    for path in workspace.chats.glob("*.json"):
        row = listed.get(path.stem, {})
        try:
            rows = history_file(path.stem, workspace).read()
            rows = [item for item in rows if isinstance(item, dict)]
        except NotFoundError:  # not one of our names
            continue
        except StorageError:
            title, at = str(row.get("title") or ""), str(row.get("created_at") or "")
            found.append(Conversation(path.stem, title, at, 0, damaged=True))
            continue
        last = rows[-1].get("created_at") if rows else None
        found.append(
            Conversation(
                path.stem,
                title_in(row, rows),
                str(last or row.get("created_at") or ""),
                len(rows),
            )
        )
    for key, row in listed.items():
        if all(conversation.id != key for conversation in found):
            found.append(
                Conversation(key, str(row.get("title", "")), str(row.get("created_at", "")), 0)
            )
    return sorted(found, key=lambda item: item.updated_at, reverse=True)


def _titles(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """The rows of conversations.json by id. A damaged one, of which the quarantine has a copy by
    now, is begun afresh: titles are all it holds."""
    file = _index(workspace)
    try:
        rows = file.read()
    except DamagedFileError:
        rows = []
        jsonfile.write_bytes(file.path, jsonfile.dump(rows))
    return {str(row["id"]): row for row in rows if isinstance(row, dict) and row.get("id")}


def _change_titles(
    workspace: Workspace, change: Callable[[list[Shared]], list[Shared] | None]
) -> None:
    _titles(workspace)
    _index(workspace).update(change)


def title_in(row: dict[str, Any] | None, rows: Sequence[dict[str, Any]]) -> str:
    """What a conversation is called: its title, or else its first question."""
    return str((row or {}).get("title") or _title_of(rows))


def _title_of(rows: Sequence[dict[str, Any]]) -> str:
    first = next((row.get("content") for row in rows if row.get("role") == "user"), "")
    line = " ".join(str(first).split())
    return line if len(line) <= 60 else line[:59].rsplit(" ", 1)[0] + "…"


def new_conversation(workspace: Workspace, title: str = "") -> Conversation:
    """An empty conversation; without a title it is called by its first question."""
    row = {"id": new_id(), "title": title, "created_at": now()}
    _change_titles(workspace, lambda rows: [row, *rows])
    return Conversation(row["id"], title, row["created_at"], 0)


def rename_conversation(workspace: Workspace, conversation_id: str, title: str) -> None:
    """Give a conversation a title; "" goes back to its first question."""
    history_file(conversation_id, workspace)
    clean = " ".join(title.split())[:120]

    def change(rows: list[Shared]) -> list[Shared]:
        for index, row in enumerate(rows):
            if row.get("id") == conversation_id:
                rows[index] = {**row, "title": clean}
                return rows
        return [{"id": conversation_id, "title": clean, "created_at": now()}, *rows]

    _change_titles(workspace, change)


def delete_conversation(workspace: Workspace, conversation_id: str) -> str:
    """Delete a conversation, a running answer first; returns what brings it back."""
    file = history_file(conversation_id, workspace)
    for turn in _turns_of(workspace, conversation_id):
        stop(workspace, turn.message_id)
    row = _titles(workspace).get(conversation_id)
    try:
        messages = file.read()
    except DamagedFileError:  # the quarantine has what is left of it
        messages = []
    content = {"row": row, "id": conversation_id, "messages": messages}
    entry = trash.put(workspace, "conversation", content)
    _change_titles(workspace, lambda all_: [r for r in all_ if r.get("id") != conversation_id])
    with file.locked():
        try:
            for path in workspace.chats.glob(f"{conversation_id}.json*"):
                path.unlink(missing_ok=True)
        except OSError as error:
            raise from_os_error(error, "deleting the conversation") from error
    return entry


def restore_conversation(workspace: Workspace, trash_id: str) -> str:
    """Bring a deleted conversation back; returns its id. Raises NotFoundError."""
    content = trash.get(workspace, trash_id, "conversation")
    if content["messages"]:
        history_file(content["id"], workspace).update(lambda _: content["messages"])
    if content["row"]:
        _change_titles(workspace, lambda rows: [content["row"], *rows])
    trash.remove(workspace, trash_id)
    return str(content["id"])


def load_messages(workspace: Workspace, conversation_id: str) -> list[Message]:
    """The messages, oldest first; treat them as immutable. An answer nobody works on any more is
    ``interrupted``."""
    return [
        message.model_copy(update={"state": "interrupted"})
        if message.state == "running" and not _alive(workspace, message.id)
        else message
        for message in _as_stored(history_file(conversation_id, workspace))
    ]


def _as_stored(file: JsonFile) -> list[Message]:
    """The messages of a history; an unchanged file answers with the models made before."""
    rows = file.read()
    known = _read.get(file.path)
    if known is None or known[0] is not rows:
        try:
            messages = [
                Message.model_validate({"id": f"{number:032x}"} | row)
                for number, row in enumerate(rows)
                if isinstance(row, dict) and row.get("role") in ("user", "assistant")
            ]
        except ValueError as error:
            raise DamagedFileError(
                f"The file {file.path.name} holds messages that HALO cannot read.",
                step="Export what you need from the file itself, then delete the conversation.",
                code="damaged_history",
                file=file.path.name,
            ) from error
        known = _read[file.path] = (rows, messages)
    return known[1]


def _alive(workspace: Workspace, message_id: str) -> bool:
    """True while some process holds the turn's lock."""
    with _guard:
        turn = _turns.get(message_id)
        if turn is not None:
            return turn.ended_at is None
    if not (workspace.locks / f"turn-{message_id}.lock").exists():
        return False
    with workspace.lock(f"turn-{message_id}", wait=False) as free:
        return not free


def export_conversation(workspace: Workspace, conversation_id: str) -> str:
    """A conversation as Markdown with its citations written out."""
    title = next(
        (c.title for c in list_conversations(workspace) if c.id == conversation_id), "Conversation"
    )
    parts = [f"# {title}"]
    for message in load_messages(workspace, conversation_id):
        if message.role == "user":
            parts.append(f"## {message.content}")
            continue
        parts.append(message.content or "(no answer)")
        if message.answer and message.answer.citations:
            parts.append("\n".join(citation_line(c) for c in message.answer.citations))
    return "\n\n".join(parts) + "\n"


def citation_line(citation: Any) -> str:
    """A citation as a line of Markdown: number, source, page, quote."""
    place = [citation.source_name]
    if citation.page:
        label = citation.page_label
        shown = f"p. {label} (PDF {citation.page})" if label else f"p. {citation.page}"
        place.append(shown)
    if citation.sheet:
        place.append(f"sheet {citation.sheet}")
    if citation.slide:
        place.append(f"slide {citation.slide}")
    if citation.time is not None:
        place.append(f"at {clock(citation.time)}")
    quote = " ".join(citation.quote.split())
    return f"[{citation.number}] {', '.join(place)}: “{quote}”"


def checked_question(question: str) -> str:
    """A question as it is stored. Raises EmptyQuestionError, UserInputError when it is too long."""
    text = question.strip()
    if not text:
        raise EmptyQuestionError("The question is empty.", step="Type a question.")
    if len(text) > LONGEST_QUESTION:
        raise UserInputError(
            f"The question has {len(text):,} characters; HALO takes up to {LONGEST_QUESTION:,}.",
            code="long_question",
            step="Shorten it, or add the text as a source and ask about it.",
            count=len(text),
            limit=LONGEST_QUESTION,
        )
    return text


# --- turns ----------------------------------------------------------------------------------------


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
    stored = _as_stored(history_file(found.conversation_id, found.workspace))
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


def answer_question(
    workspace: Workspace,
    question: str,
    source_ids: Sequence[str] | None = None,
    *,
    on_stage: Any = None,
) -> Answer:
    """Answer one question from the answerable sources (None: all), without a conversation.

    Raises EmptyQuestionError, NotFoundError when there are no sources, StorageError.
    """
    tell = on_stage or (lambda stage: None)
    wanted = [
        source
        for source in load_sources(workspace)
        if source_ids is None or source.id in source_ids
    ]
    if not any(source.answerable for source in wanted):
        raise _nothing_to_read(wanted)
    tell("searching")
    result = search(workspace, question, k=PASSAGES, source_ids=source_ids)
    probes.remember(workspace, question, result.hits)
    tell("reading")
    return extractive_answer(question, result, _embedder(workspace, result))


def _nothing_to_read(wanted: Sequence[Source]) -> NotFoundError:
    """Why a question cannot be answered: there is nothing, or nothing of it could be read."""
    refused = [source for source in wanted if source.status in ("failed", "needs_password")]
    if not refused:
        return NotFoundError(
            "There are no sources to answer from.",
            code="no_sources",
            step="Add a source, or include one.",
        )
    names = ", ".join(source.name for source in refused[:3]) + ("…" if len(refused) > 3 else "")
    return NotFoundError(
        f"None of the sources could be read: {names}.",
        code="no_readable_sources",
        step="The list of sources says why; try them again or add others.",
        names=names,
    )


def _embedder(workspace: Workspace, result: SearchResult) -> Embedder | None:
    """The embedder the index was made with, where the search could use it."""
    name = current_name(workspace)
    if result.mode == "text" or name is None:
        return None
    identity = named_table(workspace, name).identity
    if identity.provider == "local" and not prepared():
        return None
    try:
        return get_embedder(identity)
    except EmbedderError:
        return None
