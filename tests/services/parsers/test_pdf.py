"""PDF reading, on files made here: passwords, damage, layout, tables, labels, forms, reports."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import pypdf
import pytest
from pypdf.constants import PageLabelStyle
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from services.errors import PasswordNeededError, UnreadableSourceError
from services.models import Block, Document
from services.parsers.pdf import parse
from services.parsers.pdf_text import clean, join_lines, vocabulary

LOREM = (
    "The committee met in the morning and looked at the plan for the harbour in detail.",
    "It found that the northern wall had settled and that the cranes needed new rails.",
    "Nobody objected to the proposal, so the engineers were asked to begin in spring.",
    "A second report on the tides is expected before the end of the following quarter.",
)


def draw(path: Path, *pages: Callable[[Canvas], None], **options: object) -> Path:
    """A PDF with one page for each function."""
    canvas = Canvas(str(path), pagesize=A4, **options)
    for page in pages:
        page(canvas)
        canvas.showPage()
    canvas.save()
    return path


def lines(*texts: str, x: float = 72, y: float = 760, size: float = 11) -> Callable[[Canvas], None]:
    def page(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", size)
        for number, text in enumerate(texts):
            canvas.drawString(x, y - 14 * number, text)

    return page


def picture(canvas: Canvas) -> None:
    canvas.rect(72, 300, 300, 300, fill=1)


def encrypted(path: Path, source: Path, user: str, owner: str) -> Path:
    writer = pypdf.PdfWriter(source)
    writer.encrypt(user, owner, algorithm="AES-256")
    writer.write(path)
    return path


def of_page(document: Document, page: int) -> str:
    return "\n".join(block.text for block in document.blocks if block.page == page)


def tables(document: Document) -> list[Block]:
    return [block for block in document.blocks if block.kind == "table"]


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return draw(tmp_path / "plain.pdf", lines(*LOREM), lines("Second page."))


def test_reads_text_units_and_report(plain: Path) -> None:
    seen: list[tuple[int, int]] = []
    document = parse(plain, "plain.pdf", progress=lambda done, total: seen.append((done, total)))
    assert LOREM[0] in of_page(document, 1)
    assert document.kind == "pdf"
    assert document.type_label == "PDF"
    assert document.units == {"pages": 2}
    assert document.title == "plain"
    assert document.report.complete
    assert document.report.units_read == 2
    assert document.report.words == len(document.text.split())
    assert seen == [(1, 2), (2, 2)]
    for block in document.blocks:
        assert document.text[block.start : block.end] == block.text
        assert block.page_label is None


def test_owner_password_alone_does_not_matter(tmp_path: Path, plain: Path) -> None:
    locked = encrypted(tmp_path / "owner.pdf", plain, "", "own3r")
    assert "Second page." in of_page(parse(locked, "owner.pdf"), 2)


def test_user_password(tmp_path: Path, plain: Path, caplog: pytest.LogCaptureFixture) -> None:
    locked = encrypted(tmp_path / "user.pdf", plain, "s3cret", "own3r")
    with pytest.raises(PasswordNeededError) as missing:
        parse(locked, "user.pdf")
    with pytest.raises(PasswordNeededError) as wrong:
        parse(locked, "user.pdf", password="guess-17")
    assert missing.value.code == wrong.value.code == "needs_password"
    assert "did not open" in str(wrong.value)
    assert "guess-17" not in str(wrong.value) + repr(wrong.value.params)
    document = parse(locked, "user.pdf", password="s3cret")
    assert "Second page." in of_page(document, 2)
    assert "s3cret" not in caplog.text + document.model_dump_json()


def test_a_file_without_pages_is_damaged_also_after_a_locked_one(
    tmp_path: Path, plain: Path
) -> None:
    locked = encrypted(tmp_path / "user.pdf", plain, "s3cret", "own3r")
    with pytest.raises(PasswordNeededError):
        parse(locked, "user.pdf")
    empty = tmp_path / "empty.pdf"
    pypdf.PdfWriter().write(empty)
    with pytest.raises(UnreadableSourceError):
        parse(empty, "empty.pdf")


@pytest.mark.parametrize("data", [b"", b"%PDF-1.7 nothing follows", b"\x00" * 500])
def test_empty_and_damaged_files_are_refused_with_a_next_step(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.pdf"
    path.write_bytes(data)
    with pytest.raises(UnreadableSourceError) as error:
        parse(path, "bad.pdf")
    assert error.value.step


def test_truncated_file_is_refused(tmp_path: Path, plain: Path) -> None:
    path = tmp_path / "cut.pdf"
    path.write_bytes(plain.read_bytes()[:600])
    with pytest.raises(UnreadableSourceError) as error:
        parse(path, "cut.pdf")
    assert error.value.code == "damaged"


def test_pages_without_text_keep_their_number(tmp_path: Path) -> None:
    path = draw(tmp_path / "gap.pdf", lines("First."), picture, lines("Finding: 42.7%"))
    document = parse(path, "gap.pdf")
    assert "42.7%" in of_page(document, 3)
    assert document.report.unread == [2]
    assert (document.report.units_read, document.report.units_total) == (2, 3)
    assert [finding.code for finding in document.report.findings] == ["pages_without_text"]
    assert document.report.findings[0].params["pages"] == [2]


def test_only_pictures_is_no_text(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSourceError) as error:
        parse(draw(tmp_path / "scan.pdf", picture, picture), "scan.pdf")
    assert error.value.code == "no_text"
    assert "2 pages" in error.value.message


def test_page_labels(tmp_path: Path, plain: Path) -> None:
    writer = pypdf.PdfWriter(plain)
    writer.append(plain)
    writer.set_page_label(0, 1, style=PageLabelStyle.LOWERCASE_ROMAN)
    writer.set_page_label(2, 3, style=PageLabelStyle.DECIMAL, start=1)
    path = tmp_path / "labels.pdf"
    writer.write(path)
    labels = {block.page: block.page_label for block in parse(path, "labels.pdf").blocks}
    assert labels == {1: "i", 2: "ii", 3: "1", 4: "2"}


def statement(canvas: Canvas) -> None:
    canvas.setFont("Helvetica-Bold", 11)
    canvas.drawCentredString(297, 780, "CONSOLIDATED STATEMENTS OF INCOME")
    canvas.setFont("Helvetica-Bold", 8)
    canvas.drawCentredString(410, 750, "Years Ended")
    for x, year in ((350, "2022"), (420, "2021"), (490, "2020")):
        canvas.drawCentredString(x - 10, 738, "December 2,")
        canvas.drawCentredString(x - 10, 728, year)
    canvas.setFont("Helvetica", 10)
    rows: list[tuple[str, ...]] = [
        ("Revenue:",),
        ("Subscription", "16,388", "14,573", "11,626"),
        ("Other income (expense), net", "(112)", "—", "42"),
        ("Shares used to compute diluted net income",),
        ("per share and equivalents", "471", "481", "485"),
        ("Net income", "4,756", "4,822", "5,260"),
    ]
    y = 710
    for row in rows:
        canvas.drawString(72, y, row[0])
        for x, value in zip((350, 420, 490), row[1:], strict=False):
            canvas.drawRightString(x, y, value)
            if row[0] in {"Subscription", "Net income"}:
                canvas.drawString(x - 45, y, "$")
        y -= 12
    canvas.drawString(72, y - 30, LOREM[0])


def test_financial_statement_is_one_table_with_one_head(tmp_path: Path) -> None:
    document = parse(draw(tmp_path / "income.pdf", statement), "income.pdf")
    (table,) = tables(document)
    assert table.header_rows == 1
    assert table.text.splitlines() == [
        "| Years Ended December 2, 2022 | Years Ended December 2, 2021"
        " | Years Ended December 2, 2020",
        "Revenue:",
        "Subscription | $16,388 | $14,573 | $11,626",
        "Other income (expense), net | (112) | — | 42",
        "Shares used to compute diluted net income per share and equivalents | 471 | 481 | 485",
        "Net income | $4,756 | $4,822 | $5,260",
    ]
    assert table.headings == ["CONSOLIDATED STATEMENTS OF INCOME"]
    assert document.report.tables == 1
    assert document.blocks[-1].text == LOREM[0]


@pytest.mark.parametrize(
    ("heads", "read"),
    [
        (
            [{380: "Rigid"}, {300: "Flexibles", 380: "Packaging", 460: "Total"}],
            "| Flexibles | Rigid Packaging | Total",
        ),
        (
            [{380: "Years ended"}, {300: "2021", 380: "2022", 460: "2023"}],
            "| Years ended 2021 | Years ended 2022 | Years ended 2023",
        ),
        (
            [
                {380: "Years ended June 30,"},
                {380: "Rigid"},
                {300: "Flexibles", 380: "Packaging", 460: "Total"},
            ],
            "| Years ended June 30, Flexibles | Years ended June 30, Rigid Packaging"
            " | Years ended June 30, Total",
        ),
        (
            [{380: "As reported"}, {300: "Q1", 380: "Q2", 460: "Q3"}],
            "| As reported Q1 | As reported Q2 | As reported Q3",
        ),
    ],
)
def test_a_head_that_wraps_is_not_one_that_spans(
    tmp_path: Path, heads: list[dict[int, str]], read: str
) -> None:
    def page(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        canvas.drawString(60, 730, LOREM[0])
        y = 700
        for row in heads:
            for x, text in row.items():
                canvas.drawCentredString(x, y, text)
            y -= 12
        for number in range(1, 5):
            y -= 14
            canvas.drawString(60, y, f"Item {number}")
            for x in (300, 380, 460):
                canvas.drawRightString(x + 20, y, f"{number},{x}")

    (table,) = tables(parse(draw(tmp_path / "heads.pdf", page), "heads.pdf"))
    assert table.text.splitlines()[0] == read


def grid(first: int, last: int, *, head: bool) -> Callable[[Canvas], None]:
    def page(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        y = 770
        if head:
            for x, text in zip((72, 200, 300), ("Port", "Ships", "Tonnes"), strict=True):
                canvas.drawString(x, y, text)
            y -= 14
        for number in range(first, last):
            canvas.drawString(72, y, f"Harbour {number}")
            canvas.drawRightString(225, y, str(number * 3))
            canvas.drawRightString(335, y, f"{number},500")
            y -= 14

    return page


def test_table_over_two_pages_repeats_its_head(tmp_path: Path) -> None:
    path = draw(tmp_path / "long.pdf", grid(1, 45, head=True), grid(45, 50, head=False))
    first, second = tables(parse(path, "long.pdf"))
    assert (first.page, second.page) == (1, 2)
    assert second.continues == first.id
    assert first.continues is None
    assert second.text.splitlines()[:2] == ["Port | Ships | Tonnes", "Harbour 45 | 135 | 45,500"]
    assert second.header_rows == first.header_rows == 1


def test_headings_nest_by_size_and_carry_the_path(tmp_path: Path) -> None:
    def page(canvas: Canvas) -> None:
        y = 780
        for size, bold, text in (
            (20, True, "Harbour report"),
            (14, True, "Walls"),
            (10, False, LOREM[0]),
            (14, True, "Cranes"),
            (10, False, LOREM[1]),
        ):
            canvas.setFont("Helvetica-Bold" if bold else "Helvetica", size)
            canvas.drawString(72, y, text)
            y -= 40

    document = parse(draw(tmp_path / "heads.pdf", page), "heads.pdf")
    assert [(b.text, b.level) for b in document.blocks if b.kind == "heading"] == [
        ("Harbour report", 1),
        ("Walls", 2),
        ("Cranes", 2),
    ]
    assert document.blocks[-1].headings == ["Harbour report", "Cranes"]
    assert document.title == "Harbour report"


def test_outline_gives_the_levels(tmp_path: Path) -> None:
    def page(canvas: Canvas) -> None:
        lines("Scope of work", "", *LOREM)(canvas)
        for level, (key, title) in enumerate((("a", "Report"), ("b", "Scope of work"))):
            canvas.bookmarkPage(key)
            canvas.addOutlineEntry(title, key, level=level)

    document = parse(draw(tmp_path / "outline.pdf", page), "outline.pdf")
    assert [(b.kind, b.level, b.text) for b in document.blocks[:1]] == [
        ("heading", 2, "Scope of work")
    ]


def test_two_columns_are_read_one_after_the_other(tmp_path: Path) -> None:
    left = [f"left {n} goes on about the northern wall" for n in range(14)]
    right = [f"right {n} goes on about cranes and rails" for n in range(14)]

    def page(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 10)
        for number, pair in enumerate(zip(left, right, strict=True)):
            for x, text in zip((60, 310), pair, strict=True):  # as drawn: line by line
                canvas.drawString(x, 760 - 13 * number, text)

    text = of_page(parse(draw(tmp_path / "columns.pdf", page), "columns.pdf"), 1)
    assert text.index("left 13") < text.index("right 0")
    assert all(line in text for line in left + right)


@pytest.mark.parametrize("turned_text", [False, True])
def test_rotated_page_is_read_top_to_bottom(tmp_path: Path, turned_text: bool) -> None:
    """Turned with its text, or with text that is drawn turned back, as scanners' drivers do."""

    def page(canvas: Canvas) -> None:
        if turned_text:
            canvas.translate(595, 0)
            canvas.rotate(90)
        lines("Rotated first line", "Rotated second line", y=500)(canvas)

    writer = pypdf.PdfWriter(draw(tmp_path / "upright.pdf", page))
    writer.pages[0].rotate(90)
    path = tmp_path / "turned.pdf"
    writer.write(path)
    (block,) = parse(path, "turned.pdf").blocks
    assert block.text == "Rotated first line\nRotated second line"


