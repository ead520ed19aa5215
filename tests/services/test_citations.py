"""Claims against their quotes, and quotes found again in newer documents."""

import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.citations import check_support, locate
from services.figures import holds_number
from services.models import Block, Document
from services.quantities import read_figures

FIXTURES = Path(__file__).parent.parent / "fixtures"

# quote, faithful paraphrases, the same with one planted error each
CASES: list[tuple[str, list[str], list[str]]] = [
    (
        "The Fram Basin holds 14 boreholes, of which nine were drilled between 1998 and "
        "2004 by the Nordic Water Authority at a cost of 3.2 million euros.",
        [
            "There are 14 boreholes in the Fram Basin.",
            "Between 1998 and 2004 the Nordic Water Authority drilled nine boreholes for "
            "3.2 million euros.",
            "Nine of the basin's fourteen boreholes date from 1998 to 2004.",
            "Drilling nine boreholes cost €3.2 million.",
        ],
        [
            "There are 41 boreholes in the Fram Basin.",
            "Between 1998 and 2006 the Nordic Water Authority drilled nine boreholes for "
            "3.2 million euros.",
            "Drilling nine boreholes cost 3.2 million dollars.",
            "Drilling nine boreholes cost 3.2 billion euros.",
            "The Nordic Water Authority did not drill boreholes between 1998 and 2004.",
            "Between 1998 and 2004 the Baltic Water Authority drilled nine boreholes.",
            "There are 14 boreholes in the Tarim Basin.",
        ],
    ),
    (
        "Dr. Lena Hofmann told the committee on 12 May 2021 that the trial had enrolled "
        "482 patients, 61 percent of them women, and that no serious side effects had "
        "been reported.",
        [
            "Lena Hofmann said the trial had 482 patients.",
            "61 % of the enrolled patients were women.",
            "According to Hofmann, no serious side effects were reported in the trial.",
            "On 12 May 2021 the committee heard from Dr. Hofmann that 482 people had "
            "been enrolled.",
            "No serious side effects had occurred, she reported to the committee.",
        ],
        [
            "On 21 May 2021 Dr. Lena Hofmann told the committee that the trial had "
            "enrolled 482 patients.",
            "Dr. Lena Hofmann told the committee on 12 May 2022 that the trial had "
            "enrolled 482 patients.",
            "Serious side effects had been reported.",
            "16 % of the enrolled patients were women.",
            "Dr. Anna Hofmann told the committee that the trial had enrolled 482 patients.",
            "61 percent of them were men.",
            "The trial had enrolled 428 patients.",
        ],
    ),
    (
        "In the second quarter of 2023 net revenue rose by 8.4 % to $1,254.6 million, "
        "while operating costs fell to $990 million.",
        [
            "Net revenue grew 8.4 percent in Q2 2023, reaching $1,254.6 million.",
            "Operating costs dropped to 990 million dollars.",
            "Revenue was about $1.25 billion in the second quarter of 2023.",
            "Costs went down to $990 million while revenue went up.",
        ],
        [
            "Net revenue fell by 8.4 % to $1,254.6 million.",
            "Net revenue rose by 4.8 % to $1,254.6 million.",
            "Net revenue rose by 8.4 % to €1,254.6 million.",
            "In the third quarter of 2023 net revenue rose by 8.4 %.",
            "Operating costs rose to $990 million.",
            "Net revenue rose by 8.4 % to $1,245.6 million.",
            "Operating costs fell to $990 thousand.",
            "In the second quarter of 2022 net revenue rose by 8.4 %.",
        ],
    ),
    (
        "Well ZX-4417-B gave 63.8 mg/l nitrate in March 2024; the limit of 50 mg/l was "
        "therefore exceeded.",
        [
            "In March 2024, nitrate in well ZX-4417-B reached 63.8 mg/l.",
            "The limit is 50 mg/l.",
            "The 50 mg/l limit was exceeded.",
            "ZX-4417-B had more nitrate than the limit of 50 mg/l allows.",
        ],
        [
            "Well ZX-4417-A gave 63.8 mg/l nitrate in March 2024.",
            "Well ZX-4417-B gave 63.8 µg/l nitrate.",
            "Well ZX-4417-B gave 63.8 mg/l nitrate in April 2024.",
            "The limit of 50 mg/l was not exceeded.",
            "Well ZX-4417-B gave 68.3 mg/l nitrate.",
            "Well ZX-4417-B gave 63.8 mg/l nitrite in March 2024.",
            "The limit of 5 mg/l was exceeded.",
        ],
    ),
    (
        "The committee did not approve the budget because the figures for Hamburg were missing.",
        [
            "The budget was not approved by the committee.",
            "Missing figures for Hamburg were the reason the committee did not approve the budget.",
            "The committee rejected the budget since Hamburg's figures were missing.",
        ],
        [
            "The committee approved the budget.",
            "The committee did not approve the budget because the figures for Bremen were missing.",
            "The figures for Hamburg were not missing.",
        ],
    ),
    (
        "Alexander Fleming discovered penicillin at St Mary's Hospital in London in "
        "September 1928, and Howard Florey and Ernst Chain developed it into a drug "
        "during the Second World War.",
        [
            "Penicillin was discovered by Alexander Fleming in 1928.",
            "Fleming made the discovery of penicillin in London.",
            "Florey and Chain turned penicillin into a medicine in the Second World War.",
            "Fleming found penicillin in September 1928 while working at St Mary's Hospital.",
        ],
        [
            "Penicillin was discovered by Louis Pasteur in 1928.",
            "Fleming discovered penicillin in Paris.",
            "Alexander Fleming discovered penicillin in October 1928.",
            "Penicillin was discovered by Alexander Fleming in 1938.",
            "Howard Florey and Marie Curie developed penicillin into a drug.",
            "Fleming discovered penicillin at Guy's Hospital.",
        ],
    ),
    (
        "The bridge over the Tamina is 417 metres long and 200 m high; it opened in June "
        "2017 after four years of construction.",
        [
            "The Tamina bridge is 417 m long.",
            "It stands 200 metres above the valley.",
            "The bridge was opened to traffic in June 2017.",
            "Construction took four years.",
            "At 0.417 km, the bridge spans the Tamina.",
        ],
        [
            "The Tamina bridge is 417 km long.",
            "The bridge over the Tamina is 471 metres long.",
            "The bridge opened in July 2017.",
            "The bridge opened in June 2007.",
            "Construction took five years.",
            "The bridge over the Rhine is 417 metres long.",
            "The bridge is 417 feet long.",
        ],
    ),
    (
        "Patients who received the vaccine were hospitalised less often than those given "
        "placebo (1.2 % versus 4.7 %).",
        [
            "Only 1.2 % of vaccinated patients were hospitalised, against 4.7 % on placebo.",
            "Hospitalisation was less frequent after the vaccine than after placebo.",
            "The placebo group was hospitalised more often, 4.7 % of the time.",
        ],
        [
            "Patients who received the vaccine were hospitalised more often than those "
            "given placebo.",
            "Patients who received the vaccine were hospitalised less often (2.1 % versus 4.7 %).",
            "Patients who received the vaccine were not hospitalised less often than "
            "those given placebo.",
        ],
    ),
    (
        "Die Gemeinde Altdorf hat 2022 rund 1,3 Mio. Euro für die Sanierung der "
        "Grundschule ausgegeben, 15 Prozent mehr als geplant.",
        [
            "Altdorf gab 2022 etwa 1,3 Millionen Euro für die Schulsanierung aus.",
            "Die Sanierung der Grundschule kostete 15 % mehr als geplant.",
            "Für die Grundschule wurden in Altdorf 1,3 Mio. € ausgegeben.",
            "Die Kosten lagen 15 Prozent über dem Plan.",
        ],
        [
            "Die Gemeinde Altdorf hat 2022 rund 1,8 Mio. Euro für die Sanierung der "
            "Grundschule ausgegeben.",
            "Die Gemeinde Neudorf hat 2022 rund 1,3 Mio. Euro für die Sanierung ausgegeben.",
            "Die Sanierung kostete 15 Prozent weniger als geplant.",
            "Die Gemeinde Altdorf hat 2021 rund 1,3 Mio. Euro ausgegeben.",
            "Altdorf gab 1,3 Mrd. Euro für die Sanierung der Grundschule aus.",
            "Altdorf gab 1,3 Mio. Franken für die Sanierung der Grundschule aus.",
        ],
    ),
    (
        "Am 3. März 1998 gründete Karin Vogt in Leipzig die Stiftung Lebensraum, die "
        "heute 27 Schutzgebiete betreut und keine staatlichen Mittel erhält.",
        [
            "Karin Vogt gründete die Stiftung Lebensraum 1998 in Leipzig.",
            "Die Stiftung betreut inzwischen 27 Schutzgebiete.",
            "Staatliche Mittel bekommt die Stiftung nicht.",
            "Gegründet wurde sie am 03.03.1998 von Karin Vogt.",
        ],
        [
            "Am 3. Mai 1998 gründete Karin Vogt die Stiftung Lebensraum.",
            "Am 3. März 1998 gründete Karin Vogt in Dresden die Stiftung Lebensraum.",
            "Am 3. März 1989 gründete Karin Vogt die Stiftung Lebensraum.",
            "Die Stiftung erhält staatliche Mittel.",
            "Die Stiftung betreut 72 Schutzgebiete.",
            "Am 3. März 1998 gründete Petra Vogt in Leipzig die Stiftung Lebensraum.",
        ],
    ),
    (
        "Der Grundwasserspiegel ist seit 2015 um 1,8 m gesunken; im Norden liegt er nun "
        "unter 12 Metern, im Süden blieb er unverändert.",
        [
            "Seit 2015 sank das Grundwasser um 1,8 Meter.",
            "Im Süden hat sich der Grundwasserspiegel nicht verändert.",
            "Der Spiegel fiel um 180 cm.",
        ],
        [
            "Der Grundwasserspiegel ist seit 2015 um 1,8 m gestiegen.",
            "Der Grundwasserspiegel ist seit 2005 um 1,8 m gesunken.",
            "Der Grundwasserspiegel ist seit 2015 um 1,8 cm gesunken.",
            "Der Grundwasserspiegel ist seit 2015 nicht gesunken.",
            "Der Grundwasserspiegel ist seit 2015 um 8,1 m gesunken.",
        ],
    ),
    (
        "Microsoft acquired LinkedIn for 26.2 billion US dollars in December 2016, and "
        "Satya Nadella called the deal a good fit.",
        [
            "Microsoft bought LinkedIn in 2016.",
            "The price for LinkedIn was $26.2 bn.",
            "Nadella described the LinkedIn deal as a good fit.",
            "LinkedIn was acquired by Microsoft in December 2016.",
        ],
        [
            "Google acquired LinkedIn for 26.2 billion US dollars.",
            "Microsoft acquired GitHub for 26.2 billion US dollars.",
            "Microsoft acquired LinkedIn for 26.2 million US dollars.",
            "Microsoft acquired LinkedIn in November 2016.",
            "Microsoft did not acquire LinkedIn.",
            "Microsoft sold LinkedIn for 26.2 billion US dollars.",
            "Steve Ballmer called the deal a good fit.",
        ],
    ),
    (
        "The survey of 1,204 households found that only a third had a rain barrel, "
        "although 78 % watered their gardens daily in summer.",
        [
            "Of the 1204 households surveyed, 78 percent watered the garden every day in summer.",
            "A third of households owned a rain barrel.",
            "Most households watered their gardens daily during summer.",
            "Few households, only a third, have rain barrels.",
        ],
        [
            "The survey of 1,024 households found that only a third had a rain barrel.",
            "78 % watered their gardens daily in winter.",
            "87 % watered their gardens daily in summer.",
            "78 % never watered their gardens in summer.",
            "The survey of 1,204 hospitals found that only a third had a rain barrel.",
        ],
    ),
    (
        "Copper prices averaged $8,478 per tonne in 2023, down from $8,797 in 2022, "
        "because demand from China weakened.",
        [
            "The average copper price was 8,478 dollars a tonne in 2023.",
            "Copper became cheaper in 2023 as Chinese demand weakened.",
            "Weaker demand from China pushed the copper price down to $8,478 per tonne.",
            "A year earlier, in 2022, copper had averaged $8,797.",
        ],
        [
            "Copper prices averaged $8,478 per tonne in 2024.",
            "Copper prices averaged $8,478 per kg in 2023.",
            "Copper prices fell because demand from India weakened.",
            "Nickel prices averaged $8,478 per tonne in 2023.",
            "Copper prices averaged $8,748 per tonne in 2023.",
            "Copper prices were up from $8,797 in 2022.",
        ],
    ),
    (
        "The Supreme Court ruled 7–2 in favour of Oracle, and Justice Breyer wrote the opinion.",
        [
            "Oracle won 7–2 before the Supreme Court.",
            "Justice Breyer was the author of the opinion.",
            "The ruling in favour of Oracle was written by Breyer.",
        ],
        [
            "The Supreme Court ruled 6–2 in favour of Oracle.",
            "The Supreme Court ruled 7–2 in favour of Google.",
            "The Supreme Court ruled 7–2 against Oracle.",
            "Justice Thomas wrote the opinion.",
        ],
    ),
    (
        "Water boils at 100 °C at sea level, but on the summit of Mount Everest it boils "
        "at about 70 °C because the air pressure is lower.",
        [
            "On Mount Everest water boils at roughly 70 °C.",
            "At sea level the boiling point of water is 100 degrees.",
            "Lower air pressure makes water boil at a lower temperature on Everest.",
        ],
        [
            "On the summit of Mount Everest water boils at about 70 °F.",
            "On the summit of Mount Everest water boils at about 90 °C.",
            "Water boils at 100 °C on the summit of Mount Everest because the air "
            "pressure is higher.",
            "On the summit of Mont Blanc water boils at about 70 °C.",
        ],
    ),
]


