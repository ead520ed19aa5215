"""The status line of a source: its words, its tone, and how far the work is."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

from streamlit.delta_generator import DeltaGenerator

from panels import live, text
from panels.text import t
from services.ingestion import SourceView, list_sources
from services.models import ANSWERABLE
from services.speech import clock
from services.workspace import Workspace

HOPELESS = frozenset(
    {
        "unsupported_kind", "no_text", "empty_file", "too_large", "too_many_pixels", "no_sound",
        "no_speech",
    }
)  # fmt: skip
"""Codes of failures that lie in the file itself."""
_UNITS = ("pages", "sheets", "slides", "rows", "chapters", "messages", "cells", "cues", "seconds")


def running(view: SourceView) -> bool:
    """True while the line will change by itself."""
    if view.status == "text_ready":
        return view.source.error is None
    return view.status in ("queued", "reading") or view.total > 0


def tone(view: SourceView) -> str:
    """What the row asks for: "need" an answer, "fail" after a failure, "off" when cancelled."""
    return {"needs_password": "need", "failed": "fail", "cancelled": "off"}.get(view.status, "")


def sentence(view: SourceView) -> str:
    """The state in words."""
    source = view.source
    match view.status:
        case "queued":
            return t("status.waiting")
        case "reading":
            return _reading(view)
        case "text_ready" if source.error:
            return text.short(source.error)
        case "text_ready":
            return t("status.vectors", share=text.percent(share(view) or 0))
        case "ready" if view.total:
            return t("status.again", what=_reading(view))
        case "ready" if source.error and source.url:
            return t("status.not_fetched", why=text.short(source.error))
        case "ready":
            return t("status.ready", what=_with_origin(view, _extent(view)))
        case "failed":
            return text.short(source.error or {})
        case "needs_password" if wrong_password(view):
            return t("status.wrong_password")
        case _:
            return t(f"status.{view.status}")


def whole(view: SourceView) -> str:
    """The state in words, that of a failure in full: what happened and how to go on."""
    return text.error(view.source.error) if view.source.error else sentence(view)


def retryable(view: SourceView) -> bool:
    """True when reading the file or asking for the page again could end otherwise."""
    if view.source.url:
        return True
    return bool(view.source.sha256) and (view.source.error or {}).get("code") not in HOPELESS


def wrong_password(view: SourceView) -> bool:
    """True when a password was given and did not open the file."""
    return bool(((view.source.error or {}).get("params") or {}).get("wrong"))


def share(view: SourceView) -> float | None:
    """How much of the work is done, None when it cannot be counted."""
    return min(view.done / view.total, 1.0) if view.total else None


def fetched(view: SourceView) -> bool:
    """True when all of a link's bytes are here and wait for a reader."""
    return view.unit == "byte" and 0 < view.total <= view.done


def line(view: SourceView, *, bar: bool = True) -> str:
    """The status line as escaped HTML, with the thin progress bar below it."""
    shown = html.escape(sentence(view))
    classes = f"st num {tone(view)} {'live' if running(view) else ''}"
    part = share(view) if bar and running(view) and not fetched(view) else None
    gauge = f'<div class="bar"><i style="width:{part:.1%}"></i></div>' if part is not None else ""
    title = html.escape(whole(view))
    return f'<span class="{classes}" title="{title}">{shown}</span>{gauge}'


def _reading(view: SourceView) -> str:
    if view.unit == "passage":
        return t("status.vectors_only", share=text.percent(share(view) or 0))
    if view.unit == "byte":
        return t("status.fetched" if fetched(view) else "status.fetching")
    if not view.total:
        return t("status.reading")
    if view.unit == "second":
        return t("status.reading_second", done=clock(view.done), total=clock(view.total))
    unit = view.unit if text.has(f"status.reading_{view.unit}") else "page"
    return t(f"status.reading_{unit}", done=min(view.done + 1, view.total), total=view.total)


def _extent(view: SourceView) -> str:
    """114 pages; 6 sheets, 1 hidden; pasted, 1,240 words; 112 of 114 pages read."""
    source = view.source
    if source.origin == "text":
        return t("extent.pasted", n=source.words)
    if source.fetched and not source.unread:
        came = text.date(source.fetched.at)
        return t("extent.unchanged" if source.fetched.unchanged else "extent.fetched", date=came)
    unit = next((unit for unit in _UNITS if source.units.get(unit)), None)
    if unit is None or (source.type_label == "Image" and source.units[unit] == 1):
        return t("extent.words", n=source.words)
    count = source.units[unit]
    if unit == "seconds":
        return t("extent.seconds", length=clock(count))
    if source.unread and text.has(f"extent.{unit}_read"):
        return t(f"extent.{unit}_read", n=count, read=count - source.unread)
    extent = t(f"extent.{unit}", n=count)
    return t("extent.hidden", extent=extent, h=source.hidden) if source.hidden else extent


def _with_origin(view: SourceView, extent: str) -> str:
    """The extent, and where an attachment or a member of an archive came from."""
    came = view.source.meta
    if view.source.parent and came.startswith("from "):
        came = t("extent.from", name=came.removeprefix("from "))
    extent = f"{extent} · {came}" if came else extent
    return t("extent.private", extent=extent) if view.source.private else extent


def answerable(view: SourceView) -> bool:
    """True when the source can be included in questions."""
    return view.status in ANSWERABLE


def follow(
    workspace: Workspace, moving: Sequence[SourceView], slots: Mapping[str, DeltaGenerator]
) -> None:
    """Keep the status lines of rows in work current, in one fragment that writes into their
    ``slots``. The page follows when one of them changes its state."""
    before = {view.source.id: view.status for view in moving}

    def draw() -> bool:
        now = [view for view in list_sources(workspace) if view.source.id in before]
        for view in now:
            slots[view.source.id].html(line(view))
        return before == {view.source.id: view.status for view in now if running(view)}

    if moving:
        live.live(draw, running=True)
