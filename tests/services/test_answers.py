"""Extractive answers: verbatim, cited, in order, and a plain no where the sources are silent."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.answers import MAX_CITATIONS, NOT_FOUND, QUOTE_CHARS, extractive_answer
from services.chunking import chunk_document, passage_text
from services.embeddings import Embedder, get_embedder, prepare
from services.models import Answer, Block, Document, Hit, SearchResult

Ask = Callable[..., Answer]

WELLS = Document(
    title="Wells 2024",
    blocks=[
        Block(kind="heading", level=1, text="Wells", headings=["Wells"]),
        Block(kind="heading", level=2, text="North", headings=["Wells", "North"]),
        Block(
            text="Well ZX-4417-B gave 63.8 mg/l nitrate in March 2024. It was drilled by Ada Holm. "
            "Sampling is done twice a year.",
            headings=["Wells", "North"],
            page=3,
            page_label="iii",
        ),
        Block(kind="heading", level=2, text="South", headings=["Wells", "South"]),
        Block(text="The south field has no wells.", headings=["Wells", "South"], page=4),
    ],
).settle()
BRIDGE = Document(
    title="Größe",
    blocks=[Block(text="Die Brücke wurde 1931 gebaut. Sie ist 412 Meter lang.")],
).settle()
SALES = Document(
    title="Sales",
    blocks=[
        Block(
            kind="table",
            text="Region | 2022 | 2023\nNorth | 14.2 | 15.1\nSouth | 9.8 | 11.0\n"
            "Total | 24.0 | 26.1",
            page=7,
            header_rows=1,
        )
    ],
).settle()


def hits(question: str, documents: list[Document], embedder: Embedder | None) -> SearchResult:
    """All passages of a few documents, ranked as search would."""
    counter = get_embedder()
    found: list[Hit] = []
    for number, document in enumerate(documents):
        for chunk in chunk_document(document, counter.count_tokens, title=document.title):
            cosine = None
            if embedder is not None:
                vector = embedder.embed_passages(
                    [passage_text(document.title, chunk.headings, chunk.text)]
                )[0]
                cosine = float(vector @ embedder.embed_query(question))
            shared = len(set(question.lower().strip("?").split()) & set(chunk.text.lower().split()))
            found.append(
                Hit(
                    source_id=f"s{number}",
                    source_name=document.title,
                    revision="r",
                    chunk_id=f"s{number}c{chunk.index}",
                    score=min(0.2 * min(shared, 5) / 5 + 0.8 * max(cosine or 0.0, 0.0), 1.0)
                    if cosine is not None
                    else shared / 10,
                    cosine=cosine,
                    text_score=float(shared) or None,
                    chunk=chunk,
                )
            )
    found.sort(key=lambda hit: -hit.score)
    return SearchResult(query=question, mode="hybrid" if embedder else "text", hits=found)


@pytest.fixture(params=["text", "hash", pytest.param("local", marks=pytest.mark.model)])
def ask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Asks documents without an embedder, with the hash embedder and with the bundled one."""
    if request.param == "local":
        monkeypatch.setenv("HALO_EMBEDDER", "local")
        prepare()
    embedder = None if request.param == "text" else get_embedder()

    def run(question: str, *documents: Document, **options: int) -> Answer:
        result = hits(question, list(documents), embedder)
        return extractive_answer(question, result, embedder, **options)

    return run


@pytest.mark.parametrize("question", ["???!!...", "😀🎉", "*** ---"])
def test_a_question_without_words_is_not_answered(ask: Ask, question: str) -> None:
    answer = ask(question, WELLS)
    assert not answer.grounded
    assert "no_words" in [notice.code for notice in answer.notices]


def test_references_of_a_source_are_not_taken_for_citations(ask: Ask) -> None:
    text = "Earlier work by Smith [2] put the heron count at 40 birds in 2020 [1]."
    document = Document(title="Herons", blocks=[Block(text=text, page=1)]).settle()
    answer = ask("What was the heron count in 2020?", document)
    assert answer.claims[0].text == text
    assert re.findall(r"\[(\d)\]", answer.text) == ["1"]
    assert answer.text.replace("\u2060", "") == f"{text} [1]"