def test_planted_errors_are_seen_and_paraphrases_pass() -> None:
    """Single misses are known and wanted to be few: what a reader meets is the rate."""
    missed = [
        e for quote, _, wrong in CASES for e in wrong if check_support(e, [quote]) == "supported"
    ]
    flagged = [
        p for quote, right, _ in CASES for p in right if check_support(p, [quote]) != "supported"
    ]
    errors = sum(len(wrong) for _, _, wrong in CASES)
    paraphrases = sum(len(right) for _, right, _ in CASES)
    assert len(missed) <= 0.05 * errors, missed
    assert len(flagged) <= 0.10 * paraphrases, flagged


@pytest.mark.parametrize(
    ("claim", "quote", "expected"),
    [
        # verbatim, but for white space, quotation marks, markers and emphasis
        ("He said “yes” twice.", 'Then he said "yes"\ntwice. So it was.', "supported"),
        ("**Nitrate** was 63.8 mg/l [1].", "Nitrate was 63.8 mg/l.", "supported"),
        ("- Nitrate was 63.8 mg/l", "Nitrate was 63.8 mg/l.", "supported"),
        # part of a number is not the number, part of a denial not the fact
        ("Nitrate was 63", "Nitrate was 63.8 mg/l.", "unsupported"),
        (
            "Serious side effects were reported.",
            "No serious side effects were reported.",
            "unsupported",
        ),
        # number formats of both languages
        ("The share was 13.5 %.", "Der Anteil lag bei 13,5 %.", "partly"),
        ("Der Anteil lag bei 13,5 Prozent.", "Der Anteil lag 2023 bei 13,5 %.", "supported"),
        ("The total is 1,234.5 tonnes.", "The total came to 1.234,5 t.", "supported"),
        ("It cost 2 million euros.", "It cost EUR 2,000,000.", "supported"),
        ("Es kostete 2 Millionen Euro.", "Es kostete rund 2 Mio. €.", "supported"),
        ("It cost 2 million euros.", "It cost 2 million dollars.", "unsupported"),
        ("Sales were $1,452.4 million.", "In millions | 2019\nSales | $1,452.4", "supported"),
        ("The bridge is 0.412 km long.", "The bridge is 412 m long.", "supported"),
        ("It took about 10 minutes.", "It took 9.8 minutes.", "supported"),
        ("It took 10 minutes.", "It took 9.8 minutes.", "unsupported"),
        ("More than 400 people came.", "In all 412 people came.", "supported"),
        ("Twenty-five wells were drilled.", "They drilled 25 wells.", "supported"),
        ("Fünfundzwanzig Brunnen wurden gebohrt.", "Es wurden 25 Brunnen gebohrt.", "supported"),
        ("In the 1930s the bridge was built.", "The bridge was built in 1931.", "supported"),
        # dates
        ("It opened on 3 March 2024.", "Opened: 2024-03-03.", "supported"),
        ("Es wurde am 3. März 2024 eröffnet.", "Eröffnet wurde es am 03.03.2024.", "supported"),
        ("It opened in March 2024.", "It opened on March 3, 2024.", "supported"),
        ("It opened in April 2024.", "It opened on March 3, 2024.", "unsupported"),
        # nothing in common
        ("Goats eat grass.", "Copper prices fell in 2023.", "unsupported"),
        # other language, other script
        (
            "Die Brücke ist schön und sehr alt.",
            "The bridge is beautiful and it is old.",
            "unchecked",
        ),
        ("The bridge is 412 m long.", "Die Brücke ist 412 Meter lang und von 1931.", "partly"),
        ("The bridge is 500 m long.", "Die Brücke ist 412 Meter lang und von 1931.", "unsupported"),
        ("The city has many people.", "这座城市有很多人。", "unchecked"),
        ("这座城市有很多人。", "2020年，这座城市有很多人居住。", "supported"),
        ("", "Anything.", "unchecked"),
    ],
)
def test_support(claim: str, quote: str, expected: str) -> None:
    assert check_support(claim, [quote]) == expected


