"""A sweep takes leftovers of killed processes and expired deletions, and nothing else."""

import datetime as dt
import os
import time
from pathlib import Path

import pytest

from services import jobs, lance, sweep, trash
from services.adding import add_files
from services.ingestion import delete_sources, restore_sources
from services.intake import Incoming
from services.lance import VectorTable, open_table
from services.models import Job, new_id
from services.search import search
from services.storage import load_sources
from services.tables import writing_table
from services.workspace import Workspace

from .conftest import Library

WELLS = "# Wells\n\nWell ZX-4417-B gave 63.8 mg/l nitrate in March 2024.\n"


def table_of(workspace: Workspace) -> VectorTable:
    table = open_table(workspace.vector_uri, "sources")
    assert table
    return table


def leave_behind(workspace: Workspace, revision: str) -> Path:
    """What a process leaves that is killed before its commit: rows and a document."""
    table = table_of(workspace)
    like = dict.fromkeys(table._table.schema.names)
    row = like | {"chunk_id": f"{revision}000000", "source_id": "9" * 32, "revision": revision,
                  "text": "half written", "search_text": "half written"}  # fmt: skip
    table.add([row])
    path = workspace.document("9" * 32, revision)
    path.parent.mkdir(parents=True)
    path.write_text("{}")
    return path


def age(path: Path, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(path, (then, then))


def test_leftovers_go_to_the_trash_and_what_is_committed_stays(library: Library) -> None:
    library.add(wells=WELLS)
    w = library.workspace
    revision = new_id()
    document = leave_behind(w, revision)
    stray = w.originals / ("e" * 64)
    stray.write_text("stray")
    age(stray, sweep.INCOMING_GRACE + 60)
    assert sweep.sweep(w) == 3
    assert revision not in table_of(w).revisions()
    assert not document.exists()
    assert not stray.exists()
    assert len(list((w.trash / "leftovers").iterdir())) == 2
    assert [hit.source_name for hit in search(w, "nitrate").hits] == ["wells.md"]
    assert sweep.sweep(w) == 0


def test_old_versions_of_the_index_give_their_space_back(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    for n in range(10):
        library.add(**{f"memo{n}": f"Memo {n} on seals."})
    w = library.workspace
    versions = w.root / "lancedb" / "sources.lance" / "_versions"
    before = len(list(versions.iterdir()))
    assert before > 16
    monkeypatch.setattr(lance, "_KEEP_VERSIONS", dt.timedelta(milliseconds=1))
    sweep.sweep(w)
    assert len(list(versions.iterdir())) < 5
    assert search(w, "memo 7").hits[0].source_name == "memo7.md"


def test_work_in_progress_is_not_touched(library: Library) -> None:
    library.add(wells=WELLS)
    library.pipeline.stop()  # it would end a job whose source is not there
    w = library.workspace
    job = Job(source_id="9" * 32)
    document = leave_behind(w, job.revision)
    with w.lock(job.revision):
        assert sweep.sweep(w) == 0
    jobs.put(w, job)
    assert sweep.sweep(w) == 0
    assert document.exists()
    jobs.remove(w, job.id)
    assert sweep.sweep(w) == 2


def test_a_fresh_original_waits_for_its_record(workspace: Workspace) -> None:
    add_files(workspace, [Incoming("a.txt", b"text")])
    fresh = workspace.originals / ("f" * 64)
    fresh.write_text("just taken in")
    assert sweep.sweep(workspace) == 0
    assert fresh.exists()


def test_a_new_empty_table_is_kept_for_the_work_that_made_it(workspace: Workspace) -> None:
    add_files(workspace, [Incoming("a.txt", b"text")])
    writing_table(workspace)
    sweep.sweep(workspace)
    assert table_of(workspace).count() == 0


def test_unfinished_writes_of_killed_writers_are_cleared(workspace: Workspace) -> None:
    add_files(workspace, [Incoming("a.txt", b"text")])
    old, fresh = workspace.jobs / "x.1.tmp", workspace.root / ".sources.json.ab.tmp"
    for path in (old, fresh):
        path.write_text("{")
    age(old, sweep.INCOMING_GRACE + 60)
    sweep.sweep(workspace)
    assert not old.exists()
    assert fresh.exists()


def test_a_deletion_can_be_undone_until_it_expires(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source,) = library.add(wells=WELLS)
    w = library.workspace
    entry = delete_sources(w, [source.id])
    assert sweep.sweep(w) == 0
    restore_sources(w, entry)
    delete_sources(w, [source.id])
    monkeypatch.setattr(time, "time", lambda: 2e10)
    assert sweep.sweep(w) == 3, "rows, document and original"
    assert trash.entries(w) == []
    assert table_of(w).count() == 0


@pytest.mark.parametrize("how", ["missing", "restored"])
def test_no_sweep_when_the_list_cannot_be_trusted(library: Library, how: str) -> None:
    library.add(wells=WELLS)
    library.add(more="More text about pumps.")
    w = library.workspace
    leave_behind(w, new_id())
    path = w.sources_file.path
    if how == "missing":
        for file in w.root.glob("sources.json*"):
            file.unlink()
    else:
        path.write_text("[{")
        load_sources(w)
    before = table_of(w).count()
    assert sweep.sweep(w) == 0
    assert table_of(w).count() == before
