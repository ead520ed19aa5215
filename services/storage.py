"""What is kept as JSON, by the names people know from the reference system.

Every function takes ``workspace`` (None: the first notebook). ``save_*`` merge by id under the
file's lock, so two writers never undo each other; removal goes through the delete functions of
the module that owns the thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from services.errors import AmbiguousNameError, NotFoundError
from services.jsonfile import JsonFile, damaged_entry, made_before
from services.models import Message, Note, Source, Stored
from services.workspace import Workspace, open_workspace

_NAMED = 8
"""How many sources a sentence lists by name."""
_SESSION = re.compile(r"[0-9a-f]{32}")
Row = dict[str, Any]
Shared = Mapping[str, Any]
"""A stored row as a ``change`` sees it: others read the same object, so it is never changed."""
S = TypeVar("S", bound=Stored)
_models: dict[Path, tuple[list[Shared], list[Any]]] = {}


def _at(workspace: Workspace | None) -> Workspace:
    return workspace or open_workspace()


def as_row(item: Stored | Mapping[str, Any]) -> Row:
    """A model or mapping as the JSON object that is stored."""
    return item.model_dump(mode="json") if isinstance(item, Stored) else dict(item)


def _load(file: JsonFile, model: type[S]) -> list[S]:
    """The rows as models; unchanged rows answer with the models made before."""
    rows = file.read()
    known = _models.get(file.path)
    if known is None or known[0] is not rows:
        kept = made_before(known, rows)
        if known and not any(kept):  # read afresh, after another process wrote it
            before = {row.get("id"): (row, made) for row, made in zip(*known, strict=True)}
            ids = [row.get("id") if isinstance(row, dict) else None for row in rows]
            pairs = [
                (row, before.get(key, (None, None))) for row, key in zip(rows, ids, strict=True)
            ]
            kept = [made if same == row else None for row, (same, made) in pairs]
        try:
            models = [
                made or model.model_validate(row) for row, made in zip(rows, kept, strict=True)
            ]
        except ValidationError as error:
            raise damaged_entry(file.path.name) from error
        known = _models[file.path] = (rows, models)
    return list(known[1])


def merge_rows(rows: list[Shared], items: Iterable[Row], *, key: str = "id") -> list[Shared]:
    """``rows`` with ``items`` laid over the rows of the same id; new ones go in front."""
    at = {row.get(key): index for index, row in enumerate(rows) if row.get(key)}
    fresh: list[Shared] = []
    for item in items:
        if item.get(key) in at:
            rows[at[item[key]]] = {**rows[at[item[key]]], **item}
        else:
            fresh.append(item)
    return fresh + rows


# --- sources ---------------------------------------------------------------------------------


def load_sources(workspace: Workspace | None = None) -> list[Source]:
    """All source records, newest first. Treat them as immutable."""
    return _load(_at(workspace).sources_file, Source)


def save_sources(
    sources: Iterable[Source | Mapping[str, Any]], workspace: Workspace | None = None
) -> None:
    """Merge these records into sources.json by id. Records not named stay as they are."""
    items = [as_row(source) for source in sources]
    _at(workspace).sources_file.update(lambda rows: merge_rows(rows, items))


def get_source(source_id: str, workspace: Workspace | None = None) -> Source:
    """The record with this id. Raises NotFoundError."""
    for source in load_sources(workspace):
        if source.id == source_id:
            return source
    raise NotFoundError(
        "There is no such source.",
        code="no_such_source",
        step="It may have been deleted; “halo list” shows what is there.",
        id=source_id,
    )


def find_source(typed: str, workspace: Workspace | None = None) -> Source:
    """The record that a user means by an id, a name, or the beginning of either; what is typed out
    in full goes before what only begins so, and upper or lower case makes no difference.

    Raises NotFoundError, and AmbiguousNameError where several are meant.
    """
    wanted = typed.strip().casefold()
    sources = load_sources(workspace) if wanted else []
    meant = (
        [source for source in sources if source.id == wanted]
        or [source for source in sources if source.name == typed]
        or [source for source in sources if source.name.casefold() == wanted]
        or [s for s in sources if s.id.startswith(wanted) or s.name.casefold().startswith(wanted)]
    )
    if len(meant) < 2:
        return meant[0] if meant else get_source(typed, workspace)
    listed = ", ".join(f"“{source.name}” ({source.id[:12]})" for source in meant[:_NAMED])
    more = f" and {len(meant) - _NAMED} more" if len(meant) > _NAMED else ""
    raise AmbiguousNameError(
        f"“{typed}” names {len(meant)} sources: {listed}{more}.",
        step="Type more of the name, or the id.",
        typed=typed,
        count=len(meant),
        sources=f"{listed}{more}",
    )


def update_sources(
    changes: Mapping[str, Row],
    workspace: Workspace | None = None,
    *,
    expected: Mapping[str, str | None] | None = None,
) -> set[str]:
    """Set fields of several records in one commit: ``{source id: {field: value}}``.

    Records that are gone stay gone; so do changes to a record whose revision is no longer the
    ``expected`` one. Returns the ids that were changed.
    """
    found: set[str] = set()

    def change(rows: list[Shared]) -> list[Shared] | None:
        found.clear()
        for index, row in enumerate(rows):
            key = row.get("id", "")
            if key not in changes:
                continue
            if expected is None or key not in expected or row.get("revision") == expected[key]:
                rows[index] = {**row, **changes[key]}
                found.add(key)
        return rows if found else None

    _at(workspace).sources_file.update(change)
    return found


# --- notes -----------------------------------------------------------------------------------


def _notes_file(workspace: Workspace) -> JsonFile:
    return workspace.file("studio_notes.json", [])


def load_notes(workspace: Workspace | None = None) -> list[Note]:
    """All notes in stored order; notes of old files without an id get one for good."""
    file = _notes_file(_at(workspace))
    if any(not row.get("id") for row in file.read()):
        try:
            file.update(lambda rows: [as_row(Note.model_validate(row)) for row in rows])
        except ValidationError as error:
            raise damaged_entry(file.path.name) from error
    return _load(file, Note)


def save_notes(
    notes: Iterable[Note | Mapping[str, Any]], workspace: Workspace | None = None
) -> None:
    """Merge these notes into studio_notes.json by id."""
    items = [as_row(Note.model_validate(as_row(note))) for note in notes]
    _notes_file(_at(workspace)).update(lambda rows: merge_rows(rows, items))


def update_notes(
    change: Callable[[list[Shared]], list[Shared] | None], workspace: Workspace | None = None
) -> None:
    """Change the rows of studio_notes.json under its lock."""
    load_notes(workspace)
    _notes_file(_at(workspace)).update(change)


# --- outputs, summary, config, connector cache ----------------------------------------------------


def load_studio_outputs(workspace: Workspace | None = None) -> list[Row]:
    """All studio outputs, newest first."""
    return list(_at(workspace).file("studio_outputs.json", []).read())


def save_studio_outputs(outputs: Iterable[Row], workspace: Workspace | None = None) -> None:
    """Merge these outputs into studio_outputs.json by ``output_id``."""
    items = list(outputs)
    _at(workspace).file("studio_outputs.json", []).update(
        lambda rows: merge_rows(rows, items, key="output_id")
    )


def load_all_sources_summary(workspace: Workspace | None = None) -> Row:
    """The summary over all sources, {} if none was made."""
    return dict(_at(workspace).file("all_sources_summary.json", {}).read())


def save_all_sources_summary(payload: Row, workspace: Workspace | None = None) -> None:
    """Keep the summary over all sources."""
    _at(workspace).file("all_sources_summary.json", {}).update(lambda _: payload)


def load_config(workspace: Workspace | None = None) -> Row:
    """The notebook's config.json."""
    return dict(_at(workspace).config_file.read())