def test_quotes_hold_a_claim_together() -> None:
    quotes = ["The bridge was built in 1931.", "The bridge is 412 metres long."]
    assert check_support("The bridge was built in 1931 and is 412 m long.", quotes) == "supported"
    assert check_support("The bridge was built in 1931 and is 412 m long.", quotes[:1]) == "partly"


def test_no_quote_is_no_support() -> None:
    assert check_support("The bridge is long.", []) == "unsupported"
    assert check_support("The bridge is long.", ["  "]) == "unsupported"


def test_codes_are_not_numbers() -> None:
    assert not read_figures("ZX-4417-B, COVID-19 and A320").quantities
    assert check_support("ZX-4417-A was closed.", ["Well ZX-4417-B was closed."]) == "partly"


@given(st.integers(0, 10**9), st.sampled_from(["", " %", " km", " Mio. Euro"]))
def test_both_number_formats_are_one_number(whole: int, unit: str) -> None:
    english, german = f"{whole:,}.5{unit}", f"{whole:,}".replace(",", ".") + f",5{unit}"
    claimed = read_figures(english).quantities[0]
    assert holds_number(claimed, read_figures(german))
    other = f"{whole + 1:,}".replace(",", ".") + f",5{unit}"
    assert not holds_number(claimed, read_figures(other))


