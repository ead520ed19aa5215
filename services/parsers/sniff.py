"""What a file is, decided from its bytes.

The name only chooses between text, Markdown and delimited text, which no byte can tell apart with
certainty, and marks fragments of HTML. Everything HALO does not read is refused by a sentence that
names what was found.
"""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from pathlib import Path
from typing import IO

from services.errors import UnreadableSourceError, UnsupportedKindError
from services.parsers.containers import media_kind
from services.parsers.decoding import utf16_without_bom

_HEAD = 1 << 16
BROKEN_ZIP = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError,
              OSError, RuntimeError, ValueError)  # fmt: skip
"""What a damaged container makes its reader raise, when it is opened and while it is read."""

# (offset, magic, what it is, how to go on)
_PICTURE = ("a picture", "Save it as PNG or JPEG and add it again.")
_ARCHIVE = ("a compressed archive", "Unpack it and add the files inside.")
_PROGRAM = ("a program", "Add documents only.")
_FONT = ("a font", "Add documents only.")
_DATABASE = ("a database file", "Export what you need as CSV and add that.")
_IMAGES = (
    (0, b"\x89PNG\r\n\x1a\n"),
    (0, b"\xff\xd8\xff"),
    (0, b"GIF8"),
    (0, b"II*\0"),
    (0, b"MM\0*"),
    (8, b"WEBP"),
)
_MAGIC: tuple[tuple[int, bytes, tuple[str, str]], ...] = (
    (0, b"8BPS", _PICTURE),
    (0, b"AT&TFORM", ("a DjVu document", "Convert it to PDF and add it again.")),
    (4, b"ftyphei", _PICTURE),
    (4, b"ftypmif", _PICTURE),
    (4, b"ftypavif", _PICTURE),
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
)

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_KINDS = {
    "__properties_version1.0": "msg",
    "Workbook": "xls",
    "Book": "xls",
}
_OLE_REFUSED: tuple[tuple[str, str, str], ...] = (
    ("WordDocument", "an old Word .doc file", "Save it as .docx and add it again."),
    ("PowerPoint Document", "an old PowerPoint .ppt file", "Save it as .pptx and add it again."),
    ("VisioDocument", "a Visio drawing", "Export it as PDF and add it again."),
)
_OLE_ENDINGS = {".doc": "WordDocument", ".ppt": "PowerPoint Document", ".xls": "Workbook",
                ".msg": "__properties_version1.0"}  # fmt: skip
_ZIP_KINDS = (
    ("word/", "docx"),
    ("ppt/", "pptx"),
    ("xl/", "xlsx"),
)
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
_MIMETYPES = {
    "application/epub+zip": "epub",
    f"{_OPEN_DOCUMENT}text": "odt",
    f"{_OPEN_DOCUMENT}spreadsheet": "ods",
    f"{_OPEN_DOCUMENT}presentation": "odp",
}
_ZIP_REFUSED = (
    ("androidmanifest.xml", _PROGRAM),
    ("meta-inf/manifest.mf", _PROGRAM),
    ("index/document.iwa", ("a Pages, Numbers or Keynote file", "Export it and add that.")),
    ("index.apxl", ("a Keynote file", "Export it as PDF and add that.")),
)
_MOST_MEMBERS = 50_000
"""Members from which a ZIP file is no office file, so that its list need not be read to know it."""

