"""Rows and tables of all pages into blocks: paragraphs, headings with levels, lists, tables."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from services.models import Block, BlockKind
from services.parsers.pdf_layout import PageLayout, Row, letters
from services.parsers.pdf_tables import Table, find_tables
from services.parsers.pdf_text import LINE_END_HYPHENS, clean, join_lines, vocabulary

_BULLET = re.compile(r"[•●▪■◦○∙·‣➢➤✓\uf0b7\uf0a7\uf0d8]\s*|[–—*-]\s+(?=\S)")
_NUMBERED = re.compile(r"\(?(?:\d{1,2}|[a-z]|[ivx]{1,4})[.)]\s+(?=\S)")
_SECTION = re.compile(
    r"(?:item|note|part|section|chapter|appendix|exhibit)\s+[\divxa-z]+\b", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?:;][\"”’)]*$")
_NARROW = 0.5
"""Share of a flow's width that short lines take up at most."""
_LINES_ABOVE = 8
"""How many lines tell how far the lines of a paragraph reach."""

_RANKS = (
    re.compile(r"part\s+[\divx]+\b", re.IGNORECASE),
    re.compile(r"(?:item|chapter|appendix|exhibit)\s+[\divxa-z]+\b", re.IGNORECASE),
    re.compile(r"(?:note|section)\s+[\divx]+\b", re.IGNORECASE),
)
_BRACKETS = re.compile(r"\([^)]*\)")
_NUMBERING = re.compile(r"(\d{1,2}(?:\.\d{1,2})*)\.?\s+(?=\S)")


class Style(NamedTuple):
    """What tells headings of one level from those of another; sorts outermost first."""

    smallness: float
    """Minus the size in points, to half a point."""
    rank: int
    """0 part, 1 item or chapter, 2 note or section, 3 other, judged by the first word."""
    depth: int
    """Numbers before the title: 2 for "3.1 Scope"; 1 when there are none."""
    small_letters: bool
    light: bool


def _style(text: str, size: float, bold: bool) -> Style:
    rank = next((at for at, rank in enumerate(_RANKS) if rank.match(text)), len(_RANKS))
    numbering = _NUMBERING.match(text)
    return Style(
        smallness=-round(size * 2) / 2,
        rank=rank,
        depth=numbering[1].count(".") + 1 if numbering else 1,
        small_letters=not _BRACKETS.sub("", text).isupper(),
        light=not bold,
    )


@dataclass(slots=True)
class Outline:
    """Bookmarks of a file: (page index, folded title) -> depth, 1 outermost."""

    entries: dict[tuple[int, str], int] = field(default_factory=dict)

    def level(self, page: int, text: str) -> int | None:
        return self.entries.get((page, fold(text)))

    @property
    def depth(self) -> int:
        return max(self.entries.values(), default=0)


def fold(text: str) -> str:
    """Letters and digits only, lower case: equal for a title and its bookmark."""
    return "".join(filter(str.isalnum, text.casefold()))


@dataclass(slots=True)
class _Piece:
    kind: BlockKind
    text: str
    page: int
    style: Style | None = None
    level: int | None = None
    table: Table | None = None
    continues: int | None = None


@dataclass(slots=True)
class Assembled:
    """Blocks without ids; ``continues`` maps the index of a table's later block to its earlier."""

    blocks: list[Block]
    continues: dict[int, int]
    removed: int


def assemble(
    pages: list[PageLayout | None], outline: Outline, labels: list[str | None]
) -> Assembled:
    """Blocks of all pages in order; ``pages`` holds None where a page has no text."""
    body = _body_style(pages)
    words = _words(pages)
    pieces: list[_Piece] = []
    for number, page in enumerate(pages):
        if page is not None:
            pieces.extend(_page_pieces(page, number, body, words, outline))
    # A rule made of underscores or a lone list mark is no text.
    pieces = [piece for piece in pieces if any(map(str.isalnum, piece.text))]
    _link_tables(pieces)
    _set_levels(pieces, outline)
    blocks: list[Block] = []
    path: list[tuple[int, str]] = []
    removed = 0
    for piece in pieces:
        text, lost = clean(piece.text)
        removed += lost
        if piece.kind == "heading" and piece.level:
            while path and path[-1][0] >= piece.level:
                path.pop()
        blocks.append(
            Block(
                kind=piece.kind,
                text=text,
                page=piece.page + 1,
                page_label=labels[piece.page],
                headings=[title for _, title in path],
                level=piece.level,
                header_rows=piece.table.header_rows if piece.table else 0,
            )
        )
        if piece.kind == "heading" and piece.level:
            path.append((piece.level, text))
    links = {at: piece.continues for at, piece in enumerate(pieces) if piece.continues is not None}
    return Assembled(blocks, links, removed)


