"""What every page shares: page config, look, language, guard, header, dialogs, undo.

A page is ``with frame.page() as workspace:`` and draws its content inside. A panel is
``with frame.panel("chat"):`` with ``head``, ``body`` and ``foot`` inside. Callbacks that call a
service carry ``@frame.action``, so that an error is a sentence and never a traceback.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import streamlit as st

from panels import components, live, state, text
from panels.actions import action as action
from panels.dialogs import show_dialog
from panels.header import header
from panels.text import t
from services import chat, ingestion, notebooks, notes, storage, trash
from services.errors import HaloError, NotFoundError, from_os_error
from services.models import Note
from services.pipeline import pipeline
from services.studio import outputs
from services.workspace import Workspace, open_workspace

HERE = Path(__file__).parent
STYLES = ("style.css", "chat.css", "studio.css")


@contextmanager
def page(title: str = "") -> Iterator[Workspace]:
    """One page: what is drawn inside stands below the header. Service errors become sentences.

    ``title`` is the key of its name, for the browser's tab.
    """
    st.set_page_config(
        page_title=f"{t(title)} · HALO" if title else "HALO",
        page_icon=str(HERE / "assets" / "mark.svg"),
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    look()
    try:
        workspace = opened()
    except HaloError as error:
        blocked(error)
        st.stop()
    try:
        seen = workspace.stamp()
        show_dialog(workspace)  # first: Streamlit hides an open dialog until a run has drawn it
        header(workspace)
        notices(workspace)
        yield workspace
        undo_strip(workspace)
        hand_over_download()
        live.heartbeat(workspace, seen)
    except HaloError as error:
        blocked(error)


def look() -> None:
    """The style sheets, and the colour scheme of the theme Streamlit reports."""
    for name in STYLES:
        if (HERE / name).exists():
            st.html(HERE / name)
    st.html(f"<style>:root{{color-scheme:{st.context.theme.type or 'light'}}}</style>")


def opened() -> Workspace:
    """The notebook the address names (``?nb=ID``), with its worker and language set up."""
    text.use(text.choose(None, st.context.locale))
    named = st.query_params.get("nb")
    try:
        workspace = open_workspace(named)
    except NotFoundError as error:
        st.toast(text.error(error))
        st.query_params.pop("nb", None)
        workspace = open_workspace()
    text.use(text.choose(storage.load_config().get("language"), st.context.locale))
    pipeline().start()
    return workspace


def notices(workspace: Workspace) -> None:
    """What happened to the folder's files, until it was seen: one strip, the oldest first."""
    notice = next(iter(workspace.notices()), None)
    if notice:
        words = html.escape(text.finding(notice))
        strip(
            "notice", "info", words, t("notice.seen"), "notice_seen", dismiss, workspace, notice.id
        )


@action
def dismiss(workspace: Workspace, notice_id: str) -> None:
    workspace.dismiss_notice(notice_id)


def blocked(error: HaloError) -> None:
    """The whole page when the data folder cannot be used: what happened and the way on."""
    with st.container(key="blocked"):
        st.html(
            f'<h1 class="serif">{html.escape(t("blocked.title"))}</h1>'
            f"<p>{html.escape(text.error(error))}</p>"
        )
        st.button(t("retry"), icon=":material/refresh:", key="blocked_retry")


def failed(error: HaloError) -> None:
    """A part of the page that cannot be shown, the rest of which can: what happened."""
    st.html(f'<p class="failed" role="alert">{html.escape(text.error(error))}</p>')


@contextmanager
def guarded(name: str) -> Iterator[None]:
    """Around a panel: an error in it is a sentence in its place, and the others are drawn."""
    try:
        yield
    except (HaloError, OSError) as error:
        if isinstance(error, OSError):
            error = from_os_error(error, "showing this panel")
        with panel(f"{name}_failed"):
            with head(f"{name}_failed"):
                title(t(f"{name}.title"))
            with body(f"{name}_failed"):
                failed(error)
                st.button(t("retry"), icon=":material/refresh:", key=f"retry_{name}")


# -- panels -----------------------------------------------------------------------------------


def panel(name: str) -> AbstractContextManager[object]:
    """A sheet of paper that fills its column; holds head, body and foot."""
    return st.container(key=f"p_{name}", gap=None)


def head(name: str) -> AbstractContextManager[object]:
    """The panel's top row, 48 px high."""
    return st.container(
        key=f"ph_{name}", horizontal=True, vertical_alignment="center", gap="xsmall"
    )


