"""Plain text: paragraphs at blank lines; long runs of lines are cut at line ends."""

from __future__ import annotations

import re
from pathlib import Path

from services.models import Block, Document
from services.parsers import Progress
from services.parsers.decoding import decode

_LONGEST = 2_000
"""Characters after which a run of lines without a blank line becomes a new block."""
_BLANK = re.compile(r"\n[ \t\u3000]*\n\s*?(?=\S|[ \t]+\S|\Z)")


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a text file in any encoding. It has no units and no pages."""
    decoded = decode(path.read_bytes())
    document = Document()
    decoded.tell(document.report)
    document.blocks = [Block(text=text) for text in paragraphs(decoded.text)]
    return document


def paragraphs(text: str) -> list[str]:
    """Split at blank lines, and at line ends where a paragraph is very long."""
    found: list[str] = []
    for part in _BLANK.split(text):
        part = part.rstrip().strip("\n")
        while len(part) > _LONGEST:
            cut = part.rfind("\n", _LONGEST // 2, _LONGEST)
            if cut < 0:
                cut = part.find("\n", _LONGEST)
            if cut < 0:
                break
            found.append(part[:cut].rstrip())
            part = part[cut + 1 :]
        if part.strip():
            found.append(part)
    return found
