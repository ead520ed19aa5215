"""What stands around a passage: its section, or as much of it as a reader has room for.

A search finds passages of a few sentences; whoever reads on (a model, a person) wants the section
they are from. ``expand`` gives it: the whole section where it fits, grown outward from the passage
where it does not, and past the section's ends where that is only a line or two. Tables stay whole,
with their captions, unless one alone is too long: then its rows around the passage, under its head.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from services.models import Block, Document, Hit

MAX_CONTEXT_CHARS = 4_000
TINY = 0.25
"""A section below this share of the room is too little by itself: its neighbours come along."""
_BREAK = re.compile(r"\n+|(?<=[.!?]) |(?<=[。！？])")
"""Where a text that is too long may be cut."""
_BETWEEN = 2
"""Characters between two blocks of a document's text."""


@dataclass
class Context:
    """A stretch of one document around one or more hits.

    ``start`` and ``end`` are character offsets in the document's text, ``hits`` the places of the
    hits in the list that was expanded, best first.
    """

    source_id: str
    source_name: str
    revision: str
    text: str
    start: int
    end: int
    headings: list[str] = field(default_factory=list)
    page: int | None = None
    page_end: int | None = None
    page_label: str | None = None
    sheet: str | None = None
    slide: int | None = None
    hits: list[int] = field(default_factory=list)


Span = tuple[int, int]
"""First block and the one after the last."""


def expand(
    hits: Sequence[Hit],
    document_of: Callable[[Hit], Document],
    max_context_chars: int = MAX_CONTEXT_CHARS,
) -> list[Context]:
    """The surroundings of hits, in the order of each one's best hit; what overlaps is one.

    Args:
        hits: what a search found, best first.
        document_of: the parsed document of a hit's source in the hit's revision.
        max_context_chars: the most characters around one hit. A merged context may have more.
    """
    wanted: dict[tuple[str, str], list[tuple[int, Hit]]] = {}
    for at, hit in enumerate(hits):
        wanted.setdefault((hit.source_id, hit.revision), []).append((at, hit))
    contexts: list[Context] = []
    for members in wanted.values():
        document = document_of(members[0][1])
        contexts.extend(_contexts(document, members, max_context_chars))
    return sorted(contexts, key=lambda context: context.hits[0])


def _contexts(document: Document, members: list[tuple[int, Hit]], room: int) -> Iterator[Context]:
    blocks = document.blocks
    spans: list[tuple[int, int, list[int]]] = []
    for at, hit in members:
        start, end = _around(blocks, hit.chunk.char_start, hit.chunk.char_end, room)
        spans.append((start, end, [at]))
    spans.sort()
    merged: list[tuple[int, int, list[int]]] = []
    for start, end, own in spans:
        if merged and start <= merged[-1][1] + _BETWEEN:
            before = merged[-1]
            merged[-1] = (before[0], max(before[1], end), sorted(before[2] + own))
        else:
            merged.append((start, end, own))
    text = document.text
    starts = [block.start for block in blocks]
    by_place = dict(members)
    for start, end, own in merged:
        inside = blocks[max(bisect_right(starts, start) - 1, 0) : bisect_right(starts, end - 1)]
        yield _context(by_place[own[0]], text, (start, end), inside, own)


def _context(
    hit: Hit, text: str, span: tuple[int, int], blocks: list[Block], own: list[int]
) -> Context:
    pages = [block.page for block in blocks if block.page is not None]
    first = blocks[0]
    shown = text[span[0] : span[1]]
    if first.kind == "table" and span[0] > first.start and first.header_rows:
        head = first.text.split("\n")[: first.header_rows]
        shown = "\n".join([*head, shown])
    return Context(
        source_id=hit.source_id,
        source_name=hit.source_name,
        revision=hit.revision,
        text=shown,
        start=span[0],
        end=span[1],
        headings=list(first.headings),
        page=min(pages, default=None),
        page_end=max(pages, default=None),
        page_label=first.page_label,
        sheet=first.sheet,
        slide=first.slide,
        hits=own,
    )


