"""What the Search page marks and shows of a passage."""

from __future__ import annotations

from panels.finder import excerpt, line, marked, wanted, window


def test_phrases_and_words() -> None:
    assert wanted("margin “two quarters” 13.5 a") == ["two quarters", "margin", "13.5"]


def test_marks_are_escaped() -> None:
    assert marked("a <b> margin", ["margin", "<b>"]) == "a &lt;b&gt; <mark>margin</mark>"
    assert marked("1 < 2", []) == "1 &lt; 2"


def test_a_word_is_marked_whole() -> None:
    assert marked("Shares or share", ["share"]) == "<mark>Shares</mark> or <mark>share</mark>"


def test_an_excerpt_sets_cells_apart_and_says_where_it_is_cut() -> None:
    text = "Sales\n\nTable: <2023>\n\nNet sales | 2,777 | 897"
    assert excerpt(text, ["Sales"], ["net"]) == (
        "Table: &lt;2023&gt;\n"
        '<span class="cells"><span><mark>Net</mark> sales</span><span>2,777</span>'
        "<span>897</span></span>"
    )
    cut = excerpt("word " * 200 + "margin " + "word " * 200, [], ["margin"])
    assert cut.startswith("… word") and cut.endswith("word …")
    assert excerpt("", [], ["margin"]) == ""


def test_the_window_holds_the_first_word_found() -> None:
    text = "word " * 200 + "margin " + "word " * 200
    start, end = window(text, ["margin"])
    assert "margin" in text[start:end] and end - start < 600
    assert text[start - 1] == " "
    assert window("short", ["nothing"]) == (0, 5)


def test_the_line_holds_the_first_word_found() -> None:
    text = "Cover\n\nThe margin fell.\nNothing"
    start, end = line(text, ["margin"])
    assert text[start:end] == "The margin fell."
    assert line(text, ["absent"]) == (0, 5)
    assert line("", []) == (0, 0)
