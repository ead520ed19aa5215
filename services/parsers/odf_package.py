"""The container of OpenDocument files: content, styles, facts, charts.

Parts under a password are decrypted in memory (``odf_locked``).
"""

from __future__ import annotations

import io
import posixpath
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from lxml import etree

from services.models import Document
from services.parsers.attributes import whole
from services.parsers.ooxml import Package

_URN = "{urn:oasis:names:tc:opendocument:xmlns:"
OFFICE = _URN + "office:1.0}"
TEXT = _URN + "text:1.0}"
TABLE = _URN + "table:1.0}"
STYLE = _URN + "style:1.0}"
DRAW = _URN + "drawing:1.0}"
PRESENTATION = _URN + "presentation:1.0}"
CHART = _URN + "chart:1.0}"
META = _URN + "meta:1.0}"
SVG = _URN + "svg-compatible:1.0}"
DC = "{http://purl.org/dc/elements/1.1/}"
XLINK = "{http://www.w3.org/1999/xlink}"

_WHAT = "OpenDocument file"
_FACTS = {
    f"{META}initial-creator": "author",
    f"{DC}creator": "author",
    f"{META}creation-date": "date",
    f"{DC}date": "date",
    f"{DC}language": "language",
    f"{DC}subject": "subject",
}
_DEEPEST_STYLE = 20


class OpenPackage:
    """An open OpenDocument file.

    Raises UnreadableSourceError (``damaged``), TooLargeError, PasswordNeededError.
    """

    def __init__(self, path: Path, password: str | None) -> None:
        from services.parsers.odf_locked import unlocked

        self._package = Package(_flat(path) or unlocked(path, password), _WHAT)
        self._styles: dict[str, etree._Element] | None = None
        self._lists: dict[str, etree._Element] = {}
        self._content: etree._Element | None = None

    def __enter__(self) -> OpenPackage:
        return self

    def __exit__(self, *_: object) -> None:
        self._package.__exit__(None, None, None)

    @property
    def package(self) -> Package:
        return self._package

    @property
    def content(self) -> etree._Element:
        """The root of the content. Raises when it is missing or broken."""
        if self._content is None:
            self._content = self._package.xml("content.xml")
        return self._content

    def optional(self, part: str) -> etree._Element | None:
        return self._package.optional(part)

    def facts(self, document: Document) -> None:
        """Put title, author and date from the file's properties into a document."""
        root = self.optional("meta.xml")
        for item in root.iter() if root is not None else ():
            text = " ".join((item.text or "").split())
            if item.tag == f"{DC}title":
                document.title = text
            elif item.tag in _FACTS and text:
                # The first author and the first date come before the last ones where both stand.
                key = _FACTS[item.tag]
                if item.tag.startswith(META):
                    document.metadata[key] = text
                else:
                    document.metadata.setdefault(key, text)

    def style_name(self, name: str) -> str:
        """The named style behind an automatic one, for instance "Title"."""
        for _ in range(_DEEPEST_STYLE):
            if name == "Title":
                break
            style = self._style(name)
            parent = style.get(f"{STYLE}parent-style-name") if style is not None else None
            if not parent:
                break
            name = parent
        return name

    def property(self, element: etree._Element, attribute: str, wanted: str) -> str | None:
        """A property that the style named by an element's attribute gives."""
        style = self._style(element.get(attribute, ""))
        for one in style if style is not None else ():
            if one.get(wanted) is not None:
                return str(one.get(wanted))
        return None

    def hides(self, element: etree._Element) -> bool:
        """Whether a section, paragraph or stretch of text is not shown, by itself or its style."""
        if element.get(f"{TEXT}display") == "none" or element.get(f"{TEXT}is-hidden") == "true":
            return True
        name = element.get(f"{TEXT}style-name")
        for _ in range(_DEEPEST_STYLE):
            style = self._style(name) if name else None
            if style is None:
                return False
            for one in style:
                if one.get(f"{TEXT}display"):
                    return str(one.get(f"{TEXT}display")) == "none"
            name = style.get(f"{STYLE}parent-style-name")
        return False

    def mark(self, style: str, depth: int, number: int) -> str:
        """What stands before an item of a list: "-", or its number in the list's own form."""
        self._style("")  # styles are read by now
        found = self._lists.get(style)
        for level in found if found is not None else ():
            if level.get(f"{TEXT}level") != str(depth + 1):
                continue
            if level.tag != f"{TEXT}list-level-style-number":
                return "-"
            written = _number(number, level.get(f"{STYLE}num-format", ""))
            before = level.get(f"{STYLE}num-prefix", "") if written else ""
            after = level.get(f"{STYLE}num-suffix", "") if written else ""
            return f"{before}{written}{after}".strip() or "-"
        return "-"

    def margins(self) -> Iterator[etree._Element]:
        """Headers and footers of the pages."""
        root = self.optional("styles.xml")
        for page in root.iter(f"{STYLE}master-page") if root is not None else ():
            for part in page:
                tag = etree.QName(part).localname
                shown = part.get(f"{STYLE}display") != "false"
                if tag.startswith(("header", "footer")) and shown:
                    yield part

    def _style(self, name: str) -> etree._Element | None:
        if self._styles is None:
            self._styles = {}
            for root in (self.optional("styles.xml"), self.optional("content.xml")):
                for style in root.iter(f"{STYLE}style") if root is not None else ():
                    self._styles[style.get(f"{STYLE}name", "")] = style
                for style in root.iter(f"{TEXT}list-style") if root is not None else ():
                    self._lists[style.get(f"{STYLE}name", "")] = style
        return self._styles.get(name)


def _flat(path: Path) -> IO[bytes] | None:
    """A file that is one XML document as the package it stands for; None when it is a package.

    Content, styles and facts stand in one root there, and each is looked for below its own part.
    """
    if zipfile.is_zipfile(path):
        return None
    data = path.read_bytes()
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return None
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w") as archive:
        for part in ("content.xml", "styles.xml", "meta.xml"):
            archive.writestr(part, data)
    package.seek(0)
    return package


def counted(element: etree._Element, attribute: str, most: int) -> int:
    """An attribute that counts something from 1, at most ``most``."""
    return max(whole(element.get(attribute), 1, most=most), 1)


def chart(package: OpenPackage, target: str) -> tuple[str, list[list[str]]]:
    """Title and numbers of an embedded chart; empty for other embedded objects."""
    part = posixpath.normpath(posixpath.join("/", target, "content.xml")).lstrip("/")
    root = package.optional(part) if target else None
    found = root.find(f".//{CHART}chart") if root is not None else None
    if found is None:
        return "", []
    title = found.find(f"{CHART}title")
    rows = [
        [
            " ".join(" ".join(map(str, cell.itertext())).split()) or cell.get(f"{OFFICE}value", "")
            for cell in row.iter(f"{TABLE}table-cell")
        ]
        for row in found.iter(f"{TABLE}table-row")
    ]
    text = " ".join(" ".join(map(str, title.itertext())).split()) if title is not None else ""
    return text, [row for row in rows if any(row)]


def _number(number: int, form: str) -> str:
    if form in ("a", "A"):
        letters = ""
        while number > 0:
            number, rest = divmod(number - 1, 26)
            letters = chr(97 + rest) + letters
        return letters.upper() if form == "A" else letters
    if form in ("i", "I") and 0 < number < 4000:
        roman = ""
        for value, sign in zip(
            (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
            "m cm d cd c xc l xl x ix v iv i".split(),
            strict=True,
        ):
            while number >= value:
                roman, number = roman + sign, number - value
        return roman.upper() if form == "I" else roman
    return str(number) if form else ""
