"""XML files: scientific articles (JATS) by their structure, all others by their text in order.

No entity is expanded and no DTD read. In other files an element with text of its own is a
paragraph, titles in it are headings, and elements that repeat with the same parts are a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from lxml import etree

from services.models import Block, Document
from services.parsers import Progress, tables
from services.parsers.html import decode_page
from services.parsers.ooxml import safe_parser
from services.parsers.outline import Outline
from services.parsers.text import paragraphs

_DECLARED = re.compile(r"\A\s*<\?xml[^>]*\?>")
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>", re.IGNORECASE)
_NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,30};")
_TAGS = re.compile(r"<[^<>]*>")
_TITLES = frozenset("title head heading caption subject".split())
_INLINE = frozenset(
    "a abbr acronym b bold code emph emphasis em foreign hi i italic link name quote ref span "
    "strong sub sup tt u underline xref".split()
)
_LONGEST_CELL = 200


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read an XML file. It has no units and no pages."""
    decoded = decode_page(path.read_bytes())
    document = Document()
    document.report.encoding = decoded.encoding
    text = _DECLARED.sub("", decoded.text.lstrip("\ufeff"))
    # Names of characters come from a DTD, which is not read; so they are written out first.
    text = _NAMED.sub(lambda found: unescape(found[0]), _DOCTYPE.sub("", text, count=1))
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), safe_parser())
    except etree.XMLSyntaxError:
        plain = unescape(_TAGS.sub(" ", text))
        document.blocks = [Block(text=part.strip()) for part in paragraphs(plain)]
        document.report.note(
            "xml_broken", "The XML is not well formed; its text was read without its structure."
        )
        return document
    for element in root.iter():
        if isinstance(element.tag, str):
            element.tag = etree.QName(element).localname
    if root.tag in ("article", "book-part-wrapper", "pmc-articleset") and (
        root.find(".//front") is not None or root.find(".//body") is not None
    ):
        from services.parsers.jats import read_article

        read_article(root, document)
        return document
    outline = Outline()
    _walk(root, outline, 1)
    document.blocks = outline.blocks
    document.title = outline.first_title
    return document


def words(element: etree._Element) -> str:
    """All text of an element on one line; elements that are no part of a line stand apart."""
    parts: list[str] = []

    def walk(one: etree._Element) -> None:
        parts.append(one.text or "")
        for child in one:
            if isinstance(child.tag, str):
                apart = "" if child.tag in _INLINE else " "
                parts.append(apart)
                walk(child)
                parts.append(apart)
            parts.append(child.tail or "")

    walk(element)
    return " ".join("".join(parts).split())


def _walk(element: etree._Element, outline: Outline, level: int) -> None:
    """The text below an element, in order."""
    children = [child for child in element if isinstance(child.tag, str)]
    if _is_line(element, children):
        text = words(element)
        if element.tag in _TITLES and len(text) <= _LONGEST_CELL:
            outline.heading(text, max(level - 1, 1))
        elif text:
            outline.add(Block(text=text))
        return
    if rows := _records(children):
        for block in tables.blocks(
            rows, range(len(rows)), header_rows=1, first_id=len(outline.blocks)
        ):
            outline.add(block)
        return
    if any(child.tag in _TITLES for child in children):
        level += 1
    for text in _loose(element.text):
        outline.add(Block(text=text))
    simple: list[str] = []
    for child in children:
        inside = [one for one in child if isinstance(one.tag, str)]
        if not inside and child.tag not in _TITLES and len(child.text or "") <= _LONGEST_CELL:
            if value := words(child):
                simple.append(f"{child.tag}: {value}")
        else:
            _add_simple(simple, outline)
            _walk(child, outline, level)
        for text in _loose(child.tail):
            _add_simple(simple, outline)
            outline.add(Block(text=text))
    _add_simple(simple, outline)


def _add_simple(lines: list[str], outline: Outline) -> None:
    """Fields of a record as one block."""
    if lines:
        outline.add(Block(text="\n".join(lines)))
        lines.clear()


def _loose(text: str | None) -> Iterator[str]:
    if text and (flat := " ".join(text.split())):
        yield flat


def _is_line(element: etree._Element, children: list[etree._Element]) -> bool:
    """Text, or text with only marks of emphasis, links and the like in it."""
    if not children:
        return True
    mixed = bool((element.text or "").strip()) or any((c.tail or "").strip() for c in children)
    return mixed and all(child.tag in _INLINE or not len(child) for child in children)


def _records(children: list[etree._Element]) -> list[list[str]]:
    """Elements of one name whose parts are plain and short, as rows below a head; else none."""
    if len(children) < 2 or len({child.tag for child in children}) > 1:
        return []
    columns: dict[str, None] = {}
    found: list[dict[str, str]] = []
    for child in children:
        cells = {f"{key.rpartition('}')[2]}": value for key, value in child.attrib.items()}
        for part in child:
            if not isinstance(part.tag, str):
                continue
            if len(part) or part.tag in cells or len(part.text or "") > _LONGEST_CELL:
                return []
            cells[part.tag] = words(part)
        if (child.text or "").strip() or not len(child):
            return []
        found.append(cells)
        columns.update(dict.fromkeys(cells))
        if len(columns) > 100:
            return []
    if not columns:
        return []
    return [list(columns), *([cells.get(column, "") for column in columns] for cells in found)]
