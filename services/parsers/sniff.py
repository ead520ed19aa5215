"""What a file is, decided from its bytes.

The name only chooses between text, Markdown and delimited text, which no byte can tell apart with
certainty. Everything HALO does not read is refused by a sentence that names what was found.
"""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import IO

from services.errors import UnreadableSourceError, UnsupportedKindError
from services.parsers.decoding import utf16_without_bom

_HEAD = 1 << 16

# (offset, magic, what it is, how to go on)
_PICTURE = ("a picture", "Add a document that holds its text.")
_SOUND = ("a sound recording", "Add a transcript of it.")
_VIDEO = ("a video", "Add a transcript of it.")
_ARCHIVE = ("a compressed archive", "Unpack it and add the files inside.")
_PROGRAM = ("a program", "Add documents only.")
_FONT = ("a font", "Add documents only.")
_DATABASE = ("a database file", "Export what you need as CSV and add that.")
_MAGIC: tuple[tuple[int, bytes, tuple[str, str]], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", _PICTURE),
    (0, b"\xff\xd8\xff", _PICTURE),
    (0, b"GIF8", _PICTURE),
    (0, b"II*\0", _PICTURE),
    (0, b"MM\0*", _PICTURE),
    (8, b"WEBP", _PICTURE),
    (0, b"8BPS", _PICTURE),
    (0, b"AT&TFORM", ("a DjVu document", "Convert it to PDF and add it again.")),
    (0, b"ID3", _SOUND),
    (0, b"fLaC", _SOUND),
    (0, b"OggS", _SOUND),
    (8, b"WAVE", _SOUND),
    (0, b"#!AMR", _SOUND),
    (4, b"ftypM4A", _SOUND),
    (4, b"ftyphei", _PICTURE),
    (4, b"ftypmif", _PICTURE),
    (4, b"ftypavif", _PICTURE),
    (4, b"ftyp", _VIDEO),
    (8, b"AVI ", _VIDEO),
    (0, b"\x1aE\xdf\xa3", _VIDEO),
    (0, b"\0\0\x01\xba", _VIDEO),
    (0, b"FLV\x01", _VIDEO),
    (0, b"7z\xbc\xaf\x27\x1c", _ARCHIVE),
    (0, b"Rar!", _ARCHIVE),
    (0, b"\x1f\x8b", _ARCHIVE),
    (0, b"\xfd7zXZ\0", _ARCHIVE),
    (0, b"BZh", _ARCHIVE),
    (0, b"(\xb5/\xfd", _ARCHIVE),
    (257, b"ustar", _ARCHIVE),
    (0, b"\x7fELF", _PROGRAM),
    (0, b"MZ\x90", _PROGRAM),
    (0, b"\xca\xfe\xba\xbe", _PROGRAM),
    (0, b"\xcf\xfa\xed\xfe", _PROGRAM),
    (0, b"OTTO\0", _FONT),
    (0, b"wOFF", _FONT),
    (0, b"wOF2", _FONT),
    (0, b"\0\x01\0\0\0", _FONT),
    (0, b"SQLite format 3\0", _DATABASE),
    (0, b"PAR1", ("a Parquet table", "Export it as CSV and add that.")),
    (0, b"ARROW1\0", ("an Arrow table", "Export it as CSV and add that.")),
    (0, b"%!PS", ("a PostScript file", "Convert it to PDF and add it again.")),
    (0, b"{\\rtf", ("an RTF document", "Save it as .docx and add it again.")),
)

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_KINDS: tuple[tuple[str, str, str], ...] = (
    ("WordDocument", "an old Word .doc file", "Save it as .docx and add it again."),
    ("PowerPoint Document", "an old PowerPoint .ppt file", "Save it as .pptx and add it again."),
    ("Workbook", "an old Excel .xls file", "Save it as .xlsx and add it again."),
    ("Book", "an old Excel .xls file", "Save it as .xlsx and add it again."),
    ("__properties_version1.0", "an Outlook message", "Save it as text or PDF and add it again."),
    ("VisioDocument", "a Visio drawing", "Export it as PDF and add it again."),
)
_ZIP_KINDS = (
    ("word/", "docx"),
    ("ppt/", "pptx"),
    ("xl/", "xlsx"),
)
_MIMETYPES = (
    (b"application/epub+zip", "an EPUB book", "Convert it to PDF or HTML and add it again."),
    (b"application/vnd.oasis.opendocument.text", "an OpenDocument text", "Save it as .docx."),
    (
        b"application/vnd.oasis.opendocument.spreadsheet",
        "an OpenDocument sheet",
        "Save it as .xlsx.",
    ),
    (
        b"application/vnd.oasis.opendocument.presentation",
        "OpenDocument slides",
        "Save it as .pptx.",
    ),
)

_HTML = re.compile(
    rb"(\s|<\?xml[^>]*>|<!--.*?-->)*<(!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(rb"<(p|div|h[1-6]|table|ul|span|title|meta|a)\b[^>]*>", re.IGNORECASE)
_MAIL = re.compile(rb"(?:[A-Za-z-]+:[^\n]*\n(?:[ \t][^\n]*\n)*){3,}")
_ENDINGS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdown": "markdown",
    ".mkd": "markdown",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
}


