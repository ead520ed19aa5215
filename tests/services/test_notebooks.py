"""Several notebooks in one folder, each with its own everything."""

import datetime as dt

import pytest

from services import notebooks, sweep, trash
from services.adding import add_text
from services.errors import NotFoundError, UserInputError
from services.storage import load_sources
from services.workspace import Workspace, open_workspace


def test_notebooks_are_made_renamed_deleted_and_brought_back(workspace: Workspace) -> None:
    made = notebooks.create_notebook("  Wells  ")
    add_text(open_workspace(made.id), "a", "text")
    notebooks.rename_notebook(made.id, "North")
    assert [(n.title, n.sources) for n in notebooks.list_notebooks()] == [("", 0), ("North", 1)]
    assert load_sources(workspace) == []
    entry = notebooks.delete_notebook(made.id)
    assert [n.id for n in notebooks.list_notebooks()] == [""]
    with pytest.raises(NotFoundError):
        open_workspace(made.id)
    offered = trash.newest(workspace)
    assert offered and (offered["id"], offered["content"]["title"]) == (entry, "North")
    back = notebooks.restore_notebook(entry)
    assert trash.newest(workspace) is None
    assert (back.id, back.title, back.sources) == (made.id, "North", 1)


def test_a_deleted_notebook_goes_for_good_with_its_grace_period(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_text(workspace, "a", "text")
    made = notebooks.create_notebook("Wells")
    entry = notebooks.delete_notebook(made.id)
    sweep.sweep(workspace)
    assert trash.notebook(workspace.home, entry).is_dir()
    monkeypatch.setattr(trash, "KEEP", dt.timedelta(0))
    sweep.sweep(workspace)
    assert not trash.notebook(workspace.home, entry).exists()
    with pytest.raises(NotFoundError):
        notebooks.restore_notebook(entry)


def test_the_first_notebook_stays_and_titles_are_not_empty(workspace: Workspace) -> None:
    with pytest.raises(UserInputError):
        notebooks.delete_notebook("")
    with pytest.raises(UserInputError):
        notebooks.create_notebook(" ")
    with pytest.raises(NotFoundError):
        notebooks.restore_notebook("../../x")


def test_the_sample_is_made_once(workspace: Workspace) -> None:
    first = notebooks.open_sample()
    assert first.sources == 6
    assert notebooks.open_sample() == first
    assert len(notebooks.list_notebooks()) == 2
