"""One turn of the log: a question, and its answer with everything that can be done with it.

A turn shows one answer: the newest, or an earlier one that was asked for. Elements come in the
same order in every state, so that nothing jumps when an answer is complete. Only the last turn
has a row of buttons; the others keep the same actions in their one menu, for the page's weight.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

import streamlit as st

from panels import clipboard, markdown, state
from panels.actions import action
from panels.citing import Cited, Shown, source_line
from panels.markdown import Chip
from panels.places import place
from panels.text import error, finding, label, number, t, when
from services import chat, notes
from services.models import Answer, Claim, Message, Record, Sent, Support
from services.workspace import Workspace

TICKS: dict[Support, str] = {
    "supported": ":green[{}]",
    "partly": ":orange[{}]",
    "unsupported": ":orange[{}]",
    "unchecked": ":gray[{}]",
}
HOLLOW = frozenset({"unsupported", "unchecked"})
CLAIM_ICONS: dict[Support, str] = {
    "supported": ":green[:material/check_circle:]",
    "partly": ":orange[:material/contrast:]",
    "unsupported": ":orange[:material/info:]",
    "unchecked": ":gray[:material/pending:]",
}
_BULLET = re.compile(r"^(?:[-*+>#]+|\d{1,3}[.)])\s+")
ORDER: tuple[Support, ...] = ("supported", "partly", "unsupported", "unchecked")


@dataclass(frozen=True)
class Turn:
    """A question in all its versions and their answers, oldest first; without a question when it
    is missing."""

    questions: tuple[Message, ...]
    answers: tuple[Message, ...]

    @property
    def id(self) -> str:
        return (self.questions or self.answers)[0].id

    @property
    def question(self) -> Message | None:
        """The newest version."""
        return self.questions[-1] if self.questions else None

    def asked(self, answer: Message) -> Message | None:
        """The version that an answer answers."""
        return next((q for q in self.questions if q.id == answer.reply_to), self.question)


def turns_of(messages: Sequence[Message]) -> list[Turn]:
    """The log as turns: each answer belongs to the question it replies to, or the last one; a
    question that replaces another is a version of it."""
    first: dict[str, str] = {}
    questions: dict[str, list[Message]] = {}
    answers: dict[str, list[Message]] = {}
    last = ""
    for message in messages:
        if message.role == "user":
            last = first[message.id] = first.get(message.replaces or "", message.id)
            questions.setdefault(last, []).append(message)
            answers.setdefault(last, [])
        else:
            owner = first.get(message.reply_to or "") or last or message.id
            answers.setdefault(owner, []).append(message)
    return [Turn(tuple(questions.get(key, ())), tuple(found)) for key, found in answers.items()]


class Drawn:
    """Draws turns of one conversation. ``answering`` is True while one of them is written."""

    def __init__(
        self, workspace: Workspace, conversation_id: str, shown: Shown, *, answering: bool
    ) -> None:
        self.workspace, self.conversation_id = workspace, conversation_id
        self.shown, self.answering = shown, answering

    def turn(self, turn: Turn, *, last: bool, live: Callable[[Message], None]) -> None:
        """Draw a turn; ``live`` draws an answer that is being written."""
        at = min(_chosen(turn.id, len(turn.answers)), len(turn.answers)) - 1
        asked = turn.asked(turn.answers[at]) if turn.answers else turn.question
        if asked:
            with st.container(key=f"q_{turn.id}", horizontal=True, horizontal_alignment="right"):
                st.html(f'<div class="q">{html.escape(asked.content)}</div>')
        if not turn.answers:
            return
        message = turn.answers[at]
        with st.container(key=f"a_{message.id}", gap=None):
            if message.state == "running":
                live(message)
            else:
                self.answer(message, turn, at + 1, last=last)

    def answer(self, message: Message, turn: Turn, at: int, *, last: bool) -> None:
        """A complete answer, or one that ended early, in one of its states."""
        answer = message.answer or Answer(text=message.content, grounded=True)
        not_found = message.state == "done" and message.answer is not None and not answer.grounded
        self.byline(message, answer, at, len(turn.answers), quiet=not_found)
        if not_found:
            self.not_found(message, answer)
        elif message.content:
            with st.container(key=f"text_{message.id}"):
                st.markdown(self.text(message, answer), anchors=False)
        if message.state == "failed":
            self.ended("failed", error(message.error or {}) or t("chat.failed"), message)
        if message.state in ("stopped", "interrupted"):
            kind = message.state if message.content else f"{message.state}_empty"
            self.ended(message.state, t(f"chat.{kind}"), message)
        # of words taken from the sources themselves only a claim that fails is news
        told = answer.answered_by != "extractive" or any(
            claim.support == "unsupported" for claim in answer.claims
        )
        if answer.claims and told and message.state == "done" and not not_found:
            self.claims(message, answer)
        self.actions(message, answer, turn, last=last)
        if st.session_state.get("details") == message.id:
            self.details(message, answer, turn)

    def text(self, message: Message, answer: Answer) -> str:
        """The answer's text with its chips; one that ended early has none that were checked."""
        if not answer.citations and message.state != "done":
            return markdown.render_live(message.content)
        return self.cited(message, answer).markdown

    def cited(self, message: Message, answer: Answer) -> Cited:
        return self.shown.cited(message.id, message.content, answer.citations, answer.claims)

    def byline(self, message: Message, answer: Answer, at: int, of: int, *, quiet: bool) -> None:
        """The line above an answer: from how many sources, how long it took, how it was made."""
        parts = []
        cited = len({citation.source_id for citation in answer.citations})
        if cited and not quiet:
            parts.append(t("chat.from", n=cited, m=max(len(message.scope or ()), cited)))
        if message.seconds and message.state == "done":
            parts.append(t("chat.seconds", s=number(max(message.seconds, 0.1), 1)))
        if of > 1:
            parts.append(t("chat.answer_of", n=at, m=of))
        parts = parts or [when(message.created_at)]
        line = " · ".join(f"<span>{html.escape(part)}</span>" for part in parts)
        by = answer.answered_by
        if by != "extractive" or (cited and not quiet):
            words = t("chat.word_for_word") if by == "extractive" else by.partition(":")[2]
            line += f' <span class="badge n">{html.escape(words)}</span>'
        for notice in answer.notices:
            line += (
                f'<span class="notice"><i class="ic">info</i>{html.escape(finding(notice))}</span>'
            )
        st.html(f'<div class="by num">{line}</div>')

    def ended(self, kind: str, sentence: str, message: Message) -> None:
        """A strip below an answer that ended early: what happened, and the way on."""
        icon = {"failed": "error", "stopped": "stop_circle"}.get(kind, "link_off")
        with st.container(
            key=f"ended_{kind}_{message.id}",
            horizontal=True,
            vertical_alignment="center",
            gap="xsmall",
        ):
            st.html(
                f'<span class="ended"><i class="ic">{icon}</i>{html.escape(sentence)}</span>',
                width="content",
            )
            st.button(
                t("chat.again"),
                type="tertiary",
                key=f"again_{message.id}",
                disabled=self.answering,
                help=t("chat.busy") if self.answering else None,
                on_click=again,
                args=(self.workspace, self.conversation_id, message.id),
            )
            if kind == "failed" and str((message.error or {}).get("code")).startswith("model"):
                st.button(
                    t("chat.without_model"),
                    type="tertiary",
                    key=f"local_{message.id}",
                    disabled=self.answering,
                    on_click=without_model,
                    args=(self.workspace, self.conversation_id, message.id),
                )

    def not_found(self, message: Message, answer: Answer) -> None:
        """Not in the sources: said first, then the passages that came nearest, to open."""
        passages = self.shown.looked_at(message.id, answer.looked_at)
        lead = t("chat.looked_at") if passages else t("chat.looked_at_nothing")
        lines = [f"**{t('chat.not_found')}** {lead}", ""]
        if answer.answered_by != "extractive":  # a model may say more, and says it itself
            lines = [markdown.render(message.content), "", lead, ""]
        for chip, passage in passages:
            where = " · ".join(filter(None, [passage.source_name, place(passage)]))
            quote = markdown.plain(shortened(passage.quote))
            lines.append(f"- [{markdown.plain(where)}](#cite-{chip.target})  \n  {quote}")
        with st.container(key=f"looked_{message.id}"):
            st.markdown("\n".join(lines))

    def claims(self, message: Message, answer: Answer) -> None:
        """The claims line: a tick a claim and the count of each state; opened, the claims."""
        states = [claim.support for claim in answer.claims]
        ticks = "".join(
            TICKS[support].format(("▯" if support in HOLLOW else "▮") * len(list(run)))
            for support, run in groupby(states)
        )
        parts = [t("chat.claims", n=len(states))]
        for support in ORDER:
            count = states.count(support)
            if count:
                words = label(t(f"chat.claims.{support}", n=count))
                parts.append(f":orange[**{words}**]" if support == "unsupported" else words)
        line = f":small[{ticks}] {' · '.join(parts)}"
        key = f"claims_{message.id}"
        opened = st.expander(line, type="compact", key=key, on_change="rerun")
        if opened.open:
            chips = self.cited(message, answer).chips
            opened.markdown("\n".join(claim_line(claim, chips) for claim in answer.claims))

    def actions(self, message: Message, answer: Answer, turn: Turn, *, last: bool) -> None:
        """What can be done with the answer: a row below the last one, a menu below the others."""
        useful = bool(message.content) and message.state != "failed"
        key = f"acts_{message.id}" if last else f"acts_old_{message.id}"
        with st.container(key=key, horizontal=True, vertical_alignment="center", gap=None):
            if last and useful:
                self.button("save", "bookmark_add", save, message)
                self.button("copy", "content_copy", copy, message)
            if last and message.state == "done":
                self.button("regenerate", "refresh", again, message, disabled=self.answering)
            if last and turn.question:
                self.button("edit", "edit", edit, turn.question, disabled=self.answering)
            options = [*([] if last or not useful else ["save", "copy"])]
            options += ["regenerate"] if not last and message.state == "done" else []
            if len(turn.answers) > 1:
                options.append("other_answer" if message == turn.answers[-1] else "newest_answer")
            option = "hide_details" if _details(message.id) else "details"
            if last and not options:
                self.details_button(option, message, turn)
                return
            options.append(option)
            icons = {
                "save": "bookmark_add", "copy": "content_copy", "regenerate": "refresh",
                "other_answer": "history", "newest_answer": "update", "details": "info",
                "hide_details": "visibility_off",
            }  # fmt: skip
            st.menu_button(
                t("chat.answer_menu"),
                options,
                icon=":material/more_horiz:",
                type="tertiary",
                key=f"menu_a_{message.id}",
                format_func=lambda option: f":material/{icons[option]}: {t(f'chat.{option}')}",
                on_click=self.chosen,
                args=(message, turn),
            )

    def button(
        self,
        name: str,
        icon: str,
        callback: Callable[[Workspace, str, str], None],
        message: Message,
        *,
        disabled: bool = False,
    ) -> None:
        st.button(
            t(f"chat.{name}"),
            icon=f":material/{icon}:",
            type="tertiary",
            key=f"{name}_{message.id}",
            disabled=disabled,
            help=t("chat.busy") if disabled else None,
            on_click=callback,
            args=(self.workspace, self.conversation_id, message.id),
        )

    def details_button(self, option: str, message: Message, turn: Turn) -> None:
        """In place of a menu that would hold nothing else."""
        st.button(
            t(f"chat.{option}"),
            icon=":material/info:",
            type="tertiary",
            key=f"icon_details_{message.id}",
            on_click=self.do,
            args=(option, message, turn),
        )

    def chosen(self, message: Message, turn: Turn) -> None:
        """Do what was chosen in an answer's menu."""
        self.do(st.session_state[f"menu_a_{message.id}"], message, turn)

    def do(self, option: str, message: Message, turn: Turn) -> None:
        where = (self.workspace, self.conversation_id, message.id)
        match option:
            case "save":
                save(*where)
            case "copy":
                copy(*where)
            case "regenerate":
                again(*where)
            case "other_answer":
                st.session_state[f"answer_{turn.id}"] = len(turn.answers) - 1
            case "newest_answer":
                st.session_state[f"answer_{turn.id}"] = None
            case "details":
                st.session_state["details"] = message.id
            case "hide_details":
                st.session_state["details"] = None

    def details(self, message: Message, answer: Answer, turn: Turn) -> None:
        """How the answer came about: who answered, when, from which sources and passages."""
        by = answer.answered_by
        rows = [
            (t("chat.details.by"), t("chat.details.extractive") if by == "extractive" else by),
            (t("chat.details.asked"), when((turn.asked(message) or message).created_at)),
        ]
        if message.seconds:
            rows.append((t("chat.details.time"), t("chat.seconds", s=number(message.seconds, 2))))
        names = [self.shown.names[i] for i in message.scope or () if i in self.shown.names]
        if names:
            rows.append((t("chat.details.scope"), ", ".join(names)))
        rows += record_lines(answer.record) if answer.record else []
        if answer.citations:
            rows.append((t("chat.details.passages"), "\n".join(map(source_line, answer.citations))))
        if answer.looked_at:
            seen = [" · ".join(filter(None, [p.source_name, place(p)])) for p in answer.looked_at]
            rows.append((t("chat.details.looked"), "\n".join(dict.fromkeys(seen))))
        lines = "".join(
            f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in rows
        )
        st.html(f'<dl class="details num">{lines}</dl>')


