"""Passages of sources that the best hits name come further up."""

from __future__ import annotations

from services.lance import Row
from services.mentions import raise_named
from services.models import Chunk, Source
from services.ranking import Ranked

FILM = "In the film the girl Corliss Archer was played by Shirley Temple; Ed sang."


def found(*passages: tuple[str, str, float]) -> list[str]:
    """Names of the sources of ``(name, text, score)`` passages, best first, after raising."""
    sources = {name: Source(name=name) for name, _, _ in passages}
    ranked = [
        Ranked(
            Row(
                f"c{number}",
                sources[name].id,
                "r",
                Chunk(index=0, text=text),
                0.0,
                name,
                text,
                None,
            ),
            score=score,
        )
        for number, (name, text, score) in enumerate(passages)
    ]
    names = {source.id: name for name, source in sources.items()}
    return [names[item.row.source_id] for item in raise_named(ranked, list(sources.values()))]


def test_a_source_that_the_best_passage_names_is_raised() -> None:
    other, woman = ("Memo.pdf", "An office.", 0.6), ("Shirley Temple (actress).md", "She.", 0.55)
    assert found(("Kiss.md", FILM, 0.9), other, woman) == ["Kiss.md", woman[0], other[0]]


def test_it_never_passes_the_one_that_names_it_by_that_alone() -> None:
    assert found(("Kiss.md", FILM, 0.9), ("Shirley_Temple.md", "She.", 0.8))[0] == "Kiss.md"


def test_short_names_numbers_and_parts_of_names_mean_nothing() -> None:
    passages = [("Kiss.md", f"{FILM} In 2024 it ended.", 0.9), ("Memo.md", "An office.", 0.6)]
    passages += [(name, "She.", 0.55) for name in ("Ed.md", "2024.pdf", "Shirley Temple Black.md")]
    assert found(*passages)[1] == "Memo.md"


def test_names_that_are_common_words_mean_nothing() -> None:
    many = [(f"pump {number}.md", "A pump.", 0.5) for number in range(60)]
    said = " ".join(name.removesuffix(".md") for name, _, _ in many)
    assert found(("List.md", said, 0.9), ("Memo.md", "An office.", 0.51), *many)[1] == "Memo.md"


def test_a_source_does_not_raise_itself() -> None:
    assert found(("Report.md", "This report", 0.6), ("Memo.md", "x", 0.63))[0] == "Memo.md"
