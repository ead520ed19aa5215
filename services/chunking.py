"""Documents to passages: along the structure, sized in the embedder's own tokens.

``chunk_document`` never mixes sections of the first two heading levels, sheets or slides; merges
small neighbouring blocks; keeps a table whole or splits it between rows, its header repeated; and
splits long text at sentence ends of any script, then at words. Each passage knows for every piece
of it where in the document it stands. ``chunk_text`` and ``prepare_chunks`` keep the contract of
the reference system: windows of words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from services.models import Block, Chunk, Document

DEFAULT_CHUNK_SIZE = 500
DEFAULT_CHUNK_OVERLAP = 75
MAX_TOKENS = 320

CountTokens = Callable[[list[str]], list[int]]

_LEAST_ROOM = 8
_HEADER_CHARS = 160
_PART_CHARS = 70
_CLOSERS = "\"'”’»)\\]」』）】〉》"
_SENTENCE_END = re.compile(
    rf"[.!?…؟۔।॥։]+[{_CLOSERS}]*(?=\s)(?!\s+[a-zß-ÿ])\s+"
    rf"|[。！？｡]+[{_CLOSERS}]*\s*"
    r"|\n\s*\n\s*"
)
_LINE_END = re.compile(r"\n+")
_COMBINING = re.compile(
    "[\u0300-\u036f\u0610-\u061a\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0e31"
    "\u0e34-\u0e3a\u0e47-\u0e4e\u200d\ufe00-\ufe0f]"
)


def normalize_text(text: str | None) -> str:
    """All whitespace as single spaces, none at the ends."""
    return " ".join((text or "").split())


def chunk_text(
    text: str, chunk_size: int = DEFAULT_CHUNK_SIZE, overlap: int = DEFAULT_CHUNK_OVERLAP
) -> list[str]:
    """Windows of ``chunk_size`` words, each beginning with the last ``overlap`` of the one before.

    Every word is in some window. Raises ValueError when the sizes make no progress.
    """
    if chunk_size <= 0:
        raise ValueError("chunk_size must be greater than zero")
    if not 0 <= overlap < chunk_size:
        raise ValueError("overlap must be at least zero and less than chunk_size")
    words = normalize_text(text).split()
    windows: list[str] = []
    for start in range(0, len(words), chunk_size - overlap):
        windows.append(" ".join(words[start : start + chunk_size]))
        if start + chunk_size >= len(words):
            break
    return windows


def prepare_chunks(
    title: str,
    type_label: str,
    body: str,
    meta: dict[str, Any] | None = None,
    chunk_size: int = DEFAULT_CHUNK_SIZE,
    overlap: int = DEFAULT_CHUNK_OVERLAP,
) -> list[dict[str, Any]]:
    """``[{"text", "meta"}]`` for the reference functions; an empty body gives the title."""
    texts = chunk_text(body, chunk_size, overlap) or [title]
    common = {**(meta or {}), "title": title, "type": type_label, "type_label": type_label}
    return [
        {"text": text, "meta": {**common, "chunk_index": str(at), "chunk_count": str(len(texts))}}
        for at, text in enumerate(texts)
    ]


def context_header(title: str, headings: Sequence[str]) -> str:
    """One line saying where a passage stands, "Title > Part > Section", at most 160 characters.

    The innermost headings are kept when not all fit.
    """
    parts = [_short(part) for part in (title, *headings) if part.strip()]
    while len(parts) > 2 and len(" > ".join(parts)) > _HEADER_CHARS:
        del parts[1]
    return " > ".join(parts)


def _short(part: str) -> str:
    part = normalize_text(part)
    return part if len(part) <= _PART_CHARS else part[: _PART_CHARS - 1].rstrip() + "…"


def passage_text(title: str, headings: Sequence[str], text: str) -> str:
    """The text that is embedded for a passage: its context header, then what it says."""
    header = context_header(title, headings)
    return f"{header}\n{text}" if header else text


def chunk_document(
    document: Document, count_tokens: CountTokens, *, max_tokens: int = MAX_TOKENS, title: str = ""
) -> list[Chunk]:
    """Split a settled document into passages.

    Args:
        document: its blocks carry their offsets (``Document.settle``).
        count_tokens: the embedder's counter, asked in bulk: the tokens of each text.
        max_tokens: no passage's ``passage_text`` counts more than this.
        title: the title the passages will be embedded with.

    Returns:
        Passages in reading order, numbered from 0. Together they hold every character of every
        block but white space at cuts. Pieces are joined by a blank line, parts of one table by a
        line end; ``block_ids`` runs in parallel to the ``piece_*`` lists.

    Raises:
        ValueError: ``max_tokens`` leaves no room beside the title.
    """
    blocks = [block for block in document.blocks if block.text.strip()]
    sizes = _Sizes(blocks, count_tokens, max_tokens, title)
    drafts = [
        draft
        for section in _sections(blocks)
        for draft in _topped_up(list(_fill(section, sizes)), sizes)
    ]
    return [draft.chunk(index) for index, draft in enumerate(_fitted(drafts, sizes))]


@dataclass(frozen=True)
class _Span:
    """Characters ``start:end`` of one block, with their number of tokens."""

    block: Block
    start: int
    end: int
    tokens: int
    header: bool = False
    """A repeated table header."""

    @property
    def text(self) -> str:
        return self.block.text[self.start : self.end]

    def trimmed(self) -> _Span:
        text = self.text
        end = self.start + len(text.rstrip())
        start = self.start + len(text) - len(text.lstrip("\n"))
        return _Span(self.block, min(start, end), end, self.tokens, self.header)


@dataclass
class _Draft:
    """A chunk in the making: spans in order and the sum of their tokens."""

    spans: list[_Span] = field(default_factory=list)
    tokens: int = 0

    def add(self, span: _Span) -> None:
        last = self.spans[-1] if self.spans else None
        together = last and last.block is span.block and last.end == span.start
        if last and together and last.header == span.header:
            tokens = last.tokens + span.tokens + 1
            self.spans[-1] = _Span(span.block, last.start, span.end, tokens, span.header)
        else:
            self.spans.append(span)
        self.tokens += span.tokens + 1

    @property
    def headings(self) -> list[str]:
        """The path of the first block that is no heading, else of the last heading."""
        for span in self.spans:
            if span.block.kind != "heading":
                return span.block.headings
        return self.spans[-1].block.headings if self.spans else []

    @property
    def only_headings(self) -> bool:
        return all(span.block.kind == "heading" for span in self.spans)

    @property
    def place(self) -> tuple[int, int]:
        """Where its own text begins and ends in the document."""
        own = [span for span in self.spans if not span.header] or self.spans
        return own[0].block.start + own[0].start, own[-1].block.start + own[-1].end

    @property
    def can_part(self) -> bool:
        own = [span for span in self.spans if not span.header]
        return len(own) > 1 or any(span.end - span.start > 1 for span in own)

    def without_trailing_headings(self) -> list[_Span]:
        """Take off the headings at the end, so that they go with what follows them."""
        taken: list[_Span] = []
        while self.spans and self.spans[-1].block.kind == "heading":
            taken.insert(0, self.spans.pop())
            self.tokens -= taken[0].tokens + 1
        return taken

    def parted(self) -> tuple[_Draft, _Draft]:
        """Two drafts with this one's text, both with its repeated table header."""
        header = [span for span in self.spans if span.header]
        own = [span for span in self.spans if not span.header]
        if len(own) == 1:
            span, middle = own[0], _middle(own[0])
            share = (middle - span.start) / (span.end - span.start)
            tokens = round(span.tokens * share)
            own = [
                _Span(span.block, span.start, middle, tokens),
                _Span(span.block, middle, span.end, span.tokens - tokens),
            ]
            at = 1
            if middle - span.start < 2:
                header = []  # nothing is left to part: the header has to go
        else:
            at = max(len(own) // 2, 1)
        halves = (_Draft(), _Draft())
        for half, spans in zip(halves, (own[:at], own[at:]), strict=True):
            for span in (*header, *spans):
                half.add(span)
        return halves

    def chunk(self, index: int) -> Chunk:
        spans = [span.trimmed() for span in self.spans]
        text = ""
        starts: list[int] = []
        times: list[tuple[int, float]] = []
        for at, span in enumerate(spans):
            if at:
                same_table = span.block is spans[at - 1].block and span.block.kind == "table"
                text += "\n" if same_table else "\n\n"
            starts.append(len(text))
            times += _times(span, len(text))
            text += span.text
        own = [span for span in spans if not span.header] or spans
        pages = [span.block.page for span in own if span.block.page is not None]
        first = own[0].block
        return Chunk(
            index=index,
            text=text,
            headings=list(self.headings),
            page_start=min(pages, default=None),
            page_end=max(pages, default=None),
            sheet=first.sheet,
            slide=first.slide,
            char_start=min(span.block.start + span.start for span in own),
            char_end=max(span.block.start + span.end for span in own),
            block_ids=[span.block.id for span in spans],
            piece_starts=starts,
            piece_chars=[span.block.start + span.start for span in spans],
            piece_pages=[span.block.page or 0 for span in spans],
            piece_labels=[span.block.page_label or "" for span in spans],
            time_starts=[start for start, _ in times],
            times=[seconds for _, seconds in times],
        )


def _times(span: _Span, at: int) -> list[tuple[int, float]]:
    """The times inside a span that begins at character ``at`` of a passage; the first stands there
    even where an utterance was cut."""
    found: list[tuple[int, float]] = []
    for char, seconds in span.block.timed():
        if char <= span.start:
            found = [(at, seconds)]
        elif char < span.end:
            found.append((at + char - span.start, seconds))
    return found


class _Sizes:
    """Tokens of blocks, parts of blocks and context headers, counted in few bulk calls."""

    def __init__(
        self, blocks: list[Block], count_tokens: CountTokens, max_tokens: int, title: str
    ) -> None:
        self.title = title
        self.max_tokens = max_tokens
        self._count_tokens = count_tokens
        headers = {
            path: context_header(title, path) for path in {tuple(b.headings) for b in blocks}
        }
        # The counter may add tokens around every text; those of "" are what it adds.
        self._frame, *counts = count_tokens(["", *headers.values(), *(b.text for b in blocks)])
        counts = [count - self._frame for count in counts]
        self._budgets = {
            path: max_tokens - self._frame - tokens - 1
            for path, tokens in zip(headers, counts, strict=False)
        }
        if min(self._budgets.values(), default=max_tokens) < _LEAST_ROOM:
            raise ValueError(f"max_tokens={max_tokens} leaves no room beside the title")
        self.tokens = {
            id(block): count for block, count in zip(blocks, counts[len(headers) :], strict=True)
        }
        self._parts: dict[int, list[_Span]] = {}
        # From half a passage on, a block may have to be cut to fill up the one before.
        self._cut([b for b in blocks if self.tokens[id(b)] > self.budget(b) // 2])

    def budget(self, block: Block) -> int:
        """Tokens a passage under this block's headings has for its text."""
        return self._budgets[tuple(block.headings)]

    def whole(self, block: Block) -> _Span:
        return _Span(block, 0, len(block.text), self.tokens[id(block)])

    def parts(self, block: Block) -> list[_Span]:
        """The block cut at rows, lines or sentences, in order and without gaps, each part small
        enough for a passage (beside the table's header)."""
        if id(block) not in self._parts:
            self._cut([block])
        return self._parts[id(block)]

    def header(self, block: Block) -> list[_Span]:
        """The column heads to repeat when a table is split; none where they fill half a passage."""
        if block.kind != "table" or not block.header_rows:
            return []
        end = 0
        for _ in range(block.header_rows):
            end = block.text.find("\n", end) + 1
            if not end:
                return []
        parts = [part for part in self._parts[id(block)] if part.end <= end]
        spans = [_Span(block, part.start, part.end, part.tokens, header=True) for part in parts]
        return spans if sum(span.tokens + 1 for span in spans) <= self.budget(block) // 2 else []

    def count(self, drafts: list[_Draft]) -> list[int]:
        """Tokens of whole passages, as they will be embedded."""
        chunks = [draft.chunk(0) for draft in drafts]
        return self._count_tokens([passage_text(self.title, c.headings, c.text) for c in chunks])

    def _cut(self, blocks: list[Block]) -> None:
        spans = self._measured([(block, a, b) for block in blocks for a, b in _cuts(block)])
        while any(self._large(span) for span in spans):
            pieces: list[tuple[Block, int, int]] = []
            for span in spans:
                if self._large(span):
                    middle = _middle(span)
                    pieces += [(span.block, span.start, middle), (span.block, middle, span.end)]
            halves = iter(self._measured(pieces))
            spans = [
                part
                for span in spans
                for part in ([next(halves), next(halves)] if self._large(span) else [span])
            ]
        for block in blocks:
            self._parts[id(block)] = []
        for span in spans:
            self._parts[id(span.block)].append(span)

    def _large(self, span: _Span) -> bool:
        table = span.block.kind == "table"
        limit = self.budget(span.block) // (2 if table else 1) - 2
        return span.tokens > limit and span.end - span.start > 1

    def _measured(self, pieces: list[tuple[Block, int, int]]) -> list[_Span]:
        if not pieces:
            return []
        counts = self._count_tokens([block.text[a:b] for block, a, b in pieces])
        return [
            _Span(*piece, count - self._frame) for piece, count in zip(pieces, counts, strict=True)
        ]


def _cuts(block: Block) -> list[tuple[int, int]]:
    """Where a block may be cut without harm: line ends, or sentence ends in running text."""
    by_line = block.kind in ("table", "list", "code")
    ends = [m.end() for m in (_LINE_END if by_line else _SENTENCE_END).finditer(block.text)]
    ends = [*ends, len(block.text)] if not ends or ends[-1] < len(block.text) else ends
    return list(zip([0, *ends], ends, strict=False))


def _middle(span: _Span) -> int:
    """The best place near the middle to cut a span: a line end, a space, else any character."""
    text, half = span.text, (span.end - span.start) // 2
    reach = max(half // 2, 1)
    for mark in ("\n", " "):
        before = text.rfind(mark, half - reach, half) + 1
        after = text.find(mark, half, half + reach) + 1
        near = [at for at in (before, after) if 0 < at < len(text)]
        if near:
            return span.start + min(near, key=lambda at: abs(at - half))
    at = half
    while at < len(text) - 1 and _COMBINING.match(text, at):
        at += 1
    return span.start + max(at, 1)


def _sections(blocks: list[Block]) -> Iterator[list[Block]]:
    """Runs of blocks that may share passages: one section of level 1-2, one sheet, one slide."""
    section: list[Block] = []
    for block in blocks:
        if section and _parted(section, block):
            yield section
            section = []
        section.append(block)
    if section:
        yield section


def _parted(section: list[Block], block: Block) -> bool:
    last = section[-1]
    if (block.sheet, block.slide) != (last.sheet, last.slide):
        return True
    if block.kind != "heading":
        return last.kind != "heading" and block.headings[:2] != last.headings[:2]
    if (block.level or 1) > 2:
        return False
    # Headings without text of their own stay with the next one.
    return any(b.kind != "heading" for b in section)


def _fill(section: list[Block], sizes: _Sizes) -> Iterator[_Draft]:
    """Fill passages with the blocks of a section, in order."""
    draft = _Draft()
    for block in section:
        budget = sizes.budget(block)
        tokens = sizes.tokens[id(block)]
        fits = draft.tokens + tokens <= budget
        if block.kind == "heading" and draft.tokens > budget // 2 and not draft.only_headings:
            fits = False
        if not fits:
            headings = draft.without_trailing_headings()
            if draft.tokens > budget // 6 and (tokens <= budget or block.kind == "table"):
                yield draft
                draft = _Draft()
            for span in headings:
                draft.add(span)
            fits = draft.tokens + tokens <= budget
        if fits:
            draft.add(sizes.whole(block))
        else:
            draft = yield from _split(block, draft, sizes)
    if draft.spans:
        yield draft


def _split(block: Block, draft: _Draft, sizes: _Sizes) -> Generator[_Draft, None, _Draft]:
    """Spread one block over passages, beginning in ``draft``; returns the last, unfinished one."""
    budget = sizes.budget(block)
    parts = sizes.parts(block)
    header = sizes.header(block)
    left = sum(span.tokens + 1 for span in parts)
    target = _even(left + draft.tokens, budget)
    before: _Span | None = None
    for number, part in enumerate(parts):
        full = draft.tokens + part.tokens > budget or draft.tokens >= target
        if full and draft.spans and not draft.only_headings and number > len(header) - (not header):
            yield draft
            draft = _Draft()
            for span in header:
                draft.add(span)
            if before and before.tokens <= min(budget // 5, budget - part.tokens - 1):
                draft.add(before)
            target = draft.tokens + _even(left, budget - draft.tokens)
        draft.add(part)
        left -= part.tokens + 1
        before = part if block.kind in ("paragraph", "note") else None
    return draft


def _even(tokens: int, budget: int) -> int:
    """The size at which to end a passage so that a long block has no small rest."""
    return math.ceil(tokens / max(math.ceil(tokens / max(budget, 1)), 1))


def _topped_up(drafts: list[_Draft], sizes: _Sizes) -> list[_Draft]:
    """Give a section's very small last passage the end of the one before it."""
    if len(drafts) > 1:
        last, previous = drafts[-1], drafts[-2]
        budget = sizes.budget(last.spans[-1].block)
        if last.tokens < budget // 10:
            kept, moved = previous.parted()
            if moved.tokens + last.tokens <= budget and kept.spans:
                for span in last.spans:
                    if not span.header:
                        moved.add(span)
                drafts[-2:] = [kept, moved]
    return drafts


def _fitted(drafts: list[_Draft], sizes: _Sizes) -> list[_Draft]:
    """Count whole passages and part those that are over the limit after all, until none is."""
    checked: list[_Draft] = []
    todo = drafts
    while todo:
        next_round: list[_Draft] = []
        for draft, tokens in zip(todo, sizes.count(todo), strict=True):
            if tokens <= sizes.max_tokens or not draft.can_part:
                checked.append(draft)
            else:
                next_round += draft.parted()
        todo = next_round
    return sorted(checked, key=lambda draft: draft.place)
