"""The annual report: a PDF with page labels (i, ii, 1, 2 ...), outline, tables and charts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import font_source_sans_pro
import font_source_serif_pro
from reportlab.graphics.charts.barcharts import VerticalBarChart
from reportlab.graphics.shapes import Drawing, Rect, String
from reportlab.lib.colors import HexColor, white
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import (
    BaseDocTemplate,
    CondPageBreak,
    Frame,
    KeepTogether,
    NextPageTemplate,
    PageBreak,
    PageTemplate,
    Paragraph,
    Spacer,
    Table,
    TableStyle,
)
from reportlab.platypus.tableofcontents import TableOfContents

from tools.sample import facts
from tools.sample.markup import BOLD, Piece, read, unbreakable

NAVY, COPPER, MIST, GREY, INK = map(
    HexColor, ("#16324F", "#B8562A", "#EEF2F5", "#5B6775", "#1D2A3A")
)
BLUES = tuple(map(HexColor, ("#16324F", "#7C9CB8", "#D9A385")))
WIDTH, HEIGHT = A4
LEFT, RIGHT, TOP, BOTTOM = 25 * mm, 22 * mm, 30 * mm, 24 * mm
TEXT_WIDTH = WIDTH - LEFT - RIGHT
FRONT_PAGES = 2

FONTS = {
    "Sans": (font_source_sans_pro, "SourceSansPro-Regular.ttf"),
    "SansSemi": (font_source_sans_pro, "SourceSansPro-Semibold.ttf"),
    "Serif": (font_source_serif_pro, "SourceSerifPro-Regular.ttf"),
    "SerifSemi": (font_source_serif_pro, "SourceSerifPro-Semibold.ttf"),
    "SerifItalic": (font_source_serif_pro, "SourceSerifPro-It.ttf"),
}


def _style(name: str, font: str, size: float, leading: float, **more: Any) -> ParagraphStyle:
    more.setdefault("textColor", INK)
    return ParagraphStyle(name, fontName=font, fontSize=size, leading=leading, **more)


def _styles() -> dict[str, ParagraphStyle]:
    for name, (package, file) in FONTS.items():
        path = Path(str(package.__file__)).parent / "files" / file
        pdfmetrics.registerFont(TTFont(name, str(path)))
    return {
        "h1": _style("h1", "SerifSemi", 24, 29, textColor=NAVY, spaceBefore=22, spaceAfter=14),
        "h2": _style(
            "h2", "SansSemi", 13, 17, textColor=COPPER, spaceBefore=13, spaceAfter=4, keepWithNext=1
        ),
        "text": _style("text", "Serif", 10.4, 15.8, spaceAfter=7),
        "lead": _style("lead", "SerifItalic", 13, 19, textColor=NAVY, spaceAfter=12),
        "bullet": _style(
            "bullet", "Serif", 10.4, 15.8, spaceAfter=4, leftIndent=12, bulletIndent=0
        ),
        "sign": _style("sign", "Sans", 10, 15, textColor=GREY, spaceBefore=8),
        "caption": _style(
            "caption",
            "SansSemi",
            9,
            12,
            textColor=NAVY,
            spaceBefore=8,
            spaceAfter=3,
            keepWithNext=1,
        ),
        "cell": _style("cell", "Sans", 8.9, 11.4),
        "cell_bold": _style("cell_bold", "SansSemi", 8.9, 11.4),
        "number": _style("number", "Sans", 8.9, 11.4, alignment=TA_RIGHT),
        "number_bold": _style("number_bold", "SansSemi", 8.9, 11.4, alignment=TA_RIGHT),
        "toc": _style("toc", "Serif", 11, 21),
    }


class Report(BaseDocTemplate):  # type: ignore[misc]
    """Collects contents and outline while pages are laid out."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            str(path),
            pagesize=A4,
            invariant=1,
            title="Tarvendal N.V. – Annual report 2025",
            author="Tarvendal N.V.",
            subject="An invented company: part of the sample notebook of HALO",
            lang="en",
        )
        frame = Frame(LEFT, BOTTOM, TEXT_WIDTH, HEIGHT - TOP - BOTTOM, 0, 0, 0, 0)
        self.addPageTemplates(
            [
                PageTemplate("cover", [frame], onPage=_cover),
                PageTemplate("front", [frame], onPage=_running),
                PageTemplate("body", [frame], onPage=_running),
            ]
        )

    def afterFlowable(self, flowable: Any) -> None:  # noqa: N802 (reportlab's name)
        if getattr(flowable, "style", None) is None or flowable.style.name not in ("h1", "h2"):
            return
        text, level = flowable.getPlainText(), int(flowable.style.name == "h2")
        key = f"{self.page}-{text}"
        self.canv.bookmarkPage(key)
        self.canv.addOutlineEntry(text, key, level, closed=level == 0)
        if level == 0:
            self.notify("TOCEntry", (0, text, self.page - FRONT_PAGES, key))


