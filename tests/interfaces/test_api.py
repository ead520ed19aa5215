"""The HTTP API keeps its contract: a real server on loopback, asked by real clients."""

from __future__ import annotations

import http.client
import io
import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from interfaces.api import application, gate
from interfaces.cli import main
from services import chat, ingestion, lance
from services.errors import CancelledError, HaloError
from services.models import Answer
from services.pipeline import Pipeline
from services.progress import Progress
from services.storage import save_studio_outputs
from services.workspace import Workspace, open_workspace
from tests.conftest import PROJECT
from tests.modelserver import ModelServer, refuse, say

WELLS = b"# Wells\n\n## North\n\nWell ZX-4417-B gave 63.8 mg/l nitrate in March 2024.\n"
PLACE = {"source_id", "source_name", "chunk_id", "page", "page_end", "page_label", "headings",
         "sheet", "slide", "time"}  # fmt: skip
KEY = "correct-horse-Zoë"


class Running:
    """A server in a thread, on a free port."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self.worker = Pipeline(lambda: [workspace])
        self.app = application(workspace, self.worker)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._socket.getsockname()[1]
        config = uvicorn.Config(
            self.app, log_config=None, ws="none", timeout_graceful_shutdown=1, proxy_headers=False
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]})
        self._thread.start()

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}", timeout=60, trust_env=False, **options
        )

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()
        lance.forget(self.workspace.vector_uri)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this process makes its temporary files."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


@pytest.fixture
def server(temporary: Path) -> Iterator[Running]:
    running = Running(open_workspace())
    yield running
    running.stop()


@pytest.fixture
def api(server: Running) -> Iterator[httpx.Client]:
    with server.client() as client:
        yield client


def upload(
    api: httpx.Client, name: str = "Wells 2024.md", data: bytes = WELLS, **form: str
) -> httpx.Response:
    return api.post("/upload", files={"file": (name, data)}, data=form)


def fault(response: httpx.Response, status: int) -> dict[str, Any]:
    """The error of a response, whose shape is checked."""
    assert response.status_code == status, response.text
    body = response.json()
    assert set(body) == {"error"}
    assert {"code", "message", "step"} <= set(body["error"]) <= {
        "code", "message", "step", "source_id",
    }  # fmt: skip
    assert body["error"]["message"].endswith("."), body
    assert "Traceback" not in response.text
    found: dict[str, Any] = body["error"]
    return found


def nothing_left(running: Running, temporary: Path) -> bool:
    """Whether no temporary file of an upload is there."""
    return not list(temporary.iterdir()) and not list(
        running.workspace.originals.glob(".incoming-*")
    )


# --- upload -------------------------------------------------------------------------------------


def test_an_uploaded_file_can_be_searched_and_asked(api: httpx.Client) -> None:
    told = upload(api)
    assert told.status_code == 200, told.text
    source = told.json()
    assert (source["name"], source["status"], source["error"]) == ("Wells 2024.md", "ready", None)
    assert set(source) >= {"id", "type_label", "chunks", "units", "report"}
    assert [one["id"] for one in source["sources"]] == [source["id"]]
    body = api.post("/search", json={"query_text": "nitrate in ZX-4417-B", "k": 3}).json()
    first = body["results"][0]
    assert set(first) == {"content", "metadata", "score"}
    assert set(first["metadata"]) == PLACE | {"found"}
    assert first["metadata"]["headings"] == ["Wells", "North"]
    assert "63.8" in first["content"]
    answer = api.post("/ask", json={"question": "How much nitrate did ZX-4417-B give?"}).json()
    assert (answer["grounded"], answer["answered_by"]) == (True, "extractive")
    assert set(answer["citations"][0]) >= PLACE | {"number", "quote", "support"}


def test_the_upload_tells_what_the_command_line_tells(
    api: httpx.Client, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = upload(api).json()
    (tmp_path / "other.md").write_text("# Bridges\n\nThe bridge was built in 1931.\n")
    assert main(["add", str(tmp_path / "other.md"), "--json"]) == 0
    (added,) = json.loads(capsys.readouterr().out)["sources"]
    assert set(source) == set(added) | {"sources"}
    assert main(["list", "--json"]) == 0
    assert api.get("/sources").json() == json.loads(capsys.readouterr().out)
    assert main(["show", source["id"], "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert api.get(f"/sources/{source['id']}").json() == shown
    question = "When was the bridge built?"
    assert main(["ask", question, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert api.post("/ask", json={"question": question}).json() == answer


def test_the_same_bytes_again_are_a_duplicate(api: httpx.Client) -> None:
    first = upload(api).json()
    error = fault(upload(api, "other name.md"), 422)
    assert (error["code"], error["source_id"]) == ("duplicate", first["id"])


def locked_archive() -> bytes:
    """An archive whose member says that it is encrypted."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("secret.txt", "locked away")
    data = bytearray(made.getvalue())
    data[6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


@pytest.mark.parametrize(
    ("name", "data", "status", "code"),
    [
        ("program.pdf", b"\x7fELF" + bytes(range(256)) * 8, 400, "unsupported_kind"),
        ("picture.md", b"8BPS\0\1" + bytes(64), 400, "unsupported_kind"),
        ("empty.txt", b"", 422, "empty_file"),
        ("blank.txt", b" \n\t\n ", 422, "no_text"),
        ("broken.pdf", b"%PDF-1.7\n" + b"garbage " * 40, 422, "damaged"),
        ("locked.zip", locked_archive(), 422, "needs_password"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_by_its_bytes(
    server: Running, api: httpx.Client, temporary: Path, name: str, data: bytes, status: int,
    code: str,
) -> None:  # fmt: skip
    error = fault(upload(api, name, data), status)
    assert error["code"] == code
    assert nothing_left(server, temporary)
    assert not any(source["status"] == "ready" for source in api.get("/sources").json()["sources"])


def test_a_password_opens_a_file(api: httpx.Client) -> None:
    from pypdf import PdfWriter
    from reportlab.pdfgen.canvas import Canvas

    plain = io.BytesIO()
    canvas = Canvas(plain)
    canvas.drawString(72, 700, "The vault holds 417 folders.")
    canvas.save()
    writer = PdfWriter(plain)
    writer.encrypt("s3cret", algorithm="AES-256")
    locked = io.BytesIO()
    writer.write(locked)
    assert fault(upload(api, "v.pdf", locked.getvalue()), 422)["code"] == "needs_password"
    wrong = fault(upload(api, "v.pdf", locked.getvalue(), password="no"), 422)
    assert wrong["code"] == "needs_password"
    opened = upload(api, "v.pdf", locked.getvalue(), password="s3cret")
    assert opened.status_code == 200, opened.text
    assert opened.json()["units"] == {"pages": 1}


def test_an_archive_is_taken_in_as_its_members(api: httpx.Client) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("wells.md", WELLS)
        archive.writestr("bridge.txt", "The bridge was built in 1931.")
    told = upload(api, "both.zip", made.getvalue())
    assert told.status_code == 200, told.text
    assert {one["name"] for one in told.json()["sources"]} == {"wells.md", "bridge.txt"}
    assert fault(upload(api, "both.zip", made.getvalue()), 422)["code"] == "duplicate"


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("../../etc/evil.md", "evil.md"),
        ("C:\\temp\\evil.md", "evil.md"),
        ("x' OR '1'='1.md", "x' OR '1'='1.md"),
        ("résumé 東京 (1).md", "résumé 東京 (1).md"),
        ("n" * 400 + ".md", None),
        (".", "."),
    ],
)
def test_a_name_is_only_a_name(
    api: httpx.Client, tmp_path: Path, sent: str, shown: str | None
) -> None:
    told = upload(api, sent)
    assert told.status_code == 200, told.text
    name = told.json()["name"]
    assert name == shown if shown else len(name) == 250
    assert not list(tmp_path.rglob("*evil*"))


@pytest.mark.parametrize("sends_length", [True, False])
def test_a_file_over_the_limit_is_refused(
    server: Running, monkeypatch: pytest.MonkeyPatch, temporary: Path, sends_length: bool
) -> None:
    server.stop()
    monkeypatch.setenv("HALO_UPLOAD_LIMIT_MB", "2")
    small = Running(server.workspace)
    try:
        for size in (2_030_000, 6_000_000):  # over the limit of the file, and of the form
            head = b'--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
            body = head + b"word " * (size // 5) + b"\r\n--b--\r\n"
            pieces = (body[at : at + 65_536] for at in range(0, len(body), 65_536))
            with small.client() as api:
                told = api.post(
                    "/upload",
                    content=body if sends_length else pieces,
                    headers={"content-type": "multipart/form-data; boundary=b"},
                )
            assert fault(told, 413)["code"] == "too_large"
            assert nothing_left(small, temporary)
    finally:
        small.stop()


def test_an_upload_that_breaks_off_leaves_nothing(
    server: Running, api: httpx.Client, temporary: Path
) -> None:
    for sent in (0, 500, 3_000_000):
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(
                b"POST /upload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9000000\r\n"
                b"Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n"
                b'Content-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
            )
            line.sendall(b"w" * sent)
    assert upload(api).status_code == 200  # taken after them
    assert len(api.get("/sources").json()["sources"]) == 1
    assert nothing_left(server, temporary)
    assert len(list(server.workspace.originals.iterdir())) == 1


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        ("application/json", b'{"file": "x"}'),
        ("text/plain", WELLS),
        ("multipart/form-data", WELLS),
        ("multipart/form-data; boundary=b", b"garbage"),
        ("multipart/form-data; boundary=b",
         b'--b\r\ncontent-disposition: form-data; name="file"\r\n\r\ntext\r\n--b--\r\n'),
        ("multipart/form-data; boundary=b",
         b'--b\r\ncontent-disposition: form-data; name="f"; filename="a"\r\n\r\nx\r\n--b--\r\n'),
        ("multipart/form-data; boundary=b",
         b'--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n'
         b'--b\r\ncontent-disposition: form-data; name="file"; filename="b"\r\n\r\ny\r\n--b--\r\n'),
    ],
)  # fmt: skip
def test_an_invalid_form_is_refused(api: httpx.Client, content_type: str, body: bytes) -> None:
    told = api.post("/upload", content=body, headers={"content-type": content_type})
    assert fault(told, 422)["code"] == "invalid_body"
    assert api.get("/sources").json() == {"sources": []}


# --- search and ask -----------------------------------------------------------------------------


def test_nothing_indexed_is_told(api: httpx.Client) -> None:
    assert fault(api.post("/search", json={"query_text": "x"}), 404)["code"] == "nothing_indexed"
    assert fault(api.post("/ask", json={"question": "x"}), 404)["code"] == "no_sources"
    upload(api)
    for path, body in (("/search", {"query_text": "x"}), ("/ask", {"question": "x"})):
        told = api.post(path, json={**body, "source_ids": ["no-such-id"]})
        assert fault(told, 404)["code"] == "no_such_source"
    told = api.post("/search", json={"query_text": "x", "source_ids": []})
    assert fault(told, 404)["code"] == "nothing_indexed"


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b"null", b"[]", b'"x"', b"\xff\xfe", b"{}", b'{"query_text": 5}',
        b'{"query_text": ""}', b'{"query_text": " \\n "}', b'{"query_text": null}',
        b'{"query_text": "\\ud800"}', b'{"query_text": "x", "k": 0}',
        b'{"query_text": "x", "k": 1001}', b'{"query_text": "x", "k": "ten"}',
        b'{"query_text": "x", "k": true}', b'{"query_text": "x", "k": 1.5}',
        b'{"query_text": "x", "mode": "magic"}', b'{"query_text": "x", "source_ids": "a"}',
        b'{"query_text": "x", "top": 3}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_an_invalid_search_is_refused(api: httpx.Client, body: bytes) -> None:
    told = api.post("/search", content=body, headers={"content-type": "application/json"})
    assert fault(told, 422)["code"] == "invalid_body"


def test_only_json_is_a_search(api: httpx.Client) -> None:
    body = b'{"query_text": "x"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        told = api.post("/search", content=body, headers={"content-type": kind})
        assert fault(told, 422)["code"] == "invalid_body"
    told = api.post("/search", content=b" " * 4_000_001, headers={"content-type": "text/json"})
    assert fault(told, 413)["code"] == "too_large"


def test_a_search_keeps_to_its_limits(api: httpx.Client) -> None:
    one = upload(api).json()["id"]
    upload(api, "more.md", b"# More wells\n\nWell ZX-1 gave no nitrate.\n")
    found = api.post("/search", json={"query_text": "nitrate", "k": 1}).json()["results"]
    assert len(found) == 1
    told = api.post("/search", json={"query_text": "well", "source_ids": [one], "mode": "text"})
    assert told.json()["mode"] == "text"
    assert {found["metadata"]["source_id"] for found in told.json()["results"]} == {one}


def events(text: str) -> list[tuple[str, Any]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, data = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(data.removeprefix("data: "))))
    return found


