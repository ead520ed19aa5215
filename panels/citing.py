"""Citations on the screen: chips in a text, their hover cards, and the way to the passage.

A text with citations has an owner (the message or note that keeps them). What follows ``#cite-``
in a link, and names a card, is ``<owner id>-<number>``; a passage that was only looked at is
``<owner id>-L<number>``. One ``Shown`` lives for one run of a page: panels draw their texts
through it, then the page listens once to everything they drew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from panels import clipboard, components, state
from panels.actions import action
from panels.markdown import Chip, Words
from panels.places import place
from panels.text import t
from services import ingestion
from services.models import Citation, Claim, LookedAt
from services.workspace import Workspace


class Shown:
    """What one run of the page shows: the sources, read once, and every citation drawn."""

    def __init__(self, workspace: Workspace) -> None:
        self.views = ingestion.list_sources(workspace)
        self.names = {view.source.id: view.source.name for view in self.views}
        self.words = Words(t("chip.partly"), t("chip.unsupported"))
        self._cards: dict[str, dict[str, Any]] = {}
        self._targets: dict[str, Citation] = {}

    def chips(
        self, owner: str, citations: Sequence[Citation], claims: Sequence[Claim] = ()
    ) -> dict[int, Chip]:
        """The chips of a text, by number."""
        return {
            citation.number: self._chip(f"{owner}-{citation.number}", citation, claims)
            for citation in citations
        }

    def looked_at(self, owner: str, passages: Sequence[LookedAt]) -> list[tuple[Chip, Citation]]:
        """The passages that were considered, each as something a click can open."""
        found = []
        for number, passage in enumerate(passages, start=1):
            citation = Citation(number=number, **passage.model_dump())
            found.append((self._chip(f"{owner}-L{number}", citation, ()), citation))
        return found

    def _chip(self, target: str, citation: Citation, claims: Sequence[Claim]) -> Chip:
        gone = citation.source_id not in self.names
        claim = " ".join(claim.text for claim in claims if citation.number in claim.citations)
        self._cards[target] = components.card(citation, claim=claim, deleted=gone)
        self._targets[target] = citation
        return Chip(target, citation.quote, citation.support, gone)

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


def source_line(citation: Citation) -> str:
    """A citation in a line: number, source, place."""
    where = place(citation)
    return f"[{citation.number}] {citation.source_name}{f', {where}' if where else ''}"
