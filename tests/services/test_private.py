"""Private sources: nothing of them leaves for a model, embedder or transcriber outside the house.

The hosted services of these tests are addresses by name that a proxy on loopback answers for, so
what would leave is seen on the wire.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from services import answering, chat, llm
from services.answering import answer_question
from services.errors import ModelError, SpeechError
from services.ingestion import set_private
from services.llm.talk import Said, Stopper, talk
from services.models import Source
from services.parsers import errands
from services.search import search
from services.storage import get_source
from tests.modelserver import ModelServer, say

from .conftest import Library
from .test_chat import settled

SECRET = "# Deal\n\nThe price for Delta is 41 million euros. The signing is on 4 May 2031.\n"
OPEN = "# Press\n\nDelta makes pumps in Varna. It has 212 employees.\n"
QUESTION = "What is known about Delta?"


@pytest.fixture
def hosted(model: ModelServer, monkeypatch: pytest.MonkeyPatch) -> ModelServer:
    """The same server, reached through a proxy under a name outside the house."""
    monkeypatch.setenv("HTTP_PROXY", model.url.removesuffix("/v1"))
    monkeypatch.setenv("http_proxy", model.url.removesuffix("/v1"))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://models.example/v1")
    model.script = lambda _: say("Delta has 212 employees [1].")
    return model


@pytest.fixture
def two(library: Library) -> tuple[Library, Source, Source]:
    deal, press = library.add(deal=SECRET, press=OPEN)
    set_private(library.workspace, deal.id, True)
    return library, deal, press


def test_a_hosted_model_is_sent_the_other_sources_only(
    two: tuple[Library, Source, Source], hosted: ModelServer
) -> None:
    library, _, _ = two
    answer = answer_question(library.workspace, QUESTION)
    assert answer.answered_by == "openai:test-model"
    assert hosted.paths[-1].startswith("http://models.example/")
    assert "212 employees" in hosted.prompt()
    assert "41 million" not in str(hosted.asked)
    assert answer.notices[0].code == "private_left_out"


def test_with_private_sources_alone_no_hosted_model_is_asked(
    two: tuple[Library, Source, Source], hosted: ModelServer
) -> None:
    library, deal, _ = two
    answer = answer_question(library.workspace, "What is the price for Delta?", [deal.id])
    assert answer.answered_by == "extractive"
    assert "41 million" in answer.text
    assert "private_only" in [notice.code for notice in answer.notices]
    assert hosted.asked == []


def test_a_model_of_the_house_is_sent_them(
    two: tuple[Library, Source, Source], model: ModelServer
) -> None:
    library, _, _ = two
    model.script = lambda _: say("The price for Delta is 41 million euros [1].")
    answer_question(library.workspace, "What is the price for Delta?")
    assert "41 million" in model.prompt()


def test_an_earlier_answer_from_a_private_source_stays_in_the_house(
    two: tuple[Library, Source, Source], hosted: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    library, deal, press = two
    w = library.workspace
    talk_ = chat.new_conversation(w)
    with monkeypatch.context() as at_home:
        at_home.setenv("HALO_MODEL", "none")
        first = chat.ask(w, talk_.id, "What is the price for Delta?", [deal.id])
        assert "41 million" in settled(w, talk_.id, first).content
    settled(w, talk_.id, chat.ask(w, talk_.id, "How many employees has Delta?", [press.id]))
    assert len(hosted.asked) == 1
    assert "41 million" not in str(hosted.asked)


def test_the_seam_itself_refuses(
    two: tuple[Library, Source, Source], hosted: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A source that becomes private between the search and the request is kept as well."""
    library, deal, _ = two
    w = library.workspace
    set_private(w, deal.id, False)

    def and_then(*args: object, **options: object) -> object:
        result = search(*args, **options)  # type: ignore[arg-type]
        set_private(w, deal.id, True)
        return result

    monkeypatch.setattr(answering, "search", and_then)
    with pytest.raises(ModelError) as refused:
        answer_question(w, QUESTION)
    assert refused.value.code == "model_private"
    choice = llm.choice("openai:test-model")
    with pytest.raises(ModelError):
        talk(
            choice,
            [Said("user", "41 million", private=True)],
            on_text=lambda _: None,
            on_wait=lambda _: None,
            stopper=Stopper(),
        )
    assert hosted.asked == []


def test_a_private_recording_is_sent_to_no_hosted_transcriber(
    hosted: ModelServer, tmp_path: Path
) -> None:
    piece = tmp_path / "piece.flac"
    piece.write_bytes(b"sound")
    errand = {"do": "transcribe", "file": str(piece), "language": None, "hints": ""}
    with pytest.raises(SpeechError) as refused:
        errands.run(errand, private=True)
    assert refused.value.code == "transcription_private"
    assert hosted.paths == []


def test_a_private_picture_is_shown_to_no_hosted_model(
    hosted: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_VISION_MODEL", "openai:test-model")
    picture = tmp_path / "picture.jpg"
    picture.write_bytes(b"picture")
    with pytest.raises(ModelError) as refused:
        errands.run({"do": "describe", "file": str(picture), "language": "en"}, private=True)
    assert refused.value.code == "model_private"
    assert hosted.paths == []


def test_attachments_are_as_private_as_what_they_came_in(library: Library) -> None:
    mail = (
        b"From: a@example.org\r\nTo: b@example.org\r\nSubject: Deal\r\nMIME-Version: 1.0\r\n"
        b"Content-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\nContent-Type: text/plain\r\n\r\n"
        b"The price is attached.\r\n--x\r\nContent-Type: text/plain; name=price.txt\r\n"
        b"Content-Disposition: attachment; filename=price.txt\r\n\r\n"
        b"The price for Delta is 41 million euros.\r\n--x--\r\n"
    )
    (letter,) = library.add(letter_eml=mail)
    children = get_source(letter.id, library.workspace).children or []
    assert children
    set_private(library.workspace, letter.id, True)
    assert all(get_source(child, library.workspace).private for child in children)
