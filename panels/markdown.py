"""Model and source text as Markdown that Streamlit may show: cited, and harmless.

Pattern: scan once, from left to right, and write every construct anew. What is not on the short
list of live constructs (code, http links, citation chips, emphasis, lists, tables, headings) is
escaped, so nothing a source says can load a picture, run a directive or open a page by itself:

- ``[n]`` becomes a chip ``[n](#cite-ID "quote")`` when the answer has a citation n;
- a sentence that its source does not hold becomes ``[sentence](#claim-u-ID)``;
- pictures, raw HTML, reference links, footnotes, formulas, ``:directives[]``, emoji and icon
  short codes and diagrams are shown as the characters they are made of;
- fenced code stays as it is. A fence further in (inside a list or a quotation) ends where a full
  parser says, so it is moved to the margin, where its end cannot be in doubt.

This module knows nothing of Streamlit, of services or of languages: words come in as arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from services.models import Claim, Support

JOINER = "\u2060"
NBSP = "\u00a0"

SUPPORT_MARK: dict[Support, str] = {
    "supported": "",
    "unchecked": "",
    "partly": "p-",
    "unsupported": "u-",
}
"""What stands between ``#cite-`` and the id: the style sheet reads the state from it."""


@dataclass(frozen=True)
class Chip:
    """One citation as the reader meets it: where a click leads and what the hover card says."""

    target: str
    """Id behind ``#cite-``: message or note id, a hyphen, the citation's number."""
    quote: str
    """The cited passage; the link's title, for readers whose browser runs no script."""
    support: Support = "unchecked"
    gone: bool = False
    """True when the source was deleted; the kept quote is still shown."""


@dataclass(frozen=True)
class Words:
    """The words inside chips, in the reader's language."""

    partly: str = "Partly"
    unsupported: str = "Not found"


_FENCE = re.compile(
    r"(?P<inset>(?:[ \t>*+-]|\d{1,9}[.)])*)"
    r"(?P<ticks>`{3,}(?=[^`\n]*$)|~{3,})(?P<info>[^\n]*)"
)
_LANGUAGE = re.compile(r"[A-Za-z][A-Za-z0-9_+#.-]{0,29}")
_LIST_HEAD = re.compile(r"\s*(?:(?:[-*+>|]|\d{1,9}[.)])\s*)*")
_EDGE_OPEN, _EDGE_CLOSE = "*_“„‚«‹\"'(", "*_”“»›\"')…!?.;"
_MARKER = r"\[\d{1,4}(?:[ \t]*,[ \t]*\d{1,4}){0,9}\]"
_TOKEN = re.compile(
    rf"""(?P<pair>\\[!-/:-@\[-`{{-~])
    |(?P<code>(?<!`)(?P<ticks>`+)(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`))
    |(?P<auto><https?://[^\s<>\[\]`"]+>)
    |(?P<link>(?<!!)\[(?P<label>[^\[\]\n\\`<]+)\]\((?P<url>https?://[^\s()<>\[\]"\\`]+)\))
    |(?P<url2>\bhttps?://[^\s()<>\[\]"'|\\`*]+)
    |(?P<mark>[ \t]*{_MARKER})
    |(?P<special>[\[$<`]|!(?=\[)|(?<!~)~(?!~)|:(?=[\w+\-:\[{{]))""",
    re.VERBOSE,
)
_NUMBERS = re.compile(_MARKER)
_HALF_MARKER = re.compile(r"[ \t]*\[\d{0,4}(?:[ \t]*,[ \t]*\d{0,4})*$")
_ICON = ("material", "streamlit")
_SHORT_CODE = re.compile(r"material|streamlit|[a-z0-9_+-]+:")
"""What makes a picture of a colon before it; a backslash does not stop that."""
_ENTITIES = str.maketrans({c: f"&#{ord(c)};" for c in '"&|\\$<>`[]:!*_~'})
_PLAIN = re.compile(r"([!-/:-@\[-`{-~])")


def render(
    text: str,
    chips: Mapping[int, Chip] | None = None,
    claims: Sequence[Claim] = (),
    words: Words = Words(),
) -> str:
    """The text of a finished answer or a note, with its chips and doubtful sentences marked."""
    safe = "".join(_Writer(_tidy(text), chips or {}, claims, words).pieces())
    return safe if safe.strip(f"{JOINER} \n") or not text.strip() else plain(text)


def render_live(text: str) -> str:
    """The text of an answer that is still being written: no chips yet, no half markers."""
    tidy = _HALF_MARKER.sub("", _tidy(text))
    return "".join(_Writer(tidy, {}, (), Words(), live=True).pieces())


