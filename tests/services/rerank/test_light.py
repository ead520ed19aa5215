"""The second stage that needs no model."""

from __future__ import annotations

import numpy as np
import pytest

from services.rerank.light import likeness
from services.rerank.wording import wording
from services.search import search
from tests.services.conftest import Library


def test_words_side_by_side_count_more() -> None:
    texts = ["The report names cash and says how it did flow.", "The cash flow of the year."]
    fit = wording("cash flow", texts, ["", ""])
    assert fit.pairs.tolist() == [0, 1]
    assert fit.cover.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("Versicherungen", "Die Versicherung zahlt.", "Die Versickerung ist gut."),
        ("Häuser", "Viele HÄUSER stehen leer.", "Viele Hasen."),
        ("Krankenversicherung", "Jede Krankenversicherung zahlt.", "Der Kranke zahlt."),
        ("Versicherung", "Die Krankenversicherung zahlt.", "Die Krankenkasse zahlt."),
        ("人口増加", "東京都の人口は増加している。", "大阪の天気は晴れ。"),
        ("3.5 mg/l", "It held 3.5 mg/l of it.", "It held 5.3 kg of it."),
        ("running costs", "What it costs to run.", "The cost of the corner shop."),
    ],
)
def test_words_are_found_in_their_forms(question: str, right: str, wrong: str) -> None:
    fit = wording(question, [wrong, right, "Something else."], ["", "", ""])
    assert int(fit.words.argmax()) == 1
    assert fit.words[2] == 0


def test_a_word_inside_another_by_chance_does_not_count() -> None:
    fit = wording("art", ["The party started.", "The art of it."], ["", ""])
    assert fit.words[0] == 0
    assert wording("2023", ["In 12023 units", "In 2023"], ["", ""]).words[0] == 0


def test_the_title_counts() -> None:
    fit = wording("mercury", ["It is hot.", "It is cold."], ["Mercury", "Pluto"])
    assert fit.words.tolist() == [1, 0]


@pytest.mark.parametrize("question", ["", "?!", "the of and", "🙂", "\x00", "a" * 3000])
def test_odd_questions_give_numbers(question: str) -> None:
    fit = wording(question, ["Some text", ""], ["", "t"])
    for values in (fit.words, fit.pairs, fit.cover):
        assert values.shape == (2,)
        assert np.isfinite(values).all()


def test_likeness_leaves_out_what_has_no_vector() -> None:
    near = np.array([1.0, 0.0], np.float32)
    far = np.array([0.0, 1.0], np.float32)
    found = likeness([near, None, far, near], np.array([0.9, 0.8, 0.1, 0.7]))
    assert found[1] == found[2] == 0
    assert found[0] == found[3] > 0
    assert likeness([None], np.array([1.0])).tolist() == [0]


def test_more_is_compared_than_is_asked_for(library: Library) -> None:
    """The passage that fits best as a whole is far from the top of both lists."""
    library.add(**{f"n{n}": f"Well {n} was dug, then the well was closed." for n in range(30)})
    library.add(right="The deep well costs a lot. Whoever digs a deep well costs money.")
    found = search(library.workspace, "deep well", k=1).hits
    assert [hit.source_name for hit in found] == ["right.md"]
