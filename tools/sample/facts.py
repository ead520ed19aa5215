"""The figures of the invented company, and which file says them. A test holds the files to it."""

from __future__ import annotations

COMPANY = "Tarvendal"
YEARS = ("2024", "2025")
SEGMENTS = ("Industrial Heat Pumps", "Refrigeration Compressors", "Service & Parts")
QUARTERS = ("Q1", "Q2", "Q3", "Q4")

# EUR million; segment -> eight quarters, first those of 2024
REVENUE: dict[str, tuple[float, ...]] = {
    "Industrial Heat Pumps": (52.7, 57.9, 59.8, 65.8, 58.1, 63.9, 68.4, 81.2),
    "Refrigeration Compressors": (60.9, 61.3, 59.4, 60.2, 61.0, 59.7, 55.6, 56.2),
    "Service & Parts": (32.4, 33.5, 33.9, 35.1, 34.2, 35.6, 36.1, 38.4),
}
ORDERS: dict[str, tuple[float, ...]] = {
    "Industrial Heat Pumps": (51.0, 54.4, 56.6, 62.6, 72.3, 75.1, 79.1, 103.3),
    "Refrigeration Compressors": (60.3, 59.1, 58.2, 58.8, 58.0, 56.8, 51.3, 57.8),
    "Service & Parts": (27.0, 29.8, 36.1, 47.6, 28.1, 31.2, 38.3, 51.9),
}
EBIT: dict[str, tuple[float, ...]] = {
    "Industrial Heat Pumps": (4.6, 5.5, 6.1, 7.2, 6.2, 7.6, 9.0, 12.2),
    "Refrigeration Compressors": (6.5, 6.7, 6.2, 6.2, 7.0, 6.5, 2.3, 5.1),
    "Service & Parts": (7.1, 7.4, 7.6, 8.0, 8.0, 8.5, 8.7, 9.4),
    "Corporate": (-2.4, -2.4, -2.5, -2.5, -2.2, -2.1, -2.2, -2.3),
}
PLAN_2026: dict[str, tuple[float, float]] = {  # revenue, EBIT
    "Industrial Heat Pumps": (316.0, 45.2),
    "Refrigeration Compressors": (226.0, 21.0),
    "Service & Parts": (154.5, 37.4),
    "Corporate": (0.0, -9.4),
}
NET_DEBT: dict[str, float] = {"2022": 148.9, "2023": 140.6, "2024": 125.8, "2025": 96.3}

# The one figure that is wrong on purpose: the press release leaves out the cost of the closure.
OPERATING_MARGIN = "12.6 %"
PRESS_MARGIN = "13.1 %"

REPORT = "Tarvendal annual report 2025.pdf"
MEMO = "Board memo Brno expansion.docx"
MODEL = "Segment model 2024-2026.xlsx"
DECK = "Results presentation 2025.pptx"
NOTE = "Market note industrial heat pumps.md"
PRESS = "Press release 2025 results.html"
FILES = (REPORT, MEMO, MODEL, DECK, NOTE, PRESS)

# what each file must say, word for word
SAID: dict[str, tuple[str, ...]] = {
    REPORT: (
        "648.4",
        "The operating margin reached 12.6 %",
        "The closure cost EUR 3.2 million",
        "EUR 318.6 million",
        "26 weeks in December",
        "20 October 2027",
        "Scope 3".lower(),
    ),
    MEMO: ("EUR 38.5 million", "14.2 %", "380 machines a year", "25.8 % in the Netherlands"),
    MODEL: ("Hidden scenario sheet", "German network charges not lowered"),
    DECK: ("Operating margin 12.6 %", "3,140 compressors affected", "first half of 2027"),
    NOTE: ("**9.3 %**", "EUR 8,940 per tonne", "22 January 2026"),
    PRESS: ("The operating margin rose from 11.3 % to 13.1 %", "21 May 2026"),
}


def year(figures: tuple[float, ...], which: str) -> float:
    """The sum of the four quarters of ``which`` year."""
    at = 4 * YEARS.index(which)
    return round(sum(figures[at : at + 4]), 1)


def total(table: dict[str, tuple[float, ...]], which: str) -> float:
    """The sum over all rows of ``table`` for ``which`` year."""
    return round(sum(year(figures, which) for figures in table.values()), 1)