def _rows(pages: list[PageLayout | None]) -> list[Row]:
    return [row for page in pages if page for flow in page.flows for row in flow]


def _body_style(pages: list[PageLayout | None]) -> tuple[float, bool]:
    """The size (to half a point) and weight most characters of the document have."""
    styles: Counter[tuple[float, bool]] = Counter()
    for row in _rows(pages):
        for one in row.segments:
            styles[round(one.size * 2) / 2, one.bold] += len(one.text)
    return styles.most_common(1)[0][0] if styles else (10.0, False)


def _words(pages: list[PageLayout | None]) -> set[str]:
    rows = _rows(pages)
    if not any(one.text[-1] in LINE_END_HYPHENS for row in rows for one in row.segments):
        return set()
    return vocabulary(one.text for row in rows for one in row.segments)


def _page_pieces(
    page: PageLayout, number: int, body: tuple[float, bool], words: set[str], outline: Outline
) -> list[_Piece]:
    if page.vertical:
        text = "\n".join(row.text for flow in page.flows for row in flow)
        return [_Piece("paragraph", text, number)]
    pieces: list[_Piece] = []
    for flow in page.flows:
        leading = _leading(flow)
        narrow = flow[0].left + _NARROW * _width(page, flow) if flow else 0.0
        run: list[Row] = []
        for item in find_tables(flow, partial(join_lines, words=words)):
            if isinstance(item, Table):
                _close(run, pieces, number, body, words, outline, narrow)
                pieces.append(_Piece("table", item.text, number, table=item))
                continue
            row = item
            if run and _starts_paragraph(run, row, leading, flow):
                _close(run, pieces, number, body, words, outline, narrow)
            run.append(row)
        _close(run, pieces, number, body, words, outline, narrow)
    return pieces


def _leading(flow: list[Row]) -> float:
    """The usual distance of two lines of a flow, in font sizes."""
    steps = Counter(
        round((below.bottom - above.bottom) / below.size, 1)
        for above, below in pairwise(flow)
        if below.size > 0 and below.bottom - above.bottom < 2.6 * below.size
    )
    return min(steps.most_common(3), key=lambda step: step[0])[0] if steps else 1.2


def _starts_paragraph(run: list[Row], row: Row, leading: float, flow: list[Row]) -> bool:
    before = run[-1]
    step = row.bottom - before.bottom
    if step > (max(leading, 1.0) + 0.35) * row.size or step < -row.size:
        return True
    if abs(row.size - before.size) > 0.12 * max(row.size, before.size):
        return True
    first, last = row.segments[0], before.segments[-1]
    if first.bold != last.bold and (row.bold != before.bold):
        return True
    if _BULLET.match(row.text) or (_NUMBERED.match(row.text) and row.left <= before.left + 2):
        return True
    if _SENTENCE_END.search(before.text) is None:
        return False
    reach = max([one.right for one in run[-_LINES_ABOVE:]])
    short = before.right < reach - 0.15 * (row.right - row.left)
    if row.left > before.left + row.size or (short and len(run) > 1):
        return True
    return short and before.left - row.left > 0.5 * row.size


def _close(
    run: list[Row],
    pieces: list[_Piece],
    number: int,
    body: tuple[float, bool],
    words: set[str],
    outline: Outline,
    narrow: float,
) -> None:
    """Turn the rows gathered so far into a heading, a list item or a paragraph; rows that were
    ended on purpose, which none of them reaches beyond ``narrow``, stay lines of their own."""
    if not run:
        return
    text = join_lines([row.text for row in run], words)
    style = _heading_style(run, text, body)
    level = outline.level(number, text)
    before = pieces[-1] if pieces else None
    if style or level:
        size = max(row.size for row in run)
        chosen = style or _style(text, size, run[0].bold)
        pieces.append(_Piece("heading", text, number, style=chosen, level=level))
    elif _BULLET.match(text) or _NUMBERED.match(text):
        if before and before.kind == "list" and len(before.text) < 1500:
            before.text = f"{before.text}\n{text}"
        else:
            pieces.append(_Piece("list", text, number))
    else:
        if _are_lines(run, narrow):
            text = "\n".join(row.text for row in run)
        pieces.append(_Piece("paragraph", text, number))
    run.clear()


