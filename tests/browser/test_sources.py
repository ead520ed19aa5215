"""Sources and the viewer in the real browser: what an analyst does first."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from services import ingestion
from services.storage import save_config
from services.workspace import Workspace
from tests.browser.conftest import App, settle, show, wait_for
from tests.services.links.conftest import ARTICLE, Web

pytestmark = pytest.mark.browser

INPUT = "[data-testid=stFileUploaderDropzoneInput]"
HOSTILE = (
    "# <script>document.title='owned'</script>\n\n"
    "![pixel](http://example.com/track.png) and <img src=http://example.com/x.png onerror=alert(1)>"
    "\n\nIt costs $5 and $6, :red[not red] and :material/home:."
)


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text a page."""
    from reportlab.pdfgen.canvas import Canvas

    out = io.BytesIO()
    canvas = Canvas(out, invariant=True)
    for text in pages:
        canvas.drawString(72, 700, text)
        canvas.showPage()
    canvas.save()
    return out.getvalue()


def row(page: Page, name: str):  # type: ignore[no-untyped-def]
    return page.locator("[class*=st-key-row_]").filter(has_text=name)


def open_add(page: Page) -> None:
    page.locator(".st-key-add button").click()
    page.wait_for_selector("[data-testid=stDialog]")
    settle(page)


def choose_from_menu(page: Page, name: str, words: str) -> None:
    row(page, name).locator("[class*=st-key-menu_] button").click()
    page.get_by_text(words, exact=True).last.click()


def test_an_empty_notebook_says_what_to_do(page: Page) -> None:
    expect(page.locator(".st-key-add button")).to_have_text("addAdd sources")
    expect(page.get_by_text("They stay on this computer.")).to_be_visible()
    expect(page.get_by_text("No sources yet")).to_be_visible()
    assert page.locator("[data-testid=stDialog]").count() == 0


def test_upload_is_taken_once_and_read(page: Page, app: App, tmp_path: Path) -> None:
    files = []
    for name, data in (("Report.pdf", pdf("Margin 12.6 %")), ("Memo.txt", b"Two quarters.")):
        (tmp_path / name).write_bytes(data)
        files.append(tmp_path / name)
    open_add(page)
    page.set_input_files(INPUT, files)
    expect(page.locator("[class*=st-key-up_]")).to_have_count(2)
    expect(page.locator(".st-key-add_head")).to_contain_text("2 ready", timeout=60_000)
    page.get_by_role("button", name="Take off this list").first.click()
    expect(page.locator("[class*=st-key-up_]")).to_have_count(1)
    page.locator(".st-key-add_done button").click()
    expect(page.locator("[data-testid=stDialog]")).to_have_count(0)
    expect(row(page, "Report.pdf")).to_contain_text("Ready · 1 page")
    assert len(ingestion.list_sources(app.workspace)) == 2

    open_add(page)
    page.set_input_files(INPUT, files[:1])
    expect(page.locator("[class*=st-key-up_]")).to_contain_text("Already here · nothing to do")
    assert len(ingestion.list_sources(app.workspace)) == 2


def test_same_name_with_other_content_is_asked(page: Page, app: App, tmp_path: Path) -> None:
    app.ready(app.add(("Memo.txt", b"The first version of it.")))
    path = tmp_path / "Memo.txt"
    path.write_bytes(b"The second version of it.")
    open_add(page)
    page.set_input_files(INPUT, path)
    expect(page.get_by_text("Same name, other content")).to_be_visible()
    page.get_by_role("button", name="Replace").click()

    def replaced() -> bool:
        texts = [
            ingestion.load_document(app.workspace, view.source.id).text
            for view in ingestion.list_sources(app.workspace)
        ]
        return texts == ["The second version of it."]

    wait_for(replaced)
    expect(page.locator(".st-key-add_head")).to_contain_text("1 ready")
    assert all(view.source.selected for view in ingestion.list_sources(app.workspace))


