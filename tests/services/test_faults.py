"""Faults that users of such programs report, each held by a test: the list and what it lacks.

``FAULTS`` says what HALO does instead and names the tests that hold it; those that had none are
below. The files are made in the tests.
"""

from __future__ import annotations

import ast
import io
import time
from collections.abc import Callable

import docx
import openpyxl
import pytest
from PIL import Image
from pypdf import PdfWriter
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from services import chat, jobs
from services.errors import NotFoundError, ParserStoppedError
from services.ingestion import load_document, retry_source
from services.intake import Incoming
from services.lance import open_table
from services.models import Source
from services.storage import get_source, load_sources
from tests.conftest import PROJECT
from tests.services.conftest import Library
from tests.services.parsers.test_ocr import drawn

_PARSERS = "services/parsers/test_"

# What is done instead of the fault, and the tests that hold it. The numbers are those of the list
# in which the faults were collected.
FAULTS: dict[str, tuple[str, ...]] = {
    # 1, 2: a PDF that anyone can open is refused as protected
    "an owner's password alone does not matter": (
        f"{_PARSERS}pdf.py::test_owner_password_alone_does_not_matter",
    ),
    "a locked file asks for its password and keeps none": (
        f"{_PARSERS}pdf.py::test_user_password",
        "services/test_faults.py::test_a_locked_pdf_waits_for_its_password_and_nothing_keeps_it",
    ),
    # 3
    "what opens encrypted files is there": (
        "services/test_faults.py::test_every_usual_encryption_of_pdf_files_is_opened",
    ),
    # 4, 5, 6: scans end as an empty result, or are left out without a word
    "scans are read in their pictures, pages without text are counted": (
        f"{_PARSERS}ocr.py::test_a_mixed_file_is_read_page_by_page",
        f"{_PARSERS}ocr.py::test_a_stamp_does_not_hide_a_scanned_page",
        f"{_PARSERS}ocr.py::test_doubtful_pages_are_named_in_the_report",
    ),
    "fax scans of one bit are pages like others": (
        f"{_PARSERS}ocr.py::test_fax_frames_are_pages",
        "services/test_faults.py::test_a_fax_in_a_pdf_is_read",
    ),
    "a file of pictures without text fails with a reason and is kept for another try": (
        f"{_PARSERS}ocr.py::test_pictures_without_text_fail_with_a_reason",
        "services/test_faults.py::test_a_pdf_of_blank_pictures_fails_and_is_kept",
    ),
    # 7, 8: an empty text is indexed as a success and answers are made up
    "a file without text is no source, and a question says which could not be read": (
        f"{_PARSERS}parse.py::test_a_file_without_text_is_refused",
        "services/test_faults.py::test_nothing_readable_is_a_failed_row_and_no_passage",
        "services/test_faults.py::test_a_question_names_what_could_not_be_read",
    ),
    # 9
    "one bad file is one red row": (
        "services/test_ingestion.py::test_one_bad_file_does_not_stop_the_others",
        "services/test_pipeline.py::test_an_unforeseen_fault_is_one_red_row",
    ),
    # 10
    "pages without text leave the numbers of the others": (
        f"{_PARSERS}pdf.py::test_pages_without_text_keep_their_number",
        f"{_PARSERS}pdf.py::test_page_labels",
    ),
    # 11
    "a parser that crashes, hangs or grows is stopped; a second reader is tried": (
        "services/test_reading.py::test_a_crash_is_one_failed_file",
        "services/test_reading.py::test_memory_is_limited",
        f"{_PARSERS}pdf.py::test_second_reader_opens_what_the_first_cannot",
        f"{_PARSERS}fuzz.py::test_a_damaged_file_is_read_or_refused_in_words",
    ),
    # 12
    "reading ends after its time or when the user says so": (
        "services/test_reading.py::test_a_slow_file_is_stopped_and_the_next_one_reads",
        "services/test_reading.py::test_a_cancel_kills_the_child_at_once",
    ),
    # 13
    "work left by a worker that went away is ended by the next": (
        "services/test_pipeline.py::test_a_stopped_worker_leaves_work_that_the_next_one_ends",
        "services/test_ingestion.py::test_cancelling_before_reading_leaves_a_row_that_can_be_tried_again",
    ),
    # 14
    "a kind that is not read is named, once": (
        f"{_PARSERS}sniff.py::test_what_is_refused_is_named",
        "services/test_faults.py::test_an_unknown_kind_is_refused_without_another_try",
    ),
    # 15
    "failed is failed, its reason is no text, and trying again works": (
        "services/test_faults.py::test_a_failed_source_has_no_text_and_reads_when_tried_again",
    ),
    # 16
    "a file is what its bytes say": (
        f"{_PARSERS}sniff.py::test_the_bytes_decide",
        f"{_PARSERS}html.py::test_a_page_named_docx_is_read_as_a_page",
        "services/test_faults.py::test_a_misnamed_file_is_read_as_what_it_is",
    ),
    # 17, 18
    "tracked insertions, tables, boxes and controls of a text stand in its order": (
        f"{_PARSERS}docx.py::test_body_order_changes_boxes_and_controls",
        f"{_PARSERS}docx.py::test_notes_and_comments_follow_their_paragraph",
    ),
    # 19, 20
    "groups, tables and notes of slides are read, and one bad shape is counted": (
        f"{_PARSERS}pptx.py::test_title_tables_groups_and_notes_of_a_slide",
        f"{_PARSERS}pptx.py::test_a_bad_shape_is_counted_and_the_rest_is_read",
        f"{_PARSERS}pptx.py::test_charts_are_tables",
    ),
    # 21
    "merged cells fill their range and several header rows are one": (
        f"{_PARSERS}xlsx.py::test_titles_regions_and_grouped_headers",
        f"{_PARSERS}biff.py::test_merged_values_fill_their_range",
        f"{_PARSERS}odf.py::test_merged_values_fill_their_range_and_a_chart_alone_gives_its_numbers",
    ),
    # 22
    "a stored result stands for its formula; without one the formula is shown and said": (
        f"{_PARSERS}xlsx.py::test_a_stored_result_stands_for_its_formula",
        f"{_PARSERS}xlsx.py::test_merged_values_fill_their_range_and_formulas_without_result_are_shown",
    ),
    # 23
    "a sparse giant takes no time, a full one is cut and its sheets named": (
        f"{_PARSERS}xlsx.py::test_a_sparse_giant_takes_no_time",
        f"{_PARSERS}xlsx.py::test_cells_over_the_budget_are_cut_and_the_sheets_named",
        f"{_PARSERS}xlsb.py::test_merged_values_fill_their_range_and_a_sparse_giant_takes_no_room",
        f"{_PARSERS}odf.py::test_sheets_keep_row_numbers_over_a_million_blank_rows",
    ),
    # 25
    "old encodings are told from the whole file and the guess is said": (
        f"{_PARSERS}decoding.py::test_text_in_old_encodings_comes_back_intact",
        f"{_PARSERS}decoding.py::test_the_guess_looks_at_the_whole_file",
        f"{_PARSERS}decoding.py::test_unicode_with_and_without_a_mark",
    ),
    # 26
    "characters that are no text are removed and counted, unmapped glyphs read again": (
        f"{_PARSERS}parse.py::test_characters_that_are_no_text_are_removed_and_counted",
        f"{_PARSERS}pdf.py::test_unmapped_glyphs",
    ),
    # 27, 28
    "a name is text and never a path": (
        "services/test_ingestion.py::test_a_name_is_shown_and_never_a_path",
        "services/test_ingestion.py::test_a_very_long_name_keeps_its_ending",
        "services/test_ingestion.py::test_hostile_names_write_nothing_outside_and_delete_only_their_own",
        "services/test_reading.py::test_a_name_that_is_no_unicode_still_reads",
    ),
    # 29
    "the same bytes are known, another file of the same name is asked about": (
        "services/test_ingestion.py::test_the_same_bytes_are_recognised_whatever_their_name",
        "services/test_ingestion.py::test_another_file_of_the_same_name_waits_for_an_answer",
    ),
    # 32
    "reading and counting tokens need no network": (
        "services/test_reading.py::test_the_child_reaches_no_network",
        "services/embeddings/test_local.py::test_counts_include_prefix_and_special_tokens",
    ),
    # 33: a robot check or a cookie question is stored as the page
    "a page that is no content is a failed source with advice": (
        "services/links/test_challenge.py::test_robot_checks",
        "services/links/test_challenge.py::test_pages_that_only_javascript_fills",
        "services/links/test_challenge.py::test_consent_walls",
        "services/links/test_challenge.py::test_logins",
    ),
    # 34
    "a video without captions says why there is no text": (
        "services/links/test_youtube.py::test_why_there_are_none",
    ),
}


