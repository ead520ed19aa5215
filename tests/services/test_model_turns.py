"""Turns that a model answers: real clients, real HTTP, a server that follows a script."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from services import chat
from services.conversations import text_file
from services.ingestion import delete_sources, rename_source
from services.models import Message
from services.storage import history_file
from services.turns import earlier_turns
from tests.modelserver import ModelServer, Reply, refuse, say

from .conftest import Library
from .test_chat import settled

WELLS = (
    "# Wells\n\nWell ZX-4417-B gave 63.8 mg/l nitrate in March 2024. The limit of 50 mg/l was "
    "exceeded.\n\n# Rain\n\nRain fell on 12 days in March 2024.\n"
)
QUESTION = "How much nitrate did well ZX-4417-B give?"
GOOD = "Well ZX-4417-B gave 63.8 mg/l nitrate in March 2024 [1]."


def asked(library: Library, question: str = QUESTION) -> Message:
    talk = chat.new_conversation(library.workspace)
    message_id = chat.ask(library.workspace, talk.id, question)
    return settled(library.workspace, talk.id, message_id)


@pytest.fixture
def wells(library: Library) -> Library:
    library.add(wells=WELLS)
    return library


def test_an_answer_is_streamed_checked_and_stored(wells: Library, model: ModelServer) -> None:
    model.script = lambda _: say(GOOD)
    message = asked(wells)
    assert message.state == "done"
    answer = message.answer
    assert answer
    assert message.content == answer.text == GOOD
    assert (answer.grounded, answer.answered_by) == (True, "openai:test-model")
    (citation,) = answer.citations
    assert "63.8 mg/l" in citation.quote
    assert citation.quote in WELLS
    assert citation.support == "supported"
    assert [(c.citations, c.support) for c in answer.claims] == [([1], "supported")]
    record = answer.record
    assert record
    assert (record.tokens_in, record.tokens_out, record.finish) == (11, 7, "stop")
    assert record.seconds.keys() == {"prepared", "first", "written", "checked"}
    assert [p.source_name for p in record.passages] == ["wells.md"]
    stored = (wells.workspace.chats / f"{_only(wells)}.json").read_text("utf-8")
    assert "sk-very" not in stored
    assert model.keys[-1] == "Bearer sk-very-secret-0123456789"


def _only(library: Library) -> str:
    (talk,) = chat.list_conversations(library.workspace)
    return talk.id


def test_the_request_holds_fenced_numbered_passages_and_the_question(
    wells: Library, model: ModelServer
) -> None:
    model.script = lambda _: say(GOOD)
    asked(wells)
    (request,) = model.asked
    assert request["model"] == "test-model"
    assert request["stream"] is True
    system, user = request["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert user["content"].endswith(f"Question: {QUESTION}")
    assert "passage 1: wells.md" in user["content"]
    assert "63.8 mg/l nitrate" in user["content"]


def test_only_passages_of_this_turn_are_cited_in_one_form(
    wells: Library, model: ModelServer
) -> None:
    model.script = lambda _: say(
        "Well ZX-4417-B gave 63.8 mg/l nitrate 【1】 [77]. The limit was exceeded (source 1)."
    )
    answer = asked(wells).answer
    assert answer
    assert "77" not in answer.text
    assert "【" not in answer.text
    assert [claim.support for claim in answer.claims] == ["supported", "supported"]
    assert {n for claim in answer.claims for n in claim.citations} == {
        citation.number for citation in answer.citations
    }


def test_a_wrong_figure_is_marked_and_a_missing_marker_is_found(
    wells: Library, model: ModelServer
) -> None:
    model.script = lambda _: say(
        "Well ZX-4417-B gave 68.3 mg/l nitrate in March 2024 [1]. "
        "Rain fell on 12 days in March 2024."
    )
    answer = asked(wells).answer
    assert answer
    wrong, right = answer.claims
    assert wrong.support in ("partly", "unsupported")
    assert (right.support, len(right.citations)) == ("supported", 1)
    assert answer.text.count("[") == 2


def test_not_in_the_sources_is_no_claim_and_lists_what_was_looked_at(
    wells: Library, model: ModelServer
) -> None:
    model.script = lambda _: say("Not in your sources. They only tell of wells and rain.")
    answer = asked(wells, "Who is the mayor?").answer
    assert answer
    assert not answer.grounded
    assert (answer.citations, answer.claims) == ([], [])
    assert answer.looked_at


def test_stop_closes_the_stream_and_keeps_the_text(wells: Library, model: ModelServer) -> None:
    model.script = lambda _: say(f"{GOOD} " * 60, pause=0.05)
    w = wells.workspace
    talk = chat.new_conversation(w)
    running = chat.ask(w, talk.id, QUESTION)
    while not (now := chat.turn(w, running)) or "2024 [1]" not in now.text:
        time.sleep(0.02)
    chat.stop(w, running)
    message = settled(w, talk.id, running)
    assert message.state == "stopped"
    assert message.content.startswith(GOOD)
    assert message.answer and message.answer.citations
    deadline = time.monotonic() + 10
    while not model.cut_off and time.monotonic() < deadline:
        time.sleep(0.02)
    assert model.cut_off == 1, "the provider's stream is closed"
    sent = model.sent
    time.sleep(0.3)
    assert model.sent == sent, "no word is made after stop"


def test_a_second_tab_sees_the_same_text(wells: Library, model: ModelServer) -> None:
    model.script = lambda _: say(f"{GOOD} " * 5, pause=0.02)
    w = wells.workspace
    talk = chat.new_conversation(w)
    running = chat.ask(w, talk.id, QUESTION)
    seen: list[str] = []
    while (now := chat.running_turn(w, talk.id)) is not None:
        seen.append(now.text)
        time.sleep(0.02)
    message = settled(w, talk.id, running)
    assert all(message.content.startswith(text.rstrip()) for text in seen)
    assert len(set(seen)) > 3
    end = time.monotonic() + 20
    while text_file(w, running).exists():  # it goes a moment after the message is stored
        assert time.monotonic() < end
        time.sleep(0.02)


def test_thoughts_are_not_shown(wells: Library, model: ModelServer) -> None:
    model.script = lambda _: say(f"<think>Hm, passage [1] tells.</think>\n\n{GOOD}")
    assert asked(wells).content == GOOD


def test_earlier_turns_go_along_without_their_markers(wells: Library, model: ModelServer) -> None:
    model.script = lambda _: say(GOOD)
    w = wells.workspace
    talk = chat.new_conversation(w)
    first = settled(w, talk.id, chat.ask(w, talk.id, QUESTION))
    again = settled(w, talk.id, chat.regenerate(w, talk.id, first.id))
    assert len(model.asked[1]["messages"]) == 2, "a question is not its own earlier turn"
    settled(w, talk.id, chat.ask(w, talk.id, "And the limit?"))
    system, question, answer, _ = model.asked[2]["messages"]
    assert (system["role"], question["content"]) == ("system", QUESTION)
    assert answer["content"] == GOOD.replace(" [1]", "")
    assert [m.id for m in chat.load_messages(w, talk.id)[1:3]] == [first.id, again.id]


def test_an_edited_question_leaves_the_old_version(wells: Library, model: ModelServer) -> None:
    model.script = lambda _: say(GOOD)
    w = wells.workspace
    talk = chat.new_conversation(w)
    settled(w, talk.id, chat.ask(w, talk.id, "How mcuh nitrate?"))
    old = chat.load_messages(w, talk.id)[0]
    settled(w, talk.id, chat.ask(w, talk.id, QUESTION, replaces=old.id))
    messages = chat.load_messages(w, talk.id)
    assert [m.content for m in messages if m.role == "user"] == ["How mcuh nitrate?", QUESTION]
    assert messages[2].replaces == old.id
    assert len(model.asked[1]["messages"]) == 2, "the replaced version is no earlier turn"
    assert [turn.question for turn in earlier_turns(messages, None)] == [QUESTION]


def test_without_a_model_on_request(wells: Library, model: ModelServer) -> None:
    model.script = lambda _: refuse(401, "bad key")
    w = wells.workspace
    talk = chat.new_conversation(w)
    failed = settled(w, talk.id, chat.ask(w, talk.id, QUESTION))
    assert (failed.error or {})["code"] == "model_key"
    local = settled(w, talk.id, chat.regenerate(w, talk.id, failed.id, without_model=True))
    assert local.answer and local.answer.answered_by == "extractive"
    assert "63.8" in local.content


def test_none_means_no_model(
    wells: Library, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_MODEL", "none")
    answer = asked(wells).answer
    assert answer and answer.answered_by == "extractive"
    assert model.asked == []


# --- failures ---------------------------------------------------------------------------------


FAILURES: list[tuple[str, Reply]] = [
    ("model_key", refuse(401, "Incorrect API key provided: sk-very-secret-0123456789")),
    ("model_unknown", refuse(404, "no such model")),
    ("model_quota", refuse(429, "no credit", "insufficient_quota")),
    ("model_wait", refuse(429, "slow down", retry_after="3600")),
    ("model_server", refuse(500, "out of memory")),
    ("model_refused", refuse(400, "temperature is not supported")),
    ("model_redirect", refuse(307, location="https://elsewhere.example/v1/chat/completions")),
    ("model_broken", say("", ending="cut", finish="")),
    ("model_answer", Reply(ending="quiet")),
    ("model_answer", Reply(body=b"<html>hello</html>")),
    ("model_answer", Reply(ending="garbage")),
    ("model_broken", Reply(ending="error")),
    ("model_empty", say("")),
    ("model_empty", say("<think>I do not know</think>")),
]


@pytest.mark.parametrize(
    ("code", "reply"), FAILURES, ids=[f"{c}-{n}" for n, (c, _) in enumerate(FAILURES)]
)
def test_each_failure_is_a_sentence_of_its_own(
    wells: Library, model: ModelServer, code: str, reply: Reply, capfd: pytest.CaptureFixture[str]
) -> None:
    model.script = lambda _: reply
    message = asked(wells)
    assert message.state == "failed"
    error = message.error or {}
    if code != "model_broken" or reply.ending != "cut":
        assert error["code"] == code
    assert error["message"].endswith(".")
    assert "sk-very" not in json.dumps(error)
    out, err = capfd.readouterr()
    assert "sk-very" not in out + err
    assert out == ""


@pytest.mark.parametrize("ending", ["cut", "quiet", "garbage", "error"])
def test_an_answer_that_breaks_off_keeps_its_text(
    wells: Library, model: ModelServer, ending: str
) -> None:
    model.script = lambda _: say(f"{GOOD} And then", ending=ending)
    message = asked(wells)
    assert (message.state, (message.error or {})["code"]) == ("failed", "model_broken")
    assert message.content == f"{GOOD} And then"
    assert message.answer and message.answer.citations


def test_a_busy_server_is_waited_for(wells: Library, model: ModelServer) -> None:
    model.in_turn(refuse(429, "slow down", retry_after="1"), say(GOOD))
    w = wells.workspace
    talk = chat.new_conversation(w)
    running = chat.ask(w, talk.id, QUESTION)
    seen = set()
    while (now := chat.running_turn(w, talk.id)) is not None:
        seen.add((now.stage, now.wait))
        time.sleep(0.02)
    assert ("waiting", 1) in seen
    assert settled(w, talk.id, running).content == GOOD


def test_a_fault_of_the_server_is_tried_once_more(wells: Library, model: ModelServer) -> None:
    model.in_turn(refuse(503, "loading the model"), say(GOOD))
    assert asked(wells).content == GOOD


def test_a_silent_and_a_slow_model(
    wells: Library, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_MODEL_FIRST_SECONDS", "1")
    model.script = lambda _: say(GOOD, first=3)
    assert (asked(wells).error or {})["code"] == "model_first_timeout"
    model.script = lambda _: Reply([GOOD, " And", " so on"], pause=3)
    stalled = asked(wells, "And then?")
    assert (stalled.error or {})["code"] == "model_stalled"
    assert stalled.content == GOOD
    monkeypatch.setenv("HALO_MODEL_FIRST_SECONDS", "60")
    monkeypatch.setenv("HALO_MODEL_TOTAL_SECONDS", "1")
    model.script = lambda _: say(GOOD * 20, pause=0.1)
    assert (asked(wells, "And at last?").error or {})["code"] == "model_total_timeout"


def test_nobody_at_the_address(
    wells: Library, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    assert (asked(wells).error or {})["code"] == "model_unreachable"


def test_a_proxy_of_the_house_is_not_asked_for_a_server_in_it(
    wells: Library, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    model.script = lambda _: say(GOOD)
    assert asked(wells).content == GOOD


def test_a_prompt_that_is_too_long_is_sent_again_with_less(
    library: Library, model: ModelServer
) -> None:
    library.add(
        **{
            f"part{n}": f"# Part {n}\n\n" + f"Nitrate {n} mg/l in well {n}. " * 60
            for n in range(12)
        }
    )
    model.in_turn(
        refuse(400, "This model's maximum context length is 900 tokens", "context_length_exceeded"),
        say("Nitrate was 3 mg/l [1]."),
    )
    message = asked(library, "How much nitrate?")
    assert message.state == "done"
    first, second = (len(model.prompt(n)) for n in (0, 1))
    assert second < 0.7 * first
    assert message.answer
    assert "passages_left_out" in [notice.code for notice in message.answer.notices]


def test_passages_keep_to_the_window_and_go_before_history(
    library: Library, model: ModelServer
) -> None:
    library.add(
        **{
            f"part{n}": f"# Part {n}\n\n" + f"Nitrate {n} mg/l in well {n}. " * 60
            for n in range(12)
        }
    )
    model.models = [{"id": "test-model", "max_model_len": 3_000}]
    model.script = lambda _: say("Nitrate was 3 mg/l [1]. " * 100, usage=None)
    w = library.workspace
    talk = chat.new_conversation(w)
    settled(w, talk.id, chat.ask(w, talk.id, "How much nitrate?"))
    second = settled(w, talk.id, chat.ask(w, talk.id, "How much nitrate in well 3?"))
    assert second.answer and second.answer.record
    assert second.answer.record.window == 3_000
    codes = [notice.code for notice in second.answer.notices]
    assert codes == ["passages_left_out", "turns_left_out"]
    assert len(model.asked[1]["messages"]) == 2
    assert len(model.prompt(1)) < 3 * 3_000


def test_neighbouring_passages_do_not_crowd_each_other_out_of_a_small_window(
    library: Library, model: ModelServer
) -> None:
    library.add(
        one="# Nitrate\n\n" + "\n\n".join(f"Nitrate {n} mg/l here. " * 60 for n in range(9))
    )
    model.models = [{"id": "test-model", "max_model_len": 2_000}]
    model.script = lambda _: say("Nitrate was 3 mg/l [1].", usage=None)
    answer = asked(library, "How much nitrate?").answer
    assert answer and answer.record and answer.record.passages
    assert "passages_left_out" in [notice.code for notice in answer.notices]
    assert len(model.prompt()) < 3 * 2_000


def test_a_source_renamed_or_deleted_leaves_the_kept_quote(
    wells: Library, model: ModelServer
) -> None:
    model.script = lambda _: say(GOOD)
    before = asked(wells)
    w = wells.workspace
    (talk,) = chat.list_conversations(w)
    (source_id,) = before.scope or [before.answer.citations[0].source_id]  # type: ignore[union-attr]
    rename_source(w, source_id, "Renamed")
    assert chat.load_messages(w, talk.id)[1] == before
    delete_sources(w, [source_id])
    assert chat.load_messages(w, talk.id)[1] == before


def test_an_interrupted_answer_shows_what_was_written_down(wells: Library) -> None:
    w = wells.workspace
    talk = chat.new_conversation(w)
    rows = [
        {"role": "user", "content": "q", "id": "1" * 32},
        {"role": "assistant", "content": "", "id": "2" * 32, "state": "running"},
    ]
    history_file(talk.id, w).update(lambda _: rows)
    Path(text_file(w, "2" * 32)).write_text("half an answer", "utf-8")
    message = chat.load_messages(w, talk.id)[1]
    assert (message.state, message.content) == ("interrupted", "half an answer")
