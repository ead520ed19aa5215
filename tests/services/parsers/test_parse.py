from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from services.errors import UnreadableSourceError, UnsupportedKindError
from services.models import Block, Document
from services.parsers import (
    KINDS,
    SUPPORTED_EXTENSIONS,
    _finish,
    extract_text_from_bytes,
    extract_text_from_path,
    parse,
)


def write(folder: Path, data: bytes | str) -> Path:
    path = folder / "bytes"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def test_every_kind_has_a_parser_a_label_and_extensions() -> None:
    assert set(KINDS) == set(
        "pdf docx xlsx pptx xls xlsb odt ods odp rtf epub mail msg csv html xml json ipynb "
        "subtitles audio video markdown text image zip".split()
    )
    for kind in KINDS.values():
        assert callable(kind.parser().parse)
        assert kind.type_label and kind.icon
        assert set(kind.extensions) <= SUPPORTED_EXTENSIONS


def test_importing_the_package_imports_no_parser() -> None:
    code = (
        "import sys, services.parsers\n"
        "heavy = {'lxml', 'markdown_it', 'pypdf', 'pypdfium2', 'services.parsers.docx'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[3])


def test_a_document_is_settled_counted_and_titled(tmp_path: Path) -> None:
    text = "The first paragraph is about the sea.\n\nThe second is about the land and the sky."
    document = parse(write(tmp_path, text), "..\\..\\folder/My notes.v2.txt")
    assert document.title == "My notes.v2"
    assert (document.kind, document.type_label) == ("text", "Text")
    report = document.report
    assert (report.kind, report.words, report.language) == ("text", 16, "en")
    assert (report.encoding, report.complete) == ("utf-8", True)
    for block in document.blocks:
        assert document.text[block.start : block.end] == block.text


def test_characters_that_are_no_text_are_removed_and_counted(tmp_path: Path) -> None:
    data = b"\xef\xbb\xbfone\x00 two\n\n\x00\n\n" + "\ud800three".encode("utf-8", "surrogatepass")
    document = parse(write(tmp_path, data), "a.txt")
    assert document.text == "one two\n\nthree"
    (finding,) = document.report.findings
    assert (finding.code, finding.params["count"]) == ("characters_removed", 3)
    document.model_dump_json()


def test_links_between_blocks_survive_the_removal_of_blank_ones() -> None:
    blocks = [
        Block(text="\0"),
        Block(kind="table", text="a"),
        Block(kind="table", text="b", continues="b1"),
    ]
    document = _finish(Document(blocks=blocks), KINDS["text"], "x")
    assert [block.continues for block in document.blocks] == [None, "b0"]
    assert document.report.tables == 1


@pytest.mark.parametrize(("data", "code"), [(b"", "empty_file"), (b" \r\n\t ", "no_text")])
def test_a_file_without_text_is_refused(tmp_path: Path, data: bytes, code: str) -> None:
    with pytest.raises(UnreadableSourceError) as caught:
        parse(write(tmp_path, data), "a.txt")
    assert caught.value.code == code


def test_the_reference_functions(tmp_path: Path) -> None:
    assert extract_text_from_bytes("../a.txt", "größe".encode("cp1252")) == "größe"
    assert extract_text_from_bytes("a.txt", b"") == ""
    assert extract_text_from_path(str(write(tmp_path, "x y"))) == "x y"
    with pytest.raises(UnsupportedKindError):
        extract_text_from_bytes("a.dcm", bytes(128) + b"DICM")
    assert ".pdf" in SUPPORTED_EXTENSIONS and ".docx" in SUPPORTED_EXTENSIONS


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Der Umsatz ist im dritten Quartal nicht gestiegen und wird auch weiter sinken.", "de"),
        ("Les ventes de la société ne sont pas en hausse et le marché est dans une crise.", "fr"),
        ("東京都の人口は増加している。これは事実である。", "ja"),
        ("人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。", "zh"),
        ("Все люди рождаются свободными и равными в своем достоинстве и правах.", "ru"),
        ("Всі люди народжуються вільними і рівними у своїй гідності та правах.", "uk"),
        ("4711 | 0815 | AB-12", None),
        ("lorem", None),
    ],
)
def test_the_language_is_told_when_it_is_clear(
    tmp_path: Path, text: str, language: str | None
) -> None:
    assert parse(write(tmp_path, text), "a.txt").report.language == language
