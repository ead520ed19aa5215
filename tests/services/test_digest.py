"""What a text says in short: verbatim, in place, not twice, in any language."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from services.digest import digest
from services.models import Block, Document, Source

SOURCE = Source(name="Report", revision="r")
PUMPS = (
    "Heat pumps became the largest business of the group in the past year. "
    "Orders for heat pumps rose because delivery times of heat pumps fell. "
    "The canteen of the head office serves soup on Thursdays in the winter. "
    "Service for heat pumps earned more with every contract that was signed."
)


def of(*blocks: Block | str, **options: int) -> tuple[Document, list[str], tuple[str, ...]]:
    made = [block if isinstance(block, Block) else Block(text=block) for block in blocks]
    document = Document(blocks=made).settle()
    found = digest(SOURCE, document, **options)
    for point in found.points:
        quote = point.quote
        assert document.text[quote.start : quote.end] == quote.quote
    return document, [point.quote.quote for point in found.points], found.topics


def test_central_sentences_come_first_and_strays_last() -> None:
    _, said, topics = of(PUMPS, points=4)
    assert "canteen" in said[-1]
    assert "heat pumps" in topics[0].lower()


def test_a_point_knows_its_page_and_its_headings() -> None:
    document = Document(
        blocks=[
            Block(kind="heading", text="Results", level=1, headings=["Results"]),
            Block(text=PUMPS, page=12, page_label="x", headings=["Results"]),
        ]
    ).settle()
    first = digest(SOURCE, document).points[0].quote
    assert (first.page, first.page_label, first.headings) == (12, "x", ["Results"])
    assert (first.source_name, first.revision) == ("Report", "r")


def test_of_sentences_that_say_the_same_one_is_kept() -> None:
    _, said, _ = of(PUMPS, PUMPS.replace(". ", ".\n\n"))
    assert len(said) == len({sentence.lower() for sentence in said})


def test_tables_labels_addresses_and_figures_are_no_sentences() -> None:
    _, said, _ = of(
        Block(kind="table", text="Region | 2024 | 2025\nNorth | 1 | 2\nSouth | 3 | 4"),
        "Annual Report",
        "https://example.org/some/long/address/that/is/no/sentence/at/all is here.",
        "12.4 13.5 14.6 15.7 16.8 17.9 18.1 19.2 and 20.3 or 21.4 22.5 23.6.",
    )
    assert said == []


def test_units_months_and_numbers_are_no_subjects() -> None:
    text = "Costs were EUR 3 million in March 2025. Costs were EUR 4 million in March 2024. " * 3
    _, _, topics = of(text)
    assert [topic.lower() for topic in topics] == ["costs"]


def test_german_and_chinese_texts_have_their_points() -> None:
    german = (
        "Die Wärmepumpen wurden im vergangenen Jahr zum größten Geschäft der Gruppe. "
        "Die Aufträge für Wärmepumpen stiegen, weil die Lieferzeiten der Wärmepumpen sanken."
    )
    _, said, topics = of(german)
    assert len(said) == 2 and topics[0] == "Wärmepumpen"
    _, said, _ = of(
        "热泵去年成为集团最大的业务，订单大幅增加。由于交货时间缩短，热泵的订单持续上升。"
    )
    assert said


def test_a_long_text_is_read_in_part() -> None:
    blocks = [f"{PUMPS} Section {n} ends with these words about heat pumps." for n in range(1200)]
    _, said, _ = of(*blocks)
    assert 0 < len(said) <= 5


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=200), max_size=6))
def test_any_text_gives_verbatim_points(texts: list[str]) -> None:
    of(*texts)
