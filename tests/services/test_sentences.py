"""Sentences: where they end, what a unit is, and that every unit is a slice of the text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.sentences import LONGEST, split_sentences


def texts(text: str) -> list[str]:
    return [unit.text for unit in split_sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One here. Two here! Three?", ["One here.", "Two here!", "Three?"]),
        ("Mr. Smith met Dr. Jones. They left.", ["Mr. Smith met Dr. Jones.", "They left."]),
        ("It rose 3.5 percent. Then 1,234.5 fell.", ["It rose 3.5 percent.", "Then 1,234.5 fell."]),
        ("The U.S. Army left. It won.", ["The U.S. Army left.", "It won."]),
        ("He moved to the U.S. The war went on.", ["He moved to the U.S.", "The war went on."]),
        ("Written by J. K. Rowling in 1997.", ["Written by J. K. Rowling in 1997."]),
        ("Acme Inc. paid Bolt Ltd. in full.", ["Acme Inc. paid Bolt Ltd. in full."]),
        ("He said “Go.” She went.", ["He said “Go.”", "She went."]),
        ("It was built in 1931. It is long.", ["It was built in 1931.", "It is long."]),
        ("It ended.[3] A new one began.", ["It ended.[3]", "A new one began."]),
        ("Use e.g. Wells or i.e. Pumps.", ["Use e.g. Wells or i.e. Pumps."]),
        ("See halo.example.org for more. Next.", ["See halo.example.org for more.", "Next."]),
        (
            "Am 3. Oktober 1990 wurde gefeiert. Es regnete.",
            ["Am 3. Oktober 1990 wurde gefeiert.", "Es regnete."],
        ),
        (
            "Im 19. Jahrhundert wuchs die Stadt. Der 2. Weltkrieg zerstörte sie.",
            ["Im 19. Jahrhundert wuchs die Stadt.", "Der 2. Weltkrieg zerstörte sie."],
        ),
        (
            "Z. B. Kupfer, d. h. Metall, kostet ca. 3,5 Mio. Euro. Das ist viel.",
            ["Z. B. Kupfer, d. h. Metall, kostet ca. 3,5 Mio. Euro.", "Das ist viel."],
        ),
        ("„Komm!“ Sie ging.", ["„Komm!“", "Sie ging."]),
        ("第一句。第二句！第三句？", ["第一句。", "第二句！", "第三句？"]),
        ("これは本です。あれは何ですか？", ["これは本です。", "あれは何ですか？"]),
        ("यह पहला है। यह दूसरा है।", ["यह पहला है।", "यह दूसरा है।"]),
        ("ما هذا؟ هذا كتاب.", ["ما هذا؟", "هذا كتاب."]),
        ("Это раз. Это два.", ["Это раз.", "Это два."]),
        ("", []),
        (" \n\t ", []),
        ("no mark at all", ["no mark at all"]),
    ],
)
def test_sentence_ends(text: str, expected: list[str]) -> None:
    assert texts(text) == expected


def test_a_wrapped_line_goes_on() -> None:
    wrapped = (
        "The well in the north field was drilled in 1998 and\n"
        "deepened in 2004. Since then the Water Board has taken\n"
        "Samples twice a year."
    )
    assert texts(wrapped) == [
        "The well in the north field was drilled in 1998 and\ndeepened in 2004.",
        "Since then the Water Board has taken\nSamples twice a year.",
    ]


def test_list_items_headings_and_rows_are_units() -> None:
    text = (
        "# Wells\n\nNorth field\n\nThere are two wells.\n\n- the old one\n- the new one\n"
        "1. First step. Then wait.\n\nYear | mg/l\n2023 | 61.0\n2024 | 63.8"
    )
    assert [(unit.kind, unit.text) for unit in split_sentences(text)] == [
        ("heading", "# Wells"),
        ("heading", "North field"),
        ("sentence", "There are two wells."),
        ("item", "- the old one"),
        ("item", "- the new one"),
        ("item", "1. First step."),
        ("item", "Then wait."),
        ("row", "Year | mg/l"),
        ("row", "2023 | 61.0"),
        ("row", "2024 | 63.8"),
    ]


def test_a_very_long_sentence_is_cut_at_a_mark() -> None:
    long = "It holds " + ", ".join(f"part number {n} of the pump" for n in range(80)) + "."
    units = split_sentences(long)
    assert all(len(unit.text) <= LONGEST for unit in units)
    assert all(unit.text.endswith((",", ".")) for unit in units)
    assert "".join(unit.text for unit in units).replace(" ", "") == long.replace(" ", "")


@given(st.text(alphabet=st.sampled_from("aB. \n|!?。1é-#\t"), max_size=300) | st.text(max_size=300))
def test_units_are_slices_in_order_and_lose_nothing(text: str) -> None:
    at = 0
    for unit in split_sentences(text):
        assert unit.text == text[unit.start : unit.end]
        assert unit.text.strip() == unit.text != ""
        assert at <= unit.start < unit.end
        assert not text[at : unit.start].strip()
        assert len(unit.text) <= LONGEST
        at = unit.end
    assert not text[at:].strip()
