"""The small markup the sample texts are written in, read into pieces that every writer knows.

``#`` headings, paragraphs, ``- `` bullets, ``| a | b |`` tables after a ``^ caption`` (a first cell
starting with ``*`` makes the row bold), ``[1] `` footnotes, ``% `` title lines, ``Note: `` speaker
notes, and ``!name rest`` for anything drawn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent
BOLD = re.compile(r"\*\*(.+?)\*\*")


@dataclass
class Piece:
    """One part of a text: ``kind`` is heading, text, list, table, footnote, title, note or draw."""

    kind: str
    text: str = ""
    level: int = 0
    name: str = ""
    rows: list[list[str]] = field(default_factory=list)
    bold_rows: set[int] = field(default_factory=set)


def read(name: str) -> list[Piece]:
    """The pieces of the text file ``name`` in this folder."""
    pieces: list[Piece] = []
    caption = ""
    for line in (FOLDER / name).read_text(encoding="utf-8").splitlines():
        last = pieces[-1] if pieces else Piece("")
        if not line.strip():
            pieces.append(Piece("gap"))
        elif line.startswith("#"):
            marks, text = line.split(" ", 1)
            pieces.append(Piece("heading", text, level=len(marks)))
        elif line.startswith("^ "):
            caption = line[2:]
        elif line.startswith("|"):
            if last.kind != "table":
                last = Piece("table", caption)
                pieces.append(last)
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if cells[0].startswith("*"):
                cells[0] = cells[0][1:]
                last.bold_rows.add(len(last.rows))
            last.rows.append(cells)
        elif line.startswith("- "):
            if last.kind != "list":
                last = Piece("list")
                pieces.append(last)
            last.rows.append([line[2:]])
        elif line.startswith("% "):
            pieces.append(Piece("title", line[2:]))
        elif line.startswith("Note: "):
            pieces.append(Piece("note", line[6:]))
        elif line.startswith("!"):
            command, _, rest = line[1:].partition(" ")
            pieces.append(Piece("draw", rest, name=command))
        elif match := re.match(r"\[(\d)\] (.+)", line):
            pieces.append(Piece("footnote", match[2], name=match[1]))
        else:
            pieces.append(Piece("text", line))
    return [piece for piece in pieces if piece.kind != "gap"]


def runs(text: str) -> list[tuple[str, bool]]:
    """``text`` cut into (part, is bold)."""
    parts = BOLD.split(text)
    return [(part, bool(at % 2)) for at, part in enumerate(parts) if part]


def unbreakable(text: str) -> str:
    """No-break spaces before % and between EUR and its figure, as a typesetter would set them."""
    return re.sub(r"(?<=\d) %", "\u00a0%", re.sub(r"EUR (?=\d)", "EUR\u00a0", text))
