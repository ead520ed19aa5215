"""E-mail messages (.eml) and mailboxes (.mbox): headers, text, and the names of attachments.

Nothing is fetched. Messages that are attached to a message are attachments like other files.
"""

from __future__ import annotations

import email
import email.errors
import email.header
import re
from email.message import Message
from pathlib import Path

from services.models import Document
from services.parsers import Progress
from services.parsers.attached import Extracted, Writer
from services.parsers.decoding import decode, utf16_without_bom
from services.parsers.letter import Attached, Letter, add, facts
from services.parsers.outline import Outline
from services.parsers.sniff import damaged

_SHOWN = ("From", "To", "Cc", "Date", "Subject")
_SPLIT = re.compile(rb"(?:\A|\r?\n\r?\n)(?=From [^\r\n]{3,200}\d{4}[^\r\n]{0,20}\r?\n[A-Za-z-]+:)")
_FROM_LINE = re.compile(rb"\A\s*From [^\r\n]*\r?\n")
_QUOTED = re.compile(rb"^>(>*From )", re.MULTILINE)
_FLOWED = re.compile(r"(?<=\S) \n(?=\S)(?!>)")
_SEALED = frozenset(
    {"application/pkcs7-mime", "application/x-pkcs7-mime", "application/pgp-encrypted"}
)
_OUTLOOK_ONLY = frozenset({"application/ms-tnef", "application/vnd.ms-tnef"})
_MOST_MESSAGES = 20_000


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a message (it has no units) or a mailbox (unit: messages)."""
    data = _bytes(path)
    parts = _messages(data)
    document = Document()
    outline = Outline()
    if not parts:
        letter = _letter(data)
        facts(letter, document)
        add(letter, document, outline)
    for number, part in enumerate(parts[:_MOST_MESSAGES], 1):
        letter = _letter(part)
        outline.leave()
        outline.heading(letter.subject or f"Message {number}", 1)
        add(letter, document, outline)
        if progress:
            progress(number, len(parts))
    document.blocks = outline.blocks
    if parts:
        report = document.report
        report.unit, report.units_total = "message", len(parts)
        report.units_read = min(len(parts), _MOST_MESSAGES)
        document.units = {"messages": len(parts)}
        if len(parts) > _MOST_MESSAGES:
            report.note(
                "messages_cut",
                f"Only the first {_MOST_MESSAGES:,} of {len(parts):,} messages were read.",
                read=_MOST_MESSAGES,
                total=len(parts),
            )
    return document


def attachments(path: Path, folder: Path, password: str | None = None) -> list[Extracted]:
    """Write the files in a message, or in the messages of a mailbox, into a folder."""
    data = _bytes(path)
    writer = Writer(folder)
    for part in _messages(data)[:_MOST_MESSAGES] or [data]:
        for one in _letter(part).attached:
            writer.add(one.name, one.data)
    return writer.found


def is_mailbox(data: bytes) -> bool:
    """Whether bytes begin as a mailbox does: a line "From ..." with a date, then a header."""
    return _SPLIT.match(data) is not None


def _bytes(path: Path) -> bytes:
    """The file's bytes; text in UTF-16, which no mail program sends, as UTF-8."""
    data = path.read_bytes()
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return decode(data).text.encode("utf-8", "replace")
    if wide := utf16_without_bom(data):
        return data.decode(wide, "replace").encode("utf-8", "replace")
    return data.removeprefix(b"\xef\xbb\xbf").lstrip(b"\r\n")


def _messages(data: bytes) -> list[bytes]:
    """The messages of a mailbox; none for a single message."""
    if not is_mailbox(data):
        return []
    starts = [match.end() for match in _SPLIT.finditer(data)]
    ends = [*starts[1:], len(data)]
    return [
        _QUOTED.sub(rb"\1", _FROM_LINE.sub(b"", data[start:end], count=1))
        for start, end in zip(starts, ends, strict=True)
    ]