@given(st.text(max_size=200), st.lists(st.text(max_size=200), max_size=3))
def test_any_text_is_checked_without_an_error(claim: str, quotes: list[str]) -> None:
    assert check_support(claim, quotes) in ("supported", "partly", "unsupported", "unchecked")


@given(
    st.text(min_size=1, max_size=80).filter(lambda t: t.strip(" .!?…。[]*_`>#+-•\n\t").isalnum())
)
def test_a_claim_supports_itself(claim: str) -> None:
    assert check_support(claim, [claim]) in ("supported", "unchecked")


def test_long_texts_take_linear_time() -> None:
    claim = "In 2019 the Board of Altona did not pay 12.5 million euros for the pumps. " * 20
    quote = "The Board of Ottensen paid 13.5 million euros in 2018, but not for the pumps. " * 20
    check_support(claim, [quote])
    began = time.thread_time()
    check_support(claim, [quote])
    once = time.thread_time() - began
    began = time.thread_time()
    check_support(claim * 4, [quote * 4])
    assert time.thread_time() - began < 12 * once + 0.5


# --- locate ---------------------------------------------------------------------------------


def document(*texts: str) -> Document:
    return Document(blocks=[Block(text=text) for text in texts]).settle()


PAGES = [f"Page {n} is about pump number {n * 7} and its filters." for n in range(300)]
QUOTE = "The Water Board measured 63.8 mg/l nitrate in the north well in March 2024."