def test_short_lines_stay_lines_and_paragraphs_run_on(tmp_path: Path) -> None:
    address = ["Harbour Office", "12 Quay Street", "4711 Northport"]
    narrow = ["The crane is out of order", "since Monday. Please use", "the northern wall."]
    wide = [LOREM[0][:59], LOREM[1][:58], LOREM[2][:30]]
    pages = [lines(*address, "", *narrow, "", *wide, "", "Kind regards", "A. Mason")]
    blocks = parse(draw(tmp_path / "letter.pdf", *pages), "letter.pdf").blocks
    assert [block.text for block in blocks] == [
        "\n".join(address), " ".join(narrow), " ".join(wide), "Kind regards\nA. Mason",
    ]  # fmt: skip


def test_running_lines_and_page_numbers_go_but_their_first_stays(tmp_path: Path) -> None:
    def page(number: int) -> Callable[[Canvas], None]:
        def drawn(canvas: Canvas) -> None:
            canvas.setFont("Helvetica", 9)
            canvas.drawString(72, 815, "Harbour Authority")
            canvas.drawCentredString(297, 30, str(number))
            lines(f"Exhibit {number * 7}", LOREM[number % 4], y=700)(canvas)

        return drawn

    document = parse(
        draw(tmp_path / "running.pdf", *(page(number) for number in range(1, 9))), "running.pdf"
    )
    assert document.text.count("Harbour Authority") == 1
    assert "Harbour Authority" in of_page(document, 1)
    assert [f"Exhibit {n * 7}" in of_page(document, n) for n in range(1, 9)] == [True] * 8
    assert not any(block.text.isdigit() for block in document.blocks)


