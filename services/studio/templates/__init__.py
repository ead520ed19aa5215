"""The registry of outputs a user can choose: one small JSON file each beside this module.

A file of the same name in ``<data folder>/templates`` takes its place, one of a new name joins.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import Field, ValidationError

from services import settings
from services.errors import NotFoundError, SettingsError
from services.jsonfile import read_json
from services.models import Stored
from services.studio.models import Length

_HERE = Path(__file__).parent


class Defaults(Stored):
    length: Length = "medium"
    focus: str = ""


class Template(Stored):
    """An output to choose. ``kind`` names its writer, ``formats`` its files, the first offered
    first; ``title`` is by language."""

    id: str
    kind: str
    icon: str
    order: int = 0
    title: dict[str, str]
    formats: list[str]
    defaults: Defaults = Field(default_factory=Defaults)

    def name(self, language: str) -> str:
        return self.title.get(language) or self.title["en"]


def templates() -> list[Template]:
    """All templates in their order. Raises SettingsError for a file that is none."""
    own = settings.data_dir() / "templates"
    files = {path.stem: path for folder in (_HERE, own) for path in folder.glob("*.json")}
    found = []
    for path in files.values():
        try:
            found.append(Template.model_validate(read_json(path)))
        except (ValidationError, FileNotFoundError) as error:
            raise SettingsError(
                f"The template {path.name} cannot be used.",
                code="bad_template",
                step="Mend it, or delete it from the folder “templates”.",
                file=path.name,
            ) from error
    return sorted(found, key=lambda template: (template.order, template.id))


def template(name: str) -> Template:
    """The template with this id, or the first of this kind. Raises NotFoundError."""
    everything = templates()
    for found in everything:
        if found.id == name:
            return found
    for found in everything:
        if found.kind == name:
            return found
    known = list(dict.fromkeys(found.kind for found in everything))
    raise NotFoundError(
        f"There is no output “{name}”.",
        code="no_such_template",
        step=f"Known are: {', '.join(known)}.",
        name=name,
        known=", ".join(known),
    )
