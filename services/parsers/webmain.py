"""Which part of a web page is its content.

Scripts and forms' controls always go. Navigation, asides and footers go when other text remains.
Where a page is crowded with links, the part that holds most of its running text is taken, and link
lists inside that part go too. Questions about cookies and parts named as no content (comments,
newsletters, related pages) go everywhere. A simple page is otherwise kept whole.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from dataclasses import dataclass

from lxml import etree

_NEVER = (
    "script style noscript template svg iframe frame object embed canvas audio video button "
    "select input textarea datalist dialog head link meta map area"
).split()
_AROUND = ("nav", "aside", "footer")
_AROUND_ROLES = frozenset(
    "navigation banner contentinfo complementary search dialog alert menu menubar tablist".split()
)
_JUNK = re.compile(
    r"(?:^|[-_\s])(?:nav|navbar|navbox|navigation|menu|breadcrumbs?|sidebar|footer|cookies?|consent|"
    r"gdpr|newsletter|subscribe|shar(?:e|ing)|social|adverts?|advertisement|ads?|anzeige|promo|related|"
    r"recommend(?:ed|ations)?|comments?|toolbar|popup|modal|teaser|pagination|pager|toc|"
    r"mw-editsection|catlinks|printfooter|skip|screen-reader-text|sr-only|login)(?:$|[-_\s])",
    re.IGNORECASE,
)
_TALK = re.compile(r"(?:^|[-_\s])(?:comments?|disqus)(?:$|[-_\s])", re.IGNORECASE)
"""Names of the talk below an article."""
_AGREE = re.compile(
    r"\b(?:accept|agree|allow|reject|got it|akzeptier\w*|zustimmen|einverstanden|ablehnen|"
    r"verstanden|accepter|aceptar|accetta)\b",
    re.IGNORECASE,
)
_COOKIES = re.compile(r"cookie|consent|einwillig", re.IGNORECASE)
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_FOOTNOTE_MARK = re.compile(r"\s*\[\w{1,4}\]\s*")
_CROWDED = 0.25
"""Share of a page's text inside links from which it is more than a simple page."""


@dataclass(frozen=True)
class MainPart:
    """The element that holds the content, and the page's main heading if that lies outside."""

    root: etree._Element
    title: etree._Element | None = None


def main_part(page: etree._Element) -> MainPart:
    """Find the content of a page. Takes what is no content out of the tree it is given."""
    found = page.find("body")
    body = page if found is None else found
    _remove_banners(body)
    without_machinery(body)
    for mark in list(body.iter("sup")):
        if _FOOTNOTE_MARK.fullmatch(all_text(mark)):
            _remove(mark)
    total = text_length(body)
    for element in list(body.iter()):
        if element.get("hidden") is not None or _HIDDEN.search(element.get("style") or ""):
            _remove_unless(element, body, 0.5 * total)
    crowded = _link_length(body) > _CROWDED * max(text_length(body), 1)
    for element in list(body.iter()):
        if element.tag in _AROUND or element.get("role") in _AROUND_ROLES:
            _remove_unless(element, body, 0.6 * total)
    root = _candidate(body)
    if root is None:
        root = _densest(body) if crowded else body
    _remove_junk(root, link_lists=crowded)
    title = None
    if root is not body and root.find(".//h1") is None:
        title = body.find(".//h1")
    return MainPart(root, title)


def without_machinery(body: etree._Element) -> None:
    """Take out scripts, styles and controls, which are never text."""
    for element in list(body.iter(*_NEVER)):
        _remove(element)


def text_length(element: etree._Element) -> int:
    """Characters of text in an element, white space not counted."""
    return len("".join(all_text(element).split()))


def all_text(element: etree._Element) -> str:
    """The text of an element and of all in it, as it stands."""
    return "".join(map(str, element.itertext()))


def _link_length(element: etree._Element) -> int:
    return sum(text_length(link) for link in element.iter("a"))


def _prose_length(element: etree._Element) -> int:
    """Characters in running text: paragraphs, table cells, list items with more than links."""
    return sum(
        text_length(one) - _link_length(one) for one in element.iter("p", "pre", "blockquote")
    )


def _candidate(body: etree._Element) -> etree._Element | None:
    """The element the page itself marks as its content, if most of the running text is in it."""
    marked = [
        element
        for element in body.iter()
        if element.tag in ("main", "article") or element.get("role") == "main"
    ]
    total = _prose_length(body)
    for element in sorted(marked, key=_prose_length, reverse=True)[:1]:
        if _prose_length(element) >= max(0.5 * total, 1):
            return element
    return None


def _densest(body: etree._Element) -> etree._Element:
    """The smallest element that holds three quarters of the running text."""
    prose: Counter[etree._Element] = Counter()
    for one in body.iter("p", "pre", "blockquote"):
        length = text_length(one) - _link_length(one)
        for above in one.iterancestors():
            prose[above] += length
            if above is body:
                break
    total = prose[body]
    if total < 400:
        return body
    enough = [element for element, length in prose.items() if length >= 0.75 * total]
    return min(enough, key=text_length)


def _remove_banners(body: etree._Element) -> None:
    """Take out what asks for consent: the largest box around its button that speaks of nothing
    else. A page that is nothing but such a question keeps it."""
    limit = 0.4 * text_length(body)
    buttons = (
        button
        for button in body.iter("button", "a", "input")
        if len(words := all_text(button) or button.get("value") or "") <= 60
        and _AGREE.search(words)
    )
    for button in list(itertools.islice(buttons, 20)):
        box = None
        for above in button.iterancestors():
            if above is body or above.tag in ("main", "article") or text_length(above) > limit:
                break
            if above.find(".//h1") is None and _COOKIES.search(all_text(above)):
                box = above
        if box is not None:
            _remove(box)


def _remove_junk(root: etree._Element, *, link_lists: bool) -> None:
    """Take out parts that are named as no content, and lists of mere links where wanted."""
    total = max(text_length(root), 1)
    for element in list(root.iter("div", "section", "ul", "ol", "table", "span", "form", "header")):
        if element is root or element.getparent() is None or element.find(".//h1") is not None:
            continue
        label = f"{element.get('class') or ''} {element.get('id') or ''}"
        length = text_length(element)
        if length > 0.3 * total:
            continue
        links = element.findall(".//a")
        all_links = len(links) > 3 and _link_length(element) > 0.8 * length
        named_junk = _JUNK.search(label) and _prose_length(element) < 200
        talk = element.tag in ("div", "section") and _TALK.search(label)
        if named_junk or talk or (link_lists and all_links and element.tag != "span"):
            _remove(element)


def _remove_unless(element: etree._Element, body: etree._Element, limit: float) -> None:
    """Remove an element unless it holds more than ``limit`` characters of text."""
    if element is not body and text_length(element) <= limit:
        _remove(element)


def _remove(element: etree._Element) -> None:
    """Take an element out, leaving the text behind it."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is None:
            parent.text = (parent.text or "") + " " + element.tail
        else:
            before.tail = (before.tail or "") + " " + element.tail
    parent.remove(element)
