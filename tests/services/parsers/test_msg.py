from __future__ import annotations

import struct
from pathlib import Path

import pytest

from services.errors import UnreadableSourceError, UnsupportedKindError
from services.parsers import parse
from services.parsers.msg import _unpacked, attachments

SECTOR = 512
Tree = dict[str, "bytes | Tree"]


def compound(tree: Tree) -> bytes:
    """A compound file with these streams (all of at least 4,096 bytes) and folders."""
    entries: list[bytes] = []
    data = bytearray()
    fat: list[int] = []

    def put(content: bytes) -> int:
        start = len(fat)
        count = -(-len(content) // SECTOR)
        fat.extend([*range(start + 1, start + count), 0xFFFFFFFE])
        data.extend(content.ljust(count * SECTOR, b"\0"))
        return start

    def entry(name: str, kind: int, child: int, start: int, size: int) -> bytes:
        label = (name + "\0").encode("utf-16-le")
        return (
            label.ljust(64, b"\0")
            + struct.pack("<HBBIII", len(label), kind, 1, 0xFFFFFFFF, 0xFFFFFFFF, child)
            + bytes(36)
            + struct.pack("<IQ", start, size)
        )

    def add(name: str, kind: int, content: bytes | Tree) -> int:
        at = len(entries)
        entries.append(b"")
        if isinstance(content, bytes):
            entries[at] = entry(name, kind, 0xFFFFFFFF, put(content), len(content))
            return at
        below = [add(key, 1 if isinstance(value, dict) else 2, value)
                 for key, value in content.items()]  # fmt: skip
        for one, right in zip(below, [*below[1:], 0xFFFFFFFF], strict=True):
            raw = bytearray(entries[one])
            raw[72:76] = struct.pack("<I", right)
            entries[one] = bytes(raw)
        start = 0xFFFFFFFE if kind == 5 else 0
        entries[at] = entry(name, kind, below[0] if below else 0xFFFFFFFF, start, 0)
        return at

    add("Root Entry", 5, tree)
    directory = put(b"".join(entries))
    fats = -(-(len(fat) + 2) // 128)
    first = len(fat)
    fat.extend([0xFFFFFFFD] * fats)
    table = struct.pack(f"<{len(fat)}I", *fat).ljust(fats * SECTOR, b"\xff")
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack("<HHHHH6xIIIIIIIII", 0x3E, 3, 0xFFFE, 9, 6, 0, fats, directory, 0, 4096,
                          0xFFFFFFFE, 0, 0xFFFFFFFE, 0)  # fmt: skip
    header += struct.pack("<109I", *[*range(first, first + fats), *[0xFFFFFFFF] * (109 - fats)])
    return header + bytes(data) + table


def padded(data: bytes) -> bytes:
    return data.ljust(4096, b"\0")


def text(value: str) -> bytes:
    return padded(value.encode("utf-16-le"))


def properties(head: int, **values: int) -> bytes:
    rows = b"".join(
        struct.pack("<HHIQ", 0x40, int(tag[1:], 16), 6, value) for tag, value in values.items()
    )
    return (bytes(head) + rows).ljust(4096, b"\0")


SENT = (1_700_000_000 + 11_644_473_600) * 10_000_000


def mail(**more: bytes | Tree) -> Tree:
    return {
        "__properties_version1.0": properties(32, p0039=SENT),
        "__substg1.0_0037001F": text("Tide tables"),
        "__substg1.0_0C1A001F": text("Ann"),
        "__substg1.0_5D01001F": text("ann@x.org"),
        "__substg1.0_0E04001F": text("Ben; Zoë"),
        **more,
    }


def write(folder: Path, tree: Tree) -> Path:
    path = folder / "file"
    path.write_bytes(compound(tree))
    return path


def with_attachments() -> Tree:
    """A letter with a text file and another message attached."""
    parts: Tree = {
        "__substg1.0_1000001F": text("Hello Ben,\r\n\r\nsee below."),
        "__attach_version1.0_#00000000": {
            "__properties_version1.0": properties(8),
            "__substg1.0_3707001F": text("notes.txt"),
            "__substg1.0_37010102": b"Attached words. " * 300,
        },
        "__attach_version1.0_#00000001": {
            "__properties_version1.0": properties(8),
            "__substg1.0_3701000D": mail(**{"__substg1.0_1000001F": text("Inner words")}),
        },
    }
    return mail(**parts)


def test_headers_body_and_names_of_attachments(tmp_path: Path) -> None:
    document = parse(write(tmp_path, with_attachments()), "mail.doc")
    assert [block.text for block in document.blocks] == [
        "From: Ann <ann@x.org>\nTo: Ben; Zoë\nDate: Tue, 14 Nov 2023 22:13:20 +0000\n"
        "Subject: Tide tables",
        "Hello Ben,",
        "see below.",
    ]
    assert (document.kind, document.title) == ("msg", "Tide tables")
    assert document.report.attachments == ["notes.txt", "Tide tables.eml"]
    folder = tmp_path / "out"
    folder.mkdir()
    found = attachments(tmp_path / "file", folder)
    assert (folder / found[0].file).read_bytes() == b"Attached words. " * 300
    inner = parse(folder / found[1].file, "x")
    assert inner.title == "Tide tables" and "Inner words" in inner.text
    assert "To: Ben; Zoë" in inner.text


def test_a_body_in_html_of_an_old_code_page(tmp_path: Path) -> None:
    html = padded("<p>Größe</p><table><tr><td>a</td><td>b</td></tr></table>".encode("cp1252"))
    document = parse(write(tmp_path, mail(**{"__substg1.0_10130102": html})), "a.msg")
    assert [block.text for block in document.blocks[1:]] == ["Größe", "a | b"]


def test_a_body_in_compressed_rtf(tmp_path: Path) -> None:
    rtf = rb"{\rtf1\ansi\pard Only RTF says this\par}"
    stored = struct.pack("<IIII", len(rtf) + 12, len(rtf), 0x414C454D, 0) + rtf
    document = parse(write(tmp_path, mail(**{"__substg1.0_10090102": padded(stored)})), "a.msg")
    assert document.blocks[1].text == "Only RTF says this"


def test_compressed_rtf_is_unpacked() -> None:
    # The example of [MS-OXRTFCP] 3.1.1.
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c09"
        "0020627705b06c647d0a800fa0"
    )
    assert _unpacked(packed) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"
    assert _unpacked(packed[:30]).startswith(b"{\\rtf1")


def test_a_cut_message_is_damaged(tmp_path: Path) -> None:
    path = write(tmp_path, mail(**{"__substg1.0_1000001F": text("Hello")}))
    whole = path.read_bytes()
    path.write_bytes(whole[:1500])
    with pytest.raises((UnreadableSourceError, UnsupportedKindError)):
        parse(path, "a.msg")
