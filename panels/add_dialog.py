"""The dialog that adds sources: files, links, pasted text, or a folder.

An upload is on disk before this module's callback returns; then the uploader gets a new key, so
its value is dropped from memory and never read twice. Each file has a row that follows its work
or asks what only the user can answer. Closing the dialog stops nothing.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from panels import state, status, text
from panels.actions import action
from panels.places import address, icon_of
from panels.text import t
from services import adding, ingestion
from services.errors import HaloError, TooLargeError
from services.ingestion import SourceView
from services.intake import Added, Incoming, folder_files, shown_name
from services.settings import upload_limit
from services.workspace import Workspace

WAYS = {"files": "upload_file", "link": "link", "text": "subject", "folder": "folder"}
SOME_MORE = 64
"""Megabytes over the limit that the uploader lets through, for HALO to refuse them in words."""
SAID_WHOLE = ("too_large", "upload_failed", "link_scheme", "link_user", "link_invalid")
GROUPS = ("ready", "in_progress", "need_you", "already_here", "failed")

_refused = st.components.v2.component(
    "halo_refused",
    js=(Path(__file__).parent / "assets" / "refused.js").read_text(encoding="utf-8"),
)


def show(workspace: Workspace) -> None:
    @st.dialog(t("add.title"), width="medium", on_dismiss=state.close_dialog)
    def dialog() -> None:
        way = st.segmented_control(
            t("add.title"),
            list(WAYS),
            default="files",
            required=True,
            format_func=lambda way: f":material/{WAYS[way]}: {t(f'add.{way}')}",
            label_visibility="collapsed",
            key="add_way",
            width="stretch",
        )
        with st.container(key="add_body"):
            ways = {"files": files, "link": links, "text": pasted, "folder": folder}
            ways[way or "files"](workspace)
        rows(workspace)
        with st.container(
            key="add_foot", horizontal=True, vertical_alignment="center", gap="small"
        ):
            st.html(f'<span class="meta">{html.escape(t("add.goes_on"))}</span>')
            if st.button(t("done"), type="primary", key="add_done"):
                state.close_dialog()
                st.rerun()

    dialog()


# -- the four ways -------------------------------------------------------------------------------


def files(workspace: Workspace) -> None:
    key = f"upload_{st.session_state.get('upload_round', 0)}"
    limit = upload_limit() // 1_000_000
    with st.container(key="drop", gap=None):
        st.html(
            '<div class="drop"><i class="ic">upload_file</i><div class="grow">'
            f'<b>{html.escape(t("add.drop"))}</b><span class="busy">{html.escape(t("add.taking"))}'
            f'</span><div class="meta">{html.escape(t("add.kinds", n=limit))}</div></div>'
            f'<span class="choose">{html.escape(t("add.choose"))}</span></div>'
        )
        st.file_uploader(
            t("add.choose"),
            accept_multiple_files=True,
            max_upload_size=limit + SOME_MORE,
            label_visibility="collapsed",
            key=key,
            on_change=take_in,
            args=(workspace, key),
        )
    _refused(key="refused", on_files_change=not_taken)


@action
def take_in(workspace: Workspace, key: str) -> None:
    """Put an upload on disk and drop the uploader's value by giving the next one a new key.

    A run that is interrupted repeats its callbacks, so each upload is remembered as taken.
    """
    taken: set[str] = st.session_state.setdefault("uploads_taken", set())
    uploads = [file for file in st.session_state.get(key) or [] if file.file_id not in taken]
    if uploads:
        taken.update(file.file_id for file in uploads)
        st.session_state["upload_round"] = st.session_state.get("upload_round", 0) + 1
        remember(workspace, [Incoming(decoded(file.name), file.getvalue()) for file in uploads])


def decoded(name: str) -> str:
    """A file's name as it was before the browser put it into a form: HTML encodes these three."""
    return name.replace("%22", '"').replace("%0A", "\n").replace("%0D", "\r")


@action
def not_taken() -> None:
    """Rows for the files that the uploader refused in the browser."""
    for row in st.session_state["refused"].files or []:
        error = (
            too_large()
            if row["large"]
            else HaloError("The file did not arrive.", code="upload_failed", step="Add it again.")
        )
        added = Added(shown_name(row["name"]), int(row["size"]), "refused", error=error.as_dict())
        state.added().append(added)


def too_large() -> TooLargeError:
    limit = upload_limit() // 1_000_000
    return TooLargeError(
        f"The file is larger than {limit} MB.",
        step="Split it, or raise HALO_UPLOAD_LIMIT_MB.",
        limit=limit,
    )


def remember(workspace: Workspace, incoming: Sequence[Incoming]) -> None:
    state.added().extend(adding.add_files(workspace, incoming, same_name="ask"))


