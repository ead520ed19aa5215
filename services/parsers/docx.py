"""Word documents: the body in order, as it reads once tracked changes are accepted.

The XML is walked directly: paragraphs and tables alone would miss content controls, tracked
insertions, text boxes, notes and comments. Word files have no fixed pages, so blocks have none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from lxml import etree

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.attributes import whole
from services.parsers.drawings import chart_rows, diagram_lines
from services.parsers.numbering import Numbering
from services.parsers.ooxml import C, Package, R, W, without_alternatives
from services.parsers.outline import Outline

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_PICTURE = "{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"
_OLD_PICTURE = "{urn:schemas-microsoft-com:vml}imagedata"
_PROPERTIES = "{http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing}docPr"
_LEFT_OUT = frozenset(
    f"{W}{name}" for name in "del moveFrom delText instrText pPr rPr sdtPr sdtEndPr rt".split()
)
_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_DEEPEST_STYLE = 50
_MOST_HEADER_ROWS = 3
_OPERATORS = {f"{_MATH}f": "/", f"{_MATH}sSup": "^", f"{_MATH}sSub": "_"}
_SYMBOLS = {
    "symbol": dict(zip(
        "44 57 61 62 67 64 65 6C 6D 70 73 77 A3 B0 B1 B3 B4 B9 BB AE".split(),
        "ΔΩαβγδελμπσω≤°±≥×≠≈→", strict=True,
    )),
    "wingdings": dict(zip("6F A8 FB FC FD FE E0".split(), "☐☐✗✓☒☒→", strict=True)),
}  # fmt: skip
"""Signs that change what a text says, by font and the end of their code."""
_NO_TEXT = re.compile(r"[\W\d_]*")


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a Word document. It has no units; notes and comments follow what they belong to."""
    document = Document()
    with Package(path, "Word file", password) as package:
        package.facts(document)
        reader = _Reader(package, document)
        reader.read()
    document.blocks = reader.outline.blocks
    document.title = document.title or reader.title
    return document


@dataclass(frozen=True)
class _Style:
    level: int | None = None
    list_id: str | None = None
    depth: int = 0
    is_title: bool = False
    hidden: bool = False