def save_config(config: Row, workspace: Workspace | None = None) -> None:
    """Lay these keys over config.json; keys not named stay as they are."""
    update_config(config, workspace)


def update_config(changes: Row, workspace: Workspace | None = None) -> None:
    """Set keys of config.json; a value of None removes its key."""

    def change(stored: Row) -> Row:
        merged = stored | changes
        return {key: value for key, value in merged.items() if value is not None}

    _at(workspace).config_file.update(change)


def load_connector_cache(workspace: Workspace | None = None) -> Row:
    """What connectors found last, by connector."""
    return dict(_at(workspace).file("connector_cache.json", {}).read())


def save_connector_cache(cache: Row, workspace: Workspace | None = None) -> None:
    """Lay these connectors' results over the cache."""
    _at(workspace).file("connector_cache.json", {}).update(lambda stored: stored | cache)


# --- chat histories -----------------------------------------------------------------------------


def history_file(session_id: str, workspace: Workspace | None = None) -> JsonFile:
    """chat_history/<id>.json. Raises NotFoundError for anything but 32 hex digits."""
    if not _SESSION.fullmatch(session_id):
        raise NotFoundError("There is no such conversation.", code="no_such_conversation")
    at = _at(workspace)
    return JsonFile(at.chats / f"{session_id}.json", [], locks=at.locks, quarantine=at.quarantine)


def load_chat_history(session_id: str, workspace: Workspace | None = None) -> list[Row]:
    """The messages of a conversation as stored, oldest first; [] if there is none."""
    return list(history_file(session_id, workspace).read())


def save_chat_history(
    session_id: str, history: Iterable[Message | Row], workspace: Workspace | None = None
) -> None:
    """Merge messages into a conversation: those with a known id are updated in place, others
    are appended in order. Nothing is removed."""
    items = [as_row(Message.model_validate(as_row(message))) for message in history]

    def change(rows: list[Shared]) -> list[Shared]:
        at = {row.get("id"): index for index, row in enumerate(rows) if row.get("id")}
        for item in items:
            if item["id"] in at:
                rows[at[item["id"]]] = {**rows[at[item["id"]]], **item}
            else:
                rows.append(item)
        return rows

    history_file(session_id, workspace).update(change)
