"""Bytes to ``Document``: one short module a kind, one registry.

A kind is added with a file in this package that offers
``parse(path, name, *, password=None, progress=None) -> Document``, one entry in ``KINDS``, and a
test. Parser modules are imported when their kind is first met, never before.

Parsers read one local file. They open no network connection, follow no link inside a file and
expand no XML entity. What they could not read they say in the document's import report.
"""

from __future__ import annotations

import importlib
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from services.errors import SpeechError, UnreadableSourceError
from services.models import Block, Document
from services.parsers.sniff import is_dicom_file, sniff

__all__ = [
    "KINDS",
    "SUPPORTED_EXTENSIONS",
    "Kind",
    "Progress",
    "extract_text_from_bytes",
    "extract_text_from_path",
    "is_dicom_file",
    "parse",
    "sniff",
]

Progress = Callable[[int, int], None]
"""Called as ``progress(done, total)`` in units of the kind (pages, slides, sheets)."""


class Parser(Protocol):
    """What every parser module offers."""

    def parse(
        self,
        path: Path,
        name: str,
        *,
        password: str | None = None,
        progress: Progress | None = None,
    ) -> Document: ...


@dataclass(frozen=True)
class Kind:
    """A kind of file HALO reads.

    ``type_label`` is the word shown with a source, ``extensions`` the usual endings (with their
    dot) offered by file dialogs, ``icon`` a Material symbol, ``module`` the parser's module.
    """

    name: str
    type_label: str
    extensions: tuple[str, ...]
    icon: str
    module: str

    def parser(self) -> Parser:
        """The parser module, imported now if it was not yet."""
        return cast(Parser, importlib.import_module(self.module))


_PICTURES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff", ".bmp", ".gif")

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("pdf", "PDF", (".pdf",), "picture_as_pdf", "services.parsers.pdf"),
        Kind("docx", "Doc", (".docx", ".docm"), "description", "services.parsers.docx"),
        Kind("xlsx", "Excel", (".xlsx", ".xlsm"), "table", "services.parsers.xlsx"),
        Kind("pptx", "PowerPoint", (".pptx", ".pptm"), "slideshow", "services.parsers.pptx"),
        Kind("xls", "Excel", (".xls",), "table", "services.parsers.biff"),
        Kind("xlsb", "Excel", (".xlsb",), "table", "services.parsers.xlsb"),
        Kind("odt", "ODT", (".odt", ".ott", ".fodt"), "description", "services.parsers.odf"),
        Kind("ods", "ODS", (".ods", ".ots", ".fods"), "table", "services.parsers.ods"),
        Kind("odp", "ODP", (".odp", ".otp", ".fodp"), "slideshow", "services.parsers.odf"),
        Kind("rtf", "RTF", (".rtf",), "description", "services.parsers.rtf"),
        Kind("epub", "EPUB", (".epub",), "menu_book", "services.parsers.epub"),
        Kind("mail", "Mail", (".eml", ".mbox"), "mail", "services.parsers.mail"),
        Kind("msg", "Mail", (".msg",), "mail", "services.parsers.msg"),
        Kind("csv", "CSV", (".csv", ".tsv", ".tab"), "table_rows", "services.parsers.delimited"),
        Kind("html", "Web", (".html", ".htm", ".xhtml"), "language", "services.parsers.html"),
        Kind("xml", "XML", (".xml", ".nxml"), "code", "services.parsers.xmltext"),
        Kind(
            "json",
            "JSON",
            (".json", ".jsonl", ".ndjson"),
            "data_object",
            "services.parsers.jsondata",
        ),
        Kind("ipynb", "Notebook", (".ipynb",), "code_blocks", "services.parsers.notebook"),
        Kind("subtitles", "Subtitles", (".vtt", ".srt"), "subtitles", "services.parsers.subtitles"),
        Kind(
            "audio",
            "Audio",
            (".mp3", ".m4a", ".wav", ".flac", ".ogg", ".opus", ".aac", ".wma", ".aiff"),
            "graphic_eq",
            "services.parsers.media",
        ),
        Kind(
            "video",
            "Video",
            (".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v", ".wmv", ".mpg"),
            "movie",
            "services.parsers.media",
        ),
        Kind("markdown", "Markdown", (".md", ".markdown"), "article", "services.parsers.markdown"),
        Kind("text", "Text", (".txt", ".text", ".log"), "notes", "services.parsers.text"),
        Kind("image", "Image", _PICTURES, "image", "services.parsers.image"),
        Kind("zip", "ZIP", (".zip",), "folder_zip", "services.parsers.archive"),
    )
}

_PLACEHOLDERS = {"image": "Bilddatei", "audio": "Audio-Datei", "video": "Video-Datei"}

SUPPORTED_EXTENSIONS: frozenset[str] = frozenset(
    extension for kind in KINDS.values() for extension in kind.extensions
)