def _around(blocks: list[Block], start: int, end: int, room: int) -> tuple[int, int]:
    """Character offsets of what to show around the characters ``start:end``."""
    starts = [block.start for block in blocks]
    core = (max(bisect_right(starts, start) - 1, 0), bisect_right(starts, max(end - 1, start)))
    if _length(blocks, core) > room:
        return _cut(blocks, core, start, end, room)
    whole = core
    for depth in range(len(blocks[core[0]].headings), -1, -1):
        section = _section(blocks, core, depth, room)
        if _length(blocks, section) > room:
            whole = _grown(blocks, whole, section, room)
            break
        whole = section
        if _length(blocks, section) >= TINY * room:
            break
    return blocks[whole[0]].start, blocks[whole[1] - 1].end


def _length(blocks: list[Block], span: Span) -> int:
    return blocks[span[1] - 1].end - blocks[span[0]].start


def _section(blocks: list[Block], core: Span, depth: int, room: int) -> Span:
    """The blocks around ``core`` below the same ``depth`` outermost headings, with the heading that
    opens them; on its own sheet or slide. What lies further away than ``room`` is not looked at."""
    first = blocks[core[0]]
    path = first.headings[:depth]

    def belongs(block: Block) -> bool:
        same_place = block.sheet == first.sheet and block.slide == first.slide
        return same_place and block.headings[:depth] == path

    start, end = core
    low, high = first.start - room, blocks[core[1] - 1].end + room
    while start > 0 and blocks[start].start >= low and belongs(blocks[start - 1]):
        start -= 1
    if path and start > 0 and blocks[start - 1].text == path[-1]:
        start -= 1
    while end < len(blocks) and blocks[end - 1].end <= high and belongs(blocks[end]):
        end += 1
    return start, end


def _grown(blocks: list[Block], core: Span, limit: Span, room: int) -> Span:
    """``core`` with as many whole neighbours inside ``limit`` as there is room for, on both sides
    in turn; a caption comes with what it belongs to or not at all."""
    start, end = core
    before = after = True
    while before or after:
        if after:
            step = _unit(blocks, end, limit[1], 1)
            after = step > end and _length(blocks, (start, step)) <= room
            end = step if after else end
        if before:
            step = _unit(blocks, start, limit[0], -1)
            before = step < start and _length(blocks, (step, end)) <= room
            start = step if before else start
    return start, end


def _unit(blocks: list[Block], at: int, limit: int, step: int) -> int:
    """The edge after the next block in a direction; a caption and its table or picture are one."""
    edge = at + step
    if (step > 0 and edge > limit) or (step < 0 and edge < limit):
        return at
    near = blocks[edge - 1] if step > 0 else blocks[edge]
    beyond = edge if step > 0 else edge - 1
    if edge != limit and _belong_together(near, blocks[beyond]):
        return edge + step
    return edge


def _belong_together(one: Block, other: Block) -> bool:
    kinds = {one.kind, other.kind}
    return "caption" in kinds and bool(kinds & {"table", "picture"})


def _cut(blocks: list[Block], core: Span, start: int, end: int, room: int) -> tuple[int, int]:
    """A stretch of blocks that are too long to be shown whole: the lines around the passage."""
    low, high = blocks[core[0]].start, blocks[core[1] - 1].end
    start, end = max(start, low), min(end, high)
    spare = max(room - (end - start), 0)
    left = max(start - spare // 2, low)
    right = min(end + spare - (start - left), high)
    left = max(right - room, low) if right == high else left
    text = "\n\n".join(block.text for block in blocks[core[0] : core[1]])
    if left > low:
        ends = (found.end() for found in _BREAK.finditer(text, left - low, start - low))
        left = low + next(ends, start - low)
    if right < high:
        begins = [found.start() for found in _BREAK.finditer(text, end - low, right - low)]
        right = low + (begins[-1] if begins else end - low)
    return left, right
