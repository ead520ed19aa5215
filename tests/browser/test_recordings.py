"""A recording in the real browser: its player, its times, and a citation that leads to its moment."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests import sounds
from tests.browser.conftest import App, settle

pytestmark = [pytest.mark.browser, pytest.mark.model]

PLAYING = "document.querySelector('.st-key-player audio').currentTime"


def test_a_time_and_a_citation_play_from_there(page: Page, app: App) -> None:
    ids = app.add(("harbour.ogg", sounds.ENGLISH.read_bytes()))
    app.ready(ids, seconds=120)
    row = page.locator("[class*=st-key-row_]").filter(has_text="harbour.ogg")
    expect(row).to_contain_text("0:20 of sound")
    row.get_by_role("button", name="harbour.ogg").click()
    settle(page)
    player = page.locator(".st-key-player audio")
    expect(player).to_be_visible()
    expect(page.locator(".rep").first).to_contain_text("0:20 transcribed")
    times = page.locator(".said a.at")
    expect(times).to_have_count(2)
    page.wait_for_function("document.querySelector('.st-key-player audio').readyState >= 1")
    times.nth(1).click()
    page.wait_for_function(f"{PLAYING} > 14")
    page.wait_for_function("!document.querySelector('.st-key-player audio').paused")
