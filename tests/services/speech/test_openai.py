"""Transcription by a server that was chosen: what is sent, what comes back, what goes wrong."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from services import speech
from services.errors import HaloError, SettingsError, SpeechError
from services.parsers import parse
from services.reading import Reader
from tests import sounds

KEY = "sk-not-a-real-key"


@dataclass
class Server:
    """A transcription server on loopback; ``reply`` is (status, body)."""

    url: str
    reply: tuple[int, Any] = (200, {"text": "The harbour was closed."})
    forms: list[dict[str, bytes]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            kind = self.headers["content-type"].encode()
            form: Any = message_from_bytes(b"content-type: " + kind + b"\r\n\r\n" + body)
            running.forms.append(
                {
                    part.get_param("name", header="content-disposition"): part.get_payload(
                        decode=True
                    )
                    for part in form.get_payload()
                }
            )
            running.keys.append(self.headers["authorization"])
            running.paths.append(self.path)
            status, answer = running.reply
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Tests read what was sent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        running = Server(f"http://127.0.0.1:{http.server_port}/v1")
        thread = threading.Thread(target=http.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("HALO_TRANSCRIPTION", "openai")
        yield running
        http.shutdown()
        thread.join()


SEGMENTS = {
    "text": "…",
    "language": "english",
    "segments": [
        {"start": 0.1, "end": 3.9, "text": " The harbour was closed.", "avg_logprob": -0.2},
        {"start": 3.9, "end": 6.0, "text": " Ships had to wait.", "avg_logprob": -1.2},
        {"start": 7.0, "end": 9.0, "text": " Subtitles by the Amara.org community"},
    ],
}


def test_a_child_without_network_sends_its_pieces_through_its_parent(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_TRANSCRIPTION_MODEL", "whisper-1")
    server.reply = (200, SEGMENTS)
    with Reader() as reader:
        document = reader.read(
            sounds.ENGLISH, "harbour.ogg", out=tmp_path / "out.json", language="en"
        )
    assert document.text == "The harbour was closed. Ships had to wait."
    assert document.blocks[0].time == pytest.approx(1.9, abs=0.4)
    assert document.blocks[0].timed()[1][1] == pytest.approx(5.7, abs=0.5)
    how = document.report.transcription
    assert how is not None
    assert (how.by, how.hosted, document.report.language) == ("openai:whisper-1", False, "en")
    assert {finding.code for finding in document.report.findings} == {
        "speech_doubtful",
        "speech_dropped",
    }
    (form,) = server.forms
    assert server.paths == ["/v1/audio/transcriptions"]
    assert server.keys == [f"Bearer {KEY}"]
    assert form["file"].startswith(b"fLaC")
    assert len(form["file"]) < 1_000_000
    assert (form["model"], form["language"]) == (b"whisper-1", b"en")
    assert form["response_format"] == b"verbose_json"
    assert form["timestamp_granularities[]"] == b"segment"
    assert form["prompt"] == b"Harbour report"


def test_a_model_without_times_gives_each_piece_its_own(server: Server) -> None:
    document = parse(sounds.ENGLISH, "harbour.ogg")
    assert document.text == "The harbour was closed."
    assert document.blocks[0].time == pytest.approx(1.8, abs=0.4)
    assert server.forms[0]["model"] == b"gpt-transcribe"
    assert server.forms[0]["response_format"] == b"json"
    assert "timestamp_granularities[]" not in server.forms[0]


@pytest.mark.parametrize(
    ("reply", "code"),
    [
        ((401, {"error": {"message": f"Incorrect key {KEY}"}}), "transcription_key"),
        ((400, {"error": {"message": "no such model"}}), "transcription_refused"),
        ((200, {"segments": [{"start": "x"}]}), "transcription_answer"),
        ((200, b"<html>"), "transcription_answer"),
    ],
)
def test_refusals_are_sentences_without_the_key(
    server: Server,
    tmp_path: Path,
    reply: tuple[int, Any],
    code: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.reply = reply
    with Reader() as reader, pytest.raises(SpeechError) as caught:
        reader.read(sounds.ENGLISH, "harbour.ogg", out=tmp_path / "out.json")
    assert caught.value.code == code
    assert caught.value.step
    assert KEY not in f"{caught.value} {caught.value.params} {caplog.text}"


def test_nothing_is_sent_where_nobody_speaks(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "quiet.wav"
    path.write_bytes(sounds.wav(sounds.silence(5)))
    with pytest.raises(HaloError, match="No words"):
        parse(path, "quiet.wav")
    assert not server.forms


def test_a_server_that_is_not_there(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setattr("services.speech.openai._RETRIES", 0)
    with pytest.raises(SpeechError) as caught:
        parse(sounds.ENGLISH, "harbour.ogg")
    assert caught.value.code == "transcription_unreachable"


def test_it_is_never_chosen_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert speech.recogniser().name == "whisper-base"
    monkeypatch.setenv("HALO_TRANSCRIPTION", "openai")
    assert speech.recogniser().hosted
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(SpeechError) as caught:
        speech.recogniser()
    assert caught.value.code == "transcription_key_missing"
    monkeypatch.setenv("HALO_TRANSCRIPTION", "elsewhere")
    with pytest.raises(SettingsError):
        speech.recogniser()
