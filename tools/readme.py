"""Write the tables of README.md that repeat what the code says: ``make docs``."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from interfaces import cli
from interfaces.api import application
from services.parsers import KINDS
from services.pipeline import Pipeline
from services.settings import SETTINGS
from services.workspace import Workspace

README = Path(__file__).resolve().parent.parent / "README.md"


def settings() -> str:
    """One row a setting."""
    rows = ["| Setting | Default | Meaning |", "|---|---|---|"]
    for setting in SETTINGS:
        default = setting.default if " " in setting.default else f"`{setting.default}`"
        shown = default if setting.default else "none"
        rows.append(f"| `{setting.name}` | {shown} | {setting.meaning} |")
    return "\n".join(rows)


def kinds() -> str:
    """One row a kind of file."""
    rows = ["| Kind | Endings |", "|---|---|"]
    for kind in KINDS.values():
        endings = " ".join(f"`{extension}`" for extension in kind.extensions)
        rows.append(f"| {kind.type_label} | {endings} |")
    return "\n".join(rows)


def commands() -> str:
    """One row a command of ``halo``."""
    rows = ["| Command | What it does |", "|---|---|"]
    for action in cli._parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                rows.append(f"| `halo {name}` | {command.description} |")
    return "\n".join(rows)


def api() -> str:
    """One row a route of ``halo serve``."""
    rows = ["| Request | What it does |", "|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        described = application(Workspace(Path(folder)), Pipeline()).openapi()
    for path, methods in described["paths"].items():
        for method, route in methods.items():
            rows.append(f"| `{method.upper()} {path}` | {route['summary']}. |")
    return "\n".join(rows)


TABLES = {"settings": settings, "kinds": kinds, "commands": commands, "api": api}


def filled(text: str) -> str:
    """``text`` with every table between its two marks written afresh."""
    for name, table in TABLES.items():
        before, mark, rest = text.partition(f"<!-- {name}: ")
        head, arrow, rest = rest.partition("-->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        assert mark and arrow and end, f"README.md has no place for {name}"
        text = f"{before}{mark}{head}{arrow}{table()}\n{end}{after}"
    return text


if __name__ == "__main__":
    README.write_text(filled(README.read_text(encoding="utf-8")), encoding="utf-8")
