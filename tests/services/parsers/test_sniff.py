from __future__ import annotations

import io
import os
import time
import zipfile
from pathlib import Path

import pytest

from services.errors import UnreadableSourceError, UnsupportedKindError
from services.parsers import is_dicom_file, sniff

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)


def zipped(*names: str, mimetype: bytes = b"") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        if mimetype:
            archive.writestr("mimetype", mimetype)
        for name in names:
            archive.writestr(name, "x")
    return buffer.getvalue()


def stream(name: str) -> bytes:
    return OLE + f"{name}\0".encode("utf-16-le")


@pytest.fixture
def put(tmp_path: Path):  # type: ignore[no-untyped-def]
    def write(data: bytes) -> Path:
        path = tmp_path / "file"
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"%PDF-1.7\n", "a.docx", "pdf"),
        (b"\r\n\r\njunk\n%PDF-1.4\n1 0 obj\n<<>>\nendobj\n%%EOF", "a", "pdf"),
        (zipped("[Content_Types].xml", "word/document.xml"), "a.pdf", "docx"),
        (zipped("[Content_Types].xml", "xl/workbook.xml"), "", "xlsx"),
        (zipped("[Content_Types].xml", "ppt/presentation.xml"), "x.zip", "pptx"),
        (b"<!DOCTYPE html><p>x", "report.docx", "html"),
        (b"\xef\xbb\xbf \n<!-- c -->\n<HTML><body>", "a.txt", "html"),
        (b"<p>no root</p>", "a.html", "html"),
        (b"<?xml version='1.0'?><html xmlns='x'>", "a.xml", "html"),
        ("<html>x</html>".encode("utf-16"), "a", "html"),
        (b"plain words", "report.docx", "text"),
        (b"\x89PNG\r\n\x1a\n123", "a.pdf", "image"),
        (b"\xff\xd8\xff\xe0", "a.pdf", "image"),
        (b"plain words", "a.html", "text"),
        (b"# Title", "a.md", "markdown"),
        (b"a,b\n1,2\n", "A.CSV", "csv"),
        (b"a\tb\n1\t2\n", "a.tsv", "csv"),
        (b"a,b\n1,2\n", "a.txt", "text"),
        ("grüße".encode("cp1252"), "a.txt", "text"),
        ("words".encode("utf-16-le"), "a.txt", "text"),
        (b"\xef\xbb\xbfA\x00B\xed\xa0\x80C", "a.txt", "text"),
        (b'{"json": 1}', "a.txt", "json"),
        (b'{"a": 1}\n{"a": 2}\n', "", "json"),
        (b"[1] Smith, 2020. A title.", "refs.json", "text"),
        (b'{"a": "' + b"x" * 70_000 + b'"}', "a.txt", "json"),
        (b'{"cells": [{"cell_type": "code"}], "nbformat": 4}', "a.json", "ipynb"),
        (b"<?xml version='1.0'?><!-- c --><data><a>1</a></data>", "a.txt", "xml"),
        (b"<feed><entry/></feed>", "a", "xml"),
        (b"<once upon a time> it was", "a.xml", "text"),
        (b"WEBVTT\n\n00:01.000 --> 00:02.000\nHello", "a.txt", "subtitles"),
        (b"1\r\n00:00:01,000 --> 00:00:02,000\r\nHello", "", "subtitles"),
        (b"From: a\nTo: b\nMIME-Version: 1.0\n\nx", "a.txt", "mail"),
        (b"From: a@b\r\nTo: b\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\n\r\nx", "", "mail"),
        ("From: a\nTo: b\nMIME-Version: 1.0\n\nx".encode("utf-16"), "a", "mail"),
        (b"From a@b Mon Jan  1 10:00:00 2024\nSubject: x\n\nBody", "inbox", "mail"),
        (b"Note: a\nTodo: b\nPlan: c\n\nx", "a.eml", "text"),
        (b"{\\rtf1 hello}", "a.docx", "rtf"),
        (stream("Workbook"), "a.xlsx", "xls"),
        (stream("WordDocument") + stream("Workbook"), "a.xls", "xls"),
        (stream("__properties_version1.0"), "a", "msg"),
        (zipped("[Content_Types].xml", "xl/workbook.bin"), "a", "xlsb"),
        (zipped(mimetype=b"application/epub+zip"), "a.zip", "epub"),
        (zipped("META-INF/container.xml"), "a.zip", "epub"),
        (zipped(mimetype=b"application/vnd.oasis.opendocument.text"), "a", "odt"),
        (zipped(mimetype=b"application/vnd.oasis.opendocument.spreadsheet-template"), "", "ods"),
        (zipped(mimetype=b"application/vnd.oasis.opendocument.presentation"), "a", "odp"),
        (zipped("a.txt"), "a.docx", "zip"),
        (b"talks about %PDF-1.4 files", "a.txt", "text"),
    ],
)
def test_the_bytes_decide(put, data: bytes, name: str, kind: str) -> None:  # type: ignore[no-untyped-def]
    assert sniff(put(data), name) == kind


