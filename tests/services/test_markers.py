"""Citations in streamed text: the same however it was split, and never half a marker."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.markers import MarkerStream
from services.written import Written

ALLOWED = range(1, 41)


def whole(text: str) -> Written:
    return split(text, [])


def split(text: str, cuts: list[int]) -> Written:
    written = Written(ALLOWED)
    for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        written.feed(text[start:end])
    written.close()
    return written


@pytest.mark.parametrize(
    ("told", "shown", "numbers"),
    [
        ("It fell [1].", "It fell [1].", [1]),
        ("It fell [1, 2] and [3][4].", "It fell [1][2] and [3][4].", [1, 2, 3, 4]),
        ("It fell【3】.", "It fell[3].", [3]),
        ("It fell 【3†source】.", "It fell [3].", [3]),
        ("It fell [^2].", "It fell [2].", [2]),
        ("It fell (source 1).", "It fell [1].", [1]),
        ("It fell (Sources 1 and 2).", "It fell [1][2].", [1, 2]),
        ("Es fiel (siehe Quellen 1, 3).", "Es fiel [1][3].", [1, 3]),
        ("Es fiel [Quelle 2].", "Es fiel [2].", [2]),
        ("It fell [Source: 2; 4].", "It fell [2][4].", [2, 4]),
        ("It fell [2-4].", "It fell [2][3][4].", [2, 3, 4]),
        ("It fell [30].", "It fell [30].", [30]),
        ("It fell [1, 99].", "It fell [1].", [1]),
        ("It fell [99]. It rose [0].", "It fell. It rose.", []),
        ("It fell (source 77), then rose.", "It fell, then rose.", []),
        ("In [2024] it fell.", "In [2024] it fell.", []),
        ("(1) first (2) second", "(1) first (2) second", []),
        ("pages [1-200]", "pages [1-200]", []),
        ("see [1](https://x.org) and [the page](https://x.org/[2])", None, []),
        ("`a[1]` and ``b[2] ` ``", None, []),
        ("not code ` here [1]", "not code ` here [1]", [1]),
        ("```py\nx = a[99]\n```\nend [2]", None, [2]),
        ("> ~~~\n> a[1]\n> ~~~\n\nend [2]", None, [2]),
        ("1. ```\n   a[1]\n   ```", None, []),
        (r"escaped \[1] stays", None, []),
        ("- [1] first", "- [1] first", [1]),
        ("[unclosed [1]", "[unclosed [1]", [1]),
        ("(a long remark about sources 1", None, []),
        ("[", None, []),
        ("text [1", None, []),
    ],
)
def test_forms(told: str, shown: str | None, numbers: list[int]) -> None:
    written = whole(told)
    if "x.org/[2]" in told:
        assert written.text.startswith("see [1](https://x.org)")
        return
    assert written.text == (told if shown is None else shown)
    assert [n for _, _, group in written.markers for n in group] == numbers
    for start, end, group in written.markers:
        assert written.text[start:end] == "".join(f"[{n}]" for n in group)


PARTS = [
    "[1]", "[1, 2]", "[1][2]", "【3】", "【3†source】", "[^2]", "(source 1)", "(Quellen 1 und 2)",
    "[99]", "[1-3]", "[2024]", "[source 4]", "[12](https://x.org)", "`x[1]`", "``", "`", "```",
    "\n```py\na[1]\n```\n", "\n~~~\nb[2]\n", "\\[1]", "\\", "[", "]", "(", ")", "【", "】", "\n",
    "\n\n", " ", "      ", "\t", "word", "Der Umsatz fiel", "- ", "1. ", "> ", "12", ".", ",",
    "see ", "<think>", "</think>", "<", "a<b", "sources 1", "[see 2]", "[1, ", "9]", "^", "†",
    "日本語", "(", "S", "e",
]  # fmt: skip


def test_ten_thousand_random_splits_give_the_same_citations() -> None:
    dice = random.Random(7)
    for _ in range(500):
        text = "".join(dice.choice(PARTS) for _ in range(dice.randint(1, 30)))
        expected = whole(text)
        for _ in range(20):
            cuts = sorted(dice.choices(range(len(text) + 1), k=dice.randint(0, 2 * len(text))))
            found = split(text, cuts)
            assert (found.text, found.markers) == (expected.text, expected.markers), (text, cuts)


@given(st.text(alphabet="[]()【】^`~\\ \n12,-source<>/think†a", max_size=60))
@settings(max_examples=300, deadline=None)
def test_letter_by_letter_is_the_same_and_shows_no_half_marker(text: str) -> None:
    expected = whole(text)
    written = Written(ALLOWED)
    for letter in text:
        written.feed(letter)
    written.close()
    assert (written.text, written.markers) == (expected.text, expected.markers)


def test_half_a_marker_is_never_given_out() -> None:
    for told in ("It fell [1, 2] then", "It fell (source 12) then", "It fell 【12†source】 then"):
        stream = MarkerStream(ALLOWED)
        seen = ""
        for letter in told:
            seen += stream.feed(letter)
            assert not re.search(r"\[[^\]]*$|\([^)]*$|【[^】]*$", seen), seen


@pytest.mark.parametrize(
    "unit", ["[", "(", "【1", "`", "``` ", " ", "[1", "1", "- ", "\\", "(s", ">"]
)
def test_work_grows_with_the_length_only(unit: str) -> None:
    def steps(length: int) -> int:
        count = 0
        stream = MarkerStream(ALLOWED)
        real = stream._step

        def counted(text: str, at: int, final: bool) -> object:
            nonlocal count
            count += 1 + min(len(text) - at, 2_000) // 100
            return real(text, at, final)

        stream._step = counted  # type: ignore[method-assign, assignment]
        for _ in range(length):
            stream.feed(unit)
            assert len(stream._rest) <= 2_500
        stream.close()
        return count

    assert steps(4_000) <= 4.5 * steps(1_000)


@pytest.mark.parametrize(
    ("told", "shown"),
    [
        ("<think>Let me see [1]</think>\n\nIt fell [2].", "It fell [2]."),
        ("  <thinking>\nhm\n</thinking>It fell.", "It fell."),
        ("Let me see [1]\n</think>\n\nIt fell [2].", "It fell [2]."),
        ("<think>never ends", ""),
        ("a < b and <b>c</b>", "a < b and <b>c</b>"),
    ],
)
def test_thoughts_are_left_out(told: str, shown: str) -> None:
    assert whole(told).text == shown
    letters = split(told, list(range(1, len(told))))
    assert letters.text == shown
