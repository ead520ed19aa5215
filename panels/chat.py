"""The Chat panel: conversations, the log of questions and answers, and the composer.

Pattern: everything is read from ``services.chat`` on each run, which also does the answering; the
panel keeps only which conversation is open. While an answer is written, one fragment draws it
again and again and the page follows once at the end, so a reload, a second tab or a press
elsewhere never loses a word. The log holds the last turns and more on demand.
"""

from __future__ import annotations

import html
import re
from pathlib import Path

import streamlit as st

from panels import components, frame, live, markdown, state
from panels.actions import action
from panels.citing import Shown
from panels.text import label, t, when
from panels.turns import Drawn, turns_of
from services import chat, exporting, notebooks, overview, storage
from services.chat import Conversation, TurnView
from services.errors import HaloError
from services.models import Message
from services.sample import SAMPLE_QUESTIONS
from services.workspace import Workspace

TURNS = 8
"""Questions shown with their answers: about 70 elements each of the 1,500 a page may have."""
FRESH = "new"
"""Stands for a conversation that begins with its first question."""
LISTED = 30
READ_FOR_QUESTIONS = 60_000
"""Words of a source up to which its subjects are looked up for the first questions: a moment."""
"""So many conversations are offered for reopening."""
_announce = st.components.v2.component(
    "halo_announce",
    js=(Path(__file__).parent / "assets" / "announce.js").read_text(encoding="utf-8"),
)


def panel(workspace: Workspace, shown: Shown) -> None:
    known = chat.list_conversations(workspace)
    current = _current(known)
    refusal: HaloError | None = None
    messages: list[Message] = []
    try:
        messages = chat.load_messages(workspace, current.id) if current else []
    except HaloError as error:  # this conversation cannot be shown; the others can
        refusal = error
    running = next((m for m in messages if m.state == "running"), None)
    with frame.panel("chat"):
        head(workspace, known, current, empty=not messages and not refusal)
        with st.container(
            key="pb_chat", height=600, autoscroll=bool(messages), border=False, gap=None
        ):
            if refusal:
                frame.failed(refusal)
            elif messages and current:
                log(workspace, current, messages, shown)
            elif shown.views:
                start(workspace, shown)
            else:
                welcome()
        with frame.foot("chat"):
            composer(workspace, None if refusal else current, running, shown)


def _current(known: list[Conversation]) -> Conversation | None:
    """The conversation that was chosen, or the last used; None when a new one begins."""
    chosen = state.conversation()
    if chosen == FRESH:
        return None
    newest = known[0] if known else None
    return next((c for c in known if c.id == chosen), newest)


# -- the top row ----------------------------------------------------------------------------------


def head(
    workspace: Workspace, known: list[Conversation], current: Conversation | None, *, empty: bool
) -> None:
    with frame.head("chat"):
        frame.title(t("chat.title"))
        if not known:
            return
        st.menu_button(
            label(title_of(current)) if current else t("chat.untitled"),
            [c.id for c in known[:LISTED]],
            type="tertiary",
            key="conversations",
            format_func=lambda key: _listed(known, current, key),
            on_click=lambda: reopen(st.session_state["conversations"]),
        )
        frame.gap()
        st.button(
            t("chat.new"),
            icon=":material/add:",
            type="tertiary",
            key="chat_new",
            disabled=empty,
            help=t("chat.new_empty") if empty else t("chat.new_help"),
            on_click=reopen,
            args=(FRESH,),
        )
        if current:
            conversation_menu(workspace, current)


def _listed(known: list[Conversation], current: Conversation | None, key: str) -> str:
    found = next(c for c in known if c.id == key)
    icon = "check" if current and current.id == key else "chat_bubble"
    parts = [label(title_of(found)), label(when(found.updated_at)) if found.updated_at else ""]
    return f":material/{icon}: {' · '.join(filter(None, parts))}"


def title_of(conversation: Conversation) -> str:
    """A conversation's name on the screen; a damaged one's says so."""
    title = conversation.title or t("chat.untitled")
    return t("chat.damaged", title=title) if conversation.damaged else title


def conversation_menu(workspace: Workspace, current: Conversation) -> None:
    exports = {f"export_{name}": "download" for name in exporting.SUFFIXES}
    icons = {**exports, "rename": "edit", "delete": "delete"}
    st.menu_button(
        t("chat.menu"),
        list(icons),
        icon=":material/more_horiz:",
        type="tertiary",
        key="menu_chat",
        format_func=lambda option: f":material/{icons[option]}: {t(f'chat.menu.{option}')}",
        on_click=chosen,
        args=(workspace, current),
    )


def reopen(conversation_id: str) -> None:
    state.choose_conversation(conversation_id)
    st.session_state["chat_turns"] = TURNS


