"""Several notebooks in one folder, each with its own everything."""

import pytest

from services import notebooks
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
    back = notebooks.restore_notebook(entry)
    assert (back.id, back.title, back.sources) == (made.id, "North", 1)


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
