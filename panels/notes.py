"""Notes in the Studio panel: their rows, and one opened to read or to edit.

Pattern: rows like the sources'; an opened note replaces the list. Reading shows the note with live
citations; editing saves by itself, a moment after the last key and whenever the field is left.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

import streamlit as st

from panels import frame, markdown, state
from panels.actions import action
from panels.citing import Shown
from panels.text import label, t, when
from services import notes
from services.errors import NotFoundError
from services.models import Note
from services.workspace import Workspace

ROWS = 25
ICONS = {
    "open": "visibility",
    "rename": "edit",
    "download": "download",
    "as_source": "library_add",
    "delete": "delete",
}

_autosave = st.components.v2.component(
    "halo_autosave",
    js=(Path(__file__).parent / "assets" / "autosave.js").read_text(encoding="utf-8"),
)


def section(workspace: Workspace) -> None:
    """All notes, the last changed first, and the way to a new one."""
    found = notes.list_notes(workspace)
    with st.container(key="notes_head", horizontal=True, vertical_alignment="center", gap=None):
        st.html(f'<h3 class="sec-h">{html.escape(t("notes.title"))}</h3>', width="content")
        frame.gap()
        new_button(workspace)
    if not found:
        st.html(
            f'<p class="none"><b>{html.escape(t("notes.empty"))}</b>'
            f"{html.escape(t('notes.empty_text'))}</p>"
        )
        return
    limit = st.session_state.setdefault("note_rows", ROWS)
    with st.container(key="note_rows_box", gap=None):
        for note in found[:limit]:
            row(workspace, note)
    if len(found) > limit:
        st.button(
            t("notes.more", n=len(found) - limit),
            icon=":material/expand_more:",
            type="tertiary",
            key="notes_more",
            on_click=show_more,
        )


def new_button(workspace: Workspace) -> None:
    st.button(
        t("notes.new"),
        icon=":material/add:",
        type="tertiary",
        key="note_new",
        on_click=create,
        args=(workspace,),
    )


def row(workspace: Workspace, note: Note) -> None:
    with st.container(key=f"row_note_{note.id}", horizontal=True, gap=None, wrap=False):
        with st.container(key=f"mid_note_{note.id}", gap=None):
            st.button(
                label(note.heading) or t("notes.untitled"),
                icon=":material/edit_note:",
                type="tertiary",
                key=f"name_note_{note.id}",
                wrap=False,
                on_click=open_note,
                args=(note.id,),
            )
            st.html(f'<span class="st cut num">{html.escape(_about(note))}</span>')
        menu(workspace, note, list(ICONS))


def menu(workspace: Workspace, note: Note, options: list[str]) -> None:
    st.menu_button(
        t("notes.menu"),
        options,
        icon=":material/more_vert:",
        type="tertiary",
        key=f"menu_note_{note.id}",
        format_func=lambda option: f":material/{ICONS[option]}: {t(f'notes.{option}')}",
        on_click=chosen,
        args=(workspace, note),
    )


def _about(note: Note) -> str:
    """The line below a note's name: where it is from, or how it begins."""
    if note.citations:
        return t("notes.from_chat", n=len(note.citations))
    lines = [line.strip("#*->` ") for line in note.content.splitlines()]
    words = [line for line in lines if line and line != note.heading]
    return markdown.without_markers(words[0])[:120] if words else t("notes.blank")


def show_more() -> None:
    st.session_state["note_rows"] += ROWS


# -- one note -------------------------------------------------------------------------------------


def opened(workspace: Workspace) -> Note | None:
    """The note that is open. A note that was deleted elsewhere closes, unless it is being written:
    then its fields stay as they are, and what is written is kept as a new note."""
    note_id = state.opened_note()
    if not note_id:
        return None
    try:
        return notes.get_note(workspace, note_id)
    except NotFoundError:
        written = [st.session_state.get(f"note_{field}_{note_id}") for field in ("title", "text")]
        if st.session_state.get("note_editing") == note_id:
            title, content = (value or "" for value in written)
            return Note(id=note_id, title=title, content=content, updated_at="")
        state.open_note(None)
        st.toast(t("notes.gone"), icon=":material/info:")
        return None


def head(workspace: Workspace, note: Note) -> None:
    """The panel's top row while a note is open."""
    editing = _editing(note)
    title, back = note.heading or t("notes.untitled"), t("studio.back")
    frame.title_with_back(title, "edit_note", back, "icon_note_back", close, workspace, note.id)
    frame.gap()
    st.button(
        t("notes.read" if editing else "notes.edit"),
        icon=f":material/{'visibility' if editing else 'edit'}:",
        type="tertiary",
        key="note_mode",
        on_click=read if editing else edit,
        args=(note.id,) if editing else (note,),
    )
    menu(workspace, note, [option for option in ICONS if option != "open"])


