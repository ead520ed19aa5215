"""Pages that stand in front of the content are failures; pages about them are content."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.errors import LinkError, UnreadableSourceError
from services.links import challenge
from services.links.address import Address, exact
from services.links.fetch import Reply
from services.models import Document
from services.parsers import parse

ASKED = exact("https://news.example/article")
MENU = "<nav><a href=/>Home</a> <a href=/a>World</a> <a href=/b>Science</a></nav>"
PROSE = "<p>" + "The northern wells gave 41 litres a second in March. " * 40 + "</p>"


def judge(page: str, tmp_path: Path, reached: str = str(ASKED)) -> str:
    """The code of the refusal, "" for content. What holds no text is judged too."""
    path = tmp_path / "page"
    path.write_text(page, encoding="utf-8")
    try:
        document = parse(path, "page.html")
    except UnreadableSourceError as error:
        return challenge.without_text(path, ASKED, error).code
    try:
        challenge.refuse_page(document, path, ASKED, reached)
    except LinkError as refused:
        told = refused.step == challenge.BY_HAND and "news.example" in refused.message
        return refused.code if told else "not told what to do"
    return ""


CHALLENGES = {
    "managed challenge": """
<title>Just a moment...</title><body><h1>news.example</h1><p>Verifying you are human. This may
take a few seconds.</p><noscript>Enable JavaScript and cookies to
continue</noscript><script>window._cf_chl_opt={}</script></body>
""",
    "only script and noscript": """
<html><head><title>Just a moment...</title></head><body><noscript>Enable JavaScript and
cookies to continue</noscript><script>var a=1</script></body></html>
""",
    "slider": """
<title>news.example</title><body><p>Please enable JS and disable any ad blocker</p><script
src='https://ct.captcha-delivery.com/c.js'></script></body>
""",
    "press and hold": """
<title>Access to this page has been denied</title><p>Press &amp; Hold to confirm you are a
human (and not a bot).</p><div id=px-captcha></div>
""",
    "interruption": """
<title>Pardon Our Interruption</title><h1>Pardon Our Interruption</h1><p>As you were browsing
something about your browser made us think you were a bot.</p>
""",
    "proof of work": """
<title>Making sure you're not a bot!</title><p>Loading...</p><script id=anubis_challenge
type=application/json>{}</script>
""",
    "unusual traffic": """
<body><p>Our systems have detected unusual traffic from your computer network. Please solve
the CAPTCHA below.</p></body>
""",
    "German": """
<title>Nur einen Moment…</title><p>Bestätigen Sie, dass Sie ein Mensch sind.</p>
""",
    "old five seconds": """
<h1>Checking your browser before accessing news.example.</h1><p>This process is automatic.
DDoS protection.</p>
""",
}
SCRIPTS = {
    "app shell": """
<html><head><title>News</title></head><body><noscript>You need to enable JavaScript to run
this app.</noscript><div id=root></div><script src=/main.js></script></body></html>
""",
    "visible": """
<body><div id=app><p>JavaScript is not available. We've detected that JavaScript is disabled
in this browser. Please enable JavaScript to continue.</p></div></body>
""",
    "German": "<body><p>Bitte aktivieren Sie JavaScript, um diese Seite zu sehen.</p></body>",
    "nothing at all": "<html><body><div id=root></div><script>boot()</script></body></html>",
}
CONSENTS = {
    "wall": """
<title>Before you continue</title><h1>Before you continue</h1><p>We use cookies and data to
deliver and maintain services and measure audience engagement.</p><p>If you choose to “Accept
all”, we will also use cookies and data to personalise content. If you choose to “Reject all”,
we will not use cookies for these purposes.</p><p>Select “More options” to manage your privacy
settings.</p>
""",
    "banner instead of the page": """
<nav><a href=/>Home</a> <a href=/a>World</a> <a href=/b>Science</a></nav><div><h2>We value
your privacy</h2><p>We and our 842 partners store and access information on a device, such as
cookies, and process personal data for personalised advertising. With your consent we may use
precise geolocation data.</p><p>You may change your preferences or withdraw your consent at
any time. Our partners may process your data on the basis of legitimate interest.</p></div>
""",
    "a few words": """
<title>We value your privacy</title><div><p>We and our 842 partners store cookies on your device.
Accept all or manage your choices.</p><button>Accept all</button></div>
""",
    "German, pay or accept": """
<h1>Mit Werbung weiterlesen oder Pur-Abo</h1><p>Besuchen Sie uns wie gewohnt mit Werbung und
Tracking, indem Sie der Nutzung von Cookies zustimmen.</p><p>Sie können Ihre Einwilligung
jederzeit widerrufen. Details in den Datenschutzeinstellungen.</p><p>Alle akzeptieren</p>
""",
}
LOGINS = {
    "form": """
<title>Log in – News</title><h1>Log in</h1><form><label>E-mail<input
name=mail></label><label>Password<input type=password></label><button>Log
in</button></form><p>Forgot your password?</p>
""",
    "German form": """
<h1>Anmelden</h1><p>Bitte geben Sie Ihre Zugangsdaten ein.</p><form><input
type="password"></form>
""",
}
PAYWALLS = {
    "teaser": """
