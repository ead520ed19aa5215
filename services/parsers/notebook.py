"""Jupyter notebooks: text cells as the Markdown they are, code cells as code, text outputs kept."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from services.models import Block, Document
from services.parsers import Progress
from services.parsers.decoding import decode
from services.parsers.markdown import add_markdown
from services.parsers.outline import Outline
from services.parsers.sniff import damaged

_COLOURS = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_LONGEST_OUTPUT = 20_000
"""Characters kept of one output; logs of long runs say nothing that is asked for."""


def parse(
    path: Path, name: str, *, password: str | None = None, progress: Progress | None = None
) -> Document:
    """Read a notebook. Unit: cells. Pictures among the outputs are counted."""
    try:
        content = json.loads(decode(path.read_bytes()).text)
    except (ValueError, RecursionError) as error:
        raise damaged("notebook") from error
    cells = _list(content, "cells")
    for sheet in _list(content, "worksheets"):  # before version 4
        cells += _list(sheet, "cells")
    document = Document()
    outline = Outline()
    cut = 0
    for cell in cells:
        kind = cell.get("cell_type")
        text = _text(cell.get("source", cell.get("input", "")))
        if kind == "markdown":
            add_markdown(text, outline)
        elif kind == "heading":
            level = cell.get("level", 1)
            outline.heading(text, level if isinstance(level, int) and 0 < level < 10 else 1)
        elif text.strip():
            outline.add(Block(kind="code" if kind == "code" else "paragraph", text=text.rstrip()))
        document.report.pictures += _pictures(cell.get("attachments"))
        for output in _list(cell, "outputs"):
            data = output.get("data", output)
            document.report.pictures += _pictures({"": data})
            said = _COLOURS.sub("", _said(output, data)).strip("\n").rstrip()
            if len(said) > _LONGEST_OUTPUT:
                cut += 1
                said = said[:_LONGEST_OUTPUT].rstrip() + " …"
            if said.strip():
                outline.add(Block(kind="code", text=f"Output:\n{said}"))
    document.blocks = outline.blocks
    facts = content.get("metadata", {}) if isinstance(content, dict) else {}
    title = facts.get("title") if isinstance(facts, dict) else None
    document.title = title if isinstance(title, str) else outline.first_title
    document.units = {"cells": len(cells)}
    if cut:
        document.report.note(
            "outputs_cut",
            f"{cut} outputs are longer than {_LONGEST_OUTPUT:,} characters and were cut.",
            count=cut,
            limit=_LONGEST_OUTPUT,
        )
    return document


def _said(output: dict[str, Any], data: Any) -> str:
    """The text of an output: what was printed, the plain form of a result, or the error."""
    if output.get("output_type") in ("error", "pyerr"):
        name, value = output.get("ename", ""), output.get("evalue", "")
        return f"{name}: {value}"
    if output.get("output_type") == "stream":
        return _text(output.get("text", ""))
    if not isinstance(data, dict):
        return ""
    found = _text(data.get("text/plain", data.get("text", "")))
    for kind in ("text/markdown", "text/latex"):
        found = _text(data.get(kind, "")) or found
    return found


def _pictures(attached: Any) -> int:
    held = attached.values() if isinstance(attached, dict) else ()
    return sum(
        any(str(kind).startswith("image/") or kind in ("png", "jpeg", "svg") for kind in data)
        for data in held
        if isinstance(data, dict)
    )


def _list(holder: Any, key: str) -> list[dict[str, Any]]:
    found = holder.get(key) if isinstance(holder, dict) else None
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def _text(value: Any) -> str:
    """Text that is stored whole or as a list of lines."""
    if isinstance(value, list):
        return "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""
