"""EPUB books: the documents of the spine in reading order, under the headings of the book.

The table of contents gives a heading to a document that has none of its own; a page that only
lists links is such a table and no chapter. Books under copy protection are refused.
"""

from __future__ import annotations

import posixpath
import re
from html import unescape
from pathlib import Path
from urllib.parse import unquote

from lxml import etree

from services.errors import UnreadableSourceError
from services.models import Document
from services.parsers import Progress
from services.parsers.html import Walk, decode_page, parse_html
from services.parsers.ooxml import Package, safe_parser
from services.parsers.outline import Outline
from services.parsers.sniff import damaged
from services.parsers.webmain import all_text, text_length, without_machinery

_WHAT = "EPUB book"
_ONLY_FONTS = frozenset(
    {"http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"}
)  # these scramble fonts; the text stays open
_NAMED = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)[A-Za-z][A-Za-z0-9]{1,30};")
_DECLARED = re.compile(r"\A\s*<\?xml[^>]*\?>")
_DOCTYPE = re.compile(r"<!DOCTYPE[^>\[]*(?:\[[^\]]*\]\s*)?>", re.IGNORECASE)
_FIELDS = {"title": "title", "creator": "author", "language": "language", "date": "date"}
_MOSTLY_LINKS = 0.7


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a book. Unit: chapters, the documents of the spine that hold text."""
    document = Document()
    with Package(path, _WHAT) as package:
        main = _main(package)
        root = _xml(package, main)
        if root is None:
            raise damaged(_WHAT)
        _facts(root, document)
        manifest = {item.get("id", ""): item for item in root.iter("item")}
        folder = posixpath.dirname(main)
        spine = [
            manifest[item.get("idref", "")]
            for item in root.iter("itemref")
            if item.get("idref") in manifest
        ]
        parts = [
            _resolve(folder, item.get("href", ""))
            for item in spine
            if "nav" not in (item.get("properties") or "").split()
        ]
        _refuse_protected(package, set(parts))
        titles = _contents(package, folder, list(manifest.values()))
        outline = Outline()
        chapters = 0
        lost: list[str] = []
        for number, part in enumerate(parts, 1):
            body = _body(package, part)
            if body is None:
                lost.append(posixpath.basename(part))
            elif not _is_contents(body):
                before = len(outline.blocks)
                _chapter(document, outline, body, titles.get(part, ""), known=bool(titles))
                chapters += len(outline.blocks) > before
            if progress:
                progress(number, len(parts))
    document.blocks = outline.blocks
    document.units = {"chapters": chapters}
    report = document.report
    report.unit = "chapter"
    report.units_total, report.units_read = chapters + len(lost), chapters
    if lost:
        report.note(
            "chapters_missing",
            f"{len(lost)} chapters named by the book are missing or broken: {', '.join(lost)}.",
            count=len(lost),
            names=lost,
        )
    return document


def _chapter(
    document: Document, outline: Outline, body: etree._Element, title: str, *, known: bool
) -> None:
    """One document of the spine. A part that the contents do not name goes on with the last."""
    if title or not known:
        outline.leave()
    if title and text_length(body) and next(body.iter("h1", "h2", "h3"), None) is None:
        outline.heading(title, 1)
    Walk(document, outline).blocks(body)


def _main(package: Package) -> str:
    """The name of the package document."""
    root = _xml(package, "META-INF/container.xml")
    for item in root.iter("rootfile") if root is not None else ():
        part = _resolve("", item.get("full-path", ""))
        if part in package:
            return part
    raise damaged(_WHAT)


def _refuse_protected(package: Package, parts: set[str]) -> None:
    root = _xml(package, "META-INF/encryption.xml")
    for item in root.iter("EncryptedData") if root is not None else ():
        method = item.find("EncryptionMethod")
        if method is not None and method.get("Algorithm") in _ONLY_FONTS:
            continue
        if any(_resolve("", one.get("URI", "")) in parts for one in item.iter("CipherReference")):
            raise UnreadableSourceError(
                "This book is locked by copy protection (DRM), which HALO does not open.",
                code="copy_protected",
                step="Add a copy without copy protection.",
            )


def _facts(root: etree._Element, document: Document) -> None:
    """Title, author, language and date as the book states them."""
    metadata = root.find("metadata")
    for item in metadata.iter() if metadata is not None else ():
        key = _FIELDS.get(item.tag) if isinstance(item.tag, str) else None
        text = " ".join((item.text or "").split())
        if not key or not text:
            continue
        if key == "title":
            document.title = document.title or text
        elif key == "author" and key in document.metadata:
            document.metadata[key] += f"; {text}"
        else:
            document.metadata.setdefault(key, text)
    language = document.metadata.get("language", "").split("-")[0].lower()
    document.report.language = language if re.fullmatch("[a-z]{2}", language) else None


def _contents(package: Package, folder: str, items: list[etree._Element]) -> dict[str, str]:
    """What the table of contents calls each document: the first entry that points to it."""
    titles: dict[str, str] = {}
    for item in items:
        part = _resolve(folder, item.get("href", ""))
        is_nav = "nav" in (item.get("properties") or "").split()
        if not is_nav and item.get("media-type") != "application/x-dtbncx+xml":
            continue
        root = _xml(package, part)
        if root is None:
            continue
        at = posixpath.dirname(part)
        if is_nav:
            lists = [nav for nav in root.iter("nav") if nav.get("type", "toc") == "toc"]
            entries = [
                (link.get("href", ""), all_text(link)) for nav in lists for link in nav.iter("a")
            ]
        else:
            entries = [
                (content.get("src", ""), all_text(label))
                for point in root.iter("navPoint")
                if (content := point.find("content")) is not None
                and (label := point.find("navLabel")) is not None
            ]
        for target, text in entries:
            if " ".join(text.split()):
                titles.setdefault(_resolve(at, target), " ".join(text.split()))
    return titles


def _is_contents(body: etree._Element) -> bool:
    """A page of links to the chapters, which repeats their headings."""
    links = [link for link in body.iter("a") if link.get("href")]
    total = text_length(body) - sum(map(text_length, body.iter("h1", "h2", "h3")))
    linked = sum(map(text_length, links))
    return len(links) > 1 and linked > _MOSTLY_LINKS * total and total < 50_000


def _body(package: Package, part: str) -> etree._Element | None:
    if part not in package:
        return None
    root = _xml(package, part)
    if root is None:
        root = parse_html(decode_page(package.data(part)).text)
    if root is None:
        return None
    found = root.find("body")
    body = root if found is None else found
    without_machinery(body)
    return body


def _xml(package: Package, part: str) -> etree._Element | None:
    """A part's root with names as in HTML, without namespaces; None when absent or no XML."""
    if part not in package:
        return None
    text = _DECLARED.sub("", decode_page(package.data(part)).text)
    # The names of characters come from a DTD, which is not read; so they are written out first.
    text = _NAMED.sub(lambda found: unescape(found[0]), _DOCTYPE.sub("", text, count=1))
    try:
        root = etree.fromstring(text.encode("utf-8", "replace"), safe_parser())
    except etree.XMLSyntaxError:
        return None
    for element in root.iter():
        if not isinstance(element.tag, str):
            continue
        element.tag = etree.QName(element).localname
        for key, value in list(element.attrib.items()):
            if key.startswith("{") and (local := etree.QName(key).localname) not in element.attrib:
                element.set(local, value)
    return root


def _resolve(folder: str, target: str) -> str:
    """The name in the archive of what a link in ``folder`` points to."""
    name = posixpath.normpath(posixpath.join("/", folder, unquote(target.partition("#")[0])))
    return name.lstrip("/")
