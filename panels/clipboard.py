"""Copying a drawn text to the clipboard: rich text for a document, plain text for anything else.

A press on Copy marks the text; the next run tells the browser to copy the element that shows it.
Citation chips become ``[n]``, and the lines that name their sources follow below.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from panels.text import t

_copy = st.components.v2.component(
    "halo_copy", js=(Path(__file__).parent / "assets" / "copy.js").read_text(encoding="utf-8")
)


def ask_copy(key: str, sources: Sequence[str]) -> None:
    """Copy what the container ``key`` shows, with the next run; for callbacks."""
    st.session_state["copy_what"] = [key, list(sources), time.monotonic()]


def listen() -> None:
    """Mount once a page; carries out what ``ask_copy`` asked for and says how it went."""

    def done() -> None:
        went = st.session_state["copy"].done
        if went:
            good = went == "copied"
            st.toast(
                t("chat.copied" if good else "chat.copy_failed"),
                icon=f":material/{'check' if good else 'info'}:",
            )

    _copy(key="copy", data=st.session_state.get("copy_what") or [], on_done_change=done)