def links(workspace: Workspace) -> None:
    with st.form("add_link", border=False, clear_on_submit=True):
        st.text_area(
            t("add.link_field"),
            placeholder=t("add.link_field"),
            label_visibility="collapsed",
            height=152,
            key="link_field",
        )
        with st.container(horizontal=True, vertical_alignment="center", wrap=False, key="link_do"):
            st.html(f'<span class="meta">{html.escape(t("add.link_hint"))}</span>')
            st.form_submit_button(
                t("add.link_add"),
                icon=":material/add:",
                type="primary",
                on_click=take_links,
                args=(workspace,),
            )


@action
def take_links(workspace: Workspace) -> None:
    state.added().extend(adding.add_links(workspace, st.session_state["link_field"].split()))


def pasted(workspace: Workspace) -> None:
    with st.form("add_text", border=False, clear_on_submit=True):
        st.text_input(
            t("add.text_title"),
            placeholder=t("add.text_title"),
            label_visibility="collapsed",
            key="text_title",
        )
        st.text_area(
            t("add.text_body"),
            placeholder=t("add.text_body"),
            label_visibility="collapsed",
            height=108,
            key="text_body",
        )
        st.form_submit_button(
            t("add.text_add"),
            icon=":material/add:",
            type="primary",
            on_click=take_text,
            args=(workspace,),
        )


@action
def take_text(workspace: Workspace) -> None:
    title, body = st.session_state["text_title"], st.session_state["text_body"]
    state.added().append(adding.add_text(workspace, title, body))


def folder(workspace: Workspace) -> None:
    path = st.text_input(
        t("add.folder_path"),
        placeholder=t("add.folder_path"),
        label_visibility="collapsed",
        icon=":material/folder:",
        key="folder_path",
    )
    found: list[Path] = []
    hint = f'<p class="meta">{html.escape(t("add.folder_hint"))}</p>'
    try:
        found = folder_files(path) if path else []
    except HaloError as refusal:
        hint = f'<p class="meta err" role="alert">{html.escape(text.error(refusal))}</p>'
    st.html(hint)
    taken = {item.name for item in state.added()}
    st.button(
        t("add.folder_add", n=len(found)) if found else t("add.folder_do"),
        icon=":material/add:",
        type="primary",
        key="folder_add",
        disabled=all(file.name in taken for file in found),
        on_click=take_folder,
        args=(workspace, path),
    )


@action
def take_folder(workspace: Workspace, path: str) -> None:
    remember(workspace, [Incoming(file.name, file) for file in folder_files(path)])


# -- a row for each file -------------------------------------------------------------------------


def rows(workspace: Workspace) -> None:
    added = state.added()
    if not added:
        return
    views = {view.source.id: view for view in ingestion.list_sources(workspace)}
    slots: dict[str, DeltaGenerator] = {}
    with st.container(key="add_head", horizontal=True, vertical_alignment="center"):
        unit = "sources" if any(item.origin == "link" for item in added) else "add"
        st.html(f"<b>{html.escape(t(f'{unit}.count', n=len(added)))}</b>", width="content")
        st.space("stretch")
        st.html(f'<span class="meta num">{summary(added, views)}</span>', width="content")
    with st.container(key="add_rows", gap=None):
        for number, item in enumerate(added):
            view = views.get(item.source_id or "") if item.outcome == "queued" else None
            slot = row(workspace, number, item, view)
            if view and slot:
                slots[view.source.id] = slot
    status.follow(workspace, [views[source_id] for source_id in slots], slots)


def group(item: Added, view: SourceView | None) -> str:
    """Which of ``GROUPS`` a row counts to; "" for a source that was removed since."""
    if item.outcome != "queued":
        return {"duplicate": "already_here", "same_name": "need_you"}.get(item.outcome, "failed")
    if view is None:
        return ""
    if status.running(view):
        return "in_progress"
    groups = {"needs_password": "need_you", "failed": "failed", "duplicate": "already_here"}
    return groups.get(view.status, "ready")


def summary(added: list[Added], views: dict[str, SourceView]) -> str:
    counts = Counter(group(item, views.get(item.source_id or "")) for item in added)
    words = [t(f"add.{name}", n=counts[name]) for name in GROUPS if counts[name]]
    return html.escape(" · ".join(words))