def _cover(canvas: Any, _report: Any) -> None:
    canvas.addPageLabel(0, "ROMAN_LOWER", 1)
    canvas.addPageLabel(FRONT_PAGES, "ARABIC", 1)
    canvas.setFillColor(NAVY)
    canvas.rect(0, 0, WIDTH, HEIGHT, stroke=0, fill=1)
    canvas.setLineWidth(1.1)
    for at in range(26):
        canvas.setStrokeColor(HexColor("#B8562A" if at > 12 else "#7C9CB8"), alpha=0.75)
        path = canvas.beginPath()
        base = 84 * mm + at * 3.1 * mm
        path.moveTo(0, base)
        swing = (26 - at) * 1.5 * mm
        path.curveTo(WIDTH * 0.3, base + swing, WIDTH * 0.6, base - swing, WIDTH, base + swing / 2)
        canvas.drawPath(path)
    canvas.setFillColor(white)
    canvas.setFont("SansSemi", 15)
    canvas.drawString(LEFT, HEIGHT - 34 * mm, "TARVENDAL")
    canvas.setFont("SerifSemi", 44)
    canvas.drawString(LEFT, HEIGHT - 74 * mm, "Moving heat")
    canvas.setFont("Serif", 20)
    canvas.drawString(LEFT, HEIGHT - 87 * mm, "Annual report 2025")
    canvas.setFont("Sans", 9.5)
    canvas.drawString(LEFT, 32 * mm, "Tarvendal N.V., Zwolle")
    canvas.drawString(
        LEFT, 26 * mm, "An invented company. This report belongs to the sample notebook of HALO."
    )


def _running(canvas: Any, report: Any) -> None:
    page = canvas.getPageNumber()
    label = "ii" if page == FRONT_PAGES else str(page - FRONT_PAGES)
    canvas.setFont("Sans", 8.5)
    canvas.setFillColor(GREY)
    canvas.drawString(LEFT, HEIGHT - 17 * mm, "Tarvendal N.V.")
    canvas.drawRightString(WIDTH - RIGHT, HEIGHT - 17 * mm, "Annual report 2025")
    canvas.setStrokeColor(HexColor("#CFD6DE"))
    canvas.setLineWidth(0.5)
    canvas.line(LEFT, HEIGHT - 19.5 * mm, WIDTH - RIGHT, HEIGHT - 19.5 * mm)
    canvas.drawRightString(WIDTH - RIGHT, 13 * mm, label)


def _inline(text: str) -> str:
    text = unbreakable(text).replace("&", "&amp;")
    return BOLD.sub(r'<font name="SerifSemi">\1</font>', text)


def _table(piece: Piece, number: int, styles: dict[str, ParagraphStyle]) -> list[Any]:
    columns = len(piece.rows[0])
    words = any(len(cell) > 26 for row in piece.rows[1:] for cell in row[1:])
    first = 0.38 if columns <= 5 else 0.25
    widths = [TEXT_WIDTH * first] + [TEXT_WIDTH * (1 - first) / (columns - 1)] * (columns - 1)
    if columns <= 3 and not words:
        widths = [TEXT_WIDTH * 0.56] + [TEXT_WIDTH * 0.22] * (columns - 1)
    rows = []
    for at, row in enumerate(piece.rows):
        bold = "_bold" if at == 0 or at in piece.bold_rows else ""
        rows.append(
            [
                Paragraph(
                    unbreakable(cell).replace("&", "&amp;"),
                    styles[("cell" if column == 0 else "number") + bold],
                )
                for column, cell in enumerate(row)
            ]
        )
    look = [
        ("VALIGN", (0, 0), (-1, -1), "BOTTOM"),
        ("TOPPADDING", (0, 0), (-1, -1), 3),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 3.5),
        ("LEFTPADDING", (0, 0), (-1, -1), 4),
        ("RIGHTPADDING", (0, 0), (-1, -1), 4),
        ("LINEBELOW", (0, 0), (-1, 0), 0.9, NAVY),
        ("LINEBELOW", (0, 1), (-1, -1), 0.3, HexColor("#CFD6DE")),
        *(("BACKGROUND", (0, at), (-1, at), MIST) for at in sorted(piece.bold_rows)),
    ]
    table = Table(rows, widths, style=TableStyle(look), repeatRows=1, hAlign="LEFT")
    caption = Paragraph(f"Table {number}: {piece.text}", styles["caption"])
    return [KeepTogether([caption, table]), Spacer(0, 9)]


