"""The text of an answer as it comes in from a model: thoughts left out, citations in one form."""

from __future__ import annotations

import re
from collections.abc import Collection

from services.markers import MarkerStream

_OPEN = ("<think>", "<thinking>")
_CLOSE = re.compile(r"</think(?:ing)?>\s*")
_HELD = len("</thinking>")


class Written:
    """What was written so far: ``text``, and ``markers`` as ``MarkerStream`` gives them.

    Models that think aloud begin with ``<think>``; some servers send only its end. Both are left
    out. ``thinking`` is True while such a thought is being written.
    """

    def __init__(self, allowed: Collection[int]) -> None:
        self.text = ""
        self.thinking = False
        self._allowed = allowed
        self._stream = MarkerStream(allowed)
        self._rest = ""
        self._begun = False
        self._thought = False
        """True once the one thought is over; a later end mark is text."""

    @property
    def markers(self) -> list[tuple[int, int, tuple[int, ...]]]:
        return self._stream.markers

    def feed(self, piece: str) -> None:
        """Take in the next piece."""
        self._rest += piece
        self._take(final=False)

    def close(self) -> None:
        """Nothing more comes."""
        self._take(final=True)
        self.text += self._stream.close()
        self.text = self.text.rstrip()

    def _take(self, *, final: bool) -> None:
        if not self._begun:
            start = self._rest.lstrip()
            if not final and any(tag.startswith(start.lower()) for tag in _OPEN):
                return
            self._begun = True
            opened = next((tag for tag in _OPEN if start.lower().startswith(tag)), "")
            self.thinking = bool(opened)
            self._rest = start[len(opened) :]
        if not self._thought:
            ended = _CLOSE.search(self._rest)
            if ended and (final or ended.end() < len(self._rest)):
                self._rest = self._rest[ended.end() :]
                self.thinking, self._thought = False, True
                self.text, self._stream = "", MarkerStream(self._allowed)
            elif ended:
                return  # the white space behind it may go on
        if self.thinking:
            self._rest = "" if final else self._rest[-_HELD:]
            return
        kept = 0
        if not final and not self._thought:
            held = self._rest.rfind("<", max(len(self._rest) - _HELD, 0))
            kept = len(self._rest) - held if held >= 0 else 0
        certain = self._rest[: len(self._rest) - kept]
        self._rest = self._rest[len(certain) :]
        self.text += self._stream.feed(certain)
