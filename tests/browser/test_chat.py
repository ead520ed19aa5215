"""The chat in the real screen: an answer is never lost, doubled, frozen out or made to jump."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from services import chat, ingestion, notebooks
from services.models import Answer, Citation, Claim, Message, Quote
from services.storage import history_file, load_chat_history
from services.workspace import Workspace, open_workspace
from tests.browser import conftest
from tests.browser.conftest import App
from tests.modelserver import Reply, model_server, refuse

pytestmark = pytest.mark.browser

TEXT = "# Results\n\nThe operating margin fell to 12.6 % in 2025.\n\nOrders rose by 4 %.\n"
SENTENCE = "The operating margin fell to 12.6 % in 2025."
PATIENCE = 60_000


@pytest.fixture(scope="module")
def slow_server(
    tmp_path_factory: pytest.TempPathFactory, _nothing_from_outside: Path, browser: Browser
) -> Iterator[tuple[str, Path]]:
    """The screen with a model that answers word by word; one process for this module."""
    folder = tmp_path_factory.mktemp("slow")
    with model_server() as model:
        model.script = repeated
        process, url = conftest.start(
            folder / "data",
            folder / "log.txt",
            HALO_MODEL="openai:test-model",
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY="sk-very-secret-0123456789",
        )
        with browser.new_page() as page:  # the first tab starts the worker that reads sources
            conftest.show(page, url)
        yield url, folder / "data"
        process.terminate()
        process.wait(timeout=20)


def repeated(request: dict[str, Any]) -> Reply:
    """One sentence as often as the question says ("40 times"), a word at a time."""
    question = request["messages"][-1]["content"].rpartition("Question: ")[2]
    if "fail" in question:
        return refuse(401, "Incorrect API key provided: sk-very-secret-0123456789")
    times = next((int(word) for word in question.split() if word.isdigit()), 10)
    text = " ".join(f"Point {number}: {SENTENCE} [1]" for number in range(1, times + 1))
    return Reply([f"{word} " for word in text.split(" ")], first=0.3, pause=0.05)


@pytest.fixture
def slow(slow_server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> App:
    """That screen with a notebook of its own, in which one text is ready to be asked about."""
    url, data = slow_server
    monkeypatch.setenv("HALO_DATA_DIR", str(data))
    book = notebooks.create_notebook(f"Test {time.monotonic_ns()}")
    app = App(url, data, open_workspace(book.id))
    app.ready([app.add_text("Results 2025", TEXT)])
    return app


@pytest.fixture
def workspace(slow: App) -> Workspace:
    return slow.workspace


@pytest.fixture
def screen(tab: Callable[..., Page]) -> Page:
    page = tab()
    page.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    return page


def settled(page: Page) -> None:
    page.wait_for_timeout(300)
    page.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


def opened(page: Page, app: App) -> Page:
    page.goto(app.address)
    page.locator(".st-key-ask textarea").wait_for()
    settled(page)
    return page


def field(page: Page) -> Locator:
    return page.locator(".st-key-ask textarea")


def ask(page: Page, question: str) -> None:
    field(page).fill(question)
    field(page).press("Enter")
    page.locator(".q").get_by_text(question, exact=True).wait_for()


def answer(page: Page) -> Locator:
    return page.locator("[class*=st-key-text_] [data-testid=stMarkdownContainer]").last


def stop(page: Page) -> Locator:
    return page.locator(".st-key-stop button")


def stored(workspace: Workspace) -> list[Message]:
    known = chat.list_conversations(workspace)
    return chat.load_messages(workspace, known[0].id) if known else []


def write(workspace: Workspace, messages: list[Message], title: str = "Kept") -> str:
    """A conversation as if it had been held."""
    conversation = chat.new_conversation(workspace, title)
    rows = [message.model_dump(mode="json", exclude_none=True) for message in messages]
    history_file(conversation.id, workspace).update(lambda _: rows)
    return conversation.id


def exchange(workspace: Workspace, question: str, **answered: Any) -> list[Message]:
    """A question and its answer from the notebook's one source."""
    source = ingestion.list_sources(workspace)[0].source
    asked = Message(role="user", content=question)
    answered.setdefault("content", "The operating margin fell to 12.6 % in 2025. [1]")
    if "answer" not in answered and answered.get("state", "done") == "done":
        sentence = "The operating margin fell to 12.6 % in 2025."
        cited = Citation(
            number=1,
            source_id=source.id,
            source_name=source.name,
            revision=source.revision or "",
            chunk_id="c1",
            quote=sentence,
            start=TEXT.index(sentence) - 2,
            support="supported",
        )
        claim = Claim(text=sentence, citations=[1], support="supported")
        answered["answer"] = Answer(
            text=answered["content"],
            grounded=True,
            answered_by=answered.pop("answered_by", "openai:test-model"),
            citations=[cited],
            claims=[claim],
        )
    reply = Message(role="assistant", reply_to=asked.id, scope=[source.id], **answered)
    return [asked, reply]


