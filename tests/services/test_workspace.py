"""A data folder is ours, somebody else's, damaged or from the future; HALO knows which."""

import contextlib
import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from services import chat, jobs
from services.errors import ForeignFolderError, NewerFormatError, NotFoundError, StorageError
from services.jsonfile import JsonFile
from services.models import Job
from services.storage import load_sources
from services.workspace import create_workspace, open_workspace, workspaces


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_new_folder_is_made_and_marked(tmp_path: Path) -> None:
    workspace = open_workspace()
    assert workspace.root == tmp_path / "data"
    config = json.loads((workspace.root / "config.json").read_text())
    assert config["halo_format"] == 1
    assert len(config["workspace_id"]) == 32
    assert open_workspace() == workspace


HALO_CORE_ROW = {
    "name": "report.pdf",
    "type_label": "PDF",
    "meta": "",
    "selected": True,
    "id": "a" * 32,
}


@pytest.mark.parametrize(
    "files",
    [
        {"sources.json": json.dumps([HALO_CORE_ROW])},
        {"sources.json": "[]", "config.json": json.dumps({"chat_preset": "Default"})},
        {"studio_notes.json": json.dumps([{"content": "x", "sources": []}])},
        {"chat_history/" + "b" * 32 + ".json": "[]"},
        {"lancedb/sources.lance/data": "x"},
    ],
)
def test_a_folder_of_the_reference_system_is_left_alone(
    tmp_path: Path, files: dict[str, str]
) -> None:
    home = tmp_path / "data"
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    before = snapshot(home)
    with pytest.raises(ForeignFolderError, match="HALO_DATA_DIR"):
        open_workspace()
    assert snapshot(home) == before


def test_a_folder_of_a_later_version_is_refused(tmp_path: Path) -> None:
    open_workspace()
    path = tmp_path / "data" / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"halo_format": 99}))
    with pytest.raises(NewerFormatError, match="newer version"):
        open_workspace()


def test_a_data_folder_that_is_a_file_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("x")
    with pytest.raises(StorageError, match="data folder"):
        open_workspace()


def test_notebooks_are_found_by_title_and_id() -> None:
    first = open_workspace()
    second = create_workspace("Wells")
    assert workspaces() == [first, second]
    assert open_workspace("wells") == second
    assert open_workspace(second.id) == second
    with pytest.raises(NotFoundError, match="Brücke"):
        open_workspace("Brücke")


@pytest.mark.parametrize("name", ["../..", "/etc", "a/b", "..\\x"])
def test_a_notebook_is_never_a_path(name: str) -> None:
    with pytest.raises(NotFoundError):
        open_workspace(name)


def test_damage_is_told_until_it_is_dismissed() -> None:
    workspace = open_workspace()
    file = workspace.sources_file
    row = {"id": "c" * 32, "name": "a", "status": "ready"}
    file.update(lambda rows: [row])
    file.update(lambda rows: [row | {"name": "b"}])
    file.path.write_text("[{")
    assert [source.name for source in load_sources(workspace)] == ["a"]
    notice = workspace.notices()[0]
    assert notice.code == "file_damaged"
    assert "sources.json" in notice.message
    workspace.dismiss_notice(notice.id)
    assert workspace.notices() == []
    assert any(workspace.quarantine.iterdir()), "the damaged file itself is kept"


def unwritable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks fail as they do in a folder that is read-only."""

    def refuse(self: FileLock, *args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(FileLock, "acquire", refuse)


def test_a_read_only_folder_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = open_workspace()
    talk = chat.new_conversation(workspace)
    job = Job(source_id="a" * 32, revision="b" * 32)
    unwritable(monkeypatch)
    with pytest.raises(StorageError, match="Permission denied"):
        chat.ask(workspace, talk.id, "Why?")
    with pytest.raises(StorageError, match="Permission denied"), workspace.lock("x"):
        pass
    assert jobs.take(workspace, job) is None


def test_a_notice_that_cannot_be_put_away_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    workspace = open_workspace()
    workspace.quarantine.mkdir()
    (workspace.quarantine / "20260101T000000-sources.json").touch()

    def refuse(self: Path, target: Path) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(Path, "rename", refuse)
    (notice,) = workspace.notices()
    with pytest.raises(StorageError, match="Read-only"):
        workspace.dismiss_notice(notice.id)


@pytest.mark.parametrize("killed_at", range(9))
def test_a_folder_whose_first_opening_was_broken_off_is_no_foreign_one(
    monkeypatch: pytest.MonkeyPatch, killed_at: int
) -> None:
    """Wherever a process dies, or stands while another opens the same folder."""
    steps = 0

    def breaking_off(real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            nonlocal steps
            steps += 1
            if steps == killed_at + 1:
                raise KeyboardInterrupt
            return real(*args, **options)

        return step

    with monkeypatch.context() as patch, contextlib.suppress(KeyboardInterrupt):
        patch.setattr(Path, "mkdir", breaking_off(Path.mkdir))
        patch.setattr(JsonFile, "update", breaking_off(JsonFile.update))
        open_workspace()
    opened = open_workspace()
    assert opened.chats.is_dir() and opened.config_file.read()["halo_format"]
