"""Running headers, footers and page numbers: kept once, so that they do not fill every passage."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict

from services.parsers.pdf_layout import PageLayout, Row

EDGE = 0.18
"""The part of a page's height at its top and bottom in which running lines stand."""
_LINES = 5
_NEAR = 5
_PAGES = 3
_DIGITS = re.compile(r"(?<![\d.,])\d{1,4}(?![\d.,]\d|\d)")
_PAGE_NUMBER = re.compile(
    r"[-–—\s|]*(?:page\s*)?(?:[A-Z]{1,2}-)?(\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|/)\s*\d{1,4})?[-–—\s|]*",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"page\s*\d+\s*(?:of|/)\s*\d+", re.IGNORECASE)


def drop_running_lines(pages: list[PageLayout | None]) -> None:
    """Remove from each page what repeats at its edges; the first occurrence of a line stays.

    A line goes only when every line between it and the paper's edge goes too, and only when the
    same line, apart from the page number in it, stands at the edge of at least three pages near
    by: body text is never touched.
    """
    edges = {number: _edges(page) for number, page in enumerate(pages) if page}
    shifts = _shifts(edges)
    seen: dict[str, list[int]] = defaultdict(list)
    for number, lines in edges.items():
        for key in {_key(row, number, shifts) for edge in lines for row in edge}:
            seen[key].append(number)
    for number, lines in edges.items():
        dropped: set[int] = set()
        for edge in lines:
            for at, row in enumerate(edge):
                if any(len(one.segments) > 1 for one in edge[at + 1 : at + 2]) and (
                    len(row.segments) > 1
                ):
                    break  # a table's head on each of its pages
                found = seen[_key(row, number, shifts)]
                if _is_page_number(row.text, number, shifts):
                    dropped.add(id(row))
                elif _repeats(found, number, len(pages)):
                    if found[0] != number:
                        dropped.add(id(row))
                else:
                    break
        page = pages[number]
        if dropped and page:
            kept = [[row for row in flow if id(row) not in dropped] for flow in page.flows]
            page.flows = [flow for flow in kept if flow]


def _edges(page: PageLayout) -> tuple[list[Row], list[Row]]:
    """Rows at the top and at the bottom of a page, the outermost first."""
    rows = sorted((row for flow in page.flows for row in flow), key=lambda row: row.bottom)
    top = [row for row in rows[:_LINES] if row.bottom < EDGE * page.height or row is rows[0]]
    bottom = [
        row
        for row in rows[-_LINES:]
        if row.top > (1 - EDGE) * page.height or row is rows[-1]  # a short page ends early
    ]
    return top, bottom[::-1]


def _shifts(edges: dict[int, tuple[list[Row], list[Row]]]) -> Counter[int]:
    """How often a number at a page's edge differs by a certain amount from the page's index."""
    shifts: Counter[int] = Counter()
    for number, lines in edges.items():
        found: set[int] = set()
        for edge in lines:
            for row in edge[:2]:
                numbers = _DIGITS.findall(row.text)
                found.update(int(digits) - number for digits in {*numbers[:1], *numbers[-1:]})
        shifts.update(found)
    return shifts


def _key(row: Row, number: int, shifts: Counter[int]) -> str:
    """The line's text without the page number in it."""
    return _DIGITS.sub(
        lambda digits: "#" if shifts[int(digits[0]) - number] >= _PAGES else digits[0], row.text
    )


def _repeats(pages: list[int], number: int, total: int) -> bool:
    near = bisect_right(pages, number + _NEAR) - bisect_left(pages, number - _NEAR)
    return len(pages) >= _PAGES and (near >= _PAGES or len(pages) >= 0.3 * total)


def _is_page_number(text: str, number: int, shifts: Counter[int]) -> bool:
    if _COUNTED.fullmatch(text):
        return True
    found = _PAGE_NUMBER.fullmatch(text)
    if found is None:
        return False
    if found[1].isdecimal():
        return shifts[int(found[1]) - number] >= _PAGES
    return max(shifts.values(), default=0) >= _PAGES