def sniff(path: Path | str, name: str = "", *, password: str | None = None) -> str:
    """The name of the kind (a key of ``KINDS``) found in the bytes of a file.

    Raises:
        UnsupportedKindError: a kind HALO does not read; ``params["found"]`` names it.
        UnreadableSourceError: an empty file (``empty_file``) or a damaged container (``damaged``).
        PasswordNeededError: an Office file that ``password`` does not open.
    """
    path = Path(path)
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD)
        file.seek(max(size - 2048, 0))
        tail = file.read()
    if not head:
        raise UnreadableSourceError(
            "This file is empty (0 bytes).", code="empty_file", step="Check the original file."
        )
    if _is_pdf(head, tail):
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")):
        return _zip_kind(path)
    if head.startswith(_OLE):
        data = path.read_bytes()
        if "EncryptedPackage".encode("utf-16-le") in data:
            from services.parsers.protected import unlocked

            return _zip_kind(unlocked(path, password))
        raise _ole_error(data, name)
    if is_dicom_file(head):
        raise unsupported("a DICOM medical image", "Add the written report instead.")
    for offset, magic, (found, step) in _MAGIC:
        if head.startswith(magic, offset):
            raise unsupported(found, step)
    if head.startswith((b"\xff\xfb", b"\xff\xf3", b"\xff\xf2")):
        raise unsupported(*_SOUND)
    if head.startswith(b"BM") and len(head) > 14 and head[6:10] == bytes(4):
        raise unsupported(*_PICTURE)
    return _text_kind(head, size, name)


def is_dicom_file(data: bytes) -> bool:
    """True when bytes 128 to 132 are ``DICM``."""
    return data[128:132] == b"DICM"


def unsupported(found: str, step: str) -> UnsupportedKindError:
    """The refusal of a kind; ``found`` completes "This is ..."."""
    return UnsupportedKindError(f"This is {found}, which HALO cannot read.", step=step, found=found)


def damaged(found: str) -> UnreadableSourceError:
    """The refusal of a file that is broken; ``found`` completes "This ... is damaged"."""
    return UnreadableSourceError(
        f"This {found} is damaged and cannot be opened.",
        code="damaged",
        step="Open it in the program that made it, save it again, and add the new copy.",
        found=found,
    )


def _is_pdf(head: bytes, tail: bytes) -> bool:
    if head.startswith(b"%PDF-"):
        return True
    at = head.find(b"%PDF-", 0, 4096)  # some writers put mail headers or blank lines before it
    if at < 0:
        return False
    return b"%%EOF" in tail or b"startxref" in tail or b" obj" in head[at : at + 4096]


def _zip_kind(path: Path | IO[bytes]) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            mimetype = b""
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
                mimetype = archive.read("mimetype").strip()
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise damaged("Office or ZIP file") from error
    for kind, found, step in _MIMETYPES:
        if mimetype.startswith(kind):
            raise unsupported(found, step)
    lowered = [name.lower() for name in names]
    if "[content_types].xml" in lowered:
        if "xl/workbook.bin" in lowered:
            raise unsupported("a binary Excel .xlsb file", "Save it as .xlsx and add it again.")
        for prefix, kind_name in _ZIP_KINDS:
            if any(name.startswith(prefix) for name in lowered):
                return kind_name
    if "word/document.xml" in lowered:
        return "docx"
    raise unsupported(
        "a ZIP archive" if names else "an empty ZIP archive", "Unpack it and add the files inside."
    )


def _ole_error(data: bytes, name: str) -> UnsupportedKindError:
    """What an OLE container (the format of Office before 2007) holds, as the error to raise.

    Stream names are looked for as they are spelled in the container's directory; where a file
    embeds another one, the ending in its name decides which of the two is meant.
    """
    found = [kind for kind in _OLE_KINDS if f"{kind[0]}\0".encode("utf-16-le") in data]
    ending = Path(name).suffix.lower()[:4]
    for _, what, step in sorted(found, key=lambda kind: not (ending and f"{ending} " in kind[1])):
        return unsupported(what, step)
    return unsupported(
        "an old Office or other binary container", "Save it in a current format and add it again."
    )


def _text_kind(head: bytes, size: int, name: str) -> str:
    wide = utf16_without_bom(head[: len(head) // 2 * 2])
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        plain = head.decode("utf-16", "replace").encode()
    elif wide:
        plain = head.decode(wide, "replace").encode()
    else:
        plain = head.removeprefix(b"\xef\xbb\xbf")
        _refuse_binary(plain, whole=size <= _HEAD)
    if _HTML.match(plain):
        return "html"
    ending = Path(name).suffix.lower()
    if ending in (".html", ".htm", ".xhtml") and _TAG.search(plain):
        return "html"
    if b"mime-version:" in plain[:8192].lower() and _MAIL.match(plain.replace(b"\r\n", b"\n")):
        raise unsupported("an e-mail message", "Save it as PDF or text and add it again.")
    return _ENDINGS.get(ending, "text")


def _refuse_binary(sample: bytes, *, whole: bool) -> None:
    """Raise when bytes are no text: too many control characters for any encoding."""
    controls = sum(sample.count(code) for code in (*range(9), *range(14, 27), *range(28, 32)))
    share = controls / max(len(sample), 1)
    try:
        sample.decode("utf-8", "surrogatepass")
        limit = 0.2
    except UnicodeDecodeError as error:
        cut = not whole and error.end >= len(sample) - 3 and error.start >= len(sample) - 4
        limit = 0.2 if cut else 0.005
    if share > limit:
        raise unsupported("a binary file of unknown kind", "Add documents, tables or text.")
