"""The passages that a model is given: numbered stretches of documents around what was found.

Each search hit brings its surroundings (``services.context``) while there is room; with less room
the surroundings go first, then the hits that rank last. Whatever is cited is quoted from the
document itself, never from what was sent.
"""

from __future__ import annotations

import dataclasses
import functools
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from services.context import Context, expand
from services.errors import NotFoundError
from services.ingestion import load_document
from services.models import Block, Document, Hit, Quote, Sent
from services.sentences import Sentence, split_sentences
from services.tokens import estimated
from services.workspace import Workspace

ROOMS = (2_400, 1_200, 1)
"""Characters around a hit, tried in turn; 1: the passage itself."""
FRAME_TOKENS = 40
"""What the lines around a passage take."""


@dataclass(frozen=True)
class Excerpt:
    """One passage under the number it has for the model.

    ``text`` is ``document.text[start:end]``; ``heads`` repeats the head of a table that begins
    above it.
    """

    number: int
    hit: Hit
    document: Document
    start: int
    end: int
    text: str
    heads: str = ""

    @functools.cached_property
    def units(self) -> list[Sentence]:
        """Its sentences, items and rows; offsets are those of ``text``."""
        return split_sentences(self.text)

    @property
    def shown(self) -> str:
        """The text as it is sent."""
        return f"{self.heads}\n{self.text}" if self.heads else self.text

    def quote(self, start: int, end: int) -> Quote:
        """The characters ``start:end`` of ``text``, not empty, as a quote with its place."""
        at, last = self.start + start, self.start + end
        block, ending = _block_at(self.document, at), _block_at(self.document, last - 1)
        return Quote(
            source_id=self.hit.source_id,
            source_name=self.hit.source_name,
            revision=self.hit.revision,
            chunk_id=self.hit.chunk_id,
            page=block.page,
            page_end=ending.page,
            page_label=block.page_label,
            sheet=block.sheet,
            slide=block.slide,
            time=self.document.time_at(at),
            headings=block.headings,
            quote=self.text[start:end],
            start=at,
            end=last,
        )

    @property
    def found(self) -> tuple[int, int]:
        """Where in ``text`` the passage stands that the search found."""
        chunk = self.hit.chunk
        low = min(max(chunk.char_start - self.start, 0), len(self.text) - 1)
        return low, max(min(chunk.char_end - self.start, len(self.text)), low + 1)

    def sent(self) -> Sent:
        """What is kept of it with the answer."""
        block = _block_at(self.document, self.start)
        return Sent(
            number=self.number,
            source_id=self.hit.source_id,
            source_name=self.hit.source_name,
            revision=self.hit.revision,
            page=block.page,
            page_label=block.page_label,
            start=self.start,
            end=self.end,
        )


def gather(workspace: Workspace, hits: Sequence[Hit], tokens: int) -> tuple[list[Excerpt], int]:
    """The excerpts for these hits, best first, in at most so many tokens, and how many hits were
    left out for want of room. Sources that have just been deleted are passed over."""
    documents: dict[tuple[str, str], Document] = {}
    readable: list[Hit] = []
    for hit in hits:
        key = (hit.source_id, hit.revision)
        try:
            documents[key] = documents.get(key) or _document(workspace, *key)
        except NotFoundError:
            continue
        readable.append(hit)
    kept = _most(readable, lambda hit: documents[hit.source_id, hit.revision], tokens)
    held = sum(len(context.hits) for context in kept)
    excerpts = [
        _excerpt(number, context, readable[context.hits[0]], documents)
        for number, context in enumerate(kept, start=1)
    ]
    return excerpts, len(readable) - held


def _most(
    hits: Sequence[Hit], document_of: Callable[[Hit], Document], tokens: int
) -> list[Context]:
    """The surroundings of all hits, or of as many of the best as fit; of the very best one its
    beginning where even that is too long. Neighbouring hits are one context, so a context too many
    may be all of them: hits are left out, not contexts."""
    for room in ROOMS:
        contexts = expand(hits, document_of, room)
        if _fit(contexts, tokens):
            return contexts
    for count in range(len(hits) - 1, 0, -1):
        contexts = expand(hits[:count], document_of, ROOMS[-1])
        if _fit(contexts, tokens):
            return contexts
    if not hits:
        return []
    first = expand(hits[:1], document_of, ROOMS[-1])[0]
    # a character is at most two tokens; a table's head, which stands before the text, goes first
    size = max(min(first.end - first.start, (tokens - FRAME_TOKENS) // 2), 1)
    text = first.text[-(first.end - first.start) :][:size]
    return [dataclasses.replace(first, text=text, end=first.start + size)]


def _fit(contexts: Sequence[Context], tokens: int) -> bool:
    return sum(estimated(context.text) + FRAME_TOKENS for context in contexts) <= tokens


def _excerpt(
    number: int, context: Context, hit: Hit, documents: dict[tuple[str, str], Document]
) -> Excerpt:
    document = documents[context.source_id, context.revision]
    size = context.end - context.start
    text, heads = context.text[-size:], context.text[:-size].rstrip("\n")
    return Excerpt(number, hit, document, context.start, context.end, text, heads)


@functools.lru_cache(maxsize=12)
def _document(workspace: Workspace, source_id: str, revision: str) -> Document:
    """A revision's document; it never changes, and a conversation asks for the same ones."""
    return load_document(workspace, source_id, revision)


def _block_at(document: Document, offset: int) -> Block:
    blocks = document.blocks
    return blocks[max(bisect_right(blocks, offset, key=lambda block: block.start) - 1, 0)]
