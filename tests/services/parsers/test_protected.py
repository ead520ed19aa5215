from __future__ import annotations

from pathlib import Path

import openpyxl
import pytest

from services.errors import PasswordNeededError, UnreadableSourceError
from services.parsers import parse

ooxml = pytest.importorskip("msoffcrypto.format.ooxml")


def locked(folder: Path, password: str) -> Path:
    book = openpyxl.Workbook()
    assert book.active is not None
    book.active.append(["kept", "secret"])
    plain, path = folder / "plain.xlsx", folder / "locked.xlsx"
    book.save(plain)
    with plain.open("rb") as source, path.open("wb") as target:
        ooxml.OOXMLFile(source).encrypt(password, target)
    return path


def test_the_password_opens_the_file(tmp_path: Path) -> None:
    path = locked(tmp_path, "s3cret")
    document = parse(path, "a.docx", password="s3cret")
    assert (document.kind, document.text) == ("xlsx", "kept | secret")


@pytest.mark.parametrize("password", [None, "", "wrong"])
def test_without_it_the_file_stays_closed(tmp_path: Path, password: str | None) -> None:
    with pytest.raises(PasswordNeededError) as caught:
        parse(locked(tmp_path, "s3cret"), "a.xlsx", password=password)
    assert caught.value.code == "needs_password"
    assert "wrong" not in str(caught.value)


def test_a_workbook_that_only_asks_not_to_be_changed_is_read(tmp_path: Path) -> None:
    assert parse(locked(tmp_path, "VelvetSweatshop"), "a.xlsx").text == "kept | secret"


def test_a_broken_container_is_damaged(tmp_path: Path) -> None:
    path = locked(tmp_path, "s3cret")
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises((UnreadableSourceError, PasswordNeededError)):
        parse(path, "a.xlsx", password="s3cret")
