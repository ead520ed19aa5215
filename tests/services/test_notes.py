"""Notes keep their citations, change one field at a time, and come back after a deletion."""

import time

import pytest

from services import chat, notes, trash
from services.errors import NotFoundError
from services.storage import load_notes, load_sources
from services.workspace import Workspace

from .conftest import Library
from .test_chat import QUESTION, WELLS, settled


def test_a_note_is_written_changed_deleted_and_brought_back(workspace: Workspace) -> None:
    note = notes.new_note(workspace, " Margin ", "first")
    notes.update_note(workspace, note.id, content="second")
    notes.update_note(workspace, note.id, title="")
    (kept,) = notes.list_notes(workspace)
    assert (kept.title, kept.content, kept.heading) == ("", "second", "second")
    entry = notes.delete_note(workspace, note.id)
    assert notes.list_notes(workspace) == []
    with pytest.raises(NotFoundError):
        notes.update_note(workspace, note.id, content="x")
    assert notes.restore_note(workspace, entry) == kept
    assert notes.list_notes(workspace) == [kept]


def test_an_answer_becomes_a_note_with_live_citations(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    answer = settled(w, talk.id, chat.ask(w, talk.id, QUESTION))
    note = notes.note_from_message(w, talk.id, answer.id)
    assert answer.answer
    assert note.citations == answer.answer.citations
    assert (note.title, note.sources) == (QUESTION, ["wells.md"])
    assert "[1] wells.md" in notes.note_markdown(note)
    with pytest.raises(NotFoundError):
        notes.note_from_message(w, talk.id, "0" * 32)


def test_a_note_becomes_a_source(library: Library) -> None:
    note = notes.new_note(library.workspace, "Pump memo", "Pump 7 leaks.")
    added = notes.note_as_source(library.workspace, note.id)
    library.wait([added.source_id or ""])
    (source,) = load_sources(library.workspace)
    assert (source.name, source.status, source.origin) == ("Pump memo", "ready", "note")


def test_notes_of_the_reference_system_get_an_id_for_good(workspace: Workspace) -> None:
    workspace.file("studio_notes.json", []).update(
        lambda _: [{"content": "# Old\nnote", "sources": ["a.pdf"]}]
    )
    (first,) = load_notes(workspace)
    assert load_notes(workspace) == [first]
    assert first.heading == "Old"


def test_what_was_written_into_a_deleted_note_is_a_new_note(workspace: Workspace) -> None:
    old = notes.new_note(workspace, "Draft", "One.", ["Report.pdf"])
    notes.delete_note(workspace, old.id)
    kept = notes.keep_deleted(workspace, old.id, "Draft", "One. Two.")
    assert kept.id != old.id
    assert notes.list_notes(workspace) == [kept]
    assert (kept.content, kept.sources) == ("One. Two.", ["Report.pdf"])


def test_the_newest_deletion_is_offered_until_used_or_waved_away(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (notes.new_note(workspace, name, "text") for name in ("First", "Second"))
    assert trash.newest(workspace) is None
    used = notes.delete_note(workspace, first.id)
    notes.restore_note(workspace, used)
    assert trash.newest(workspace) is None
    entry = notes.delete_note(workspace, second.id)
    found = trash.newest(workspace)
    assert found and found["id"] == entry
    later = time.time() + 601
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: later)
        assert trash.newest(workspace) is None
    trash.dismiss(workspace, entry)
    assert trash.newest(workspace) is None
    assert notes.restore_note(workspace, entry).title == "Second"
