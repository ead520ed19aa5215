"""The Search page: find passages by words, by meaning or both, and open the source at the line."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

import streamlit as st

from panels import frame, state
from panels.actions import action
from panels.header import address
from panels.places import icon_of, spot
from panels.text import finding, label, t
from services.ingestion import list_sources
from services.models import Citation, Hit, SearchResult
from services.search import Mode, search
from services.workspace import Workspace

MODES: tuple[Mode, ...] = ("hybrid", "text", "vector")
AROUND = 160
"""Characters shown before and after the first word that was found."""
SEPARATOR = " | "
"""Stands between the cells of a table's row."""
_PHRASE = re.compile(r"[“„\"]([^”“\"]+)[”“\"]")
_WORD = re.compile(r"\w[\w.,%]*\w|\w")


def panel(workspace: Workspace) -> None:
    if st.session_state.pop("go_to_workspace", False):
        st.switch_page("app.py", query_params=address(workspace.id))
    with frame.panel("search"):
        with frame.head("search"):
            frame.title(t("search.title"))
            frame.gap()
            st.page_link("app.py", label=t("search.back"), query_params=address(workspace.id))
        with frame.body("search"), st.container(key="finder", gap="small"):
            if not any(view.source.answerable for view in list_sources(workspace)):
                st.html(f'<p class="empty">{html.escape(t("search.no_sources"))}</p>')
                return
            query, mode = asked()
            if query:
                results(query, search(workspace, query, k=10, mode=mode))
            else:
                st.html(f'<p class="empty">{html.escape(t("search.start"))}</p>')


def asked() -> tuple[str, Mode]:
    query = st.text_input(
        t("search.field"),
        placeholder=t("search.field"),
        icon=":material/search:",
        label_visibility="collapsed",
        key="search_query",
        persist_state="session",
    )
    mode = st.segmented_control(
        t("search.mode"),
        MODES,
        default="hybrid",
        required=True,
        format_func=lambda mode: t(f"search.{mode}"),
        label_visibility="collapsed",
        key="search_mode",
    )
    return query.strip(), mode


def results(query: str, result: SearchResult) -> None:
    if not result.hits:
        st.html(f'<p class="empty">{html.escape(t("search.none", query=f"“{query}”"))}</p>')
        return
    notes = [t("search.hits", n=len(result.hits)), *map(finding, result.notices)]
    if result.mode == "hybrid" and all(hit.text_score is None for hit in result.hits):
        notes[:1] = [t("search.no_words")]
    st.html(f'<p class="meta num">{html.escape(" · ".join(notes))}</p>')
    words = wanted(query)
    for number, hit in enumerate(result.hits, start=1):
        one(number, hit, words)


def one(number: int, hit: Hit, words: list[str]) -> None:
    """A passage: its source as a button, its place, and the text with the words marked."""
    line_start, line_end = line(hit.chunk.text, words)
    passage = hit.quote(line_start, line_end)
    citation = Citation(number=number, **passage.model_dump())
    facts = html.escape(" · ".join(spot(citation)))
    with st.container(key=f"hit_{number}", gap=None):
        st.button(
            label(hit.source_name),
            icon=f":material/{icon_of(hit.source_name)}:",
            type="tertiary",
            key=f"name_hit_{number}",
            wrap=False,
            on_click=show,
            args=(citation,),
        )
        st.html(
            f'<div class="found"><span class="meta num">{facts}</span>'
            f"<p>{excerpt(hit.chunk.text, hit.chunk.headings, words)}</p></div>"
        )


@action
def show(citation: Citation) -> None:
    state.open_source(citation.source_id, citation)
    st.session_state["go_to_workspace"] = True


# -- what is marked -------------------------------------------------------------------------------


def wanted(query: str) -> list[str]:
    """The phrases in quotes and the words of a query, longest first."""
    phrases = [phrase.strip() for phrase in _PHRASE.findall(query)]
    words = [word for word in _WORD.findall(_PHRASE.sub(" ", query)) if len(word) > 1]
    return sorted(filter(None, [*phrases, *words]), key=len, reverse=True)


def _pattern(words: list[str]) -> re.Pattern[str]:
    """Whole words that begin like one of these."""
    starts = "|".join(rf"\b{re.escape(word)}\w*" for word in words)
    return re.compile(starts or r"(?!)", re.IGNORECASE)


def line(text: str, words: list[str]) -> tuple[int, int]:
    """The line of a passage with the first word that was found; that is where it opens."""
    first = _pattern(words).search(text)
    at = first.start() if first else 0
    end = text.find("\n", at)
    return text.rfind("\n", 0, at) + 1, end if end >= 0 else len(text)


def window(text: str, words: list[str]) -> tuple[int, int]:
    """The stretch of a passage to show: whole words around the first one that was found."""
    first = _pattern(words).search(text)
    middle = first.start() if first else 0
    start, end = max(middle - AROUND, 0), min(middle + 2 * AROUND, len(text))
    if start:
        start = text.find(" ", start, middle) + 1 or start
    if end < len(text):
        end = max(text.rfind(" ", middle, end), middle) or end
    return start, end


def excerpt(text: str, headings: Sequence[str], words: list[str]) -> str:
    """The stretch to show, as HTML: cells set apart, "…" where it is cut.

    The heading that the line above names is left out, and blank lines are.
    """
    if headings and text.startswith(f"{headings[-1]}\n"):
        text = text[len(headings[-1]) :].lstrip()
    start, end = window(text, words)
    shown = text[start:end].strip(" |\n")
    shown = f"{'… ' if start else ''}{shown}{' …' if end < len(text) else ''}"
    lines = []
    for line_ in filter(None, map(str.strip, shown.split("\n"))):
        cells = [marked(cell.strip(), words) for cell in line_.split(SEPARATOR) if cell.strip(" |")]
        row = "".join(f"<span>{cell}</span>" for cell in cells)
        lines.append(f'<span class="cells">{row}</span>' if len(cells) > 1 else f"{cells[0]}\n")
    return "".join(lines).rstrip()


def marked(text: str, words: list[str]) -> str:
    """Escaped text with every word of the query in ``<mark>``."""
    out, at = [], 0
    for found in _pattern(words).finditer(text):
        out += [html.escape(text[at : found.start()]), f"<mark>{html.escape(found[0])}</mark>"]
        at = found.end()
    return "".join([*out, html.escape(text[at:])])
