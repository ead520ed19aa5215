"""What the screen makes of an answer's text, read again by an independent Markdown parser."""

import html
import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as strategy
from markdown_it import MarkdownIt
from markdown_it.token import Token

from panels.markdown import JOINER, Chip, Words, plain, render, render_live, without_markers
from services.models import Claim

PARSER = MarkdownIt("commonmark", {"linkify": False}).enable(["table", "strikethrough"])
CHIPS = {n: Chip(f"abc-{n}", f'quote "{n}" | $5') for n in range(1, 40)}
PIECES = [
    "`",
    "``",
    "```",
    "```\n",
    "~~~\n",
    "\n```\n",
    "\n   ```\n",
    "    ",
    "- ",
    "\n- ```\n",
    "1. ",
    "> ",
    "\n\n",
    "\n",
    "![x](http://e.example/a.png)",
    "![x][r]",
    "[r]: http://e.example/b.png\n",
    "<img src=http://e.example/c.png>",
    "<script>",
    "<div>\n",
    "</div>",
    "<!--",
    "-->",
    "<http://e.example>",
    "[a](javascript:alert(1))",
    "[a](http://e.example/ok)",
    "[a](?nb=x)",
    "[1]",
    "[2][3]",
    "[4, 5]",
    "[99]",
    "[^1]",
    "\\",
    "\\[",
    "$",
    "$$",
    "a$b$c",
    ":red[x]",
    "::x",
    ":::note\n",
    ":smile:",
    ":material/home:",
    "**",
    "*",
    "_",
    "~",
    "|",
    "|a|b|\n|-|-|\n",
    "word ",
    "1.5 %",
    "&#109;",
    "mermaid\n",
    "```mermaid\ngraph TD\n```\n",
    "[![x](http://e.example/d.png)](http://e.example)",
    "\t",
    "(",
    ")",
    "]",
    "[",
]
TEXTS = strategy.lists(strategy.sampled_from(PIECES) | strategy.text(max_size=4), max_size=24).map(
    "".join
)


def parsed(markdown: str) -> list[Token]:
    tokens: list[Token] = []
    for token in PARSER.parse(markdown):
        tokens += [token, *(token.children or [])]
    return tokens


def shown(markdown: str) -> str:
    """The characters a reader sees."""
    return "".join(
        t.content for t in parsed(markdown) if t.type in ("text", "code_inline", "fence")
    )


@settings(max_examples=600, deadline=None)
@given(TEXTS)
def test_nothing_in_a_text_loads_runs_or_leads_away(text: str) -> None:
    for markdown in (render(text, CHIPS), render_live(text)):
        for token in parsed(markdown):
            assert token.type not in ("image", "html_block", "html_inline")
            if token.type == "link_open":
                assert re.match(r"https?://|#cite-|#claim-", str(token.attrs["href"]))
            if token.type == "fence":
                assert "mermaid" not in html.unescape(token.info).lower()


@settings(max_examples=200, deadline=None)
@example(r":\:smile:")
@given(TEXTS)
def test_dollars_and_directives_are_escaped_outside_code(text: str) -> None:
    prose = re.sub(r"\\.", "", without_code(render(text, CHIPS)))
    assert "$" not in prose
    assert not re.search(r":[A-Za-z][\w-]*\[", prose)
    assert not re.search(r":[\w+-]+:", prose)


def without_code(markdown: str) -> str:
    """Raw Markdown of everything that the parser does not see as code, titles left out."""
    prose = [t.content for t in PARSER.parse(markdown) if t.type == "inline"]
    prose = [re.sub(r"(?<![\\`])(`+)(?!`)[^\n]*?(?<!`)\1(?!`)", "", block) for block in prose]
    return "\n".join(re.sub(r"\]\(#[^)]*\)|https?://\S+", "", block) for block in prose)


@settings(max_examples=100, deadline=None)
@given(strategy.text(alphabet="ab$:[]<>!`~\\ \n\"'#*_|1", max_size=200))
def test_code_at_the_margin_is_left_alone(code: str) -> None:
    code = re.sub(r"(?m)^\s*~{3,}\s*$", "", code.replace("\r", ""))
    block = f"Before $1\n\n~~~python\n{code}\n~~~\n"
    assert f"~~~python\n{code}\n~~~" in render(f"{block}\nAfter [1]", CHIPS)


@given(TEXTS)
@settings(max_examples=100, deadline=None)
def test_plain_shows_exactly_the_characters(text: str) -> None:
    expected = " ".join(text.replace("\x00", "").split())
    seen = "".join(t.content for t in PARSER.parseInline(plain(text))[0].children or [])
    assert seen.replace(JOINER, "") == expected.replace(JOINER, "")


def test_a_marker_becomes_a_chip_that_stays_with_its_sentence() -> None:
    out = render("Margin fell to 12.6 %. [1] Prices rose [2].", CHIPS)
    assert out.startswith(f"Margin fell to 12.6 %.{JOINER}[1](#cite-abc-1 ")
    assert f"rose{JOINER}[2](#cite-abc-2 " in out
    titles = [t.attrs["title"] for t in parsed(out) if t.type == "link_open"]
    assert titles == ['quote "1" | $5', 'quote "2" | $5']


def test_thirty_markers_keep_their_own_numbers() -> None:
    out = render(" ".join(f"Fact {n} [{n}]." for n in range(1, 36)), CHIPS)
    targets = [str(t.attrs["href"]) for t in parsed(out) if t.type == "link_open"]
    assert targets == [f"#cite-abc-{n}" for n in range(1, 36)]


