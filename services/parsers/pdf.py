"""PDF to ``Document``: pdfium first, pypdf for what pdfium cannot open or map.

What is read of a page: its text in reading order with headings, lists and tables, the values of
filled form fields; of the file: title, author, date, page labels, outline, attachment names.
Pages without a usable text layer are recognised in their picture, one by one (``ocr``); those where
nothing is found the report names. Embedded files become sources of their own.
"""

from __future__ import annotations

import ctypes
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pypdf
import pypdf.errors
import pypdfium2
import pypdfium2.raw as raw

from services import pdfium
from services.errors import UnreadableSourceError
from services.models import Block, Document, ImportReport
from services.parsers import ocr, pdf_scans
from services.parsers.attached import Extracted, Writer
from services.parsers.ocr_layout import layout
from services.parsers.pdf_blocks import Outline, assemble, fold
from services.parsers.pdf_forms import field_values
from services.parsers.pdf_layout import PageLayout, Row, Segment, lay_out
from services.parsers.pdf_running import drop_running_lines
from services.parsers.pdf_text import clean, odd_share

Progress = Callable[[int, int], None]

UNMAPPED_LIMIT = 0.2
"""A page with more than this share of unmapped glyphs is read by the second reader."""

_PYPDF_FAULTS = (
    pypdf.errors.PyPdfError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""What pypdf is known to raise on damaged files."""

_NO_TITLE = re.compile(
    r"[\d\W_]*|untitled.*|\(?(?:anonymous|unspecified|none)\)?"
    r"|(?:document|presentation|slide|title)\s*\d*",
    re.IGNORECASE,
)
_FILE_TITLE = re.compile(r"\.(?:docx?|xlsx?|pptx?|pdf|indd|tex|dvi|qxd|html?)$", re.IGNORECASE)
_METADATA = ("author", "date", "language")
_DATE = re.compile(r"D?:?(\d{4})(\d\d)?(\d\d)?")


@dataclass(slots=True)
class _File:
    """What was read of a file before its text is assembled; lists have one entry a page."""

    pages: list[PageLayout | None] = field(default_factory=list)
    labels: list[str | None] = field(default_factory=list)
    forms: list[list[tuple[str, str]]] = field(default_factory=list)
    outline: Outline = field(default_factory=Outline)
    facts: dict[str, str] = field(default_factory=dict)
    attachments: list[str] = field(default_factory=list)
    pictures: int = 0
    unmapped: list[int] = field(default_factory=list)
    second_reader: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)
    scans: list[int] = field(default_factory=list)
    """Pages that may be pictures of text."""
    recognised: dict[int, ocr.Page] = field(default_factory=dict)


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a PDF.

    Args:
        path: the file.
        name: its display name; the title when the file states none.
        password: for a locked file; used to open it and kept nowhere.
        progress: called with (pages done, pages in all) after each page.

    Raises:
        PasswordNeededError: no or the wrong password for a locked file.
        UnreadableSourceError: empty, damaged, or no page has text (code ``no_text``).
    """
    report = ImportReport(kind="pdf", unit="page")
    try:
        file = _read_with_pdfium(path, password, progress)
    except UnreadableSourceError as error:
        if error.code != "damaged":
            raise
        file = _read_with_pypdf(path, password, progress)
        report.note(
            "recovered_with_second_reader",
            "The file is damaged; a second reader recovered its text without tables and layout.",
        )
    drop_running_lines(file.pages)
    assembled = assemble(file.pages, file.outline, file.labels)
    blocks = _with_forms(assembled.blocks, file)
    _fill_report(report, file, blocks, assembled.removed)
    if not blocks:
        raise _no_text(report.units_total, report.pictures)
    document = Document(
        title=_title(file, assembled.blocks, name),
        type_label="PDF",
        kind="pdf",
        blocks=blocks,
        units={"pages": report.units_total},
        metadata={key: file.facts[key] for key in _METADATA if file.facts.get(key)},
        recognised={number: page.lines for number, page in file.recognised.items() if page.lines},
        report=report,
    ).settle()
    for later, earlier in assembled.continues.items():
        assembled.blocks[later].continues = assembled.blocks[earlier].id
    return document


def _read_with_pdfium(path: Path, password: str | None, progress: Progress | None) -> _File:
    """Read page by page, then those that are pictures; pdfium's lock is free between two pages."""
    with pdfium.LOCK:
        source = pdfium.open_document(path, password)
    try:
        with pdfium.LOCK:
            file = _read_facts(source)
            total = len(source)
            form = _open_form(source)
        for number in range(total):
            with pdfium.LOCK:
                _read_page(source, number, form, file)
            if number + 1 in file.second_reader:
                _read_again(path, password, number, file)
            if number + 1 in file.unmapped:
                file.scans.append(number + 1)
            if progress and number + 1 not in file.scans:
                progress(number + 1 - len(file.scans), total)
        _recognise(source, file, progress)
    finally:
        with pdfium.LOCK:
            source.close()
    if not any(file.pages) and len(file.failed) == total:
        raise pdfium.damaged()
    return file


def _read_facts(source: Any) -> _File:
    info = source.get_metadata_dict()
    labels = [source.get_page_label(number) for number in range(len(source))]
    outline = Outline()
    for bookmark in source.get_toc():
        target = bookmark.get_dest()
        page = target.get_index() if target else None
        if page is not None:
            outline.entries.setdefault((page, fold(bookmark.get_title())), bookmark.level + 1)
    attachments = [clean(file.get_name())[0] for file in _attached(source)]
    return _File(
        labels=[label or None for label in labels],
        outline=outline,
        facts={
            "title": info.get("Title", ""),
            "author": _stated(info.get("Author", "")),
            "date": _date(info.get("CreationDate", "") or info.get("ModDate", "")),
            "language": _language(source),
        },
        attachments=[name for name in attachments if name],
    )


def attachments(path: Path, folder: Path, password: str | None = None) -> list[Extracted]:
    """Write the files embedded in a PDF into a folder."""
    writer = Writer(folder)
    with pdfium.LOCK:
        source = pdfium.open_document(path, password)
        try:
            for file in _attached(source):
                try:
                    data = bytes(file.get_data())
                except pypdfium2.PdfiumError:  # its content is missing or damaged
                    continue
                writer.add(clean(file.get_name())[0], data)
        finally:
            source.close()
    return writer.found


def _attached(source: Any) -> Iterator[Any]:
    """The embedded files that can be found."""
    for index in range(source.count_attachments()):
        try:
            yield source.get_attachment(index)
        except pypdfium2.PdfiumError:
            continue


def _open_form(source: Any) -> Any:
    """pdfium's form environment when the file has form fields, else None."""
    if source.get_formtype() == raw.FORMTYPE_NONE:
        return None
    source.init_forms()
    return source.formenv


def _language(source: Any) -> str:
    size = raw.FPDFCatalog_GetLanguage(source, None, 0)
    if size <= 2:
        return ""
    buffer = ctypes.create_string_buffer(size)
    raw.FPDFCatalog_GetLanguage(source, ctypes.cast(buffer, ctypes.POINTER(raw.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").strip()


def _read_page(source: Any, number: int, form: Any, file: _File) -> None:
    """Append one page to the file; a page that pdfium cannot load is left to the second reader."""
    try:
        page = source[number]
    except pypdfium2.PdfiumError:
        file.pages.append(None)
        file.forms.append([])
        file.failed.append(number + 1)
        file.second_reader.append(number + 1)
        return
    try:
        words, layout = _page_text(page)
        if (layout is None or layout.vertical) and pdfium.widen_flat_text(page):
            words, layout = _page_text(page)
        file.pages.append(layout)
        pictures = pdfium.count_pictures(page)
        file.pictures += pictures or (layout is None and pdfium.has_picture(page))
        file.forms.append(field_values(form, page) if form else [])
        if max(words.unmapped, odd_share(words.text)) > UNMAPPED_LIMIT:
            file.unmapped.append(number + 1)
            file.second_reader.append(number + 1)
        elif pdf_scans.may_be_scan(page, words.text):
            file.scans.append(number + 1)
    finally:
        page.close()


def _page_text(page: Any) -> tuple[pdfium.PageText, PageLayout | None]:
    with pdfium.TextPage(page) as textpage:
        words = textpage.words()
        return words, lay_out(textpage, words) if len(words.starts) else None


def _recognise(source: Any, file: _File, progress: Progress | None) -> None:
    """Read the pages that may be pictures of text; kept when it says more than their text layer."""
    done = len(file.pages) - len(file.scans)
    pages = ocr.read_pages(file.scans, lambda number: pdf_scans.picture(source, number - 1))
    for number, page in pages:
        if _says_more(page, number, file):
            file.recognised[number] = page
            with pdfium.LOCK:
                width, height = source.get_page_size(number - 1)
            file.pages[number - 1] = layout(page.lines, width, height)
            if number in file.unmapped:
                file.unmapped.remove(number)
        done += 1
        if progress:
            progress(done, len(file.pages))


def _says_more(page: ocr.Page, number: int, file: _File) -> bool:
    """Whether what was recognised takes the place of what the page's own text says."""
    own = file.pages[number - 1]
    if number in file.unmapped and own:
        return (page.confidence or 0.0) >= ocr.DOUBTFUL
    text = "".join(row.text for flow in own.flows for row in flow) if own else ""
    return own is None or page.letters > 1.5 * sum(map(str.isalnum, text))


def _read_again(path: Path, password: str | None, number: int, file: _File) -> None:
    """Read one page with pypdf; kept when it is less damaged than what pdfium gave."""
    page = number + 1
    try:
        text = _open_with_pypdf(path, password).pages[number].extract_text()
    except _PYPDF_FAULTS:
        text = ""
    layout = _plain_layout(text)
    before = file.pages[number]
    if layout is None:
        file.second_reader.remove(page)
        return
    if before is not None:
        own = "\n".join(row.text for flow in before.flows for row in flow)
        if odd_share(text) > 0.5 * odd_share(own) or len(text) < 0.5 * len(own):
            file.second_reader.remove(page)
            return
        file.unmapped.remove(page)
    else:
        file.failed.remove(page)
    file.pages[number] = layout


def _open_with_pypdf(path: Path, password: str | None) -> pypdf.PdfReader:
    reader = pypdf.PdfReader(path, strict=False)
    if reader.is_encrypted and not reader.decrypt("") and not reader.decrypt(password or ""):
        raise pdfium.password_needed(given=bool(password))
    return reader


def _read_with_pypdf(path: Path, password: str | None, progress: Progress | None) -> _File:
    """Text only, for files pdfium cannot open."""
    file = _File()
    try:
        reader = _open_with_pypdf(path, password)
        total = len(reader.pages)
    except _PYPDF_FAULTS as error:
        raise pdfium.damaged() from error
    for number in range(total):
        try:
            layout = _plain_layout(reader.pages[number].extract_text())
        except _PYPDF_FAULTS:
            layout = None
            file.failed.append(number + 1)
        file.pages.append(layout)
        file.labels.append(None)
        file.forms.append([])
        if progress:
            progress(number + 1, total)
    if not any(file.pages):
        raise pdfium.damaged()
    return file


def _plain_layout(text: str) -> PageLayout | None:
    """Lines without geometry as a page of rows; a blank line is a paragraph's end."""
    rows: list[Row] = []
    y = 0.0
    for line in text.splitlines():
        y += 12.0
        if line.strip():
            only = Segment(line.strip(), 0, y - 10, 400, y, 10.0, False, False, len(rows))
            rows.append(Row([only]))
    return PageLayout(600.0, max(2 * y, 800.0), [rows]) if rows else None


def _with_forms(blocks: list[Block], file: _File) -> list[Block]:
    """Blocks with the form values of each page after the page's text."""
    if not any(file.forms):
        return list(blocks)
    result: list[Block] = []
    for number, values in enumerate(file.forms):
        own = [block for block in blocks if block.page == number + 1]
        result.extend(own)
        path = own[-1].headings if own else []
        result.extend(
            Block(
                text=clean(f"{name}: {value}" if name else value)[0],
                page=number + 1,
                page_label=file.labels[number],
                headings=path,
            )
            for name, value in values
        )
    return result


def _fill_report(report: ImportReport, file: _File, blocks: list[Block], removed: int) -> None:
    total = len(file.pages)
    read = {block.page for block in blocks}
    report.unread = [
        page
        for page in range(1, total + 1)
        # A page whose only lines were dropped as running lines was read.
        if page not in read and (file.pages[page - 1] is None or page in file.unmapped)
    ]
    report.units_total = total
    report.units_read = total - len(report.unread)
    report.words = sum(len(block.text.split()) for block in blocks)
    report.tables = sum(block.kind == "table" for block in blocks)
    report.pictures = file.pictures
    report.attachments = file.attachments
    report.language = file.facts.get("language") or None
    ocr.tell(report, file.recognised)
    if report.unread:
        report.note(
            "pages_without_text",
            f"{len(report.unread)} of {total} pages have no text: {_numbers(report.unread)}.",
            pages=report.unread,
            count=len(report.unread),
            total=total,
        )
    if file.failed:
        report.note(
            "pages_failed",
            f"{len(file.failed)} pages are damaged and could not be read: {_numbers(file.failed)}.",
            pages=file.failed,
            count=len(file.failed),
        )
    if file.second_reader:
        report.note(
            "pages_read_again",
            f"A second reader was used for {len(file.second_reader)} pages with unreadable "
            f"characters: {_numbers(file.second_reader)}.",
            pages=file.second_reader,
            count=len(file.second_reader),
        )
    if file.unmapped:
        report.note(
            "unmapped_glyphs",
            f"The text of {len(file.unmapped)} pages may be wrong, because their fonts do not say "
            f"which characters they draw: {_numbers(file.unmapped)}.",
            pages=file.unmapped,
            count=len(file.unmapped),
        )
    if removed:
        report.note(
            "characters_removed",
            f"{removed} characters that are no text were removed.",
            count=removed,
        )


def _numbers(pages: list[int], most: int = 12) -> str:
    shown = ", ".join(map(str, pages[:most]))
    return f"{shown} ..." if len(pages) > most else shown


def _no_text(total: int, pictures: int) -> UnreadableSourceError:
    what = f"None of the {total} pages has text" if total > 1 else "The only page has no text"
    return UnreadableSourceError(
        f"{what}, and none was recognised in pictures." if pictures else f"{what}.",
        code="no_text",
        step=ocr.READS if pictures else "Check that it is the right file.",
        pages=total,
        pictures=pictures,
    )


def _title(file: _File, blocks: list[Block], name: str) -> str:
    """The stated title, else the first heading of the first page, else the file's name."""
    stated = _stated(file.facts.get("title", ""))
    stated = re.sub(r"^Microsoft (?:Word|PowerPoint|Excel) - ", "", stated)
    stated = _FILE_TITLE.sub("", stated).strip()
    if len(stated) > 3:
        return stated[:200]
    first = [one for one in blocks if one.kind == "heading" and one.page == 1]
    if first:
        top = min(one.level or 9 for one in first)
        return next(one.text for one in first if (one.level or 9) == top)[:200]
    return Path(name).stem or name


def _stated(value: str) -> str:
    """A metadata value, "" when it says nothing."""
    text = " ".join(clean(value)[0].split())
    return "" if _NO_TITLE.fullmatch(text) else text


def _date(stated: str) -> str:
    """A PDF date as ISO 8601, as exact as stated; "" when it is none."""
    found = _DATE.match(stated)
    return "-".join(part for part in found.groups() if part) if found else ""
