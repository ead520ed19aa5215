"""Citation markers in text that a model writes, read while it comes in.

``MarkerStream`` takes pieces of a text, split anywhere, and gives out the same text with every
citation as ``[n]``: ``[1, 2]``, ``[1-3]``, ``【3】``, ``[^2]``, ``(source 1)`` and ``[Quelle 2]``
are read too. Numbers that were not sent to the model go, with the space before them. Code, escaped
characters and links stay as they are. Nothing is given out before it is certain what it is, so half
a marker is never seen, and how a text was split makes no difference.

Time is linear: each decision looks at no more than a fixed number of characters.
"""

from __future__ import annotations

import re
from collections.abc import Collection

LONGEST = 80
"""Characters between the brackets of a marker, and before the ticks that open a block of code."""
SPAN = 1_000
"""Characters of a code span, and of the words behind the ticks that open a block."""
MOST = 12
"""Numbers in one marker; a range that names more is no citation."""

_CLOSING = {"[": "]", "【": "】", "(": ")"}
_WORD = r"(?:sources?|passages?|quellen?|passagen?|textstellen?|excerpts?|documents?)[\s:#]{0,2}"
_LIST = r"\d{1,3}(?:\s{0,2}(?:,|;|、|-|–|&|\+|and|und)\s{0,2}\d{1,3}){0,11}"
_INNER = {
    "[": re.compile(rf"\s?(?:\^|{_WORD})?({_LIST})\s?", re.IGNORECASE),
    "【": re.compile(rf"\s?(?:{_WORD})?({_LIST})(?:†[^\n]*)?\s?", re.IGNORECASE),
    "(": re.compile(rf"(?:see |siehe |vgl\. )?{_WORD}({_LIST})", re.IGNORECASE),
}
_BEGUN = {
    "[": re.compile(r"[\s\w^,;:、\-–&+#]*"),
    "【": re.compile(r"[^\n]*"),
    "(": re.compile(r"[sSqQpPtTeEdDvV][\s\w,;:、.\-–&+#]*|"),
}
"""What may stand in a marker that is not closed yet; more than that does no harm."""
_SPECIAL = re.compile(r"[`\\\[【(\n]|[ \t]{1,40}")
_HEAD_SIGNS = re.compile(r"[ \t>\-*+.)\d]*")
_HEAD = re.compile(r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*")
_TICKS = re.compile(r"`+|~+")

Step = tuple[int, str, tuple[int, ...]]
"""Where the text goes on, what is written, and the numbers cited."""


class MarkerStream:
    """Normalises one text: ``feed`` its pieces, then ``close``.

    ``allowed`` are the numbers of the passages that were sent. ``markers`` holds (start, end,
    numbers) of each citation in what was given out so far.
    """

    def __init__(self, allowed: Collection[int]) -> None:
        self.allowed = allowed
        self.markers: list[tuple[int, int, tuple[int, ...]]] = []
        self._rest = ""
        self._given = 0
        self._at_line_start = True
        self._fence = ""
        """The ticks that opened the block of code that the text is in."""

    def feed(self, piece: str) -> str:
        """The text that has become certain with this piece."""
        self._rest += piece
        return self._take(final=False)

    def close(self) -> str:
        """The rest; nothing more comes."""
        return self._take(final=True)

    def _take(self, *, final: bool) -> str:
        out: list[str] = []
        text, at = self._rest, 0
        while at < len(text):
            step = self._step(text, at, final)
            if step is None:
                break
            at, written, numbers = step
            if numbers:
                start = self._given + len(written) - len(written.lstrip(" \t"))
                self.markers.append((start, self._given + len(written), numbers))
            out.append(written)
            self._given += len(written)
        self._rest = text[at:]
        return "".join(out)

    def _step(self, text: str, at: int, final: bool) -> Step | None:
        """What begins at ``at``; None where more of the text is needed to tell."""
        if self._fence:
            return self._code_line(text, at, final)
        if self._at_line_start:
            opened = self._opens_block(text, at, final)
            if opened is None:
                return None
            self._at_line_start = False
            if opened:
                self._fence = opened
                return self._code_line(text, at, final)
        found = _SPECIAL.search(text, at)
        if found is None:
            return len(text), text[at:], ()
        if found.start() > at:
            return found.start(), text[at : found.start()], ()
        mark = found[0]
        if mark == "\n":
            self._at_line_start = True
            return at + 1, mark, ()
        if mark == "\\":
            return (at + 2, text[at : at + 2], ()) if final or len(text) > at + 1 else None
        if mark == "`":
            return _span(text, at, final)
        opening = at if mark in _CLOSING else found.end()
        if opening == len(text) and not final:
            return None
        if text[opening : opening + 1] not in _CLOSING:  # "" is none either
            return opening, mark, ()
        return self._bracket(text, at, opening, final)

    # --- blocks of code -----------------------------------------------------------------------

    @staticmethod
    def _opens_block(text: str, at: int, final: bool) -> str | None:
        """The ticks with which the line at ``at`` opens a block of code, "" when it opens none."""
        signs = _HEAD_SIGNS.match(text, at, at + LONGEST)
        begun = signs.end() if signs else at
        ticks = _TICKS.match(text, begun, begun + LONGEST)
        seen = ticks.end() if ticks else begun
        if seen == len(text) and seen < begun + LONGEST and begun < at + LONGEST and not final:
            return None
        if not ticks or len(ticks[0]) < 3 or not _HEAD.fullmatch(text, at, begun):
            return ""
        end = text.find("\n", seen, seen + SPAN)
        if end < 0 and len(text) < seen + SPAN and not final:
            return None
        info = text[seen : end if end >= 0 else seen + SPAN]
        return "" if ticks[0][0] == "`" and "`" in info else ticks[0]

    def _code_line(self, text: str, at: int, final: bool) -> Step | None:
        """The rest of a line in a block of code, as it is; the line may end the block."""
        end = text.find("\n", at)
        if end < 0 and self._at_line_start and len(text) < at + LONGEST and not final:
            return None
        stop = len(text) if end < 0 else end + 1
        line = text[at:stop].strip(" \t>\r\n")
        if self._at_line_start and len(line) >= len(self._fence) and not line.strip(self._fence[0]):
            self._fence = ""
        self._at_line_start = end >= 0
        return stop, text[at:stop], ()

    # --- markers --------------------------------------------------------------------------------

    def _bracket(self, text: str, at: int, opening: int, final: bool) -> Step | None:
        """What begins with spaces (from ``at``) and a bracket."""
        kind = text[opening]
        closing = text.find(_CLOSING[kind], opening + 1, opening + LONGEST + 2)
        if closing < 0:
            inner = text[opening + 1 : opening + LONGEST + 2]
            if not final and len(inner) <= LONGEST and _BEGUN[kind].fullmatch(inner):
                return None
            return opening + 1, text[at : opening + 1], ()
        found = _INNER[kind].fullmatch(text, opening + 1, closing)
        numbers = _numbers(found[1]) if found else ()
        if not numbers:
            return opening + 1, text[at : opening + 1], ()
        end = closing + 1
        if kind == "[":
            if end == len(text) and not final:
                return None  # the address of a link may follow
            if text[end : end + 1] == "(":
                return end, text[at:end], ()
        kept = tuple(number for number in numbers if number in self.allowed)
        if not kept:
            return end, "", ()
        return end, text[at:opening] + "".join(f"[{number}]" for number in kept), kept


def _span(text: str, at: int, final: bool) -> Step | None:
    """A code span within its line; a run of ticks that none closes is text."""
    run = _run(text, at)
    if run == len(text) and not final and run - at < SPAN:
        return None
    limit = at + SPAN
    look = run
    while True:
        found = re.compile(r"[`\n]").search(text, look, limit)
        if found is None:
            more = not final and len(text) < limit
            return None if more else (run, text[at:run], ())
        if found[0] == "\n":
            return run, text[at:run], ()
        close = _run(text, found.start())
        if close == len(text) and not final and close < limit:
            return None
        if close - found.start() == run - at:
            return close, text[at:close], ()
        look = close


def _run(text: str, at: int) -> int:
    """The end of the run of backticks at ``at``."""
    found = re.compile("`{1,1000}").match(text, at)
    return found.end() if found else at


def _numbers(listed: str) -> tuple[int, ...]:
    """The numbers of a list with ranges, in order, each once; () where a range is no citation."""
    found: list[int] = []
    for part in re.split(r",|;|、|&|\+|and|und", listed, flags=re.IGNORECASE):
        ends = [int(number) for number in re.split("[-–]", part)]
        if len(ends) > 2 or not 0 <= ends[-1] - ends[0] < MOST:
            return ()
        found.extend(range(ends[0], ends[-1] + 1))
    return tuple(dict.fromkeys(found))