def test_every_fault_is_held_by_tests_that_exist() -> None:
    there: dict[str, set[str]] = {}
    for named in {test for tests in FAULTS.values() for test in tests}:
        file, _, name = named.partition("::")
        if file not in there:
            tree = ast.parse((PROJECT / "tests" / file).read_text(encoding="utf-8"))
            there[file] = {one.name for one in tree.body if isinstance(one, ast.FunctionDef)}
        assert name in there[file], named


def pdf(text: str = "", *, password: str | None = None, algorithm: str = "AES-256") -> bytes:
    """A PDF of one page, with words or only a picture's worth of ink."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    if text:
        canvas.drawString(72, 720, text)
    canvas.rect(72, 300, 200, 200, fill=1)
    canvas.save()
    if password is None:
        return buffer.getvalue()
    writer = PdfWriter(buffer)
    writer.encrypt(password, "owner", algorithm=algorithm)
    locked = io.BytesIO()
    writer.write(locked)
    return locked.getvalue()


def scanned(*pages: Image.Image) -> bytes:
    """A PDF of nothing but pictures, packed as they come."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer)
    for page in pages:
        canvas.drawImage(ImageReader(page), 0, 400, 595, 336)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def add(library: Library, name: str, data: bytes) -> Source:
    return library.add_files([Incoming(name, data)])[0]


