"""The Sources panel: add, filter, include, a row a source; an opened source replaces the list.

Rows come 16 a page, as many as a tall window shows: a row costs 43 of the page's 1,500 elements.
Only rows that are being read change by themselves: one fragment writes their status lines into
slots that the rows left open, and the page follows when one changes its state.
"""

from __future__ import annotations

import html
import math

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from panels import frame, source_menu, state, status, viewer
from panels.actions import action
from panels.places import icon_of, shown_name
from panels.text import label, spoken, t
from services import ingestion
from services.ingestion import SourceView
from services.workspace import Workspace

PAGE = 16


def panel(workspace: Workspace, views: list[SourceView]) -> None:
    with frame.panel("sources"):
        if state.opened_source():
            viewer.draw(workspace, views)
        else:
            listing(workspace, views)


def listing(workspace: Workspace, views: list[SourceView]) -> None:
    with frame.head("sources"):
        frame.title(t("sources.title"), len(views))
        frame.gap()
        if views:
            panel_menu(workspace)
    with frame.body("sources"):
        with st.container(key="tools", gap="xsmall"):
            st.button(
                t("sources.add"),
                icon=":material/add:",
                type="primary",
                width="stretch",
                key="add",
                on_click=state.open_dialog,
                args=("add",),
            )
            if not views:
                st.html(f'<p class="empty">{html.escape(t("sources.empty"))}</p>')
                return
            shown = search(views)
        select_all(workspace, shown)
        if not shown:
            nothing_found()
        rows(workspace, paged(shown))
    with frame.foot("sources"):
        st.html(
            f'<span class="meta"><i class="ic">computer</i>{html.escape(t("sources.stay"))}</span>'
        )


def search(views: list[SourceView]) -> list[SourceView]:
    """The sources whose name holds every word of the search box."""
    wanted = st.text_input(
        t("sources.search"),
        placeholder=t("sources.search"),
        icon=":material/search:",
        label_visibility="collapsed",
        key="source_filter",
        live=True,
    )
    words = (wanted or "").casefold().split()
    return [view for view in views if all(word in view.source.name.casefold() for word in words)]


def nothing_found() -> None:
    with st.container(key="no_match"):
        st.html(f'<p class="empty">{html.escape(t("sources.no_match"))}</p>')
        st.button(t("sources.clear"), icon=":material/close:", key="clear", on_click=clear)


def clear() -> None:
    st.session_state["source_filter"] = ""


def select_all(workspace: Workspace, views: list[SourceView]) -> None:
    """One box over all rows of the filter: ticked, empty or mixed; a press ticks or empties all."""
    can = [view.source for view in views if status.answerable(view)]
    ticked = sum(source.selected for source in can)
    full = bool(can) and ticked == len(can)
    mark = "full" if ticked == len(views) and ticked else "mixed" if ticked else "none"
    with st.container(
        key="all", horizontal=True, vertical_alignment="center", gap=None, wrap=False
    ):
        st.button(
            t("sources.select_all"),
            icon=":material/check_box:",
            type="tertiary",
            key=f"select_all_{mark}",
            disabled=not can,
            on_click=include,
            args=(workspace, [source.id for source in can], not full),
        )
        st.space("stretch")
        words = t("sources.included", n=ticked) if views else ""
        st.html(f'<span class="meta num">{html.escape(words)}</span>', width="content")


def paged(views: list[SourceView]) -> list[SourceView]:
    """The rows of the page that is shown; the page is chosen below the rows."""
    pages = math.ceil(len(views) / PAGE)
    page = min(st.session_state.get("source_page") or 1, max(pages, 1))
    st.session_state["source_pages"] = pages
    return views[(page - 1) * PAGE : page * PAGE]


def rows(workspace: Workspace, views: list[SourceView]) -> None:
    slots: dict[str, DeltaGenerator] = {}
    with st.container(key="rows", gap=None):
        for view in views:
            slots[view.source.id] = row(workspace, view)
    if st.session_state["source_pages"] > 1:
        with st.container(key="list_pages", horizontal_alignment="center"):
            st.pagination(st.session_state["source_pages"], max_visible_pages=5, key="source_page")
    status.follow(workspace, [view for view in views if status.running(view)], slots)