def record_lines(record: Record) -> list[tuple[str, str]]:
    """How a model came to its answer, as names and values."""
    rows = [(t("chat.details.model_at"), record.url)]
    if record.tokens_in or record.tokens_out:
        tokens = t("chat.details.tokens_value", read=record.tokens_in, written=record.tokens_out)
        rows.append((t("chat.details.tokens"), tokens))
    if record.seconds:
        spent = {name: number(value, 2) for name, value in record.seconds.items()}
        rows.append((t("chat.details.timings"), t("chat.details.timings_value", **spent)))
    if record.earlier:
        rows.append((t("chat.details.earlier"), number(record.earlier)))
    sent = [
        f"[{passage.number}] {passage.source_name}{_page(passage)}" for passage in record.passages
    ]
    return [*rows, (t("chat.details.sent"), "\n".join(sent))]


def _page(passage: Sent) -> str:
    return f", {t('place.page', page=passage.page)}" if passage.page else ""


def claim_line(claim: Claim, chips: dict[int, Chip]) -> str:
    """One claim as a list item: its state, its words, its chips."""
    words = _BULLET.sub("", markdown.without_markers(claim.text).strip())
    marks = {n: Chip(chips[n].target, chips[n].quote) for n in claim.citations if n in chips}
    text = f"{words} {''.join(f'[{n}]' for n in marks)}".replace("\n", " ")
    state = label(t(f"chat.claim.{claim.support}"))
    return f"- {CLAIM_ICONS[claim.support]} **{state}.** {markdown.render(text, marks)}"