def check(answer: Answer, *documents: Document) -> None:
    """What holds for every answer."""
    assert answer.answered_by == "extractive"
    assert len(answer.citations) <= MAX_CITATIONS
    assert [citation.number for citation in answer.citations] == list(
        range(1, len(answer.citations) + 1)
    )
    at = -1
    for citation in answer.citations:
        document = documents[int(citation.source_id[1:])]
        assert 0 < len(citation.quote) <= QUOTE_CHARS
        assert document.text[citation.start : citation.end] == citation.quote
        first = answer.text.find(f"[{citation.number}]")
        assert first > at
        at = first
    for claim in answer.claims:
        assert claim.citations
        assert claim.text in answer.text
        assert claim.support == "supported"


def test_the_sentence_that_answers_is_quoted_with_its_place(ask: Ask) -> None:
    answer = ask("How much nitrate did well ZX-4417-B give?", WELLS, BRIDGE)
    check(answer, WELLS, BRIDGE)
    assert answer.grounded
    first = answer.citations[0]
    assert answer.text.startswith("Well ZX-4417-B gave 63.8 mg/l nitrate in March 2024. [1]")
    assert "63.8" in first.quote
    assert (first.page, first.page_label, first.headings) == (3, "iii", ["Wells", "North"])
    assert first.support == "supported"


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Who won the 1987 chess championship of Peru?", "en"),
        ("What is the capital of Mongolia?", "en"),
        ("Wer gewann 1987 die Schachmeisterschaft von Peru?", "de"),
        ("Wie hoch ist der Umsatz von Siemens im Jahr 2019?", "de"),
    ],
)
def test_what_the_sources_do_not_hold_is_refused(ask: Ask, question: str, language: str) -> None:
    answer = ask(question, WELLS, BRIDGE)
    assert not answer.grounded
    assert answer.text == NOT_FOUND[language]
    assert (answer.citations, answer.claims) == ([], [])
    assert 0 < len(answer.looked_at) <= 5
    for looked in answer.looked_at:
        document = (WELLS, BRIDGE)[int(looked.source_id[1:])]
        assert document.text[looked.start : looked.end] == looked.quote


def test_german_questions_on_german_sources(ask: Ask) -> None:
    answer = ask("Wie lang ist die Brücke?", WELLS, BRIDGE)
    check(answer, WELLS, BRIDGE)
    assert answer.grounded
    assert "412 Meter" in answer.text


PLANT = Document(
    title="Board memo",
    blocks=[
        Block(text="Tarrin N.V. · Board memo · Confidential"),
        Block(text="For 2026 Tarrin expects an operating margin between 13.0 % and 13.8 %."),
        Block(text="The operating margin of Tarrin was 12.6 % in 2025, after 11.3 % in 2024."),
        Block(text="The chief executive officer opens the meeting, the others follow."),
    ],
).settle()


def test_a_figure_of_the_year_asked_for_leads(ask: Ask) -> None:
    answer = ask("What was the operating margin of Tarrin in 2025?", PLANT)
    assert answer.text.startswith("The operating margin of Tarrin was 12.6 % in 2025")
    assert "Confidential" not in answer.text, "a running title says nothing"


@pytest.mark.model
def test_what_is_asked_of_somebody_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_EMBEDDER", "local")
    prepare()
    embedder = get_embedder()
    for question in ("Who is the chief executive officer?", "When was Tarrin founded?"):
        assert not extractive_answer(question, hits(question, [PLANT], embedder), embedder).grounded


def test_the_mark_of_a_list_item_is_not_part_of_the_answer(ask: Ask) -> None:
    slide = Document(blocks=[Block(kind="list", text="- Orders rose to 41 machines")]).settle()
    answer = ask("How many machines were ordered: orders?", slide)
    assert answer.text.startswith("Orders rose to 41 machines [1]")


def test_nothing_to_read_is_a_refusal(ask: Ask) -> None:
    answer = ask("What is there?")
    assert not answer.grounded
    assert answer.looked_at == []


def test_a_table_row_is_read_with_its_heads(ask: Ask) -> None:
    answer = ask("What was the total of sales in 2023?", SALES)
    check(answer, SALES)
    assert answer.grounded
    assert "Total — 2022: 24.0; 2023: 26.1" in answer.text
    quote = answer.citations[0].quote
    assert quote.startswith("Region | 2022 | 2023")
    assert "Total | 24.0 | 26.1" in quote
    assert answer.citations[0].page == 7


