"""Questions and answers are on disk before they are drawn, and nobody loses anybody's."""

import threading
import time
from pathlib import Path

import pytest

from services import chat
from services.embeddings.hashed import HashEmbedder
from services.errors import (
    DamagedFileError,
    EmptyQuestionError,
    NotFoundError,
    UserInputError,
)
from services.ingestion import delete_sources
from services.models import Message
from services.storage import history_file
from services.workspace import Workspace

from .conftest import Library

WELLS = "# Wells\n\nWell ZX-4417-B gave 63.8 mg/l nitrate in March 2024.\n"
QUESTION = "How much nitrate did well ZX-4417-B give?"


def settled(workspace: Workspace, conversation: str, message_id: str) -> Message:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        messages = {m.id: m for m in chat.load_messages(workspace, conversation)}
        if messages[message_id].state != "running":
            return messages[message_id]
        time.sleep(0.01)
    raise AssertionError("the turn did not end")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """An embedder whose queries wait, like a slow server's, until the event is set."""
    go = threading.Event()
    real = HashEmbedder.embed_query

    def wait(self: HashEmbedder, text: str) -> object:
        go.wait(20)
        return real(self, text)

    monkeypatch.setattr(HashEmbedder, "embed_query", wait)
    return go


def test_an_answer_is_stored_with_its_citations(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    answer = settled(w, talk.id, chat.ask(w, talk.id, QUESTION))
    assert answer.state == "done"
    assert answer.answer
    assert answer.answer.grounded
    assert "63.8" in answer.content
    (citation,) = answer.answer.citations
    assert citation.quote in WELLS
    assert citation.support == "supported"
    again = chat.load_messages(w, talk.id)
    assert again == chat.load_messages(w, talk.id)
    assert [m.role for m in again] == ["user", "assistant"]
    (listed,) = chat.list_conversations(w)
    assert (listed.title, listed.messages) == (QUESTION, 2)


def test_the_question_is_on_disk_before_it_is_answered(
    library: Library, slow: threading.Event
) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    running = chat.ask(w, talk.id, QUESTION)
    assert [m.content for m in chat.load_messages(w, talk.id)] == [QUESTION, ""]
    assert chat.load_messages(w, talk.id)[1].state == "running"
    view = chat.running_turn(w, talk.id)
    assert view
    assert view.message_id == running
    slow.set()
    assert settled(w, talk.id, running).state == "done"
    assert chat.running_turn(w, talk.id) is None


def test_the_same_question_twice_at_once_is_one_turn(
    library: Library, slow: threading.Event
) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    first = chat.ask(w, talk.id, QUESTION)
    assert chat.ask(w, talk.id, f" {QUESTION} ") == first
    slow.set()
    settled(w, talk.id, first)
    assert len(chat.load_messages(w, talk.id)) == 2
    assert chat.ask(w, talk.id, QUESTION) != first, "later it is a new question"


def test_stop_ends_the_turn_at_once_and_for_good(library: Library, slow: threading.Event) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    running = chat.ask(w, talk.id, QUESTION)
    chat.stop(w, running)
    assert settled(w, talk.id, running).state == "stopped"
    slow.set()
    time.sleep(0.3)
    assert settled(w, talk.id, running).state == "stopped"


def test_two_writers_in_one_conversation_keep_both_in_order(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    ids: list[str] = []
    threads = [
        threading.Thread(target=lambda n=n: ids.append(chat.ask(w, talk.id, f"Question {n}?")))
        for n in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for key in ids:
        settled(w, talk.id, key)
    messages = chat.load_messages(w, talk.id)
    assert len(messages) == 12
    for asked, answer in zip(messages[::2], messages[1::2], strict=True):
        assert (asked.role, answer.role, answer.reply_to) == ("user", "assistant", asked.id)


def test_a_turn_whose_process_died_is_interrupted(workspace: Workspace) -> None:
    talk = chat.new_conversation(workspace)
    rows = [
        {"role": "user", "content": "q", "id": "1" * 32},
        {"role": "assistant", "content": "half", "id": "2" * 32, "state": "running"},
    ]
    history_file(talk.id, workspace).update(lambda _: rows)
    message = chat.load_messages(workspace, talk.id)[1]
    assert (message.state, message.content) == ("interrupted", "half")


def test_without_sources_the_answer_says_so(workspace: Workspace) -> None:
    talk = chat.new_conversation(workspace)
    message = settled(workspace, talk.id, chat.ask(workspace, talk.id, "Anything?"))
    assert message.state == "failed"
    assert (message.error or {})["code"] == "no_sources"


def test_not_in_the_sources_is_said_and_shows_what_was_looked_at(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    answer = chat.answer_question(w, "Who won the 1987 chess championship of Peru?")
    assert not answer.grounded
    assert answer.citations == []


def test_an_empty_question_is_refused(workspace: Workspace) -> None:
    talk = chat.new_conversation(workspace)
    with pytest.raises(EmptyQuestionError):
        chat.ask(workspace, talk.id, " \n ")
    assert chat.load_messages(workspace, talk.id) == []


def test_citations_keep_their_quote_after_the_source_is_deleted(library: Library) -> None:
    (source,) = library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    before = settled(w, talk.id, chat.ask(w, talk.id, QUESTION))
    delete_sources(w, [source.id])
    assert chat.load_messages(w, talk.id)[1] == before


def test_regenerating_keeps_the_old_answer(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    first = settled(w, talk.id, chat.ask(w, talk.id, QUESTION))
    second = settled(w, talk.id, chat.regenerate(w, talk.id, first.id))
    messages = chat.load_messages(w, talk.id)
    assert [m.id for m in messages[1:]] == [first.id, second.id]
    assert second.content == first.content


def test_conversations_are_renamed_deleted_and_brought_back(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    settled(w, talk.id, chat.ask(w, talk.id, QUESTION))
    chat.rename_conversation(w, talk.id, "  Nitrate   north ")
    assert [c.title for c in chat.list_conversations(w)] == ["Nitrate north"]
    before = chat.load_messages(w, talk.id)
    entry = chat.delete_conversation(w, talk.id)
    assert chat.list_conversations(w) == []
    assert chat.load_messages(w, talk.id) == []
    assert chat.restore_conversation(w, entry) == talk.id
    assert chat.load_messages(w, talk.id) == before
    assert [c.title for c in chat.list_conversations(w)] == ["Nitrate north"]


def test_deleting_while_answering_leaves_nothing_behind(
    library: Library, slow: threading.Event
) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    chat.ask(w, talk.id, QUESTION)
    chat.delete_conversation(w, talk.id)
    slow.set()
    time.sleep(0.3)
    assert chat.list_conversations(w) == []
    assert list(w.chats.iterdir()) == []


@pytest.mark.parametrize("bad", ["../x", "x" * 32, "", "A" * 32])
def test_a_conversation_is_never_a_path(workspace: Workspace, bad: str) -> None:
    with pytest.raises(NotFoundError):
        chat.load_messages(workspace, bad)


def test_a_history_of_the_reference_system_is_read(workspace: Workspace) -> None:
    rows = [
        {"role": "assistant", "content": "Welcome", "tool_calls": None},
        {"role": "user", "content": "q", "images": [], "tool_calls": None, "x": 1},
        "not a message",
    ]
    history_file("d" * 32, workspace).update(lambda _: rows)
    messages = chat.load_messages(workspace, "d" * 32)
    assert [m.content for m in messages] == ["Welcome", "q"]
    assert len({m.id for m in messages}) == 2


def test_an_export_writes_every_message_and_its_citations_out(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    settled(w, talk.id, chat.ask(w, talk.id, QUESTION))
    exported = chat.export_conversation(w, talk.id).decode()
    assert exported.count(QUESTION) == 2, "as title and as question"
    assert "[^1]: wells.md: “Well ZX-4417-B gave 63.8 mg/l nitrate" in exported


def damage(path: Path) -> None:
    """Break a file and all its copies."""
    for copy in path.parent.glob(f"{path.name}*"):
        copy.unlink()
        copy.write_bytes(b"\x00{ broken")


def test_one_damaged_conversation_leaves_the_others(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    good, bad = chat.new_conversation(w), chat.new_conversation(w, "Broken")
    for talk in (good, bad):
        settled(w, talk.id, chat.ask(w, talk.id, QUESTION))
    damage(w.chats / f"{bad.id}.json")
    listed = {c.id: c for c in chat.list_conversations(w)}
    assert (listed[good.id].damaged, listed[good.id].messages) == (False, 2)
    assert (listed[bad.id].damaged, listed[bad.id].title) == (True, "Broken")
    with pytest.raises(DamagedFileError):
        chat.load_messages(w, bad.id)
    kept = list(w.quarantine.iterdir())
    assert len(chat.load_messages(w, good.id)) == 2
    chat.list_conversations(w)
    assert list(w.quarantine.iterdir()) == kept  # it is not copied aside at each look
    chat.delete_conversation(w, bad.id)
    assert [c.id for c in chat.list_conversations(w)] == [good.id]


def test_messages_of_another_shape_are_a_sentence(workspace: Workspace) -> None:
    talk = chat.new_conversation(workspace)
    path = workspace.chats / f"{talk.id}.json"
    path.write_text('[{"role": "user"}, 7]', encoding="utf-8")
    assert len(chat.list_conversations(workspace)) == 1
    with pytest.raises(DamagedFileError, match="cannot read"):
        chat.load_messages(workspace, talk.id)


def test_damaged_titles_are_begun_afresh(workspace: Workspace) -> None:
    talk = chat.new_conversation(workspace, "Named")
    history_file(talk.id, workspace).update(
        lambda _: [Message(role="user", content=QUESTION).model_dump(mode="json")]
    )
    damage(workspace.root / "conversations.json")
    assert [c.title for c in chat.list_conversations(workspace)] == [QUESTION]
    chat.rename_conversation(workspace, talk.id, "Again")
    assert [c.title for c in chat.list_conversations(workspace)] == ["Again"]


def test_a_long_question_is_kept_whole(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    talk = chat.new_conversation(w)
    long = f"{QUESTION} {'well ' * 9_000}".strip()
    settled(w, talk.id, chat.ask(w, talk.id, long))
    assert chat.load_messages(w, talk.id)[0].content == long
    with pytest.raises(UserInputError, match="50,000"):
        chat.ask(w, talk.id, "x" * 50_001)