def _chosen(turn_id: str, newest: int) -> int:
    return st.session_state.get(f"answer_{turn_id}") or newest


def _details(message_id: str) -> bool:
    return bool(st.session_state.get("details") == message_id)


def shortened(quote: str, limit: int = 180) -> str:
    """The beginning of a passage in one line; rows and items are set apart by dots."""
    lines = (_BULLET.sub("", line).replace(" | ", " · ").strip() for line in quote.splitlines())
    line = " · ".join(filter(None, lines))
    return line if len(line) <= limit else f"{line[:limit].rsplit(' ', 1)[0]} …"


# -- what a press does ----------------------------------------------------------------------------


@action
def save(workspace: Workspace, conversation_id: str, message_id: str) -> None:
    notes.note_from_message(workspace, conversation_id, message_id)
    st.toast(t("chat.saved"), icon=":material/bookmark_added:")


@action
def copy(workspace: Workspace, conversation_id: str, message_id: str) -> None:
    found = [m for m in chat.load_messages(workspace, conversation_id) if m.id == message_id]
    citations = found[0].answer.citations if found and found[0].answer else []
    clipboard.ask_copy(f"text_{message_id}", [source_line(citation) for citation in citations])


@action
def again(workspace: Workspace, conversation_id: str, message_id: str) -> None:
    """Answer the question again; a second press while it is being answered does nothing."""
    if chat.running_turn(workspace, conversation_id) is None:
        chat.regenerate(workspace, conversation_id, message_id)


@action
def without_model(workspace: Workspace, conversation_id: str, message_id: str) -> None:
    """Answer in the sources' own words a question that the model could not."""
    if chat.running_turn(workspace, conversation_id) is None:
        chat.regenerate(workspace, conversation_id, message_id, without_model=True)


def edit(workspace: Workspace, conversation_id: str, question_id: str) -> None:
    """Put a question back into the field; sending it makes another version of it."""
    found = [m for m in chat.load_messages(workspace, conversation_id) if m.id == question_id]
    if found:
        st.session_state["ask"] = found[0].content
        state.edit_question(conversation_id, question_id)