def test_pasted_text_becomes_a_source(page: Page, app: App) -> None:
    open_add(page)
    page.get_by_role("radio", name="Text").click()
    page.locator(".st-key-text_title input").fill("Margin bridge")
    page.locator(".st-key-text_body textarea").fill("The margin fell.")
    page.get_by_role("button", name="Add text").click()
    expect(page.locator("[class*=st-key-up_]")).to_contain_text("pasted, 3 words", timeout=60_000)


def test_links_are_fetched_and_failures_say_what_to_do(page: Page, app: App) -> None:
    web = Web()
    threading.Thread(target=web.serve_forever, daemon=True).start()
    save_config({"HALO_LINK_NETWORKS": "127.0.0.0/8"}, Workspace(app.data))
    typed = [
        web.page("/wells", ARTICLE, ETag='"1"'),
        web.page("/check", "<title>Just a moment...</title>", 403),
        "javascript:alert(1)",
    ]
    open_add(page)
    page.get_by_role("radio", name="Link").click()
    page.locator(".st-key-link_field textarea").fill("\n".join(typed))
    page.get_by_role("button", name="Add links").click()
    head, rows = page.locator(".st-key-add_head"), page.locator("[class*=st-key-up_]")
    expect(head).to_contain_text("3 sources", timeout=30_000)
    expect(head).to_contain_text("1 ready · 2 failed", timeout=60_000)
    expect(rows.nth(0)).to_contain_text("Wells of Senra")
    expect(rows.nth(1)).to_contain_text("Open it in your browser, then save the page and upload it")
    expect(rows.nth(2)).to_contain_text("HALO opens only http and https addresses.")

    web.page("/check", ARTICLE.replace("Wells of", "Springs of"))
    rows.nth(1).get_by_role("button", name="Try again").click()
    expect(head).to_contain_text("2 ready · 1 failed", timeout=60_000)
    page.locator(".st-key-add_done button").click()
    expect(row(page, "Wells of Senra")).to_contain_text("Ready · fetched")

    web.pages["/wells"] = lambda handler: handler.answer(b"", 304)
    choose_from_menu(page, "Wells of Senra", "Fetch again")
    expect(row(page, "Wells of Senra")).to_contain_text("unchanged since", timeout=60_000)
    row(page, "Wells of Senra").locator("[class*=st-key-name_] button").click()
    link = page.locator(".came a")
    expect(link).to_have_attribute("href", web.url("/wells"))
    expect(link).to_have_attribute("target", "_blank")
    expect(link).to_have_attribute("rel", "noopener noreferrer")
    expect(page.locator(".came")).to_contain_text("The survey · 4\u00a0Mar 2026")
    web.shutdown()
    web.server_close()


def test_include_boxes_are_kept(page: Page, app: App) -> None:
    ids = app.add(("A.txt", b"Alpha text."), ("B.txt", b"Beta text."))
    app.ready(ids)
    expect(page.get_by_text("2 of 2 sources included")).to_be_visible()
    row(page, "A.txt").locator("label").click()
    expect(page.get_by_text("1 of 2 sources included")).to_be_visible()
    expect(page.locator(".st-key-select_all_mixed")).to_be_visible()
    page.locator(".st-key-select_all_mixed button").click()
    expect(page.get_by_text("2 of 2 sources included")).to_be_visible()
    page.reload()
    expect(page.get_by_text("2 of 2 sources included")).to_be_visible()


def test_rename_delete_and_undo(page: Page, app: App) -> None:
    app.ready(app.add(("Draft.txt", b"Some text to keep.")))
    choose_from_menu(page, "Draft.txt", "Rename")
    field = page.locator("[data-testid=stDialog] input")
    expect(page.get_by_text("Rename source")).to_be_visible()
    expect(field).to_be_focused()
    assert page.evaluate("getSelection().toString()") == "Draft.txt"
    field.fill("Final [v2] $5.txt")
    page.locator("[data-testid=stDialog]").get_by_role("button", name="Rename").click()
    expect(row(page, "Final [v2] $5.txt")).to_be_visible()
    choose_from_menu(page, "Final", "Delete")
    expect(page.get_by_text("Deleted: Final [v2] $5.txt")).to_be_visible()
    expect(page.locator("[class*=st-key-row_]")).to_have_count(0)
    page.locator(".st-key-undo_do button").click()
    expect(row(page, "Final [v2] $5.txt")).to_be_visible()