# What stands before the root of HTML and XML is stepped over without coming back to it: a file of
# nothing but comments must not take longer than its length.
_HTML = re.compile(
    rb"(?:\s++|<\?xml[^>]*+>|(?><!--.*?-->))*+<(!doctype\s+html|html|head|body)[\s>]",
    re.IGNORECASE | re.DOTALL,
)
_TAG = re.compile(rb"<(p|div|h[1-6]|table|ul|span|title|meta|a)\b[^>]*>", re.IGNORECASE)
_MAIL = re.compile(rb"(?:[!-9;-~]+:[^\n]*\n(?:[ \t][^\n]*\n)*){3,}")
_MAIL_FROM = re.compile(rb"^(?:from|sender|return-path):", re.IGNORECASE | re.MULTILINE)
_MAIL_SIGN = re.compile(
    rb"^(?:mime-version|date|message-id|received|delivered-to):", re.IGNORECASE | re.MULTILINE
)
_MAILBOX = re.compile(rb"\AFrom [^\n]{3,200}\d{4}[^\n]{0,20}\n[A-Za-z-]+:")
_CUES = re.compile(
    rb"\s*(?:WEBVTT(?=[ \t\n]|\Z)|(?:\d+[ \t]*\n)?(?:\d{1,4}:)?\d\d:\d\d[.,]\d{1,3}[ \t]+-->)"
)
_XML = re.compile(
    rb"(?:\s++|<\?[^>]*+>|(?><!--.*?-->)|<!DOCTYPE\s[^>\[]*+(?:\[[^\]]*+\]\s*+)?>)*+"
    rb"<([A-Za-z_][\w.-]*(?::[\w.-]+)?)(?=[\s/>])",
    re.DOTALL,
)
_FLAT = re.compile(rb"<office:document\s[^>]*?office:mimetype=[\"']([\w./+-]+?)(?:-template)?[\"']")
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
        return _ole_kind(path, name, password)
    if head.startswith(b"{\\rtf"):
        return "rtf"
    if is_dicom_file(head):
        raise unsupported("a DICOM medical image", "Add the written report instead.")
    if any(head.startswith(magic, offset) for offset, magic in _IMAGES) or _is_bitmap(head):
        return "image"
    if medium := media_kind(path, head):
        return medium
    for offset, magic, (found, step) in _MAGIC:
        if head.startswith(magic, offset):
            raise unsupported(found, step)
    return _text_kind(head, tail, size, name)


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


def _is_bitmap(head: bytes) -> bool:
    return head.startswith(b"BM") and len(head) > 14 and head[6:10] == bytes(4)


def _zip_kind(path: Path | IO[bytes]) -> str:
    if isinstance(path, Path) and _stated_members(path) > _MOST_MEMBERS:
        return "zip"
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            mimetype = b""
            if "mimetype" in names and archive.getinfo("mimetype").file_size < 200:
                mimetype = archive.read("mimetype").strip()
    except BROKEN_ZIP as error:
        raise damaged("Office or ZIP file") from error
    lowered = [name.lower() for name in names]
    stated = mimetype.decode("ascii", "replace").removesuffix("-template")
    if stated.startswith(f"{_OPEN_DOCUMENT}text-"):
        stated = f"{_OPEN_DOCUMENT}text"  # a master or web document
    if stated in _MIMETYPES:
        return _MIMETYPES[stated]
    if stated.startswith(_OPEN_DOCUMENT):
        raise unsupported("an OpenDocument drawing or formula", "Export it as PDF and add that.")
    if "[content_types].xml" in lowered:
        if "xl/workbook.bin" in lowered:
            return "xlsb"
        for prefix, kind_name in _ZIP_KINDS:
            if any(name.startswith(prefix) for name in lowered):
                return kind_name
        raise unsupported("an Office file of another kind", "Export it as PDF and add that.")
    if "word/document.xml" in lowered:
        return "docx"
    if "meta-inf/container.xml" in lowered:
        return "epub"
    for sign, (found, step) in _ZIP_REFUSED:
        if sign in lowered:
            raise unsupported(found, step)
    return "zip"


def _stated_members(path: Path) -> int:
    """How many members a ZIP file says it has, read from its end alone."""
    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - (1 << 16) - 22, 0))
        end = file.read()
    at = end.rfind(b"PK\x05\x06")
    count = int.from_bytes(end[at + 10 : at + 12], "little") if at >= 0 else 0
    return 1 << 16 if count == 0xFFFF else count


def _ole_kind(path: Path, name: str, password: str | None) -> str:
    """What an OLE container (the format of Office before 2007) holds.

    Streams at its top decide; where its directory cannot be read, their names as they are spelled
    in the bytes, of which the file's ending chooses one.
    """
    streams = _ole_streams(path, name)
    if "EncryptedPackage" in streams:
        from services.parsers.protected import unlocked

        return _zip_kind(unlocked(path, password))
    for stream in streams:
        if stream in _OLE_KINDS:
            return _OLE_KINDS[stream]
        for refused, what, step in _OLE_REFUSED:
            if stream == refused:
                raise unsupported(what, step)
    raise unsupported(
        "an old Office or other binary container", "Save it in a current format and add it again."
    )


