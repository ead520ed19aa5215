"""Notes in the real screen: saved from answers with live citations, written, kept, used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from services import chat, ingestion, notes
from services.models import Answer, Citation, Message
from services.storage import history_file
from tests.browser.conftest import App, settle, show, wait_for

pytestmark = pytest.mark.browser

TEXT = "# Results\n\nThe operating margin fell to 12.6 % in 2025.\n\nOrders rose by 4 %.\n"


def menu(page: Page, key: str, option: str) -> None:
    page.locator(f"[class*=st-key-{key}] button").first.click()
    page.get_by_role("menuitem", name=re.compile(option)).first.click()
    settle(page)


def answered(app: App) -> None:
    """A conversation with one answer that cites the notebook's one source."""
    app.ready([app.add_text("Results 2025", TEXT)])
    source = ingestion.list_sources(app.workspace)[0].source
    cited = Citation(
        number=1,
        source_id=source.id,
        source_name=source.name,
        revision=source.revision or "",
        chunk_id="c1",
        quote="Orders rose by 4 %.",
        start=TEXT.index("Orders") - 2,
        support="supported",
    )
    text = "**Orders** rose by 4 %. [1]"
    asked = Message(role="user", content="What about orders?")
    reply = Message(
        role="assistant",
        content=text,
        reply_to=asked.id,
        scope=[source.id],
        answer=Answer(text=text, grounded=True, citations=[cited]),
    )
    conversation = chat.new_conversation(app.workspace)
    rows = [message.model_dump(mode="json", exclude_none=True) for message in (asked, reply)]
    history_file(conversation.id, app.workspace).update(lambda _: rows)


def test_an_answer_becomes_a_note_with_live_citations(app: App, page: Page) -> None:
    answered(app)
    show(page, app.address)
    page.get_by_role("button", name="Save to note").click()
    row = page.locator("[class*=st-key-row_note_]")
    expect(row).to_contain_text("What about orders?")
    expect(row).to_contain_text("From chat · 1 citation kept")
    page.locator("[class*=st-key-name_note_] button").click()
    chip = page.locator("[class*=st-key-doc_] a[href^='#cite-']")
    expect(chip).to_have_count(1)
    settle(page)
    chip.hover()
    expect(page.locator("#halo-card")).to_contain_text("Orders rose by 4")
    chip.click()
    expect(page.locator(".st-key-p_sources mark")).to_contain_text("Orders rose by 4")


def test_what_is_typed_is_kept_without_a_save_button(app: App, page: Page) -> None:
    page.locator(".st-key-note_new button").click()
    page.locator("[class*=st-key-note_title_] input").fill("Call with the bank")
    page.locator("[class*=st-key-note_text_] textarea").click()
    page.keyboard.type("Ask about **covenants**.")
    wait_for(
        lambda: (
            [(n.title, n.content) for n in notes.list_notes(app.workspace)]
            == [("Call with the bank", "Ask about **covenants**.")]
        )
    )
    page.keyboard.type(" Twice.")  # the field keeps the focus while it is stored
    wait_for(lambda: notes.list_notes(app.workspace)[0].content.endswith("Twice."))
    page.locator(".st-key-note_mode button").click()
    expect(page.locator("[class*=st-key-doc_] strong")).to_have_text("covenants")
    page.reload()
    expect(page.locator("[class*=st-key-row_note_]")).to_contain_text("Call with the bank")


def test_an_empty_note_is_not_kept(app: App, page: Page) -> None:
    page.locator(".st-key-note_new button").click()
    page.locator(".st-key-icon_note_back button").click()
    page.get_by_text("Keep what matters").wait_for()
    assert notes.list_notes(app.workspace) == []


def test_a_note_is_renamed_downloaded_deleted_and_brought_back(app: App, page: Page) -> None:
    note = notes.new_note(app.workspace, "First", "Some text with $5 and $6.")
    show(page, app.address)
    menu(page, "menu_note_", "Rename")
    page.get_by_role("dialog").get_by_role("textbox").fill("Second")
    page.get_by_role("dialog").get_by_role("textbox").press("Enter")
    expect(page.locator("[class*=st-key-row_note_]")).to_contain_text("Second")
    with page.expect_download() as download:
        menu(page, "menu_note_", "Download")
    assert download.value.suggested_filename == "Second.md"
    assert "$5 and $6" in Path(download.value.path()).read_text(encoding="utf-8")
    menu(page, "menu_note_", "Delete")
    expect(page.locator("[class*=st-key-row_note_]")).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator("[class*=st-key-row_note_]")).to_contain_text("Second")
    assert notes.get_note(app.workspace, note.id).title == "Second"


def test_a_note_becomes_a_source_once(app: App, page: Page) -> None:
    notes.new_note(app.workspace, "Margin", "The margin fell because of membrane prices.")
    show(page, app.address)
    menu(page, "menu_note_", "Use as source")
    page.get_by_text("Added to the sources").wait_for()
    wait_for(lambda: [v.source.name for v in ingestion.list_sources(app.workspace)] == ["Margin"])
    menu(page, "menu_note_", "Use as source")
    page.get_by_text("Already among the sources").wait_for()
    assert len(ingestion.list_sources(app.workspace)) == 1


def test_a_note_that_another_tab_deleted_closes(app: App, page: Page) -> None:
    note = notes.new_note(app.workspace, "Short-lived", "Text.")
    show(page, app.address)
    page.locator("[class*=st-key-name_note_] button").click()
    page.locator("[class*=st-key-doc_]").wait_for()
    notes.delete_note(app.workspace, note.id)
    page.get_by_text("Keep what matters").wait_for()


def test_text_typed_into_a_note_deleted_elsewhere_is_kept(app: App, page: Page) -> None:
    old = notes.new_note(app.workspace, "Draft", "One.")
    show(page, app.address)
    page.locator(f".st-key-name_note_{old.id} button").click()
    page.locator(".st-key-note_mode button").click()
    field = page.locator(".st-key-note_editor textarea")
    expect(field).to_have_value("One.")
    notes.delete_note(app.workspace, old.id)
    expect(page.get_by_text("deleted in another window")).to_be_visible()
    field.fill("One. Two.")
    wait_for(lambda: [n.content for n in notes.list_notes(app.workspace)] == ["One. Two."])
    expect(page.locator("[data-testid=stToast]")).to_contain_text("kept as a new note")
    expect(field).to_have_value("One. Two.")


def test_an_empty_name_is_refused_in_words(app: App, page: Page) -> None:
    notes.new_note(app.workspace, "Draft", "One.")
    show(page, app.address)
    menu(page, "menu_note_", "Rename")
    page.locator(".st-key-ask_field input").fill("  ")
    page.locator("[data-testid=stDialog]").get_by_role("button", name="Rename").click()
    expect(page.locator("[data-testid=stDialog]")).to_contain_text("The name is empty.")