def row(
    workspace: Workspace, number: int, item: Added, view: SourceView | None
) -> DeltaGenerator | None:
    """Name, size, state and the way out; returns the open slot of a row whose work goes on."""
    slot = None
    name = view.source.name if view else item.name
    locked = view is not None and view.status == "needs_password"
    with st.container(
        key=f"up_{number}", horizontal=True, vertical_alignment="center", gap=None, wrap=False
    ):
        icon = "lock" if locked else icon_of(name, view.source.origin if view else item.origin)
        detail = t("add.same_name") if item.outcome == "same_name" else text.size(item.size)
        if item.origin == "link":
            url = (view.source.url if view else None) or item.name
            titled = name != url
            detail = urlsplit(url).netloc if titled else t("add.link")
            name = name if titled else address(url)
        shown = html.escape(name)
        st.html(
            f'<div class="up"><i class="ic">{icon}</i><div><div class="cut" title="{shown}">{shown}'
            f'</div><span class="meta num">{html.escape(detail)}</span></div></div>'
        )
        with st.container(key=f"upst_{number}", gap=None, width=272):
            if item.outcome == "same_name":
                decide(workspace, number)
            elif locked and view:
                enter(workspace, view)
            elif view and status.running(view):
                slot = st.container(gap=None)
            elif view and view.status == "failed" and view.source.url:
                failed_link(workspace, view)
            else:
                st.html(outcome(item, view))
        way_out(workspace, number, item, view)
    return slot


def outcome(item: Added, view: SourceView | None) -> str:
    """The words of a row that waits for nothing, as escaped HTML."""
    if item.outcome == "duplicate":
        return f'<span class="st">{html.escape(t("add.duplicate"))}</span>'
    if item.outcome == "refused" and item.error:
        whole = html.escape(text.error(item.error))
        words = whole if item.error["code"] in SAID_WHOLE else html.escape(text.short(item.error))
        return f'<span class="st fail" title="{whole}">{words}</span>'
    if view is None:
        return f'<span class="st">{html.escape(t("add.removed"))}</span>'
    tick = '<i class="ic ok">check_circle</i>' if view.status == "ready" else ""
    return f'<div class="done">{tick}{status.line(view)}</div>'


def failed_link(workspace: Workspace, view: SourceView) -> None:
    """Why a page did not come, what to do instead, and another try."""
    with st.container(key=f"why_{view.source.id}", gap=None):
        words = html.escape(status.whole(view))
        st.html(f'<span class="st fail">{words}</span>')
        st.button(
            t("source.retry"),
            key=f"again_{view.source.id}",
            on_click=try_again,
            args=(workspace, view.source.id),
        )


@action
def try_again(workspace: Workspace, source_id: str) -> None:
    ingestion.retry_source(workspace, source_id)


def decide(workspace: Workspace, number: int) -> None:
    with st.container(horizontal=True, gap="xsmall"):
        for verb, replace in (("replace", True), ("keep_both", False)):
            st.button(
                t(f"add.{verb}"),
                key=f"{verb}_{number}",
                on_click=settle,
                args=(workspace, number, replace),
            )


@action
def settle(workspace: Workspace, number: int, replace: bool) -> None:
    added = state.added()
    if number < len(added) and added[number].outcome == "same_name":
        added[number] = adding.settle_same_name(workspace, added[number], replace=replace)


def enter(workspace: Workspace, view: SourceView) -> None:
    key = f"pw_{view.source.id}"
    words = t("status.wrong_password" if status.wrong_password(view) else "password.field")
    with st.container(horizontal=True, gap="xsmall", vertical_alignment="center", wrap=False):
        st.text_input(
            t("password.field"),
            type="password",
            placeholder=words,
            label_visibility="collapsed",
            key=key,
            on_change=unlock,
            args=(workspace, view, key),
        )
        st.button(
            t("password.do"),
            key=f"unlock_{view.source.id}",
            on_click=unlock,
            args=(workspace, view, key),
        )


@action
def unlock(workspace: Workspace, view: SourceView, key: str) -> None:
    password = st.session_state.get(key)
    if password:
        st.session_state[key] = ""
        ingestion.retry_source(workspace, view.source.id, password)


def way_out(workspace: Workspace, number: int, item: Added, view: SourceView | None) -> None:
    """Cancel what runs, skip what waits for an answer, remove what failed. A row that is done only
    leaves this list: its source stays."""
    if view and status.running(view):
        verb = "cancel"
    elif item.outcome == "same_name" or (view and view.status == "needs_password"):
        verb = "skip"
    elif item.outcome == "refused" or (view and view.status == "failed"):
        verb = "remove"
    else:
        verb = "hide"
    st.button(
        t(f"add.{verb}"),
        icon=":material/close:",
        type="tertiary",
        key=f"icon_out_{number}",
        on_click=leave,
        args=(workspace, number, verb),
    )


@action
def leave(workspace: Workspace, number: int, verb: str) -> None:
    added = state.added()
    if number >= len(added):
        return
    item = added[number]
    if verb == "cancel" and item.source_id:
        ingestion.cancel_source(workspace, item.source_id)
        return
    if verb == "remove" and item.source_id:
        trash_id = ingestion.delete_sources(workspace, [item.source_id])
        if trash_id:
            state.offer_undo("source", trash_id, item.name)
    del added[number]
