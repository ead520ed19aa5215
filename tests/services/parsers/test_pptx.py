from __future__ import annotations

from pathlib import Path
from typing import Any

import pptx
import pytest
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from services.errors import UnreadableSourceError
from services.models import Document
from services.parsers import parse
from services.parsers.ooxml import R

AT = (Inches(1), Inches(1), Inches(2), Inches(1))


def read(deck: Any, folder: Path) -> Document:
    path = folder / "file.pptx"
    deck.save(str(path))
    return parse(path, "file.pptx")


@pytest.fixture
def deck() -> Any:
    return pptx.Presentation()


def add_slide(deck: Any, title: str, layout: int = 5) -> Any:
    slide = deck.slides.add_slide(deck.slide_layouts[layout])
    slide.shapes.title.text = title
    return slide


def test_title_tables_groups_and_notes_of_a_slide(deck: Any, tmp_path: Path) -> None:
    slide = add_slide(deck, "The title")
    slide.shapes.add_table(1, 1, *AT).table.cell(0, 0).text = "In a table"
    group = slide.shapes.add_group_shape().shapes.add_group_shape()
    for text in ("One", "Two"):
        group.shapes.add_textbox(*AT).text_frame.text = text
    slide.notes_slide.notes_text_frame.text = "Said aloud"
    document = read(deck, tmp_path)
    assert [(b.kind, b.text, b.slide) for b in document.blocks] == [
        ("heading", "The title", 1),
        ("table", "In a table", 1),
        ("paragraph", "One", 1),
        ("paragraph", "Two", 1),
        ("note", "Said aloud", 1),
    ]
    assert document.blocks[1].headings == ["The title"]
    assert document.units == {"slides": 1} and document.report.notes == 1


def test_bullets_become_an_indented_list(deck: Any, tmp_path: Path) -> None:
    slide = add_slide(deck, "T", layout=1)
    frame = slide.placeholders[1].text_frame
    frame.text = "first"
    paragraph = frame.add_paragraph()
    paragraph.text, paragraph.level = "below", 1
    assert read(deck, tmp_path).blocks[1].text == "- first\n  - below"


def test_lines_of_a_text_box_stay_apart(deck: Any, tmp_path: Path) -> None:
    slide = add_slide(deck, "T")
    slide.shapes.add_textbox(*AT).text_frame.text = "Revenue 648.4 million\nMargin 12.6 %"
    slide.notes_slide.notes_text_frame.text = "Welcome\nQuestions at the end"
    document = read(deck, tmp_path)
    assert [(b.kind, b.text) for b in document.blocks[1:]] == [
        ("paragraph", "Revenue 648.4 million"),
        ("paragraph", "Margin 12.6 %"),
        ("note", "Welcome\n\nQuestions at the end"),
    ]
    assert document.report.notes == 1


def test_charts_are_tables(deck: Any, tmp_path: Path) -> None:
    slide = add_slide(deck, "Growth")
    data = CategoryChartData()
    data.categories = ["2023", "2024"]
    data.add_series("Ducks", (120, 175.5))
    data.add_series("Geese", (80, 130))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, *AT, data).chart
    chart.has_title = True
    chart.chart_title.text_frame.text = "Birds by year"
    document = read(deck, tmp_path)
    assert [(b.kind, b.text) for b in document.blocks[1:]] == [
        ("caption", "Birds by year"),
        ("table", " | Ducks | Geese\n2023 | 120 | 80\n2024 | 175.5 | 130"),
    ]


def test_values_of_charts_are_shown_as_their_formats_say(deck: Any, tmp_path: Path) -> None:
    data = CategoryChartData()
    data.categories = ["a", "b"]
    data.add_series("Share", (0.1, 0.256), "0.0%")
    add_slide(deck, "T").shapes.add_chart(XL_CHART_TYPE.PIE, *AT, data)
    assert read(deck, tmp_path).blocks[-1].text == " | Share\na | 10%\nb | 25.6%"


def test_hidden_and_wordless_slides_are_named(deck: Any, tmp_path: Path) -> None:
    add_slide(deck, "Shown")
    add_slide(deck, "Hidden")._element.set("show", "0")
    deck.slides.add_slide(deck.slide_layouts[6])
    document = read(deck, tmp_path)
    report = document.report
    assert (report.hidden, report.unread) == (["2"], [3])
    assert (report.units_read, report.units_total) == (2, 3)
    assert document.blocks[1].text == "Hidden"


def test_shapes_that_were_made_invisible_are_left_out_and_said(deck: Any, tmp_path: Path) -> None:
    slide = add_slide(deck, "Prices")
    group = slide.shapes.add_group_shape()
    for place, shapes in enumerate((slide.shapes, slide.shapes, group.shapes)):
        box = shapes.add_textbox(0, place * 900_000, 3_000_000, 800_000)
        box.text_frame.text = f"Box {place}"
        if place == 1:
            box._element.nvSpPr.cNvPr.set("hidden", "1")
    group._element.nvGrpSpPr.cNvPr.set("hidden", "1")
    document = read(deck, tmp_path)
    assert document.text == "Prices\n\nBox 0"
    (finding,) = document.report.findings
    assert (finding.code, finding.params) == ("hidden_text", {"count": 2})


def test_a_bad_shape_is_counted_and_the_rest_is_read(deck: Any, tmp_path: Path) -> None:
    slide = add_slide(deck, "Title")
    data = CategoryChartData()
    data.categories = ["bad"]
    data.add_series("bad", (1,))
    chart = slide.shapes.add_chart(XL_CHART_TYPE.PIE, *AT, data)
    next(chart._element.iter("{*}chart")).set(f"{R}id", "rIdNone")
    odd = slide.shapes.add_textbox(*AT)
    odd.text_frame.text = "good"
    odd.text_frame.paragraphs[0]._p.get_or_add_pPr().set("lvl", "deep")
    document = read(deck, tmp_path)
    assert [block.text for block in document.blocks] == ["Title", "good"]
    (finding,) = document.report.findings
    assert (finding.code, finding.params["count"]) == ("shapes_skipped", 1)


def test_progress_counts_slides(deck: Any, tmp_path: Path) -> None:
    for _ in range(3):
        add_slide(deck, "T")
    path = tmp_path / "a.pptx"
    deck.save(str(path))
    seen: list[tuple[int, int]] = []
    parse(path, "a", progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_a_deck_without_words_is_refused_with_its_number_of_slides(
    deck: Any, tmp_path: Path
) -> None:
    deck.slides.add_slide(deck.slide_layouts[6])
    deck.slides.add_slide(deck.slide_layouts[6])
    with pytest.raises(UnreadableSourceError, match="any of its 2 slides") as caught:
        read(deck, tmp_path)
    assert caught.value.code == "no_text"
