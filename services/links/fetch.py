"""One download: over checked connections, bounded in size, time and redirects, into a file.

Nothing of the user's goes along: no cookies, no password, no referrer. Proxies of the environment
are not used, for a proxy would resolve names on its own.
"""

from __future__ import annotations

import contextlib
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from email.message import Message
from functools import cache
from http import HTTPStatus
from pathlib import Path

import httpcore2

from services.errors import (
    CancelledError,
    HaloError,
    LinkError,
    TooLargeError,
    UserInputError,
    from_os_error,
)
from services.links.address import Address
from services.links.guard import Guard

REDIRECTS = 5
SECONDS = 300.0
"""A whole download, redirects and all."""
STALL_SECONDS = 30.0
"""The longest silence of a server."""
CONNECT_SECONDS = 10.0
HEAD = 1 << 18
"""How much of a body that came with an error is looked at."""
_POLL = 0.25
_BLOCK = 1 << 16
_MOVED = frozenset({301, 302, 303, 307, 308})

AGENT = "HALO/0.1 (research workspace; fetches single pages that its user names)"


@dataclass(frozen=True)
class Limits:
    """What one download may cost: bytes (unpacked), seconds in all, seconds of silence."""

    size: int
    seconds: float = SECONDS
    stall: float = STALL_SECONDS


@dataclass(frozen=True)
class Reply:
    """What a server answered in the end. ``headers`` have lower-case names; ``body`` is only the
    beginning of it, and only where nothing was saved."""

    address: Address
    status: int
    headers: dict[str, str]
    body: bytes = b""

    @property
    def media_type(self) -> str:
        """The type as stated, such as ``text/html``; "" when none is."""
        stated = self.headers.get("content-type", "")
        return stated.partition(";")[0].strip().lower()

    @property
    def charset(self) -> str | None:
        return _message("content-type", self.headers.get("content-type", "")).get_content_charset()

    @property
    def file_name(self) -> str | None:
        """The name the server gives the file, as text."""
        stated = self.headers.get("content-disposition", "")
        with contextlib.suppress(UnicodeError):  # many servers send UTF-8 as it is
            stated = stated.encode("latin-1").decode()
        return _message("content-disposition", stated).get_filename() if stated else None


def _message(header: str, value: str) -> Message:
    message = Message()
    message[header] = value
    return message


