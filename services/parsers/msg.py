"""Outlook messages (.msg): the same as other messages, read from their streams of properties.

The format is Microsoft's published [MS-OXMSG]: each property is a stream named by its number and
type in one container; attachments are folders in it, and so are messages attached to a message.
"""

from __future__ import annotations

import datetime as dt
import struct
from email.header import Header
from email.mime.application import MIMEApplication
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from pathlib import Path

import olefile

from services.models import Document
from services.parsers import Progress
from services.parsers.attached import Extracted, Writer
from services.parsers.decoding import decode
from services.parsers.letter import Attached, Letter, add, facts, written_date
from services.parsers.mail import decoded_words
from services.parsers.outline import Outline
from services.parsers.sniff import damaged

_WHAT = "Outlook message"
_SUBJECT, _PLAIN, _HTML, _RTF = 0x0037, 0x1000, 0x1013, 0x1009
_FROM_NAME, _FROM_ADDRESS, _FROM_SMTP = 0x0C1A, 0x0C1F, 0x5D01
_TO, _CC, _HEADERS = 0x0E04, 0x0E03, 0x007D
_SENT, _DELIVERED = 0x0039, 0x0E06
_PAGE, _INTERNET_PAGE = 0x3FFD, 0x3FDE
_DATA, _LONG_NAME, _SHORT_NAME, _SHOWN_NAME = 0x3701, 0x3707, 0x3704, 0x3001
_CONTENT_ID, _HIDDEN, _EMBEDDED = 0x3712, 0x7FFE, "3701000d"
_BINARY, _UNICODE, _ANSI = "0102", "001f", "001e"
_DAMAGE = (OSError, ValueError, LookupError, TypeError, struct.error)
"""What a broken container makes its reader raise."""
_LIMIT = 256 << 20
_DEEPEST = 5
_EPOCH = dt.datetime(1601, 1, 1, tzinfo=dt.UTC)
_START = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript "
    rb"\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n" + rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)