def test_form_values_belong_to_the_text(tmp_path: Path) -> None:
    def page(canvas: Canvas) -> None:
        lines("Registration")(canvas)
        form = canvas.acroForm
        form.textfield(name="First name", value="Alice", x=72, y=700, width=100, height=20)
        form.textfield(name="Nickname", value="", x=72, y=660, width=100, height=20)
        form.checkbox(name="Agreed", checked=True, x=72, y=620)

    text = of_page(parse(draw(tmp_path / "form.pdf", page), "form.pdf"), 1)
    assert "First name: Alice" in text
    assert "Agreed: Yes" in text
    assert "Nickname" not in text


def test_metadata_and_attachments(tmp_path: Path, plain: Path) -> None:
    writer = pypdf.PdfWriter(plain)
    writer.add_metadata(
        {"/Title": "Harbour plan", "/Author": "A. Mason", "/CreationDate": "D:20240131120000Z"}
    )
    writer.add_attachment("tides.csv", b"a,b")
    path = tmp_path / "meta.pdf"
    writer.write(path)
    document = parse(path, "meta.pdf")
    assert document.title == "Harbour plan"
    assert document.metadata == {"author": "A. Mason", "date": "2024-01-31"}
    assert document.report.attachments == ["tides.csv"]


@pytest.mark.parametrize("title", ["untitled", "0001018724-18-000005", "", "(anonymous)"])
def test_senseless_titles_are_not_used(tmp_path: Path, plain: Path, title: str) -> None:
    writer = pypdf.PdfWriter(plain)
    writer.add_metadata({"/Title": title})
    path = tmp_path / "meta.pdf"
    writer.write(path)
    assert parse(path, "annual plan.pdf").title == "annual plan"