@dataclass
class _Paragraph:
    """A paragraph's text, and what hangs on it and comes after it."""

    text: str = ""
    boxes: list[etree._Element] = field(default_factory=list)
    drawings: list[etree._Element] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self, package: Package, document: Document) -> None:
        self.outline = Outline()
        self.title = ""
        self._package = package
        self._report = document.report
        self._part = package.main
        self._styles = _styles(self._root("styles"))
        self._numbering = Numbering(self._root("numbering"))
        self._notes = {
            f"{kind}{note.get(f'{W}id')}": note
            for kind in ("footnote", "endnote", "comment")
            for note in self._items(kind)
        }
        self._list: list[str] = []
        self._hidden = 0

    def read(self) -> None:
        root = self._package.xml(self._part)
        without_alternatives(root)
        self._count_changes(root)
        body = root.find(f"{W}body")
        if body is not None:
            self._blocks(body)
            self._flush_list()
            self._margins(root)
        self._report.note_hidden(self._hidden)

    def _root(self, kind: str) -> etree._Element | None:
        part = self._package.related(self._part, kind)
        root = self._package.optional(part) if part else None
        if root is not None:
            without_alternatives(root)
        return root

    def _items(self, kind: str) -> Iterator[etree._Element]:
        root = self._root(f"{kind}s")
        for note in root.iter(f"{W}{kind}") if root is not None else ():
            if note.get(f"{W}type") not in ("separator", "continuationSeparator"):
                yield note

    def _count_changes(self, root: etree._Element) -> None:
        changes = sum(1 for _ in root.iter(f"{W}ins", f"{W}del", f"{W}moveFrom", f"{W}moveTo"))
        self._report.note_changes(changes)

    def _blocks(self, parent: etree._Element) -> None:
        """The block-level content of a body, content control, text box or cell."""
        for child in parent:
            if child.tag == f"{W}p":
                self._paragraph(child)
            elif child.tag == f"{W}tbl":
                self._table(child)
            elif child.tag == f"{W}altChunk":
                self._report.note("part_unread", "An embedded document was not read.")
            elif child.tag not in _LEFT_OUT and not _is_placeholder(child):
                self._blocks(child)

    def _paragraph(self, element: etree._Element) -> None:
        paragraph = self._content(element)
        style = self._style_of(element)
        text = paragraph.text.strip()
        if not text:
            pass
        elif style.level is not None or style.is_title:
            self._flush_list()
            if style.is_title:
                self.title = self.title or " ".join(text.split())
            mark = self._numbering.mark(style.list_id, style.depth) if style.list_id else ""
            self.outline.heading(f"{mark} {text}" if mark not in ("", "-") else text,
                                 style.level or 1)  # fmt: skip
        elif style.list_id:
            mark = self._numbering.mark(style.list_id, style.depth)
            self._list.append(f"{'  ' * style.depth}{mark} {text}".rstrip())
        else:
            self._flush_list()
            self.outline.add(Block(text=text))
        self._attached(paragraph)

    def _attached(self, paragraph: _Paragraph) -> None:
        """Text boxes, charts, pictures and notes of a paragraph, after it."""
        if paragraph.boxes or paragraph.drawings or paragraph.notes:
            self._flush_list()
        for box in paragraph.boxes:
            self._blocks(box)
            self._flush_list()
        for drawing in paragraph.drawings:
            self._drawing(drawing)
        for note in paragraph.notes:
            self.outline.add(Block(kind="note", text=note))

    def _flush_list(self) -> None:
        if self._list:
            self.outline.add(Block(kind="list", text="\n".join(self._list)))
            self._list = []

    def _content(self, element: etree._Element) -> _Paragraph:
        found = _Paragraph()
        parts: list[str] = []
        in_hidden_style = self._style_of(element).hidden
        was_hidden = False

        def walk(parent: etree._Element) -> None:
            nonlocal was_hidden
            for child in parent:
                tag = child.tag
                if tag == f"{W}r":
                    hidden = self._is_hidden(child, in_hidden_style)
                    if not hidden:
                        walk(child)
                    elif not was_hidden and child.find(f"{W}t") is not None:
                        self._hidden += 1
                    was_hidden = hidden
                elif tag in (f"{W}t", f"{_MATH}t"):
                    parts.append(child.text or "")
                elif tag in (f"{W}tab", f"{W}ptab"):
                    parts.append("\t")
                elif tag in (f"{W}br", f"{W}cr"):
                    parts.append("\n")
                elif tag == f"{W}noBreakHyphen":
                    parts.append("-")
                elif tag == f"{W}sym":
                    parts.append(_symbol(child))
                elif tag in _OPERATORS:
                    between(child, _OPERATORS[tag])
                elif tag == f"{W}txbxContent":
                    found.boxes.append(child)
                elif tag in (f"{W}footnoteReference", f"{W}endnoteReference"):
                    self._note(tag.removesuffix("Reference").removeprefix(W), child, found)
                elif tag == f"{W}commentReference":
                    self._note("comment", child, found)
                elif tag not in _LEFT_OUT and not _is_placeholder(child):
                    if tag == f"{W}drawing" or tag == f"{W}pict":
                        found.drawings.append(child)
                    walk(child)

        def between(formula: etree._Element, sign: str) -> None:
            """The parts of a formula with a sign between them, which only their places show."""
            operands = [part for part in formula if not part.tag.endswith("Pr")]
            for number, operand in enumerate(operands):
                if number:
                    parts.append(sign)
                at = len(parts)
                walk(operand)
                text = "".join(parts[at:])
                if text and not text.isalnum():
                    parts[at:] = [f"({text})"]

        walk(element)
        found.text = "".join(parts)
        return found

    def _is_hidden(self, run: etree._Element, in_hidden_style: bool) -> bool:
        """Whether Word shows a run only to who asks for hidden text: it says so itself, or else its
        style or its paragraph's does; where both do, one takes back what the other says."""
        properties = run.find(f"{W}rPr")
        if properties is None:
            return in_hidden_style
        own = _vanishes(properties)
        if own is not None:
            return own
        named = properties.find(f"{W}rStyle")
        style = self._styles.get(named.get(f"{W}val", ""), _Style()) if named is not None else None
        return in_hidden_style != (style is not None and style.hidden)

    def _note(self, kind: str, reference: etree._Element, found: _Paragraph) -> None:
        note = self._notes.pop(f"{kind}{reference.get(f'{W}id')}", None)
        text = self._flat(note, "\n") if note is not None else ""
        if text and kind == "comment" and note is not None:
            author = note.get(f"{W}author", "")
            text = f"Comment by {author}: {text}" if author else f"Comment: {text}"
        if text:
            found.notes.append(text)

    def _flat(self, parent: etree._Element, joiner: str) -> str:
        """All text below an element in one string: paragraphs, tables and boxes in it."""
        parts: list[str] = []

        def walk(element: etree._Element) -> None:
            for child in element:
                if child.tag == f"{W}p":
                    content = self._content(child)
                    style = self._style_of(child)
                    mark = self._numbering.mark(style.list_id, style.depth) if style.list_id else ""
                    text = content.text.strip()
                    parts.append(f"{mark} {text}" if mark and text else text)
                    for box in content.boxes:
                        walk(box)
                    parts.extend(content.notes)
                elif child.tag == f"{W}tr":
                    cells = [self._flat(cell, " ") for cell in _inside(child, "tc")]
                    parts.append(tables.line(cells) if joiner == "\n" else " ".join(cells))
                elif child.tag not in _LEFT_OUT and not _is_placeholder(child):
                    walk(child)

        walk(parent)
        return joiner.join(part for part in parts if part.strip())

    def _table(self, element: etree._Element) -> None:
        self._flush_list()
        rows = [row for row in _inside(element, "tr") if row.find(f"{W}trPr/{W}del") is None]
        shown = [row for row in rows if row.find(f"{W}trPr/{W}hidden") is None]
        self._hidden += len(rows) - len(shown)
        rows = shown
        cells = [list(_inside(row, "tc")) for row in rows]
        if len(cells) == 1 and len(cells[0]) == 1:  # a frame around text
            self._blocks(cells[0][0])
            self._flush_list()
            return
        texts = [self._row(row) for row in cells]
        kept = [at for at, row in enumerate(texts) if any(row)]
        if not kept:
            return
        marked = 0
        while marked < len(rows) and rows[marked].find(f"{W}trPr/{W}tblHeader") is not None:
            marked += 1
        texts = [texts[at] for at in kept]
        if marked >= len(texts):
            marked = 0
        for block in tables.blocks(
            texts,
            [at + 1 for at in kept],
            header_rows=marked or _header_rows(texts, [cells[at] for at in kept]),
            first_id=len(self.outline.blocks),
        ):
            self.outline.add(block)

    def _row(self, cells: list[etree._Element]) -> list[str]:
        """One text a grid column; merged cells have theirs in the first place only."""
        texts: list[str] = []
        for cell in cells:
            texts.append("" if _goes_on(cell) else tables.cell(self._flat(cell, " ")))
            span = cell.find(f"{W}tcPr/{W}gridSpan")
            width = span.get(f"{W}val", "1") if span is not None else "1"
            texts += [""] * (max(whole(width, 1, most=64), 1) - 1)
        return texts

    def _drawing(self, element: etree._Element) -> None:
        for link in element.iter(f"{C}chart"):
            relation = self._package.relations(self._part).get(link.get(f"{R}id", ""))
            root = self._package.optional(relation.target) if relation else None
            if root is not None:
                self._chart(root)
        if lines := diagram_lines(self._package, self._part, element):
            self.outline.add(Block(kind="list", text="\n".join(f"- {line}" for line in lines)))
        pictures = sum(1 for _ in element.iter(_PICTURE, _OLD_PICTURE))
        self._report.pictures += pictures
        described = element.find(f".//{_PROPERTIES}")
        text = (described.get("descr") or "").strip() if described is not None else ""
        if pictures and text:
            self.outline.add(Block(kind="picture", text=text))

    def _chart(self, root: etree._Element) -> None:
        title, rows = chart_rows(root)
        if title:
            self.outline.add(Block(kind="caption", text=title))
        if rows:
            first = len(self.outline.blocks)
            for block in tables.blocks(rows, range(1, len(rows) + 1), header_rows=1,
                                       first_id=first):  # fmt: skip
                self.outline.add(block)

    def _margins(self, root: etree._Element) -> None:
        """Headers and footers, each text once, after the body."""
        seen: set[str] = set()
        for link in root.iter(f"{W}headerReference", f"{W}footerReference"):
            relation = self._package.relations(self._part).get(link.get(f"{R}id", ""))
            part = self._package.optional(relation.target) if relation else None
            if part is None:
                continue
            without_alternatives(part)
            text = self._flat(part, "\n")
            if text not in seen and not _NO_TEXT.fullmatch(text):
                seen.add(text)
                self.outline.blocks.append(Block(kind="note", text=text))

    def _style_of(self, paragraph: etree._Element) -> _Style:
        properties = paragraph.find(f"{W}pPr")
        if properties is None:
            return self._styles.get("", _Style())
        named = properties.find(f"{W}pStyle")
        base = self._styles.get(named.get(f"{W}val", "") if named is not None else "", _Style())
        return _own_style(properties, base)