def test_an_answer_comes_as_events(api: httpx.Client) -> None:
    upload(api)
    asked = {"question": "How much nitrate did ZX-4417-B give?"}
    told = api.post("/ask", json=asked, headers={"accept": "text/event-stream"})
    assert told.headers["content-type"].startswith("text/event-stream")
    got = events(told.text)
    assert [name for name, _ in got] == [*["stage"] * 3, "text", "answer"]
    stages = [data["stage"] for name, data in got if name == "stage"]
    assert stages == ["searching", "reading", "writing"]
    assert got[-1][1] == api.post("/ask", json=asked).json()
    assert got[-2][1] == {"text": got[-1][1]["answer"]}
    blank = api.post("/ask", json={"question": " "}, headers={"accept": "text/event-stream"})
    assert fault(blank, 422)["code"] == "invalid_body"


def test_a_model_answers_and_its_words_come_as_they_are_written(
    api: httpx.Client, model: ModelServer
) -> None:
    upload(api)
    told = "Well ZX-4417-B gave 63.8 mg/l nitrate [1]."
    model.script = lambda _: say(told)
    asked = {"question": "How much nitrate did ZX-4417-B give?"}
    whole = api.post("/ask", json=asked).json()
    assert (whole["answer"], whole["answered_by"]) == (told, "openai:test-model")
    assert [c["number"] for c in whole["citations"]] == [1]
    got = events(api.post("/ask", json=asked, headers={"accept": "text/event-stream"}).text)
    words = [data["text"] for name, data in got if name == "text"]
    assert len(words) > 3
    assert "".join(words) == told
    assert got[-1] == ("answer", whole)
    model.script = lambda _: refuse(401)
    assert fault(api.post("/ask", json=asked), 503)["code"] == "model_key"