@action
def chosen(workspace: Workspace, current: Conversation) -> None:
    """Do what was chosen in the conversation's menu."""
    match st.session_state["menu_chat"]:
        case "export_markdown":
            export(workspace, current, "markdown")
        case "export_docx":
            export(workspace, current, "docx")
        case "export_json":
            export(workspace, current, "json")
        case "rename":
            state.ask_name("conversation", current.id, current.title)
        case "delete":
            trash_id = chat.delete_conversation(workspace, current.id)
            state.offer_undo("conversation", trash_id, current.title or t("chat.untitled"))
            reopen("")


def export(workspace: Workspace, current: Conversation, format_: exporting.Format) -> None:
    """Hand the conversation to the browser as a file."""
    data = exporting.export_conversation(workspace, current.id, format_)
    name = re.sub(r"[^\w .-]+", " ", current.title).strip()[:80] or "chat"
    file = f"{name}.{exporting.SUFFIXES[format_]}"
    state.ask_download(file, exporting.MIMES[format_], lambda: data)


# -- the log --------------------------------------------------------------------------------------


def log(workspace: Workspace, current: Conversation, messages: list[Message], shown: Shown) -> None:
    """The last turns, oldest first, and a way to the earlier ones."""
    turns = turns_of(messages)
    limit = st.session_state.setdefault("chat_turns", TURNS)
    hidden = max(len(turns) - limit, 0)
    answering = any(message.state == "running" for message in messages)
    drawn = Drawn(workspace, current.id, shown, answering=answering)
    with st.container(key="log", gap=None):
        if hidden:
            st.button(
                t("chat.earlier", n=hidden),
                icon=":material/expand_less:",
                type="tertiary",
                key="earlier",
                on_click=show_more,
            )
        for turn in turns[hidden:]:
            drawn.turn(
                turn,
                last=turn is turns[-1],
                live=lambda message: being_written(workspace, message),
            )
    components.scroll_to(f".st-key-q_{turns[-1].id}", current.id)
    announce(t("chat.done") if messages[-1].state == "done" else "")


def announce(words: str) -> None:
    """Tell screen readers that an answer is complete, once; not every word of it."""
    _announce(key="announce", data=[words])


def show_more() -> None:
    st.session_state["chat_turns"] += TURNS


def being_written(workspace: Workspace, message: Message) -> None:
    """The answer in progress: what is being done, and the text so far."""
    included = len(message.scope or ())

    def draw() -> bool:
        now = chat.turn(workspace, message.id)
        stage = _stage(now, included)
        st.html(f'<div class="by live">{html.escape(stage)}</div>')
        with st.container(key=f"text_{message.id}"):
            st.markdown(markdown.render_live(now.text) if now else "")
        return now is not None and now.state == "running"

    live.live(draw, running=chat.turn(workspace, message.id) is not None)


def _stage(now: TurnView | None, included: int) -> str:
    if now is None:
        return t("chat.elsewhere")
    if now.stage == "searching":
        return t("chat.stage.searching", n=included)
    if now.stage == "waiting":
        return t("chat.stage.waiting", n=now.wait)
    return t(f"chat.stage.{'writing' if now.stage == 'done' else now.stage}")


# -- nothing asked yet ----------------------------------------------------------------------------


def start(workspace: Workspace, shown: Shown) -> None:
    """Sources are here, but no question: what to expect, and questions to start with."""
    with st.container(key="start", gap=None):
        st.html(
            f'<h1 class="serif">{html.escape(t("chat.start.title"))}</h1>'
            f"<p>{html.escape(t('chat.start.text'))}</p>"
        )
        questions = _suggested(workspace, shown)
        if questions:
            st.html(f'<h3 class="sec-h">{html.escape(t("chat.start.suggested"))}</h3>')
        for number, question in enumerate(questions):
            st.button(
                label(question),
                key=f"sug_{number}",
                disabled=not _scope(shown),
                help=None if _scope(shown) else _reason(shown),
                on_click=ask,
                args=(workspace, None, _scope(shown), question),
            )


def _suggested(workspace: Workspace, shown: Shown) -> list[str]:
    """The sample's own questions, or else what the first included sources are about."""
    if storage.load_config(workspace).get("sample"):
        return list(SAMPLE_QUESTIONS)
    topics: list[str] = []
    read = [view.source for view in shown.views if view.source.answerable and view.source.selected]
    for source in [source for source in read if source.words < READ_FOR_QUESTIONS][:3]:
        found = overview.guide(workspace, source).topics
        topics += [topic for topic in found if topic not in topics][:1]
    asked = [t("guide.question", topic=topic) for topic in topics]
    return [t("guide.whole"), *asked] if asked else []