def body(name: str, *, follow: bool = False) -> AbstractContextManager[object]:
    """The part that scrolls; with ``follow`` it stays at the end while text is being written."""
    if follow:  # autoscroll needs a height in pixels; the style sheet sets the real one
        return st.container(key=f"pb_{name}", gap=None, height=600, border=False, autoscroll=True)
    return st.container(key=f"pb_{name}", gap=None)


def foot(name: str) -> AbstractContextManager[object]:
    """What stays below the body."""
    return st.container(key=f"pf_{name}", gap=None)


def title(words: str, count: int | None = None) -> None:
    """The panel's heading, with a quiet number where one is given."""
    number = "" if count is None else f'<span class="meta num">{text.number(count)}</span>'
    st.html(f'<h2 class="title">{html.escape(words)}</h2>{number}', width="content")


def title_with_back(
    words: str, icon: str, back: str, key: str, on_back: Callable[..., None], *args: object
) -> None:
    """The heading of something opened in a panel, behind the way back to its list."""
    st.button(
        back,
        icon=":material/arrow_back:",
        type="tertiary",
        key=key,
        on_click=on_back,
        args=args,
    )
    name = html.escape(words)
    st.html(
        f'<h2 class="title cut" title="{name}"><i class="ic">{icon}</i>'
        f'<span class="cut">{name}</span></h2>'
    )


def strip(
    key: str,
    icon: str,
    words: str,
    press: str,
    button: str,
    on_click: Callable[..., None],
    *args: object,
) -> None:
    """A line that asks for one thing: ``words`` is HTML, ``press`` what its button says."""
    with st.container(
        key=key, horizontal=True, vertical_alignment="center", gap="small", wrap=False
    ):
        st.html(f'<i class="ic">{icon}</i><span>{words}</span>')
        st.button(press, type="tertiary", key=button, on_click=on_click, args=args)


def gap() -> None:
    """Push what follows to the right end of a horizontal row."""
    st.space("stretch")


# -- undo and downloads ---------------------------------------------------------------------------


def undo_strip(workspace: Workspace) -> None:
    """The last deletion with its way back; the style sheet fades it out after a while."""
    if state.first_look() and not state.undo():
        offer_again(workspace)
    offer = state.undo()
    if not offer:
        return
    with st.container(key="undo", horizontal=True, vertical_alignment="center", gap="small"):
        sentence = t("undo.deleted", name=offer.name)
        st.html(f'<span class="cut" title="{html.escape(sentence)}">{html.escape(sentence)}</span>')
        st.button(t("undo"), type="tertiary", key="undo_do", on_click=restore, args=(workspace,))
        st.button(
            t("close"),
            icon=":material/close:",
            type="tertiary",
            key="icon_undo_close",
            on_click=dismiss_undo,
            args=(workspace,),
        )


def offer_again(workspace: Workspace) -> None:
    """After a reload: the notebook's last deletion, while it is recent and was not waved away."""
    entry = trash.newest(workspace)
    if entry is None:
        return
    content = entry["content"]
    match entry["kind"]:
        case "sources":
            one = str(content[0].get("name", "")) if len(content) == 1 else ""
            state.offer_undo("source", entry["id"], one or t("sources.count", n=len(content)))
        case "note":
            name = Note.model_validate(content).heading
            state.offer_undo("note", entry["id"], name or t("notes.untitled"))
        case "output":
            state.offer_undo("output", entry["id"], str(content.get("title", "")))
        case "conversation":
            name = chat.title_in(content["row"], content["messages"])
            state.offer_undo("conversation", entry["id"], name or t("chat.untitled"))
        case "notebook":
            state.offer_undo("notebook", entry["id"], content["title"] or t("notebook.default"))


@action
def dismiss_undo(workspace: Workspace) -> None:
    offer = state.undo()
    state.drop_undo()
    if offer:
        trash.dismiss(workspace, offer.trash_id)


@action
def restore(workspace: Workspace) -> None:
    """Bring back what was deleted last."""
    offer = state.undo()
    if not offer:
        return
    state.drop_undo()
    match offer.kind:
        case "source":
            ingestion.restore_sources(workspace, offer.trash_id)
        case "note":
            notes.restore_note(workspace, offer.trash_id)
        case "output":
            outputs.restore_output(workspace, offer.trash_id)
        case "conversation":
            chat.restore_conversation(workspace, offer.trash_id)
        case "notebook":
            notebooks.restore_notebook(offer.trash_id)


def hand_over_download() -> None:
    """Give the browser the file a menu asked for: a hidden button is pressed once."""
    download = state.take_download()
    if download:
        st.download_button(
            t("download"),
            download.data,
            file_name=download.name,
            mime=download.mime,
            key="download_now",
            on_click="ignore",
        )
        components.click(".st-key-download_now button", download.token)