def _is_placeholder(element: etree._Element) -> bool:
    """A content control that still shows its prompt ("Click here to enter text")."""
    return element.tag == f"{W}sdt" and element.find(f"{W}sdtPr/{W}showingPlcHdr") is not None


def _inside(parent: etree._Element, name: str) -> Iterator[etree._Element]:
    """Rows of a table or cells of a row, also inside content controls and tracked insertions."""
    for child in parent:
        if child.tag == f"{W}{name}":
            yield child
        elif child.tag in (f"{W}sdt", f"{W}sdtContent", f"{W}ins", f"{W}customXml", f"{W}moveTo"):
            yield from _inside(child, name)


def _goes_on(cell: etree._Element) -> bool:
    """Whether a cell belongs to the one above it."""
    merged = cell.find(f"{W}tcPr/{W}vMerge")
    return merged is not None and merged.get(f"{W}val", "continue") == "continue"


def _header_rows(texts: list[list[str]], cells: list[list[etree._Element]]) -> int:
    """How many rows name the columns: the first, and those its merged cells reach down to."""
    if not tables.has_header(texts):
        return 0
    count = 1
    while count < min(_MOST_HEADER_ROWS, len(cells) - 1) and any(map(_goes_on, cells[count])):
        count += 1
    return count


def _symbol(element: etree._Element) -> str:
    """A character of a symbol font; "" for those that only decorate."""
    font = element.get(f"{W}font", "").lower()
    known = next((signs for name, signs in _SYMBOLS.items() if font.startswith(name)), {})
    return known.get(element.get(f"{W}char", "").upper()[-2:], "")


