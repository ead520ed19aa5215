"""The pages as scripts, without a browser: they run in both languages and on a broken folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from reportlab.pdfgen.canvas import Canvas
from streamlit.testing.v1 import AppTest

from services import adding, chat, ingestion, notebooks, notes, storage
from services.intake import Incoming
from services.pipeline import Pipeline
from services.workspace import open_workspace

PROJECT = Path(__file__).resolve().parents[2]


def run(page: str = "") -> AppTest:
    screen = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=30).run()
    if page:
        screen.switch_page(page).run()
    assert not screen.exception, screen.exception
    return screen


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("name", ["", "pages/Search.py", "pages/Help.py", "pages/Configuration.py"])
def test_pages_run(name: str, language: str) -> None:
    storage.update_config({"language": language})
    run(name)


def test_a_source_has_a_row() -> None:
    workspace = open_workspace()
    adding.add_text(workspace, "Draft", "Some text.")
    screen = run()
    assert [button.label for button in screen.button if button.key == "add"] == ["Add sources"]
    (view,) = ingestion.list_sources(workspace)
    assert any(button.key == f"name_{view.source.id}" for button in screen.button)


def test_a_foreign_folder_is_a_sentence() -> None:
    folder = Path(os.environ["HALO_DATA_DIR"])
    folder.mkdir(parents=True)
    (folder / "sources.json").write_text("[]", encoding="utf-8")
    assert [button.key for button in run().button] == ["blocked_retry"]


def test_a_damaged_file_takes_one_panel_only() -> None:
    workspace = open_workspace()
    bad = chat.new_conversation(workspace, "Broken")
    (workspace.chats / f"{bad.id}.json").write_bytes(b"broken")
    (workspace.root / "studio_notes.json").write_bytes(b"broken")
    keys = [button.key for button in run().button]
    assert "retry_studio" in keys
    assert "add" in keys  # the Sources panel
    assert "chat_new" in keys


def test_a_reload_offers_the_last_deletion_again() -> None:
    workspace = open_workspace()
    notes.delete_note(workspace, notes.new_note(workspace, "Draft", "One.").id)
    screen = run()
    screen.button(key="undo_do").click().run()
    assert [note.title for note in notes.list_notes(workspace)] == ["Draft"]
    notes.delete_note(workspace, notes.list_notes(workspace)[0].id)
    run().button(key="icon_undo_close").click().run()
    assert "undo_do" not in [button.key for button in run().button]
    made = notebooks.create_notebook("Wells")
    notebooks.delete_notebook(made.id)
    run().button(key="undo_do").click().run()
    assert made.id in [book.id for book in notebooks.list_notebooks()]


def test_a_locked_page_says_that_the_password_is_the_reason(tmp_path: Path) -> None:
    workspace = open_workspace()
    canvas = Canvas(str(tmp_path / "locked.pdf"), encrypt="open")
    canvas.drawString(72, 700, "The lighthouse was painted in green.")
    canvas.save()
    (added,) = adding.add_files(
        workspace, [Incoming("locked.pdf", tmp_path / "locked.pdf")], password="open"
    )
    worker = Pipeline(lambda: [workspace]).start()
    worker.wait(workspace, [added.source_id or ""])
    worker.stop()
    screen = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=30).run()
    screen.button(key=f"name_{added.source_id}").click().run()
    assert not screen.exception, screen.exception
    said = " ".join(element.proto.body for element in screen.get("html"))
    assert "protected with a password" in said