def test_lists_are_one_block(tmp_path: Path) -> None:
    page = lines("- first thing", "- second thing", "- third thing")
    (block,) = parse(draw(tmp_path / "list.pdf", page), "list.pdf").blocks
    assert block.kind == "list"
    assert len(block.text.splitlines()) == 3


def test_wrong_offsets_are_recovered(tmp_path: Path, plain: Path) -> None:
    data = plain.read_bytes()
    path = tmp_path / "xref.pdf"
    path.write_bytes(data.replace(b"startxref\n", b"startxref\n9"))
    assert "Second page." in of_page(parse(path, "xref.pdf"), 2)


def test_second_reader_opens_what_the_first_cannot(
    monkeypatch: pytest.MonkeyPatch, plain: Path
) -> None:
    from services import pdfium

    def refuse(path: Path, password: str | None = None) -> object:
        raise pdfium.damaged()

    monkeypatch.setattr(pdfium, "open_document", refuse)
    document = parse(plain, "plain.pdf")
    assert "Second page." in of_page(document, 2)
    assert [finding.code for finding in document.report.findings] == [
        "recovered_with_second_reader"
    ]


@pytest.mark.parametrize("both_fail", [True, False])
def test_unmapped_glyphs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, both_fail: bool) -> None:
    """A font whose ToUnicode map sends every glyph to the private use area."""
    path = draw(tmp_path / "source.pdf", lines("Hello unmapped world"), lines(LOREM[0]))
    writer = pypdf.PdfWriter(path)
    codes = "\n".join(f"<{code:02X}> <{0xE000 + code:04X}>" for code in range(33, 127))
    cmap = pypdf.generic.DecodedStreamObject()
    cmap.set_data(
        b"begincmap\n1 begincodespacerange\n<00> <FF>\nendcodespacerange\n94 beginbfchar\n"
        + codes.encode()
        + b"\nendbfchar\nendcmap"
    )
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type1"),
            NameObject("/BaseFont"): NameObject("/Helvetica"),
            NameObject("/ToUnicode"): writer._add_object(cmap),
        }
    )
    names = pypdf.PdfReader(path).pages[0]["/Resources"]["/Font"]  # type: ignore[index]
    writer.pages[0][NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject(name): font for name in names})}
    )
    broken = tmp_path / "unmapped.pdf"
    writer.write(broken)
    if not both_fail:
        monkeypatch.setattr(pypdf.PageObject, "extract_text", lambda page: "Hello unmapped world")
    document = parse(broken, "unmapped.pdf")
    codes_found = [finding.code for finding in document.report.findings]
    if both_fail:
        assert codes_found == ["recognised"]  # what the glyphs look like is read instead
        assert "Hello unmapped world" in of_page(document, 1)
    else:
        assert codes_found == ["pages_read_again"]
        assert "Hello unmapped world" in of_page(document, 1)


