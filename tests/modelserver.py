"""A server that speaks the OpenAI protocol on loopback and says what its script says.

``ModelServer.script`` is asked for each chat request and gives the ``Reply``; the client, the wire
and the time are real. ``asked`` keeps what was sent. A streamed reply notices when its reader has
gone: ``cut_off`` counts those, ``sent`` the pieces that went out.
"""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Ending = str
"""``done``; ``cut``: the connection drops; ``quiet``: it closes without the end mark; ``garbage``:
a piece that is no JSON; ``error``: an error inside the stream."""


@dataclass
class Reply:
    """One answer.

    A ``status`` other than 200 sends ``error`` as OpenAI does. ``pieces`` are sent one by one,
    ``pause`` seconds apart, the first after ``first`` seconds.
    """

    pieces: Sequence[str] = ()
    first: float = 0.0
    pause: float = 0.0
    ending: Ending = "done"
    finish: str = "stop"
    usage: tuple[int, int] | None = (11, 7)
    tool_calls: Sequence[dict[str, Any]] = ()
    status: int = 200
    error: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """Sent as it is, in place of all that."""


def say(text: str, **options: Any) -> Reply:
    """A reply that says ``text`` in pieces of about a token."""
    return Reply(re.findall(r"\s*\S{1,4}|\s+", text), **options)


def refuse(status: int, message: str = "no", code: str | None = None, **headers: str) -> Reply:
    """An error as OpenAI sends it."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, error={"message": message, "code": code}, headers=names)


@dataclass
class ModelServer:
    """The running server."""

    url: str
    script: Callable[[dict[str, Any]], Reply]
    models: list[dict[str, Any]] = field(default_factory=lambda: [{"id": "test-model"}])
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    sent: int = 0
    cut_off: int = 0

    def in_turn(self, *replies: Reply) -> None:
        """These replies one after the other; the last one stays."""
        waiting = list(replies)
        self.script = lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0]

    def prompt(self, at: int = -1) -> str:
        """All that a chat request told the model."""
        return "\n\n".join(message["content"] for message in self.asked[at]["messages"])


@contextmanager
def model_server() -> Iterator[ModelServer]:
    class Handler(_Handler):
        server_state: ModelServer

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        http.daemon_threads = True
        running = ModelServer(f"http://127.0.0.1:{http.server_port}/v1", lambda _: say("Hello."))
        Handler.server_state = running
        threading.Thread(target=http.serve_forever, args=(0.02,), daemon=True).start()
        yield running
        http.shutdown()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_state: ModelServer

    def do_GET(self) -> None:
        state = self.server_state
        state.paths.append(self.path)
        state.keys.append(self.headers["authorization"])
        if self.path.endswith("/models"):
            rows = [{"object": "model", **model} for model in state.models]
            self._json(200, {"object": "list", "data": rows})
        else:
            self._json(404, {"error": {"message": "no such path"}})

    def do_POST(self) -> None:
        state = self.server_state
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        state.paths.append(self.path)
        state.keys.append(self.headers["authorization"])
        if not self.path.endswith("/chat/completions"):
            self._json(404, {"error": {"message": "no such path"}})
            return
        state.asked.append(request)
        reply = state.script(request)
        if reply.body is not None:
            self._send(reply.status, reply.body, {"content-type": "text/html"} | reply.headers)
        elif reply.status != 200:
            self._json(reply.status, {"error": reply.error}, reply.headers)
        elif request.get("stream"):
            self._stream(request, reply)
        else:
            time.sleep(reply.first)
            self._json(200, _whole(request, reply))

    def _stream(self, request: dict[str, Any], reply: Reply) -> None:
        state = self.server_state
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        try:
            time.sleep(reply.first)
            self._piece(_chunk(request, {"role": "assistant", "content": ""}))
            for piece in reply.pieces:
                self._piece(_chunk(request, {"content": piece}))
                state.sent += 1
                time.sleep(reply.pause)
            match reply.ending:
                case "cut":
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                case "garbage":
                    self._chunked(b"data: {not json\n\n")
                case "error":
                    self._piece({"error": {"message": "the model crashed", "code": 500}})
                case "done":
                    calls = [{"index": n} | call for n, call in enumerate(reply.tool_calls)]
                    if calls:
                        self._piece(_chunk(request, {"tool_calls": calls}))
                    self._piece(_chunk(request, {}, finish=reply.finish))
                    if reply.usage:
                        told = _chunk(request, {}) | {"choices": [], "usage": _usage(reply)}
                        self._piece(told)
                    self._chunked(b"data: [DONE]\n\n")
            self._chunked(b"")
        except (BrokenPipeError, ConnectionResetError):
            state.cut_off += 1
            self.close_connection = True

    def _piece(self, data: dict[str, Any]) -> None:
        self._chunked(b"data: " + json.dumps(data).encode() + b"\n\n")

    def _chunked(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _json(self, status: int, body: Any, headers: dict[str, str] | None = None) -> None:
        self._send(
            status,
            json.dumps(body).encode(),
            {"content-type": "application/json"} | (headers or {}),
        )

    def _send(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Tests read what was sent in ``asked``."""


def _chunk(
    request: dict[str, Any], delta: dict[str, Any], finish: str | None = None
) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": request["model"],
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def _whole(request: dict[str, Any], reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "".join(reply.pieces)}
    if reply.tool_calls:
        message["tool_calls"] = list(reply.tool_calls)
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": request["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reply.finish}],
        "usage": _usage(reply),
    }


def _usage(reply: Reply) -> dict[str, int]:
    read, written = reply.usage or (0, 0)
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": read + written}
