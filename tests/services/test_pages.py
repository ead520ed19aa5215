"""The viewer's pages: pictures, sizes, and boxes around quotes."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import pypdf
import pytest
from PIL import Image
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from services.errors import NotFoundError, PasswordNeededError, UnreadableSourceError
from services.pages import Box, page_count, page_size, passage_boxes, render_page

WIDTH, HEIGHT = A4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two lines of prose with a broken word, three table rows; then a rotated page."""
    made = tmp_path / "pages.pdf"
    canvas = Canvas(str(made), pagesize=A4)
    canvas.setFont("Helvetica", 12)
    canvas.drawString(72, 700, "The northern harbour wall has set-")
    canvas.drawString(72, 684, "tled since the storm of last year.")
    for y, row in ((600, ("Ships", "471", "481")), (584, ("Cranes", "12", "14"))):
        for x, cell in zip((72, 200, 300), row, strict=True):
            canvas.drawString(x, y, cell)
    canvas.showPage()
    canvas.setFont("Helvetica", 12)
    canvas.translate(WIDTH, 0)
    canvas.rotate(90)  # upwards on the sheet, upright once the page is rotated
    canvas.drawString(100, 500, "Turned text here")
    canvas.showPage()
    canvas.save()
    writer = pypdf.PdfWriter(made)
    writer.pages[1].rotate(90)
    writer.write(made)
    return made


def near(box: Box, left: float, top: float, right: float, bottom: float) -> bool:
    wanted = (left, top, right, bottom)
    return all(
        abs(side - want) < 0.012
        for side, want in zip((box.left, box.top, box.right, box.bottom), wanted, strict=True)
    )


def test_count_and_size(path: Path) -> None:
    assert page_count(path) == 2
    assert page_size(path, 1) == pytest.approx((WIDTH, HEIGHT), abs=0.1)
    assert page_size(path, 2) == pytest.approx((HEIGHT, WIDTH), abs=0.1)


def test_render_is_a_jpeg_of_the_width_asked_for(path: Path) -> None:
    picture = Image.open(io.BytesIO(render_page(path, 1, width=500)))
    assert picture.format == "JPEG"
    assert abs(picture.width - 500) <= 1
    assert abs(picture.height - 500 * HEIGHT / WIDTH) <= 1
    assert min(picture.convert("L").tobytes()) < 60, "something is drawn"


def test_missing_pages_and_files(path: Path, tmp_path: Path) -> None:
    for page in (0, 3):
        with pytest.raises(NotFoundError):
            render_page(path, page)
    with pytest.raises(UnreadableSourceError):
        page_count(tmp_path / "nowhere.pdf")


def test_locked_file_needs_its_password(path: Path, tmp_path: Path) -> None:
    writer = pypdf.PdfWriter(path)
    writer.encrypt("s3cret", algorithm="AES-256")
    locked = tmp_path / "locked.pdf"
    writer.write(locked)
    with pytest.raises(PasswordNeededError):
        render_page(locked, 1)
    assert page_count(locked, "s3cret") == 2
    assert passage_boxes(locked, 1, "northern harbour", password="s3cret")


def test_quote_over_two_lines_has_a_box_for_each(path: Path) -> None:
    first, second = passage_boxes(path, 1, "harbour  wall has settled since")
    assert first.bottom <= second.top + 0.005
    assert first.left > 72 / WIDTH + 0.1  # starts in the middle of the line
    assert near(second, 72 / WIDTH, 1 - 696 / HEIGHT, 125 / WIDTH, 1 - 681 / HEIGHT)


def test_part_of_a_word_is_cut_to_its_characters(path: Path) -> None:
    (whole,) = passage_boxes(path, 1, "northern")
    (part,) = passage_boxes(path, 1, "north")
    assert part.left == whole.left
    assert part.right < whole.right


def test_table_rows_are_found_row_by_row(path: Path) -> None:
    boxes = passage_boxes(path, 1, "Ships | 471 | 481\nCranes | 12 | 14")
    assert len(boxes) == 2
    assert all(near(box, 72 / WIDTH, box.top, 320 / WIDTH, box.bottom) for box in boxes)


def test_table_row_whose_cells_are_in_another_order(path: Path) -> None:
    (box,) = passage_boxes(path, 1, "481 | Ships | 471")
    assert near(box, 72 / WIDTH, 1 - 612 / HEIGHT, 320 / WIDTH, 1 - 597 / HEIGHT)


def test_rotated_page(path: Path) -> None:
    (box,) = passage_boxes(path, 2, "Turned text")
    assert near(box, 100 / HEIGHT, 1 - 510 / WIDTH, 160 / HEIGHT, 1 - 497 / WIDTH)


def test_what_is_not_there_has_no_box(path: Path) -> None:
    assert passage_boxes(path, 1, "Turned text here") == []
    assert passage_boxes(path, 1, " | -- ") == []
    assert passage_boxes(path, 1, "An entirely different sentence about ships.") == []


def test_threads_may_render_at_once(path: Path) -> None:
    done: list[int] = []
    threads = [
        threading.Thread(target=lambda: done.append(len(render_page(path, 1, width=300))))
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 6
    assert len(set(done)) == 1
