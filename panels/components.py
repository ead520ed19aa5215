"""The few things Streamlit has no element for, as components v2. Their code is in ``assets/``.

A mount whose ``data`` is a list keeps pandas out of start-up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import streamlit as st

from panels.places import figures, icon_of, said, spot
from panels.text import t
from services.models import Citation

Layout = Literal["desk", "narrow", "phone"]
_ASSETS = Path(__file__).parent / "assets"


def _script(name: str) -> str:
    return (_ASSETS / name).read_text(encoding="utf-8")


_citations = st.components.v2.component("halo_citations", js=_script("citations.js"))
_layout = st.components.v2.component("halo_layout", js=_script("layout.js"))
_times = st.components.v2.component("halo_times", js=_script("times.js"))
_once = st.components.v2.component("halo_once", js=_script("once.js"))


def citations(cards: Mapping[str, Mapping[str, Any]], on_open: Callable[[str], None]) -> None:
    """Listen to every ``a[href^="#cite-"]`` of the page; mounted once.

    ``cards`` maps what follows ``#cite-`` (without ``u-`` or ``p-``) to ``card(...)``; pointing at
    a link shows its card, and a click calls ``on_open`` with that key.
    """

    def opened() -> None:
        key = st.session_state["citations"].open
        if key:
            on_open(key)

    _citations(key="citations", data=[dict(cards)], on_open_change=opened)


def card(
    citation: Citation, *, claims: Sequence[str] = (), deleted: bool = False
) -> dict[str, Any]:
    """What the hover card of a citation says. In its quote the sentences are marked that the
    claims repeat, or else the claims' figures."""
    state = "deleted" if deleted else citation.support
    pieces, sentences = figures(citation.quote, " ".join(claims)), said(citation.quote, claims)
    matched = state == "supported" and any(marked for _, marked in pieces)
    return {
        "icon": icon_of(citation.source_name),
        "name": citation.source_name,
        "place": " · ".join(spot(citation)),
        "quote": sentences if any(marked for _, marked in sentences) else pieces,
        "open": t("quote.open"),
        "close": t("quote.close"),
        "state": state,
        "stateIcon": {"supported": "check_circle", "partly": "contrast"}.get(state, "info"),
        "support": t(f"support.{state}"),
        "note": f" · {t('card.numbers_match')}" if matched else "",
        "action": t("card.open"),
    }


def layout() -> Layout:
    """How many panels fit the browser window; "desk" until the browser has said otherwise."""
    result = _layout(key="layout", on_layout_change=lambda: None)
    said: Layout | None = result.layout
    return said or "desk"


def times() -> None:
    """Let every ``a[href^="#at-"]`` of the page play the recording from that second."""
    _times(key="times", data=[])


def scroll_to(selector: str, token: object) -> None:
    """Scroll the element into view, once for each new ``token``."""
    _once(key=f"scroll_{selector}", data=["scroll", selector, str(token)])


def click(selector: str, token: object) -> None:
    """Click the element, once for each new ``token``."""
    _once(key=f"click_{selector}", data=["click", selector, str(token)])


def select(selector: str, token: object) -> None:
    """Put the cursor into a field with its text selected, once for each new ``token``."""
    _once(key=f"select_{selector}", data=["select", selector, str(token)])