def test_the_model_is_stopped_when_the_client_goes(server: Running, model: ModelServer) -> None:
    model.script = lambda _: say("word " * 400, first=0.5, pause=0.05)
    asked = {"json": {"question": "nitrate?"}, "headers": {"accept": "text/event-stream"}}
    with server.client() as api:
        upload(api)
        with api.stream("POST", "/ask", **asked) as told:  # type: ignore[arg-type]
            assert "event: text" in told.iter_lines()
    deadline = time.monotonic() + 20
    while not model.cut_off and time.monotonic() < deadline:
        time.sleep(0.02)
    assert model.cut_off == 1


@pytest.mark.parametrize(
    ("raised", "code"),
    [(HaloError("It went wrong.", code="went_wrong"), "went_wrong"), (KeyError("x"), "unexpected")],
)
def test_a_fault_while_answering_is_an_event(
    api: httpx.Client, monkeypatch: pytest.MonkeyPatch, raised: Exception, code: str
) -> None:
    def fails(*_: object, **__: object) -> Answer:
        raise raised

    monkeypatch.setattr(chat, "answer_question", fails)
    told = api.post("/ask", json={"question": "x"}, headers={"accept": "text/event-stream"})
    ((name, body),) = events(told.text)
    assert (name, body["error"]["code"]) == ("error", code)


