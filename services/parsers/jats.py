"""Scientific articles in JATS XML (PubMed Central and most publishers): title, authors, abstract,
sections with their headings, tables, figures' captions, notes and references.
"""

from __future__ import annotations

from lxml import etree

from services.models import Block, Document
from services.parsers.html import add_table
from services.parsers.outline import Outline
from services.parsers.xmltext import words

_PARAGRAPHS = frozenset("p disp-quote verse-group attrib".split())
_BELOW = frozenset("table-wrap fig boxed-text list def-list disp-formula code preformat fn".split())
_SKIPPED = frozenset(
    "title label object-id alternatives graphic media permissions sec-meta journal-meta".split()
)
_BACK = {"ack": "Acknowledgements", "fn-group": "Notes", "app-group": "Appendix"}
"""What parts behind the body are called where they have no title."""
_DEEPEST_LIST = 9


def read_article(root: etree._Element, document: Document) -> None:
    """Fill a document from an article whose names have lost their namespaces."""
    for article in [root] if root.tag == "article" else list(root.iter("article", "book-part")):
        _Article(document, article).read()
    document.report.language = (root.get("lang") or root.get(_XML_LANG) or "")[:2].lower() or None


_XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


class _Article:
    def __init__(self, document: Document, root: etree._Element) -> None:
        self._document = document
        self._root = root
        self._outline = Outline()

    def read(self) -> None:
        root, outline = self._root, self._outline
        meta = root.find("front/article-meta")
        if meta is None:
            meta = root.find("front")
        if meta is not None:
            self._front(meta, root.findtext("front/journal-meta//journal-title") or "")
        for part in ("body", "floats-group"):
            found = root.find(part)
            if found is not None:
                self._section(found, 2)
        back = root.find("back")
        for child in back if back is not None else ():
            if child.tag == "ref-list":
                self._references(child)
            elif isinstance(child.tag, str):
                if child.find("title") is None and child.tag in _BACK:
                    outline.heading(_BACK[child.tag], 2)
                self._block(child, 2)
        for reply in root.findall("sub-article") + root.findall("response"):
            title = reply.find(".//article-title")
            outline.heading(words(title) if title is not None else "Reply", 1)
            for body in reply.iter("body"):
                self._section(body, 2)
        first = len(self._document.blocks)
        for block in outline.blocks:
            if block.continues:
                block.continues = f"b{int(block.continues[1:]) + first}"
        self._document.blocks += outline.blocks

    def _front(self, meta: etree._Element, journal: str) -> None:
        document, outline = self._document, self._outline
        title = meta.find("title-group/article-title")
        if title is not None:
            text = words(title)
            if (more := meta.find("title-group/subtitle")) is not None:
                text += f": {words(more)}"
            document.title = document.title or text
            outline.heading(text, 1)
        authors = [
            name
            for one in meta.iter("contrib")
            if one.get("contrib-type", "author") == "author" and (name := _name(one))
        ]
        if authors:
            document.metadata.setdefault("author", "; ".join(authors))
        if date := _date(meta):
            document.metadata.setdefault("date", date)
        ids = {one.get("pub-id-type", ""): words(one) for one in meta.findall("article-id")}
        lines = [
            ("Authors", ", ".join(authors)),
            ("Journal", " ".join(journal.split())),
            ("Published", date),
            ("DOI", ids.get("doi", "")),
            ("Keywords", ", ".join(filter(None, map(words, meta.iter("kwd"))))),
        ]
        if text := "\n".join(f"{name}: {value}" for name, value in lines if value):
            outline.add(Block(text=text))
        for abstract in [*meta.findall("abstract"), *meta.findall("trans-abstract")]:
            heading = abstract.find("title")
            outline.heading(words(heading) if heading is not None else "Abstract", 2)
            self._section(abstract, 3)

    def _section(self, element: etree._Element, level: int) -> None:
        for child in element:
            if isinstance(child.tag, str):
                self._block(child, level)

    def _block(self, element: etree._Element, level: int) -> None:
        tag = element.tag
        if tag in _PARAGRAPHS:
            self._paragraph(element)
        elif tag == "table-wrap":
            self._table(element)
        elif tag in ("fig", "fig-group", "supplementary-material"):
            self._document.report.pictures += sum(1 for _ in element.iter("graphic"))
            self._add("caption", _captioned(element))
        elif tag in ("list", "def-list"):
            self._add("list", "\n".join(_items(element, 0)))
        elif tag in ("disp-formula", "code", "preformat"):
            self._add("code" if tag != "disp-formula" else "paragraph", words(element))
        elif tag == "fn":
            self._add("note", words(element))
        elif tag == "ref-list":
            self._references(element)
        elif tag not in _SKIPPED:
            label, title = element.find("label"), element.find("title")
            if title is not None:
                before = f"{words(label)} " if label is not None else ""
                self._outline.heading(before + words(title), min(level, 9))
                level += 1
            if element.text and element.text.strip() and not len(element):
                self._add("paragraph", words(element))
            self._section(element, level)

    def _paragraph(self, element: etree._Element) -> None:
        """A paragraph; the lists and tables that stand in it come after it."""
        below = [child for child in element.iter() if child.tag in _BELOW]
        outer = [
            one for one in below if not any(above in below for above in one.iterancestors(*_BELOW))
        ]
        for one in outer:
            _take_out(one)
        self._add("paragraph", words(element))
        for one in outer:
            self._block(one, 9)

    def _table(self, wrap: etree._Element) -> None:
        self._add("caption", _captioned(wrap))
        for table in wrap.iter("table"):
            lines: list[list[etree._Element]] = [
                [cell for cell in row if cell.tag in ("td", "th")] for row in table.iter("tr")
            ]
            add_table(self._outline, lines)
        for foot in wrap.iter("table-wrap-foot"):
            self._add("note", words(foot))

    def _references(self, element: etree._Element) -> None:
        title = element.find("title")
        self._outline.heading(words(title) if title is not None else "References", 2)
        lines = []
        for number, ref in enumerate(element.iter("ref"), 1):
            label = ref.find("label")
            mark = words(label) if label is not None else f"{number}"
            cited = next(
                (one for one in ref if isinstance(one.tag, str) and one.tag != "label"), None
            )
            if cited is not None and (text := words(cited)):
                lines.append(f"{mark.rstrip('.')}. {text}")
        for at in range(0, len(lines), 20):
            self._add("list", "\n".join(lines[at : at + 20]))

    def _add(self, kind: str, text: str) -> None:
        if text.strip():
            self._outline.add(Block.model_validate({"kind": kind, "text": text}))