_NOT_TEXT = re.compile("[\x00-\x08\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\W\u3040-\u30ff\u3400-\u9fff]+")
_FILLER_TITLES = re.compile(
    r"\s*(untitled|document\d*|presentation\d*|powerpoint presentation|microsoft word - .*)?\s*",
    re.IGNORECASE,
)


def parse(
    path: Path | str,
    name: str,
    *,
    password: str | None = None,
    progress: Progress | None = None,
) -> Document:
    """Read a file as what its bytes say it is; ``name`` is only a hint and a title.

    Returns:
        A settled document with at least one word of text and a filled import report.

    Raises:
        UnsupportedKindError: HALO does not read what was found; the sentence names it.
        UnreadableSourceError: empty (``empty_file``), damaged, or without any text (``no_text``).
        PasswordNeededError: the file is locked and ``password`` is missing or wrong.
    """
    path = Path(path)
    kind = KINDS[sniff(path, name, password=password)]
    document = kind.parser().parse(path, name, password=password, progress=progress)
    return _finish(document, kind, name)


def _finish(document: Document, kind: Kind, name: str) -> Document:
    """Clean, number and count what a parser returned; refuse it when it holds no text."""
    report = document.report
    document.kind = report.kind = kind.name
    document.type_label = kind.type_label
    _clean(document)
    if _FILLER_TITLES.fullmatch(document.title):
        document.title = _stem(name)
    document.settle()
    report.words = sum(len(_WORD.findall(block.text)) for block in document.blocks)
    if not report.words:
        raise _no_text(document)
    if not report.tables:
        report.tables = sum(
            block.kind == "table" and block.continues is None for block in document.blocks
        )
    if not report.notes:
        report.notes = sum(block.kind == "note" for block in document.blocks)
    if not report.language:
        from services.parsers.language import guess_language

        report.language = guess_language(document.blocks)
    return document


def _clean(document: Document) -> None:
    """Take out characters that are no text (NUL, lone surrogates ...) and blocks left blank."""
    removed = 0

    def clean(text: str) -> str:
        nonlocal removed
        text, count = _NOT_TEXT.subn("", text)
        removed += count
        return text.replace("\x0c", "\n").replace("\x0b", "\n")

    document.title = clean(document.title).strip()
    document.metadata = {key: clean(value) for key, value in document.metadata.items()}
    kept: list[Block] = []
    renamed: dict[str, str] = {}
    for number, block in enumerate(document.blocks):
        block.text = clean(block.text)
        block.headings = [clean(heading) for heading in block.headings]
        if block.text.strip() or block.kind == "picture":
            renamed[f"b{number}"] = f"b{len(kept)}"
            kept.append(block)
    for block in kept:
        if block.continues is not None:
            block.continues = renamed.get(block.continues)
    document.blocks = kept
    if removed:
        document.report.note(
            "characters_removed",
            f"{removed} characters that are not text (such as NUL) were left out.",
            count=removed,
        )


def _no_text(document: Document) -> UnreadableSourceError:
    report = document.report
    if report.units_total and report.unit in ("page", "slide"):
        where = f"any of its {report.units_total} {report.unit}s"
        where = where if report.units_total > 1 else f"its only {report.unit}"
        return UnreadableSourceError(
            f"No readable text was found in {where}.",
            code="no_text",
            step="It may hold pictures of text only; add a version with a text layer.",
            units=report.units_total,
            unit=report.unit,
        )
    return UnreadableSourceError(
        "No readable text was found in this file.",
        code="no_text",
        step="Check that it is the right file.",
        units=report.units_total,
        unit=report.unit,
    )


def _stem(name: str) -> str:
    """The last part of a name from any system, without its ending."""
    last = re.split(r"[/\\]", name)[-1].strip()
    return _NOT_TEXT.sub("", Path(last).stem if last.strip(".") else last)


def extract_text_from_path(path: str | Path) -> str:
    """All text of a file, "" when it holds none. Raises what ``parse`` raises otherwise."""
    try:
        return parse(Path(path), Path(path).name).text
    except UnreadableSourceError as error:
        if error.code in ("no_text", "empty_file"):
            return ""
        raise


def extract_text_from_bytes(filename: str, data: bytes) -> str:
    """All text of a file given as bytes; ``filename`` is only a hint, never a path.

    A picture without text and a recording without words give the reference system's placeholder,
    such as "Bilddatei: scan.png"; it is for callers of this function only, no source ever holds it.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "source"
        path.write_bytes(data)
        try:
            return parse(path, filename).text
        except (UnreadableSourceError, SpeechError) as error:
            kind = sniff(path, filename) if data else ""
            if kind in _PLACEHOLDERS:
                return f"{_PLACEHOLDERS[kind]}: {filename}"
            if error.code in ("no_text", "empty_file"):
                return ""
            raise
