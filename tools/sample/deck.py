"""The results presentation: slides with bullets, one chart, one table, and speaker notes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pptx
from pptx.chart.data import CategoryChartData
from pptx.dml.color import RGBColor
from pptx.enum.chart import XL_CHART_TYPE, XL_LEGEND_POSITION
from pptx.enum.text import MSO_ANCHOR, PP_ALIGN
from pptx.oxml import parse_xml
from pptx.oxml.ns import nsdecls
from pptx.util import Cm, Pt

from tools.sample import facts
from tools.sample.markup import Piece, read

NAVY, COPPER = RGBColor(0x16, 0x32, 0x4F), RGBColor(0xB8, 0x56, 0x2A)
COLOURS = (NAVY, RGBColor(0x7C, 0x9C, 0xB8), RGBColor(0xD9, 0xA3, 0x85))
AREA = (Cm(2), Cm(4.6), Cm(29.8), Cm(12.4))


def _chart(slide: Any) -> None:
    data = CategoryChartData(number_format="0.0")
    data.categories = [f"{quarter} {year}" for year in facts.YEARS for quarter in facts.QUARTERS]
    for segment, figures in facts.REVENUE.items():
        data.add_series(segment, figures)
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_STACKED, *AREA, data).chart
    chart.has_legend, chart.font.size = True, Pt(14)
    chart.legend.position, chart.legend.include_in_layout = XL_LEGEND_POSITION.BOTTOM, False
    plot = chart.plots[0]
    plot.gap_width, plot.has_data_labels = 60, True
    plot.data_labels.font.size, plot.data_labels.font.color.rgb = Pt(11), RGBColor(255, 255, 255)
    for series, colour in zip(plot.series, COLOURS, strict=True):
        series.format.fill.solid()
        series.format.fill.fore_color.rgb = colour


def _table(slide: Any) -> None:
    head = ["EUR million", "Orders", "Revenue", "Change", "EBIT", "Margin", "Margin 2024"]
    rows = [head]
    for segment in facts.SEGMENTS:
        sales, before = (facts.year(facts.REVENUE[segment], year) for year in ("2025", "2024"))
        ebit, ebit_before = (facts.year(facts.EBIT[segment], year) for year in ("2025", "2024"))
        orders = facts.year(facts.ORDERS[segment], "2025")
        rows.append(_row(segment, orders, sales, before, ebit, ebit_before))
    figures = [facts.total(facts.ORDERS, "2025")]
    figures += [facts.total(facts.REVENUE, year) for year in ("2025", "2024")]
    figures += [facts.total(facts.EBIT, year) for year in ("2025", "2024")]
    rows.append(_row("Group (corporate: −8.8)", *figures))
    table = slide.shapes.add_table(len(rows), len(head), *AREA[:3], Cm(8)).table
    for at in range(len(head)):
        table.columns[at].width = Cm(8.2) if at == 0 else Cm(3.6)
    for at, row in enumerate(rows):
        for column, text in enumerate(row):
            cell = table.cell(at, column)
            cell.text = text
            cell.fill.solid()
            light = RGBColor(0xEE, 0xF2, 0xF5) if at == len(rows) - 1 else RGBColor(255, 255, 255)
            cell.fill.fore_color.rgb = NAVY if at == 0 else light
            cell.vertical_anchor = MSO_ANCHOR.MIDDLE
            paragraph = cell.text_frame.paragraphs[0]
            paragraph.alignment = PP_ALIGN.RIGHT if column else PP_ALIGN.LEFT
            paragraph.font.size, paragraph.font.bold = Pt(16), at in (0, len(rows) - 1)
            paragraph.font.color.rgb = RGBColor(255, 255, 255) if at == 0 else NAVY


def _row(
    name: str, orders: float, sales: float, before: float, ebit: float, ebit_before: float
) -> list[str]:
    change = f"{100 * (sales / before - 1):+.1f} %".replace("-", "−")
    margins = [
        f"{100 * profit / of:.1f} %" for profit, of in ((ebit, sales), (ebit_before, before))
    ]
    return [name, f"{orders:.1f}", f"{sales:.1f}", change, f"{ebit:.1f}", *margins]


def _title(slide: Any, text: str, cover: bool) -> None:
    box = slide.shapes.title
    box.left, box.top, box.width, box.height = Cm(2), Cm(6.4 if cover else 1.4), Cm(29.8), Cm(2.4)
    box.text_frame.text = text
    paragraph = box.text_frame.paragraphs[0]
    paragraph.alignment = PP_ALIGN.LEFT
    paragraph.font.size, paragraph.font.bold = Pt(44 if cover else 32), True
    paragraph.font.color.rgb = RGBColor(255, 255, 255) if cover else NAVY


def _body(slide: Any, piece: Piece) -> None:
    if piece.kind == "draw":
        (_chart if piece.name == "chart" else _table)(slide)
        return
    cover = piece.kind == "text"
    box = slide.shapes.add_textbox(*((Cm(2), Cm(9), Cm(29.8), Cm(2)) if cover else AREA))
    frame = box.text_frame
    frame.word_wrap = True
    for at, line in enumerate([piece.text] if cover else [row[0] for row in piece.rows]):
        paragraph = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
        paragraph.text = line
        if not cover:
            properties = paragraph._p.get_or_add_pPr()
            properties.set("marL", "342900")
            properties.set("indent", "-342900")
            bullet = f'<a:buChar {nsdecls("a")} char="•"/>'
            properties.append(parse_xml(bullet))
        paragraph.font.size = Pt(20 if cover else 28)
        paragraph.font.color.rgb = RGBColor(0xD9, 0xA3, 0x85) if cover else NAVY
        paragraph.space_after = Pt(14)


def write(path: Path) -> None:
    """Write the presentation to ``path``."""
    deck = pptx.Presentation()
    deck.slide_width, deck.slide_height = Cm(33.87), Cm(19.05)
    slide: Any = None
    for piece in read("deck.md"):
        if piece.kind == "heading":
            cover = slide is None
            slide = deck.slides.add_slide(deck.slide_layouts[5])
            if cover:
                slide.background.fill.solid()
                slide.background.fill.fore_color.rgb = NAVY
            else:
                line = slide.shapes.add_connector(1, Cm(2), Cm(3.9), Cm(31.8), Cm(3.9))
                line.line.color.rgb, line.line.width = COPPER, Pt(2)
            _title(slide, piece.text, cover)
        elif piece.kind == "note":
            slide.notes_slide.notes_text_frame.text = piece.text
        else:
            _body(slide, piece)
    deck.core_properties.title = "Results 2025"
    deck.core_properties.author = "Tarvendal N.V."
    deck.save(str(path))
