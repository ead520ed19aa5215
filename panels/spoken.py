"""Choosing the language of a recording, to have it transcribed again."""

from __future__ import annotations

import streamlit as st

from panels import state
from panels.state import Dialog
from panels.text import error, label, t
from services import ingestion
from services.errors import HaloError
from services.workspace import Workspace

AUTO = "auto"
LANGUAGES = {
    "ar": "العربية", "cs": "Čeština", "da": "Dansk", "de": "Deutsch", "el": "Ελληνικά",
    "en": "English", "es": "Español", "fa": "فارسی", "fi": "Suomi", "fr": "Français",
    "he": "עברית", "hi": "हिन्दी", "hu": "Magyar", "id": "Bahasa Indonesia", "it": "Italiano",
    "ja": "日本語", "ko": "한국어", "nl": "Nederlands", "no": "Norsk", "pl": "Polski",
    "pt": "Português", "ro": "Română", "ru": "Русский", "sv": "Svenska", "tr": "Türkçe",
    "uk": "Українська", "vi": "Tiếng Việt", "zh": "中文",
}  # fmt: skip
"""Languages offered by their own names; any other can be given by its code."""


def ask(workspace: Workspace, opened: Dialog) -> None:
    """A dialog with the languages; choosing one reads the recording again."""
    chosen_before = opened.text or AUTO

    @st.dialog(t("transcribe.title"), width="small", on_dismiss=state.close_dialog)
    def dialog() -> None:
        st.markdown(t("transcribe.why"))
        offered = [AUTO, *LANGUAGES]
        if chosen_before not in offered:
            offered.append(chosen_before)
        chosen = st.selectbox(
            t("transcribe.field"),
            offered,
            index=offered.index(chosen_before),
            format_func=name_of,
            accept_new_options=True,
            label_visibility="collapsed",
            key="ask_spoken",
        )
        with st.container(key="ask_foot", horizontal=True, gap="small"):
            pressed = st.button(t("transcribe.do"), type="primary", key="spoken_do")
            left = st.button(t("cancel"), key="spoken_cancel")
        if pressed:
            try:
                ingestion.set_language(workspace, [opened.id], chosen.strip())
                ingestion.reindex_sources(workspace, [opened.id])
            except HaloError as refusal:
                st.error(label(error(refusal)))
                return
        if pressed or left:
            state.close_dialog()
            st.rerun()

    dialog()


def name_of(code: str) -> str:
    """A language by its own name, or its code where it is not in the list."""
    return t("transcribe.auto") if code == AUTO else LANGUAGES.get(code, code)
