"""A recording in the real browser: its player, its times, a citation that leads to its moment."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests import sounds
from tests.browser.conftest import App, settle
from tests.browser.test_chat import ask

pytestmark = [pytest.mark.browser, pytest.mark.model]

PLAYER = "document.querySelector('.st-key-player audio')"


def test_a_citation_and_a_time_lead_to_the_moment(page: Page, app: App) -> None:
    ids = app.add(("harbour.ogg", sounds.ENGLISH.read_bytes()))
    app.ready(ids, seconds=120)
    row = page.locator("[class*=st-key-row_]").filter(has_text="harbour.ogg")
    expect(row).to_contain_text("0:20 transcribed", timeout=30_000)

    ask(page, "How many ships had to wait outside?")
    chip = page.locator(".st-key-p_chat a[href^='#cite-']").first
    chip.wait_for()
    settle(page)
    chip.hover()
    expect(page.locator("#halo-card")).to_contain_text("at 0:0")
    chip.click()
    settle(page)
    expect(page.locator(".st-key-player audio")).to_be_visible()
    expect(page.locator(".rep").first).to_contain_text("0:20 transcribed")
    page.wait_for_function(f"{PLAYER}.readyState >= 1 && {PLAYER}.currentTime >= 1")
    assert page.evaluate(f"{PLAYER}.paused")

    times = page.locator(".said a.at")
    expect(times).to_have_count(2)
    times.nth(1).click()
    page.wait_for_function(f"{PLAYER}.currentTime > 14 && !{PLAYER}.paused")


def test_a_film_whose_picture_the_browser_does_not_know_says_so(page: Page, app: App) -> None:
    app.ready(app.add(("Meeting.mp4", sounds.film(sounds.spoken()))), seconds=120)
    row = page.locator("[class*=st-key-row_]").filter(has_text="Meeting.mp4")
    expect(row).to_contain_text("transcribed", timeout=30_000)
    settle(page)
    row.locator("[class*=st-key-name_] button").click()
    expect(page.locator(".st-key-player video")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("cannot show a picture of this kind")).to_be_visible()
    expect(page.get_by_text("cannot play this kind")).to_be_hidden()
