"""What is shown of what was found: nothing twice, no source alone, and only what was asked for."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from services.answering import answer_question
from services.lance import Row
from services.models import Chunk, Source
from services.ranking import Ranked
from services.search import search
from services.spread import merged, only_in, spread

from .conftest import Library

SENTENCE = "The lease of the office ends in March and can be renewed for five more years."


def passage(number: int, source: str, text: str, score: float) -> Ranked:
    chunk = Chunk(index=number, text=text)
    return Ranked(Row(f"c{number}", source, "r", chunk, 0.0, source, text, None), score=score)


def shown(items: Sequence[Ranked]) -> list[str]:
    return [item.row.chunk_id for item in items]


def test_what_says_the_same_in_the_same_words_is_shown_once() -> None:
    found = [
        passage(0, "a", SENTENCE, 0.9),
        passage(1, "b", SENTENCE.upper().replace(".", " !"), 0.8),
        passage(2, "c", SENTENCE.replace("office", "warehouse and of the yard"), 0.7),
        passage(3, "d", "Short.", 0.6),
        passage(4, "e", "Short!", 0.5),
    ]
    assert shown(merged(found)) == ["c0", "c2", "c3"]


def test_rows_that_differ_in_a_figure_stay() -> None:
    row = "The nitrate level of the well in mg per litre as measured in spring by the office: {}"
    found = [passage(n, "a", row.format(n), 0.9 - n / 100) for n in range(4)]
    assert len(merged(found)) == 4


def test_a_source_leaves_room_for_others_that_are_nearly_as_good() -> None:
    crowd = [passage(n, "big", f"big {n}", 0.9 - n / 100) for n in range(6)]
    others = [passage(10, "b", "other b", 0.83), passage(11, "c", "other c", 0.8)]
    assert shown(spread([*crowd, *others], 4)) == ["c0", "c1", "c10", "c11"]
    far = [passage(10, "b", "other b", 0.4)]
    assert shown(spread([*crowd, *far], 4)) == ["c0", "c1", "c2", "c3"]
    assert shown(spread(crowd, 4)) == ["c0", "c1", "c2", "c3"]


def test_a_list_hears_every_source_first() -> None:
    crowd = [passage(n, "big", f"big {n}", 0.9 - n / 100) for n in range(6)]
    others = [passage(10, "b", "other b", 0.4), passage(11, "c", "other c", 0.3)]
    found = spread([*crowd, *others], 4, every_source=True)
    assert shown(found) == ["c0", "c1", "c10", "c11"]


SOURCES = [Source(name=name) for name in ("lease.pdf", "lease 2024.pdf", "Mietvertrag.docx", "x")]


@pytest.mark.parametrize(
    ("question", "names", "rest"),
    [
        ("What is the rent? only in lease.pdf", ["lease.pdf"], "What is the rent?"),
        ("Only in lease: what is the rent?", ["lease.pdf"], "what is the rent?"),
        ("What is the rent @lease", ["lease.pdf"], "What is the rent"),
        ("@lease 2024 what is the rent?", ["lease 2024.pdf"], "what is the rent?"),
        ("Was kostet es nur in “Mietvertrag”?", ["Mietvertrag.docx"], "Was kostet es ?"),
        ("nur im Dokument Mietvertrag.docx: Miete", ["Mietvertrag.docx"], "Miete"),
        ("@lease.pdf @Mietvertrag Miete", ["lease.pdf", "Mietvertrag.docx"], "Miete"),
        ("@lease", ["lease.pdf"], ""),
        ("only in leases", [], "only in leases"),
        ("write to me@lease", [], "write to me@lease"),
        ("@nobody rent", [], "@nobody rent"),
        ("is it only in summer?", [], "is it only in summer?"),
        ("@", [], "@"),
    ],
)
def test_a_question_may_confine_itself(question: str, names: list[str], rest: str) -> None:
    found, left = only_in(question, SOURCES)
    assert [source.name for source in found] == names
    assert left == rest


def test_a_search_confined_to_a_source_finds_nothing_else_and_says_so(library: Library) -> None:
    library.add(lease="The rent is 900 euros.", other="The rent of the yard is 100 euros.")
    result = search(library.workspace, "rent, only in lease")
    assert {hit.source_name for hit in result.hits} == {"lease.md"}
    assert [n.params for n in result.notices if n.code == "only_in"] == [{"names": "lease.md"}]
    answer = answer_question(library.workspace, "How much is the rent? nur in other.md")
    assert {citation.source_name for citation in answer.citations} == {"other.md"}
    assert [n.code for n in answer.notices] == ["only_in"]


def test_an_overview_confined_to_a_source_is_of_that_one(library: Library) -> None:
    text = "The {} report is about {} in the northern plants. It has no other subject at all."
    library.add(north=text.format("first", "water"), south=text.format("second", "steam"))
    both = answer_question(library.workspace, "What is this about?")
    assert len({citation.source_name for citation in both.citations}) == 2
    answer = answer_question(library.workspace, "What is this about? only in north.md")
    assert {citation.source_name for citation in answer.citations} == {"north.md"}


def test_a_question_for_a_list_looks_into_every_source(library: Library) -> None:
    many = {f"s{n}": f"Supplier {n} delivers pumps to plant {n}." for n in range(15)}
    crowd = "\n\n".join(f"# Part {n}\n\n{'Pumps suppliers list. ' * 30}" for n in range(8))
    library.add(crowd=crowd, **many)
    found = search(library.workspace, "List all suppliers of pumps", k=16, every_source=True)
    assert len({hit.source_name for hit in found.hits}) == 16