def test_a_fax_in_a_pdf_is_read(library: Library) -> None:
    pages = [drawn(words).convert("1") for words in ("Words of the first sheet.", "And more.")]
    source = add(library, "fax.pdf", scanned(*pages))
    assert source.status == "ready"
    document = load_document(library.workspace, source.id)
    assert document.text.split("\n\n") == ["Words of the first sheet.", "And more."]
    assert document.report.ocr_pages == [1, 2]


def test_a_pdf_of_blank_pictures_fails_and_is_kept(library: Library) -> None:
    workspace = library.workspace
    source = add(library, "blank.pdf", scanned(drawn(), drawn()))
    assert (source.status, source.chunks) == ("failed", 0)
    assert (source.error or {})["code"] == "no_text"
    assert "2 pages" in (source.error or {})["message"]
    assert workspace.original(source.sha256 or "-").exists()
    retry_source(workspace, source.id)
    library.wait([source.id])
    assert get_source(source.id, workspace).status == "failed"


def test_a_locked_pdf_waits_for_its_password_and_nothing_keeps_it(
    library: Library, caplog: pytest.LogCaptureFixture
) -> None:
    workspace = library.workspace
    source = add(library, "locked.pdf", pdf("Sealed words", password="pa55-sentinel"))
    assert (source.status, source.chunks) == ("needs_password", 0)
    retry_source(workspace, source.id, "not it")
    library.wait([source.id])
    assert get_source(source.id, workspace).status == "needs_password"
    retry_source(workspace, source.id, "pa55-sentinel")
    library.wait([source.id])
    assert get_source(source.id, workspace).status == "ready"
    assert "Sealed words" in load_document(workspace, source.id).text
    assert "pa55-sentinel" not in caplog.text
    kept = [path for path in workspace.root.rglob("*") if path.is_file()]
    assert kept
    assert not [path for path in kept if b"pa55-sentinel" in path.read_bytes()]


