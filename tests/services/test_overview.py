"""Questions for the whole: every source is heard, each sentence with its citation."""

from __future__ import annotations

import pytest

from services import answering
from services.intake import Incoming
from services.overview import MOST, overview
from services.questions import asks_for_the_whole
from services.storage import load_sources
from tests.services.conftest import Library

TEXT = "The {name} report is about {thing} in the northern plants. It has no other subject at all."


def read(library: Library, count: int) -> None:
    things = ("water", "steam", "salt")
    files = [
        Incoming(f"Report {n}.txt", TEXT.format(name=n, thing=things[n % 3]).encode())
        for n in range(count)
    ]
    library.add_files(files)


@pytest.mark.parametrize(
    "question",
    [
        "What is this about?",
        "what are the documents about",
        "Summarise the sources, please.",
        "Give me a short overview",
        "What are the main points?",
        "Worum geht es hier?",
        "Fasse die Quellen kurz zusammen",
        "Wovon handelt das Dokument?",
        "Was sind die wichtigsten Aussagen?",
    ],
)
def test_questions_for_the_whole_are_told(question: str) -> None:
    assert asks_for_the_whole(question)


@pytest.mark.parametrize(
    "question",
    [
        "What is the report on margins about?",
        "What does the memo say about Brno?",
        "Summarise the outlook for 2026",
        "What is the main risk?",
        "Worum geht es beim Werk in Brünn?",
        "Fasse die Risiken zusammen",
        "",
        "???",
    ],
)
def test_questions_for_something_are_not(question: str) -> None:
    assert not asks_for_the_whole(question)


def test_every_source_is_heard(library: Library) -> None:
    read(library, 3)
    answer = answering.answer_question(library.workspace, "What is this about?")
    assert answer.grounded
    assert {c.source_name for c in answer.citations} == {
        "Report 0.txt",
        "Report 1.txt",
        "Report 2.txt",
    }
    assert [c.number for c in answer.citations] == list(range(1, len(answer.citations) + 1))
    assert all(claim.support == "supported" for claim in answer.claims)
    assert all(f"[{c.number}]" in answer.text for c in answer.citations)


def test_of_many_sources_the_longest_are_heard_and_that_is_said(library: Library) -> None:
    read(library, MOST + 2)
    answer = overview(library.workspace, load_sources(library.workspace))
    assert len(answer.citations) == MOST
    assert [notice.code for notice in answer.notices] == ["overview_part"]


def test_a_name_with_markup_stays_a_name(library: Library) -> None:
    library.add_files([Incoming("*a* [x](b) `c`.txt", TEXT.format(name=1, thing="salt").encode())])
    answer = overview(library.workspace, load_sources(library.workspace))
    assert r"**\*a\* \[x\](b) \`c\`.txt**" in answer.text
