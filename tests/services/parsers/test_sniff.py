from __future__ import annotations

import io
import os
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
        (b"plain words", "a.html", "text"),
        (b"# Title", "a.md", "markdown"),
        (b"a,b\n1,2\n", "A.CSV", "csv"),
        (b"a\tb\n1\t2\n", "a.tsv", "csv"),
        (b"a,b\n1,2\n", "a.txt", "text"),
        ("grüße".encode("cp1252"), "a.txt", "text"),
        ("words".encode("utf-16-le"), "a.txt", "text"),
        (b"\xef\xbb\xbfA\x00B\xed\xa0\x80C", "a.txt", "text"),
        (b'{"json": 1}', "a.json", "text"),
        (b"talks about %PDF-1.4 files", "a.txt", "text"),
    ],
)
def test_the_bytes_decide(put, data: bytes, name: str, kind: str) -> None:  # type: ignore[no-untyped-def]
    assert sniff(put(data), name) == kind


@pytest.mark.parametrize(
    ("data", "name", "found"),
    [
        (stream("WordDocument"), "a.docx", "old Word .doc"),
        (stream("Workbook"), "a.xlsx", "old Excel .xls"),
        (stream("PowerPoint Document"), "a", "old PowerPoint .ppt"),
        (stream("WordDocument") + stream("Workbook"), "a.xls", "old Excel .xls"),
        (b"{\\rtf1 hello}", "a.docx", "RTF"),
        (b"\x89PNG\r\n\x1a\n123", "a.pdf", "picture"),
        (b"\xff\xd8\xff\xe0", "a.pdf", "picture"),
        (b"ID3\x03", "a.txt", "sound"),
        (b"RIFF1234WAVEfmt ", "a", "sound"),
        (b"\0\0\0 ftypisom", "a", "video"),
        (b"\x1f\x8b\x08", "a.csv", "archive"),
        (zipped("a.txt"), "a.docx", "ZIP archive"),
        (zipped(mimetype=b"application/epub+zip"), "a", "EPUB"),
        (zipped(mimetype=b"application/vnd.oasis.opendocument.text"), "a", "OpenDocument text"),
        (zipped("[Content_Types].xml", "xl/workbook.bin"), "a", ".xlsb"),
        (bytes(128) + b"DICM", "a", "DICOM"),
        (bytes(range(256)) * 4, "a.txt", "binary"),
        (os.urandom(4096), "a.md", "binary"),
        (b"\x7fELF\x02", "a.txt", "program"),
        (b"From: a\nTo: b\nMIME-Version: 1.0\n\nx", "a.eml", "e-mail"),
    ],
)
def test_what_is_refused_is_named(put, data: bytes, name: str, found: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(UnsupportedKindError, match=found) as caught:
        sniff(put(data), name)
    assert caught.value.step
    assert found in caught.value.params["found"]


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
