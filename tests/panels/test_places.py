"""Places, icons and marked figures in words."""

from __future__ import annotations

from panels.places import address, figures, icon_of, page_place, said, shown_name
from services.models import Source


def test_places() -> None:
    assert page_place(51, "47") == "p. 47 (PDF 51)"
    assert page_place(51, "51") == page_place(51, None) == "p. 51"


def test_icons() -> None:
    assert icon_of("Report.PDF") == "picture_as_pdf"
    assert icon_of("no ending") == "subject"
    assert icon_of("Report.pdf", "text") == "subject"
    assert icon_of("example.org/a.html", "link") == icon_of("Wells", "link") == "link"
    assert icon_of("example.org/a.pdf", "link") == "picture_as_pdf"


def test_addresses_are_read_not_decoded_into_tricks() -> None:
    assert address("https://www.example.org/Stra%C3%9Fe/") == "example.org/Straße"
    assert address("https://example.org/%E2%80%AEfdp.exe") == "example.org/%E2%80%AEfdp.exe"
    assert address("ftp://example.org/a") == "ftp://example.org/a"
    url = "https://example.org/a"
    assert shown_name(Source(name=url, url=url)) == "example.org/a"
    assert shown_name(Source(name="Wells", url=url)) == "Wells"


def test_figures_of_the_claim_are_marked() -> None:
    quote = "For 2026 the Board expects a margin of 13.5–14.0\u00a0%, before any change."
    pieces = figures(quote, "The margin is to be 13.5–14.0 %.")
    assert [piece for piece, marked in pieces if marked] == ["13.5–14.0\u00a0%"]
    assert "".join(piece for piece, _ in pieces) == quote
    assert figures(quote, "No figure here.") == [(quote, False)]


def test_sentences_taken_word_for_word_are_marked() -> None:
    quote = "Orders rose. The margin\nfell by 2 points. A dividend is paid."
    pieces = said(quote, ["The margin fell by 2 points.", "Nothing of this."])
    assert [piece for piece, marked in pieces if marked] == ["The margin\nfell by 2 points."]
    assert "".join(piece for piece, _ in pieces) == quote
    assert said(quote, [quote]) == said(quote, [""]) == [(quote, False)]
