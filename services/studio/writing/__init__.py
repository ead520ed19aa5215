"""Writers: what was read out of the sources becomes the content of an output.

``write`` is the one place where content is made. A writer takes (readings, template, options) and
returns a ``Content``; one that asks a model returns the same, and everything after it (the check of
claims, the record, the screen, the files) stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from services.errors import SettingsError
from services.studio.material import Reading
from services.studio.models import Content, Options
from services.studio.templates import Template
from services.studio.writing import comparison, report, table

Writer = Callable[[Sequence[Reading], Template, Options], Content]

WRITERS: dict[str, Writer] = {
    "report": report.write,
    "table": table.write,
    "comparison": comparison.write,
}


def write(readings: Sequence[Reading], template: Template, options: Options) -> Content:
    """The content of an output. Raises UserInputError where the sources hold nothing for it."""
    writer = WRITERS.get(template.kind)
    if writer is None:
        raise SettingsError(
            f"The template {template.id} asks for “{template.kind}”, which HALO cannot make.",
            code="bad_template",
            step="Mend it, or delete it from the folder “templates”.",
            file=f"{template.id}.json",
        )
    return writer(readings, template, options)
