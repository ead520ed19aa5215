"""The captions of a YouTube video, as subtitles that carry their times, the title and the channel.

``youtube_transcript_api`` knows YouTube's ways; each of its requests goes through HALO's own
downloads, to YouTube's hosts only. Its session lives for one video. Where YouTube shows its
cookie question first, the library answers it with a cookie that lives as long.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from html import escape, unescape
from typing import Any
from xml.etree.ElementTree import ParseError

import requests
import urllib3
from requests.adapters import HTTPAdapter
from youtube_transcript_api import (
    AgeRestricted,
    CouldNotRetrieveTranscript,
    FailedToCreateConsentCookie,
    FetchedTranscript,
    InvalidVideoId,
    IpBlocked,
    NoTranscriptFound,
    PoTokenRequired,
    RequestBlocked,
    Transcript,
    TranscriptsDisabled,
    VideoUnavailable,
    VideoUnplayable,
    YouTubeTranscriptApi,
)

from services.errors import LinkError
from services.links.address import exact
from services.links.fetch import Fetcher

HOSTS = frozenset({"www.youtube.com", "consent.youtube.com"})
BY_HAND = "Add a transcript as a file, or paste one."
_OTHER_SHAPE = (AttributeError, LookupError, TypeError, ValueError)
"""What the library meets in an answer of another shape than it expects."""
_PUBLISHED = re.compile(r'itemprop="(?:datePublished|uploadDate)" content="(\d{4}-\d\d-\d\d)')


def captions(fetcher: Fetcher, video: str) -> bytes:
    """The captions of a video as WebVTT: those of its own language, written by people where there
    are such. Its title, channel, day and language stand in the header.

    Raises:
        LinkError: there are none (``video_no_captions``), or YouTube does not give them.
        CancelledError.
    """
    session = _Session(fetcher)
    try:
        chosen = _own_language(list(YouTubeTranscriptApi(http_client=session).list(video)))
        transcript = chosen.fetch()
    except CouldNotRetrieveTranscript as error:
        raise _in_words(error) from error
    except (requests.RequestException, ParseError, *_OTHER_SHAPE) as error:
        raise _not_understood() from error
    if not any(snippet.text.strip() for snippet in transcript):
        raise _no_captions()
    return _webvtt(transcript, session.about)


class _Session(requests.Session):
    """A session whose requests go through a ``Fetcher``; it remembers what is said of the video."""

    def __init__(self, fetcher: Fetcher) -> None:
        super().__init__()
        self.about: dict[str, str] = {}
        self.trust_env = False
        self.mount("https://", _Adapter(fetcher, self.about))
        del self.adapters["http://"]


class _Adapter(HTTPAdapter):
    def __init__(self, fetcher: Fetcher, about: dict[str, str]) -> None:
        super().__init__()
        self._fetcher, self._about = fetcher, about

    def send(  # type: ignore[override]  # the options of a connection are the fetcher's
        self, request: requests.PreparedRequest, **_: object
    ) -> requests.Response:
        address = exact(request.url or "")
        if address.host not in HOSTS or address.scheme != "https":
            raise _not_understood()
        wanted = ("Content-Type", "Accept-Language", "Cookie")
        headers = {name: str(request.headers[name]) for name in wanted if name in request.headers}
        body = request.body or b""
        assert isinstance(body, str | bytes)
        reply = self._fetcher.ask(
            request.method or "GET",
            address,
            headers,
            body.encode() if isinstance(body, str) else body,
        )
        plain = {key: value for key, value in reply.headers.items() if key != "content-encoding"}
        answer = self.build_response(
            request,
            urllib3.HTTPResponse(
                io.BytesIO(reply.body), plain, reply.status, preload_content=False
            ),
        )
        if answer.ok:
            self._about |= _said_of(answer)
        return answer


def _said_of(answer: requests.Response) -> dict[str, str]:
    """Title, channel and day of the video, where an answer holds them."""
    if "json" not in answer.headers.get("content-type", ""):
        published = _PUBLISHED.search(answer.text)
        return {"date": published[1]} if published else {}
    try:
        details = answer.json().get("videoDetails") or {}
    except (ValueError, AttributeError):
        return {}
    found = {"title": details.get("title"), "author": details.get("author")}
    return {key: value for key, value in found.items() if isinstance(value, str)}


def _own_language(found: list[Transcript]) -> Transcript:
    """Captions in the language that is spoken, which only automatic captions tell."""
    if not found:
        raise _no_captions()
    automatic = next((one for one in found if one.is_generated), None)
    if automatic is None:
        return found[0]
    spoken = automatic.language_code.split("-")[0]
    by_hand = (one for one in found if one.language_code.split("-")[0] == spoken)
    return next((one for one in by_hand if not one.is_generated), automatic)


def _webvtt(transcript: FetchedTranscript, about: Mapping[str, str]) -> bytes:
    title = _one_line(about.get("title", ""))
    head = [f"WEBVTT - {title}" if title else "WEBVTT", "Kind: captions"]
    head.append(f"Language: {_one_line(transcript.language_code)}")
    said = [key for key in ("author", "date") if about.get(key)]
    head += [f"{key.title()}: {_one_line(about[key])}" for key in said]
    if transcript.is_generated:
        head.append("Captions: automatic")
    cues = []
    for snippet in transcript:
        text = _one_line(unescape(snippet.text))
        if text:
            times = f"{_time(snippet.start)} --> {_time(snippet.start + snippet.duration)}"
            cues.append(f"{times}\n{escape(text, quote=False)}")
    return "\n\n".join(["\n".join(head), *cues, ""]).encode()


def _one_line(text: str) -> str:
    return " ".join(text.replace("-->", "→").split())


def _time(seconds: float) -> str:
    whole, rest = divmod(round(seconds * 1000), 1000)
    return f"{whole // 3600:02}:{whole // 60 % 60:02}:{whole % 60:02}.{rest:03}"


def _in_words(error: CouldNotRetrieveTranscript) -> LinkError:
    """What the library says of a video, in a sentence."""
    params: dict[str, Any] = {}
    match error:
        case TranscriptsDisabled() | NoTranscriptFound():
            return _no_captions()
        case VideoUnavailable() | InvalidVideoId():
            return LinkError(
                "This video is not there, or no longer.",
                code="video_gone",
                step="Check the address in your browser.",
            )
        case AgeRestricted():
            said, code = "YouTube shows this video only to adults who are logged in.", "video_age"
        case RequestBlocked() | IpBlocked() | PoTokenRequired():
            said = "YouTube takes HALO for a robot and does not give the captions."
            code = "video_blocked"
        case FailedToCreateConsentCookie():
            said = "YouTube shows only its question about cookies."
            code = "video_consent"
        case VideoUnplayable():
            reason = _one_line(error.reason or "no reason given")[:200].rstrip(".")
            said, code, params = (
                f"YouTube does not play this video: {reason}.",
                "video_closed",
                {"reason": reason},
            )
        case _:
            return _not_understood()
    return LinkError(said, code=code, step=BY_HAND, **params)


def _no_captions() -> LinkError:
    return LinkError(
        "This video has no captions, so there is no text to read.",
        code="video_no_captions",
        step=BY_HAND,
    )


def _not_understood() -> LinkError:
    return LinkError(
        "YouTube answered in a way that HALO does not understand.",
        code="video_not_understood",
        step=f"Try again later. {BY_HAND}",
    )
