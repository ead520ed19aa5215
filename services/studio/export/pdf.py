"""Outputs as PDF files: embedded open fonts, an outline, links from markers to passages.

Arabic and Hebrew are shaped and set from right to left; a script without a font of its own is
drawn with the one of ``fonts.FALLBACKS`` that has its letters.
"""

from __future__ import annotations

import io
from collections.abc import Sequence

from fpdf import FPDF
from fpdf.enums import XPos, YPos
from fpdf.fonts import FontFace
from pypdf import PdfReader
from pypdf.errors import PyPdfError

from services.studio.export import fonts
from services.studio.export.flow import (
    Part,
    Run,
    cited_sources,
    clean,
    label,
    parts,
    place,
    quote,
    reference,
)
from services.studio.models import StudioOutput

_ACCENT, _INK, _SOFT = (11, 92, 104), (28, 30, 32), (96, 100, 104)
_BODY, _SMALL = 10.5, 8.5


def export(output: StudioOutput) -> bytes:
    """A .pdf file, A4."""
    return _Writer(output).data()


class _Page(FPDF):
    def footer(self) -> None:
        self.set_y(-14)
        self.set_font("text", "", _SMALL)
        self.set_text_color(*_SOFT)
        self.cell(0, 6, str(self.page_no()), align="C")


class _Writer:
    def __init__(self, output: StudioOutput) -> None:
        self.output = output
        self.language = output.options.language
        everything = output.title + output.content + "".join(c.quote for c in output.citations)
        self.pdf = pdf = _Page(format="A4")
        pdf.set_margins(24, 22, 24)
        pdf.set_auto_page_break(True, 22)
        pdf.add_font("text", "", fonts.regular())
        pdf.add_font("text", "B", fonts.bold())
        pdf.add_font("text", "I", fonts.italic())
        needed = [name for name in fonts.FALLBACKS if _needs(name, everything)]
        for name in needed:
            pdf.add_font(name, "", fonts.fallback(name))
        pdf.set_fallback_fonts(needed, exact_match=False)
        if {"arabic", "hebrew"} & set(needed):
            pdf.set_text_shaping(True)
        pdf.set_title(clean(output.title))
        pdf.set_lang(self.language)
        self.links = {citation.number: pdf.add_link(page=1) for citation in output.citations}

    def data(self) -> bytes:
        pdf, output = self.pdf, self.output
        pdf.add_page()
        self._font("B", 20, _ACCENT)
        self._line(output.title, 9)
        pdf.ln(4)
        for part in parts(output.content):
            self._part(part)
        if output.citations:
            self._heading(label("passages", self.language), 2)
            for citation in output.citations:
                pdf.set_link(self.links[citation.number], y=pdf.get_y(), page=pdf.page_no())
                self._font("B", _SMALL, _INK)
                self._line(f"[{citation.number}] {place(citation, self.language)}", 4.6)
                self._font("", _SMALL, _SOFT)
                self._line(quote(citation), 4.6)
                pdf.ln(1.5)
        if sources := cited_sources(output):
            self._heading(label("sources", self.language), 2)
            self._font("", _SMALL, _INK)
            for used in sources:
                self._line(reference(used), 4.6)
                pdf.ln(1)
        return bytes(pdf.output())

    def _font(self, style: str, size: float, colour: tuple[int, int, int]) -> None:
        self.pdf.set_font("text", style, size)
        self.pdf.set_text_color(*colour)

    def _line(self, text: str, height: float) -> None:
        align = "R" if _right_to_left(text) else "L"
        self.pdf.multi_cell(
            0, height, clean(text), align=align, new_x=XPos.LMARGIN, new_y=YPos.NEXT
        )

    def _heading(self, text: str, level: int) -> None:
        pdf = self.pdf
        size = {1: 16.0, 2: 14.0, 3: 11.5}.get(level, 11.0)
        if pdf.will_page_break(24):
            pdf.add_page()
        pdf.ln(4 if level <= 2 else 2)
        self._font("B", size, _INK)
        pdf.start_section(clean(text)[:200], max(level - 2, 0), strict=False)
        self._line(text, size * 0.5)
        pdf.ln(1.5)

    def _part(self, part: Part) -> None:
        pdf = self.pdf
        match part.kind:
            case "heading":
                self._heading(part.text, part.level)
                return
            case "table":
                self._table(part)
                return
            case "item":
                left = pdf.l_margin + 5 * part.level
                pdf.set_x(left - 4)
                self._font("", _BODY, _INK)
                pdf.cell(4, 5.6, "•" if part.ordered is None else f"{part.ordered}.")
            case "quote" | "code":
                left = pdf.l_margin + 6
            case _:
                left = pdf.l_margin
        self._runs(part, left)
        pdf.ln(2)

    def _runs(self, part: Part, left: float) -> None:
        pdf = self.pdf
        if _right_to_left(part.text):
            self._font("", _BODY, _INK)
            marks = "".join(f" [{run.note}]" for run in part.runs if run.note is not None)
            self._line(part.text + marks, 5.6)
            return
        margin = pdf.l_margin
        pdf.set_left_margin(left)
        pdf.set_x(left)
        for run in part.runs:
            if run.note is not None:
                self._font("", _SMALL, _ACCENT)
                pdf.write(5.6, f" [{run.note}]", self.links.get(run.note, ""))
            else:
                style = "B" if run.bold else "I" if run.italic else ""
                self._font(style, _BODY, _ACCENT if run.link else _INK)
                pdf.write(5.6, clean(run.text), run.link or "")
        pdf.ln(5.6)
        pdf.set_left_margin(margin)
        pdf.set_x(margin)

    def _table(self, part: Part) -> None:
        pdf = self.pdf
        self._font("", _SMALL + 0.5, _INK)
        pdf.set_draw_color(200, 202, 204)
        heads = FontFace(emphasis="BOLD", color=_INK, fill_color=(238, 242, 243))
        widths = _widths(part)
        with pdf.table(
            headings_style=heads,
            borders_layout="HORIZONTAL_LINES",
            line_height=4.8,
            padding=1.2,
            text_align="LEFT",
            col_widths=widths,
        ) as table:
            for cells in part.rows:
                row = table.row()
                for cell in [*cells, *([[]] * (len(widths) - len(cells)))]:
                    row.cell(clean("".join(map(_shown, cell))))
        pdf.ln(4)


