"""Pages that stand in front of the content: robot checks, consent and login pages, paywalls, and
pages that only JavaScript fills. They are failures, never sources.

A server that says no is judged by its status, its headers and the beginning of what it sent. A page
that came as if all were well is judged after it was read: by how little it says and in what words.
An article about cookies is long, or says something else as well.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from pathlib import Path

from services.errors import HaloError, LinkError
from services.links.address import Address, exact
from services.links.fetch import HEAD, Reply
from services.models import Document

BY_HAND = "Open it in your browser, then save the page and upload it, or paste its text."

_SHORT = 120
"""Words up to which a page may be nothing but a robot check or a login."""
_MIDDLING = 500
"""Words up to which a page may be nothing but a consent wall or the beginning of an article."""

_CHALLENGE = (
    "just a moment", "checking your browser", "verify you are human", "verifying you are human",
    "verify that you are human", "you are a robot", "not a robot", "unusual traffic",
    "ddos protection", "attention required", "pardon our interruption", "complete the captcha",
    "solve the captcha", "security check", "access to this page has been denied",
    "press & hold", "making sure you're not a bot", "automated access", "request unsuccessful",
    "nur einen moment", "kein roboter", "ein mensch sind", "browser wird überprüft",
    "ungewöhnlichen datenverkehr", "sicherheitsprüfung", "sicherheitsüberprüfung",
    "un instant", "vous êtes humain", "pas un robot", "eres humano", "un momento",
)  # fmt: skip
_CHALLENGE_MARKS = (
    b"_cf_chl_opt", b"cf-challenge-", b"cf-browser-verification", b"captcha-delivery.com",
    b"px-captcha", b"sec-if-cpt-container", b"awswafcaptcha", b"gokuprops", b"_incapsula_resource",
    b"ddos-guard", b"anubis_challenge", b"sucuri_cloudproxy",
)  # fmt: skip
_SCRIPT = re.compile(
    r"(?:enable|activate|turn on|requires?|needs?|without|no|einschalten von|aktivieren sie|"
    r"benötigt|ohne|activer|activez|habilit\w+) (?:\w+ )?javascript|"
    r"javascript (?:\w+ )?(?:is |ist |must be |muss )?(?:\w+ )?(?:disabled|required|needed|"
    r"enabled|deaktiviert|erforderlich|benötigt|aktivier\w+|einschalten)"
)
_CONSENT = re.compile(
    r"cookie|before you continue|bevor (?:sie|du) fort|we value your privacy|your privacy|"
    r"ihre privatsphäre|datenschutzeinstellung|privacy settings|accept all|reject all|"
    r"manage (?:your |my )?(?:options|preferences|choices|settings|cookies)|"
    r"alle akzeptieren|alle ablehnen|alles akzeptieren|"
    r"akzeptieren und weiter|einwilligung|consent|legitimate interest|berechtigte[sn]? interesse|"
    r"our (?:\d+ )?partners|unsere (?:\d+ )?partner|\bpartners?\b.*\bdata\b|personalis|"
    r"personaliz|tout accepter|"
    r"mit werbung|tracking|zustimm"
)
_CONSENT_HOST = re.compile(r"(?:consent|guce|cmp|privacy-mgmt)\.")
_LOGIN = re.compile(
    r"\b(?:sign in|sign-in|signin|log in|log-in|login|log on|anmelden|anmeldung|einloggen|"
    r"connexion|se connecter|iniciar sesión|accedi|inloggen)\b"
)
_LOGIN_PATH = re.compile(
    r"/(?:log[-_]?in|sign[-_]?in|sso|auth|oauth2?|saml2?|authorize|anmelden|session/new)\b"
)
_LOGIN_HOST = re.compile(r"(?:accounts|login|auth|sso|signin|id|idp)\.|.*\.(?:okta|auth0)\.com")
_PASSWORD_FIELD = re.compile(rb"type\s*=\s*[\"']?password")
_PAYWALL = re.compile(
    r"(?:subscribe|subscription|register|sign up|create a(?: free)? account)\b.{0,60}"
    r"(?:continue reading|read (?:on|more|the full|this)|full access|keep reading)|"
    r"to continue reading|subscribers only|for subscribers|already a subscriber|"
    r"(?:abo|abonnement|abonnieren|registrieren)\b.{0,60}weiterlesen|weiterlesen mit|"
    r"nur für abonnent|réservé aux abonnés|solo para suscriptores"
)
_WORD = re.compile(r"\w+")


def refuse_status(reply: Reply) -> None:
    """Raise the LinkError for an answer that is no document (its body unsaved), and for robot
    checks that say so in their headers."""
    host = reply.address.host
    status = reply.status
    waf = reply.headers.get("x-amzn-waf-action", "")
    if reply.headers.get("cf-mitigated") == "challenge" or waf in ("challenge", "captcha"):
        raise _challenge(host)
    if status == HTTPStatus.OK:
        return
    text = reply.body.lower()
    if status in (HTTPStatus.FORBIDDEN, HTTPStatus.TOO_MANY_REQUESTS, 503) and (
        any(mark in text for mark in _CHALLENGE_MARKS)
        or any(phrase.encode() in text for phrase in _CHALLENGE)
    ):
        raise _challenge(host)
    if status == HTTPStatus.UNAUTHORIZED or (
        status == HTTPStatus.FORBIDDEN and _PASSWORD_FIELD.search(text)
    ):
        raise _login(host)
    if status == HTTPStatus.PAYMENT_REQUIRED:
        raise _paywall(host)
    if status in (HTTPStatus.NOT_FOUND, HTTPStatus.GONE):
        raise LinkError(
            f"{host} has no page at this address.",
            code="link_gone",
            step="Check the address in your browser.",
            host=host,
            status=status,
        )
    if status in (HTTPStatus.FORBIDDEN, 451, HTTPStatus.NOT_ACCEPTABLE):
        raise LinkError(
            f"{host} does not let HALO read this page.",
            code="link_forbidden",
            step=BY_HAND,
            host=host,
            status=status,
        )
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        raise LinkError(
            f"{host} had too many visits just now.",
            code="link_busy",
            step="Try again in a few minutes.",
            host=host,
            status=status,
        )
    fault = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    raise LinkError(
        f"{host} has a fault just now (status {status})."
        if fault
        else f"{host} did not send the page (status {status}).",
        code="link_server" if fault else "link_status",
        step="Try again later." if fault else BY_HAND,
        host=host,
        status=str(status),
    )


def refuse_page(document: Document, page: Path, asked: Address, reached: str) -> None:
    """Raise the LinkError for a web page that is no content.

    Args:
        document: what was read of it. A page that shows only its beginning gets a finding.
        page: its bytes.
        asked: the address that was asked for.
        reached: the address that sent it, after redirects.
    """
    host, final = asked.host, exact(reached)
    head = _head(page)
    words = document.report.words
    if words > _MIDDLING:
        return
    text = f"{document.title}\n{document.text}".casefold().replace("’", "'")
    heads = " ".join(
        [document.title, *(b.text for b in document.blocks if b.kind == "heading")]
    ).casefold()
    if words <= _SHORT:
        if any(mark in head for mark in _CHALLENGE_MARKS) or any(p in text for p in _CHALLENGE):
            raise _challenge(host)
        if _SCRIPT.search(text):
            raise _script(host)
    to_consent = final.host != host and _CONSENT_HOST.match(final.host)
    if to_consent or _is_consent(document):
        raise LinkError(
            f"{host} shows only its question about cookies or consent.",
            code="link_consent",
            step=BY_HAND,
            host=host,
        )
    sent = final.host != host or final.target.partition("?")[0] != asked.target.partition("?")[0]
    to_login = sent and bool(
        _LOGIN_PATH.search(final.target.casefold())
        or (final.host != host and _LOGIN_HOST.match(final.host))
    )
    if words <= _SHORT and (
        to_login or (_PASSWORD_FIELD.search(head) and _LOGIN.search(heads or text))
    ):
        raise _login(host)
    if _PAYWALL.search(text):
        if words <= _SHORT:
            raise _paywall(host)
        document.report.note(
            "only_beginning",
            "The page asks for a subscription; it may show only the beginning of its text.",
        )


def without_text(page: Path, asked: Address, error: HaloError) -> HaloError:
    """What to say of a link that brought no text: a page that only JavaScript fills, a robot check,
    or the error of the parser itself."""
    head = _head(page)
    if b"<html" not in head and b"<script" not in head:
        return error
    if any(mark in head for mark in _CHALLENGE_MARKS) or b"just a moment" in head:
        return _challenge(asked.host)
    if _PASSWORD_FIELD.search(head):
        return _login(asked.host)
    return _script(asked.host) if b"<script" in head else error


def _head(page: Path) -> bytes:
    with page.open("rb") as file:
        return file.read(HEAD).lower()


def _is_consent(document: Document) -> bool:
    """Whether most of a page's words stand in blocks that speak of cookies and consent."""
    about = total = 0
    kinds = len(set(_CONSENT.findall(document.title.casefold())))
    for block in document.blocks:
        text = block.text.casefold()
        count = sum(1 for _ in _WORD.finditer(text))
        found = set(_CONSENT.findall(text))
        total += count
        about += count if found else 0
        kinds += len(found)
    return kinds >= 3 and about >= 0.6 * total


def _challenge(host: str) -> LinkError:
    what = "checks whether its visitor is a person, so HALO did not get the page"
    return _by_hand("link_challenge", f"{host} {what}.", host)


def _script(host: str) -> LinkError:
    what = "is empty until JavaScript runs, which HALO does not do"
    return _by_hand("link_script", f"The page of {host} {what}.", host)


def _login(host: str) -> LinkError:
    what = "asks for a login, so HALO did not get the page"
    return _by_hand("link_login", f"{host} {what}.", host)


def _paywall(host: str) -> LinkError:
    return _by_hand("link_paywall", f"{host} shows this page to subscribers only.", host)


def _by_hand(code: str, sentence: str, host: str) -> LinkError:
    """The error for a page that only a person in a browser gets."""
    return LinkError(sentence, code=code, step=BY_HAND, host=host)