def _width(page: PageLayout, flow: list[Row]) -> float:
    """How wide the lines of a flow may be: as its widest, or alone on a page as the page allows
    with the same margin on both sides."""
    left, right = min(row.left for row in flow), max(row.right for row in flow)
    return max(right - left, page.width - 2 * left if len(page.flows) == 1 else 0.0)


def _are_lines(run: list[Row], narrow: float) -> bool:
    """Whether rows are lines (an address, a signature, items of a bill), no paragraph that wraps:
    short, and each begins like a line."""
    return (
        len(run) > 1
        and all(row.right < narrow for row in run)
        and all(row.text[:1].isupper() or row.text[:1].isdigit() for row in run[1:])
        and not any(row.text[-1:] in LINE_END_HYPHENS or row.text[-1:] == "," for row in run[:-1])
    )


def _heading_style(run: list[Row], text: str, body: tuple[float, bool]) -> Style | None:
    """The style of a run of rows that looks like a heading, else None."""
    size, bold = max(row.size for row in run), all(row.bold for row in run)
    if len(run) > 4 or len(text) > 200 or letters(text) < 3 or _BULLET.match(text):
        return None
    if letters(text) < 0.5 * len(text.replace(" ", "")) or text[-1] in ",;":
        return None
    large = size >= 1.15 * body[0]
    heavy = bold and not body[1] and size > 0.85 * body[0]
    capitals = (
        _BRACKETS.sub("", text).isupper()
        and letters(text) >= 6
        and len(run) <= 3
        and size > 0.85 * body[0]
    )
    slanted = (
        len(run) == 1
        and run[0].italic
        and len(text) <= 90
        and text[0].isupper()
        and text[-1] not in ".:)"
        and size > 0.85 * body[0]
    )
    sentence = text.endswith(".") and not _SECTION.match(text) and len(text) > 60
    if not (large or heavy or capitals or slanted) or sentence:
        return None
    if text[0].islower() and not large:
        return None
    if text[0] == "(" and not large:
        return None
    return _style(text, size, bold)


def _set_levels(pieces: list[_Piece], outline: Outline) -> None:
    """Depths of headings: from the outline where it names them, else ranked by style.

    Large styles met once or twice, as on a cover, are titles: level 1 without a rank of their own.
    """
    headings = [piece for piece in pieces if piece.kind == "heading" and piece.style]
    uses = Counter(piece.style for piece in headings if piece.style)
    stated: dict[Style, Counter[int]] = {}
    for piece in headings:
        if piece.style and piece.level:
            stated.setdefault(piece.style, Counter())[piece.level] += 1
    sizes = Counter[float]()
    for used, count in uses.items():
        sizes[used.smallness] += count
    usual = sorted(size for size, count in sizes.items() if count > 2 or len(headings) < 12)
    tiers: dict[float, float] = {}
    tier = 0.0
    for size in usual:
        tier = tier if tier and size < 0.93 * tier else size
        tiers[size] = tier
    ranked = sorted(
        {used._replace(smallness=tiers[used.smallness]) for used in uses if used[0] in tiers}
    )
    ranks = {place: number + 1 for number, place in enumerate(ranked)}
    for piece in headings:
        if piece.level or piece.style is None:
            continue
        style = piece.style
        if style in stated:
            piece.level = stated[style].most_common(1)[0][0]
        elif style.smallness in tiers:
            rank = ranks[style._replace(smallness=tiers[style.smallness])]
            piece.level = min(outline.depth + rank, 6)
        else:
            piece.level = 1 if not usual or style.smallness < usual[0] else 6


def _link_tables(pieces: list[_Piece]) -> None:
    """A table at the top of a page that goes on from the page before repeats its head."""
    for at in range(1, len(pieces)):
        above, below = pieces[at - 1], pieces[at]
        first, then = above.table, below.table
        if first is None or then is None or below.page != above.page + 1:
            continue
        if len(first.columns) != len(then.columns) or not _same_columns(first, then):
            continue
        if then.header_rows and then.header != first.header:
            continue
        if not then.header_rows and first.header_rows:
            then.rows = first.rows[: first.header_rows] + then.rows
            then.lines = first.header + then.lines
            then.header_rows = first.header_rows
            below.text = then.text
        below.continues = at - 1


def _same_columns(first: Table, then: Table) -> bool:
    return all(
        abs(a[1] - b[1]) < 12 or abs(a[0] - b[0]) < 12
        for a, b in zip(first.columns, then.columns, strict=True)
    )