def test_work_ends_when_the_client_goes(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped = threading.Event()

    def answers(*_: object, progress: Progress, **__: object) -> Answer:
        try:
            while True:
                progress.to("reading")
                stopped.wait(0.01)
        except CancelledError:
            stopped.set()
            raise

    monkeypatch.setattr(chat, "answer_question", answers)
    asked = {"json": {"question": "x"}, "headers": {"accept": "text/event-stream"}}
    with server.client() as api, api.stream("POST", "/ask", **asked) as told:  # type: ignore[arg-type]
        assert next(told.iter_bytes())
    assert stopped.wait(30)


# --- sources, notes, studio, health -------------------------------------------------------------


def test_a_source_is_listed_shown_changed_read_again_and_deleted(api: httpx.Client) -> None:
    key = upload(api).json()["id"]
    assert api.get(f"/sources/{key}").json()["blocks"][-1]["headings"] == ["Wells", "North"]
    told = api.patch(f"/sources/{key}", json={"name": "Renamed", "selected": False}).json()
    assert (told["name"], told["selected"]) == ("Renamed", False)
    assert api.get("/sources").json()["sources"] == [told]
    assert fault(api.patch(f"/sources/{key}", json={}), 422)["code"] == "invalid_body"
    assert fault(api.patch(f"/sources/{key}", json={"name": " "}), 422)
    again = api.post(f"/sources/{key}/reindex").json()["sources"]
    assert [(one["id"], one["status"]) for one in again] == [(key, "ready")]
    assert api.delete(f"/sources/{key}").json()["deleted"] == [key]
    assert api.get("/sources").json() == {"sources": []}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/sources/none", None),
        ("GET", "/sources/..%2f..%2fconfig", None),
        ("PATCH", "/sources/none", {"name": "x"}),
        ("DELETE", "/sources/x' OR '1'='1", None),
        ("POST", "/sources/none/reindex", None),
        ("GET", "/notes/none", None),
        ("PATCH", "/notes/none", {"title": "x"}),
        ("DELETE", "/notes/none", None),
        ("GET", "/nowhere", None),
        ("GET", "/docs", None),
    ],
)
def test_what_is_not_there_is_told(
    api: httpx.Client, method: str, path: str, body: dict[str, str] | None
) -> None:
    fault(api.request(method, path, json=body), 404)