@pytest.mark.parametrize("algorithm", ["RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256"])
def test_every_usual_encryption_of_pdf_files_is_opened(library: Library, algorithm: str) -> None:
    source = add(library, "a.pdf", pdf("Open to all", password="", algorithm=algorithm))
    assert source.status == "ready"
    assert "Open to all" in load_document(library.workspace, source.id).text


def wordless_text() -> bytes:
    return b"\xef\xbb\xbf \r\n\t\r\n"


def wordless_document() -> bytes:
    made = docx.Document()
    made.add_paragraph("  ")
    return saved(made.save)


def wordless_workbook() -> bytes:
    return saved(openpyxl.Workbook().save)


def saved(save: Callable[[io.BytesIO], None]) -> bytes:
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize("made", [wordless_text, wordless_document, wordless_workbook])
def test_nothing_readable_is_a_failed_row_and_no_passage(
    library: Library, made: Callable[[], bytes]
) -> None:
    workspace = library.workspace
    source = add(library, "blank", made())
    assert (source.status, source.chunks, source.revision) == ("failed", 0, None)
    assert (source.error or {})["code"] == "no_text"
    good = add(library, "good.txt", b"Words about tides.")
    table = open_table(workspace.vector_uri, good.table or "")
    assert table is not None
    assert table.count() == good.chunks, "no passage of the blank file"


def test_a_question_names_what_could_not_be_read(library: Library) -> None:
    add(library, "blank.txt", wordless_text())
    with pytest.raises(NotFoundError) as caught:
        chat.answer_question(library.workspace, "What does the report say?")
    assert caught.value.code == "no_readable_sources"
    assert "blank.txt" in caught.value.message


def test_an_unknown_kind_is_refused_without_another_try(library: Library) -> None:
    source = add(library, "report.pdf", b"\x7fELF\x02" + bytes(600))
    assert (source.status, (source.error or {})["code"]) == ("failed", "unsupported_kind")
    assert "program" in (source.error or {})["message"]
    time.sleep(0.5)  # the worker looks for work several times
    assert jobs.all_jobs(library.workspace) == []
    assert load_sources(library.workspace) == [source]


def test_a_failed_source_has_no_text_and_reads_when_tried_again(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = library.workspace
    with monkeypatch.context() as patch:
        patch.setattr("services.reading.Reader.read", _too_slow)
        source = add(library, "a.txt", b"Words about tides.")
    assert (source.status, source.revision, source.chunks) == ("failed", None, 0)
    assert not list(workspace.root.glob("documents/*/*.json"))
    retry_source(workspace, source.id)
    library.wait([source.id])
    again = get_source(source.id, workspace)
    assert (again.status, again.error) == ("ready", None)
    assert load_document(workspace, source.id).text == "Words about tides."


def _too_slow(*_: object, **__: object) -> None:
    raise ParserStoppedError("This file took longer than 300 seconds to read.", code="parser_time")


@pytest.mark.parametrize(
    ("name", "data", "kind"),
    [
        ("a.docx", b"<!doctype html><title>x</title><p>Words of a page</p>", "html"),
        ("a.xlsx", b"Region,Tons\nNorth,Words\n", "text"),
        ("a.doc", rb"{\rtf1\ansi Words of old}", "rtf"),
        ("a.pdf", b"Words without any form", "text"),
    ],
)
def test_a_misnamed_file_is_read_as_what_it_is(
    library: Library, name: str, data: bytes, kind: str
) -> None:
    source = add(library, name, data)
    assert (source.status, source.kind, source.name) == ("ready", kind, name)
    assert "Words" in load_document(library.workspace, source.id).text


def test_an_old_word_file_is_refused_with_what_to_do(library: Library) -> None:
    old = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + "WordDocument\0".encode("utf-16-le")
    source = add(library, "a.docx", old)
    assert source.status == "failed"
    message = (source.error or {})["message"]
    assert "old Word .doc" in message
    assert "Save it as .docx" in message