def box_key(source_id: str, ticked: bool) -> str:
    """The key of a row's box. It changes when anything but a press on the box changed the box:
    the browser may still send the old value with its next event, and must not be believed."""
    versions = st.session_state.setdefault("box_versions", {})
    key = f"include_{source_id}_{versions.get(source_id, 0)}"
    if st.session_state.get(key, ticked) != ticked:
        versions[source_id] = versions.get(source_id, 0) + 1
        key = f"include_{source_id}_{versions[source_id]}"
    st.session_state[key] = ticked
    return key


def row(workspace: Workspace, view: SourceView) -> DeltaGenerator:
    """One source; returns the open slot of its status line when it is being worked on."""
    source, can = view.source, status.answerable(view)
    dim = status.tone(view) or ("" if can else "out")
    ticked = source.selected and can
    box = box_key(source.id, ticked)
    with st.container(key=f"row_{dim}_{source.id}", horizontal=True, gap=None, wrap=False):
        st.checkbox(
            t("source.include", name=spoken(source.name)) if can else t("source.include_not_yet"),
            key=box,
            label_visibility="collapsed",
            disabled=not can,
            on_change=tick,
            args=(workspace, source.id, box, ticked),
        )
        with st.container(key=f"mid_{source.id}", gap=None):
            icon = {"need": "lock", "fail": "error"}.get(dim, icon_of(source.name, source.origin))
            st.button(
                label(shown_name(source)),
                icon=f":material/{icon}:",
                type="tertiary",
                key=f"name_{source.id}",
                wrap=False,
                on_click=open_or_answer,
                args=(view,),
            )
            slot = status_line(workspace, view)
        source_menu.draw(workspace, view)
    return slot


def status_line(workspace: Workspace, view: SourceView) -> DeltaGenerator:
    """The words below the name, with the one thing to do beside them where there is one."""
    if status.running(view):
        return st.container(gap=None)
    offer = {"needs_password": "enter", "failed": "retry", "cancelled": "retry"}.get(view.status)
    if offer == "retry" and not status.retryable(view):
        offer = "remove" if view.status == "failed" else None
    if not offer:
        return st.html(status.line(view))
    with st.container(key=f"st_{view.source.id}", horizontal=True, gap=None, wrap=False):
        st.html(status.line(view), width="content")
        st.button(
            t(f"source.{offer}"),
            type="tertiary",
            key=f"do_{view.source.id}",
            on_click=answer,
            args=(workspace, view, offer),
        )
    return st.container(gap=None)


# -- what a press does ---------------------------------------------------------------------------


@action
def include(workspace: Workspace, ids: list[str], selected: bool) -> None:
    ingestion.set_selected(workspace, ids, selected)


@action
def tick(workspace: Workspace, source_id: str, box: str, shown: bool) -> None:
    """The box of a row. Streamlit also calls this for a value that the page set itself."""
    if st.session_state[box] != shown:
        ingestion.set_selected(workspace, [source_id], not shown)


@action
def answer(workspace: Workspace, view: SourceView, offer: str) -> None:
    """The one thing to do beside the words of a row."""
    match offer:
        case "enter":
            source_menu.ask_password(view.source)
        case "retry":
            ingestion.retry_source(workspace, view.source.id)
        case "remove":
            source_menu.delete(workspace, [view.source])


def open_or_answer(view: SourceView) -> None:
    """A press on a name: open the source, or answer what it waits for."""
    if status.answerable(view):
        state.open_source(view.source.id)
    elif view.status == "needs_password":
        source_menu.ask_password(view.source)
    else:
        st.toast(label(status.whole(view)))


# -- the panel's own menu ------------------------------------------------------------------------


def panel_menu(workspace: Workspace) -> None:
    icons = {"reindex_all": "refresh", "retry_all": "replay", "delete_included": "delete"}
    st.menu_button(
        t("sources.menu"),
        list(icons),
        icon=":material/more_horiz:",
        type="tertiary",
        key="menu_sources",
        format_func=lambda option: f":material/{icons[option]}: {t(f'menu.{option}')}",
        on_click=chosen_for_all,
        args=(workspace,),
    )


@action
def chosen_for_all(workspace: Workspace) -> None:
    views = ingestion.list_sources(workspace)
    match st.session_state["menu_sources"]:
        case "reindex_all":
            ingestion.reindex_sources(workspace)
        case "retry_all":
            for view in views:
                if view.status in ("failed", "cancelled") and status.retryable(view):
                    ingestion.retry_source(workspace, view.source.id)
        case "delete_included":
            included = [view.source for view in views if view.source.selected]
            if included:
                source_menu.delete(workspace, included)
