"""The dialog before an output is made: its form, language, length, focus and sources."""

from __future__ import annotations

import streamlit as st

from panels import state
from panels.state import Dialog
from panels.text import error, label, language, t
from services.errors import HaloError
from services.storage import load_sources
from services.studio import outputs, runs
from services.studio.models import Length, Options
from services.studio.templates import templates
from services.workspace import Workspace

LENGTHS: tuple[Length, ...] = ("short", "medium", "long")
NAMING = ("table", "comparison")
"""Kinds for which a user may name what is looked for."""
LANGUAGES = {"en": "English", "de": "Deutsch"}


def open_for(kind: str, output_id: str = "") -> None:
    """Ask for a new output of this kind, or how to make an output again."""
    state.open_dialog("make", "output", output_id, kind)


def ask(workspace: Workspace, opened: Dialog) -> None:
    old = outputs.get_output(workspace, opened.id) if opened.id else None
    forms = {
        template.id: template
        for template in templates()
        if template.kind == opened.text and (old is None or template.id == old.template_id)
    }

    @st.dialog(t(f"studio.kind.{opened.text}"), width="small", on_dismiss=state.close_dialog)
    def dialog() -> None:
        sources = [source for source in load_sources(workspace) if source.answerable]
        names = {source.id: source.name for source in sources}
        before = old.options if old else None
        if len(forms) > 1:
            form = st.selectbox(
                t("make.form"),
                list(forms),
                format_func=lambda name: forms[name].name(language()),
                key="make_form",
            )
        else:
            form = next(iter(forms))
        with st.container(horizontal=True, gap="small", key="make_row"):
            written = st.selectbox(
                t("make.language"),
                list(LANGUAGES),
                index=list(LANGUAGES).index(before.language if before else language()),
                format_func=lambda code: LANGUAGES[code],
                key="make_language",
            )
            length = st.selectbox(
                t("make.length"),
                LENGTHS,
                index=LENGTHS.index(before.length if before else forms[form].defaults.length),
                format_func=lambda size: t(f"make.{size}"),
                key=f"make_length_{form}",
            )
        focus = st.text_input(
            t("make.focus"),
            before.focus if before else "",
            placeholder=t("make.focus_hint"),
            key="make_focus",
        )
        columns = ""
        if opened.text in NAMING:
            columns = st.text_input(
                t("make.columns"),
                ", ".join(before.columns) if before else "",
                placeholder=t("make.columns_hint"),
                key="make_columns",
            )
        ticked = [source.id for source in sources if source.selected]
        chosen = st.multiselect(
            t("make.sources"),
            list(names),
            default=[key for key in before.source_ids if key in names] if before else ticked,
            format_func=names.__getitem__,
            placeholder=t("make.sources_hint"),
            key="make_sources",
        )
        with st.container(key="ask_foot", horizontal=True, gap="small"):
            pressed = st.button(t("make.do"), type="primary", key="make_do", disabled=not chosen)
            left = st.button(t("cancel"), key="make_cancel")
        if pressed:
            options = Options(
                language=written,
                length=length,
                focus=focus.strip(),
                columns=[name.strip() for name in columns.split(",") if name.strip()],
                source_ids=chosen,
            )
            try:
                if opened.id:
                    runs.again(workspace, opened.id, options)
                else:
                    runs.start(workspace, form, options)
            except HaloError as refusal:
                st.error(label(error(refusal)))
                return
        if pressed or left:
            state.close_dialog()
            st.rerun()

    dialog()