@pytest.mark.parametrize(
    ("data", "name", "found"),
    [
        (stream("WordDocument"), "a.docx", "old Word .doc"),
        (stream("PowerPoint Document"), "a", "old PowerPoint .ppt"),
        (b"8BPS\0\1", "a.pdf", "picture"),
        (b"\0\0\0 ftypheic\0\0\0\0", "a.jpg", "picture"),
        (b"\x1f\x8b\x08", "a.csv", "archive"),
        (stream("WordDocument") + stream("Workbook"), "a.doc", "old Word .doc"),
        (zipped(mimetype=b"application/vnd.oasis.opendocument.graphics"), "a", "drawing"),
        (zipped("META-INF/MANIFEST.MF", "a.class"), "a.zip", "program"),
        (zipped("[Content_Types].xml", "visio/document.xml"), "a", "Office file of another kind"),
        (bytes(128) + b"DICM", "a", "DICOM"),
        (bytes(range(256)) * 4, "a.txt", "binary"),
        (os.urandom(4096), "a.md", "binary"),
        (b"\x7fELF\x02", "a.txt", "program"),
    ],
)
def test_what_is_refused_is_named(put, data: bytes, name: str, found: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnsupportedKindError, match=found) as caught:
        sniff(put(data), name)
    assert caught.value.step
    assert found in caught.value.params["found"]


def box(name: bytes, content: bytes = b"") -> bytes:
    return (len(content) + 8).to_bytes(4, "big") + name + content


def film(*handlers: bytes, brand: bytes = b"isom") -> bytes:
    """An MP4 whose description comes last and names these tracks."""
    tracks = b"".join(box(b"hdlr", bytes(8) + handler + bytes(12)) for handler in handlers)
    return box(b"ftyp", brand + bytes(4)) + box(b"mdat", bytes(100_000)) + box(b"moov", tracks)


MP3 = b"\xff\xfb\x90\x00" + bytes(413)
"""A frame of 128 kbit/s at 44.1 kHz: 417 bytes."""


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"ID3\x03", "a.txt", "audio"),
        (MP3 * 2, "a.txt", "audio"),
        (b"\xff\xf1\x50\x80\x02\x1f\xfc" + bytes(9), "a", "audio"),
        (b"RIFF1234WAVEfmt ", "a", "audio"),
        (b"RIFF1234AVI LIST", "a.wav", "video"),
        (b"OggS" + bytes(24) + b"OpusHead", "a", "audio"),
        (b"OggS" + bytes(24) + b"\x80theora", "a", "video"),
        (b"fLaC\0\0\0\x22", "a", "audio"),
        (film(b"vide", b"soun"), "a.m4a", "video"),
        (film(b"soun"), "a.mp4", "audio"),
        (film(brand=b"M4A "), "a", "audio"),
        (film(b"soun", brand=b"qt  ")[16:], "a.mov", "audio"),
        (b"\x1aE\xdf\xa3" + bytes(20) + b"\x86\x86A_OPUS", "a.webm", "audio"),
        (b"\x1aE\xdf\xa3" + bytes(20) + b"\x86\x85V_VP9 \x86\x86A_OPUS", "a", "video"),
        ("\ufeffsome words".encode("utf-16-le"), "a.mp3", "text"),
        (MP3[:2] + b"no frame at all, but more words", "a.txt", "text"),
        (b"a line about WAVE files", "a.wav", "text"),
    ],
)
def test_recordings_are_told_by_their_bytes(put, data: bytes, name: str, kind: str) -> None:  # type: ignore[no-untyped-def]
    assert sniff(put(data), name) == kind


def test_an_empty_file_is_said_to_be_empty(put) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnreadableSourceError) as caught:
        sniff(put(b""), "a.pdf")
    assert caught.value.code == "empty_file"


def test_a_cut_archive_is_damaged(put) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnreadableSourceError) as caught:
        sniff(put(zipped("[Content_Types].xml", "word/document.xml")[:60]), "a.docx")
    assert caught.value.code == "damaged"


def test_dicom_is_told_by_its_mark() -> None:
    assert is_dicom_file(bytes(128) + b"DICM")
    assert not is_dicom_file(b"DICM")


def test_what_stands_before_the_root_of_xml_is_stepped_over_once(put) -> None:  # type: ignore[no-untyped-def]
    begun = time.perf_counter()
    for data in (b" " * 60_000 + b"x", b"<!-- a -->" * 6_000 + b"x", b"<?x?>" * 10_000):
        assert sniff(put(data), "a.xml") == "text"
    assert time.perf_counter() - begun < 5
