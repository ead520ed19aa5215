"""Who may ask.

A page in a browser reaches servers on the same computer. Without a key, HALO therefore answers only
requests addressed to this computer by a loopback name (a foreign name that leads here is DNS
rebinding) and none that a foreign page sent (browsers say so in ``Origin``). Where a key is set,
the key decides: no foreign page knows it, and none may send it.
"""

from __future__ import annotations

import ipaddress
from secrets import compare_digest
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from interfaces.api import failures
from services.errors import HaloError

OPEN = "/health"
"""Needs no key, so that whatever watches over the server needs none."""


def is_loopback(host: str) -> bool:
    """Whether a host's name or address means this computer and no other reaches it."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class Gate:
    """Lets a request through to ``app``, or answers it.

    Args:
        key: what requests must carry; None on an address that only this computer reaches.
    """

    def __init__(self, app: ASGIApp, key: str | None) -> None:
        self._app = app
        self._key = key

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refused(scope) if scope["type"] == "http" else None
        if refused is None:
            await self._app(scope, receive, send)
            return
        headers = {"WWW-Authenticate": "Bearer"} if refused.code == "key_needed" else None
        await failures.response(refused, headers)(scope, receive, send)

    def _refused(self, scope: Scope) -> HaloError | None:
        values: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            values.setdefault(name, []).append(value)
        if self._key is not None:
            given = values.get(b"authorization", [b""])
            return None if scope["path"] == OPEN else _without_key(given, self._key)
        return _foreign(values.get(b"host", []), values.get(b"origin", []))


def _without_key(given: list[bytes], key: str) -> HaloError | None:
    scheme, _, value = given[0].partition(b" ")
    if scheme.lower() == b"bearer" and compare_digest(value.strip(), key.encode()):
        return None
    return failures.KeyNeeded(
        "The request carries no valid key.",
        step="Send the header “Authorization: Bearer KEY” with the value of HALO_API_KEY.",
    )


def _foreign(hosts: list[bytes], origins: list[bytes]) -> HaloError | None:
    host = hosts[0].decode("latin-1") if len(hosts) == 1 else ""
    if not is_loopback(_name_in(host)):
        return failures.Forbidden(
            "HALO answers only requests addressed to this computer.",
            code="foreign_host",
            step="Use http://127.0.0.1 with the port, or set HALO_API_KEY.",
        )
    if any(origin.decode("latin-1").lower() != f"http://{host}".lower() for origin in origins):
        return failures.Forbidden(
            "HALO answers no requests that a page of another site sent.",
            code="foreign_origin",
            step="Send it from a program, not from a web page.",
        )
    return None


def _name_in(host: str) -> str:
    """The name in a Host header, without its port; "" when it holds none."""
    try:
        parts = urlsplit(f"//{host}")
        valid = parts.netloc == host and "@" not in host and parts.port != 0
    except ValueError:
        return ""
    return (parts.hostname or "") if valid else ""