def _name(contributor: etree._Element) -> str:
    for tag in ("collab", "string-name"):
        if (found := contributor.find(tag)) is not None:
            return words(found)
    parts = (contributor.findtext("name/given-names"), contributor.findtext("name/surname"))
    return " ".join(part.strip() for part in parts if part and part.strip())


def _date(meta: etree._Element) -> str:
    for date in meta.iter("pub-date"):
        parts = [(date.findtext(part) or "").strip() for part in ("year", "month", "day")]
        numbers = []
        for part in parts:
            if not part.isdecimal():
                break
            numbers.append(part.zfill(2))
        if numbers:
            return "-".join(numbers)
    return ""


def _captioned(element: etree._Element) -> str:
    """Label and caption of a table or figure on one line."""
    label, caption = element.find("label"), element.find("caption")
    parts = [words(one) for one in (label, caption) if one is not None]
    return " ".join(part for part in parts if part)


def _items(element: etree._Element, depth: int) -> list[str]:
    lines: list[str] = []
    ordered = element.get("list-type") in ("order", "alpha-lower", "roman-lower", "alpha-upper")
    for number, item in enumerate(element.iterchildren("list-item", "def-item"), 1):
        inner = [one for one in item if one.tag in ("list", "def-list")]
        for one in inner:
            _take_out(one)
        label = item.find("label")
        mark = words(label) if label is not None else f"{number}." if ordered else "-"
        if label is not None:
            _take_out(label)
        lines.append(f"{'  ' * depth}{mark} {words(item)}".rstrip())
        if depth < _DEEPEST_LIST:
            for one in inner:
                lines += _items(one, depth + 1)
    return lines


def _take_out(element: etree._Element) -> None:
    """Take an element out of its parent, leaving the text behind it."""
    parent = element.getparent()
    if parent is None:
        return
    before = element.getprevious()
    if before is not None:
        before.tail = f"{before.tail or ''} {element.tail or ''}"
    else:
        parent.text = f"{parent.text or ''} {element.tail or ''}"
    parent.remove(element)
    element.tail = None
