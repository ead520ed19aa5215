"""What a web page says of itself: title, author, day and site, from the ways in which pages say it.

JSON-LD of an article is believed first, then meta elements, then marks in the text. What is stated
nowhere stays empty: a wrong author is worse than none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from lxml import etree

from services.parsers.webmain import all_text

_ARTICLE = re.compile(r"Article|BlogPosting|Report|WebPage|ScholarlyArticle|Book|HowTo|Recipe")
_DAY = re.compile(r"\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?")
_BETWEEN = re.compile(r"\s*(?:[|·•»«›‹–—]|\s-\s|:)\s*")
_LONGEST = 1_000_000
"""Characters of JSON-LD that are looked at."""
_DEEPEST = 6


def stated(page: etree._Element) -> tuple[str, dict[str, str]]:
    """The title of a page, and what it states of ``author``, ``date`` and ``site``."""
    said = next(_articles(page), {})
    site = _meta(page, "og:site_name", "application-name") or _name(said.get("publisher"))
    author = (
        _name(said.get("author"))
        or _meta(page, "author", "article:author", "dc.creator", "citation_author", "byl")
        or _marked(page, "author")
    )
    day = (
        _day(said.get("datePublished"))
        or _day(_meta(page, "article:published_time", "date", "dc.date", "dcterms.date"))
        or _day(_meta(page, "datepublished", "citation_publication_date", "parsely-pub-date"))
        or _day(_time(page))
    )
    known = {"author": "" if author.startswith("http") else author, "date": day, "site": site}
    return _title(page, said, site), {key: value for key, value in known.items() if value}


def _title(page: etree._Element, said: dict[str, Any], site: str) -> str:
    """The title without the site's name, where the page itself says how it goes without."""
    found = page.find(".//title")
    whole = " ".join(all_text(found).split()) if found is not None else ""
    shared = _meta(page, "og:title", "twitter:title")
    headline = said.get("headline")
    heads = [" ".join(all_text(head).split()) for head in page.iter("h1")]
    short = [head for head in (*heads, shared, headline) if isinstance(head, str) and head != site]
    for title in short:
        if title and whole.startswith(title) and _BETWEEN.match(whole, len(title)):
            return title
    for title in short:
        before = whole.removesuffix(title) if title else whole
        if title and before != whole and _BETWEEN.search(before + " "):
            return title
    return whole or shared or (headline if isinstance(headline, str) else "")


def _articles(page: etree._Element) -> Iterator[dict[str, Any]]:
    """What JSON-LD says of the page's article; an article proper before a mere page."""
    found: list[dict[str, Any]] = []
    left = _LONGEST
    for script in page.iter("script"):
        text = script.text or ""
        if "ld+json" in (script.get("type") or "") and len(text) <= left:
            left -= len(text)
            try:
                found += _inside(json.loads(text), 0)
            except (ValueError, RecursionError):
                continue
    kinds = [(str(item.get("@type")), item) for item in found]
    yield from (item for kind, item in kinds if _ARTICLE.search(kind) and "WebPage" not in kind)
    yield from (item for kind, item in kinds if "WebPage" in kind)


def _inside(value: Any, depth: int) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        if depth < _DEEPEST:
            yield from _inside(value.get("@graph"), depth + 1)
            yield from _inside(value.get("mainEntity"), depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for item in value[:100]:
            yield from _inside(item, depth + 1)


def _name(value: Any) -> str:
    """One or several people or organisations, by name."""
    if isinstance(value, list):
        return "; ".join(dict.fromkeys(filter(None, map(_name, value[:20]))))
    if isinstance(value, dict):
        value = value.get("name")
    return " ".join(value.split())[:200] if isinstance(value, str) else ""


def _meta(page: etree._Element, *names: str) -> str:
    """The content of the first meta element with one of these names or properties."""
    for name in names:
        for element in page.iter("meta"):
            keys = (element.get("name"), element.get("property"), element.get("itemprop"))
            content = " ".join((element.get("content") or "").split())
            if content and any((key or "").lower() == name for key in keys):
                return content[:300]
    return ""


def _marked(page: etree._Element, what: str) -> str:
    """The text of the first short element that is marked as the author."""
    for element in page.iter():
        if isinstance(element.tag, str) and (
            what in (element.get("rel") or "").split()
            or what in (element.get("itemprop") or "").split()
        ):
            text = " ".join(all_text(element).split())
            if 2 < len(text) <= 80:
                return text
    return ""


def _time(page: etree._Element) -> str:
    """The day a page is marked with: the one marked as its day, or its only one."""
    found = [element for element in page.iter("time") if element.get("datetime")]
    for element in found:
        if element.get("pubdate") is not None or element.get("itemprop") == "datePublished":
            return element.get("datetime") or ""
    days = {element.get("datetime") for element in found}
    return found[0].get("datetime") or "" if len(days) == 1 else ""


def _day(value: Any) -> str:
    """A date as stated, where it is one."""
    found = _DAY.match(value.strip().replace("/", "-")) if isinstance(value, str) else None
    return found[0] if found else ""
