"""The Configuration page: who writes answers, how to reach it, a test, and how it writes.

What is not secret is kept in config.json; keys are read from the environment or secrets.toml and
only ever said to be there or not. What the environment sets cannot be changed here.
"""

from __future__ import annotations

import html

import streamlit as st

from panels import frame
from panels.actions import action
from panels.header import address
from panels.text import error, label, listed, number, t
from services import llm, storage, style
from services.embeddings.endpoint import OPENAI
from services.errors import HaloError
from services.llm import talk
from services.llm.probe import Probed, probe
from services.settings import setting, where_set
from services.style import Style
from services.workspace import Workspace

OPTIONS = (llm.NONE, *llm.PROVIDERS)
FOUND = 40
"""Models named of those that a server lists."""


def panel(workspace: Workspace) -> None:
    with frame.panel("configuration"):
        with frame.head("configuration"):
            frame.title(t("configuration.title"))
            frame.gap()
            st.page_link("app.py", label=t("search.back"), query_params=address(workspace.id))
        with frame.body("configuration"), st.container(key="settings", gap="small"):
            model()
            manner(workspace)


# -- who writes answers ----------------------------------------------------------------------------


def model() -> None:
    heading("configuration.who", "configuration.who_text")
    known, name = _chosen()
    fixed = where_set("HALO_MODEL") in ("environment", "secrets")
    provider = st.segmented_control(
        t("configuration.who"),
        OPTIONS,
        default=known.provider if known else llm.NONE,
        required=True,
        format_func=lambda option: t(f"configuration.{option}"),
        label_visibility="collapsed",
        disabled=fixed,
        key="set_provider",
    )
    if fixed:
        said(t("configuration.fixed", name="HALO_MODEL", place=_place("HALO_MODEL")))
    if provider != llm.NONE:
        usual = llm.DEFAULT_MODEL if provider == "openai" else ""
        kept = known.model if known and known.provider == provider else usual
        st.text_input(t("configuration.model"), kept, key=f"set_model_{provider}", disabled=fixed)
        if provider == "openai":
            where()
        key(provider)
    with st.container(horizontal=True, gap="small"):
        st.button(
            t("configuration.save"),
            type="primary",
            key="set_save",
            disabled=fixed and where_set("OPENAI_BASE_URL") in ("environment", "secrets"),
            on_click=save,
        )
        tested = provider != llm.NONE and st.button(t("configuration.test"), key="set_test")
    if name:
        st.html(f'<p class="failed" role="alert">{html.escape(name)}</p>')
    if tested:
        test()


def _chosen() -> tuple[llm.Choice | None, str]:
    """The model that is set, and what is wrong with the setting."""
    try:
        return llm.chosen(), ""
    except HaloError as problem:
        return None, error(problem)


def where() -> None:
    """The address of the server, and whether what is sent there leaves the house."""
    fixed = where_set("OPENAI_BASE_URL") in ("environment", "secrets")
    st.text_input(
        t("configuration.url"),
        setting("OPENAI_BASE_URL") or OPENAI,
        key="set_url",
        help=t("configuration.url_help"),
        disabled=fixed,
    )
    if fixed:
        said(t("configuration.fixed", name="OPENAI_BASE_URL", place=_place("OPENAI_BASE_URL")))


def key(provider: str) -> None:
    """Whether there is a key, and where what is sent goes."""
    try:
        asked = typed()
    except HaloError as problem:
        said(error(problem))
        return
    name = llm.PROVIDERS[provider].key
    if asked.key:
        said(t("configuration.key_set", name=name, place=_place(name)))
    elif provider == "openai" and not asked.official:
        said(t("configuration.key_optional", name=name))
    else:
        said(t("configuration.key_missing", name=name))
    said(t("configuration.hosted" if asked.hosted else "configuration.own", url=asked.url))


def _place(name: str) -> str:
    return t(f"configuration.place.{where_set(name)}")


def typed() -> llm.Choice:
    """The model as it stands in the fields. Raises SettingsError."""
    provider = st.session_state["set_provider"]
    name = st.session_state.get(f"set_model_{provider}", "")
    return llm.choice(f"{provider}:{name}", st.session_state.get("set_url"))


@action
def save() -> None:
    """Keep what was chosen; an address that cannot be used is not kept."""
    changes: dict[str, str | None] = {}
    if st.session_state["set_provider"] == llm.NONE:
        changes["HALO_MODEL"] = llm.NONE
    else:
        asked = typed()
        changes["HALO_MODEL"] = asked.name
        if asked.provider == "openai":
            changes["OPENAI_BASE_URL"] = None if asked.official else asked.url
    for fixed in [name for name in changes if where_set(name) in ("environment", "secrets")]:
        del changes[fixed]
    storage.update_config(changes)
    talk.forget()
    st.toast(t("configuration.saved"), icon=":material/check:")


def test() -> None:
    """Ask the model in the fields for one word and show all that came of it."""
    try:
        with st.spinner(t("configuration.testing")):
            told = probe(typed())
    except HaloError as problem:
        st.html(f'<p class="failed" role="alert">{html.escape(error(problem))}</p>')
        return
    lines = "".join(
        f"<dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd>" for name, value in found(told)
    )
    st.html(f'<dl class="details num">{lines}</dl>')


def found(told: Probed) -> list[tuple[str, str]]:
    """What a test found, as names and values."""
    models = told.models[:FOUND]
    return [
        (t("configuration.test_url"), told.url),
        (
            t("configuration.test_models"),
            listed(models) if models else t("configuration.test_listed_not"),
        ),
        (t("configuration.test_window"), t("configuration.test_window_value", n=told.window)),
        (
            t("configuration.test_answer"),
            t("configuration.test_answer_value", reply=told.reply, s=number(told.seconds, 1)),
        ),
    ]


# -- how it writes ---------------------------------------------------------------------------------


def manner(workspace: Workspace) -> None:
    heading("configuration.style")
    kept = style.load_style(workspace)
    choice("name", style.NAMES, kept.name, workspace)
    if kept.name == "custom":
        st.text_area(
            t("style.own_words"),
            kept.custom,
            max_chars=style.LONGEST_CUSTOM,
            placeholder=t("style.own_words_hint"),
            key="style_custom",
            on_change=keep,
            args=(workspace, "custom"),
        )
    if kept.name != "brief":
        choice("length", style.LENGTHS, kept.length, workspace)
    choice("language", style.LANGUAGES, kept.language, workspace)


def choice(part: str, options: tuple[str, ...], kept: str, workspace: Workspace) -> None:
    st.segmented_control(
        t(f"style.{part}"),
        options,
        default=kept,
        required=True,
        format_func=lambda option: t(f"style.{option}"),
        key=f"style_{part}",
        on_change=keep,
        args=(workspace, part),
    )


@action
def keep(workspace: Workspace, part: str) -> None:
    kept = style.load_style(workspace).model_dump() | {part: st.session_state[f"style_{part}"]}
    style.save_style(workspace, Style.model_validate(kept))


# -- small parts -----------------------------------------------------------------------------------


def heading(title: str, text: str = "") -> None:
    words = f"<p>{html.escape(t(text))}</p>" if text else ""
    st.html(f'<h3 class="sec-h">{html.escape(t(title))}</h3>{words}')


def said(sentence: str) -> None:
    st.caption(label(sentence))
