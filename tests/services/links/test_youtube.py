"""Captions in YouTube's wire format, from a server on this computer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from services.errors import LinkError
from services.links import bring as bringing
from services.links.address import Address
from services.links.fetch import Fetcher, Limits, Reply
from services.links.guard import guard
from services.links.youtube import captions
from services.parsers import parse
from tests.services.conftest import Library
from tests.services.links.conftest import Web

VIDEO = "abcdefghijk"
TRACK = (
    '<?xml version="1.0" encoding="utf-8" ?><transcript>'
    '<text start="0.5" dur="2">Welcome to the wells &amp;amp; springs</text>'
    '<text start="3661.25" dur="1.75">41 litres --&gt; a second\nin March</text>'
    '<text start="3664" dur="1"> </text></transcript>'
)
WATCH = (
    '<html><head><meta itemprop="datePublished" content="2026-03-04T08:00:00-08:00"></head>'
    '<script>{"INNERTUBE_API_KEY": "a-key_1"}</script></html>'
)


def track(language: str, *, automatic: bool = False) -> dict[str, Any]:
    return {
        "baseUrl": f"https://www.youtube.com/api/timedtext?v={VIDEO}&lang={language}"
        + ("&kind=asr" if automatic else ""),
        "name": {"runs": [{"text": language}]},
        "languageCode": language,
        "kind": "asr" if automatic else "",
    }


def player(*tracks: dict[str, Any], **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "playabilityStatus": {"status": "OK"},
        "videoDetails": {"title": "The wells of  Senra", "author": "The survey"},
    }
    if tracks:
        found["captions"] = {"playerCaptionsTracklistRenderer": {"captionTracks": list(tracks)}}
    return found | more


class Rewired(Fetcher):
    """Asks the server of the test for what YouTube's hosts were asked for."""

    port = 0

    def ask(
        self, method: str, address: Address, headers: Mapping[str, str], content: bytes = b""
    ) -> Reply:
        assert (address.scheme, address.host, address.port) == ("https", "www.youtube.com", 443)
        here = Address("http", "127.0.0.1", self.port, address.target)
        return super().ask(method, here, headers, content)


@pytest.fixture
def fetcher(web: Web) -> Fetcher:
    web.page("/watch", WATCH)
    web.page("/api/timedtext", TRACK, Content_Type="text/xml; charset=utf-8")
    Rewired.port = web.server_port
    return Rewired(guard(), Limits(1_000_000))


def serve(web: Web, answer: dict[str, Any]) -> None:
    web.page("/youtubei/v1/player", json.dumps(answer), Content_Type="application/json")


def test_captions_become_subtitles_with_times(web: Web, fetcher: Fetcher, tmp_path: Path) -> None:
    serve(web, player(track("en")))
    path = tmp_path / "captions.vtt"
    path.write_bytes(captions(fetcher, VIDEO))
    document = parse(path, "captions.vtt")
    assert document.title == "The wells of Senra"
    assert document.metadata == {"author": "The survey", "date": "2026-03-04"}
    assert document.report.language == "en" and document.report.complete
    assert [(block.time, block.text) for block in document.blocks] == [
        (0.5, "Welcome to the wells & springs"),
        (3661.25, "41 litres → a second in March"),
    ]
    paths = [path.partition("?")[0] for path, _ in web.seen]
    assert paths == ["/watch", "/youtubei/v1/player", "/api/timedtext"]
    assert not any("Cookie" in headers for _, headers in web.seen)


@pytest.mark.parametrize(
    ("tracks", "chosen"),
    [
        ([track("en"), track("de"), track("de", automatic=True)], "lang=de"),
        ([track("en"), track("de", automatic=True)], "lang=de&kind=asr"),
        ([track("fr"), track("en")], "lang=fr"),
        ([track("en-GB"), track("en", automatic=True)], "lang=en-GB"),
    ],
)
def test_the_language_that_is_spoken(
    web: Web, fetcher: Fetcher, tracks: list[dict[str, Any]], chosen: str
) -> None:
    serve(web, player(*tracks))
    written = captions(fetcher, VIDEO)
    assert web.seen[-1][0].endswith(chosen)
    assert (b"Captions: automatic" in written) == chosen.endswith("asr")