def test_locate_at_the_old_place_and_the_nearest_copy() -> None:
    held = document(*PAGES[:100], QUOTE, *PAGES[100:200], QUOTE, *PAGES[200:])
    first = held.text.index(QUOTE)
    second = held.text.index(QUOTE, first + 1)
    assert locate(held, QUOTE, first) == (first, first + len(QUOTE))
    assert locate(held, QUOTE, second + 30) == (second, second + len(QUOTE))
    assert locate(held, QUOTE, 0) == (first, first + len(QUOTE))
    assert locate(held, QUOTE, 10**9) == (second, second + len(QUOTE))


@pytest.mark.parametrize(
    "changed",
    [
        QUOTE.replace(" ", "\n"),
        QUOTE.replace("measured", "mea-\nsured"),
        QUOTE.replace("63.8", "63,8").replace("mg/l", "mg / l"),
        QUOTE.upper(),
        QUOTE.replace("Water Board", "Board").replace("in March", "during March"),
    ],
)
@pytest.mark.parametrize("start", [0, 12_000, 99_999])
def test_locate_a_changed_quote(changed: str, start: int) -> None:
    held = document(*PAGES, changed, *PAGES)
    span = locate(held, QUOTE, start)
    assert span is not None
    found = held.text[slice(*span)]
    assert found.rstrip(".") == changed.rstrip(".")


