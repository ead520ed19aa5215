"""What an analyst does on the first day, with the bundled embedder: drop a PDF and a Word file,
ask, look at the passage behind the answer, keep it, come back after a restart."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import docx
import pytest
from playwright.sync_api import Page, expect
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from tests.browser.conftest import settle, show, start

pytestmark = [pytest.mark.browser, pytest.mark.model]

INPUT = "[data-testid=stFileUploaderDropzoneInput]"
LONG = 120_000


def report() -> bytes:
    """A PDF of three pages; the fact asked for stands on the last one."""
    out = BytesIO()
    canvas = Canvas(out, pagesize=A4)
    pages = [
        ("Ostrava plant review", "The plant makes membranes for municipal water works."),
        ("Staff and shifts", "The plant runs two shifts with 214 people in all."),
        ("Energy", "The Ostrava plant used 4,870 megawatt hours of electricity in 2025."),
    ]
    for title, sentence in pages:
        canvas.setFont("Helvetica-Bold", 16)
        canvas.drawString(72, 760, title)
        canvas.setFont("Helvetica", 11)
        canvas.drawString(72, 730, sentence)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def memo() -> bytes:
    document = docx.Document()
    document.add_heading("Board memo", 1)
    document.add_paragraph("The board approved a second dryer for 3.2 million euros in October.")
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def ask(page: Page, question: str) -> None:
    box = page.locator(".st-key-ask textarea")
    box.fill(question)
    box.press("Enter")


@pytest.mark.usefixtures("_nothing_from_outside")
def test_from_the_first_file_to_the_day_after(tab: Callable[..., Page], tmp_path: Path) -> None:
    data = tmp_path / "workspace"
    for name, content in (("Plant review.pdf", report()), ("Board memo.docx", memo())):
        (tmp_path / name).write_bytes(content)
    process, url = start(data, tmp_path / "log.txt", HALO_EMBEDDER="local")
    try:
        page = tab()
        show(page, url)
        page.locator(".st-key-add button").click()
        page.set_input_files(INPUT, [tmp_path / "Plant review.pdf", tmp_path / "Board memo.docx"])
        expect(page.locator(".st-key-add_head")).to_contain_text("2 ready", timeout=LONG)
        page.locator(".st-key-add_done button").click()
        expect(page.locator("[data-testid=stDialog]")).to_have_count(0)

        ask(page, "How much electricity did the Ostrava plant use?")
        chip = page.locator(".st-key-p_chat a[href^='#cite-']").first
        chip.wait_for(timeout=LONG)
        settle(page)
        expect(page.locator(".st-key-p_chat")).to_contain_text("4,870 megawatt hours")
        chip.hover()
        card = page.locator("#halo-card")
        expect(card).to_contain_text("4,870 megawatt hours")
        expect(card).to_contain_text("Plant review.pdf")
        chip.click()
        highlight = page.locator(".st-key-p_sources .hl").first
        expect(highlight).to_be_in_viewport(timeout=LONG)
        expect(page.locator(".st-key-p_sources")).to_contain_text("p. 3 of 3")

        page.get_by_role("button", name="Save to note").first.click()
        note = page.locator("[class*=st-key-row_note_]")
        expect(note).to_contain_text("How much electricity")
        page.reload()
        settle(page)
        expect(page.locator(".st-key-p_chat")).to_contain_text("4,870 megawatt hours")
        expect(note).to_contain_text("How much electricity")
    finally:
        process.terminate()
        process.wait(timeout=20)

    process, url = start(data, tmp_path / "log2.txt", HALO_EMBEDDER="local")
    try:
        page = tab()
        show(page, url)
        for name in ("Plant review.pdf", "Board memo.docx"):
            expect(page.locator(".st-key-p_sources")).to_contain_text(name)
        expect(page.locator(".st-key-p_chat")).to_contain_text("4,870 megawatt hours")
        expect(page.locator("[class*=st-key-row_note_]")).to_contain_text("How much electricity")
        page.locator(".st-key-p_chat a[href^='#cite-']").first.click()
        expect(page.locator(".st-key-p_sources .hl").first).to_be_in_viewport(timeout=LONG)
        settle(page)
        ask(page, "What did the board approve in October?")
        expect(page.locator(".st-key-p_chat")).to_contain_text("3.2 million euros", timeout=LONG)
    finally:
        process.terminate()
        process.wait(timeout=20)
