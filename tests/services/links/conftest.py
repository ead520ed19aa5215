"""A web server on this computer that answers as a test says, and the setting that lets HALO in."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from services.links.address import Address

ARTICLE = (
    "<html lang=en><head><title>Wells of Senra</title><meta name=author content='The survey'>"
    "<meta property='article:published_time' content='2026-03-04'></head><body><main>"
    "<h1>Wells of Senra</h1><p>"
    + "The northern wells gave 41 litres a second in March, four more than a year before. " * 12
    + "</p></main></body></html>"
)
Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Web

    def do_GET(self) -> None:
        size = int(self.headers.get("content-length", 0))
        self.content = self.rfile.read(size)
        self.server.seen.append((self.path, dict(self.headers.items())))
        self.server.pages.get(self.path.partition("?")[0], missing)(self)

    do_POST = do_GET  # noqa: N815  # the name is the protocol's

    def answer(
        self, body: bytes | str = b"", status: int = 200, headers: Mapping[str, str] | None = None
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        stated = {"Content-Type": "text/html; charset=utf-8", "Content-Length": str(len(data))}
        for name, value in (stated | dict(headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def handle(self) -> None:
        try:
            super().handle()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        pass


def missing(handler: Handler) -> None:
    handler.answer("<p>Nothing here.</p>", 404)


class Web(ThreadingHTTPServer):
    """Pages by path, and the requests that came, with their headers."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, host: str = "127.0.0.1") -> None:
        super().__init__((host, 0), Handler)
        self.pages: dict[str, Answer] = {}
        self.seen: list[tuple[str, dict[str, str]]] = []

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that hangs up is what many tests want

    def page(self, path: str, body: bytes | str, status: int = 200, **headers: str) -> str:
        """Serve one answer at a path; returns its address. ``Content_Type="..."`` is a header."""
        stated = {name.replace("_", "-"): value for name, value in headers.items()}
        self.pages[path] = lambda handler: handler.answer(body, status, stated)
        return self.url(path)

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def address(self, path: str = "/") -> Address:
        return Address("http", "127.0.0.1", self.server_port, path)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    monkeypatch.setenv("HALO_LINK_NETWORKS", "127.0.0.0/8")
    server = Web()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join()