def test_the_text_under_a_heading_answers_not_the_heading(ask: Ask) -> None:
    document = Document(
        title="Manual",
        blocks=[
            Block(
                kind="heading", level=1, text="Safety of the pump", headings=["Safety of the pump"]
            ),
            Block(text="Wear gloves at all times.", headings=["Safety of the pump"]),
            Block(kind="heading", level=1, text="Prices", headings=["Prices"]),
            Block(text="The motor costs 80 euros.", headings=["Prices"]),
        ],
    ).settle()
    answer = ask("Safety of the pump", document)
    check(answer, document)
    assert answer.text.startswith("Wear gloves at all times. [1]")


def test_the_same_sentence_in_two_sources_is_said_once(ask: Ask) -> None:
    text = "The bridge over the Tamina is 417 metres long. It is made of concrete."
    one = Document(title="A", blocks=[Block(text=text)]).settle()
    two = Document(title="B", blocks=[Block(text=text)]).settle()
    answer = ask("How long is the bridge over the Tamina?", one, two)
    check(answer, one, two)
    assert answer.text.count("417 metres") == 1


def test_fewer_citations_on_request(ask: Ask) -> None:
    pumps = [
        Document(
            title=f"Pump {n}",
            blocks=[Block(text=f"Pump number {n} in hall {n} costs {n * 7} euros.")],
        ).settle()
        for n in range(2, 14)
    ]
    assert len(ask("What does the pump cost?", *pumps).citations) <= 5
    assert len(ask("What does the pump cost?", *pumps, max_citations=2).citations) <= 2
    assert len(ask("What does the pump cost?", *pumps, max_citations=99).citations) <= 8


def test_sentences_of_one_source_keep_their_order(ask: Ask) -> None:
    document = Document(
        title="Tamina bridge",
        blocks=[
            Block(text="Construction of the Tamina bridge began in March 2013.", page=1),
            Block(text="Goats live in the valley. They eat grass.", page=2),
            Block(text="Construction of the Tamina bridge ended in June 2017.", page=9),
        ],
    ).settle()
    answer = ask("When did construction of the Tamina bridge begin and end?", document)
    check(answer, document)
    assert answer.text.index("2013") < answer.text.index("2017")
    assert "Goats" not in answer.text


def test_a_long_passage_gives_short_quotes(ask: Ask) -> None:
    sentences = [
        f"Pump {n} moves {n * 13} litres of water a minute in hall {n}." for n in range(60)
    ]
    document = Document(title="Pumps", blocks=[Block(text=" ".join(sentences))]).settle()
    answer = ask("How much water does pump 41 move?", document)
    check(answer, document)
    assert "533 litres" in answer.text
    assert len(answer.claims) <= 5


@pytest.mark.model
def test_across_languages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_EMBEDDER", "local")
    prepare()
    embedder = get_embedder()

    def run(question: str) -> Answer:
        return extractive_answer(question, hits(question, [WELLS, BRIDGE], embedder), embedder)

    assert "412 Meter" in run("How long is the bridge?").text
    assert "63.8" in run("Wie viel Nitrat enthielt der Brunnen im März 2024?").text
    assert not run("How old was Napoleon when he was crowned emperor?").grounded
    assert not run("Welche Sprache wird in Brasilien gesprochen?").grounded


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.text(min_size=1, max_size=120), min_size=1, max_size=6),
    st.text(min_size=1, max_size=60),
    st.booleans(),
)
def test_any_text_gives_verbatim_quotes(texts: list[str], question: str, embed: bool) -> None:
    document = Document(title="T", blocks=[Block(text=text) for text in texts]).settle()
    embedder = get_embedder() if embed else None
    answer = extractive_answer(question, hits(question, [document], embedder), embedder)
    for citation in answer.citations:
        assert document.text[citation.start : citation.end].split() == citation.quote.split()
    for looked in answer.looked_at:
        assert looked.quote.strip()


def test_choosing_sentences_is_quick() -> None:
    text = " ".join(f"Pump {n} of hall {n % 7} moves {n * 13} litres a minute." for n in range(400))
    documents = [Document(title=f"D{n}", blocks=[Block(text=text)]).settle() for n in range(3)]
    question = "How much water does pump 41 of hall 6 move?"
    result = hits(question, documents, None)
    result.hits = result.hits[:12]
    began = time.thread_time()
    extractive_answer(question, result, None)
    assert time.thread_time() - began < 2