def test_several_numbers_in_one_marker_become_several_chips() -> None:
    out = render("Both say so [1, 3].", CHIPS)
    assert [t.attrs["href"] for t in parsed(out) if t.type == "link_open"] == [
        "#cite-abc-1",
        "#cite-abc-3",
    ]


def test_a_number_without_a_citation_stays_text() -> None:
    assert shown(render("In [2024] it was so [99].", CHIPS)) == "In [2024] it was so [99]."


def test_a_marker_at_the_head_of_a_list_item_keeps_the_item() -> None:
    assert [t.type for t in parsed(render("- [1] first\n- second", CHIPS))].count(
        "list_item_open"
    ) == 2


def test_a_marker_after_a_colon_is_no_directive() -> None:
    assert f"(2024:\u00a0{JOINER}[1](#cite-abc-1 " in render("More (2024: [1]", CHIPS)


def test_chips_survive_inside_a_table() -> None:
    out = render("| Driver | Points |\n|---|---|\n| Prices | -1.1 [1] |\n| Mix [2] | -0.4 |", CHIPS)
    kinds = [t.type for t in parsed(out)]
    assert kinds.count("td_open") == 4
    assert kinds.count("link_open") == 2


def test_states_are_written_on_the_chip_and_under_the_sentence() -> None:
    text = "Sales grew. [1] **The effect** is recovered by 2027. [2] Costs fell by 5. [1]"
    claims = [
        Claim(text="Sales grew.", citations=[1], support="supported"),
        Claim(text="**The effect** is recovered by 2027.", citations=[2], support="unsupported"),
        Claim(text="Costs fell by 5.", citations=[1], support="partly"),
    ]
    out = render(text, CHIPS, claims, Words("Teilweise", "Nicht gefunden"))
    assert "[1](#cite-abc-1 " in out
    assert "[**The effect** is recovered by 2027.](#claim-u-abc-2)" in out
    assert "[2\u00a0Nicht\u00a0gefunden](#cite-u-abc-2 " in out
    assert "[1\u00a0Teilweise](#cite-p-abc-1 " in out


@pytest.mark.parametrize(
    "text",
    [
        "The effect `x` is gone [2].",
        "The *effect is gone* [2] and back.",
        "The [effect](http://e.example) is gone [2].",
        "| The effect | is gone [2] |",
        "The effect\nis gone [2].",
    ],
)
def test_an_underline_never_breaks_the_sentence(text: str) -> None:
    claim = Claim(text=without_markers(text), citations=[2], support="unsupported")
    out = render(text, CHIPS, [claim])
    assert "(#cite-u-abc-2 " in out
    assert out.count("](#claim-u-abc-2)") == len(
        re.findall(r"(?<!\\)\[[^\]]*\]\(#claim-u-abc-2\)", out)
    )


def test_a_deleted_source_is_grey_and_keeps_its_quote() -> None:
    out = render("So it was [1].", {1: Chip("m-1", "kept", "supported", gone=True)})
    assert '[1](#cite-x-m-1 "kept")' in out


def test_a_fence_inside_a_list_moves_to_the_margin() -> None:
    out = render("1. Run:\n   ```sh\n   echo $1 [1]\n   ```\n2. Look [1].", CHIPS)
    assert "\n```sh\necho $1 [1]\n```\n2. Look" in out
    assert [t.type for t in parsed(out)].count("fence") == 1


@pytest.mark.parametrize(
    "line", ["- " * 400, "> " * 400, "`" * 2000, "[" * 2000, "[1" * 800, "* " * 300]
)
def test_odd_lines_are_quick(line: str) -> None:
    start = time.thread_time()
    render(line, CHIPS, [Claim(text="a", citations=[1], support="unsupported")])
    assert time.thread_time() - start < 1


def test_money_times_and_shares_read_as_written() -> None:
    text = "From $119.6 billion to $1, at 10:30, ratio 1:2, ~5 to ~6, a:b, 3 < 4 & 5 > 2."
    assert shown(render(text)) == text


def test_half_a_marker_is_held_back_while_an_answer_is_written() -> None:
    for half in (" [", " [1", " [12", " [1,", " [1, 2"):
        assert render_live(f"Prices rose{half}") == "Prices rose"
    assert render_live("Prices rose [1]. Then") == "Prices rose. Then"


def test_short_codes_stay_words() -> None:
    out = render(":material/home: :streamlit: :tada: at 10:30:45")
    assert ":material" not in out and ":streamlit" not in out
    assert shown(out).replace(JOINER, "") == ":material/home: :streamlit: :tada: at 10:30:45"


def test_code_keeps_brackets_and_dollars() -> None:
    out = render("Use `a[1] = $x` [1].\n\n```python\nx[1] = '$1'  # ![a](b) <b>\n```", CHIPS)
    assert "`a[1] = $x`" in out
    assert "```python\nx[1] = '$1'  # ![a](b) <b>\n```" in out


def test_a_diagram_is_shown_as_text() -> None:
    assert render("```mermaid\ngraph TD\n```").startswith("```text\n")
    assert render("```&#109;ermaid\ngraph TD\n```").startswith("```\n")


def test_a_text_that_would_vanish_is_shown_raw() -> None:
    assert render("[1]", CHIPS)
    assert render("") == ""
