from __future__ import annotations

import pytest

from services.parsers.formats import shown


@pytest.mark.parametrize(
    ("number", "code", "text"),
    [
        (1234.5, "[$€-407] #,##0.00", "€ 1234.5"),
        (-98, '"$"#,##0.00;[Red]("$"#,##0.00)', "-$98"),
        (1234.5, '_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)', "$1234.5"),
        (1234.5, "_-* #,##0.00 [$CHF-807]_-", "1234.5 CHF"),
        (12.34, '0.0" kg"', "12.34 kg"),
        (12, '0"%"', "12%"),
        (12.5, 'General" m²"', "12.5 m²"),
        (3, '"Q"0', "Q3"),
        (-5, "#,##0_);(#,##0)", "-5"),
        (7, "00000", "00007"),
        (0.126, "0%", "12.6%"),
        (1.25, "[h]:mm", "30:00:00"),
        (-0.5, "[h]:mm", "-12:00:00"),
        (0.75, "h:mm AM/PM", "18:00:00"),
        (44260, "[$-409]d-mmm-yy;@", "2021-03-05"),
        (44260.5, 'yyyy"年"m"月"d"日" hh:mm', "2021-03-05 12:00:00"),
    ],
)
def test_a_format_adds_what_the_number_would_not_mean(number: float, code: str, text: str) -> None:
    assert shown(number, code) == text


@pytest.mark.parametrize(
    "code", ["0.0,,\"M\"", "# ?/?", "0.00E+00", '[>=1000]0.0,"K";0" x"', '"Yes";"No"', "0" * 300]
)  # fmt: skip
def test_a_unit_of_another_number_than_the_stored_one_is_left_out(code: str) -> None:
    assert shown(12345.5, code) == "12345.5"


@pytest.mark.parametrize("number", [1e300, float("inf"), float("nan"), -1e9])
@pytest.mark.parametrize("code", ["d/m/yy", "h:mm", "[h]:mm", "000", "0%", "0 kg"])
def test_any_number_has_a_text(number: float, code: str) -> None:
    assert shown(number, code)


def test_the_calendar_of_1904() -> None:
    assert shown(42798, "d/m/yy", since_1904=True) == "2021-03-05"
