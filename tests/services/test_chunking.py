from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.chunking import (
    DEFAULT_CHUNK_OVERLAP,
    DEFAULT_CHUNK_SIZE,
    CountTokens,
    chunk_document,
    chunk_text,
    context_header,
    normalize_text,
    passage_text,
    prepare_chunks,
)
from services.models import Block, BlockKind, Chunk, Document


def words(texts: list[str]) -> list[int]:
    """Two tokens around every text, one a word or CJK character."""
    return [2 + len(re.findall(r"[\u3040-\u9fff]|[^\s\u3040-\u9fff]+", text)) for text in texts]


def quarters(texts: list[str]) -> list[int]:
    """A counter whose parts sum to less than the whole."""
    return [len(text) // 4 for text in texts]


def document(*blocks: Block) -> Document:
    return Document(blocks=list(blocks)).settle()


def pieces(chunk: Chunk) -> list[str]:
    ends = [*chunk.piece_starts[1:], len(chunk.text)]
    parts = [chunk.text[a:b] for a, b in zip(chunk.piece_starts, ends, strict=True)]
    return [*(re.sub(r"\n{1,2}\Z", "", part) for part in parts[:-1]), parts[-1]]


def check(
    doc: Document,
    chunks: list[Chunk],
    count: CountTokens = words,
    max_tokens: int = 320,
    title: str = "",
) -> None:
    text = doc.text
    covered = bytearray(len(text))
    for number, chunk in enumerate(chunks):
        assert chunk.index == number
        assert chunk.text.strip()
        assert count([passage_text(title, chunk.headings, chunk.text)])[0] <= max_tokens
        lengths = {
            len(chunk.block_ids),
            len(chunk.piece_starts),
            len(chunk.piece_chars),
            len(chunk.piece_pages),
            len(chunk.piece_labels),
        }
        assert len(lengths) == 1
        for at, piece, block_id in zip(
            chunk.piece_chars, pieces(chunk), chunk.block_ids, strict=True
        ):
            assert piece == text[at : at + len(piece)]
            block = doc.blocks[int(block_id[1:])]
            assert block.start <= at and at + len(piece) <= block.end
            covered[at : at + len(piece)] = b"\1" * len(piece)
    missing = [text[i] for i, seen in enumerate(covered) if not seen and not text[i].isspace()]
    assert not missing
    assert [c.char_start for c in chunks] == sorted(c.char_start for c in chunks)


SENTENCES = st.lists(
    st.sampled_from(
        [
            "The pump runs at 42.7 bar.",
            "Is it so?",
            "東京都の人口は増加している。",
            "Nein!",
            "a" * 90 + ".",
            "Ein sehr langer Satz, der " + "immer weiter und " * 30 + "geht.",
            "人人生而自由" * 20,
            "word",
            "e\u0301" * 30,
        ]
    ),
    min_size=1,
    max_size=14,
)


KINDS: list[BlockKind] = ["heading", "paragraph", "paragraph", "list", "table", "code"]


@st.composite
def blocks(draw: st.DrawFn) -> Block:
    kind: BlockKind = draw(st.sampled_from(KINDS))
    page = draw(st.integers(1, 3))
    path = draw(st.lists(st.sampled_from(["Part", "Section", "Detail"]), max_size=3))
    if kind == "heading":
        return Block(kind="heading", text="Heading", level=draw(st.integers(1, 4)), page=page)
    lines = draw(SENTENCES)
    if kind == "table":
        lines = ["name | value", *(f"{line} | {i}" for i, line in enumerate(lines))]
        heads = draw(st.integers(0, 2))
        return Block(kind="table", text="\n".join(lines), header_rows=heads, page=page)
    joiner = " " if kind == "paragraph" else "\n"
    return Block(kind=kind, text=joiner.join(lines), headings=path, page=page)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(blocks(), max_size=12),
    st.sampled_from([words, quarters]),
    st.integers(40, 120),
    st.sampled_from(["", "A title"]),
)
def test_pieces_tell_the_truth_whatever_the_document(
    made: list[Block], count: CountTokens, limit: int, title: str
) -> None:
    doc = document(*made)
    check(doc, chunk_document(doc, count, max_tokens=limit, title=title), count, limit, title)


def test_sections_of_level_one_and_two_never_share_a_passage() -> None:
    doc = document(
        Block(kind="heading", text="One", level=1),
        Block(kind="heading", text="Sub", level=2, headings=["One"]),
        Block(text="First.", headings=["One", "Sub"]),
        Block(kind="heading", text="Small", level=3, headings=["One", "Sub"]),
        Block(text="Second.", headings=["One", "Sub", "Small"]),
        Block(kind="heading", text="Other", level=2, headings=["One"]),
        Block(text="Third.", headings=["One", "Other"]),
    )
    chunks = chunk_document(doc, words)
    assert [chunk.text for chunk in chunks] == [
        "One\n\nSub\n\nFirst.\n\nSmall\n\nSecond.",
        "Other\n\nThird.",
    ]
    assert chunks[0].headings == ["One", "Sub"]
    check(doc, chunks)


def test_slides_and_sheets_never_share_a_passage() -> None:
    doc = document(
        Block(text="a b", slide=1), Block(text="c d", slide=2), Block(text="e", sheet="S")
    )
    chunks = chunk_document(doc, words)
    assert [(c.text, c.slide, c.sheet) for c in chunks] == [
        ("a b", 1, None),
        ("c d", 2, None),
        ("e", None, "S"),
    ]


