"""A parsed document as readable HTML: pure functions, everything escaped here.

A document is cut into parts of a size that reads well and stays light in the browser. A part is a
run of pieces; a piece is a block, or some lines of a long table or text with its header repeated.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

from panels.places import place
from panels.text import t
from services.models import Block, Document
from services.speech import clock

PART = 9_000
"""Weight of a part: characters, a table cell counting 30."""
_LINES = 40
_CELL = 30
_SEPARATOR = " | "
_BULLET = re.compile(r"\s*[-–•*▪●◦]\s+")
_NUMBER = re.compile(r"\s*(?:\d{1,3}|[a-zA-Z])[.)]\s")

Span = tuple[int, int]


@dataclass(frozen=True)
class Piece:
    """Characters ``start`` to ``end`` of a block's text."""

    block: Block
    start: int
    end: int

    @property
    def weight(self) -> int:
        text = self.block.text[self.start : self.end]
        cells = text.count(_SEPARATOR) + text.count("\n")
        return len(text) + (cells * _CELL if self.block.kind == "table" else 0) + 40


def parts(document: Document) -> list[list[Piece]]:
    """The document cut into parts; at least one."""
    cut: list[list[Piece]] = [[]]
    weight = 0
    for block in document.blocks:
        for piece in _pieces(block):
            if cut[-1] and weight + piece.weight > PART:
                cut.append([])
                weight = 0
            cut[-1].append(piece)
            weight += piece.weight
    return cut


def part_of(cut: list[list[Piece]], offset: int) -> int:
    """Index of the part that holds a character of the document."""
    for index, pieces in enumerate(cut):
        if any(offset < piece.block.start + piece.end for piece in pieces):
            return index
    return len(cut) - 1


def page_of(document: Document, offset: int) -> int | None:
    """The page that holds a character of the document."""
    holding = (block.page for block in document.blocks if offset < block.end)
    return next(holding, None)


def first_part_of_page(cut: list[list[Piece]], page: int) -> int:
    """Index of the first part with something of this page or a later one."""
    for index, pieces in enumerate(cut):
        if any(piece.block.page is not None and piece.block.page >= page for piece in pieces):
            return index
    return 0


def part_html(
    pieces: list[Piece], hit: Span | None, *, places: bool = True, plays: bool = False
) -> str:
    """A part as HTML, the cited characters of the document in ``<mark>``.

    Above each page, slide and sheet stands which it is, where there are ``places``. Before what is
    said stands its time; where the recording ``plays``, as a link that plays it.
    """
    lines: list[str] = []
    shown = ""
    for piece in pieces:
        stands = place(piece.block) if places and piece.block.time is None else ""
        if stands and stands != shown:
            lines.append(f'<div class="pagemark num">{html.escape(stands)}</div>')
            shown = stands
        if piece.block.kind == "heading" and piece.block.text == piece.block.sheet:
            continue  # the line above says it
        if piece.block.time is not None and not piece.start:
            lines.append(_said(piece, piece.block.time, hit, plays=plays))
        else:
            lines.append(_piece_html(piece, hit))
    return f'<article class="doc">{"".join(lines)}</article>'


def _pieces(block: Block) -> Iterator[Piece]:
    """The block whole, or cut at line ends every ``_LINES`` lines or ``PART`` characters."""
    start = at = lines = 0
    for line in block.text.splitlines(keepends=True):
        if lines and (lines >= _LINES or at + len(line) - start > PART):
            yield Piece(block, start, at)
            start, lines = at, 0
        at += len(line)
        lines += 1
    yield Piece(block, start, len(block.text))


def _piece_html(piece: Piece, hit: Span | None) -> str:
    block = piece.block
    match block.kind:
        case "table":
            return _table(piece, hit)
        case "list":
            items = "".join(_item(block, start, end, hit) for start, end in _items(piece))
            return f"<ul>{items}</ul>"
        case "heading":
            level = min((block.level or 2) + 1, 5)
            return f"<h{level}>{_marked(block, piece.start, piece.end, hit)}</h{level}>"
        case "code":
            return f"<pre>{_marked(block, piece.start, piece.end, hit)}</pre>"
        case "note" if block.slide and not piece.start:
            label = html.escape(t("viewer.speaker_notes"))
            return f'<p class="note"><b>{label}</b>{_marked(block, 0, piece.end, hit)}</p>'
        case kind:
            return f'<p class="{kind}">{_marked(block, piece.start, piece.end, hit)}</p>'


