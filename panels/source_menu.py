"""What can be done with one source: the menu of its row and of the viewer."""

from __future__ import annotations

import mimetypes
from functools import cache

import streamlit as st

from panels import state, status
from panels.actions import action
from panels.places import file_name
from panels.text import Language, language, t
from services import ingestion
from services.ingestion import SourceView
from services.models import Source
from services.workspace import Workspace

ICONS = {
    "open": "visibility",
    "rename": "edit",
    "reindex": "refresh",
    "fetch": "cloud_download",
    "transcribe": "graphic_eq",
    "retry": "replay",
    "cancel": "cancel",
    "private": "shield_lock",
    "open_to_all": "lock_open",
    "original": "download",
    "text": "description",
    "delete": "delete",
}


@cache
def labels(_language: Language) -> dict[str, str]:
    """The menu's entries in the tab's language; made once, for there are many menus."""
    return {option: f":material/{icon}: {t(f'menu.{option}')}" for option, icon in ICONS.items()}


def draw(workspace: Workspace, view: SourceView, *, where: str = "row") -> None:
    key = f"menu_{view.source.id}" if where == "row" else f"menu_{where}"
    offered = [option for option in options(view) if option != "open" or where == "row"]
    st.menu_button(
        t("source.menu"),
        offered,
        icon=":material/more_vert:",
        type="tertiary",
        key=key,
        format_func=labels(language()).__getitem__,
        on_click=chosen,
        args=(workspace, view, key),
    )


def options(view: SourceView) -> list[str]:
    """The row's menu, by what the source can do now."""
    offered = ["open"] if status.answerable(view) else []
    offered += ["rename"]
    if status.running(view):
        offered += ["cancel"]
    elif view.source.obtainable:
        offered += ["reindex"] if view.status == "ready" else []
        offered += ["fetch"] if view.status == "ready" and view.source.url else []
        offered += ["transcribe"] if "seconds" in view.source.units else []
        offered += ["retry"] if view.status != "ready" and status.retryable(view) else []
    offered += ["open_to_all" if view.source.private else "private"]
    if view.source.sha256:
        offered += ["original"]
    if status.answerable(view):
        offered += ["text"]
    return [*offered, "delete"]


@action
def chosen(workspace: Workspace, view: SourceView, key: str) -> None:
    """Do what was chosen in the menu."""
    source = view.source
    match st.session_state[key]:
        case "open":
            state.open_source(source.id)
        case "rename":
            state.ask_name("source", source.id, source.name)
        case "reindex":
            ingestion.reindex_sources(workspace, [source.id])
        case "fetch":
            ingestion.fetch_again(workspace, source.id)
        case "transcribe":
            state.open_dialog("transcribe", "source", source.id, source.speech_language)
        case "retry" if view.status == "needs_password":
            ask_password(source)
        case "retry":
            ingestion.retry_source(workspace, source.id)
        case "cancel":
            ingestion.cancel_source(workspace, source.id)
        case "private" | "open_to_all" as option:
            private = option == "private"
            ingestion.set_private(workspace, source.id, private)
            st.toast(t("source.made_private" if private else "source.made_open"))
        case "original":
            download_original(workspace, source)
        case "text":
            download_text(workspace, source)
        case "delete":
            delete(workspace, [source])


def download_original(workspace: Workspace, source: Source) -> None:
    path = ingestion.original_path(workspace, source.id)
    name = file_name(source)
    mime = mimetypes.guess_type(name)[0] or "application/octet-stream"
    state.ask_download(name, mime, path.read_bytes)


def download_text(workspace: Workspace, source: Source) -> None:
    document = ingestion.load_document(workspace, source.id)
    name = f"{source.name.rsplit('.', 1)[0]}.txt"
    state.ask_download(name, "text/plain", lambda: document.text.encode("utf-8"))


def delete(workspace: Workspace, sources: list[Source]) -> None:
    """Delete sources with a way back; the viewer closes when it showed one of them."""
    trash_id = ingestion.delete_sources(workspace, [source.id for source in sources])
    opened = state.opened_source()
    if opened and any(source.id == opened.source_id for source in sources):
        state.close_source()
    many = t("sources.count", n=len(sources))
    if trash_id:
        state.offer_undo("source", trash_id, sources[0].name if len(sources) == 1 else many)


def ask_password(source: Source) -> None:
    state.open_dialog("password", "source", source.id, source.name)