def test_a_menu_hands_over_the_file(page: Page, app: App) -> None:
    app.ready(app.add(("Draft.txt", b"Some text to keep.")))
    row(page, "Draft.txt").wait_for()
    with page.expect_download() as waiting:
        choose_from_menu(page, "Draft.txt", "Download original")
    assert Path(waiting.value.path()).read_bytes() == b"Some text to keep."
    assert waiting.value.suggested_filename == "Draft.txt"


def test_a_locked_file_opens_with_its_password(page: Page, app: App) -> None:
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    out = io.BytesIO()
    canvas = Canvas(out, encrypt=StandardEncryption("open", strength=128))
    canvas.drawString(72, 700, "Behind the lock.")
    canvas.save()
    app.add(("Locked.pdf", out.getvalue()))
    locked = row(page, "Locked.pdf")
    expect(locked).to_contain_text("Needs password", timeout=60_000)
    locked.get_by_role("button", name="Enter").click()
    page.locator("[data-testid=stDialog] input").fill("open")
    page.get_by_role("button", name="Unlock").click()
    expect(locked).to_contain_text("Ready · 1 page", timeout=60_000)


def test_the_viewer_shows_pages_text_and_file(page: Page, app: App) -> None:
    app.ready(app.add(("Report.pdf", pdf("First page here.", "Second page there."))))
    row(page, "Report.pdf").locator("[class*=st-key-name_] button").click()
    expect(page.get_by_text("2 of 2 pages read")).to_be_visible()
    expect(page.get_by_alt_text("Page 1 of Report.pdf")).to_be_visible()
    page.locator(".st-key-icon_turn_next button").click()
    expect(page.get_by_alt_text("Page 2 of Report.pdf")).to_be_visible()
    expect(page.get_by_text("p. 2 of 2")).to_be_visible()
    page.get_by_role("radio", name="Text").click()
    expect(page.locator(".doc")).to_contain_text("Second page there.")
    page.get_by_role("radio", name="Original").click()
    with page.expect_download():
        page.locator(".st-key-original_get button").click()
    page.locator(".st-key-icon_viewer_back button").click()
    expect(row(page, "Report.pdf")).to_be_visible()


def test_a_source_deleted_in_another_window(page: Page, app: App) -> None:
    ids = app.add(("Report.txt", b"Something to read."))
    app.ready(ids)
    row(page, "Report.txt").locator("[class*=st-key-name_] button").click()
    page.wait_for_selector(".st-key-view_tools")
    ingestion.delete_sources(app.workspace, ids)
    expect(page.get_by_text("This source was removed.")).to_be_visible()


def test_hostile_text_stays_text(page: Page, app: App) -> None:
    app.ready(app.add(("<b>x<i> ![p](data:x) :red[y].md", HOSTILE.encode())))
    row(page, "<b>x<i> ![p](data:x) :red[y].md").locator("[class*=st-key-name_] button").click()
    expect(page.locator(".doc")).to_contain_text(":red[not red]")
    assert page.locator(".doc img, .doc script").count() == 0
    assert page.title() == "HALO"


def test_rows_come_16_a_page(page: Page, app: App) -> None:
    app.ready(app.add(*((f"File {n:02}.txt", f"Text {n}.".encode()) for n in range(30))))
    expect(page.locator("[class*=st-key-row_]")).to_have_count(16)
    page.locator(".st-key-source_page").get_by_text("2", exact=True).click()
    expect(page.locator("[class*=st-key-row_]")).to_have_count(14)
    page.locator(".st-key-source_filter input").fill("file 07")
    expect(page.locator("[class*=st-key-row_]")).to_have_count(1)