def _ole_streams(path: Path, name: str) -> list[str]:
    import olefile

    try:
        with olefile.OleFileIO(path) as container:
            if found := [
                entry[0] for entry in container.listdir(storages=False) if len(entry) == 1
            ]:
                return found
    except (OSError, ValueError, LookupError, TypeError, RecursionError, struct.error):
        pass
    data = path.read_bytes()
    known = ["EncryptedPackage", *_OLE_KINDS, *(refused[0] for refused in _OLE_REFUSED)]
    spelled = [stream for stream in known if f"{stream}\0".encode("utf-16-le") in data]
    meant = _OLE_ENDINGS.get(Path(name).suffix.lower()[:4], "")
    return sorted(spelled, key=lambda stream: (stream != "EncryptedPackage", stream != meant))


def _text_kind(head: bytes, tail: bytes, size: int, name: str) -> str:
    wide = utf16_without_bom(head[: len(head) // 2 * 2])
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        order = "utf-16-le" if head.startswith(b"\xff") else "utf-16-be"
        plain = head[2:].decode(order, "replace").encode()
        tail = tail[len(tail) % 2 :].decode(order, "replace").encode()
    elif wide:
        plain = head.decode(wide, "replace").encode()
        tail = tail[len(tail) % 2 :].decode(wide, "replace").encode()
    else:
        plain = head.removeprefix(b"\xef\xbb\xbf")
        _refuse_binary(plain, whole=size <= _HEAD)
    plain = plain.replace(b"\r\n", b"\n")
    if _HTML.match(plain):
        return "html"
    ending = Path(name).suffix.lower()
    if ending in (".html", ".htm", ".xhtml") and _TAG.search(plain):
        return "html"
    whole = size <= _HEAD
    return (
        _structured_kind(plain, tail, whole=whole)
        or _mail_kind(plain)
        or _ENDINGS.get(ending, "text")
    )


def _structured_kind(plain: bytes, tail: bytes, *, whole: bool) -> str | None:
    """Subtitles, XML, JSON and notebooks, told by how they begin and, for XML, end."""
    if _CUES.match(plain):
        return "subtitles"
    if (root := _XML.match(plain)) and (
        plain.lstrip().startswith(b"<?xml") or b"</" + root[1] in tail.replace(b"\r", b"")[-500:]
    ):
        flat = _FLAT.search(plain, root.start(), root.start() + 20_000)
        return _MIMETYPES.get(flat[1].decode(), "xml") if flat else "xml"
    text = plain.decode("utf-8", "replace")
    if text.lstrip()[:1] in ("{", "[") and _is_json(text.lstrip(), whole=whole):
        is_notebook = b'"cell_type"' in plain and (b'"nbformat' in plain or b'"nbformat' in tail)
        return "ipynb" if is_notebook else "json"
    return None


def _is_json(text: str, *, whole: bool) -> bool:
    """Whether text is JSON, one value or one a line; of a long file only its beginning is seen."""
    decoder = json.JSONDecoder()
    try:
        _, end = decoder.raw_decode(text)
    except RecursionError:
        return True
    except ValueError as error:
        cut = isinstance(error, json.JSONDecodeError) and (
            error.msg.startswith("Unterminated string") or error.pos >= len(text) - 16
        )
        return not whole and cut
    rest = text[end:].lstrip(" \t")
    if not rest.strip():
        return True
    return rest.startswith("\n") and rest.lstrip()[:1] in ("{", "[")


def _mail_kind(plain: bytes) -> str | None:
    """A message or mailbox: headers at the very beginning, among them some that only mail has."""
    if _MAILBOX.match(plain):
        return "mail"
    found = _MAIL.match(plain.lstrip(b"\n"))
    if found and _MAIL_SIGN.search(found[0]):
        named = _MAIL_FROM.search(found[0]) or b"mime-version:" in found[0].lower()
        return "mail" if named else None
    return None


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
