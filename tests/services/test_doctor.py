"""What doctor finds is what repair mends."""

import json
import shutil
from pathlib import Path

import pytest

from services import chat, lance, notes
from services.adding import add_files
from services.doctor import examine, repair
from services.errors import DamagedFileError, StorageError
from services.intake import Incoming
from services.search import search
from services.storage import load_sources
from services.workspace import Workspace

from .conftest import Library

WELLS = "# Wells\n\nWell ZX-4417-B gave 63.8 mg/l nitrate in March 2024.\n"


def faults(workspace: Workspace) -> list[str]:
    return [check.name for check in examine(workspace) if not check.ok]


def damage(path: Path) -> None:
    for copy in path.parent.glob(f"{path.name}*"):
        copy.write_bytes(b"xx")


def test_an_unreadable_index_is_set_aside_and_built_again(library: Library) -> None:
    (wells,) = library.add(wells=WELLS)
    w = library.workspace
    for path in (w.root / "lancedb").rglob("*"):
        if path.is_file():
            path.write_bytes(b"garbage" * 30)
    lance.forget(w.vector_uri)
    assert "index" in faults(w)
    with pytest.raises(StorageError, match="doctor --repair") as caught:
        search(w, "nitrate")
    assert ".rs:" not in str(caught.value)
    assert any("index was set aside" in line for line in repair(w))
    library.wait([wells.id])
    assert search(w, "nitrate").hits[0].source_name == "wells.md"
    assert faults(w) == []


def test_an_index_removed_under_a_running_worker_does_not_stop_it(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    shutil.rmtree(w.root / "lancedb")
    (again,) = library.add(parts="# Parts\n\nValve 7 holds 30 bar.\n")
    assert again.status == "ready"
    assert search(w, "valve 7").hits
    repair(w)
    library.wait([source.id for source in load_sources(w)])
    assert search(w, "nitrate").hits[0].source_name == "wells.md"


@pytest.mark.parametrize("damage", [[1, 2, "x", None], [{"name": 7}]])
def test_entries_of_the_wrong_shape_are_left_out_and_the_rest_is_kept(
    library: Library, damage: list[object]
) -> None:
    (wells,) = library.add(wells=WELLS)
    w = library.workspace
    rows = json.loads(w.sources_file.path.read_bytes())
    w.sources_file.path.write_text(json.dumps([*damage, *rows]), encoding="utf-8")
    with pytest.raises(DamagedFileError, match="doctor --repair"):
        load_sources(w)
    assert "list of sources" in faults(w)
    repair(w)
    assert load_sources(w) == [wells]
    assert faults(w) == []


def test_a_damaged_conversation_and_notes_are_set_aside(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w, "Wells")
    notes.new_note(w, "Kept", "text")
    path = w.chats / f"{talk.id}.json"
    path.write_bytes(b"[]")
    damage(path)
    damage(w.root / "studio_notes.json")
    assert "conversations and notes" in faults(w)
    said = repair(w)
    assert sum("set aside" in line for line in said) == 2
    assert faults(w) == []
    assert chat.load_messages(w, talk.id) == []
    assert notes.list_notes(w) == []


@pytest.mark.parametrize("damage", ["text", 7, None, ["a"], {"id": "x"}])
def test_notes_beside_an_entry_of_the_wrong_shape_are_kept(
    library: Library, damage: object
) -> None:
    w = library.workspace
    kept = notes.new_note(w, "Kept", "text")
    path = w.root / "studio_notes.json"
    rows = json.loads(path.read_bytes())
    path.write_text(json.dumps([damage, *rows]), encoding="utf-8")
    with pytest.raises(DamagedFileError, match="doctor --repair"):
        notes.list_notes(w)
    assert "conversations and notes" in faults(w)
    repair(w)
    assert faults(w) == []
    assert [note.id for note in notes.list_notes(w)] == [kept.id]


def test_adding_beside_a_damaged_entry_is_refused_in_words(library: Library) -> None:
    w = library.workspace
    w.sources_file.path.write_text('["x"]', encoding="utf-8")
    with pytest.raises(DamagedFileError, match="doctor --repair"):
        add_files(w, [Incoming("a.md", b"words")])


def test_reading_a_damaged_file_again_keeps_one_copy_of_it(library: Library) -> None:
    w = library.workspace
    w.file("studio_notes.json", []).update(lambda rows: [{"id": "a"}])
    damage(w.root / "studio_notes.json")
    for _ in range(3):
        with pytest.raises(DamagedFileError):
            notes.list_notes(w)
    assert len(list(w.quarantine.iterdir())) == 1
