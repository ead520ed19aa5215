"""The segment model: an Excel file with formulas, their results, and one hidden sheet."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import xlsxwriter
from xlsxwriter.utility import xl_rowcol_to_cell

from tools.sample import facts

PERIODS = [f"{quarter} {year}" for year in facts.YEARS for quarter in facts.QUARTERS]
DRIVERS: tuple[tuple[str, str, float | str, float | str, str], ...] = (
    ("Machines delivered, heat pumps", "units", 1064, 1215, "40 machines move from Q1 to Q2"),
    ("Capacity Zwolle", "units", 1400, 1400, "hall 7 open since 16 September 2025"),
    ("Average delivery time at year-end", "weeks", 26, 24, "goal of the production plan"),
    ("Price increase on lists of 1 January", "%", 1.9, 2.2, "all segments"),
    ("Copper price", "EUR/tonne", 8610, 9000, "65 % of 2026 fixed at 8,780"),
    ("Copper needed", "tonnes", 2900, 3100, ""),
    ("Wage increase, Netherlands", "%", 4.1, 3.6, "collective agreement until 31 March 2027"),
    ("Wage increase, Czech Republic", "%", 6.0, 5.2, "assumption"),
    ("Service technicians at year-end", "people", 438, 470, ""),
    ("Renewal rate of availability contracts", "%", 94, 94, ""),
    ("Saving from bought-in castings", "EUR million", 0.6, 2.6, "Tarragona closed in Q3 2025"),
    ("EUR/CZK", "rate", 25.1, 24.9, "budget rate"),
    ("EUR/SEK", "rate", 11.2, 11.3, "budget rate"),
    ("Tax rate", "%", 24.5, 25.0, ""),
)
SCENARIOS: tuple[tuple[str, float, float], ...] = (
    ("Heat pump volume 10 % lower", -31.6, -9.5),
    ("Copper 10 % dearer", 0.0, -0.9),
    ("Grid connection of the Danish order two quarters late", -18.0, -4.1),
    ("German network charges not lowered on 1 July 2026", -22.0, -3.3),
)


def _block(sheet: Any, formats: Any, top: int, title: str, table: Any, plan: list[float]) -> int:
    """One table of segments by quarter with sums; returns the row of the group's total."""
    sheet.write(top, 0, title, formats["head"])
    for at, name in enumerate([*PERIODS, "2024", "2025", "2026 plan"]):
        sheet.write(top, 1 + at, name, formats["head_right"])
    for row, (segment, figures) in enumerate(table.items(), start=top + 1):
        sheet.write(row, 0, segment)
        for at, figure in enumerate(figures):
            sheet.write(row, 1 + at, figure, formats["number"])
        for at, year in enumerate(facts.YEARS):
            cells = (xl_rowcol_to_cell(row, 1 + 4 * at), xl_rowcol_to_cell(row, 4 + 4 * at))
            result = facts.year(figures, year)
            sheet.write_formula(row, 9 + at, f"=SUM({':'.join(cells)})", formats["number"], result)
        if plan:
            sheet.write(row, 11, plan[row - top - 1], formats["number"])
    row = top + 1 + len(table)
    sheet.write(row, 0, "Group", formats["total"])
    sums = [round(sum(column), 1) for column in zip(*table.values(), strict=True)]
    sums += [facts.total(table, year) for year in facts.YEARS]
    sums += [round(sum(plan), 1)] if plan else []
    for at, result in enumerate(sums):
        cells = (xl_rowcol_to_cell(top + 1, 1 + at), xl_rowcol_to_cell(row - 1, 1 + at))
        sheet.write_formula(row, 1 + at, f"=SUM({':'.join(cells)})", formats["total"], result)
    return row