def _bars(
    series: list[tuple[float, ...]], names: list[str], stacked: bool, colours: tuple[Any, ...]
) -> VerticalBarChart:
    chart = VerticalBarChart()
    chart.x, chart.y, chart.width, chart.height = 30, 24, TEXT_WIDTH - 34, 120
    chart.data = series
    chart.categoryAxis.categoryNames = names
    chart.categoryAxis.style = "stacked" if stacked else "parallel"
    chart.categoryAxis.labels.fontName = chart.valueAxis.labels.fontName = "Sans"
    chart.categoryAxis.labels.fontSize = chart.valueAxis.labels.fontSize = 8
    chart.categoryAxis.strokeColor, chart.valueAxis.strokeColor = GREY, None
    chart.valueAxis.visibleGrid, chart.valueAxis.gridStrokeColor = 1, HexColor("#E3E8EC")
    chart.valueAxis.valueMin = 0
    chart.valueAxis.valueMax = 200
    chart.valueAxis.valueStep = 50
    chart.groupSpacing = 9
    for at, colour in enumerate(colours[: len(series)]):
        chart.bars[at].fillColor, chart.bars[at].strokeColor = colour, None
    return chart


def _chart(name: str, styles: dict[str, ParagraphStyle]) -> list[Any]:
    drawing = Drawing(TEXT_WIDTH, 168 if name == "quarters" else 146)
    if name == "quarters":
        caption = "Figure 1: Revenue by segment and quarter, EUR million"
        names = [f"{quarter} {year}" for year in facts.YEARS for quarter in facts.QUARTERS]
        drawing.add(_bars(list(facts.REVENUE.values()), names, True, BLUES))
        for at, segment in enumerate(facts.SEGMENTS):
            left = 30 + at * 140
            drawing.add(Rect(left, 156, 8, 8, fillColor=BLUES[at], strokeColor=None))
            drawing.add(
                String(left + 12, 156.5, segment, fontName="Sans", fontSize=8.5, fillColor=INK)
            )
    else:
        caption = "Figure 2: Net debt at the end of the year, EUR million"
        chart = _bars([tuple(facts.NET_DEBT.values())], list(facts.NET_DEBT), False, BLUES)
        chart.width, chart.barLabelFormat, chart.barLabels.nudge = 260, "%.1f", 8
        chart.barLabels.fontName, chart.barLabels.fontSize = "SansSemi", 8.5
        drawing.add(chart)
    return [KeepTogether([Paragraph(caption, styles["caption"]), drawing])]


def write(path: Path) -> None:
    """Write the annual report to ``path``."""
    styles = _styles()
    contents = TableOfContents(dotsMinLevel=0, levelStyles=[styles["toc"]])
    story: list[Any] = [
        NextPageTemplate("front"),
        PageBreak(),
        Paragraph("Contents", _style("contents", "SerifSemi", 24, 29, textColor=NAVY)),
        Spacer(0, 14),
        contents,
        Spacer(0, 24),
        Paragraph(
            "All amounts are in million euros unless stated otherwise. The financial year is the "
            "calendar year. Rounding may lead to differences of 0.1.",
            styles["sign"],
        ),
        NextPageTemplate("body"),
    ]
    chapters = tables = 0
    pieces = read("report.md")
    for piece, following in zip(pieces, [*pieces[1:], Piece("")], strict=True):
        if piece.kind == "heading":
            if piece.level == 1 and chapters:
                story.append(CondPageBreak(0.55 * HEIGHT))
            elif piece.level == 1:
                story.append(PageBreak())
            elif following.kind == "table":
                story.append(CondPageBreak(60 + 19 * len(following.rows)))
            chapters += piece.level == 1
            story.append(Paragraph(_inline(piece.text), styles[f"h{piece.level}"]))
        elif piece.kind == "text":
            story.append(Paragraph(_inline(piece.text), styles["text"]))
        elif piece.kind == "list":
            story += [
                Paragraph(_inline(row[0]), styles["bullet"], bulletText="•") for row in piece.rows
            ]
        elif piece.kind == "table":
            tables += 1
            story += _table(piece, tables, styles)
        elif piece.name == "chart":
            story += _chart(piece.text, styles)
        else:
            story.append(Paragraph(_inline(piece.text), styles[piece.name]))
    Report(path).multiBuild(story)
