"""Citations on the screen: chips in a text, their hover cards, and the way to the passage.

A text with citations has an owner (the message or note that keeps them). What follows ``#cite-``
in a link, and names a card, is ``<owner id>-<number>``; a passage that was only looked at is
``<owner id>-L<number>``. One ``Shown`` lives for one run of a page: panels draw their texts
through it, then the page listens once to everything they drew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import streamlit as st

from panels import clipboard, components, markdown, state
from panels.actions import action
from panels.markdown import Chip, Words
from panels.places import place
from panels.text import language, t
from services import ingestion
from services.models import Citation, Claim, Quote
from services.workspace import Workspace


@dataclass(frozen=True)
class Cited:
    """A text with citations, made ready for the screen."""

    markdown: str
    chips: dict[int, Chip]
    cards: dict[str, dict[str, Any]]


@dataclass(frozen=True)
class _Source:
    """What a ``Cited`` is made from; equal ones give the same, so it is made once."""

    owner: str
    text: str
    language: str
    gone: frozenset[int]
    checked: tuple[str, ...]
    citations: Sequence[Citation] = field(compare=False)
    claims: Sequence[Claim] = field(compare=False)


class Shown:
    """What one run of the page shows: the sources, read once, and every citation drawn."""

    def __init__(self, workspace: Workspace) -> None:
        self.views = ingestion.list_sources(workspace)
        self.names = {view.source.id: view.source.name for view in self.views}
        self._cards: dict[str, dict[str, Any]] = {}
        self._targets: dict[str, Citation] = {}

    def cited(
        self,
        owner: str,
        text: str,
        citations: Sequence[Citation],
        claims: Sequence[Claim] = (),
    ) -> Cited:
        """A text with its chips; their cards are listened to."""
        gone = frozenset(c.number for c in citations if c.source_id not in self.names)
        checked = tuple(claim.support for claim in claims)
        made = _cited(_Source(owner, text, language(), gone, checked, citations, claims))
        self._cards |= made.cards
        self._targets |= {f"{owner}-{citation.number}": citation for citation in citations}
        return made

    def looked_at(self, owner: str, passages: Sequence[Quote]) -> list[tuple[Chip, Citation]]:
        """The passages that were considered, each as something a click can open."""
        found = []
        for number, passage in enumerate(passages, start=1):
            citation = Citation(number=number, **passage.model_dump())
            target = f"{owner}-L{number}"
            gone = citation.source_id not in self.names
            self._cards[target] = components.card(citation, deleted=gone)
            self._targets[target] = citation
            found.append((Chip(target, citation.quote, gone=gone), citation))
        return found

    def listen(self) -> None:
        """Mount the page's listeners, after everything with citations was drawn."""
        targets = self._targets

        @action
        def open_passage(target: str) -> None:
            citation = targets.get(target)
            if citation:
                state.open_source(citation.source_id, citation)

        components.citations(self._cards, open_passage)
        clipboard.listen()
        self._mark_opened()

    def _mark_opened(self) -> None:
        """Fill the chips whose passage is open in the viewer."""
        opened = state.opened_source()
        at = opened.citation if opened else None
        targets = [target for target, cited in self._targets.items() if at and cited == at]
        chips = ",".join(f'a[href^="#cite-"][href$="{target}"]' for target in targets)
        rule = f"{chips}{{background:var(--accent);color:var(--on-accent)!important}}"
        st.html(f"<style>{rule if chips else ''}</style>")


@lru_cache(maxsize=512)
def _cited(source: _Source) -> Cited:
    """Chips, cards and Markdown of a text; kept, because most texts are drawn again unchanged."""
    chips: dict[int, Chip] = {}
    cards: dict[str, dict[str, Any]] = {}
    for citation in source.citations:
        target, gone = f"{source.owner}-{citation.number}", citation.number in source.gone
        backed = (claim for claim in source.claims if citation.number in claim.citations)
        claims = [markdown.without_markers(claim.text).strip() for claim in backed]
        chips[citation.number] = Chip(target, citation.quote, citation.support, gone)
        cards[target] = components.card(citation, claims=claims, deleted=gone)
    words = Words(t("chip.partly"), t("chip.unsupported"))
    return Cited(markdown.render(source.text, chips, source.claims, words), chips, cards)


def source_line(citation: Citation) -> str:
    """A citation in a line: number, source, place."""
    where = place(citation)
    return f"[{citation.number}] {citation.source_name}{f', {where}' if where else ''}"
