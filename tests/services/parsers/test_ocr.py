"""Text in pictures: scans in PDF files page by page, and picture files."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import font_source_sans_pro
import pytest
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from services.errors import TooLargeError, UnreadableSourceError
from services.pages import page_count, page_size, passage_boxes, render_page
from services.parsers import extract_text_from_bytes, ocr, parse

GERMAN = "Die Prüfung der Straßenbrücke ergab Schäden an drei Pfeilern."
COSTS = "Die Kosten betragen 1.234.567 Euro für das Jahr 2024."
FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
FONT = Path(font_source_sans_pro.__file__).parent / "files" / "SourceSansPro-Regular.ttf"


def drawn(*lines: str, size: tuple[int, int] = (1240, 700)) -> Image.Image:
    image = Image.new("L", size, 255)
    pen, font = ImageDraw.Draw(image), ImageFont.truetype(str(FONT), 36)
    for number, line in enumerate(lines):
        pen.text((80, 80 + 64 * number), line, font=font, fill=0)
    return image


def test_a_mixed_file_is_read_page_by_page(tmp_path: Path) -> None:
    path = tmp_path / "mixed.pdf"
    canvas = Canvas(str(path), pagesize=A4)
    canvas.drawString(72, 700, "This page has a text layer of its own.")
    canvas.showPage()
    canvas.drawImage(ImageReader(drawn(GERMAN, COSTS)), 40, 400, 515, 290)
    canvas.drawString(500, 20, "Scan 7")  # a scanner's stamp would hide the page otherwise
    canvas.showPage()
    canvas.showPage()
    canvas.drawImage(ImageReader(drawn(GERMAN)), 40, 400, 515, 290)
    canvas.showPage()
    canvas.save()
    seen: list[tuple[int, int]] = []
    document = parse(path, "mixed.pdf", progress=lambda done, total: seen.append((done, total)))
    texts = {n: " ".join(b.text for b in document.blocks if b.page == n) for n in range(1, 5)}
    assert "text layer of its own" in texts[1] and texts[3] == "" and texts[4] == GERMAN
    report = document.report
    assert report.ocr_pages == [4] and report.unread == [3] and seen[-1] == (4, 4)
    assert report.ocr_confidence and report.ocr_confidence > 0.95
    assert [f.code for f in report.findings] == ["recognised", "pages_without_text"]
    (box,) = passage_boxes(path, 4, "Schäden an drei", recognised=document.recognised[4])
    assert 0.45 < box.left < box.right < 0.9 and 0.15 < box.top < box.bottom < 0.25


def test_a_stamp_does_not_hide_a_scanned_page(tmp_path: Path) -> None:
    path = tmp_path / "stamp.pdf"
    canvas = Canvas(str(path), pagesize=A4)
    page = drawn(GERMAN, COSTS, size=(1240, 1754))
    canvas.drawImage(ImageReader(page), 0, 0, *A4)
    canvas.drawString(500, 20, "Scan 7")
    canvas.save()
    document = parse(path, "stamp.pdf")
    assert GERMAN in document.text and document.report.ocr_pages == [1]


def test_fax_frames_are_pages(tmp_path: Path) -> None:
    path = tmp_path / "fax.tif"
    first, second = drawn(GERMAN).convert("1"), drawn(COSTS).convert("1")
    first.save(path, save_all=True, append_images=[second], compression="group4")
    document = parse(path, "fax.tif")
    assert (document.kind, document.units) == ("image", {"pages": 2})
    assert [(b.page, b.text) for b in document.blocks] == [(1, GERMAN), (2, COSTS)]
    assert page_count(path) == 2 and page_size(path, 2) == (1240, 700)
    assert Image.open(io.BytesIO(render_page(path, 2, width=620))).size == (620, 350)


def test_a_picture_is_turned_as_its_data_says_and_a_sideways_one_is_read(tmp_path: Path) -> None:
    path = tmp_path / "photo.jpg"
    lying = drawn(GERMAN).transpose(Image.Transpose.ROTATE_90)
    lying.getexif()[0x0112] = 6  # turn a quarter clockwise to see it upright
    lying.save(path, exif=lying.getexif())
    document = parse(path, "photo.jpg")
    assert document.text == GERMAN and document.recognised[1][0].turn == 0
    assert page_size(path, 1) == (1240, 700)
    for quarter, turn in ((90, 3), (180, 2), (270, 1)):
        page = ocr.recognise(drawn(GERMAN, COSTS).rotate(quarter, expand=True))
        assert {line.turn for line in page.lines} == {turn}
        assert {line.text for line in page.lines} == {GERMAN, COSTS}


def test_another_script_is_no_text_and_not_made_up() -> None:
    page = ocr.recognise(drawn("Проверка моста показала серьёзные повреждения опор."))
    assert not page.lines and page.confidence is not None and page.confidence < ocr.DOUBTFUL


def test_chinese_and_japanese_are_read_together() -> None:
    page = ocr.recognise(Image.open(FIXTURES / "printed_zh_ja.png").convert("L"))
    lines = sorted(page.lines, key=lambda line: line.box[1])
    assert [line.text for line in lines] == [
        "大桥检查报告于二〇二四年三月发布。",
        "三座桥墩受损，维修费用为1234567元。",
        "橋樑檢查報告顯示三座橋墩受損。",
        "橋の点検で三つの橋脚に損傷が見つかりました。",
    ]


def test_one_word_on_an_empty_page_is_read() -> None:
    assert [line.text for line in ocr.recognise(drawn("Yes", size=(1240, 1754))).lines] == ["Yes"]


def test_very_high_pictures_are_read_in_strips_and_in_order(tmp_path: Path) -> None:
    path = tmp_path / "slip.png"
    said = [f"Item {number} cost {number * 7 + 100} Euro" for number in range(60)]
    drawn(*said, size=(700, 4000)).save(path)
    document = parse(path, "slip.png")
    assert " ".join(document.text.split()) == " ".join(said)
    (box,) = passage_boxes(path, 1, said[40], recognised=document.recognised[1])
    middle = (80 + 64 * 40 + 25) / 4000
    assert box.top < middle < box.bottom
    assert box.bottom - box.top < 0.02


def test_doubtful_pages_are_named_in_the_report(tmp_path: Path) -> None:
    path = tmp_path / "pages.tif"
    foreign = drawn(GERMAN, "Проверка моста показала повреждения.", "Ремонт начнется в марте.")
    drawn(COSTS).save(path, save_all=True, append_images=[foreign])
    document = parse(path, "pages.tif")
    assert [block.page for block in document.blocks] == [1, 2]
    found = {finding.code: finding.params for finding in document.report.findings}
    assert found["low_confidence"] == {"pages": [2]}
    assert found["recognised"]["pages"] == [1, 2]


def test_pictures_without_text_fail_with_a_reason(tmp_path: Path) -> None:
    blank = io.BytesIO()
    Image.new("RGB", (400, 300), "white").save(blank, "PNG")
    path = tmp_path / "blank.png"
    path.write_bytes(blank.getvalue())
    with pytest.raises(UnreadableSourceError) as caught:
        parse(path, "blank.png")
    assert caught.value.code == "no_text" and "picture" in caught.value.message
    assert extract_text_from_bytes("blank.png", blank.getvalue()) == "Bilddatei: blank.png"


def test_damaged_pictures_and_bombs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.png"
    path.write_bytes(b"\x89PNG\r\n\x1a\n123")
    with pytest.raises(UnreadableSourceError):
        parse(path, "x.png")
    Image.new("1", (20_000, 20_000)).save(path)
    with pytest.raises(TooLargeError) as caught:
        parse(path, "x.png")
    assert caught.value.code == "too_many_pixels"


def test_the_recogniser_is_not_loaded_for_text(tmp_path: Path) -> None:
    path = tmp_path / "text.pdf"
    canvas = Canvas(str(path), pagesize=A4)
    canvas.drawString(72, 700, "Only text on this page.")
    canvas.save()
    code = (
        "import sys; from services.parsers import parse;"
        f"parse({str(path)!r}, 'text.pdf'); sys.exit('rapidocr' in sys.modules)"
    )
    root = Path(__file__).resolve().parents[3]
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
