"""More time for work that is known to be slow: recognising text in a picture, words in a sound.

A file's reading may take so many seconds in all (``services.reading``). A parser that does slow
work says so before each piece of it, so that a long scan ends where it ends and a file that only
hangs is still stopped.
"""

from __future__ import annotations

from collections.abc import Callable

_grant: Callable[[float], None] | None = None


def more_time(seconds: float) -> None:
    """Let the next ``seconds`` not be taken for hanging; where nothing is limited, do nothing."""
    if _grant is not None:
        _grant(seconds)


def granted_by(grant: Callable[[float], None]) -> None:
    """Let ``grant`` hear every wish for more time; set by the process that parses."""
    global _grant
    _grant = grant
