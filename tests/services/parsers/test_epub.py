from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from services.errors import UnreadableSourceError
from services.models import Document
from services.parsers import parse

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)


def page(body: str) -> str:
    return (
        '<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml">'
        "<head><title/><style>p {color: red}</style><script>hidden()</script></head>"
        f"<body>{body}</body></html>"
    )


def read(folder: Path, pages: dict[str, str], *, toc: str = "", **more: str) -> Document:
    """A book with these documents in its spine, in this order."""
    items = "".join(
        f'<item id="i{n}" href="{name}" media-type="application/xhtml+xml"/>'
        for n, name in enumerate(pages)
    )
    refs = "".join(f'<itemref idref="i{n}"/>' for n in range(len(pages)))
    opf = (
        '<package xmlns="http://www.idpf.org/2007/opf"><metadata '
        'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>The Book</dc:title>'
        "<dc:creator>Ann</dc:creator><dc:creator>Ben</dc:creator><dc:language>de-AT</dc:language>"
        f'<dc:date>2020-01-02</dc:date></metadata><manifest>{items}<item id="ncx" href="toc.ncx" '
        f'media-type="application/x-dtbncx+xml"/></manifest><spine>{refs}</spine></package>'
    )
    path = folder / "book"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/epub+zip")
        archive.writestr("META-INF/container.xml", CONTAINER)
        archive.writestr("OPS/book.opf", opf)
        archive.writestr("OPS/toc.ncx", f'<!DOCTYPE ncx PUBLIC "x" "y"><ncx>{toc}</ncx>')
        for name, text in pages.items():
            if text:
                archive.writestr(f"OPS/{name}", text)
        for name, text in more.items():
            archive.writestr(f"META-INF/{name}.xml", text)
    return parse(path, "book.txt")


def test_chapters_come_in_the_order_of_the_spine(tmp_path: Path) -> None:
    pages = {
        "z.xhtml": page("<h1>One</h1><p>First&nbsp;text<sup>1</sup></p><aside>A note</aside>"),
        "a.xhtml": page("<h1>Two</h1><table><tr><th>A</th></tr><tr><td>1</td></tr></table>"),
        "cover.xhtml": page('<svg><image href="c.jpg"/></svg>'),
    }
    document = read(tmp_path, pages)
    assert [block.text for block in document.blocks] == [
        "One", "First\u00a0text1", "A note", "Two", "A\n1",
    ]  # fmt: skip
    assert document.blocks[4].headings == ["Two"]
    assert document.units == {"chapters": 2} and document.title == "The Book"
    assert document.metadata == {"author": "Ann; Ben", "language": "de-AT", "date": "2020-01-02"}
    assert document.report.language == "de" and document.type_label == "EPUB"


def test_the_contents_name_chapters_without_a_heading_and_are_no_chapter(tmp_path: Path) -> None:
    toc = (
        '<navMap><navPoint><navLabel><text>The Sea</text></navLabel><content src="a.html#x"/>'
        "</navPoint></navMap>"
    )
    links = page('<h2>Contents</h2><a href="a.html">The Sea</a> <a href="b.html">The Land</a>')
    pages = {"toc.html": links, "a.html": page("<p>Waves.</p>"), "b.html": page("<p>More.</p>")}
    document = read(tmp_path, pages, toc=toc)
    assert [(block.text, block.headings) for block in document.blocks] == [
        ("The Sea", []), ("Waves.", ["The Sea"]), ("More.", ["The Sea"]),
    ]  # fmt: skip
    assert document.units == {"chapters": 2}


def test_a_missing_chapter_is_named(tmp_path: Path) -> None:
    document = read(tmp_path, {"a.html": page("<p>Here.</p>"), "gone.html": ""})
    (finding,) = document.report.findings
    assert (finding.code, finding.params["names"]) == ("chapters_missing", ["gone.html"])
    assert (document.report.units_total, document.report.units_read) == (2, 1)


def encrypted(algorithm: str, target: str) -> str:
    return (
        '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:container" '
        'xmlns:e="http://www.w3.org/2001/04/xmlenc#"><e:EncryptedData>'
        f'<e:EncryptionMethod Algorithm="{algorithm}"/><e:CipherData>'
        f'<e:CipherReference URI="{target}"/></e:CipherData></e:EncryptedData></encryption>'
    )


def test_copy_protection_is_refused_and_scrambled_fonts_are_not(tmp_path: Path) -> None:
    pages = {"a.html": page("<p>Text.</p>")}
    aes = encrypted("http://www.w3.org/2001/04/xmlenc#aes256-cbc", "OPS/a.html")
    with pytest.raises(UnreadableSourceError, match="copy protection") as caught:
        read(tmp_path, pages, encryption=aes)
    assert caught.value.code == "copy_protected" and caught.value.step
    fonts = encrypted("http://www.idpf.org/2008/embedding", "OPS/font.otf")
    assert read(tmp_path, pages, encryption=fonts).text == "Text."


def test_a_book_without_its_package_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "book"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("META-INF/container.xml", "<container/>")
    with pytest.raises(UnreadableSourceError, match="damaged"):
        parse(path, "a.epub")


def test_no_entity_is_expanded(tmp_path: Path) -> None:
    bomb = (
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">'
        '<!ENTITY c SYSTEM "file:///etc/passwd">]><html><body><p>x &b; &c;</p></body></html>'
    )
    document = read(tmp_path, {"a.html": bomb})
    assert "aaaa" not in document.text and "root" not in document.text
