from __future__ import annotations

from pathlib import Path

import pytest

from services.errors import UnreadableSourceError
from services.models import Document
from services.parsers import parse


def read(folder: Path, html: str | bytes, name: str = "a.html") -> Document:
    path = folder / "bytes"
    path.write_bytes(html.encode() if isinstance(html, str) else html)
    return parse(path, name)


SIMPLE = """<!doctype html><html lang="en-GB"><head><title>A &amp; B</title>
<meta name="author" content="Jane"><script>var secret = "code";</script><style>p{}</style></head>
<body onload="x()">Loose <b>text</b>
<h1>Main <i>title</i></h1><p>Line one<br>line
two</p><ul><li>first<ul><li>below</li></ul></li><li>second</li></ul>
<ol start=3><li>third</ol>
<h2>Sub</h2><pre>
code  here
  kept</pre>
<table><caption>Cap</caption><thead><tr><th>Name<th>Value</thead>
<tr><td rowspan=2>North<td>1<tr><td>2<tr><td colspan=2>wide</table>
<dl><dt>Term<dd>Meaning</dl>
<p style="display:none">unseen</p><noscript>no script</noscript>
<img src="http://127.0.0.1:9/x.png" alt="A picture of two ducks"></body></html>"""


def test_a_simple_page_is_kept_whole(tmp_path: Path) -> None:
    document = read(tmp_path, SIMPLE)
    assert document.title == "A & B" and document.metadata == {"author": "Jane"}
    assert document.report.language == "en" and document.report.pictures == 1
    assert [(block.kind, block.text) for block in document.blocks] == [
        ("paragraph", "Loose text"),
        ("heading", "Main title"),
        ("paragraph", "Line one\nline two"),
        ("list", "- first\n  - below\n- second"),
        ("list", "3. third"),
        ("heading", "Sub"),
        ("code", "code  here\n  kept"),
        ("caption", "Cap"),
        ("table", "Name | Value\nNorth | 1\nNorth | 2\nwide"),
        ("list", "- Term\n  Meaning"),
        ("picture", "A picture of two ducks"),
    ]
    assert document.blocks[-1].headings == ["Main title", "Sub"]
    assert document.blocks[8].header_rows == 1


ARTICLE = "".join(
    f"<p>Paragraph {i} of the story tells, at some length, what has happened in the town.</p>"
    for i in range(8)
)
LINKS = "<ul>" + "".join(f"<li><a href='/{i}'>Other story number {i}</a></li>" for i in range(40))


@pytest.mark.parametrize(
    "body",
    [
        f"<nav>{LINKS}</ul></nav><main><h1>Story</h1>{ARTICLE}</main><footer>Imprint</footer>",
        f"<div class=menu>{LINKS}</ul></div><div><h1>Story</h1><div>{ARTICLE}</div></div>"
        "<div id=cookie-consent>We use cookies</div>",
        f"<h1>Story</h1><div>{LINKS}</ul></div><article>{ARTICLE}<div class='share'>Share it</div>"
        "</article>",
    ],
)
def test_the_story_of_a_crowded_page_is_found(tmp_path: Path, body: str) -> None:
    document = read(tmp_path, f"<html><body>{body}</body></html>")
    assert document.blocks[0].text == "Story" and document.blocks[0].kind == "heading"
    assert document.text.count("Paragraph") == 8
    for junk in ("Other story", "Imprint", "cookies", "Share it"):
        assert junk not in document.text


def test_a_page_of_links_alone_is_still_read(tmp_path: Path) -> None:
    document = read(tmp_path, f"<html><body><h1>Index</h1>{LINKS}</ul></body></html>")
    assert document.text.count("Other story") == 40


def test_layout_tables_are_walked_not_flattened(tmp_path: Path) -> None:
    html = "<html><body><table><tr><td><h1>Left</h1><p>One</p><td><p>Two</p></table></body></html>"
    assert [block.text for block in read(tmp_path, html).blocks] == ["Left", "One", "Two"]


@pytest.mark.parametrize("declared", ["<meta charset=windows-1252>", ""])
def test_the_charset_is_declared_or_guessed(tmp_path: Path, declared: str) -> None:
    html = f"<html><head>{declared}</head><body>Die schöne Frau zahlt 15,50 €</body></html>"
    document = read(tmp_path, html.encode("cp1252"))
    assert document.text == "Die schöne Frau zahlt 15,50 €"
    assert document.report.encoding == "cp1252"


def test_a_page_named_docx_is_read_as_a_page(tmp_path: Path) -> None:
    document = read(tmp_path, "<html><body><p>Exported</p></body></html>", "report.docx")
    assert (document.kind, document.type_label, document.text) == ("html", "Web", "Exported")


def test_entities_are_not_expanded_without_end(tmp_path: Path) -> None:
    bomb = (
        '<!DOCTYPE html [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
        "<html><body><p>words &b;</p></body></html>"
    )
    assert len(read(tmp_path, bomb).text) < 200


def test_deep_nesting_and_broken_tags_do_no_harm(tmp_path: Path) -> None:
    assert "deep" in read(tmp_path, "<html>" + "<div><b>" * 5000 + "deep").text
    assert read(tmp_path, "<html><p>a<table><td>b<p>c</html><<<>>&&#x110000;").text


def test_a_page_without_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableSourceError) as caught:
        read(tmp_path, "<html><body><script>x()</script></body></html>")
    assert caught.value.code == "no_text"
