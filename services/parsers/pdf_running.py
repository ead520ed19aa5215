"""Running headers, footers and page numbers: kept once, so that they do not fill every passage."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict

from services.parsers.pdf_layout import PageLayout, Row, letters

EDGE = 0.14
"""The part of a page's height at its top and bottom in which running lines stand."""
_LINES = 5
_NEAR = 5
_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"[-–—\s|]*(?:page\s*)?(?:[A-Z]{1,2}-)?(\d{1,4}|[ivxlc]{1,7})(?:\s*(?:of|/)\s*\d{1,4})?[-–—\s|]*",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"page\s*\d+\s*(?:of|/)\s*\d+", re.IGNORECASE)


def drop_running_lines(pages: list[PageLayout | None]) -> None:
    """Remove from each page what repeats at its edges; the first occurrence of a line stays.

    A line goes only when every line between it and the paper's edge goes too, and only when the
    same line stands at the edge of at least three pages near by, so body text is never touched.
    """
    edges = {number: _edges(page) for number, page in enumerate(pages) if page}
    seen: dict[str, list[int]] = defaultdict(list)
    offsets: Counter[int] = Counter()
    for number, lines in edges.items():
        for key in {_key(row) for edge in lines for row in edge}:
            seen[key].append(number)
        for edge in lines:
            if edge and (printed := _printed_number(edge[0].text)) is not None:
                offsets[printed - number] += 1
    for number, lines in edges.items():
        dropped: set[int] = set()
        for edge in lines:
            for row in edge:
                if _is_page_number(row.text, number, offsets):
                    dropped.add(id(row))
                elif _repeats(seen[_key(row)], number, len(pages)):
                    if seen[_key(row)][0] != number:
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
    top = [row for row in rows[:_LINES] if row.bottom < EDGE * page.height]
    bottom = [
        row
        for row in rows[-_LINES:]
        if row.top > (1 - EDGE) * page.height or row is rows[-1]  # pages made from web pages end early
    ]
    return top, bottom[::-1]


def _key(row: Row) -> str:
    text = row.text
    if not letters(text) or len(row.segments) > 3:
        return text
    masked = _DIGITS.sub("#", text)
    # Lines that differ in their numbers must stand at the same height to be the same line.
    return masked if masked == text else f"{masked}@{round(row.bottom / 4)}"


def _repeats(pages: list[int], number: int, total: int) -> bool:
    near = bisect_right(pages, number + _NEAR) - bisect_left(pages, number - _NEAR)
    return len(pages) >= 3 and (near >= 3 or len(pages) >= 0.3 * total)


def _printed_number(text: str) -> int | None:
    found = _PAGE_NUMBER.fullmatch(text)
    return int(found[1]) if found and found[1].isdecimal() else None


def _is_page_number(text: str, number: int, offsets: Counter[int]) -> bool:
    if _COUNTED.fullmatch(text):
        return True
    printed = _printed_number(text)
    if printed is not None:
        return offsets[printed - number] >= 3
    return bool(_PAGE_NUMBER.fullmatch(text)) and sum(offsets.values()) >= 3
