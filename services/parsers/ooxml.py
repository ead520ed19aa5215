"""The container of Word, Excel and PowerPoint files: parts, the relations between them, core facts.

Parts are unpacked with a limit and parsed without entities, DTDs or network. Files in the "strict"
variant of the format are brought to the usual namespaces, so parsers know only those.
"""

from __future__ import annotations

import posixpath
import zipfile
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO
from urllib.parse import unquote

from lxml import etree

from services.errors import TooLargeError, UnreadableSourceError
from services.models import Document
from services.parsers.protected import unlocked
from services.parsers.sniff import BROKEN_ZIP, damaged

PART_LIMIT = 160 << 20
"""Bytes one XML part may unpack to."""

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
S = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"

_STRICT = {
    b"http://purl.oclc.org/ooxml/wordprocessingml/main": W,
    b"http://purl.oclc.org/ooxml/spreadsheetml/main": S,
    b"http://purl.oclc.org/ooxml/presentationml/main": P,
    b"http://purl.oclc.org/ooxml/drawingml/main": A,
    b"http://purl.oclc.org/ooxml/drawingml/chart": C,
    b"http://purl.oclc.org/ooxml/officeDocument/relationships": R,
}
_CORE = {"creator": "author", "created": "date", "language": "language", "subject": "subject"}


@dataclass(frozen=True)
class Relation:
    """A link from one part to another: the last word of its type, and the part's name."""

    type: str
    target: str


@dataclass(frozen=True)
class Sheet:
    """A sheet as its workbook lists it; ``part`` holds its cells."""

    name: str
    part: str
    hidden: bool


class Package:
    """An open Office file. ``what`` names it in errors ("Word file"), ``password`` opens a
    protected one.

    Raises UnreadableSourceError (``damaged``) when the container or a needed part is broken,
    TooLargeError when a part unpacks to more than ``PART_LIMIT``.
    """

    def __init__(self, path: Path | IO[bytes], what: str, password: str | None = None) -> None:
        self.what = what
        try:
            if isinstance(path, Path) and not zipfile.is_zipfile(path):
                path = unlocked(path, password)
            self._zip = zipfile.ZipFile(path)
        except BROKEN_ZIP as error:
            raise damaged(what) from error
        self._names = {name.lower().lstrip("/"): name for name in self._zip.namelist()}
        self._relations: dict[str, dict[str, Relation]] = {}

    def __enter__(self) -> Package:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()

    @property
    def main(self) -> str:
        """The name of the main part (document, workbook or presentation)."""
        for relation in self.relations("").values():
            if relation.type == "officeDocument" and relation.target.lower() in self._names:
                return relation.target
        raise damaged(self.what)

    def open(self, name: str) -> IO[bytes]:
        """A part as a stream; the reader watches the size."""
        try:
            return self._zip.open(self._names[name.lower()])
        except (KeyError, *BROKEN_ZIP) as error:
            raise damaged(self.what) from error

    def piece(self, stream: IO[bytes]) -> bytes:
        """The next megabyte of an open part, b"" at its end."""
        try:
            return stream.read(1 << 20)
        except BROKEN_ZIP as error:
            raise damaged(self.what) from error

    def __contains__(self, name: str) -> bool:
        return name.lower() in self._names

    def data(self, name: str) -> bytes:
        """A part's bytes."""
        try:
            with self.open(name) as stream:
                data = stream.read(PART_LIMIT + 1)
        except BROKEN_ZIP as error:
            raise damaged(self.what) from error
        if len(data) > PART_LIMIT:
            raise too_large()
        return data

    def xml(self, name: str) -> etree._Element:
        """A part's root element."""
        data = self.data(name)
        if b"<!DOCTYPE" in data[:4096]:
            raise damaged(self.what)  # these formats have none; entity bombs need one
        if b"http://purl.oclc.org/ooxml/" in data[:16384]:
            for strict, usual in _STRICT.items():
                data = data.replace(strict, usual[1:-1].encode())
        try:
            return etree.fromstring(data, safe_parser())
        except etree.XMLSyntaxError as error:
            raise damaged(self.what) from error

    def optional(self, name: str) -> etree._Element | None:
        """A part's root element, None when it is absent or broken."""
        try:
            return self.xml(name) if name.lower() in self._names else None
        except UnreadableSourceError:
            return None

    def relations(self, name: str) -> dict[str, Relation]:
        """The part's links inside the file, by id; "" asks for the file's own."""
        if name not in self._relations:
            folder, base = posixpath.split(name)
            root = self.optional(posixpath.join(folder, "_rels", f"{base}.rels"))
            found: dict[str, Relation] = {}
            for link in root if root is not None else ():
                if link.get("TargetMode") != "External" and link.get("Target"):
                    target = posixpath.normpath(
                        posixpath.join("/", folder, unquote(link.get("Target", "")))
                    )
                    kind = link.get("Type", "").rsplit("/", 1)[-1]
                    found[link.get("Id", "")] = Relation(kind, target.lstrip("/"))
            self._relations[name] = found
        return self._relations[name]

    def related(self, name: str, kind: str) -> str | None:
        """The name of the first part of a type that a part links to."""
        for relation in self.relations(name).values():
            if relation.type == kind and relation.target.lower() in self._names:
                return relation.target
        return None

    def facts(self, document: Document) -> None:
        """Put title, author and date from the file's properties into a document."""
        part = self.related("", "core-properties")
        root = self.optional(part) if part else None
        for item in root if root is not None else ():
            name, text = etree.QName(item).localname, (item.text or "").strip()
            if name == "title":
                document.title = text
            elif name in _CORE and text:
                document.metadata[_CORE[name]] = text


def safe_parser() -> etree.XMLParser:
    """A parser that expands no entity and fetches nothing."""
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        remove_comments=True,
        remove_pis=True,
    )


def too_large() -> TooLargeError:
    """The refusal of a part that unpacks to far more than a document needs."""
    return TooLargeError(
        f"This file unpacks to more than {PART_LIMIT >> 20} MB in one part.",
        code="unpacks_too_large",
        step="Split it into smaller files and add those.",
        limit_mb=PART_LIMIT >> 20,
    )


def without_alternatives(root: etree._Element) -> None:
    """Keep one version of content that is stored for newer and for older programs."""
    for both in list(root.iter(f"{MC}AlternateContent")):
        parent = both.getparent()
        if parent is None:
            continue
        choices = [*both.findall(f"{MC}Choice"), *both.findall(f"{MC}Fallback")]
        chosen = next((c for c in choices if _has_text(c)), choices[0] if choices else None)
        at = parent.index(both)
        tail = both.tail
        parent[at : at + 1] = list(chosen) if chosen is not None else []
        if tail and at < len(parent):
            parent[at].tail = tail


def _has_text(element: etree._Element) -> bool:
    return any((text.text or "").strip() for text in element.iter(f"{W}t", f"{A}t"))
