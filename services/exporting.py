"""A conversation as a file: Markdown, Word or JSON, its citations as footnotes, its sources listed.

Footnotes count through the whole conversation, so each quote has one number. JSON holds every
message with its record: the model, what was sent, tokens, timings. Keys are in none of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from services.conversations import cited_at, list_conversations, load_messages
from services.markers import MarkerStream
from services.models import Citation, Message, Source, now
from services.storage import load_sources
from services.workspace import Workspace

Format = Literal["markdown", "docx", "json"]
SUFFIXES: dict[Format, str] = {"markdown": "md", "docx": "docx", "json": "json"}
MIMES: dict[Format, str] = {
    "markdown": "text/markdown",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "json": "application/json",
}


@dataclass
class _Part:
    """A question or an answer. ``pieces`` are its text and, between them, numbers of footnotes."""

    role: str
    pieces: list[str | int]


@dataclass
class _Told:
    """A conversation made ready to be written."""

    title: str
    parts: list[_Part] = field(default_factory=list)
    notes: list[Citation] = field(default_factory=list)
    """Footnote n is ``notes[n - 1]``."""
    sources: list[str] = field(default_factory=list)
    """The bibliography: one line a source, in the order of the footnotes."""


def export_conversation(
    workspace: Workspace, conversation_id: str, format_: Format = "markdown"
) -> bytes:
    """The conversation as a file. Raises NotFoundError, StorageError."""
    if format_ == "json":
        return _json(workspace, conversation_id)
    told = _told(workspace, conversation_id)
    return _docx(told) if format_ == "docx" else _markdown(told).encode("utf-8")


def _title(workspace: Workspace, conversation_id: str) -> str:
    titles = (c.title for c in list_conversations(workspace) if c.id == conversation_id)
    return next(titles, "") or "Conversation"


def _told(workspace: Workspace, conversation_id: str) -> _Told:
    told = _Told(_title(workspace, conversation_id))
    for message in load_messages(workspace, conversation_id):
        told.parts.append(_Part(message.role, list(_pieces(message, told.notes))))
    known = {source.id: source for source in load_sources(workspace)}
    cited = {note.source_id: note.source_name for note in told.notes}
    told.sources = [_entry(known.get(source_id), name) for source_id, name in cited.items()]
    return told


def _pieces(message: Message, notes: list[Citation]) -> Iterator[str | int]:
    """A message cut at its markers, each of which becomes a footnote of ``notes``."""
    if message.role == "user" or message.answer is None:
        yield message.content
        return
    cited = {citation.number: citation for citation in message.answer.citations}
    first = len(notes)
    stream = MarkerStream(cited.keys())
    text = stream.feed(message.content) + stream.close()
    given: dict[int, int] = {}
    last = 0
    for start, end, numbers in stream.markers:
        yield text[last:start].rstrip(" ")
        for number in numbers:
            if number not in given:
                given[number] = first + len(given) + 1
                notes.append(cited[number])
            yield given[number]
        last = end
    yield text[last:]


def _entry(source: Source | None, name: str) -> str:
    """A source as a line of the bibliography."""
    if source is None:
        return f"{name} (no longer in the notebook)"
    added = source.created_at[:10]
    if source.url:
        fetched = source.fetched.at[:10] if source.fetched else added
        return f"{source.name}. {source.url}, fetched {fetched}."
    return f"{source.name}. {source.type_label}, added {added}."


def _note(citation: Citation) -> str:
    quote = " ".join(citation.quote.split())
    return f"{cited_at(citation)}: “{quote}”"


# --- the three forms --------------------------------------------------------------------------


def _markdown(told: _Told) -> str:
    blocks = [f"# {told.title}"]
    for part in told.parts:
        text = "".join(p if isinstance(p, str) else f"[^{p}]" for p in part.pieces)
        if part.role == "user":
            text = "## " + " ".join(text.split())
        blocks.append(text or "(no answer)")
    if told.notes:
        blocks.append("## Sources\n\n" + "\n".join(f"- {line}" for line in told.sources))
        blocks.append("\n".join(f"[^{n}]: {_note(c)}" for n, c in enumerate(told.notes, start=1)))
    return "\n\n".join(blocks) + "\n"


def _docx(told: _Told) -> bytes:
    from services.wordfile import WordFile  # python-docx takes a while to load

    file = WordFile(told.title, [_note(citation) for citation in told.notes])
    for part in told.parts:
        if part.role == "user":
            file.heading(" ".join(str(part.pieces[0]).split()))
        else:
            file.markdown(part.pieces if any(part.pieces) else ["(no answer)"])
    if told.notes:
        file.heading("Sources")
        for line in told.sources:
            file.bullet(line)
    return file.bytes()


def _json(workspace: Workspace, conversation_id: str) -> bytes:
    messages = load_messages(workspace, conversation_id)
    told = _told(workspace, conversation_id)
    content = {
        "id": conversation_id,
        "title": told.title,
        "exported_at": now(),
        "messages": [message.model_dump(mode="json", exclude_none=True) for message in messages],
        "sources": told.sources,
    }
    return json.dumps(content, ensure_ascii=False, indent=2).encode("utf-8")
