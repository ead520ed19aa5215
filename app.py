"""HALO's workspace: sources, chat and studio side by side.

Each panel is a module of ``panels/``; this file says how many fit and how wide they are.
"""

import streamlit as st

from panels import chat, components, frame, sources, state, studio
from panels.citing import Shown
from panels.text import t

GAP = 16


def switch(offered: list[state.Panel]) -> state.Panel:
    """The control that chooses the panel where not all fit."""
    shown = state.shown_panel()
    st.session_state["panel_switch"] = shown if shown in offered else offered[0]
    with st.container(key="switch"):
        chosen = st.segmented_control(
            t("panels"),
            offered,
            required=True,
            format_func=lambda panel: t(f"{panel}.title"),
            label_visibility="collapsed",
            width="stretch",
            key="panel_switch",
            on_change=lambda: state.show_panel(st.session_state["panel_switch"]),
        )
    return chosen or offered[0]


def arrangement(layout: components.Layout) -> dict[state.Panel, int]:
    """The panels that are drawn and their widths at 1440 pixels."""
    if layout == "phone":
        return {switch(["sources", "chat", "studio"]): 1}
    reading = state.opened_source() is not None
    writing = (state.opened_note() or state.opened_output()) is not None
    if layout == "narrow":
        if switch(["sources", "studio"]) == "studio":
            return {"chat": 400, "studio": 400 if writing else 312}
        return {"sources": 400 if reading else 312, "chat": 400}
    if reading and writing:
        return {"sources": 480, "chat": 440, "studio": 456}
    if reading:
        return {"sources": 552, "chat": 520, "studio": 304}
    if writing:
        return {"sources": 312, "chat": 456, "studio": 608}
    return {"sources": 312, "chat": 752, "studio": 312}


with frame.page() as workspace:
    widths = arrangement(components.layout())
    gaps = GAP * (len(widths) - 1) / len(widths)  # Streamlit shares the gaps out evenly
    shown = Shown(workspace)
    with st.container(key="panels"):
        columns = st.columns([width + gaps for width in widths.values()])
        for name, column in zip(widths, columns, strict=True):
            with column, frame.guarded(name):
                match name:
                    case "sources":
                        sources.panel(workspace, shown.views)
                    case "chat":
                        chat.panel(workspace, shown)
                    case "studio":
                        studio.panel(workspace, shown)
    shown.listen()