"""What every compressed text is understood to begin with."""


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a message. It has no units."""
    document = Document()
    outline = Outline()
    letter = _letter(path)
    facts(letter, document)
    add(letter, document, outline)
    document.blocks = outline.blocks
    return document


def attachments(path: Path, folder: Path, password: str | None = None) -> list[Extracted]:
    """Write the files in a message into a folder; messages in it as .eml files."""
    writer = Writer(folder)
    for one in _letter(path).attached:
        writer.add(one.name, one.data)
    return writer.found


def _letter(path: Path) -> Letter:
    try:
        with olefile.OleFileIO(path) as container:
            return _Folder(container, _tree(container), ()).letter(0)
    except _DAMAGE as error:
        raise damaged(_WHAT) from error


_Tree = dict[tuple[str, ...], dict[str, str]]


def _tree(container: olefile.OleFileIO) -> _Tree:
    """What lies in each folder of the container: names by their small letters."""
    tree: _Tree = {}
    for *above, name in container.listdir(streams=True, storages=True):
        tree.setdefault(tuple(above), {})[name.lower()] = name
    return tree


class _Folder:
    """The properties below one folder of the container."""

    def __init__(self, container: olefile.OleFileIO, tree: _Tree, path: tuple[str, ...]) -> None:
        self._container = container
        self._tree = tree
        self._path = path
        self._names = tree.get(path, {})
        self._fixed = self._properties(32 if not path else 24)

    def letter(self, depth: int) -> Letter:
        page = self._number(_INTERNET_PAGE) or self._number(_PAGE) or 1252
        sender = self.text(_FROM_NAME)
        address = self.text(_FROM_SMTP) or self.text(_FROM_ADDRESS)
        if "@" in address and address.lower() != sender.lower():
            sender = f"{sender} <{address}>".strip()
        letter = Letter(
            {
                "From": sender,
                "To": self.text(_TO).rstrip("\0"),
                "Cc": self.text(_CC).rstrip("\0"),
                "Date": self._date(),
                "Subject": self.text(_SUBJECT),
            }
        )
        letter.plain = self.text(_PLAIN).replace("\r\n", "\n").replace("\r", "\n")
        raw = self.data(_HTML, _BINARY)
        letter.html = decode(raw, f"cp{page}").text if raw.strip() else self.text(_HTML)
        packed = self.data(_RTF, _BINARY)
        if packed and not letter.plain.strip() and not letter.html.strip():
            from services.parsers.rtf import document_of

            letter.blocks = document_of(_unpacked(packed)).blocks
        for lowered, name in sorted(self._names.items()):
            if lowered.startswith("__attach"):
                _Folder(self._container, self._tree, (*self._path, name))._attach(letter, depth)
        return letter

    def text(self, tag: int) -> str:
        if f"__substg1.0_{tag:04x}{_UNICODE}" in self._names:
            return self.data(tag, _UNICODE).decode("utf-16-le", "replace").rstrip("\0")
        data = self.data(tag, _ANSI).rstrip(b"\0")
        return decode(data, f"cp{self._number(_PAGE) or 1252}").text if data.strip() else ""

    def data(self, tag: int, kind: str) -> bytes:
        name = self._names.get(f"__substg1.0_{tag:04x}{kind}")
        if name is None:
            return b""
        with self._container.openstream([*self._path, name]) as stream:
            data: bytes = stream.read(_LIMIT)
        return data

    def _attach(self, letter: Letter, depth: int) -> None:
        """Add the attachment that this folder is to a message."""
        name = self.text(_LONG_NAME) or self.text(_SHORT_NAME) or self.text(_SHOWN_NAME)
        inner = self._names.get(f"__substg1.0_{_EMBEDDED}")
        data = self.data(_DATA, _BINARY)
        if inner is not None and depth < _DEEPEST:
            folder = _Folder(self._container, self._tree, (*self._path, inner))
            if "__properties_version1.0" in folder._names:
                found = folder.letter(depth + 1)
                title = found.subject or name.removesuffix(".msg") or "message"
                letter.attached.append(Attached(f"{title}.eml", _as_eml(found)))
                return
        hidden = self._number(_HIDDEN) or self.text(_CONTENT_ID)
        if data.startswith((b"\x89PNG", b"\xff\xd8\xff", b"GIF8")) and hidden:
            letter.pictures += 1  # a picture in the text, not a file that was sent along
        elif name or data:
            letter.attached.append(Attached(name or "attachment", data))

    def _properties(self, start: int) -> dict[int, bytes]:
        """Values of fixed size, 8 bytes each, by property."""
        name = self._names.get("__properties_version1.0")
        if name is None:
            return {}
        with self._container.openstream([*self._path, name]) as stream:
            data: bytes = stream.read(1 << 20)
        if self._path and self._path[-1].lower().startswith("__attach"):
            start = 8
        return {
            struct.unpack_from("<H", data, at + 2)[0]: data[at + 8 : at + 16]
            for at in range(start, len(data) - 15, 16)
        }

    def _number(self, tag: int) -> int:
        value = self._fixed.get(tag, b"")
        return int.from_bytes(value[:4], "little", signed=True) if value else 0

    def _date(self) -> str:
        """When it was sent, in the form that messages use; from its headers as a last resort."""
        for tag in (_SENT, _DELIVERED):
            ticks = int.from_bytes(self._fixed.get(tag, b""), "little")
            if 0 < ticks < 1 << 58:
                return written_date(_EPOCH + dt.timedelta(microseconds=ticks // 10))
        for line in self.text(_HEADERS).splitlines():
            if line.lower().startswith("date:"):
                return decoded_words(line[5:].strip())
        return ""


def _unpacked(data: bytes) -> bytes:
    """The RTF behind a compressed body ([MS-OXRTFCP]): a dictionary of the last 4,096 bytes."""
    if len(data) < 16:
        return b""
    _, size, magic = struct.unpack_from("<III", data)
    if magic == 0x414C454D:  # "MELA": stored as it is
        return data[16 : 16 + size]
    window = bytearray(_START.ljust(4096, b"\0"))
    write = len(_START)
    found = bytearray()
    at = 16
    while at < len(data) and len(found) < min(size, _LIMIT):
        flags = data[at]
        at += 1
        for bit in range(8):
            if flags >> bit & 1:
                if at + 1 >= len(data):
                    return bytes(found)
                code = data[at] << 8 | data[at + 1]
                at += 2
                start, length = code >> 4, (code & 15) + 2
                if start == write:
                    return bytes(found)
                piece = [(start + step) % 4096 for step in range(length)]
                for place in piece:
                    found.append(window[place])
                    window[write] = window[place]
                    write = (write + 1) % 4096
            elif at < len(data):
                found.append(data[at])
                window[write] = data[at]
                write = (write + 1) % 4096
                at += 1
    return bytes(found)


def _as_eml(letter: Letter) -> bytes:
    """A message that was attached, as a file of its own."""
    message = MIMEMultipart()
    for name, value in letter.headers.items():
        if clean := " ".join(value.split()):
            message[name] = Header(clean, "utf-8").encode() if name != "Date" else clean
    texts = MIMEMultipart("alternative")
    plain = letter.plain or "\n\n".join(block.text for block in letter.blocks)
    if plain:
        texts.attach(MIMEText(_sound(plain), "plain", "utf-8"))
    if letter.html.strip():
        texts.attach(MIMEText(_sound(letter.html), "html", "utf-8"))
    message.attach(texts)
    for one in letter.attached:
        part = MIMEApplication(one.data)
        part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", one.name))
        message.attach(part)
    return message.as_bytes()


def _sound(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
