"""What models invent is dropped, what people say is kept."""

from __future__ import annotations

import pytest

from services.speech import Utterance
from services.speech.invented import is_invented, without_loops


@pytest.mark.parametrize(
    "line",
    [
        "Untertitel der Amara.org-Community",
        "Untertitelung des ZDF für funk, 2017",
        "Sous-titres réalisés par la communauté d'Amara.org",
        "Subtitles by the Amara.org community",
        "[Music]",
        "♪ ♪",
        " ... ",
    ],
)
def test_credits_and_signs_are_never_speech(line: str) -> None:
    assert is_invented(line, -0.1, 0.0)


@pytest.mark.parametrize("line", ["Thank you for watching!", "Vielen Dank fürs Zuschauen.", "You"])
def test_farewells_are_dropped_where_nobody_seems_to_speak(line: str) -> None:
    assert is_invented(line, -0.9, 0.1)
    assert is_invented(line, -0.3, 0.6)
    assert not is_invented(line, -0.3, 0.05)


@pytest.mark.parametrize("line", ["Thank you for watching the harbour.", "12", "Subtitles help."])
def test_other_sentences_stay(line: str) -> None:
    assert not is_invented(line, -0.5, 0.5)


def test_of_a_line_that_repeats_itself_two_are_kept() -> None:
    said = [Utterance(n, n + 1, text) for n, text in enumerate(["a", *["b"] * 5, "a"])]
    kept, dropped = without_loops(said)
    assert [utterance.text for utterance in kept] == ["a", "b", "b", "a"]
    assert dropped == 3
