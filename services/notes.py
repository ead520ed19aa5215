"""Notes: written, saved from answers, turned into sources."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services import trash
from services.adding import add_text
from services.chat import citation_line, load_messages
from services.errors import NotFoundError
from services.intake import Added
from services.models import Citation, Note, now
from services.storage import Shared, as_row, load_notes, save_notes, update_notes
from services.workspace import Workspace


def list_notes(workspace: Workspace) -> list[Note]:
    """All notes, the last changed first."""
    return sorted(load_notes(workspace), key=lambda note: note.updated_at, reverse=True)


def get_note(workspace: Workspace, note_id: str) -> Note:
    """The note with this id. Raises NotFoundError."""
    for note in load_notes(workspace):
        if note.id == note_id:
            return note
    raise NotFoundError("There is no such note.", code="no_such_note")


def new_note(
    workspace: Workspace,
    title: str,
    content: str,
    sources: Sequence[str] = (),
    citations: Sequence[Citation] = (),
) -> Note:
    """Keep a new note."""
    note = Note(
        title=title.strip(), content=content, sources=list(sources), citations=list(citations)
    )
    save_notes([note], workspace)
    return note


def update_note(
    workspace: Workspace, note_id: str, *, title: str | None = None, content: str | None = None
) -> None:
    """Change what is given and nothing else. Raises NotFoundError when the note is gone."""
    sent = {"title": title, "content": content}
    fields = {key: value for key, value in sent.items() if value is not None}
    found = False

    def change(rows: list[Shared]) -> list[Shared] | None:
        nonlocal found
        for index, row in enumerate(rows):
            if row.get("id") == note_id:
                found = True
                rows[index] = {**row, **fields, "updated_at": now()}
        return rows if found else None

    update_notes(change, workspace)
    if not found:
        raise NotFoundError("There is no such note.", code="no_such_note")


def keep_deleted(workspace: Workspace, note_id: str, title: str, content: str) -> Note:
    """Keep what was written into a note that is deleted by now as a new note, with what the
    deleted one cited."""
    old: dict[str, Any] = next(
        (
            entry["content"]
            for entry in trash.entries(workspace)
            if entry.get("kind") == "note" and entry["content"].get("id") == note_id
        ),
        {},
    )
    there = Note.model_validate(old | {"title": title, "content": content})
    return new_note(workspace, title, content, there.sources, there.citations)


def delete_note(workspace: Workspace, note_id: str) -> str:
    """Delete a note; returns what brings it back. Raises NotFoundError."""
    entry = trash.put(workspace, "note", as_row(get_note(workspace, note_id)))
    update_notes(lambda rows: [row for row in rows if row.get("id") != note_id], workspace)
    return entry


def restore_note(workspace: Workspace, trash_id: str) -> Note:
    """Bring a deleted note back. Raises NotFoundError when it is too late."""
    note = Note.model_validate(trash.get(workspace, trash_id, "note"))
    save_notes([note], workspace)
    trash.remove(workspace, trash_id)
    return note


def note_from_message(workspace: Workspace, conversation_id: str, message_id: str) -> Note:
    """Keep an answer as a note, its citations with it. Raises NotFoundError."""
    messages = {message.id: message for message in load_messages(workspace, conversation_id)}
    answer = messages.get(message_id)
    if answer is None or not answer.content:
        raise NotFoundError("There is no such answer.", code="no_such_message")
    asked = messages.get(answer.reply_to or "")
    citations = answer.answer.citations if answer.answer else []
    names = list(dict.fromkeys(citation.source_name for citation in citations))
    title = " ".join(asked.content.split())[:120] if asked else ""
    return new_note(workspace, title, answer.content, names, citations)


def note_markdown(note: Note) -> str:
    """A note as a Markdown file, its citations written out below."""
    parts = [f"# {note.heading}", note.content]
    if note.citations:
        parts.append("\n".join(citation_line(citation) for citation in note.citations))
    return "\n\n".join(parts) + "\n"


def note_as_source(workspace: Workspace, note_id: str) -> Added:
    """Make a source of a note's text. Raises NotFoundError, UserInputError."""
    note = get_note(workspace, note_id)
    return add_text(workspace, note.heading, note_markdown(note), origin="note")
