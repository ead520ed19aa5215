"""Cells that no spreadsheet runs as a formula."""

from __future__ import annotations

import re

from services.studio.export.flow import clean

_NUMBER = re.compile(r"[-+]?[\d.,\s]+%?$")


def harmless(text: str) -> str:
    """Text that begins like a formula gets an apostrophe in front, unless it is a number."""
    text = clean(text)
    risky = text.lstrip().startswith(("=", "+", "-", "@")) or text[:1] in "\t\r\n"
    return f"'{text}" if text and risky and not _NUMBER.match(text) else text
