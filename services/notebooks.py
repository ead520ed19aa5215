"""Several notebooks in one data folder."""

from __future__ import annotations

from dataclasses import dataclass

from services import lance, trash
from services.adding import add_files
from services.errors import NotFoundError, UserInputError, from_os_error
from services.intake import Incoming
from services.sample import SAMPLE_TITLE, sample_files
from services.storage import load_config, load_sources, update_config
from services.workspace import Workspace, create_workspace, open_workspace, workspaces


@dataclass(frozen=True)
class Notebook:
    """One notebook as listed; the first has id "" and may have no title yet."""

    id: str
    title: str
    sources: int
    updated_at: str


def _as_listed(workspace: Workspace) -> Notebook:
    config = load_config(workspace)
    sources = load_sources(workspace)
    newest = max((source.created_at for source in sources), default="")
    return Notebook(
        workspace.id,
        str(config.get("title", "")),
        len(sources),
        max(newest, str(config.get("created_at", ""))),
    )


def list_notebooks() -> list[Notebook]:
    """All notebooks, the first one first."""
    return [_as_listed(workspace) for workspace in workspaces()]


def create_notebook(title: str) -> Notebook:
    """A further notebook. Raises UserInputError for an empty title."""
    return _as_listed(create_workspace(_clean(title)))


def rename_notebook(notebook_id: str, title: str) -> None:
    """Give a notebook another title."""
    update_config({"title": _clean(title)}, open_workspace(notebook_id))


def _clean(title: str) -> str:
    clean = " ".join(title.split())[:120]
    if not clean:
        raise UserInputError("The title is empty.", code="empty_name", step="Type a title.")
    return clean


def delete_notebook(notebook_id: str) -> str:
    """Move a further notebook to the trash of the data folder; returns what brings it back.

    The first notebook cannot be deleted: it is the data folder itself.
    """
    workspace = open_workspace(notebook_id)
    if not workspace.id:
        raise UserInputError(
            "The first notebook cannot be deleted.",
            code="first_notebook",
            step="Delete its sources instead.",
        )
    lance.forget(workspace.vector_uri)
    title = str(load_config(workspace).get("title", ""))
    entry = trash.put(open_workspace(), "notebook", {"id": workspace.id, "title": title})
    kept = trash.notebook(workspace.home, entry)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        workspace.root.rename(kept)
    except OSError as error:
        raise from_os_error(error, "deleting a notebook") from error
    return entry


def restore_notebook(trash_id: str) -> Notebook:
    """Bring a deleted notebook back. Raises NotFoundError."""
    first = open_workspace()
    workspace = Workspace(first.home, trash.get(first, trash_id, "notebook")["id"])
    workspace.root.parent.mkdir(parents=True, exist_ok=True)
    try:
        trash.notebook(first.home, trash_id).rename(workspace.root)
    except OSError as error:
        raise NotFoundError("This can no longer be brought back.", code="not_in_trash") from error
    trash.remove(first, trash_id)
    return _as_listed(workspace)


def open_sample() -> Notebook:
    """The sample notebook: found by its mark, or made with its six sources queued."""
    for workspace in workspaces():
        if load_config(workspace).get("sample"):
            break
    else:
        workspace = create_workspace(SAMPLE_TITLE)
        update_config({"sample": True}, workspace)
    if not load_sources(workspace):
        add_files(workspace, [Incoming(path.name, path) for path in sample_files()])
    return _as_listed(workspace)
