"""Numbers that files write as text, read so that no spelling of them does harm."""

from __future__ import annotations

_LONGEST = 9
"""Digits of a number that is believed: nothing that is counted in a file has more."""


def whole(text: str | None, default: int = 0, *, most: int = 999_999_999) -> int:
    """A whole number from 0 to ``most``; ``default`` for anything but a few ASCII digits."""
    text = (text or "").strip()
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST):
        return default
    return min(int(text), most)