# -- the ten things that make a chat feel bad: the first seven ------------------------------------


def test_a_press_elsewhere_does_not_lose_the_answer(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    page = opened(screen, slow)
    ask(page, "Say it 6 times")
    stop(page).wait_for()
    page.locator(".st-key-note_new button").click()
    page.locator(".st-key-note_editor").wait_for()
    expect(answer(page)).to_contain_text("Point 6:")
    expect(stop(page)).to_have_count(0)
    assert stored(workspace)[-1].state == "done"
    assert stored(workspace)[-1].content.count("[1]") == 6


def test_a_reload_and_a_second_tab_see_the_same_answer(slow: App, screen: Page) -> None:
    page = opened(screen, slow)
    ask(page, "Say it 20 times")
    expect(answer(page)).to_contain_text("Point 2:")
    page.reload()
    expect(answer(page)).to_contain_text("Point 4:")
    second = page.context.new_page()
    second.goto(slow.address)
    expect(answer(second)).to_contain_text("Point 5:")
    for tab in (page, second):
        expect(answer(tab)).to_contain_text("Point 20:")
        expect(tab.locator(".q")).to_have_count(1)
        expect(answer(tab).locator("a[href^='#cite-']")).to_have_count(20)


def test_a_question_cannot_be_sent_twice(slow: App, screen: Page, workspace: Workspace) -> None:
    page = opened(screen, slow)
    field(page).fill("Say it 12 times")
    field(page).press("Enter")
    field(page).press("Enter")
    page.keyboard.press("Enter")
    stop(page).wait_for()
    field(page).fill("Say it 12 times")
    field(page).press("Enter")
    expect(answer(page)).to_contain_text("Point 12:")
    settled(page)
    assert [message.role for message in stored(workspace)] == ["user", "assistant"]


def test_stop_keeps_the_text_and_ends_the_work(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    page = opened(screen, slow)
    ask(page, "Say it 40 times")
    expect(answer(page)).to_contain_text("Point 3:")
    stop(page).click()
    page.get_by_text("Stopped. Text kept.").wait_for()
    kept = stored(workspace)[-1]
    assert kept.state == "stopped"
    assert "Point 3:" in kept.content
    page.wait_for_timeout(1000)
    assert stored(workspace)[-1].content == kept.content
    expect(answer(page)).to_contain_text("Point 3:")
    page.reload()
    expect(answer(page)).to_contain_text("Point 3:")
    page.get_by_role("button", name="Try again").click()
    stop(page).wait_for()
    expect(page.locator(".q")).to_have_count(1)


def test_other_controls_work_while_an_answer_is_written(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    page = opened(screen, slow)
    ask(page, "Say it 90 times")
    stop(page).wait_for()
    started = time.monotonic()
    page.locator(".st-key-note_new button").click()
    page.locator(".st-key-note_editor").wait_for()
    took = time.monotonic() - started
    expect(stop(page)).to_be_visible()
    assert took < 15, "a loaded test machine, but not a frozen screen"


def resting(page: Page, log: Locator) -> float:
    """Where the log stands when it has stopped moving."""
    place, before = -1.0, -2.0
    while place != before:
        page.wait_for_timeout(400)
        place, before = float(log.evaluate("log => log.scrollTop")), place
    return place


def test_reading_further_up_is_not_disturbed(slow: App, screen: Page, workspace: Workspace) -> None:
    write(workspace, [m for n in range(8) for m in exchange(workspace, f"Earlier {n}")])
    page = opened(screen, slow)
    ask(page, "Say it 12 times")
    expect(answer(page)).to_contain_text("Point 2:")
    log = page.locator(".st-key-pb_chat")
    box = log.bounding_box()
    assert box
    page.mouse.move(box["x"] + 200, box["y"] + 200)
    page.mouse.wheel(0, -4000)
    place = resting(page, log)
    expect(answer(page)).to_contain_text("Point 12:")
    settled(page)
    assert abs(log.evaluate("log => log.scrollTop") - place) < 4


def test_the_stream_is_followed_by_a_reader_at_the_end(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    write(workspace, [m for n in range(4) for m in exchange(workspace, f"Earlier {n}")])
    page = opened(screen, slow)
    ask(page, "Say it 24 times")
    expect(answer(page)).to_contain_text("Point 24:")
    settled(page)
    log = page.locator(".st-key-pb_chat")
    resting(page, log)
    left = log.evaluate("log => log.scrollHeight - log.clientHeight - log.scrollTop")
    assert left < 80


def test_a_draft_survives_the_end_of_an_answer(slow: App, screen: Page) -> None:
    page = opened(screen, slow)
    ask(page, "Say it 8 times")
    field(page).fill("A draft")
    field(page).press("Enter")
    expect(field(page)).to_have_value("A draft")
    expect(answer(page)).to_contain_text("Point 8:")
    expect(stop(page)).to_have_count(0)
    settled(page)
    expect(field(page)).to_have_value("A draft")
    expect(page.locator(".q")).to_have_count(1)


def test_nothing_flickers_while_an_answer_is_written(slow: App, screen: Page) -> None:
    page = opened(screen, slow)
    ask(page, "Say it 6 times")
    expect(answer(page)).to_contain_text("Point 1:")
    page.evaluate(
        """() => {
          window.seen = []
          const look = () => {
            const texts = document.querySelectorAll("[class*=st-key-text_]")
            const last = texts[texts.length - 1]
            const chips = last ? last.querySelectorAll("a").length : 0
            window.seen.push([
              document.querySelectorAll(".q").length,
              last ? last.innerText.replace(/\\s*\\d+\\s*$/, "").length - 3 * chips : 0,
            ])
            window.looking = requestAnimationFrame(look)
          }
          look()
        }"""
    )
    expect(answer(page).locator("a[href^='#cite-']")).to_have_count(6)
    settled(page)
    seen = page.evaluate("() => { cancelAnimationFrame(window.looking); return window.seen }")
    assert len(seen) > 20
    assert {questions for questions, _ in seen} == {1}
    lengths = [length for _, length in seen]
    drops = [later - earlier for earlier, later in itertools.pairwise(lengths)]
    assert min(drops) > -60, "the text never vanishes or shrinks, not even for one frame"


# -- states ---------------------------------------------------------------------------------------


def test_a_failure_says_why_and_can_be_tried_again(slow: App, screen: Page) -> None:
    page = opened(screen, slow)
    ask(page, "Please fail")
    page.get_by_text("refused the key").wait_for()
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("Answer 2 of 2").wait_for()
    page.get_by_text("refused the key").wait_for()
    expect(page.locator(".q")).to_have_count(1)


def test_what_the_model_cannot_answer_the_sources_can(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    page = opened(screen, slow)
    ask(page, "How far did the operating margin fail or fall in 2025?")
    page.get_by_text("refused the key").wait_for()
    page.get_by_role("button", name="Answer from the sources, without the model").click()
    expect(answer(page)).to_contain_text("fell to 12.6 % in 2025")
    assert [m.state for m in stored(workspace)] == ["done", "failed", "done"]


def test_a_question_is_edited_and_its_earlier_version_stays(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    page = opened(screen, slow)
    ask(page, "Say it 1 times")
    expect(answer(page)).to_contain_text("Point 1:")
    page.get_by_role("button", name="Edit question").click()
    page.get_by_text("Sending replaces the last question").wait_for()
    expect(field(page)).to_have_value("Say it 1 times")
    ask(page, "Say it 2 times")
    expect(answer(page)).to_contain_text("Point 2:")
    settled(page)
    expect(page.locator(".q")).to_have_text("Say it 2 times")
    page.locator("[class*=st-key-menu_a_] button").last.click()
    page.get_by_role("menuitem", name=re.compile("Show earlier answer")).click()
    expect(page.locator(".q")).to_have_text("Say it 1 times")
    assert [m.role for m in stored(workspace)] == ["user", "assistant"] * 2


def test_an_answer_whose_process_died_is_interrupted(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    write(workspace, exchange(workspace, "What now?", state="running", content="Half an ans"))
    page = opened(screen, slow)
    expect(answer(page)).to_have_text("Half an ans")
    page.get_by_text("Interrupted. Text kept.").wait_for()


def test_not_found_lists_what_was_looked_at(slow: App, screen: Page, workspace: Workspace) -> None:
    source = ingestion.list_sources(workspace)[0].source
    looked = Quote(
        source_id=source.id,
        source_name=source.name,
        revision=source.revision or "",
        chunk_id="c1",
        quote="Orders rose by 4 %.",
        start=TEXT.index("Orders"),
    )
    nothing = Answer(text="Not in your sources.", grounded=False, looked_at=[looked])
    write(workspace, exchange(workspace, "Penguins?", content=nothing.text, answer=nothing))
    page = opened(screen, slow)
    page.get_by_text("HALO looked at:").wait_for()
    page.locator("a[href*='-L1']").click()
    page.locator("mark, .hl").first.wait_for()
    expect(page.locator("mark, .hl").first).to_contain_text("Orders rose by 4")


# -- citations ------------------------------------------------------------------------------------


def test_each_chip_opens_its_own_passage_before_and_after_a_reload(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    messages = exchange(
        workspace, "Two facts?", content="The margin fell. [1] Orders rose by 4 %. [2]"
    )
    answered = messages[1].answer
    assert answered
    second = answered.citations[0].model_copy(
        update={"number": 2, "quote": "Orders rose by 4 %.", "start": TEXT.index("Orders") - 2}
    )
    answered.citations.append(second)
    write(workspace, messages)
    page = opened(screen, slow)
    for _ in range(2):
        chips = answer(page).locator("a[href^='#cite-']")
        expect(chips).to_have_count(2)
        for chip, passage in ((1, "Orders rose by 4"), (0, "The operating margin fell")):
            chips.nth(chip).click()
            expect(page.locator("mark, .hl").first).to_contain_text(passage)
        page.reload()
        settled(page)
    assert "#" not in page.url


def test_pointing_at_a_chip_shows_the_quote(slow: App, screen: Page, workspace: Workspace) -> None:
    write(workspace, exchange(workspace, "The margin?"))
    page = opened(screen, slow)
    answer(page).locator("a[href^='#cite-']").hover()
    card = page.locator("#halo-card")
    expect(card).to_be_visible()
    expect(card).to_contain_text("The operating margin fell to 12.6 % in 2025.")
    page.keyboard.press("Escape")
    expect(card).to_be_hidden()


def test_the_claims_line_opens_the_claims(slow: App, screen: Page, workspace: Workspace) -> None:
    write(workspace, exchange(workspace, "The margin?"))
    page = opened(screen, slow)
    line = page.locator("[class*=st-key-claims_] summary")
    expect(line).to_contain_text("1 claim · 1 supported")
    line.click()
    expect(page.locator("[class*=st-key-claims_] li")).to_contain_text("Supported.")


def test_words_of_the_sources_themselves_need_no_claims_line(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    write(workspace, exchange(workspace, "The margin?", answered_by="extractive"))
    page = opened(screen, slow)
    expect(answer(page)).to_contain_text("12.6 %")
    expect(page.locator("[class*=st-key-claims_]")).to_have_count(0)


def test_a_copy_takes_the_sources_along(slow: App, screen: Page, workspace: Workspace) -> None:
    screen.context.grant_permissions(["clipboard-read", "clipboard-write"])
    write(workspace, exchange(workspace, "The margin?"))
    page = opened(screen, slow)
    page.get_by_role("button", name="Copy").click()
    page.get_by_text("Copied with its sources").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert "fell to 12.6 % in 2025. [1]" in copied
    assert "[1] Results 2025" in copied


# -- conversations --------------------------------------------------------------------------------


def menu(page: Page, key: str, option: str) -> None:
    page.locator(f".st-key-{key} button").first.click()
    page.get_by_role("menuitem", name=re.compile(option)).first.click()


def test_conversations_are_begun_reopened_renamed_deleted_and_brought_back(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    write(workspace, exchange(workspace, "The older one?"), "Older")
    write(workspace, exchange(workspace, "The newer one?"), "Newer")
    page = opened(screen, slow)
    page.locator(".q").get_by_text("The newer one?").wait_for()
    menu(page, "conversations", "Older")
    page.locator(".q").get_by_text("The older one?").wait_for()
    menu(page, "menu_chat", "Rename")
    page.get_by_role("dialog").get_by_role("textbox").fill("Renamed")
    page.get_by_role("dialog").get_by_role("textbox").press("Enter")
    expect(page.locator(".st-key-conversations")).to_contain_text("Renamed")
    menu(page, "menu_chat", "Delete")
    page.locator(".q").get_by_text("The newer one?").wait_for()
    page.get_by_role("button", name="Undo").click()
    settled(page)
    assert {c.title for c in chat.list_conversations(workspace)} == {"Renamed", "Newer"}
    page.locator(".st-key-chat_new button:visible").click()
    expect(page.locator(".q")).to_have_count(0)
    ask(page, "Say it 1 times")
    expect(answer(page)).to_contain_text("Point 1:")
    assert len(chat.list_conversations(workspace)) == 3


def test_a_conversation_is_exported_as_markdown(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    write(workspace, exchange(workspace, "The margin?"), "My talk")
    page = opened(screen, slow)
    with page.expect_download() as download:
        menu(page, "menu_chat", "Export")
    assert download.value.suggested_filename == "My talk.md"
    assert "## The margin?" in Path(download.value.path()).read_text(encoding="utf-8")


def test_a_long_conversation_stays_light(slow: App, screen: Page, workspace: Workspace) -> None:
    write(workspace, [m for n in range(100) for m in exchange(workspace, f"Question {n}")])
    page = opened(screen, slow)
    expect(page.locator(".q")).to_have_count(8)
    assert page.locator(".stMain *").count() <= 1500
    page.locator(".st-key-earlier button").click()
    expect(page.locator(".q")).to_have_count(16)


# -- safety ---------------------------------------------------------------------------------------


def test_text_of_a_source_and_a_question_is_inert(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    evil = (
        "![x](http://evil.example/a.png) <img src=http://evil.example/b.png onerror=alert(1)>\n\n"
        "```mermaid\ngraph TD\n A@{ img: 'http://evil.example/c.png' }\n```\n\n"
        "1. a\n   ```\n![x](http://evil.example/d.png)\n```\n\n![x](http://evil.example/e.png)\n\n"
        "$a$ :red[b] :material/home: [1]"
    )
    write(workspace, exchange(workspace, "<img src=http://evil.example/q.png>", content=evil))
    page = opened(screen, slow)
    expect(page.locator(".q")).to_have_text("<img src=http://evil.example/q.png>")
    expect(answer(page)).to_contain_text(":red[b]")
    page.wait_for_timeout(500)  # a request that leaves this computer fails the test
    assert page.locator(".st-key-log :is(img, script, .katex)").count() == 0


def test_the_history_on_disk_is_what_was_shown(
    slow: App, screen: Page, workspace: Workspace
) -> None:
    page = opened(screen, slow)
    ask(page, "Say it 2 times")
    expect(answer(page).locator("a[href^='#cite-']")).to_have_count(2)
    rows = load_chat_history(chat.list_conversations(workspace)[0].id, workspace)
    assert [row["role"] for row in rows] == ["user", "assistant"]
    assert rows[1]["answer"]["citations"][0]["quote"].startswith("The operating margin")