def _vanishes(properties: etree._Element | None) -> bool | None:
    """Whether character properties hide their text; None where they do not say."""
    found = properties.find(f"{W}vanish") if properties is not None else None
    return None if found is None else found.get(f"{W}val", "1") not in ("0", "false", "off")


def _own_style(properties: etree._Element, base: _Style) -> _Style:
    """A style changed by paragraph properties: outline level and list."""
    level, list_id, depth = base.level, base.list_id, base.depth
    outline = properties.find(f"{W}outlineLvl")
    if outline is not None:
        number = outline.get(f"{W}val", "9")
        level = whole(number, 9) + 1 if whole(number, 9) < 9 else None
    item = properties.find(f"{W}numPr/{W}numId")
    if item is not None:
        list_id = item.get(f"{W}val") if item.get(f"{W}val") != "0" else None
    at = properties.find(f"{W}numPr/{W}ilvl")
    if at is not None:
        depth = whole(at.get(f"{W}val"), depth, most=9)
    return replace(base, level=level, list_id=list_id, depth=depth)


def _styles(root: etree._Element | None) -> dict[str, _Style]:
    """Paragraph styles by id, each with what it takes from the ones it is based on; "" is the
    default."""
    elements = {
        style.get(f"{W}styleId", ""): style
        for style in (root.iter(f"{W}style") if root is not None else ())
    }
    made: dict[str, _Style] = {}

    def make(style_id: str, above: frozenset[str]) -> _Style:
        element = elements.get(style_id)
        if element is None or style_id in above or len(above) > _DEEPEST_STYLE:
            return _Style()
        if style_id not in made:
            based = element.find(f"{W}basedOn")
            base = _Style()
            if based is not None:
                base = make(based.get(f"{W}val", ""), above | {style_id})
            label = element.find(f"{W}name")
            name = label.get(f"{W}val", "") if label is not None else ""
            properties = element.find(f"{W}pPr")
            style = _own_style(properties, base) if properties is not None else base
            if match := _HEADING.fullmatch(name):
                style = _Style(int(match[1]) or 1, style.list_id, style.depth)
            elif name.lower() == "title":
                style = _Style(None, None, 0, is_title=True)
            own = _vanishes(element.find(f"{W}rPr"))
            made[style_id] = replace(style, hidden=base.hidden if own is None else own)
        return made[style_id]

    for style_id, element in elements.items():
        style = make(style_id, frozenset())
        if element.get(f"{W}default") in ("1", "true") and element.get(f"{W}type") == "paragraph":
            made[""] = style
    return made
