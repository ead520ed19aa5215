"""Web pages: the main text with its headings, lists and tables; no scripts, no navigation.

Nothing is fetched: neither pictures nor styles nor frames.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

from lxml import etree

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.attributes import whole
from services.parsers.decoding import Decoded, decode
from services.parsers.outline import Outline
from services.parsers.text import paragraphs
from services.parsers.webmain import all_text, main_part, text_length
from services.parsers.webmeta import stated

_CHARSET = re.compile(
    rb"<meta[^>]+charset\s*=\s*[\"']?\s*([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*[\"']([\w.:-]+)",
    re.IGNORECASE,
)
_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<!--.*?-->|<[^>]*>", re.DOTALL | re.IGNORECASE)
_SPACE = re.compile(r"[ \t\r\n\f]+")
_AROUND_BREAK = re.compile(r" ?\n ?")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_BLOCKS = frozenset(
    "address article aside blockquote body center dd details dialog dir div dl dt fieldset "
    "figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr li main menu nav ol p pre section "
    "summary table tbody td tfoot th thead tr ul".split()
)


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a web page saved as a file. It has no units and no pages."""
    decoded = decode_page(path.read_bytes())
    document = Document()
    decoded.tell(document.report)
    root = parse_html(decoded.text)
    if root is None:
        return _without_tags(document, decoded.text)
    document.title, document.metadata = stated(root)
    language = (root.get("lang") or "").split("-")[0].strip().lower()
    document.report.language = language if re.fullmatch("[a-z]{2}", language) else None
    part = main_part(root)
    walk = Walk(document)
    if part.title is not None:
        walk.heading(part.title, 1)
    walk.blocks(part.root)
    document.blocks = walk.outline.blocks
    document.title = document.title or walk.outline.first_title
    return document


def decode_page(data: bytes) -> Decoded:
    """The text of a page or an XML file, whose encoding it may state itself."""
    named = _CHARSET.search(data[:8192])
    return decode(data, (named[1] or named[2]).decode("ascii") if named else None)