def test_a_passage_over_a_page_break_keeps_both_pages() -> None:
    doc = document(
        Block(text="It begins here", page=4, page_label="iv"),
        Block(text="and ends there.", page=5, page_label="v"),
    )
    (chunk,) = chunk_document(doc, words)
    assert (chunk.page_start, chunk.page_end) == (4, 5)
    assert chunk.piece_pages == [4, 5] and chunk.piece_labels == ["iv", "v"]


def test_a_long_table_repeats_its_header_as_a_piece_of_its_own() -> None:
    rows = ["name | value", *(f"row {i} | {i}" for i in range(100))]
    doc = document(Block(kind="table", text="\n".join(rows), header_rows=1))
    chunks = chunk_document(doc, words, max_tokens=60)
    assert len(chunks) > 5
    assert all(chunk.text.startswith("name | value\nrow ") for chunk in chunks)
    assert chunks[1].piece_chars[0] == 0 and chunks[1].char_start > 0
    check(doc, chunks, max_tokens=60)


def test_small_tables_stay_whole_and_stay_with_their_neighbours() -> None:
    doc = document(Block(text="Before."), Block(kind="table", text="a | b\n1 | 2", header_rows=1))
    (chunk,) = chunk_document(doc, words)
    assert chunk.text == "Before.\n\na | b\n1 | 2"


def test_a_long_paragraph_is_split_at_sentences_with_one_of_overlap() -> None:
    text = " ".join(f"Sentence number {i} says something new." for i in range(60))
    doc = document(Block(text=text))
    chunks = chunk_document(doc, words, max_tokens=80)
    check(doc, chunks, max_tokens=80)
    assert all(chunk.text.endswith(".") and chunk.text.startswith("Sentence") for chunk in chunks)
    for one, two in pairwise(chunks):
        assert two.char_start < one.char_end
    sizes = words([chunk.text for chunk in chunks])
    assert min(sizes) > max(sizes) / 2, "no small rest"


def test_cjk_text_without_spaces_is_split_at_its_own_sentence_ends() -> None:
    doc = document(Block(text="東京都の人口は増加している。" * 40))
    chunks = chunk_document(doc, words, max_tokens=70)
    check(doc, chunks, max_tokens=70)
    assert all(chunk.text.endswith("。") for chunk in chunks)


def test_headings_go_with_what_follows_them() -> None:
    doc = document(
        Block(text="word " * 30),
        Block(kind="heading", text="Detail", level=3),
        Block(text="other " * 60, headings=["Detail"]),
    )
    chunks = chunk_document(doc, words, max_tokens=80)
    assert chunks[1].text.startswith("Detail\n\nother")
    check(doc, chunks, max_tokens=80)


def test_the_counter_is_asked_in_bulk() -> None:
    calls = 0

    def count(texts: list[str]) -> list[int]:
        nonlocal calls
        calls += 1
        return words(texts)

    doc = document(*(Block(text=f"Paragraph {i}. " * 50) for i in range(50)))
    chunk_document(doc, count)
    assert calls <= 4


def test_an_empty_document_has_no_passages() -> None:
    assert chunk_document(document(), words) == []
    assert chunk_document(document(Block(kind="picture", text="")), words) == []


def test_no_room_beside_the_title_is_an_error() -> None:
    with pytest.raises(ValueError, match="no room"):
        chunk_document(document(Block(text="a")), words, max_tokens=8, title="a b c d e")


def test_context_header_is_short_and_keeps_the_innermost_heading() -> None:
    assert context_header("T", ["A", "B"]) == "T > A > B"
    assert context_header("", []) == ""
    header = context_header("t" * 300, ["x" * 90, "y" * 90, "inner"])
    assert len(header) <= 160 and header.endswith("inner") and header.startswith("ttt")


def test_chunk_text_loses_no_tail() -> None:
    text = " ".join(str(i) for i in range(1003))
    windows = chunk_text(text)
    assert [len(w.split()) for w in windows][:2] == [DEFAULT_CHUNK_SIZE, DEFAULT_CHUNK_SIZE]
    assert windows[-1].endswith("1002")
    assert windows[1].split()[:75] == windows[0].split()[-DEFAULT_CHUNK_OVERLAP:]
    assert chunk_text("") == [] and chunk_text("a\n b") == ["a b"]


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (-1, 0), (5, 5), (5, 6), (5, -1)])
def test_chunk_text_refuses_sizes_without_progress(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="must be"):
        chunk_text("a b c", size, overlap)


def test_prepare_chunks_keeps_the_reference_shape() -> None:
    chunks = prepare_chunks("Title", "PDF", "one two three", {"source_id": "x"}, 2, 0)
    assert [c["text"] for c in chunks] == ["one two", "three"]
    assert chunks[1]["meta"]["chunk_index"] == "1" and chunks[1]["meta"]["chunk_count"] == "2"
    assert chunks[0]["meta"]["title"] == "Title" and chunks[0]["meta"]["source_id"] == "x"
    assert prepare_chunks("Title", "PDF", " ")[0]["text"] == "Title"


def test_normalize_text() -> None:
    assert normalize_text(" a\n\tb ") == "a b" and normalize_text(None) == ""
