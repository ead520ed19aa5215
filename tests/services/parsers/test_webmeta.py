"""What web pages say of themselves, in the ways in which they say it; and what is no content."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from services.models import Document
from services.parsers import parse

PROSE = "<p>" + "The northern wells gave 41 litres a second in March. " * 12 + "</p>"


def read(tmp_path: Path, head: str = "", body: str = PROSE) -> Document:
    path = tmp_path / "page"
    path.write_text(f"<html><head>{head}</head><body>{body}</body></html>", encoding="utf-8")
    return parse(path, "page.html")


def linked(value: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(value)}</script>'


ARTICLE = {
    "@type": "NewsArticle",
    "headline": "The wells",
    "author": [{"@type": "Person", "name": "The survey"}, "Its office"],
    "datePublished": "2026-03-04T08:00:00+01:00",
    "publisher": {"name": "Senra News"},
}
SAID = {"author": "The survey; Its office", "date": "2026-03-04T08:00:00+01:00"}


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (linked(ARTICLE), SAID | {"site": "Senra News"}),
        (linked({"@graph": [{"@type": "WebSite", "name": "x"}, ARTICLE]}), SAID),
        (linked([{"@type": "WebPage", "datePublished": "1999-01-01"}, ARTICLE]), SAID),
        ("<script type='application/ld+json'>{broken</script><meta name=author content=A>",
         {"author": "A"}),
        ("<meta name=DC.creator content=A><meta name=DC.date content=2026-03-04>",
         {"author": "A", "date": "2026-03-04"}),
        ("<meta itemprop=datePublished content=2026/03/04>", {"date": "2026-03-04"}),
        ("<meta property=article:author content=https://example.com/people/7>", {"author": None}),
        ("<meta name=date content='last spring'>", {"date": None}),
        ("<meta property=og:site_name content='Senra News'>", {"site": "Senra News"}),
    ],
)  # fmt: skip
def test_author_day_and_site(head: str, said: dict[str, str | None], tmp_path: Path) -> None:
    found = read(tmp_path, head).metadata
    assert {key: found.get(key) for key in said} == said


def test_marks_in_the_text(tmp_path: Path) -> None:
    by = "<a rel=author href=/a>The survey</a><time datetime=2026-03-04T08:00>March</time>"
    assert read(tmp_path, body=by + PROSE).metadata == {
        "author": "The survey",
        "date": "2026-03-04T08:00",
    }
    two = "<time datetime=2026-03-04>a</time><time datetime=2026-03-05>b</time>"
    assert read(tmp_path, body=two + PROSE).metadata == {}


@pytest.mark.parametrize(
    ("head", "h1", "title"),
    [
        ("<title>The wells | Senra News</title>", "The wells", "The wells"),
        ("<title>Senra News: The wells</title>", "The wells", "The wells"),
        ("<title>The wells - Senra News</title>", "Menu", "The wells - Senra News"),
        ("<title>The wells | Senra News</title><meta property=og:title content='The wells'>", "",
         "The wells"),
        ("<title>The wells | Senra</title><meta property=og:site_name content=Senra>", "Senra",
         "The wells | Senra"),
        ("<meta property=og:title content='The wells'>", "", "The wells"),
        (linked(ARTICLE), "", "The wells"),
        ("", "The wells", "The wells"),
    ],
)  # fmt: skip
def test_the_title_without_the_name_of_the_site(
    head: str, h1: str, title: str, tmp_path: Path
) -> None:
    assert read(tmp_path, head, f"<h1>{h1}</h1>{PROSE}").title == title


@pytest.mark.parametrize(
    "banner",
    [
        "<div class=x1><p>JUNK We use cookies for us.</p><button>Accept all</button></div>",
        "<div><div><p>JUNK Cookies?</p><a href=#>Alle akzeptieren</a></div></div>",
        "<div class=comments><p>JUNK I think that is wrong.</p></div>",
        "<section id=disqus_thread><p>JUNK First!</p></section>",
        "<div class=newsletter-signup><p>JUNK Get our letter.</p></div>",
    ],
)
def test_banners_and_talk_are_left_out_of_simple_pages(banner: str, tmp_path: Path) -> None:
    text = read(tmp_path, body=f"<h1>Wells</h1>{PROSE}{banner}<p>The end.</p>").text
    assert "JUNK" not in text and text.endswith("The end.")


def test_what_is_mostly_a_banner_keeps_it(tmp_path: Path) -> None:
    body = "<div><p>We use cookies for our partners.</p><button>Accept all</button></div>"
    assert "cookies" in read(tmp_path, body=body).text


def test_lists_of_links_stay_in_simple_pages(tmp_path: Path) -> None:
    links = "".join(f"<li><a href=/{n}>Report number {n}</a></li>" for n in range(6))
    assert (
        "Report number 5" in read(tmp_path, body=f"{PROSE}<h2>References</h2><ul>{links}</ul>").text
    )
