"""Routes of notes, of the studio's outputs, and of the server's health."""

from __future__ import annotations

import importlib.metadata

from fastapi import APIRouter

from interfaces.api.bodies import (
    Counts,
    Deleted,
    EmbedderHealth,
    Health,
    NewNote,
    NoteChange,
    NoteList,
    OutputList,
)
from interfaces.api.notebook import Notebook, Worker
from services import jobs, notes
from services.models import Note
from services.settings import embedder_name
from services.storage import load_notes, load_sources, load_studio_outputs

VERSION = importlib.metadata.version("halo")

router = APIRouter()


@router.get("/notes", tags=["notes"], summary="List the notes")
def list_notes(workspace: Notebook) -> NoteList:
    """All notes, the last changed first."""
    return NoteList(notes=notes.list_notes(workspace))


@router.post("/notes", tags=["notes"], summary="Keep a note", status_code=201)
def add_note(workspace: Notebook, note: NewNote) -> Note:
    """Keep a note; its content is Markdown."""
    return notes.new_note(workspace, note.title, note.content)


@router.get("/notes/{note_id}", tags=["notes"], summary="Show a note")
def show_note(workspace: Notebook, note_id: str) -> Note:
    """One note with its citations."""
    return notes.get_note(workspace, note_id)


@router.patch("/notes/{note_id}", tags=["notes"], summary="Change a note")
def change_note(workspace: Notebook, note_id: str, change: NoteChange) -> Note:
    """Give a note another title or content."""
    notes.update_note(workspace, note_id, title=change.title, content=change.content)
    return notes.get_note(workspace, note_id)


@router.delete("/notes/{note_id}", tags=["notes"], summary="Delete a note")
def delete_note(workspace: Notebook, note_id: str) -> Deleted:
    """Delete a note."""
    return Deleted(deleted=[note_id], trash_id=notes.delete_note(workspace, note_id))


@router.get("/studio", tags=["studio"], summary="List the studio's outputs")
def list_outputs(workspace: Notebook) -> OutputList:
    """What the studio made, the newest first."""
    return OutputList(outputs=load_studio_outputs(workspace))


@router.get("/health", tags=["server"], summary="Whether the server works")
def health(workspace: Notebook, worker: Worker) -> Health:
    """The version, the embedder's state, and how much the notebook holds. Needs no key."""
    sources = load_sources(workspace)
    return Health(
        version=VERSION,
        embedder=EmbedderHealth(name=embedder_name(), state=worker.embedder_state()),
        counts=Counts(
            sources=len(sources),
            answerable=sum(source.answerable for source in sources),
            jobs=len(jobs.ids(workspace)),
            notes=len(load_notes(workspace)),
        ),
    )