def body(workspace: Workspace, note: Note, shown: Shown) -> None:
    if _editing(note):
        editor(workspace, note)
        return
    with st.container(key=f"doc_{note.id}", gap=None):
        about = " · ".join(
            filter(
                None,
                [
                    t("notes.saved", when=when(note.updated_at)),
                    t("notes.from_chat", n=len(note.citations)) if note.citations else "",
                ],
            )
        )
        heading = html.escape(note.heading or t("notes.untitled"))
        if note.content.lstrip("# \n").startswith(note.heading):
            heading = ""  # the text begins with it
        st.html(
            f'<span class="meta num">{html.escape(about)}</span>'
            f'{heading and f"""<h1 class="serif">{heading}</h1>"""}'
        )
        if note.content.strip():
            st.markdown(shown.cited(note.id, note.content, note.citations).markdown, anchors=False)
        else:
            st.html(f'<p class="meta">{html.escape(t("notes.blank"))}</p>')


def editor(workspace: Workspace, note: Note) -> None:
    """Title and text; each change is stored at once."""
    keys = f"note_title_{note.id}", f"note_text_{note.id}"
    for key, value in zip(keys, (note.title, note.content), strict=True):
        st.session_state.setdefault(key, value)
    with st.container(key="note_editor", gap="small"):
        st.text_input(
            t("notes.field_title"),
            key=keys[0],
            placeholder=t("notes.untitled"),
            label_visibility="collapsed",
            on_change=store,
            args=(workspace, note.id),
        )
        st.text_area(
            t("notes.field_text"),
            key=keys[1],
            placeholder=t("notes.placeholder"),
            label_visibility="collapsed",
            height=480,
            on_change=store,
            args=(workspace, note.id),
        )
        about = f"{t('notes.words', n=len(note.content.split()))} · "
        about += (
            t("notes.saved", when=when(note.updated_at)) if note.updated_at else t("notes.deleted")
        )
        st.html(f'<span class="meta num">{html.escape(about)}</span>')
        _autosave(key="autosave", data=[".st-key-note_editor"])


def _editing(note: Note) -> bool:
    return bool(st.session_state.get("note_editing") == note.id)


# -- what a press does ----------------------------------------------------------------------------


def open_note(note_id: str) -> None:
    st.session_state["note_editing"] = None
    state.open_note(note_id)
    state.show_panel("studio")


def edit(note: Note) -> None:
    st.session_state[f"note_title_{note.id}"] = note.title
    st.session_state[f"note_text_{note.id}"] = note.content
    st.session_state["note_editing"] = note.id


def read(note_id: str) -> None:
    st.session_state["note_editing"] = None


@action
def create(workspace: Workspace) -> None:
    note = notes.new_note(workspace, "", "")
    open_note(note.id)
    edit(note)


@action
def store(workspace: Workspace, note_id: str) -> None:
    title = st.session_state.get(f"note_title_{note_id}")
    content = st.session_state.get(f"note_text_{note_id}")
    try:
        notes.update_note(workspace, note_id, title=title, content=content)
    except NotFoundError:
        if state.opened_note() != note_id or not (title or content):
            raise  # deleted in this tab
        kept = notes.keep_deleted(workspace, note_id, title or "", content or "")
        state.open_note(kept.id)
        edit(kept)
        st.toast(t("notes.kept"), icon=":material/info:", duration="long")


@action
def close(workspace: Workspace, note_id: str) -> None:
    """Back to the list; a note in which nothing was written is not kept."""
    state.open_note(None)
    try:
        note = notes.get_note(workspace, note_id)
    except NotFoundError:
        return
    if not note.title.strip() and not note.content.strip():
        notes.delete_note(workspace, note_id)


@action
def chosen(workspace: Workspace, note: Note) -> None:
    """Do what was chosen in a note's menu."""
    match st.session_state[f"menu_note_{note.id}"]:
        case "open":
            open_note(note.id)
        case "rename":
            state.ask_name("note", note.id, note.heading)
        case "download":
            name = re.sub(r"[^\w .-]+", " ", note.heading).strip()[:80] or "note"
            text = notes.note_markdown(note)
            state.ask_download(f"{name}.md", "text/markdown", lambda: text.encode("utf-8"))
        case "as_source":
            added = notes.note_as_source(workspace, note.id)
            known = added.outcome == "duplicate"
            st.toast(t("notes.already" if known else "notes.added"), icon=":material/check:")
        case "delete":
            trash_id = notes.delete_note(workspace, note.id)
            if state.opened_note() == note.id:
                state.open_note(None)
            state.offer_undo("note", trash_id, note.heading or t("notes.untitled"))
