"""Questions that lean on the conversation are made to stand alone; all others stay as they are."""

from __future__ import annotations

import pytest

from services.answering import answer_question
from services.followups import standalone
from services.prompt import Earlier

from .conftest import Library

REVENUE = "What was the revenue of Acme in 2022?"
UMSATZ = "Wie hoch war der Umsatz von Acme 2022?"
SOLAR = "How is solar power created?"


@pytest.mark.parametrize(
    ("before", "question", "expected"),
    [
        (REVENUE, "and in 2023?", "What was the revenue of Acme in 2023?"),
        (REVENUE, "And in fiscal year 2023?", "What was the revenue of Acme in 2023?"),
        (REVENUE, "What about the margin?", "What was the margin of Acme in 2022?"),
        (REVENUE, "And Globex?", "What was the revenue of Globex in 2022?"),
        (REVENUE, "When was it founded?", "When was it (Acme) founded?"),
        (UMSATZ, "Und die Marge?", "Wie hoch war die Marge von Acme 2022?"),
        (UMSATZ, "und 2023?", "Wie hoch war der Umsatz von Acme 2023?"),
        (UMSATZ, "Und im Jahr 2023?", "Wie hoch war der Umsatz von Acme 2023?"),
        (UMSATZ, "Wann wurde sie gegründet?", "Wann wurde sie (Acme) gegründet?"),
        (
            "Wie hoch war der Umsatz in Frankreich?",
            "und in Deutschland?",
            "Wie hoch war der Umsatz in Deutschland?",
        ),
        (
            "What was the revenue in France in 2022?",
            "and in Germany?",
            "What was the revenue in Germany in 2022?",
        ),
        ("Who rents in Berlin?", "What about Hamburg?", "Who rents in Hamburg?"),
        (SOLAR, "Are those the only steps?", f"Are those the only steps? ({SOLAR})"),
        (SOLAR, "Why?", f"Why? ({SOLAR})"),
        ("What holds ZX-4417-B?", "How old is it?", "How old is it (ZX-4417-B)?"),
        ("What is Game of Thrones?", "Who wrote it?", "Who wrote it (Game of Thrones)?"),
        ("Was kostet die Miete?", "Warum ist das so?", "Warum ist das so? (Was kostet die Miete?)"),
        (
            "Wie hoch ist die Miete?",
            "Wie steht es mit den Nebenkosten?",
            "Wie steht es mit den Nebenkosten? (Wie hoch ist die Miete?)",
        ),
    ],
)
def test_what_is_left_out_is_taken_from_the_question_before(
    before: str, question: str, expected: str
) -> None:
    assert standalone(question, [before]) == expected


@pytest.mark.parametrize(
    "question",
    [
        "What is data isolation?",
        "Is it possible to dispute penalties?",
        "How does the pump work and why is it loud?",
        "Did Emilia Clarke appear in films before she was famous?",
        "Are there any limits for nitrate?",
        "Gibt es eine Garantie auf die Batterie?",
        "In welchem Jahr wurde das Werk gebaut?",
        "Können Sie mir den Vertrag zeigen?",
        "In which year was the well closed?",
        "  nitrate ",
        "人口は?",
        "?!",
        "🙂",
    ],
)
def test_a_question_that_stands_alone_stays(question: str) -> None:
    assert standalone(question, [REVENUE]) == question
    assert standalone(question, []) == question


def test_a_chain_is_traced_back() -> None:
    asked = [REVENUE, "and in 2023?", "What about the margin?"]
    assert standalone("and Globex?".replace("and", "And"), asked) == (
        "What was the margin of Globex in 2023?"
    )


def test_a_first_question_has_nothing_to_lean_on() -> None:
    assert standalone("And in 2023?", []) == "And in 2023?"


def test_the_answer_says_what_was_searched_for(library: Library) -> None:
    library.add(
        acme="The revenue of Acme was 12 million euros in 2022 and 15 million euros in 2023.",
        globex="The revenue of Globex was 99 million euros in 2023.",
    )
    answer = answer_question(
        library.workspace, "and in 2023?", earlier=[Earlier(REVENUE, "12 million euros [1]")]
    )
    assert [n.params for n in answer.notices if n.code == "understood"] == [
        {"question": "What was the revenue of Acme in 2023?"}
    ]
    assert "15 million" in answer.text
    alone = answer_question(library.workspace, REVENUE, earlier=[Earlier(REVENUE, "x")])
    assert not [n for n in alone.notices if n.code == "understood"]