def _letter(data: bytes) -> Letter:
    try:
        message = email.message_from_bytes(data)
        letter = Letter({name: _header(message, name) for name in _SHOWN})
        plains: list[str] = []
        htmls: list[str] = []
        _gather(message, letter, plains, htmls)
    except RecursionError as error:  # parts in parts in parts, more than any program writes
        raise damaged("e-mail message") from error
    letter.plain, letter.html = "\n\n".join(plains), "\n".join(htmls)
    return letter


def _gather(part: Message, letter: Letter, plains: list[str], htmls: list[str]) -> None:
    """Sort the parts of a message into its text, its pictures and its attachments."""
    kind = part.get_content_type()
    name = _file_name(part)
    letter.sealed = letter.sealed or kind in _SEALED
    letter.outlook_only = letter.outlook_only or kind in _OUTLOOK_ONLY
    inner = next((one for one in _parts(part) if kind == "message/rfc822"), None)
    if inner is not None:
        title = name or f"{_header(inner, 'Subject') or 'message'}.eml"
        letter.attached.append(Attached(title, inner.as_bytes()))
    elif part.is_multipart():
        for one in _parts(part):
            _gather(one, letter, plains, htmls)
    elif part.get_content_disposition() == "attachment" or name:
        data = _payload(part)
        if kind.startswith("image/") and part.get("Content-ID"):
            letter.pictures += 1  # a picture in the text, not a file that was sent along
        else:
            letter.attached.append(Attached(name or _unnamed(kind), data))
    elif kind == "text/html":
        htmls.append(_words(part))
    elif kind in ("text/plain", "text/enriched") or kind.startswith("text/"):
        text = _words(part)
        flowed = str(part.get_param("format", "")).lower() == "flowed"
        plains.append(_FLOWED.sub(" ", text) if flowed else text)
    elif kind.startswith("image/"):
        letter.pictures += 1
    elif _payload(part).strip():
        letter.attached.append(Attached(_unnamed(kind), _payload(part)))


def _parts(part: Message) -> list[Message]:
    inside = part.get_payload()
    return [one for one in inside if isinstance(one, Message)] if isinstance(inside, list) else []


def _payload(part: Message) -> bytes:
    data = part.get_payload(decode=True)
    return data if isinstance(data, bytes) else b""


def _words(part: Message) -> str:
    charset = part.get_param("charset")
    declared = charset if isinstance(charset, str) else None
    data = _payload(part)
    return decode(data, declared).text if data.strip() else ""


def _file_name(part: Message) -> str:
    """The name of a part, in whichever of the ways in use it is written."""
    try:
        name = part.get_filename()
    except (LookupError, ValueError):  # an encoding nobody knows
        name = None
    return decoded_words(name) if name else ""


def _unnamed(kind: str) -> str:
    ending = {"text/calendar": ".ics", "application/pdf": ".pdf", "text/html": ".html"}
    return f"attachment{ending.get(kind, '')}"


def _header(message: Message, name: str) -> str:
    """A header on one line, decoded."""
    # As they stand: bytes that no header may hold would be lost otherwise.
    values = [str(value) for key, value in message.raw_items() if key.lower() == name.lower()]
    return ", ".join(map(decoded_words, values))


def decoded_words(value: str) -> str:
    """Encoded words as text; bytes that no header may hold are read as text in any encoding."""
    try:
        pieces = email.header.decode_header(value)
    except (email.errors.HeaderParseError, ValueError):
        pieces = [(value, None)]
    text = ""
    for piece, charset in pieces:
        if isinstance(piece, str):
            raw = piece.encode("ascii", "surrogateescape") if _is_raw(piece) else None
            text += decode(raw).text if raw else piece
        else:
            known = charset if charset and charset != "unknown-8bit" else None
            text += decode(piece, known).text if piece else ""
    return " ".join(text.split())


def _is_raw(text: str) -> bool:
    """Whether text stands for bytes that were no ASCII."""
    return any("\udc80" <= c <= "\udcff" for c in text) and all(
        c < "\x80" or "\udc80" <= c <= "\udcff" for c in text
    )
