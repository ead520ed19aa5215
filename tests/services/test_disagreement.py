"""Figures that sources give differently are named; what only looks different is not."""

from __future__ import annotations

import pytest

from services.answers import extractive_answer
from services.chunking import chunk_document
from services.embeddings import get_embedder
from services.models import Answer, Block, Document, Finding, Hit, SearchResult

QUESTION = "What was the operating margin in 2025?"


def told(question: str, *texts: str | Block) -> list[Finding]:
    """The findings of an answer from one source a text, by words alone."""
    return [n for n in answered(question, *texts).notices if n.code == "sources_differ"]


def answered(question: str, *texts: str | Block) -> Answer:
    hits = []
    for number, text in enumerate(texts):
        block = text if isinstance(text, Block) else Block(text=text)
        document = Document(title=f"Source {number}", blocks=[block]).settle()
        for chunk in chunk_document(document, get_embedder().count_tokens, title=document.title):
            hits.append(
                Hit(
                    source_id=f"s{number}",
                    source_name=document.title,
                    revision="r",
                    chunk_id=f"s{number}c{chunk.index}",
                    score=1.0,
                    text_score=1.0,
                    chunk=chunk,
                )
            )
    return extractive_answer(question, SearchResult(query=question, mode="text", hits=hits), None)


def table(text: str) -> Block:
    return Block(kind="table", text=text, header_rows=1)


def test_two_sources_with_two_figures_are_named_with_their_quotes() -> None:
    sentence = "The operating margin in 2025 was 12.6 %."
    rows = table("EUR million | 2025 | 2024\nOperating margin | 13.1 % | 11.3 %\nTax | 24 % | 25 %")
    answer = answered(QUESTION, sentence, rows)
    (found,) = [notice for notice in answer.notices if notice.code == "sources_differ"]
    numbers = {c.source_id: c.number for c in answer.citations}
    assert f"12.6 % [{numbers['s0']}]" in found.message
    assert f"13.1 % [{numbers['s1']}]" in found.message


@pytest.mark.parametrize(
    "other",
    [
        pytest.param("The operating margin in 2025 was 12.60 percent.", id="the same figure"),
        pytest.param("The operating margin in 2024 was 11.3 %.", id="another year"),
        pytest.param("The operating margin in 2025 rose by 1.3 % of sales.", id="a change"),
        pytest.param("The operating margin in 2025 lay between 12 % and 13 %.", id="a range"),
        pytest.param("The operating margin in 2025 was about 13 %.", id="rounded in words"),
        pytest.param(
            "The operating margin in 2025 of the refrigeration compressor business in Southern "
            "Europe was 9.0 %.",
            id="of something else",
        ),
        pytest.param("The operating margin in 2025 was EUR 81 million.", id="another unit"),
    ],
)
def test_what_only_looks_different_is_not_named(other: str) -> None:
    assert told(QUESTION, "The operating margin in 2025 was 12.6 %.", other) == []


def test_one_source_does_not_disagree_with_itself() -> None:
    twice = "The operating margin in 2025 was 12.6 %. The operating margin in 2025 was 13.1 %."
    assert told(QUESTION, twice) == []


def test_german_figures_are_compared_too() -> None:
    found = told(
        "Wie hoch war der Umsatz 2025?",
        "Der Umsatz 2025 betrug 648,4 Millionen Euro.",
        "Der Umsatz 2025 betrug 684,4 Millionen Euro.",
    )
    assert len(found) == 1
    assert "648,4" in found[0].message and "684,4" in found[0].message
