"""An address as a user typed it, in the one form under which it is kept and found again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qs, quote, urljoin, urlsplit

import idna

from services.errors import UserInputError

LONGEST = 4000
PORTS = {"http": 80, "https": 443}
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(?!\d+(?:[/?#]|$))", re.IGNORECASE)
_TRACKING = re.compile(
    r"(?:utm_\w+|fbclid|gclid|dclid|gbraid|wbraid|msclkid|yclid|twclid|igshid|mc_cid|mc_eid|"
    r"_hsenc|_hsmi|mkt_tok|oly_enc_id|vero_id)(?:=|$)",
    re.IGNORECASE,
)
_HOST = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_.])?")
_KEPT = "%/:=&?~+!$,;'@()*[]"
"""Characters of a path or query that are sent as they stand."""
_VIDEO_ID = re.compile(r"[\w-]{11}")
_VIDEO_HOSTS = frozenset(
    f"{prefix}{name}.com"
    for prefix in ("", "www.", "m.", "music.")
    for name in ("youtube", "youtube-nocookie")
)


@dataclass(frozen=True)
class Address:
    """An http or https address without user name, password and fragment.

    ``host`` is in lower case, an IPv6 number without brackets; ``target`` the path with its query.
    """

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The host as an URL and the Host header write it, with the port unless it is the usual."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def video(self) -> str | None:
        """The id of the YouTube video it shows, or None."""
        parts = urlsplit(self.target)
        steps = parts.path.strip("/").split("/")
        if self.host == "youtu.be":
            found = steps[0]
        elif self.host not in _VIDEO_HOSTS:
            return None
        elif steps[0] == "watch":
            found = parse_qs(parts.query).get("v", [""])[0]
        else:
            known = steps[0] in ("shorts", "live", "embed", "v") and len(steps) > 1
            found = steps[1] if known else ""
        return found if _VIDEO_ID.fullmatch(found) else None

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}{self.target}"

    def joined(self, location: str) -> Address:
        """Where a redirect from here leads; a user name in it is dropped. Raises UserInputError."""
        return exact(urljoin(str(self), _clean(location)))


def parse(typed: str) -> Address:
    """What a user typed as an address in its one form: without fragment, usual port and what only
    tracks visitors; ``https`` where no scheme was typed; each way to a YouTube video as one.

    Raises:
        UserInputError: another scheme (``link_scheme``), a user name or password in it
            (``link_user``), or no address at all (``link_invalid``).
    """
    text = _clean(typed)
    if not _SCHEME.match(text):
        text = f"https://{text.removeprefix('//')}"
    address = exact(text)
    if "@" in urlsplit(text).netloc:
        raise UserInputError(
            "This address holds a user name or password, which HALO neither sends nor keeps.",
            code="link_user",
            step="Take it out of the address, or download the file yourself and upload it.",
        )
    if address.video:
        return Address("https", "www.youtube.com", 443, f"/watch?v={address.video}")
    path, mark, query = address.target.partition("?")
    kept = "&".join(part for part in query.split("&") if part and not _TRACKING.match(part))
    target = f"{path}{mark if kept else ''}{kept}"
    return Address(address.scheme, address.host, address.port, target)


def shown(typed: str) -> str:
    """What was typed, for a row on the screen: bounded, and never with a password in it."""
    text = re.sub(r"//[^/?#]*@", "//", _clean(typed))
    return text if len(text) <= 300 else f"{text[:299]}…"


def _clean(text: str) -> str:
    return "".join(c for c in text if c.isprintable()).strip()


def exact(text: str) -> Address:
    """A whole address as it stands, without its fragment and user. Raises UserInputError."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise _invalid() from error
    scheme = parts.scheme.lower()
    if scheme not in PORTS:
        raise UserInputError(
            "HALO opens only http and https addresses.",
            code="link_scheme",
            step="Add a file on this computer as a file.",
        )
    if len(text) > LONGEST or not parts.hostname:
        raise _invalid()
    return Address(scheme, _host(parts), port or PORTS[scheme], _target(parts))


def _host(parts: SplitResult) -> str:
    host = (parts.hostname or "").rstrip(".")
    if ":" in host:
        return host  # an IPv6 number; the resolver judges it
    try:
        host = host if host.isascii() else idna.encode(host, uts46=True).decode("ascii")
    except idna.IDNAError as error:
        raise _invalid() from error
    if not _HOST.fullmatch(host.lower()) or len(host) > 253:
        raise _invalid()
    return host.lower()


def _target(parts: SplitResult) -> str:
    path = quote(parts.path or "/", safe=_KEPT)
    query = f"?{quote(parts.query, safe=_KEPT)}" if parts.query else ""
    return f"{path}{query}"


def _invalid() -> UserInputError:
    return UserInputError(
        "This is not the address of a page or file on the web.",
        code="link_invalid",
        step="Copy the whole address from the browser.",
    )