def test_a_wrong_method_is_told(api: httpx.Client) -> None:
    told = api.get("/search")
    assert fault(told, 405)["code"] == "wrong_method"
    assert told.headers["allow"] == "POST"


def test_notes_are_kept_changed_and_deleted(api: httpx.Client) -> None:
    made = api.post("/notes", json={"title": "A", "content": "Zoë’s *note*"})
    assert made.status_code == 201
    key = made.json()["id"]
    assert api.patch(f"/notes/{key}", json={"title": "B"}).json()["content"] == "Zoë’s *note*"
    assert [note["title"] for note in api.get("/notes").json()["notes"]] == ["B"]
    assert api.get(f"/notes/{key}").json()["title"] == "B"
    surrogate = b'{"content": "\\ud800"}'
    json_type = {"content-type": "application/json"}
    assert fault(api.post("/notes", content=surrogate, headers=json_type), 422)
    assert api.delete(f"/notes/{key}").json()["deleted"] == [key]
    assert api.get("/notes").json() == {"notes": []}


def test_outputs_of_the_studio_are_listed(server: Running, api: httpx.Client) -> None:
    assert api.get("/studio").json() == {"outputs": []}
    save_studio_outputs([{"output_id": "1", "title": "Report"}], server.workspace)
    assert api.get("/studio").json() == {"outputs": [{"output_id": "1", "title": "Report"}]}


def test_health_counts(api: httpx.Client) -> None:
    upload(api)
    told = api.get("/health").json()
    assert told["status"] == "ok"
    assert told["embedder"] == {"name": "hash", "state": "ready"}
    assert told["counts"] == {"sources": 1, "answerable": 1, "jobs": 0, "notes": 0}


def test_the_description_is_complete(api: httpx.Client) -> None:
    told = api.get("/openapi.json").json()
    for path, methods in told["paths"].items():
        for method, route in methods.items():
            assert route["summary"] and route["description"], (method, path)
            assert len(route["tags"]) == 1
    assert "HTTPValidationError" not in told["components"]["schemas"]


def test_a_fault_nobody_foresaw_is_a_sentence(
    server: Running,
    api: httpx.Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fails(*_: object) -> None:
        raise ZeroDivisionError("secret detail")

    monkeypatch.setattr(ingestion, "list_sources", fails)
    told = api.get("/sources")
    assert fault(told, 500)["code"] == "unexpected"
    assert "secret" not in told.text
    server.stop()
    assert "secret detail" in caplog.text


# --- who may ask --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.1@evil.example",
     "192.168.1.5", "0.0.0.0", "", "[::1", "localhost:0", "127.0.0.1:x"],
)  # fmt: skip
def test_a_foreign_host_is_refused(api: httpx.Client, host: str) -> None:
    for path in ("/sources", "/health", "/openapi.json"):
        assert fault(api.get(path, headers={"host": host}), 403)["code"] == "foreign_host"


def test_a_missing_host_is_refused(server: Running) -> None:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    line.putrequest("GET", "/sources", skip_host=True)
    line.endheaders()
    assert line.getresponse().status in (400, 403)
    line.close()


def test_names_of_this_computer_are_served(server: Running, api: httpx.Client) -> None:
    for host in ("localhost", f"LOCALHOST:{server.port}", "127.0.0.1", "127.0.0.9", "[::1]:8502"):
        assert api.get("/sources", headers={"host": host}).status_code == 200


