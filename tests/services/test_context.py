"""The surroundings of a passage: sections, room, tables, captions, merging."""

from __future__ import annotations

from services.context import Context, expand
from services.models import Block, Chunk, Document, Hit

SENTENCE = "The pump of well {} held its pressure through the whole test in March."


def document(*blocks: Block) -> Document:
    """A settled document whose blocks know the headings above them."""
    path: list[tuple[int, str]] = []
    for block in blocks:
        if block.kind == "heading":
            level = block.level or 1
            path = [item for item in path if item[0] < level]
            block.headings = [title for _, title in path]
            path.append((level, block.text))
        else:
            block.headings = [title for _, title in path]
    return Document(blocks=list(blocks)).settle()


def heading(text: str, level: int = 1) -> Block:
    return Block(kind="heading", text=text, level=level)


def paragraph(number: int, sentences: int = 1, page: int | None = None) -> Block:
    return Block(text=" ".join([SENTENCE.format(number)] * sentences), page=page)


def hit_on(found: Document, words: str) -> Hit:
    """A hit on exactly these words of a document."""
    start = found.text.index(words)
    chunk = Chunk(index=0, text=words, char_start=start, char_end=start + len(words))
    return Hit(
        source_id="s", source_name="Report", revision="r", chunk_id=words, score=1.0, chunk=chunk
    )


def around(found: Document, *words: str, room: int = 1_000) -> list[Context]:
    return expand([hit_on(found, each) for each in words], lambda hit: found, room)


def test_a_section_that_fits_is_shown_whole_with_its_heading() -> None:
    text = document(
        heading("One"), paragraph(1, 8), heading("Two"), *(paragraph(n, 2) for n in range(4))
    )
    (context,) = around(text, SENTENCE.format(2))
    assert context.text.startswith("Two\n\n")
    assert all(SENTENCE.format(n) in context.text for n in range(4))
    assert context.text == text.text[context.start : context.end]
    assert context.headings == []  # it begins with the heading itself


def test_a_long_section_grows_outward_from_the_passage_by_whole_blocks() -> None:
    text = document(heading("Long"), *(paragraph(n, 3) for n in range(40)))
    (context,) = around(text, SENTENCE.format(20))
    numbers = [n for n in range(40) if SENTENCE.format(n) in context.text]
    assert numbers == list(range(numbers[0], numbers[-1] + 1))
    assert numbers[0] < 20 < numbers[-1]
    assert len(context.text) <= 1_000
    assert context.text.endswith("March.")
    assert context.headings == ["Long"]


def test_a_tiny_section_takes_its_neighbours_along() -> None:
    text = document(
        heading("Part"),
        heading("Before", 2),
        paragraph(1, 2),
        heading("Tiny", 2),
        Block(text="None."),
        heading("After", 2),
        paragraph(3, 2),
    )
    (context,) = around(text, "None.")
    assert SENTENCE.format(1) in context.text
    assert SENTENCE.format(3) in context.text


def test_a_table_stays_whole_with_its_caption() -> None:
    rows = "\n".join(["well | bar", *(f"W{n} | {n}" for n in range(12))])
    table = Block(kind="table", text=rows, header_rows=1)
    caption = Block(kind="caption", text="Table 3: pressures by well, in bar, at noon.")
    text = document(heading("Data"), *(paragraph(n, 3) for n in range(9)), caption, table)
    (context,) = around(text, SENTENCE.format(8), room=700)
    assert ("W11 | 11" in context.text) == ("Table 3" in context.text)
    (context,) = around(text, "W7 | 7", room=700)
    assert rows in context.text


def test_a_table_that_is_too_long_shows_the_rows_around_under_its_head() -> None:
    rows = "\n".join(["well | bar", *(f"W{n} | {n}" for n in range(900))])
    text = document(Block(kind="table", text=rows, header_rows=1, sheet="Wells"))
    (context,) = around(text, "W500 | 500", room=300)
    lines = context.text.split("\n")
    assert lines[0] == "well | bar"
    assert "W500 | 500" in lines
    assert all(line in rows.split("\n") for line in lines), "no row is cut"
    assert 200 < len(context.text) <= 320
    assert context.sheet == "Wells"


def test_a_paragraph_that_is_too_long_is_cut_at_sentences() -> None:
    long = " ".join(SENTENCE.format(n) for n in range(200))
    (context,) = around(document(Block(text=long)), SENTENCE.format(100), room=500)
    assert SENTENCE.format(100) in context.text
    assert context.text.startswith("The pump")
    assert context.text.endswith("March.")
    assert len(context.text) <= 500


def test_what_overlaps_is_one_context_and_keeps_its_pages() -> None:
    text = document(heading("All"), *(paragraph(n, 1, page=n + 1) for n in range(6)))
    contexts = around(text, SENTENCE.format(4), SENTENCE.format(1))
    (context,) = contexts
    assert context.hits == [0, 1]
    assert (context.page, context.page_end) == (1, 6)


def test_what_lies_apart_stays_apart_in_the_order_of_the_hits() -> None:
    parts = [block for n in range(6) for block in (heading(f"Part {n}"), paragraph(n, 10))]
    contexts = around(document(*parts), SENTENCE.format(5), SENTENCE.format(0), room=750)
    assert [context.hits for context in contexts] == [[0], [1]]
    assert contexts[0].start > contexts[1].end


def test_another_sheet_or_slide_is_never_reached() -> None:
    sheets = [
        Block(kind="table", text=f"{name}\nvalue {name}", sheet=name, header_rows=1)
        for name in ("North", "South")
    ]
    (context,) = around(document(*sheets), "value South", room=5_000)
    assert "North" not in context.text