def stopped(status: str, reason: str) -> dict[str, Any]:
    return {"playabilityStatus": {"status": status, "reason": reason}}


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (player(), "video_no_captions"),
        (player(captions={"playerCaptionsTracklistRenderer": {}}), "video_no_captions"),
        (stopped("ERROR", "This video is unavailable"), "video_gone"),
        (
            stopped("LOGIN_REQUIRED", "This video may be inappropriate for some users."),
            "video_age",
        ),
        (stopped("LOGIN_REQUIRED", "Sign in to confirm you’re not a bot"), "video_blocked"),
        (stopped("UNPLAYABLE", "Members only."), "video_closed"),
        ({}, "video_not_understood"),
        (
            player({**track("en"), "baseUrl": "https://evil.example/api/timedtext"}),
            "video_not_understood",
        ),
        (
            player({**track("en"), "baseUrl": "http://www.youtube.com/api/timedtext"}),
            "video_not_understood",
        ),
        (
            player({**track("en"), "baseUrl": track("en")["baseUrl"] + "&exp=xpe"}),
            "video_blocked",
        ),
    ],
)
def test_why_there_are_none(web: Web, fetcher: Fetcher, answer: dict[str, Any], code: str) -> None:
    serve(web, answer)
    with pytest.raises(LinkError) as caught:
        captions(fetcher, VIDEO)
    assert caught.value.code == code
    assert caught.value.message.endswith(".") and caught.value.step


def test_blocked_and_broken_answers(web: Web, fetcher: Fetcher) -> None:
    def code() -> str:
        with pytest.raises(LinkError) as caught:
            captions(fetcher, VIDEO)
        return caught.value.code

    web.page("/watch", "", 429)
    assert code() == "video_blocked"
    web.page("/watch", '<div class="g-recaptcha"></div>')
    assert code() == "video_blocked"
    web.page("/watch", '<form action="https://consent.youtube.com/s"></form>')
    assert code() == "video_consent"
    web.page("/watch", "", 302, Location="https://elsewhere.example/")
    assert code() == "video_not_understood"
    web.page("/watch", WATCH)
    web.page("/youtubei/v1/player", "no json", Content_Type="application/json")
    assert code() == "video_not_understood"
    serve(web, player(track("en")))
    for broken in (
        "",
        "<transcript></transcript>",
        "<transcript><text>no time</text></transcript>",
    ):
        web.page("/api/timedtext", broken, Content_Type="text/xml")
        assert code() in ("video_not_understood", "video_no_captions")


def test_the_cookie_question_is_answered_for_one_video(web: Web, fetcher: Fetcher) -> None:
    asks = '<form action="https://consent.youtube.com/s"><input name="v" value="cb.1"></form>'

    def watch(handler: Any) -> None:
        handler.answer(WATCH if "CONSENT=YES+cb.1" in handler.headers.get("Cookie", "") else asks)

    web.pages["/watch"] = watch
    serve(web, player(track("en")))
    assert b"Welcome" in captions(fetcher, VIDEO)


def test_a_video_becomes_a_source(
    web: Web, fetcher: Fetcher, library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    from services import ingestion
    from services.adding import add_links
    from services.storage import get_source

    monkeypatch.setattr(bringing, "Fetcher", Rewired)
    serve(web, player(track("en", automatic=True)))
    added = add_links(library.workspace, [f"https://youtu.be/{VIDEO}?t=40"])[0]
    library.wait([added.source_id or ""])
    source = get_source(added.source_id or "", library.workspace)
    assert (source.status, source.name) == ("ready", "The wells of Senra")
    document = ingestion.load_document(library.workspace, source.id)
    assert document.metadata == {
        "author": "The survey",
        "date": "2026-03-04",
        "url": f"https://www.youtube.com/watch?v={VIDEO}",
    }
    assert [finding.code for finding in document.report.findings] == ["automatic_captions"]
    ingestion.fetch_again(library.workspace, source.id)
    library.wait([source.id])
    after = get_source(source.id, library.workspace)
    assert after.revision == source.revision and after.fetched and after.fetched.unchanged
