"""The header row: mark, notebook switcher, counts, model pill, menu."""

from __future__ import annotations

import html

import streamlit as st

from panels import live, state, text
from panels.actions import action
from panels.text import label, t
from services import ingestion, llm, notebooks, storage
from services.errors import HaloError
from services.models import ANSWERABLE
from services.notebooks import Notebook
from services.pipeline import pipeline
from services.workspace import Workspace

LANGUAGE_NAMES = {"auto": "language.auto", "en": "language.en", "de": "language.de"}


def header(workspace: Workspace) -> None:
    known = notebooks.list_notebooks()
    current = next((book for book in known if book.id == workspace.id), None)
    title = (current and current.title) or t("notebook.default")
    with st.container(key="top", horizontal=True, vertical_alignment="center", gap="small"):
        st.html('<div class="brand"><i></i><span>HALO</span></div>', width="content")
        switcher(workspace, known, title)
        st.button(
            t("notebook.rename"),
            icon=":material/edit:",
            type="tertiary",
            key="icon_notebook_rename",
            on_click=state.ask_name,
            args=("notebook", workspace.id, title),
        )
        st.space("stretch")
        st.page_link("pages/Search.py", label=t("search.title"), query_params=address(workspace.id))
        st.html(f'<span class="count num">{counts(workspace)}</span>', width="content")
        model_pill()
        menu(workspace)


def address(notebook_id: str) -> dict[str, str]:
    """The query of a link to this notebook; the first notebook needs none."""
    return {"nb": notebook_id} if notebook_id else {}


def counts(workspace: Workspace) -> str:
    views = ingestion.list_sources(workspace)
    if not views:
        return html.escape(t("header.no_sources"))
    included = sum(view.source.selected and view.status in ANSWERABLE for view in views)
    return html.escape(t("header.included", n=included, m=len(views)))


# -- notebooks ------------------------------------------------------------------------------------


def switcher(workspace: Workspace, known: list[Notebook], title: str) -> None:
    """The popover with the list of notebooks, a field for a new one, rename and delete."""
    popover = st.popover(label(title), type="tertiary", key="notebooks", on_change="rerun")
    with popover:
        if not popover.open:
            st.html("<i></i>")  # a popover without content would be disabled
            return
        for book in known:
            with st.container(
                key=f"row_nb_{book.id or 'first'}",
                horizontal=True,
                gap="xsmall",
                vertical_alignment="center",
            ):
                st.button(
                    label(book.title or t("notebook.default")),
                    icon=f":material/{'check' if book.id == workspace.id else 'book_2'}:",
                    type="tertiary",
                    key=f"name_nb_{book.id or 'first'}",
                    on_click=switch,
                    args=(book.id,),
                )
                st.html(
                    f'<span class="meta num">{text.number(book.sources)}</span>', width="content"
                )
        st.text_input(
            t("notebook.new"),
            placeholder=t("notebook.new"),
            label_visibility="collapsed",
            icon=":material/add:",
            key="notebook_new",
            on_change=create,
        )
        with st.container(horizontal=True, gap="xsmall"):
            st.button(
                t("rename"),
                icon=":material/edit:",
                type="tertiary",
                key="notebook_rename_menu",
                on_click=rename,
                args=(workspace.id, title),
            )
            st.button(
                t("delete"),
                icon=":material/delete:",
                type="tertiary",
                key="notebook_delete",
                disabled=not workspace.id,
                help=None if workspace.id else t("notebook.first_stays"),
                on_click=delete,
                args=(workspace.id, title),
            )


def close() -> None:
    st.session_state["notebooks"] = False


def switch(notebook_id: str) -> None:
    close()
    state.forget()
    if notebook_id:
        st.query_params["nb"] = notebook_id
    else:
        st.query_params.pop("nb", None)


@action
def create() -> None:
    title = st.session_state["notebook_new"].strip()
    st.session_state["notebook_new"] = ""
    if title:
        switch(notebooks.create_notebook(title).id)


def rename(notebook_id: str, title: str) -> None:
    close()
    state.ask_name("notebook", notebook_id, title)


@action
def delete(notebook_id: str, title: str) -> None:
    trash_id = notebooks.delete_notebook(notebook_id)
    switch("")
    state.offer_undo("notebook", trash_id, title)


# -- model and menu ------------------------------------------------------------------------------


def model_pill() -> None:
    """Where answers come from. While the search model is being prepared, how far that is."""
    if pipeline().embedder_state() == "preparing":
        live.live(draw_pill, running=True, every=1.0)
    else:
        draw_pill()


def draw_pill() -> bool:
    """Draw the pill as of now; True while the search model is being prepared."""
    state_now = pipeline().embedder_state()
    words, dot = _who_answers()
    if state_now == "preparing":
        done, _stage = pipeline().preparing_progress()
        words, dot = t("model.preparing", share=text.percent(done)), "busy"
    elif state_now == "missing":
        words, dot = t("model.text_only"), "warn"
    st.html(
        f'<span class="model"><i class="dot {dot}"></i>{html.escape(words)}</span>',
        width="content",
    )
    return state_now == "preparing"


def _who_answers() -> tuple[str, str]:
    """The words and the dot of the pill: filled for a model that is asked elsewhere."""
    try:
        model = llm.chosen()
    except HaloError:
        return t("model.unclear"), "warn"
    if model is None:
        return t("model.local"), "hollow"
    return model.model, "" if model.hosted else "hollow"


def menu(workspace: Workspace) -> None:
    chosen = storage.load_config().get("language", "auto")

    def words(option: str) -> str:
        if option in LANGUAGE_NAMES:
            icon = "check" if option == chosen else "language"
            return f":material/{icon}: {t(LANGUAGE_NAMES[option])}"
        icon = "tune" if option == "configuration" else option
        return f":material/{icon}: {t(f'{option}.title')}"

    st.menu_button(
        t("header.menu"),
        ["search", "configuration", "help", *LANGUAGE_NAMES],
        icon=":material/settings:",
        type="tertiary",
        key="menu_main",
        format_func=words,
        on_click=choose,
    )
    page = st.session_state.pop("go_to_page", None)
    if page:
        st.switch_page(f"pages/{page.title()}.py", query_params=address(workspace.id))


@action
def choose() -> None:
    option = st.session_state["menu_main"]
    if option in LANGUAGE_NAMES:
        storage.update_config({"language": option})
    else:
        st.session_state["go_to_page"] = option