def parse_html(text: str) -> etree._Element | None:
    """The root of a page, however broken; None when it is nested too deep to be read as a tree."""
    parser = etree.HTMLParser(
        encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(text.replace("\0", "").encode("utf-8", "replace"), parser)
    except etree.XMLSyntaxError:
        return None
    return None if any("depth" in error.message for error in parser.error_log) else root


def _without_tags(document: Document, text: str) -> Document:
    """The text of a page whose structure cannot be followed."""
    document.blocks = [Block(text=part) for part in paragraphs(unescape(_TAGS.sub(" ", text)))]
    document.report.note(
        "structure_lost", "The page is nested too deep; its text was read without its structure."
    )
    return document


class Walk:
    """Turns elements into blocks. Text between block elements gathers into a paragraph."""

    def __init__(self, document: Document, outline: Outline | None = None) -> None:
        self.outline = outline or Outline()
        self._report = document.report
        self._text: list[str] = []

    def blocks(self, element: etree._Element) -> None:
        """The content of a block element."""
        self._text.append(element.text or "")
        for child in element:
            if _is_block(child):
                self._flush()
                self._block(child)
                self._flush()
            else:
                self._inline(child)
            self._text.append(child.tail or "")
        self._flush()

    def heading(self, element: etree._Element, level: int) -> None:
        self.outline.heading(_flat(element), level)

    def _block(self, element: etree._Element) -> None:
        tag = str(element.tag)
        if tag in _HEADINGS:
            self.heading(element, _HEADINGS[tag])
            self._pictures(element)
        elif tag in _LISTS:
            self._list(element)
        elif tag == "dl":
            lines = [
                f"{'- ' if item.tag == 'dt' else '  '}{_flat(item)}"
                for item in element.iter("dt", "dd")
            ]
            self._add("list", "\n".join(line for line in lines if line.strip("- ")))
        elif tag == "pre":
            self._add("code", all_text(element).strip("\n").rstrip())
        elif tag == "table":
            self._table(element)
        elif tag in ("figcaption", "caption"):
            self._add("caption", _flat(element))
        else:
            self.blocks(element)

    def _inline(self, element: etree._Element) -> None:
        if element.tag == "br":
            self._text.append("\v")  # kept apart from the line ends of the page's own source
        elif element.tag == "img":
            self._picture(element)
        elif isinstance(element.tag, str):
            self._text.append(element.text or "")
            for child in element:
                self._inline(child)
                self._text.append(child.tail or "")

    def _flush(self) -> None:
        text = _tidy("".join(self._text))
        self._text = []
        self._add("paragraph", text)

    def _add(self, kind: str, text: str) -> None:
        if text.strip():
            self.outline.add(Block.model_validate({"kind": kind, "text": text}))

    def _list(self, element: etree._Element) -> None:
        """A list as one block, or as a run of blocks where its items hold whole sections."""
        if any(True for _ in element.iter("table", "pre", *_HEADINGS)):
            for item in element:
                self.blocks(item)
            return
        self._add("list", "\n".join(_list_lines(element)))
        self._pictures(element)

    def _table(self, element: etree._Element) -> None:
        for caption in element.findall("caption"):
            self._add("caption", _flat(caption))
        rows = _table_rows(element)
        if _is_layout(element, rows):
            for row in rows:
                for cell in row:
                    self.blocks(cell)
            return
        add_table(self.outline, rows)
        self._pictures(element)

    def _pictures(self, element: etree._Element) -> None:
        for picture in element.iter("img"):
            self._picture(picture)

    def _picture(self, element: etree._Element) -> None:
        self._report.pictures += 1
        described = " ".join((element.get("alt") or "").split())
        if described.count(" ") >= 2 and not _is_inside_table(element):
            self._flush()
            self._add("picture", described)


def _is_block(element: etree._Element) -> bool:
    return element.tag in _BLOCKS or any(child.tag in _BLOCKS for child in element.iter())


def _is_inside_table(element: etree._Element) -> bool:
    return any(True for _ in element.iterancestors("table"))


def _tidy(text: str) -> str:
    return _AROUND_BREAK.sub("\n", _SPACE.sub(" ", text).replace("\v", "\n")).strip()


def _flat(element: etree._Element, *, without: frozenset[str] = frozenset()) -> str:
    """All text of an element on one line, block elements in it set apart by a space."""
    parts: list[str] = []

    def walk(one: etree._Element) -> None:
        parts.append(one.text or "")
        for child in one:
            apart = " " if child.tag in _BLOCKS or child.tag == "br" else ""
            if child.tag not in without:
                parts.append(apart)
                if isinstance(child.tag, str):
                    walk(child)
            parts.append(apart + (child.tail or ""))

    walk(element)
    return " ".join("".join(parts).split())


def _list_lines(element: etree._Element, depth: int = 0) -> list[str]:
    lines: list[str] = []
    number = whole(element.get("start"), 1)
    for item in element:
        if item.tag in _LISTS:  # a list directly in a list: not valid, but common
            lines += _list_lines(item, depth + 1)
            continue
        mark = f"{number}." if element.tag == "ol" else "-"
        if text := _flat(item, without=_LISTS):
            lines.append(f"{'  ' * depth}{mark} {text}")
            number += 1
        for inner in item.iter(*_LISTS):
            if next(inner.iterancestors(*_LISTS), None) is element:
                lines += _list_lines(inner, depth + 1)
    return lines


def _table_rows(table: etree._Element) -> list[list[etree._Element]]:
    """The rows of a table itself, not of tables inside it."""
    rows: list[list[etree._Element]] = []
    for child in table:
        if child.tag == "tr":
            rows.append([cell for cell in child if cell.tag in ("td", "th")])
        elif child.tag in ("thead", "tbody", "tfoot"):
            rows += _table_rows(child)
    return rows


def _is_layout(table: etree._Element, rows: list[list[etree._Element]]) -> bool:
    """A table that only places things: nested tables, one cell, or long text in columns."""
    if table.get("role") in ("presentation", "none"):
        return True
    if any(cell.tag == "th" for row in rows for cell in row):
        return False
    if table.find(".//table") is not None:
        return True
    widest = max(map(len, rows), default=0)
    headings = any(True for _ in table.iter("h1", "h2", "h3"))
    return widest <= 1 or headings or text_length(table) > 600 * sum(map(len, rows))


def add_table(outline: Outline, rows: list[list[etree._Element]]) -> None:
    """Add the cells of a table as blocks; nothing where all of them are empty."""
    texts, header_rows = table_cells(rows)
    kept = [at for at, row in enumerate(texts) if any(row)]
    header_rows = sum(at < header_rows for at in kept)
    texts = [texts[at] for at in kept]
    if not texts:
        return
    if header_rows == 0:
        header_rows = int(tables.has_header(texts))
    for block in tables.blocks(
        texts,
        [at + 1 for at in kept],
        header_rows=header_rows if header_rows < len(texts) else 0,
        first_id=len(outline.blocks),
    ):
        outline.add(block)


def table_cells(rows: list[list[etree._Element]]) -> tuple[list[list[str]], int]:
    """Texts by row and column, and how many first rows are heads.

    A cell over several rows stands in each of them, one over several columns in its first.
    """
    texts: list[list[str]] = []
    hanging: dict[int, tuple[int, str]] = {}
    header_rows = 0
    for row in rows:
        line: list[str] = []
        waiting = list(row)
        while waiting or len(line) in hanging:
            column = len(line)
            if column in hanging:
                left, text = hanging.pop(column)
                line.append(text)
                if left > 1:
                    hanging[column] = (left - 1, text)
                continue
            cell = waiting.pop(0)
            text = _flat(cell)
            line += [text] + [""] * (_span(cell, "colspan") - 1)
            if (down := _span(cell, "rowspan")) > 1:
                hanging[column] = (down - 1, text)
        heads = row and all(cell.tag == "th" for cell in row)
        in_head = bool(row) and next(row[0].iterancestors("thead", "table")).tag == "thead"
        if header_rows == len(texts) and (heads or in_head):
            header_rows += 1
        texts.append(line)
    return texts, header_rows


def _span(cell: etree._Element, name: str) -> int:
    value = cell.get(name, "1").strip()
    return max(whole(value, 1, most=200), 1)
