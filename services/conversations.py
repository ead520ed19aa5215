"""Conversations: the list, their titles, their stored messages and deletion.

Messages are appended, never rewritten as a whole: two tabs cannot lose each other's. A history
without a listed title is found too, and one damaged history leaves the others as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services import jsonfile, trash
from services.errors import DamagedFileError, NotFoundError, StorageError, from_os_error
from services.jsonfile import JsonFile
from services.models import Citation, Message, new_id, now
from services.speech import clock
from services.storage import Shared, history_file
from services.workspace import Workspace


@dataclass(frozen=True)
class Conversation:
    """One conversation as listed."""

    id: str
    title: str
    updated_at: str
    messages: int
    damaged: bool = False
    """Its history cannot be read; opening it says why."""


_read: dict[Path, tuple[Any, list[Message]]] = {}


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
    """Delete a conversation; returns what brings it back."""
    file = history_file(conversation_id, workspace)
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
    file = history_file(conversation_id, workspace)
    messages = stored_messages(file)
    dead = {m.id for m in messages if m.state == "running" and not _alive(workspace, m.id)}
    if dead:  # it may have ended between the two looks
        messages = stored_messages(file)
    return [
        message.model_copy(
            update={"state": "interrupted", "content": _left_behind(workspace, message)}
        )
        if message.state == "running" and message.id in dead
        else message
        for message in messages
    ]


def text_file(workspace: Workspace, message_id: str) -> Path:
    """Where the text of an answer stands while it is written."""
    return workspace.locks / f"turn-{message_id}.text"


def _left_behind(workspace: Workspace, message: Message) -> str:
    """The text of an answer whose process died: as far as it was written down."""
    try:
        return text_file(workspace, message.id).read_text("utf-8") or message.content
    except OSError:
        return message.content


def stored_messages(file: JsonFile) -> list[Message]:
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
    """True while some process, this one included, holds the turn's lock."""
    if not (workspace.locks / f"turn-{message_id}.lock").exists():
        return False
    with workspace.lock(f"turn-{message_id}", wait=False) as free:
        return not free


def citation_line(citation: Citation) -> str:
    """A citation as a line of Markdown: number, source, page, quote."""
    quote = " ".join(citation.quote.split())
    return f"[{citation.number}] {cited_at(citation)}: “{quote}”"


def cited_at(citation: Citation) -> str:
    """The source and the place in it: page, sheet, slide or time."""
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
    return ", ".join(place)
