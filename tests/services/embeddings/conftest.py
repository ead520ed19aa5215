"""The bundled embedder, converted once for all, and a model server with faults."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from services import embeddings
from services.embeddings.local import LocalEmbedder


@pytest.fixture(scope="session")
def local(_nothing_from_outside: object) -> LocalEmbedder:
    """The bundled embedder; converts the weights when the cache has none."""
    embeddings.prepare()
    return LocalEmbedder()


@dataclass
class Reply:
    """What the server answers: a status, a body that is JSON unless it is bytes, headers."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Server:
    """A model server on loopback. ``answer`` decides; ``requests`` are the bodies it was sent."""

    url: str
    answer: Callable[[dict[str, Any]], Reply]
    requests: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)

    def in_turn(self, *replies: Reply) -> None:
        """First these answers, then good ones."""
        waiting = list(replies)
        self.answer = lambda request: waiting.pop(0) if waiting else vectors(request)


def vectors(request: dict[str, Any], dimension: int = 4) -> Reply:
    """A good answer: the vector of a text is made of its length, and not of length 1."""
    rows = [[float(len(text)), 1.0, *[0.5] * (dimension - 2)] for text in request["input"]]
    return Reply(body={"data": [{"index": n, "embedding": row} for n, row in enumerate(rows)]})


@pytest.fixture
def server() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            running.requests.append(request)
            running.paths.append(self.path)
            running.keys.append(self.headers["authorization"])
            reply = running.answer(request)
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Tests read what was sent in ``requests``."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        running = Server(f"http://127.0.0.1:{http.server_port}/v1", vectors)
        threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
        yield running
        http.shutdown()
