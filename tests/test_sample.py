"""The sample notebook: its files say what their generator's figures say."""

from __future__ import annotations

import re
from pathlib import Path

import docx
import openpyxl
import pptx
import pypdf
import pytest

from services.sample import SAMPLE_QUESTIONS, sample_files, sample_questions
from tools import make_sample
from tools.sample import facts

FILES = {path.name: path for path in sample_files()}


def text_of(path: Path) -> str:
    """All text of a file, read without HALO's own parsers."""
    if path.suffix == ".pdf":
        text = "\n".join(page.extract_text() for page in pypdf.PdfReader(path).pages)
    elif path.suffix == ".docx":
        document = docx.Document(str(path))
        parts = [
            part for part in document.part.package.iter_parts() if "footnotes" in part.partname
        ]
        cells = [cell.text for table in document.tables for row in table.rows for cell in row.cells]
        text = "\n".join([paragraph.text for paragraph in document.paragraphs] + cells)
        text += document.sections[0].footer.paragraphs[0].text
        text += re.sub("<[^>]+>", "", parts[0].blob.decode())
    elif path.suffix == ".xlsx":
        book = openpyxl.load_workbook(path, data_only=True)
        rows = [row for sheet in book for row in sheet.iter_rows(values_only=True)]
        text = "\n".join(" ".join(str(cell) for cell in row if cell is not None) for row in rows)
    elif path.suffix == ".pptx":
        slides = pptx.Presentation(str(path)).slides
        text = "\n".join(
            shape.text_frame.text
            for slide in slides
            for shape in [*slide.shapes, *slide.notes_slide.shapes]
            if shape.has_text_frame
        )
    else:
        text = path.read_text("utf-8")
    return re.sub(r"\s+", " ", text)


def test_the_six_files_are_there_and_small() -> None:
    assert set(FILES) == set(facts.FILES)
    assert sum(path.stat().st_size for path in FILES.values()) < 1_500_000


@pytest.mark.parametrize("name", facts.FILES)
def test_files_say_what_the_facts_say(name: str) -> None:
    text = text_of(FILES[name])
    assert [said for said in facts.SAID[name] if said not in text] == []
    assert "invented company" in text


def test_only_the_press_release_gives_the_wrong_margin() -> None:
    right = 100 * facts.total(facts.EBIT, "2025") / facts.total(facts.REVENUE, "2025")
    assert f"{right:.1f} %" == facts.OPERATING_MARGIN
    for name, path in FILES.items():
        text = text_of(path)
        assert (facts.PRESS_MARGIN in text) == (name == facts.PRESS)
        if name in (facts.REPORT, facts.DECK):
            assert facts.OPERATING_MARGIN in text


def test_the_report_has_page_labels_and_an_outline() -> None:
    report = pypdf.PdfReader(FILES[facts.REPORT])
    assert report.page_labels[:4] == ["i", "ii", "1", "2"]
    assert 8 <= len(report.pages) <= 16
    assert len(report.outline) > 5


def test_the_model_has_a_hidden_sheet_and_results_beside_its_formulas() -> None:
    path = FILES[facts.MODEL]
    shown, formulas = (openpyxl.load_workbook(path, data_only=flag) for flag in (True, False))
    assert [sheet.sheet_state for sheet in shown] == ["visible", "visible", "hidden"]
    for sheet in formulas:
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and cell.value.startswith("="):
                    assert isinstance(shown[sheet.title][cell.coordinate].value, int | float)


def test_the_same_texts_give_the_same_files(tmp_path: Path) -> None:
    for made in make_sample.make(tmp_path):
        assert made.read_bytes() == FILES[made.name].read_bytes(), "run: make sample"


def test_questions_are_there_in_both_languages() -> None:
    assert len(SAMPLE_QUESTIONS) == len(sample_questions("de-AT")) == 3
    assert sample_questions("fr") == sample_questions("en") == SAMPLE_QUESTIONS
