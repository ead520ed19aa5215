"""Addresses of model servers: one spelling, and whether texts sent there leave the house."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit, urlunsplit

from services.errors import SettingsError

OPENAI = "https://api.openai.com/v1"
_PRIVATE = tuple(
    ipaddress.ip_network(network)
    for network in (
        *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"),
        *("0.0.0.0/32", "::/128", "::1/128", "fc00::/7", "fe80::/10"),
    )
)
_LOCAL_NAMES = ("localhost", "host.docker.internal")


def normalised(url: str, name: str = "HALO_EMBEDDING_URL") -> str:
    """The base address of an OpenAI-compatible server, as it is asked: ``https://host/v1``.

    A bare host gets ``/v1``; a doubled ``/v1``, a closing slash, ``/embeddings`` and
    ``/chat/completions`` go.

    Raises:
        SettingsError: it is no http(s) address, or holds a password or a query; ``name`` is the
            setting that the sentence names. The address is not repeated: it may hold a secret.
    """
    try:
        parts = urlsplit(url.strip())
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or parts.username is not None or parts.query or parts.fragment:
        raise SettingsError(
            f"{name} is not an address that HALO can use.",
            code="bad_url",
            step="Use the form http://host:port/v1, without password or query.",
            name=name,
        )
    path = parts.path.rstrip("/")
    for end in ("/embeddings", "/chat/completions"):
        path = path.removesuffix(end).rstrip("/")
    while path.endswith("/v1/v1"):
        path = path.removesuffix("/v1")
    return urlunsplit((parts.scheme, parts.netloc.lower(), path or "/v1", "", ""))


def is_hosted(url: str) -> bool:
    """False only when the address itself shows that it is loopback or in a private network.

    A name other than ``localhost`` counts as hosted, whatever it resolves to today: what is kept
    in the house must not depend on a name server.
    """
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host in _LOCAL_NAMES or host.endswith(".localhost"):
        return False
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return True
    mapped = getattr(address, "ipv4_mapped", None)
    return not any((mapped or address) in network for network in _PRIVATE)
