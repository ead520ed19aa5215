"""The bytes of a link for the pipeline: fetched, judged, stored under their hash."""

from __future__ import annotations

import contextlib
import mimetypes
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from services import settings
from services.errors import HaloError, LinkError, UnreadableSourceError
from services.intake import Incoming, shown_name, take_in, title_name
from services.links import challenge
from services.links.address import Address, exact
from services.links.fetch import Fetcher, Limits, Reply
from services.links.guard import guard
from services.models import Document, Fetched, Job, Source, now
from services.parsers import SUPPORTED_EXTENSIONS
from services.unpacking import is_archive
from services.workspace import Workspace

NOT_MODIFIED = 304
_TITLED = frozenset({"html", "subtitles"})
"""Kinds that are called by their title; other files have a name."""
_TEXT = frozenset({"text/html", "application/xhtml+xml", "text/plain", "text/csv", "text/markdown"})
_RECODED = 50_000_000


def is_due(source: Source, job: Job) -> bool:
    """True when the bytes of a source are to be fetched before it can be read."""
    return bool(source.url) and "sha256" not in job.fields and (job.fetch or not source.sha256)


def bring(
    workspace: Workspace,
    source: Source,
    *,
    progress: Callable[[int, int], None],
    cancelled: Callable[[], bool],
) -> dict[str, Any]:
    """Fetch what a link names and store it under its hash.

    Returns:
        Fields for its record: ``fetched``, and unless it is what the record already has,
        ``sha256``, ``size`` and ``file_name``.

    Raises LinkError, UserInputError, TooLargeError, CancelledError, StorageError.
    """
    address = exact(source.url or "")
    fetcher = Fetcher(guard(), Limits(settings.upload_limit()), cancelled)
    incoming = workspace.originals / f".incoming-{uuid.uuid4().hex}"
    try:
        if address.video:
            from services.links.youtube import captions

            incoming.write_bytes(captions(fetcher, address.video))
            reply = Reply(address, 200, {"content-type": "text/vtt"})
        else:
            known = source.fetched if source.sha256 else None
            reply = fetcher.save(address, incoming, headers=_if_changed(known), progress=progress)
            if known and reply.status == NOT_MODIFIED:
                return {"fetched": _still(known)}
            challenge.refuse_status(reply)
            _recode(incoming, reply)
        taken = take_in(workspace, Incoming(_file_name(address, reply), incoming))
    finally:
        incoming.unlink(missing_ok=True)
    if taken.error:
        raise _refused(taken.error)
    if is_archive(workspace.original(taken.sha256 or "-")):
        raise LinkError(
            "A ZIP archive stands at this address.",
            code="link_archive",
            step="Download it and add it as a file.",
        )
    if source.fetched and taken.sha256 == source.sha256:
        return {"fetched": _still(source.fetched)}
    fetched = Fetched(
        address=str(reply.address),
        etag=reply.headers.get("etag", ""),
        modified=reply.headers.get("last-modified", ""),
    )
    return {
        "sha256": taken.sha256,
        "size": taken.size,
        "file_name": taken.name,
        "fetched": fetched.model_dump(mode="json"),
    }


def complete(document: Document, page: Path, record: dict[str, Any]) -> str:
    """Add to a document what only the link's record knows; returns the title by which a page or
    video is called, "" for a file, which has a name.

    Raises LinkError for a page that is no content.
    """
    address = exact(record["url"])
    if document.kind == "html":
        challenge.refuse_page(document, page, address, record["fetched"]["address"])
    document.metadata["url"] = record["url"]
    return title_name(document.title) if document.kind in _TITLED and document.title else ""


def without_text(source: Source, page: Path, error: UnreadableSourceError) -> HaloError:
    """The error to record where a file holds no text: for a link, what stands in its place."""
    if not source.url:
        return error
    return challenge.without_text(page, exact(source.url), error)


def _if_changed(known: Fetched | None) -> dict[str, str]:
    """The headers that ask only for what changed since."""
    if known is None:
        return {}
    sent = {"If-None-Match": known.etag, "If-Modified-Since": known.modified}
    return {name: value for name, value in sent.items() if value and value.isascii()}


def _still(known: Fetched) -> dict[str, Any]:
    return known.model_dump(mode="json") | {"unchanged": now()}


def _file_name(address: Address, reply: Reply) -> str:
    """What a file is called: as its server says, else as the address ends; with the ending of its
    stated type where it has none that HALO reads."""
    last = unquote(reply.address.target.partition("?")[0].rstrip("/").rsplit("/", 1)[-1])
    name = shown_name(reply.file_name or last or address.host)
    if Path(name).suffix.lower() in SUPPORTED_EXTENSIONS:
        return name
    ending = mimetypes.guess_extension(reply.media_type) or ""
    return name + (ending if ending in SUPPORTED_EXTENSIONS else "")


def _recode(page: Path, reply: Reply) -> None:
    """Keep a text as UTF-8 whose encoding only the server states: the file alone would not tell."""
    charset = reply.charset
    if not charset or reply.media_type not in _TEXT or page.stat().st_size > _RECODED:
        return
    data = page.read_bytes()
    with contextlib.suppress(UnicodeDecodeError):
        data.decode("utf-8")
        return
    with contextlib.suppress(UnicodeDecodeError, LookupError):
        page.write_bytes(data.decode(charset).encode("utf-8"))


def _refused(error: dict[str, Any]) -> LinkError:
    """What ``take_in`` says of a file, said of a link."""
    if error["code"] == "empty_file":
        return LinkError("The page is empty (0 bytes).", code="link_empty", step=challenge.BY_HAND)
    return LinkError(error["message"], code=error["code"], **error["params"])