def plain(text: str) -> str:
    """Any text as Markdown that shows exactly these characters, for labels and menus."""
    one_line = " ".join(_tidy(text).split())
    return _break_icons(_PLAIN.sub(r"\\\1", one_line))


def without_markers(text: str) -> str:
    """The text as it is copied to other programs: no citation numbers."""
    return re.sub(rf"[ \t]*{_MARKER}", "", text)


def _tidy(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")


def _break_icons(text: str) -> str:
    for name in _ICON:
        text = text.replace(f":{name}", f":{JOINER}{name}")
    return text


@dataclass(frozen=True)
class _Stretch:
    """A part of the text: prose, or one fenced block with its fences."""

    start: int
    end: int
    code: bool = False


def _stretches(text: str) -> Iterator[_Stretch]:
    """Split into prose and fenced code. Fences are settled before anything inside a line."""
    at = start = 0
    closing: re.Pattern[str] | None = None
    while at <= len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        if closing and closing.fullmatch(line):
            yield _Stretch(start, end, code=True)
            closing, start = None, end
        elif not closing and (fence := _FENCE.fullmatch(line)):
            yield _Stretch(start, at)
            start, ticks = at, fence["ticks"]
            inset = r"[ \t>]*" if fence["inset"] else " {0,3}"
            closing = re.compile(rf"{inset}{ticks[0]}{{{len(ticks)},}}[ \t]*")
        at = end + 1
    yield _Stretch(start, len(text), code=closing is not None)


def _fenced(block: str) -> str:
    """A code block at the margin, as it is but for its language: one word, and never a diagram."""
    head, *body = block.split("\n")
    fence = _FENCE.fullmatch(head)
    assert fence is not None
    word = _LANGUAGE.match(fence["info"].strip())
    language = word[0] if word else ""
    language = "text" if language.lower().startswith("mermaid") else language
    if not (inset := fence["inset"]):
        return "\n".join([fence["ticks"] + language, *body])
    if body and re.fullmatch(rf"[ \t>]*{fence['ticks'][0]}+[ \t]*", body[-1]):
        body.pop()
    quoted = r"(?:[ \t]*>[ ]?)*" if ">" in inset else ""
    lines = [re.sub(rf"^{quoted}[ \t]{{0,{len(inset)}}}", "", line) for line in body]
    ticks = "`" * max(3, 1 + max(map(len, re.findall("`+", "\n".join(lines))), default=0))
    lead = f"{inset.rstrip()}\n" if inset.strip(" \t>") else ""
    return "\n".join([f"{lead}{ticks}{language}", *lines, ticks])


class _Writer:
    """Writes one text anew. ``pieces`` is the whole interface."""

    def __init__(
        self,
        text: str,
        chips: Mapping[int, Chip],
        claims: Sequence[Claim],
        words: Words,
        live: bool = False,
    ) -> None:
        self.text, self.chips, self.words, self.live = text, chips, words, live
        self.stretches = list(_stretches(text))
        self.tokens = [
            list(_TOKEN.finditer(text, s.start, s.end)) if not s.code else []
            for s in self.stretches
        ]
        self.states: list[tuple[int, Support]] = []
        self.cuts: dict[int, str] = {}
        self._place(claims)

    def pieces(self) -> Iterator[str]:
        for stretch, tokens in zip(self.stretches, self.tokens, strict=True):
            if stretch.code:
                yield _fenced(self.text[stretch.start : stretch.end])
            else:
                yield from self._inline(stretch, tokens)

    def _inline(self, stretch: _Stretch, tokens: Sequence[re.Match[str]]) -> Iterator[str]:
        at = stretch.start
        for token in tokens:
            yield from self._with_cuts(at, token.start())
            yield self.cuts.get(token.start(), "")
            yield self._token(token)
            at = token.end()
        yield from self._with_cuts(at, stretch.end)
        if stretch.end == len(self.text):
            yield self.cuts.get(stretch.end, "")

    def _with_cuts(self, start: int, end: int) -> Iterator[str]:
        """Plain text, with the ends of doubtful sentences written in between."""
        for cut in sorted(c for c in self.cuts if start <= c < end):
            yield self.text[start:cut]
            yield self.cuts[cut]
            start = cut
        yield self.text[start:end]

    def _token(self, token: re.Match[str]) -> str:
        found = token[0]
        if found.endswith(":") and _SHORT_CODE.match(self.text, token.end()):
            return f"{found}{JOINER}"
        if token["pair"] or token["url2"]:
            return found
        if token["code"]:
            return found.replace("![", f"!{JOINER}[")
        if token["auto"]:
            return found[1:-1]
        if token["link"]:
            return f"[{plain(token['label'])}]({token['url']})"
        if token["mark"]:
            return self._marker(token)
        return f"\\{found}"

    def _marker(self, token: re.Match[str]) -> str:
        numbers = [int(n) for n in re.findall(r"\d+", token[0])]
        lead = token[0][: token[0].index("[")]
        if self.live:
            return ""
        if not all(n in self.chips for n in numbers):
            return f"{lead}\\{token[0].lstrip()}"
        line = self.text[self.text.rfind("\n", 0, token.start()) + 1 : token.start()]
        if not _LIST_HEAD.fullmatch(line):
            # ":[" would begin a directive that swallows the number
            lead = NBSP if line.endswith(":") else ""
        at = token.start() + token[0].index("[")
        return lead + "".join(self._chip(n, at) for n in numbers)

    def _chip(self, number: int, at: int) -> str:
        chip = self.chips[number]
        support = next((state for end, state in self.states if at < end), chip.support)
        label, prefix = str(number), SUPPORT_MARK[support]
        if chip.gone:
            prefix = "x-"
        elif support == "partly":
            label = f"{number} {self.words.partly}"
        elif support == "unsupported":
            label = f"{number} {self.words.unsupported}"
        label = label.replace(" ", NBSP)
        quote = " ".join(chip.quote.split()).translate(_ENTITIES)
        return f'{JOINER}[{label}](#cite-{prefix}{chip.target} "{quote}")'

    def _place(self, claims: Sequence[Claim]) -> None:
        """Find each claim in the text: its chips take its state, doubtful words are marked."""
        letters, where = self._letters()
        at = 0
        spans: list[tuple[int, int, Claim]] = []
        for claim in claims:
            key = "".join(c for c in without_markers(claim.text).casefold() if c.isalnum())
            found = letters.find(key, at) if key else -1
            if found < 0:
                continue
            at = found + len(key)
            spans.append((where[found], where[at - 1] + 1, claim))
        for index, (start, end, claim) in enumerate(spans):
            following = spans[index + 1][0] if index + 1 < len(spans) else len(self.text)
            paragraph = self.text.find("\n\n", end)
            reach = min(following, paragraph if paragraph >= 0 else following)
            if claim.citations:
                self.states.append((reach, claim.support))
            if claim.support == "unsupported" and self.chips:
                self._mark_doubt(start, end, claim)
        self.states.sort(key=lambda state: state[0])

    def _letters(self) -> tuple[str, list[int]]:
        """The letters and digits of the text outside code and markers, and where each stands."""
        letters: list[str] = []
        where: list[int] = []
        for stretch, tokens in zip(self.stretches, self.tokens, strict=True):
            if stretch.code:
                continue
            skipped = [(m.start(), m.end()) for m in tokens if m["mark"]]
            skip = iter([*skipped, (len(self.text), len(self.text))])
            hole = next(skip)
            at = stretch.start
            while at < stretch.end:
                if at >= hole[0]:
                    at, hole = max(at, hole[1]), next(skip, (len(self.text), len(self.text)))
                    continue
                for letter in self.text[at].casefold():
                    if letter.isalnum():
                        letters.append(letter)
                        where.append(at)
                at += 1
        return "".join(letters), where

    def _mark_doubt(self, start: int, end: int, claim: Claim) -> None:
        """Note where the dashed underline of an unsupported sentence begins and ends."""
        chip = self.chips.get(claim.citations[0]) if claim.citations else None
        target = chip.target if chip else next(iter(self.chips.values())).target
        while start and self.text[start - 1] in _EDGE_OPEN:
            start -= 1
        while end < len(self.text) and self.text[end] in _EDGE_CLOSE:
            end += 1
        inner = (edge for m in _NUMBERS.finditer(self.text, start, end) for edge in m.span())
        edges = [start, *inner, end]
        for left, right in zip(edges[::2], edges[1::2], strict=True):
            words = self.text[left:right]
            left += len(words) - len(words.lstrip())
            right -= len(words) - len(words.rstrip())
            if left < right and self._can_be_link(left, right):
                self.cuts[left] = "["
                self.cuts[right] = f"](#claim-u-{target})"

    def _can_be_link(self, start: int, end: int) -> bool:
        """True for words on one line with balanced emphasis and nothing a link may not hold."""
        words = self.text[start:end]
        if re.search(r"[\n\[\]`\\<|]|https?:", words) or start in self.cuts or end in self.cuts:
            return False
        if words.count("*") % 2 or words.count("_") % 2 or self.text[start - 1 : start] == "\\":
            return False
        long = (m for tokens in self.tokens for m in tokens if m.end() - m.start() > 1)
        return not any(m.start() < end and m.end() > start for m in long)
