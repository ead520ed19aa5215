"""The Studio in the real screen: a report is made, read, exported, deleted, brought back."""

from __future__ import annotations

import io
import re
from pathlib import Path

import docx
import pytest
from playwright.sync_api import Page, expect

from services import ingestion
from services.sample import sample_files
from services.studio import outputs
from tests.browser.conftest import App, settle, show, wait_for

pytestmark = pytest.mark.browser


def test_a_report_from_tile_to_file(app: App, page: Page, tmp_path: Path) -> None:
    app.ready(app.add(*[(path.name, path.read_bytes()) for path in sample_files()]))
    show(page, app.address)
    page.locator(".st-key-tile_report button").click()
    page.get_by_role("dialog").wait_for()
    settle(page)
    page.locator(".st-key-make_do button").click()
    wait_for(lambda: [o.state for o in outputs.list_outputs(app.workspace)] == ["done"])
    row = page.locator("[class*=st-key-row_output_]")
    expect(row).to_contain_text("Briefing")
    row.get_by_role("button", name=re.compile("Briefing")).first.click()
    settle(page)
    expect(page.locator("[class*=st-key-doc_]")).to_contain_text("In short")

    page.locator('[class*=st-key-doc_] a[href^="#cite-"]').first.click()
    expect(page.locator("#hit, .st-key-icon_viewer_back").first).to_be_visible()
    settle(page)

    page.locator(".st-key-output_export button").click()
    with page.expect_download() as download:
        page.get_by_role("menuitem", name=re.compile("Word")).click()
    target = tmp_path / "report.docx"
    download.value.save_as(target)
    document = docx.Document(io.BytesIO(target.read_bytes()))
    assert any("In short" in paragraph.text for paragraph in document.paragraphs)

    source = ingestion.list_sources(app.workspace)[0].source
    ingestion.delete_sources(app.workspace, [source.id])
    expect(page.locator(".st-key-stale")).to_contain_text("1 source is gone.")
    page.locator(".st-key-stale_update button").click()
    wait_for(lambda: bool(outputs.list_outputs(app.workspace)[0].versions))
    made = outputs.list_outputs(app.workspace)[0]
    assert source.id not in {used.id for used in made.used}

    expect(page.locator(".st-key-stale")).to_have_count(0)
    page.locator("[class*=st-key-menu_output_] button").first.click()
    page.get_by_role("menuitem", name="Delete").click()
    expect(page.locator(".st-key-undo")).to_contain_text("Briefing")
    page.locator(".st-key-undo_do button").click()
    expect(page.locator("[class*=st-key-row_output_]")).to_have_count(1)
