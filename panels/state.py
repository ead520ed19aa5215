"""What this browser tab has selected, and nothing else.

Session state dies with the tab, so it never holds content: everything that is shown is read
from the services on each run. Each key has one typed getter or setter here; panels do not
touch ``st.session_state`` for these.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import streamlit as st

from services.intake import Added
from services.models import Citation

Panel = Literal["sources", "chat", "studio"]
Kind = Literal["source", "notebook", "note", "output", "conversation"]
UNDO_SECONDS = 20


@dataclass(frozen=True)
class Opened:
    """The source in the viewer, and the passage it was opened at (None: opened from the list)."""

    source_id: str
    citation: Citation | None = None


@dataclass(frozen=True)
class Place:
    """A page of the opened source, and the part of its text (None: the part of that page)."""

    page: int
    part: int | None = None


@dataclass(frozen=True)
class Undo:
    """The last deletion: what ``restore`` needs to bring it back."""

    kind: Kind
    trash_id: str
    name: str
    at: float


@dataclass(frozen=True)
class Dialog:
    """The one open dialog: ``add``, ``rename``, ``make`` ..., and what it is about."""

    name: str
    kind: Kind | None = None
    id: str = ""
    text: str = ""


@dataclass(frozen=True)
class Download:
    """A file that the next run hands to the browser."""

    name: str
    mime: str
    data: Callable[[], bytes]
    token: float


def _get(key: str, default: Any = None) -> Any:
    return st.session_state.get(key, default)


# -- the viewer -------------------------------------------------------------------------------


def open_source(source_id: str, citation: Citation | None = None) -> None:
    """Show a source in the Sources panel, at the cited passage where one is given."""
    st.session_state["open_source"] = Opened(source_id, citation)
    st.session_state["view_place"] = None
    st.session_state["view_count"] = _get("view_count", 0) + 1
    show_panel("sources")


def close_source() -> None:
    st.session_state["open_source"] = None


def opened_source() -> Opened | None:
    opened: Opened | None = _get("open_source")
    return opened


def view_count() -> int:
    """Grows with each opening; part of the viewer's widget keys, so each opening starts fresh."""
    count: int = _get("view_count", 0)
    return count


def view_place() -> Place | None:
    """What the viewer shows; None until it has found the place to open at."""
    shown: Place | None = _get("view_place")
    return shown


def turn_to(place: Place) -> None:
    st.session_state["view_place"] = place


# -- notes, conversation, phone panel ------------------------------------------------------------


def open_note(note_id: str | None) -> None:
    """Open a note in the Studio panel; None closes it."""
    st.session_state["open_note"] = note_id
    st.session_state["open_output"] = None


def opened_note() -> str | None:
    note_id: str | None = _get("open_note")
    return note_id


def open_output(output_id: str | None) -> None:
    """Open an output in the Studio panel; None closes it."""
    st.session_state["open_output"] = output_id
    st.session_state["open_note"] = None


def opened_output() -> str | None:
    output_id: str | None = _get("open_output")
    return output_id


def choose_conversation(conversation_id: str | None) -> None:
    """The conversation on screen; None means the newest one."""
    st.session_state["conversation"] = conversation_id


def conversation() -> str | None:
    conversation_id: str | None = _get("conversation")
    return conversation_id


def edit_question(conversation_id: str, question_id: str) -> None:
    """The question of a conversation that the next one sent there is another version of; ""
    none."""
    st.session_state["editing"] = (conversation_id, question_id)


def edited_question(conversation_id: str | None) -> str | None:
    """The question of this conversation that is being edited."""
    owner, question_id = _get("editing") or ("", "")
    return (question_id or None) if owner == conversation_id else None


def show_panel(panel: Panel) -> None:
    """Bring a panel forward where only one or two fit (phone, narrow window)."""
    st.session_state["panel"] = panel


def shown_panel() -> Panel:
    panel: Panel = _get("panel") or "chat"
    return panel


# -- dialogs, undo, downloads ----------------------------------------------------------------------


def open_dialog(name: str, kind: Kind | None = None, id: str = "", text: str = "") -> None:
    """Open a dialog on the next run; it replaces an open one, so two are never open."""
    st.session_state["dialog"] = Dialog(name, kind, id, text)
    st.session_state["added"] = []


def close_dialog() -> None:
    st.session_state["dialog"] = None


def dialog() -> Dialog | None:
    opened: Dialog | None = _get("dialog")
    return opened


def added() -> list[Added]:
    """What the add dialog has taken in since it was opened, newest last."""
    rows: list[Added] = st.session_state.setdefault("added", [])
    return rows


def ask_name(kind: Kind, id: str, name: str) -> None:
    """Open the rename dialog for a source, notebook, note, output or conversation."""
    open_dialog("rename", kind, id, name)


def offer_undo(kind: Kind, trash_id: str, name: str) -> None:
    """Offer to bring back what was just deleted (only the last deletion is kept)."""
    st.session_state["undo"] = Undo(kind, trash_id, name, time.monotonic())


def undo() -> Undo | None:
    offer: Undo | None = _get("undo")
    if offer and time.monotonic() - offer.at > UNDO_SECONDS:
        drop_undo()
        return None
    return offer


def first_look() -> bool:
    """True once in each tab and after each reload, for what is offered only then."""
    first = not _get("looked", False)
    st.session_state["looked"] = True
    return first


def drop_undo() -> None:
    st.session_state["undo"] = None


def ask_download(name: str, mime: str, data: Callable[[], bytes]) -> None:
    """Hand a file to the browser with the next run; ``data`` is called when it is fetched."""
    st.session_state["download"] = Download(name, mime, data, time.monotonic())


def take_download() -> Download | None:
    download: Download | None = _get("download")
    return download


def forget() -> None:
    """Drop every selection; used when another notebook is opened."""
    for key in (
        "open_source",
        "open_note",
        "open_output",
        "conversation",
        "dialog",
        "undo",
        "download",
        "editing",
    ):
        st.session_state[key] = None