def _said(piece: Piece, time: float, hit: Span | None, *, plays: bool) -> str:
    """A paragraph of speech after its time."""
    shown, words = clock(time), _marked(piece.block, piece.start, piece.end, hit)
    at = f'<span class="at num">{shown}</span>'
    if plays:
        label = html.escape(t("viewer.play_from", time=shown))
        at = f'<a class="at num" href="#at-{time:g}" title="{label}">{shown}</a>'
    return f'<p class="said">{at}{words}</p>'


def _lines(piece: Piece) -> Iterator[Span]:
    at = piece.start
    for line in piece.block.text[piece.start : piece.end].splitlines(keepends=True):
        yield at, at + len(line.rstrip("\r\n"))
        at += len(line)


def _item(block: Block, start: int, end: int, hit: Span | None) -> str:
    """One item; a number of its own takes the place of the bullet."""
    own = ' class="numbered"' if _NUMBER.match(block.text, start, end) else ""
    return f"<li{own}>{_marked(block, start, end, hit)}</li>"


def _items(piece: Piece) -> Iterator[Span]:
    for start, end in _lines(piece):
        bullet = _BULLET.match(piece.block.text, start, end)
        yield (bullet.end() if bullet else start), end


def _table(piece: Piece, hit: Span | None) -> str:
    """A real table: its header repeated where it was cut, columns of figures to the right."""
    block = piece.block
    heads = list(_lines(Piece(block, 0, len(block.text))))[: block.header_rows]
    rows = [list(_cells(block.text, start, end)) for start, end in _lines(piece)]
    if piece.start:
        rows = [list(_cells(block.text, start, end)) for start, end in heads] + rows
    body = rows[block.header_rows :]
    columns = max(map(len, rows), default=0)
    figures = [_are_figures([block.text[a:b] for a, b in _column(body, n)]) for n in range(columns)]
    lines = []
    for number, row in enumerate(rows):
        tag = "th" if number < block.header_rows else "td"
        cells = "".join(
            f"<{tag}{' class=n' * figures[n]}>{_marked(block, a, b, hit)}</{tag}>"
            for n, (a, b) in enumerate(row)
        )
        lines.append(f"<tr>{cells}</tr>")
    return f'<div class="tablewrap"><table>{"".join(lines)}</table></div>'


def _column(rows: list[list[Span]], number: int) -> list[Span]:
    return [row[number] for row in rows if number < len(row)]


def _are_figures(cells: list[str]) -> bool:
    """True when most cells of a column that say something are numbers."""
    said = [cell for cell in cells if any(c.isalnum() for c in cell)]
    numbers = [cell for cell in said if sum(map(str.isdigit, cell)) * 2 >= len(cell.strip()) - 1]
    return bool(said) and len(numbers) * 2 > len(said)


def _cells(text: str, start: int, end: int) -> Iterator[Span]:
    at = start
    for cell in text[start:end].split(_SEPARATOR):
        yield at, at + len(cell)
        at += len(cell) + len(_SEPARATOR)


def _marked(block: Block, start: int, end: int, hit: Span | None) -> str:
    """Characters ``start`` to ``end`` of the block, escaped, with the cited ones marked."""
    text = block.text
    if hit is None:
        return html.escape(text[start:end])
    first = min(max(hit[0] - block.start, start), end)
    last = min(max(hit[1] - block.start, start), end)
    if first >= last:
        return html.escape(text[start:end])
    before, marked, after = text[start:first], text[first:last], text[last:end]
    return (
        f'{html.escape(before)}<mark class="hit">{html.escape(marked)}</mark>{html.escape(after)}'
    )