def _shown(run: Run) -> str:
    return f" [{run.note}]" if run.note is not None else run.text


def _widths(part: Part) -> tuple[int, ...]:
    """Widths of the columns by what stands in them, none very narrow."""
    columns = max(len(row) for row in part.rows)
    longest = [1] * columns
    for row in part.rows:
        for at, cell in enumerate(row):
            longest[at] = max(longest[at], min(sum(len(_shown(run)) for run in cell), 90))
    return tuple(max(length, 10) for length in longest)


def _needs(name: str, text: str) -> bool:
    match name:
        case "arabic":
            ranges: Sequence[tuple[str, str]] = (("\u0600", "\u08ff"), ("\ufb50", "\ufeff"))
        case "hebrew":
            ranges = (("\u0590", "\u05ff"), ("\ufb1d", "\ufb4f"))
        case _:
            ranges = (("\u1100", "\u11ff"), ("\u2e80", "\ud7ff"), ("\uf900", "\U0003ffff"))
    return any(low <= character <= high for character in set(text) for low, high in ranges)


def _right_to_left(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    right = sum("\u0590" <= character <= "\u08ff" for character in letters)
    return right * 2 > len(letters)


def check(data: bytes) -> None:
    """Raises ValueError for a file that does not open."""
    try:
        pages = len(PdfReader(io.BytesIO(data)).pages)
    except PyPdfError as problem:
        raise ValueError(str(problem)) from problem
    if not pages:
        raise ValueError("no page")