def test_a_foreign_page_is_refused(server: Running, api: httpx.Client) -> None:
    own = f"http://127.0.0.1:{server.port}"
    port = server.port
    near = [f"https://127.0.0.1:{port}", f"http://localhost:{port}", f"{own}.evil", f"{own}0"]
    for origin in ("https://evil.example", "null", "", "http://127.0.0.1:8501", *near):
        told = api.post("/notes", json={"content": "x"}, headers={"origin": origin})
        assert fault(told, 403)["code"] == "foreign_origin"
        assert "access-control-allow-origin" not in told.headers
    assert api.get("/notes").json() == {"notes": []}
    told = api.post("/notes", json={"content": "x"}, headers={"origin": own})
    assert told.status_code == 201


def test_a_key_is_asked_for_where_one_is_set(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_API_KEY", KEY)
    running = Running(open_workspace())
    try:
        with running.client() as api:
            for given in ("", "Bearer", "Bearer wrong", f"Basic {KEY}", KEY, f"Bearer {KEY}x"):
                headers = {b"authorization": given.encode(), b"host": b"halo.example"}
                told = api.get("/sources", headers=headers)
                assert fault(told, 401)["code"] == "key_needed"
                assert told.headers["www-authenticate"] == "Bearer"
            assert fault(api.get("/openapi.json"), 401)
            assert api.get("/health").status_code == 200
            for scheme in ("Bearer", "bearer"):
                named = {b"authorization": f"{scheme} {KEY}".encode(), b"host": b"halo.example"}
                assert api.get("/sources", headers=named).status_code == 200
    finally:
        running.stop()


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("::1", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("", False), ("10.0.0.1", False), ("halo.local", False)],
)  # fmt: skip
def test_what_is_loopback(host: str, loopback: bool) -> None:
    assert gate.is_loopback(host) is loopback


def test_other_machines_are_served_with_a_key_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--host", "0.0.0.0", "--port", "0", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "key_unset"


def test_a_taken_port_is_told(server: Running, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--port", str(server.port), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "address_taken"


# --- the process, and many at once ----------------------------------------------------------------


def test_the_program_serves_and_stops() -> None:
    command = [sys.executable, "-m", "interfaces.cli", "serve", "--port", "0", "--json"]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(3)]
        url = json.loads("".join(lines))["url"]
        with httpx.Client(base_url=url, timeout=60, trust_env=False) as api:
            assert upload(api).json()["status"] == "ready"
            found = api.post("/search", json={"query_text": "nitrate"}).json()
            assert found["results"][0]["metadata"]["source_name"] == "Wells 2024.md"
        process.send_signal(2)
        assert process.wait(30) == 0


def test_sixteen_clients_at_once(server: Running, temporary: Path) -> None:
    with server.client() as api:
        assert upload(api, "common.md", b"# Common\n\nEvery pump has a serial number.").is_success

    def work(number: int) -> None:
        with server.client() as api:
            for turn in range(3):
                mark = f"MK-{number:02}{turn}-Q"
                text = f"# Pump {mark}\n\nPump {mark} moves {number * 10 + turn} litres."
                made = upload(api, "pump.md", text.encode())
                assert made.status_code == 200, made.text
                found = api.post("/search", json={"query_text": mark, "k": 5}).json()["results"]
                assert mark in found[0]["content"]
                asked = {"question": f"How many litres does pump {mark} move?"}
                answer = api.post("/ask", json=asked).json()
                assert f"{number * 10 + turn} litres" in answer["answer"]
                streamed = api.post("/ask", json=asked, headers={"accept": "text/event-stream"})
                assert events(streamed.text)[-1][0] == "answer"
                assert api.post("/notes", json={"content": mark}).status_code == 201
                assert upload(api, "common.md", b"# Common\n\nEvery pump has a serial number."
                              ).status_code == 422  # fmt: skip
                assert api.get("/health").is_success

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    with server.client() as api:
        told = api.get("/sources").json()["sources"]
        assert [source["status"] for source in told] == ["ready"] * 49
        assert len(api.get("/notes").json()["notes"]) == 48
    assert nothing_left(server, temporary)


def test_sixteen_uploads_of_one_file_make_one_source(server: Running) -> None:
    def send(_: int) -> int:
        with server.client() as api:
            return upload(api).status_code

    with ThreadPoolExecutor(16) as pool:
        assert sorted(pool.map(send, range(16))) == [200] + [422] * 15