<h1>The wells run dry</h1><p>Something happened in the north.</p><p>Subscribe to continue
reading.</p>
""",
    "German": """
<h1>Die Brunnen</h1><p>Im Norden ist etwas geschehen.</p><p>Jetzt Abo abschließen und
weiterlesen.</p>
""",
}


@pytest.mark.parametrize("name", CHALLENGES)
def test_robot_checks(name: str, tmp_path: Path) -> None:
    assert judge(CHALLENGES[name], tmp_path) == "link_challenge"


@pytest.mark.parametrize("name", SCRIPTS)
def test_pages_that_only_javascript_fills(name: str, tmp_path: Path) -> None:
    assert judge(SCRIPTS[name], tmp_path) == "link_script"


@pytest.mark.parametrize("name", CONSENTS)
def test_consent_walls(name: str, tmp_path: Path) -> None:
    assert judge(CONSENTS[name], tmp_path) == "link_consent"


def test_sent_to_a_consent_server(tmp_path: Path) -> None:
    page = "<h1>Welcome</h1><p>Please choose how we may go on together from here.</p>"
    assert judge(page, tmp_path, "https://consent.news.example/m?c=1") == "link_consent"


@pytest.mark.parametrize("name", LOGINS)
def test_logins(name: str, tmp_path: Path) -> None:
    assert judge(LOGINS[name], tmp_path) == "link_login"


@pytest.mark.parametrize(
    "reached",
    [
        "https://accounts.id.example/v3/start?continue=x",
        "https://news.example/users/sign_in",
        "https://team.okta.com/app",
    ],
)
def test_sent_to_a_login(reached: str, tmp_path: Path) -> None:
    page = "<h1>Welcome back</h1><p>Your e-mail address</p><p>Next</p>"
    assert judge(page, tmp_path, reached) == "link_login"


@pytest.mark.parametrize("name", PAYWALLS)
def test_paywalls(name: str, tmp_path: Path) -> None:
    assert judge(PAYWALLS[name], tmp_path) == "link_paywall"


def test_the_beginning_of_an_article_is_kept_and_said_to_be_one(tmp_path: Path) -> None:
    beginning = "<p>" + "The northern wells gave 41 litres a second. " * 30 + "</p>"
    path = tmp_path / "page"
    path.write_text(f"<h1>Wells</h1>{beginning}<p>Subscribe to continue reading.</p>")
    document = parse(path, "page.html")
    challenge.refuse_page(document, path, ASKED, str(ASKED))
    assert [finding.code for finding in document.report.findings] == ["only_beginning"]


BANNER = "<div><p>We use cookies. Accept all or manage preferences; see our partners.</p></div>"
SHORT = "<p>" + "The wells gave 41 litres a second. " * 8 + "</p>"
LAW = "<p>“Accept all” and “Reject all” must be equally easy, the court said of cookies.</p>"
PASSWORD = "<form><input type=password></form>"
DETECTION = "<script>a.src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'</script>"
CONTENT = {
    "an article with a banner": f"<h1>Wells</h1>{PROSE}{BANNER}",
    "a short page with a banner": f"<h1>Wells</h1>{SHORT}{BANNER}",
    "an article about cookies": f"<h1>How consent banners work</h1>{PROSE}{LAW * 3}",
    "an article about robot checks": f"<h1>Why you must prove that you are not a robot</h1>{PROSE}",
    "a login in the head of a page": f"{PASSWORD}<h1>Wells</h1>{PROSE}",
    "a short note": "<h1>Opening hours</h1><p>The office is open from nine to five.</p>",
    "a manual of JavaScript": f"<h1>Modules</h1><p>JavaScript modules load once.</p>{PROSE}",
    "a page with JavaScript detection": f"<h1>Wells</h1>{PROSE}{DETECTION}",
}


@pytest.mark.parametrize("name", CONTENT)
def test_content(name: str, tmp_path: Path) -> None:
    assert judge(CONTENT[name], tmp_path) == ""


@pytest.mark.parametrize(
    ("status", "headers", "body", "code"),
    [
        (403, {"cf-mitigated": "challenge"}, "", "link_challenge"),
        (503, {}, "<title>Just a moment...</title>", "link_challenge"),
        (403, {}, "<script src=//ct.captcha-delivery.com/i.js>", "link_challenge"),
        (202, {"x-amzn-waf-action": "challenge"}, "", "link_challenge"),
        (429, {}, "<p>Slow down.</p>", "link_busy"),
        (403, {}, "<form><input type=password>", "link_login"),
        (404, {}, "<p>Please enable JavaScript</p>", "link_gone"),
    ],
)
def test_statuses(status: int, headers: dict[str, str], body: str, code: str) -> None:
    reply = Reply(Address("https", "news.example", 443, "/"), status, headers, body.encode())
    with pytest.raises(LinkError) as caught:
        challenge.refuse_status(reply)
    assert caught.value.code == code
    assert caught.value.step


def test_no_document_is_judged_slowly(tmp_path: Path) -> None:
    path = tmp_path / "page"
    path.write_bytes(b"<script" * 100_000)
    document = Document(title="subscribe " * 20_000)
    challenge.refuse_page(document, path, ASKED, str(ASKED))