def test_locate_does_not_invent() -> None:
    assert locate(document(*PAGES), QUOTE, 10) is None
    assert locate(document("Short."), "Nothing of this is there at all.", 0) is None
    assert locate(document("Text."), "  ", 0) is None
    assert locate(document(""), QUOTE, 5) is None


def test_locate_is_fast_on_a_thousand_pages() -> None:
    words = [f"word{n % 977}x{n % 31}" for n in range(500)]
    held = document(*(" ".join([f"page{n}", *words]) for n in range(1000)), QUOTE.upper())
    began = time.thread_time()
    span = locate(held, QUOTE, 0)
    assert span is not None
    assert held.text[slice(*span)] == QUOTE.upper().rstrip(".")
    assert time.thread_time() - began < 2


@settings(max_examples=50)
@given(st.lists(st.text(max_size=60), min_size=1, max_size=8), st.data())
def test_a_slice_is_always_found(texts: list[str], data: st.DataObject) -> None:
    held = document(*texts)
    whole = held.text
    a = data.draw(st.integers(0, len(whole)))
    b = data.draw(st.integers(a, len(whole)))
    quote = whole[a:b]
    span = locate(held, quote, data.draw(st.integers(0, len(whole) + 5)))
    if not quote.strip():
        assert span is None
    else:
        assert span is not None
        assert whole[slice(*span)] == quote.strip()


def test_the_cases_are_wide_enough() -> None:
    assert sum(len(right) for _, right, _ in CASES) >= 50
    assert sum(len(wrong) for _, _, wrong in CASES) >= 80
    assert any(re.search(r"[äöü]", quote) for quote, _, _ in CASES)


def test_a_hundred_planted_errors_and_a_hundred_paraphrases() -> None:
    """Written before the check was tried on them; each error changes one number, unit, date, name
    or negation of what the passage says."""
    rows = json.loads((FIXTURES / "claims.json").read_text("utf-8"))
    changed = [(row["passage"], claim) for row in rows for _, claim in row["changed"]]
    faithful = [(row["passage"], claim) for row in rows for claim in row["faithful"]]
    assert (len(changed), len(faithful)) == (100, 100)
    assert {kind for row in rows for kind, _ in row["changed"]} == {
        "number", "unit", "date", "name", "negation",
    }  # fmt: skip
    missed = [claim for quote, claim in changed if check_support(claim, [quote]) == "supported"]
    flagged = [claim for quote, claim in faithful if check_support(claim, [quote]) != "supported"]
    assert len(missed) <= 5, missed
    assert len(flagged) <= 10, flagged


@pytest.mark.parametrize(
    ("claim", "quote", "expected"),
    [
        # "not until" says that it happened
        ("The tower was rebuilt in 1956.", "The tower was not rebuilt until 1956.", "supported"),
        ("The tower was never rebuilt.", "The tower was rebuilt in 1956.", "unsupported"),
        # a German denial stands behind what it denies
        ("Ein Einfluss fand sich.", "Ein Einfluss fand sich nicht.", "unsupported"),
        ("It opens automatically.", "It opens by hand, not automatically.", "unsupported"),
        # a word of negative sense that both say denies nothing
        ("The court did not stop the plan.", "The court stopped the plan.", "unsupported"),
        # a number at the end of a sentence is no day
        ("It came with version 4.2.", "Version 4.2 came in 2022 with it.", "supported"),
        ("Am 4.2. wurde gebohrt.", "Am 4. Februar wurde gebohrt.", "supported"),
        # another one of the passage's own names
        ("Tom Reyes chairs it.", "Ann Lee chairs it; Tom Reyes is treasurer.", "partly"),
    ],
)
def test_negation_and_names_by_kind(claim: str, quote: str, expected: str) -> None:
    assert check_support(claim, [quote]) == expected