def test_words_broken_at_line_ends() -> None:
    words = vocabulary(["the government", "a well-known harbour", "known as well", "re-", "port"])
    assert join_lines(["the govern-", "ment decided"], words) == "the government decided"
    assert join_lines(["a well-", "known place"], words) == "a well-known place"
    assert join_lines(["the har\u0002", "bour wall"], words) == "the harbour wall"
    assert join_lines(["from 2019-", "2020 on"], words) == "from 2019-2020 on"
    assert join_lines(["one line", "another"], words) == "one line another"
    assert join_lines(["東京都の", "人口"], words) == "東京都の人口"


def test_clean_text() -> None:
    assert clean("scienti\ufb01c") == ("scientific", 0)
    assert clean("co\u00adoperate") == ("cooperate", 0)
    assert clean("a\x00b\ud800c") == ("abc", 2)
    assert clean("\uf0b7 item") == ("• item", 0)
    assert clean("two\u00a0 words") == ("two words", 0)


def test_right_to_left_rows_are_in_logical_order(tmp_path: Path) -> None:
    from services.parsers.pdf_layout import Segment, _in_line

    def segment(text: str, left: float, order: int) -> Segment:
        return Segment(text, left, 10, left + 50, 20, 10, False, False, order)

    line = _in_line([segment("שלום", 300, 0), segment("עולם", 200, 1)])
    assert [one.text for one in line] == ["שלום", "עולם"]