def _segments(sheet: Any, formats: Any) -> tuple[int, int]:
    sheet.set_column(0, 0, 26)
    sheet.set_column(1, 11, 9.5)
    sheet.freeze_panes(3, 1)
    sheet.write(0, 0, "Segment model, EUR million", formats["title"])
    sheet.write(1, 0, "Tarvendal is an invented company; sample notebook of HALO.", formats["note"])
    plans = [list(column) for column in zip(*facts.PLAN_2026.values(), strict=True)]
    _block(sheet, formats, 3, "Order intake", facts.ORDERS, [])
    revenue = _block(sheet, formats, 9, "Revenue", facts.REVENUE, plans[0][:3])
    ebit = _block(sheet, formats, 15, "EBIT", facts.EBIT, plans[1])
    sheet.write(ebit + 2, 0, "Operating margin", formats["head"])
    groups = [
        [round(sum(column), 1) for column in zip(*table.values(), strict=True)]
        + [facts.total(table, year) for year in facts.YEARS]
        for table in (facts.EBIT, facts.REVENUE)
    ]
    pairs = [*zip(*groups, strict=True), (sum(plans[1]), sum(plans[0]))]
    for at, (profit, sales) in enumerate(pairs, start=1):
        formula = f"={xl_rowcol_to_cell(ebit, at)}/{xl_rowcol_to_cell(revenue, at)}"
        sheet.write_formula(ebit + 2, at, formula, formats["percent"], round(profit / sales, 4))
    sheet.write(
        ebit + 4,
        0,
        "Refrigeration Compressors, Q3 2025: contains EUR 3.2 million for the closure of the "
        "casting line in Tarragona.",
        formats["note"],
    )
    return revenue, ebit


def _drivers(sheet: Any, formats: Any) -> None:
    sheet.set_column(0, 0, 40)
    sheet.set_column(1, 3, 13)
    sheet.set_column(4, 4, 42)
    for at, name in enumerate(("Driver", "Unit", "2025 actual", "2026 plan", "Remark")):
        sheet.write(0, at, name, formats["head_right" if at in (2, 3) else "head"])
    for row, cells in enumerate(DRIVERS, start=1):
        for at, cell in enumerate(cells):
            sheet.write(row, at, cell)


def _sensitivity(sheet: Any, formats: Any) -> None:
    sheet.set_column(0, 0, 54)
    sheet.set_column(1, 2, 16)
    sheet.write(0, 0, "Hidden scenario sheet: effect on 2026, EUR million", formats["title"])
    for at, name in enumerate(("Scenario", "Revenue", "EBIT")):
        sheet.write(2, at, name, formats["head_right" if at else "head"])
    plan = [round(sum(column), 1) for column in zip(*facts.PLAN_2026.values(), strict=True)]
    for row, (name, revenue, ebit) in enumerate([("Plan", *plan), *SCENARIOS], start=3):
        sheet.write(row, 0, name)
        sheet.write(row, 1, revenue, formats["number"])
        sheet.write(row, 2, ebit, formats["number"])
    last = 3 + len(SCENARIOS)
    sums = [round(plan[at] + sum(line[at + 1] for line in SCENARIOS), 1) for at in (0, 1)]  # type: ignore[misc]
    sheet.write(last + 1, 0, "All four together", formats["total"])
    for at, letter in enumerate("BC"):
        formula = f"=SUM({letter}4:{letter}{last + 1})"
        sheet.write_formula(last + 1, at + 1, formula, formats["total"], sums[at])
    sheet.hide()


def write(path: Path) -> None:
    """Write the model to ``path``."""
    book = xlsxwriter.Workbook(str(path))
    book.set_properties(
        {
            "title": "Segment model",
            "author": "Tarvendal N.V.",
            "created": dt.datetime(2026, 3, 5, tzinfo=dt.UTC),
        }
    )
    base = {"font_name": "Calibri", "font_size": 10}
    head = {**base, "bold": True, "font_color": "#FFFFFF", "bg_color": "#16324F"}
    formats = {
        "title": book.add_format({**base, "bold": True, "font_size": 14, "font_color": "#16324F"}),
        "note": book.add_format({**base, "italic": True, "font_color": "#5B6775"}),
        "head": book.add_format(head),
        "head_right": book.add_format({**head, "align": "right"}),
        "number": book.add_format({**base, "num_format": "#,##0.0"}),
        "percent": book.add_format({**base, "num_format": "0.0%", "bold": True}),
        "total": book.add_format(
            {**base, "num_format": "#,##0.0", "bold": True, "top": 1, "bg_color": "#EEF2F5"}
        ),
    }
    _segments(book.add_worksheet("Segments"), formats)
    _drivers(book.add_worksheet("Drivers"), formats)
    _sensitivity(book.add_worksheet("Sensitivity"), formats)
    book.close()
