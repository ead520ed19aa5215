from __future__ import annotations

import time
from email.message import EmailMessage
from pathlib import Path

import pytest

from services.errors import UnreadableSourceError
from services.models import Document
from services.parsers import parse
from services.parsers.mail import attachments


def message(plain: str = "Hello there", html: str = "", **headers: str) -> EmailMessage:
    made = EmailMessage()
    stated = {"From": "Ann <ann@x.org>", "To": "Ben <ben@x.org>", "Subject": "Tide tables",
              "Date": "Mon, 01 Jan 2024 10:00:00 +0100"} | headers  # fmt: skip
    for name, value in stated.items():
        made[name] = value
    if plain:
        made.set_content(plain)
    if html:
        (made.add_alternative if plain else made.set_content)(html, subtype="html")
    return made


def read(folder: Path, data: bytes | EmailMessage) -> Document:
    path = folder / "file"
    path.write_bytes(data if isinstance(data, bytes) else data.as_bytes())
    return parse(path, "file.txt")


def texts(document: Document) -> list[str]:
    return [block.text for block in document.blocks]


def test_headers_come_first_and_are_facts(tmp_path: Path) -> None:
    document = read(tmp_path, message("Grüße", Cc="Zoë <zoe@x.org>"))
    assert texts(document) == [
        "From: Ann <ann@x.org>\nTo: Ben <ben@x.org>\nCc: Zoë <zoe@x.org>\n"
        "Date: Mon, 01 Jan 2024 10:00:00 +0100\nSubject: Tide tables",
        "Grüße",
    ]
    assert (document.title, document.kind, document.type_label) == ("Tide tables", "mail", "Mail")
    assert document.metadata["author"] == "Ann <ann@x.org>"
    assert document.metadata["date"] == "2024-01-01 10:00:00+01:00"


@pytest.mark.parametrize(
    ("plain", "html", "body"),
    [
        ("Same words here.", "<p>Same <b>words</b> here.</p>", ["Same words here."]),
        ("See the web.", "<p>One</p><p>Two words more than that</p>",
         ["One", "Two words more than that"]),
        ("Name Sum a 1", "<table><tr><th>Name</th><th>Sum</th></tr><tr><td>a</td><td>1</td></tr>"
         "</table>", ["Name | Sum\na | 1"]),
        ("", "<style>x</style><p>Only HTML</p>", ["Only HTML"]),
    ],
)  # fmt: skip
def test_the_text_is_taken_once_from_the_version_that_says_more(
    tmp_path: Path, plain: str, html: str, body: list[str]
) -> None:
    assert texts(read(tmp_path, message(plain, html)))[1:] == body


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig"])
def test_files_in_other_encodings(tmp_path: Path, encoding: str) -> None:
    data = message("Plain words").as_string().encode(encoding)
    assert texts(read(tmp_path, data))[1] == "Plain words"


def test_bytes_no_header_may_hold_and_unknown_charsets_are_read(tmp_path: Path) -> None:
    data = (
        b"From: J\xfcrgen <j@x.org>\nDate: long ago\n"
        b"Subject: =?iso-8859-1?Q?=FCber?= =?nope?B?YQ==?=\n"
        b"MIME-Version: 1.0\nContent-Type: text/plain; charset=nope\n\nm\xf6glich"
    )
    document = read(tmp_path, data)
    assert "From: Jürgen <j@x.org>" in document.text and "möglich" in document.text
    assert document.title.startswith("über") and document.metadata["date"] == "long ago"


def with_files() -> EmailMessage:
    mail = message("See below")
    mail.add_attachment(b"a,b\n1,2\n", maintype="text", subtype="csv", filename="../ta ble.csv")
    mail.add_attachment(message("Inner words", Subject="Inner"))
    mail.add_attachment(b"\x89PNG", maintype="image", subtype="png", filename="p.png", cid="<c>")
    return mail


def test_attachments_are_named_and_pictures_in_the_text_counted(tmp_path: Path) -> None:
    document = read(tmp_path, with_files())
    assert document.report.attachments == ["../ta ble.csv", "Inner.eml"]
    assert document.report.pictures == 1 and "Inner words" not in document.text


def test_attachments_are_written_under_numbers(tmp_path: Path) -> None:
    path, folder = tmp_path / "mail", tmp_path / "out"
    path.write_bytes(with_files().as_bytes())
    folder.mkdir()
    found = attachments(path, folder)
    assert [(one.file, one.name) for one in found] == [
        ("000001", "../ta ble.csv"), ("000002", "Inner.eml"),
    ]  # fmt: skip
    assert (folder / "000001").read_bytes() == b"a,b\n1,2\n"
    assert parse(folder / "000002", "x").title == "Inner"


def test_a_mailbox_is_its_messages(tmp_path: Path) -> None:
    one, two = message("First\nFrom here on"), message("Second", Subject="Two")
    quoted = one.as_bytes().replace(b"\nFrom here", b"\n>From here")
    data = b"From a@x Mon Jan  1 10:00:00 2024\n" + quoted
    data += b"\n\nFrom b@x Mon Jan  1 10:00:00 2024\n" + two.as_bytes()
    document = read(tmp_path, data)
    headings = [block.text for block in document.blocks if block.kind == "heading"]
    assert headings == ["Tide tables", "Two"] and document.units == {"messages": 2}
    assert "First\nFrom here on" in document.text
    assert document.blocks[-1].headings == ["Two"]


def test_flowed_text_is_joined(tmp_path: Path) -> None:
    mail = message("one \ntwo\nthree")
    mail.set_param("format", "flowed")
    assert texts(read(tmp_path, mail))[1] == "one two\nthree"


def test_parts_nested_beyond_sense_end_in_a_sentence_or_text(tmp_path: Path) -> None:
    data = b"From: a@b\nMIME-Version: 1.0\n"
    for depth in range(3000):
        data += b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (depth, depth)
    begun = time.perf_counter()
    path = tmp_path / "file"
    path.write_bytes(data + b"\n\nx")
    try:
        assert "a@b" in parse(path, "a").text
    except UnreadableSourceError as error:
        damaged = error.code == "damaged"
        assert damaged
    assert time.perf_counter() - begun < 30


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        ("pkcs7-mime", "mail_sealed"),
        ("pgp-encrypted", "mail_sealed"),
        ("ms-tnef", "mail_outlook_only"),
    ],
)
def test_parts_that_cannot_be_opened_are_said(tmp_path: Path, kind: str, code: str) -> None:
    made = message("Hello there")
    made.add_attachment(b"\x30\x80sealed", maintype="application", subtype=kind, filename="part.x")
    document = read(tmp_path, made)
    assert [finding.code for finding in document.report.findings] == [code]
    assert document.report.attachments == ["part.x"]
