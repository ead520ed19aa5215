"""Citations on the screen: chips in a text, their hover cards, and the way to the passage.

A text with citations has an owner (the message or note that keeps them). What follows ``#cite-``
in a link, and names a card, is ``<owner id>-<number>``; passages that were only looked at are
``<owner id>-L<number>``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from panels import components, state
from panels.actions import action
from panels.markdown import Chip, Words
from panels.text import t
from services.models import Citation, Claim, LookedAt, Message, Note

Cards = dict[str, dict[str, Any]]
Targets = dict[str, Citation]


class Shown:
    """The citations of one run of the page: collected while texts are drawn, listened to once."""

    def __init__(self, present: Iterable[str]) -> None:
        self.present = frozenset(present)
        """Ids of the sources that still exist."""
        self.cards: Cards = {}
        self.targets: Targets = {}

    def chips(
        self, owner: str, citations: Sequence[Citation], claims: Sequence[Claim] = ()
    ) -> dict[int, Chip]:
        """The chips of a text, by number; their cards are kept for ``listen``."""
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
        gone = citation.source_id not in self.present
        claim = " ".join(c.text for c in claims if citation.number in c.citations)
        self.cards[target] = components.card(citation, claim=claim, deleted=gone)
        self.targets[target] = citation
        return Chip(target, citation.quote, citation.support, gone)

    def listen(self) -> None:
        """Mount the one listener of the page."""
        components.citations(self.cards, opener(self.targets))


def opener(targets: Mapping[str, Citation]) -> Callable[[str], None]:
    """What a click on a citation does: its source opens at the passage."""

    @action
    def open_passage(target: str) -> None:
        citation = targets.get(target)
        if citation:
            state.open_source(citation.source_id, citation)

    return open_passage


def words() -> Words:
    """The words inside chips, in the tab's language."""
    return Words(t("chip.partly"), t("chip.unsupported"))


def sources_of(item: Message | Note) -> list[str]:
    """Lines that name the sources of a text, for a copy of it outside HALO."""
    from services.chat import citation_line

    citations = item.citations if isinstance(item, Note) else _citations(item)
    return [citation_line(citation) for citation in citations]


def _citations(message: Message) -> list[Citation]:
    return message.answer.citations if message.answer else []
