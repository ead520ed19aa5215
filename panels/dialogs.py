"""The dialogs. Session state says which is open, so a rerun keeps it and never opens a second."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from panels import add_dialog, components, make_dialog, spoken, state
from panels.state import Dialog
from panels.text import error, label, t
from services import chat, ingestion, notebooks, notes
from services.errors import HaloError
from services.studio import outputs
from services.workspace import Workspace


def show_dialog(workspace: Workspace) -> None:
    """Draw the open dialog, if there is one."""
    opened = state.dialog()
    if opened is None:
        return
    match opened.name:
        case "add":
            add_dialog.show(workspace)
        case "rename":
            title = t(f"rename.{opened.kind}")
            ask(opened, "rename", title, lambda name: rename(workspace, opened, name))
        case "make":
            make_dialog.ask(workspace, opened)
        case "transcribe":
            spoken.ask(workspace, opened)
        case "password":
            title = t("password.title")
            ask(opened, "password", title, lambda word: unlock(workspace, opened, word))


def ask(
    opened: Dialog,
    words: str,
    title: str,
    submit: Callable[[str], None],
) -> None:
    """A dialog with one field. A refusal is shown in it; otherwise it closes."""
    secret = words == "password"

    @st.dialog(title, width="small", on_dismiss=state.close_dialog)
    def dialog() -> None:
        with st.form(f"ask_{words}", border=False):
            if secret:
                st.markdown(label(opened.text))
            given = st.text_input(
                t(f"{words}.field"),
                "" if secret else opened.text,
                type="password" if secret else "default",
                label_visibility="collapsed",
                placeholder=t(f"{words}.field"),
                key="ask_field",
            )
            with st.container(key="ask_foot", horizontal=True, gap="small"):
                pressed = st.form_submit_button(t(f"{words}.do"), type="primary")
                left = st.form_submit_button(t("cancel"))
        components.select(".st-key-ask_field input", opened.id)
        if left:
            state.close_dialog()
            st.rerun()
        if not pressed:
            return
        if not given or not given.strip():
            st.error(t(f"{words}.empty"))
            return
        try:
            submit(given if secret else given.strip())
        except HaloError as refusal:
            st.error(label(error(refusal)))
            return
        state.close_dialog()
        st.rerun()

    dialog()


def rename(workspace: Workspace, opened: Dialog, name: str) -> None:
    match opened.kind:
        case "source":
            ingestion.rename_source(workspace, opened.id, name)
        case "notebook":
            notebooks.rename_notebook(opened.id, name)
        case "note":
            notes.update_note(workspace, opened.id, title=name)
        case "output":
            outputs.rename_output(workspace, opened.id, name)
        case "conversation":
            chat.rename_conversation(workspace, opened.id, name)


def unlock(workspace: Workspace, opened: Dialog, password: str) -> None:
    ingestion.retry_source(workspace, opened.id, password)