@dataclass
class Fetcher:
    """Downloads one after the other, all within the same limits.

    Args:
        guard: judges every connection.
        limits: of all downloads together.
        cancelled: asked a few times a second; True raises CancelledError.
    """

    guard: Guard
    limits: Limits
    cancelled: Callable[[], bool] = lambda: False
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.limits.seconds

    def save(
        self,
        address: Address,
        target: Path,
        *,
        headers: Mapping[str, str] | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Reply:
        """Write what stands at an address to ``target``; only an answer 200 is written.

        Args:
            headers: sent along, for a conditional request.
            progress: called as ``progress(bytes so far, bytes in all or 0)``.

        Raises:
            LinkError: it cannot be reached, is not allowed, breaks off or takes too long.
            TooLargeError, CancelledError, StorageError.
        """
        for _ in range(REDIRECTS + 1):
            with self._open("GET", address, headers or {}) as (response, reply):
                if reply.status in _MOVED and "location" in reply.headers:
                    address = _redirected(address, reply.headers["location"])
                    continue
                if reply.status != HTTPStatus.OK:
                    return Reply(address, reply.status, reply.headers, self._head(response, reply))
                self._write(response, reply, target, progress)
                return reply
        raise LinkError(
            f"{address.host} sends visitors on more than {REDIRECTS} times.",
            code="link_redirects",
            step="Open the page in your browser and copy the address it ends at.",
            host=address.host,
            count=REDIRECTS,
        )

    def ask(
        self, method: str, address: Address, headers: Mapping[str, str], content: bytes = b""
    ) -> Reply:
        """One request without following redirects, its whole body in memory. Raises like
        ``save``."""
        with self._open(method, address, headers, content) as (response, reply):
            body = b"".join(self._unpacked(response, reply))
            return Reply(address, reply.status, reply.headers, body)

    @contextlib.contextmanager
    def _open(
        self, method: str, address: Address, headers: Mapping[str, str], content: bytes = b""
    ) -> Iterator[tuple[httpcore2.Response, Reply]]:
        """A response whose body is not read yet. Each request has a connection of its own, so each
        passes the guard."""
        sent = {
            "Host": address.authority,
            "User-Agent": AGENT,
            "Accept": "text/html, application/pdf;q=0.9, */*;q=0.8",
            "Accept-Encoding": "gzip",
            **headers,
        }
        url = httpcore2.URL(
            scheme=address.scheme, host=address.host, port=address.port, target=address.target
        )
        with (
            _as_link_errors(address.host, self.limits),
            httpcore2.ConnectionPool(
                ssl_context=_tls(), network_backend=_Guarded(self, self.guard)
            ) as pool,
            pool.stream(
                method,
                url,
                headers=[(name.encode(), value.encode()) for name, value in sent.items()],
                content=content or None,
                extensions={"timeout": {"connect": CONNECT_SECONDS, "write": self.limits.stall}},
            ) as response,
        ):
            found: dict[str, str] = {}
            for name, value in response.headers:
                found.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
            yield response, Reply(address, response.status, found)

    def _write(
        self,
        response: httpcore2.Response,
        reply: Reply,
        target: Path,
        progress: Callable[[int, int], None] | None,
    ) -> None:
        stated = reply.headers.get("content-length", "")
        packed = "content-encoding" in reply.headers
        total = int(stated) if stated.isdigit() and not packed else 0
        if total > self.limits.size:
            raise _too_large(self.limits)
        done = 0
        try:
            with target.open("xb") as out:
                for block in self._unpacked(response, reply):
                    out.write(block)
                    done += len(block)
                    if progress:
                        progress(done, total)
        except OSError as error:
            raise from_os_error(error, "storing a page") from error

    def _head(self, response: httpcore2.Response, reply: Reply) -> bytes:
        """The beginning of a body that will not be kept; whatever fails here is no matter."""
        found = b""
        with contextlib.suppress(LinkError, TooLargeError, *_BROKEN):
            for block in self._unpacked(response, reply):
                found += block
                if len(found) >= HEAD:
                    break
        return found[:HEAD]

    def _unpacked(self, response: httpcore2.Response, reply: Reply) -> Iterator[bytes]:
        """The body, unpacked piece by piece; never more than the limit, however small it was
        packed."""
        packing = reply.headers.get("content-encoding", "identity").strip().lower()
        blocks: Iterable[bytes] = response.iter_stream()
        if packing in ("gzip", "x-gzip"):
            blocks = _gunzipped(blocks)
        elif packing not in ("identity", ""):
            raise _broken_off(reply.address.host)
        size = 0
        for block in blocks:
            size += len(block)
            if size > self.limits.size:
                raise _too_large(self.limits)
            yield block

    def left(self) -> float:
        """Seconds until the deadline. Raises when it has passed or the user said stop."""
        if self.cancelled():
            raise CancelledError("Fetching was stopped.")
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout
        return left


_BROKEN = (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, zlib.error)


class _Guarded(httpcore2.NetworkBackend):
    """Connects only to numbers that the guard has just judged."""

    def __init__(self, fetcher: Fetcher, guard: Guard) -> None:
        self._fetcher, self._guard = fetcher, guard
        self._system = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        failure: Exception = httpcore2.ConnectError("no address")
        for number in self._numbers(host, port):
            wait = min(timeout or CONNECT_SECONDS, self._fetcher.left())
            try:
                stream = self._system.connect_tcp(number, port, wait, None, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
            else:
                return _Watched(stream, self._fetcher)
        raise failure

    def _numbers(self, host: str, port: int) -> list[str]:
        """What the guard says, asked in a thread of its own: a name server that does not answer
        cannot be interrupted, only left alone."""
        found: Future[list[str]] = Future()

        def look() -> None:
            try:
                found.set_result(self._guard.numbers(host, port))
            except HaloError as error:  # raised again where the result is awaited
                found.set_exception(error)

        threading.Thread(target=look, name="halo-names", daemon=True).start()
        asked = time.monotonic()
        while time.monotonic() - asked < self._fetcher.limits.stall:
            with contextlib.suppress(TimeoutError):
                return found.result(min(_POLL, self._fetcher.left()))
        raise httpcore2.ReadTimeout


class _Watched(httpcore2.NetworkStream):
    """A connection that looks at the clock and the cancel button while it waits: a server that
    sends one byte now and then, in headers or body, gains no time."""

    def __init__(self, stream: httpcore2.NetworkStream, fetcher: Fetcher) -> None:
        self._stream, self._fetcher = stream, fetcher

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        silent_since = time.monotonic()
        while True:
            wait = min(_POLL, self._fetcher.left())
            try:
                return self._stream.read(max_bytes, wait)
            except httpcore2.ReadTimeout:
                if time.monotonic() - silent_since > self._fetcher.limits.stall:
                    raise

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, min(self._fetcher.limits.stall, self._fetcher.left()))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        wait = min(CONNECT_SECONDS, self._fetcher.left())
        stream = self._stream.start_tls(ssl_context, server_hostname, wait)
        return _Watched(stream, self._fetcher)

    def get_extra_info(self, info: str) -> object:
        return self._stream.get_extra_info(info)


@cache
def _tls() -> ssl.SSLContext:
    return httpcore2.default_ssl_context()


def _gunzipped(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Unpack a gzip stream of one or more members in pieces of bounded size."""
    packed = zlib.decompressobj(wbits=31)
    whole = False
    for block in blocks:
        rest = block
        while rest:
            if whole:
                packed, whole = zlib.decompressobj(wbits=31), False
            yield packed.decompress(rest, _BLOCK)
            whole = packed.eof
            rest = packed.unused_data if whole else packed.unconsumed_tail
    if not whole:
        raise zlib.error("the stream ends early")


def _redirected(address: Address, location: str) -> Address:
    """Where a redirect leads; the guard judges it when it is connected to."""
    try:
        return address.joined(location)
    except UserInputError as error:
        raise LinkError(
            f"{address.host} sends visitors on to an address that HALO does not open.",
            code="link_sent_away",
            step="Save the page in your browser and upload it.",
            host=address.host,
        ) from error


@contextlib.contextmanager
def _as_link_errors(host: str, limits: Limits) -> Iterator[None]:
    """Turn what goes wrong on the wire into sentences."""
    again = "Check the address and try again later."
    try:
        yield
    except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
        if error.args and isinstance(error.args[0], ssl.SSLError):
            raise LinkError(
                f"The connection to {host} is not secure: its certificate cannot be checked.",
                code="link_certificate",
                step="Open the page in your browser; if you trust it, save it and upload the file.",
                host=host,
            ) from error
        raise LinkError(
            f"{host} does not answer.", code="link_no_answer", step=again, host=host
        ) from error
    except httpcore2.TimeoutException as error:
        raise LinkError(
            f"{host} took too long to answer.", code="link_slow", step=again, host=host
        ) from error
    except _BROKEN as error:
        raise _broken_off(host) from error


def _broken_off(host: str) -> LinkError:
    return LinkError(
        f"{host} sent an answer that is broken or breaks off.",
        code="link_broken",
        step="Try again; or download the file yourself and upload it.",
        host=host,
    )


def _too_large(limits: Limits) -> TooLargeError:
    limit = limits.size // 1_000_000
    return TooLargeError(
        f"The file is larger than {limit} MB.",
        step="Split it, or raise HALO_UPLOAD_LIMIT_MB.",
        limit=limit,
    )
