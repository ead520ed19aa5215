"""Outputs as Word files: real styles, a table of contents, footnotes, a bibliography.

python-docx writes no footnotes, so their part is added by hand; each marker is a footnote of its
own, as Word counts them.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import docx
from docx.document import Document
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part as Package
from docx.oxml import OxmlElement
from docx.oxml.ns import nsdecls, qn
from docx.shared import Pt, RGBColor
from lxml import etree

from services.models import Citation
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

_ACCENT = RGBColor(0x0B, 0x5C, 0x68)
_NOTES_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
_RTL = (("\u0590", "\u08ff"), ("\ufb1d", "\ufdff"), ("\ufe70", "\ufeff"))


def export(output: StudioOutput) -> bytes:
    """A .docx file."""
    return _Writer(output).data()


class _Writer:
    def __init__(self, output: StudioOutput) -> None:
        self.output = output
        self.language = output.options.language
        self.document: Document = docx.Document()
        self.cited = {citation.number: citation for citation in output.citations}
        self.notes: list[Citation] = []
        self.bookmarks = 0

    def data(self) -> bytes:
        self._styles()
        body = parts(self.output.content)
        self.document.core_properties.title = clean(self.output.title)
        self.document.core_properties.author = ""
        self.document.core_properties.language = self.language
        self.document.add_heading(clean(self.output.title), 0)
        heads = [part for part in body if part.kind == "heading"]
        if len(heads) > 2:
            self._contents(heads)
        for part in body:
            self._part(part)
        if sources := cited_sources(self.output):
            self._heading(Part("heading", [Run(label("sources", self.language))], 2))
            for used in sources:
                self.document.add_paragraph(reference(used), style="Bibliography")
        self._add_notes()
        stream = io.BytesIO()
        self.document.save(stream)
        return stream.getvalue()

    def _styles(self) -> None:
        styles = self.document.styles
        styles["Normal"].font.name, styles["Normal"].font.size = "Calibri", Pt(11)
        for name in ("Title", "Heading 1", "Heading 2", "Heading 3"):
            styles[name].font.color.rgb = _ACCENT
        for name, kind in (
            ("Bibliography", WD_STYLE_TYPE.PARAGRAPH),
            ("footnote text", WD_STYLE_TYPE.PARAGRAPH),
            ("TOC 1", WD_STYLE_TYPE.PARAGRAPH),
            ("TOC 2", WD_STYLE_TYPE.PARAGRAPH),
            ("footnote reference", WD_STYLE_TYPE.CHARACTER),
            ("Hyperlink", WD_STYLE_TYPE.CHARACTER),
        ):
            style: Any = styles.add_style(name, kind, builtin=True)
            if kind is WD_STYLE_TYPE.PARAGRAPH:
                style.base_style = styles["Normal"]
        styles["footnote text"].font.size = Pt(9)
        styles["TOC 2"].paragraph_format.left_indent = Pt(18)
        styles["footnote reference"].font.superscript = True
        styles["Hyperlink"].font.color.rgb = _ACCENT

    def _contents(self, heads: Sequence[Part]) -> None:
        """A TOC field, which Word updates, with its entries written already."""
        self.document.add_paragraph(label("contents", self.language), style="Heading 2")
        last: Any = None
        for number, part in enumerate(heads, start=1):
            depth = 1 if part.level <= 2 else 2
            last = self.document.add_paragraph(style=f"TOC {depth}")
            if number == 1:
                _field(last, "begin")
                _instruction(last, ' TOC \\o "1-3" \\h \\z \\u ')
                _field(last, "separate")
            link = OxmlElement("w:hyperlink")
            link.set(qn("w:anchor"), f"_Toc{number:06d}")
            link.append(last.add_run(clean(part.text))._r)
            last._p.append(link)
        _field(last, "end")

    def _part(self, part: Part) -> None:
        match part.kind:
            case "heading":
                self._heading(part)
            case "table":
                self._table(part)
            case "item":
                style = "List Number" if part.ordered is not None else "List Bullet"
                depth = min(part.level, 3)
                self._runs(self._paragraph(style + (f" {depth}" if depth > 1 else "")), part.runs)
            case "quote":
                self._runs(self._paragraph("Intense Quote"), part.runs)
            case _:
                self._runs(self._paragraph("Normal"), part.runs)

    def _paragraph(self, style: str) -> Any:
        return self.document.add_paragraph(style=style)

    def _heading(self, part: Part) -> None:
        paragraph = self.document.add_heading("", min(max(part.level - 1, 1), 9))
        self.bookmarks += 1
        start, end = OxmlElement("w:bookmarkStart"), OxmlElement("w:bookmarkEnd")
        for element in (start, end):
            element.set(qn("w:id"), str(self.bookmarks))
        start.set(qn("w:name"), f"_Toc{self.bookmarks:06d}")
        paragraph._p.append(start)
        self._runs(paragraph, part.runs)
        paragraph._p.append(end)

    def _table(self, part: Part) -> None:
        columns = max(len(row) for row in part.rows)
        table = self.document.add_table(rows=0, cols=columns, style="Light Grid Accent 1")
        for number, row in enumerate(part.rows):
            cells = table.add_row().cells
            for cell, runs in zip(cells, row, strict=False):
                self._runs(cell.paragraphs[0], runs)
            if number == 0:
                head = OxmlElement("w:tblHeader")
                table.rows[0]._tr.get_or_add_trPr().append(head)
        self.document.add_paragraph()

    def _runs(self, paragraph: Any, runs: Sequence[Run]) -> None:
        for run in runs:
            if run.note is not None:
                if run.note in self.cited:
                    self._reference(paragraph, self.cited[run.note])
                continue
            made = paragraph.add_run(clean(run.text))
            made.bold, made.italic = run.bold or None, run.italic or None
            if run.code:
                made.font.name = "Consolas"
            if _right_to_left(run.text):
                made.font.rtl = True
            if run.link:
                self._link(paragraph, made, run.link)
        if _right_to_left("".join(run.text for run in runs)):
            paragraph._p.get_or_add_pPr().append(OxmlElement("w:bidi"))

    def _link(self, paragraph: Any, made: Any, address: str) -> None:
        relation = self.document.part.relate_to(
            address, RELATIONSHIP_TYPE.HYPERLINK, is_external=True
        )
        link = OxmlElement("w:hyperlink")
        link.set(qn("r:id"), relation)
        made.style = "Hyperlink"
        link.append(made._r)
        paragraph._p.append(link)

    def _reference(self, paragraph: Any, citation: Citation) -> None:
        self.notes.append(citation)
        made = paragraph.add_run()
        made.style = "footnote reference"
        mark = OxmlElement("w:footnoteReference")
        mark.set(qn("w:id"), str(len(self.notes) + 1))
        made._r.append(mark)

    def _add_notes(self) -> None:
        if not self.notes:
            return
        root = etree.fromstring(f"<w:footnotes {nsdecls('w')}/>")
        for number, kind in ((0, "separator"), (1, "continuationSeparator")):
            note = _child(root, "footnote", id=str(number), type=kind)
            _child(_child(_child(note, "p"), "r"), kind)
        for number, citation in enumerate(self.notes, start=2):
            line = _child(_child(root, "footnote", id=str(number)), "p")
            _child(_child(line, "pPr"), "pStyle", val="footnotetext")
            mark = _child(line, "r")
            _child(_child(mark, "rPr"), "rStyle", val="footnotereference")
            _child(mark, "footnoteRef")
            text = _child(_child(line, "r"), "t")
            text.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
            text.text = clean(f" {place(citation, self.language)}: “{quote(citation)}”")
        for part in (
            self.document.styles["footnote text"],
            self.document.styles["footnote reference"],
        ):
            part.element.set(qn("w:styleId"), part.element.get(qn("w:styleId")))
        blob = etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True)
        package = self.document.part.package
        made = Package(PackURI("/word/footnotes.xml"), _NOTES_TYPE, blob, package)
        self.document.part.relate_to(made, RELATIONSHIP_TYPE.FOOTNOTES)


def _child(parent: Any, tag: str, **attributes: str) -> Any:
    made = etree.SubElement(parent, qn(f"w:{tag}"))
    for name, value in attributes.items():
        made.set(qn(f"w:{name}"), value)
    return made


def _field(paragraph: Any, kind: str) -> None:
    mark = OxmlElement("w:fldChar")
    mark.set(qn("w:fldCharType"), kind)
    paragraph.add_run()._r.append(mark)


def _instruction(paragraph: Any, text: str) -> None:
    made = OxmlElement("w:instrText")
    made.set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    made.text = text
    paragraph.add_run()._r.append(made)


def _right_to_left(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    right = sum(any(low <= character <= high for low, high in _RTL) for character in letters)
    return right * 2 > len(letters)


def check(data: bytes) -> None:
    """Raises ValueError, KeyError or OSError for a file that does not open."""
    docx.Document(io.BytesIO(data))
