"""File formats of outputs: one module each with ``export(output) -> bytes``.

A file is handed out only after it was opened again by the library that reads its kind.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass

from services.errors import HaloError, UserInputError
from services.studio.models import StudioOutput


@dataclass(frozen=True)
class Format:
    """A file format: the module that writes it, its media type."""

    module: str
    mime: str


_OFFICE = "application/vnd.openxmlformats-officedocument"
FORMATS: dict[str, Format] = {
    "docx": Format("docx", f"{_OFFICE}.wordprocessingml.document"),
    "pdf": Format("pdf", "application/pdf"),
    "xlsx": Format("xlsx", f"{_OFFICE}.spreadsheetml.sheet"),
    "csv": Format("csv", "text/csv"),
    "md": Format("markdown", "text/markdown"),
    "html": Format("html", "text/html"),
}


def export(output: StudioOutput, name: str) -> bytes:
    """The output as a file of this format. Raises UserInputError for an unknown format or an
    output that is not finished, HaloError for a file that does not open."""
    if name not in FORMATS:
        raise UserInputError(
            f"There is no format “{name}” for this output.",
            code="no_such_format",
            step=f"Known are: {', '.join(FORMATS)}.",
            name=name,
            known=", ".join(FORMATS),
        )
    if not output.content:
        raise UserInputError(
            "This output is not finished.",
            code="output_unfinished",
            step="Wait until it is there, or make it again.",
        )
    # imported late: each library takes its time
    module = importlib.import_module(f"services.studio.export.{FORMATS[name].module}")
    data: bytes = module.export(output)
    try:
        module.check(data)
    except (ValueError, KeyError, OSError) as problem:
        raise HaloError(
            f"The {name} file came out damaged.",
            code="export_damaged",
            step="Choose another format and tell us about it.",
            name=name,
        ) from problem
    return data