def welcome() -> None:
    """The first start: what HALO does, and three things to try."""
    with st.container(key="welcome", gap=None):
        st.html(
            f'<h1 class="serif">{html.escape(t("empty.title"))}</h1>'
            f"<p>{html.escape(t('empty.text'))}</p>"
        )
        with st.container(key="local", gap=None):
            st.html(
                f'<i class="dot hollow"></i><div><b>{html.escape(t("empty.local"))}</b>'
                f"<p>{html.escape(t('empty.local_text'))}</p></div>"
            )
        st.html(f'<h3 class="sec-h">{html.escape(t("empty.try"))}</h3>')
        card("pdf", "upload_file", try_pdf)
        card("figure", "search", try_figure)
        card("sample", "folder_open", try_sample)
    if st.session_state.pop("go_to_search", False):
        st.switch_page("pages/Search.py", query_params=dict(st.query_params))


def card(name: str, icon: str, on_click: object) -> None:
    """A card that is one big button."""
    with st.container(key=f"try_{name}", gap=None):
        st.html(
            f'<span class="n"><i class="ic">{icon}</i></span>'
            f"<span><b>{html.escape(t(f'empty.{name}'))}</b>"
            f"<span>{html.escape(t(f'empty.{name}_text'))}</span></span>"
            '<i class="ic go">chevron_right</i>'
        )
        st.button(t(f"empty.{name}"), type="tertiary", key=f"do_{name}", on_click=on_click)  # type: ignore[arg-type]


def try_pdf() -> None:
    state.open_dialog("add")


def try_figure() -> None:
    st.session_state["go_to_search"] = True


@action
def try_sample() -> None:
    notebook = notebooks.open_sample()
    state.forget()
    st.query_params["nb"] = notebook.id


# -- the composer ---------------------------------------------------------------------------------


def _scope(shown: Shown) -> list[str]:
    """Ids of the sources a question goes to."""
    return [v.source.id for v in shown.views if v.source.selected and v.source.answerable]


def _reason(shown: Shown) -> str:
    """Why nothing can be asked now."""
    if not shown.views:
        return t("chat.scope.none")
    if any(view.source.answerable for view in shown.views):
        return t("chat.scope.excluded")
    waiting = any(view.status in ("queued", "reading") for view in shown.views)
    return t("chat.scope.waiting" if waiting else "chat.scope.unreadable")


def composer(
    workspace: Workspace, current: Conversation | None, running: Message | None, shown: Shown
) -> None:
    """The field for the next question. While an answer is written, Stop takes the place of Send."""
    scope = _scope(shown)
    conversation_id = current.id if current else None
    with st.container(key="composer", gap=None):
        st.chat_input(
            t("chat.ask" if shown.views else "chat.ask_own"),
            key="ask",
            disabled=not scope,
            on_submit=submit,
            args=(workspace, conversation_id, scope),
        )
        if running and chat.turn(workspace, running.id):
            st.button(
                t("chat.stop"),
                icon=":material/stop:",
                key="stop",
                on_click=stop,
                args=(workspace, running.id),
            )
    if state.edited_question(conversation_id):
        with st.container(key="editing", horizontal=True, vertical_alignment="center"):
            st.html(f'<div class="under">{html.escape(t("chat.editing"))}</div>')
            st.button(
                t("chat.edit_cancel"), type="tertiary", key="edit_cancel", on_click=keep_as_is
            )
        return
    words = t("chat.scope", n=len(scope)) if scope else _reason(shown)
    st.html(f'<div class="under num">{html.escape(words)}</div>')


def keep_as_is() -> None:
    """Give up editing a question."""
    state.edit_question("", "")
    st.session_state["ask"] = ""


def submit(workspace: Workspace, conversation_id: str | None, scope: list[str]) -> None:
    """Send what was typed. What cannot be sent now goes back into the field."""
    question = st.session_state["ask"] or ""
    if conversation_id and chat.running_turn(workspace, conversation_id):
        st.session_state["ask"] = question
        st.toast(t("chat.busy"), icon=":material/hourglass_top:")
    elif question.strip():
        ask(workspace, conversation_id, scope, question)


@action
def ask(workspace: Workspace, conversation_id: str | None, scope: list[str], question: str) -> None:
    """Ask in the open conversation, or begin one. The draft comes back when that fails."""
    typed = st.session_state.get("ask") == question
    try:
        chat.checked_question(question)
        conversation_id = conversation_id or chat.new_conversation(workspace).id
        replaced = state.edited_question(conversation_id)
        chat.ask(workspace, conversation_id, question, scope, replaces=replaced)
        state.edit_question("", "")
        state.choose_conversation(conversation_id)
        typed = False
    finally:
        if typed:
            st.session_state["ask"] = question


@action
def stop(workspace: Workspace, message_id: str) -> None:
    chat.stop(workspace, message_id)