@pytest.mark.parametrize("dark", [False, True])
def test_german_phone_and_theme(app: App, tab: Callable[..., Page], *, dark: bool) -> None:
    app.ready([app.add_text("Notiz", "Ein kurzer Text.")])
    page = tab(390, 844, dark=dark, language="de-DE")
    show(page, app.address)
    page.get_by_role("radio", name="Quellen").click()
    expect(page.get_by_role("button", name="Quellen hinzufügen")).to_be_visible()
    ground = page.evaluate(
        "getComputedStyle(document.querySelector('.st-key-p_sources')).background"
    )
    assert ("rgb(24, 29, 28)" in ground) is dark
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_an_empty_phone_begins_at_the_top_and_reaches_search(
    app: App, tab: Callable[..., Page]
) -> None:
    page = tab(390, 700)
    show(page, app.address)
    expect(page.locator(".st-key-welcome h1")).to_be_in_viewport(ratio=1)
    assert page.locator(".st-key-pb_chat").evaluate("body => body.scrollTop") == 0
    page.locator(".st-key-menu_main button").click()
    page.get_by_role("menuitem", name="Search").click()
    expect(page.get_by_text("Add a source to search in.")).to_be_visible()


def test_a_filter_without_a_match_can_be_cleared(page: Page, app: App) -> None:
    app.ready(app.add(("Draft.txt", b"Some text to keep.")))
    page.locator(".st-key-source_filter input").fill("nothing like it")
    expect(page.get_by_role("button", name="Select all")).to_be_disabled()
    page.locator(".st-key-clear button").click()
    expect(row(page, "Draft.txt")).to_be_visible()


def test_a_name_that_is_cut_can_be_read(page: Page, app: App) -> None:
    name = f"{'A very long name ' * 6}2024.txt"
    app.ready(app.add((name, b"Some text to keep."), ("Short.txt", b"Other text.")))
    for shown, title in ((name, name), ("Short.txt", "")):
        words = row(page, shown).locator("[class*=st-key-name_] p")
        words.hover()
        expect(words).to_have_attribute("title", title)


def test_search_opens_the_line(page: Page, app: App) -> None:
    app.ready(app.add(("Report.pdf", pdf("Cover", "The margin fell by 2.2 points."))))
    page.locator("[data-testid=stPageLink] a").first.click()
    page.locator(".st-key-search_query input").fill("“2.2 points”")
    page.keyboard.press("Enter")
    expect(page.locator("[class*=st-key-hit_] mark")).to_have_text(["2.2 points"])
    page.locator("[class*=st-key-name_hit_] button").first.click()
    expect(page.get_by_alt_text("Page 2 of Report.pdf")).to_be_visible()
    expect(page.locator(".hl.hit")).to_have_count(1)
    assert page.url == app.address


def test_a_foreign_folder_is_explained(tab: Callable[..., Page], tmp_path: Path) -> None:
    from tests.browser.conftest import start

    data = tmp_path / "core"
    data.mkdir()
    (data / "sources.json").write_text("[]", encoding="utf-8")
    process, url = start(data, tmp_path / "log.txt")
    try:
        page = tab()
        show(page, url)
        expect(page.get_by_text("HALO left it untouched.")).to_be_visible()
    finally:
        process.terminate()
        process.wait(timeout=20)
    assert [path.name for path in data.iterdir()] == ["sources.json"]


def test_a_file_over_the_limit_has_a_row_beside_the_others(page: Page, tmp_path: Path) -> None:
    large, named = tmp_path / "large.txt", tmp_path / 'the "one".txt'
    with large.open("wb") as file:
        file.truncate(300_000_000)  # no byte of it is read: the browser refuses it
    named.write_text("Two quarters.")
    open_add(page)
    page.set_input_files(INPUT, [large, named])
    rows = page.locator("[class*=st-key-up_]")
    expect(rows).to_have_count(2)
    expect(rows.filter(has_text="large.txt")).to_contain_text("larger than 200 MB")
    expect(rows.filter(has_text='the "one".txt')).to_have_count(1)