def test_vertical_columns_are_read_from_the_right(tmp_path: Path) -> None:
    """Vertical Japanese in a font that is neither embedded nor, in general, installed."""
    columns = ("わたくしといふ現象は", "ひとつの青い照明です")
    content = "BT /F1 12 Tf "
    for number, text in enumerate(columns):
        content += f"1 0 0 1 {500 - 30 * number} 700 Tm <{text.encode('utf-16-be').hex()}> Tj "
    writer = pypdf.PdfWriter()
    page = writer.add_blank_page(600, 800)
    descendant = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/CIDFontType0"),
            NameObject("/BaseFont"): NameObject("/Ryumin-Light"),
            NameObject("/CIDSystemInfo"): DictionaryObject(
                {
                    NameObject("/Registry"): pypdf.generic.TextStringObject("Adobe"),
                    NameObject("/Ordering"): pypdf.generic.TextStringObject("Japan1"),
                    NameObject("/Supplement"): NumberObject(2),
                }
            ),
            NameObject("/DW"): NumberObject(1000),
        }
    )
    font = DictionaryObject(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type0"),
            NameObject("/BaseFont"): NameObject("/Ryumin-Light-UniJIS-UCS2-V"),
            NameObject("/Encoding"): NameObject("/UniJIS-UCS2-V"),
            NameObject("/DescendantFonts"): ArrayObject([writer._add_object(descendant)]),
        }
    )
    stream = pypdf.generic.DecodedStreamObject()
    stream.set_data(content.encode() + b"ET")
    page[NameObject("/Resources")] = DictionaryObject(
        {NameObject("/Font"): DictionaryObject({NameObject("/F1"): writer._add_object(font)})}
    )
    page[NameObject("/Contents")] = writer._add_object(stream)
    data = io.BytesIO()
    writer.write(data)
    path = tmp_path / "vertical.pdf"
    path.write_bytes(data.getvalue())
    assert parse(path, "vertical.pdf").text.splitlines() == list(columns)
