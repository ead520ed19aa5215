"""The import report in words: the gap first, then how it was read."""

from __future__ import annotations

from panels import import_report
from services.models import ImportReport


def scan() -> ImportReport:
    report = ImportReport(kind="pdf", unit="page", units_total=3, units_read=3, pictures=3)
    report.ocr_pages, report.ocr_confidence = [1, 2, 3], 0.99
    report.language, report.words = "en", 70
    report.note("recognised", "…", pages=[1, 2, 3], share=99)
    return report


def test_recognised_pages_are_counted_and_not_their_pictures() -> None:
    assert import_report.summary(scan()) == "3 of 3 pages read · 3 by text recognition"
    assert import_report.details(scan())[1:] == ["Language: English", "70 words read"]
    assert scan().complete


def test_what_is_missing_comes_first() -> None:
    report = scan()
    report.unread = [3]
    report.note("pages_without_text", "…", pages=[3], count=1, total=3)
    assert not report.complete
    assert import_report.details(report)[0] == "Pages without text: 3 (1 of 3)"


def test_one_picture_is_no_page() -> None:
    report = ImportReport(kind="image", unit="page", units_total=1, units_read=1, pictures=1)
    report.ocr_pages, report.ocr_confidence = [1], 0.991
    report.note("recognised", "…", pages=[1], share=99)
    assert import_report.summary(report) == "Text recognised in the picture, 99\u00a0% sure"
    assert import_report.details(report) == []
