from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import pytest

from services.errors import PasswordNeededError, UnreadableSourceError
from services.models import Document
from services.parsers import parse, sniff

ooxml = pytest.importorskip("msoffcrypto.format.ooxml")

NAMES = "http://schemas.openxmlformats.org"
LINKS = f"{NAMES}/officeDocument/2006/relationships"


def record(kind: int, data: bytes = b"") -> bytes:
    """A record with its number and its length in groups of seven bits."""
    head = bytes([kind]) if kind < 0x80 else bytes([kind & 0x7F | 0x80, kind >> 7])
    size = bytearray()
    left = len(data)
    while True:
        size.append(left & 0x7F | (0x80 if left > 0x7F else 0))
        left >>= 7
        if not left:
            return head + bytes(size) + data


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def cell(kind: int, column: int, value: bytes, style: int = 0) -> bytes:
    return record(kind, struct.pack("<II", column, style) + value)


def row(number: int, *cells: bytes) -> bytes:
    return record(0, struct.pack("<III", number - 1, 0, 300) + bytes(13)) + b"".join(cells)


def relations(*targets: tuple[str, str]) -> str:
    return f'<Relationships xmlns="{NAMES}/package/2006/relationships">' + "".join(
        f'<Relationship Id="rId{number}" Type="{LINKS}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    ) + "</Relationships>"  # fmt: skip


def workbook(rows: bytes, *, merged: bytes = b"", settings: int = 0) -> bytes:
    """A workbook with a sheet of these rows and a hidden one without any."""
    sheets = b"".join(
        record(156, struct.pack("<II", hidden, number) + wide(f"rId{number}") + wide(name))
        for number, (name, hidden) in enumerate([("Yields", 0), ("Quiet", 1)], 1)
    )
    formats = [(164, '0.0" kg"'), (165, "yyyy\\-mm\\-dd")]
    styles = b"".join(record(44, struct.pack("<H", n) + wide(code)) for n, code in formats)
    xfs = b"".join(record(47, struct.pack("<HH", 0, n) + bytes(12)) for n in (0, 10, 164, 165))
    styles = record(278) + record(615, struct.pack("<I", 2)) + styles + record(616)
    styles += record(617, struct.pack("<I", 4)) + xfs + record(618) + record(279)
    strings = (
        record(159, struct.pack("<II", 1, 1)) + record(19, b"\0" + wide("Region")) + record(160)
    )

    def sheet(body: bytes) -> bytes:
        size = record(148, struct.pack("<4I", 0, 9, 0, 9))
        return record(129) + size + record(145) + body + record(146) + merged + record(130)

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml", f'<Types xmlns="{NAMES}/package/2006/content-types"/>'
        )
        archive.writestr("_rels/.rels", relations(("officeDocument", "xl/workbook.bin")))
        main = record(131) + record(153, struct.pack("<II", settings, 0) + wide(""))
        main += record(143) + sheets + record(144) + record(132)
        archive.writestr("xl/workbook.bin", main)
        archive.writestr(
            "xl/_rels/workbook.bin.rels",
            relations(
                ("worksheet", "worksheets/sheet1.bin"), ("worksheet", "worksheets/sheet2.bin"),
                ("styles", "styles.bin"), ("sharedStrings", "sharedStrings.bin"),
            ),
        )  # fmt: skip
        archive.writestr("xl/worksheets/sheet1.bin", sheet(rows))
        archive.writestr("xl/worksheets/sheet2.bin", sheet(b""))
        archive.writestr("xl/styles.bin", styles)
        archive.writestr("xl/sharedStrings.bin", strings)
    return buffer.getvalue()


def real(number: float) -> bytes:
    return struct.pack("<d", number)


def rk(number: int) -> bytes:
    return struct.pack("<i", number << 2 | 2)


def yields() -> bytes:
    return workbook(
        row(1, cell(7, 0, struct.pack("<I", 0)), cell(6, 1, wide("Share")), cell(6, 2, wide("Day")))
        + row(
            2,
            cell(8, 0, wide("North") + bytes(10)),
            cell(5, 1, real(0.126), style=1),
            cell(9, 2, real(44260) + bytes(10), style=3),
        )
        + row(4, cell(2, 1, struct.pack("<i", 1234 << 2 | 3), style=2), cell(2, 2, rk(7)))
        + row(5, cell(2, 1, struct.pack("<i", 0x40590000)), cell(3, 2, b"\x07"), cell(1, 3, b""))
        + row(6, cell(4, 1, b"\x01"))
    )


def read(folder: Path, data: bytes) -> Document:
    path = folder / "file"
    path.write_bytes(data)
    return parse(path, "file.txt")


def test_values_are_shown_as_their_formats_say(tmp_path: Path) -> None:
    document = read(tmp_path, yields())
    assert [(b.text, b.sheet, b.row) for b in document.blocks] == [
        ("Region | Share | Day\nNorth | 12.6% | 2021-03-05", "Yields", 2),
        ("12.34 kg | 7\n100 | #DIV/0!\nTRUE", "Yields", 4),
    ]
    assert (document.kind, document.units) == ("xlsb", {"sheets": 2})
    assert (document.report.hidden, document.report.unread) == (["Quiet"], [2])


def test_merged_values_fill_their_range_and_a_sparse_giant_takes_no_room(tmp_path: Path) -> None:
    rows = row(1, cell(6, 0, wide("North")), cell(6, 1, wide("1"))) + row(2, cell(6, 1, wide("2")))
    rows += row(1_048_576, cell(6, 16_383, wide("far")))
    merged = record(176, struct.pack("<4I", 0, 1, 0, 0))
    document = read(tmp_path, workbook(rows, merged=merged))
    assert [(b.text, b.row) for b in document.blocks] == [
        ("North | 1\nNorth | 2", 1),
        ("far", 1_048_576),
    ]


def test_the_calendar_of_1904(tmp_path: Path) -> None:
    rows = row(1, cell(5, 0, real(42798), style=3), cell(6, 1, wide("x")))
    assert read(tmp_path, workbook(rows, settings=1)).text == "2021-03-05 | x"


def test_a_cut_stream_is_damage(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSourceError) as caught:
        read(tmp_path, workbook(yields()[:5] + b"\x06\xff\xff\xff\x7f"))
    assert caught.value.code in ("damaged", "unpacks_too_large")


def test_a_locked_workbook_is_opened_with_its_password(tmp_path: Path) -> None:
    path = tmp_path / "locked"
    data = yields()
    whole = data + bytes(8192 - len(data))  # the writer of locked files pads no last block
    with path.open("wb") as target:
        ooxml.OOXMLFile(io.BytesIO(whole)).encrypt("s3cret", target)
    assert sniff(path, "a.xlsb", password="s3cret") == "xlsb"
    assert "12.6%" in parse(path, "a.xlsb", password="s3cret").text
    with pytest.raises(PasswordNeededError):
        parse(path, "a.xlsb")
