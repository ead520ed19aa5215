"""The outputs of a notebook: what is kept, and what users do with them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from services import trash
from services.adding import add_text
from services.errors import HaloError, NotFoundError
from services.intake import Added
from services.jsonfile import JsonFile, damaged_entry
from services.models import new_id, now
from services.storage import Shared, as_row, load_sources, save_studio_outputs
from services.studio.models import StudioOutput, Version
from services.studio.writing.composing import claims_of
from services.workspace import Workspace

VERSIONS = 10
"""How many earlier contents of an output are kept."""
_CONTENT = frozenset(Version.model_fields)


@dataclass(frozen=True)
class Stale:
    """Why an output is out of date: names of sources, and the headings of what rests on them."""

    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed or self.removed)


def _file(workspace: Workspace) -> JsonFile:
    return workspace.file("studio_outputs.json", [])


def list_outputs(workspace: Workspace) -> list[StudioOutput]:
    """All outputs, newest first. One whose work died with its process is interrupted."""
    file = _file(workspace)
    if any(not row.get("output_id") for row in file.read()):
        file.update(lambda rows: [row if row.get("output_id") else _named(row) for row in rows])
    try:
        found = [StudioOutput.model_validate(row) for row in file.read()]
    except ValidationError as error:
        raise damaged_entry(file.path.name) from error
    for output in found:
        if output.state == "running" and not is_held(workspace, output.output_id):
            output.state = "interrupted"
    return found


def _named(row: Shared) -> dict[str, Any]:
    return {**row, "output_id": new_id()}


def lock_name(output_id: str) -> str:
    return f"output-{output_id}"


def is_held(workspace: Workspace, output_id: str) -> bool:
    """Whether some process works on an output now."""
    if not (workspace.locks / f"{lock_name(output_id)}.lock").exists():
        return False
    with workspace.lock(lock_name(output_id), wait=False) as free:
        return not free


def get_output(workspace: Workspace, output_id: str) -> StudioOutput:
    """The output with this id. Raises NotFoundError."""
    for output in list_outputs(workspace):
        if output.output_id == output_id:
            return output
    raise _no_output()


def _no_output() -> NotFoundError:
    return NotFoundError("There is no such output.", code="no_such_output")


def keep(workspace: Workspace, output: StudioOutput) -> None:
    """Store an output, new or changed."""
    save_studio_outputs([as_row(output)], workspace)


def change(
    workspace: Workspace, output_id: str, changed: Callable[[StudioOutput], StudioOutput]
) -> None:
    """Change a stored output under the file's lock. Raises NotFoundError when it is gone."""
    found = False

    def update(rows: list[Shared]) -> list[Shared] | None:
        nonlocal found
        for index, row in enumerate(rows):
            if row.get("output_id") == output_id:
                found = True
                rows[index] = as_row(changed(StudioOutput.model_validate(row)))
        return rows if found else None

    _file(workspace).update(update)
    if not found:
        raise _no_output()


def rename_output(workspace: Workspace, output_id: str, title: str) -> None:
    """Give an output another title. Raises NotFoundError."""
    change(workspace, output_id, lambda output: output.model_copy(update={"title": title.strip()}))


def edit_output(workspace: Workspace, output_id: str, content: str) -> None:
    """Change an output's text; its claims are checked against their quotes anew. The text before
    the first edit is kept as a version. Raises NotFoundError."""

    def edited(output: StudioOutput) -> StudioOutput:
        if content == output.content:
            return output
        fields: dict[str, Any] = {"content": content, "edited_at": now()}
        fields["claims"] = claims_of(content, output.citations)
        if not output.edited_at:
            fields["versions"] = with_version(output)
        return output.model_copy(update=fields)

    change(workspace, output_id, edited)


def with_version(output: StudioOutput) -> list[Version]:
    """The versions of an output once its content is replaced."""
    if not output.content:
        return output.versions
    now_said = Version.model_validate(output.model_dump(include=set(_CONTENT)))
    return [now_said, *output.versions][:VERSIONS]


def use_version(workspace: Workspace, output_id: str, number: int) -> None:
    """Put an earlier content (0 the newest) in place of the present one, which becomes a version.
    Raises NotFoundError."""

    def swapped(output: StudioOutput) -> StudioOutput:
        if not 0 <= number < len(output.versions):
            raise NotFoundError("There is no such version.", code="no_such_version")
        chosen = output.versions[number]
        rest = [version for at, version in enumerate(output.versions) if at != number]
        fields = {name: getattr(chosen, name) for name in _CONTENT}
        fields["versions"] = with_version(output.model_copy(update={"versions": rest}))
        return output.model_copy(update=fields | {"edited_at": None, "error": None})

    change(workspace, output_id, swapped)


def failure(output: StudioOutput) -> HaloError:
    """The stored reason why an output failed, as the error it was."""
    stored = output.error or {}
    return HaloError(
        str(stored.get("message", "")), code=stored.get("code"), **(stored.get("params") or {})
    )


def delete_output(workspace: Workspace, output_id: str) -> str:
    """Delete an output; returns what brings it back. Raises NotFoundError."""
    entry = trash.put(workspace, "output", as_row(get_output(workspace, output_id)))
    _file(workspace).update(lambda rows: [row for row in rows if row.get("output_id") != output_id])
    return entry


def restore_output(workspace: Workspace, trash_id: str) -> StudioOutput:
    """Bring a deleted output back. Raises NotFoundError when it is too late."""
    output = StudioOutput.model_validate(trash.get(workspace, trash_id, "output"))
    keep(workspace, output)
    trash.remove(workspace, trash_id)
    return output


def output_as_source(workspace: Workspace, output_id: str) -> Added:
    """Make a source of an output's text. Raises NotFoundError, UserInputError."""
    from services.studio.export import markdown

    output = get_output(workspace, output_id)
    text = markdown.export(output).decode("utf-8")
    return add_text(workspace, output.title, text, origin="output")


def stale(workspace: Workspace, output: StudioOutput) -> Stale:
    """Which of its sources changed or are gone since it was made, and what rests on them."""
    revisions = {source.id: source.revision for source in load_sources(workspace)}
    changed = {u.id: u.name for u in output.used if revisions.get(u.id, "") not in ("", u.revision)}
    removed = {used.id: used.name for used in output.used if used.id not in revisions}
    touched = {
        c.number for c in output.citations if c.source_id in changed or c.source_id in removed
    }
    return Stale(
        tuple(changed.values()), tuple(removed.values()), tuple(_parts(output.content, touched))
    )


def _parts(content: str, numbers: set[int]) -> list[str]:
    """Headings above the markers with these numbers, in order."""
    from services.studio.export.flow import parts

    found: list[str] = []
    heading = ""
    for part in parts(content):
        if part.kind == "heading":
            heading = part.text
        elif heading and part.numbers & numbers and heading not in found:
            found.append(heading)
    return found
