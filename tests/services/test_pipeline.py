"""Work resumes, is shared between workers, and a failure is one source's only."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from services import jobs
from services.adding import add_files
from services.doctor import examine
from services.embeddings.hashed import HashEmbedder
from services.errors import EmbedderError
from services.ingestion import cancel_source, delete_sources, list_sources, retry_source
from services.intake import Incoming
from services.lance import open_table
from services.lance_import import import_lancedb
from services.models import Job
from services.pipeline import Pipeline
from services.search import search
from services.storage import load_sources, update_sources
from services.workspace import Workspace, create_workspace
from tests import sounds

LONG = "\n\n".join(
    f"## Part {n}\n\nPump {n} delivered {n * 3} litres." for n in range(120)
).encode()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Vectors are made only once the event is set."""
    go = threading.Event()
    real = HashEmbedder.embed_passages

    def wait(self: HashEmbedder, texts: list[str]) -> object:
        go.wait(30)
        return real(self, texts)

    monkeypatch.setattr(HashEmbedder, "embed_passages", wait)
    return go


def test_text_answers_first_and_vectors_follow_under_the_same_revision(
    workspace: Workspace, pipeline: Pipeline, held: threading.Event
) -> None:
    (added,) = add_files(workspace, [Incoming("pumps.md", LONG)])
    until(lambda: load_sources(workspace)[0].status == "text_ready")
    early = load_sources(workspace)[0]
    assert search(workspace, "pump 57").hits
    held.set()
    pipeline.wait(workspace, [added.source_id or ""])
    late = load_sources(workspace)[0]
    assert (late.status, late.revision, late.vectors) == ("ready", early.revision, late.chunks)


def test_a_new_file_is_answerable_while_a_long_one_is_embedded(
    workspace: Workspace, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = HashEmbedder.embed_passages

    def slowly(self: HashEmbedder, texts: list[str]) -> object:
        time.sleep(0.2)
        return real(self, texts)

    monkeypatch.setattr(HashEmbedder, "embed_passages", slowly)
    (long,) = add_files(workspace, [Incoming("long.md", LONG)])
    until(lambda: load_sources(workspace)[0].status == "text_ready")
    add_files(workspace, [Incoming("short.md", b"The seal is blue.")])
    until(lambda: search(workspace, "seal").hits != [])
    status = {source.id: source.status for source in load_sources(workspace)}
    assert status[long.source_id or ""] == "text_ready"


def test_a_small_source_of_another_notebook_gets_its_vectors_before_a_large_one(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = create_workspace("Another")
    real, fast = HashEmbedder.embed_passages, threading.Event()

    def slowly(self: HashEmbedder, texts: list[str]) -> object:
        fast.wait(0.2)
        return real(self, texts)

    monkeypatch.setattr(HashEmbedder, "embed_passages", slowly)
    worker = Pipeline(lambda: [workspace, other]).start()
    (long,) = add_files(workspace, [Incoming("long.md", LONG * 20)])
    until(lambda: load_sources(workspace)[0].status == "text_ready")
    (short,) = add_files(other, [Incoming("short.md", b"The seal is blue.")])
    worker.wait(other, [short.source_id or ""])
    (source,) = load_sources(workspace)
    assert source.status == "text_ready" and source.vectors < source.chunks
    fast.set()
    worker.wait(workspace, [long.source_id or ""])
    worker.stop()
    assert load_sources(workspace)[0].status == "ready"
    for each in (workspace, other):
        assert all(check.ok for check in examine(each)), examine(each)


def test_notebooks_take_turns_in_being_read(workspace: Workspace) -> None:
    other = create_workspace("Another")
    add_files(workspace, [Incoming(f"{n}.txt", f"Pump {n}".encode()) for n in range(6)])
    add_files(other, [Incoming("short.md", b"The seal is blue.")])
    worker = Pipeline(lambda: [workspace, other])
    worker._scan(workspace, full=False)
    worker._scan(other, full=False)
    taken = [worker._next(worker._to_read)[0] for _ in range(7)]
    assert taken.index(other) == 1 and taken.count(workspace) == 6


def test_a_stopped_worker_leaves_work_that_the_next_one_ends(
    workspace: Workspace, held: threading.Event
) -> None:
    first = Pipeline(lambda: [workspace]).start()
    (added,) = add_files(workspace, [Incoming("pumps.md", LONG)])
    until(lambda: load_sources(workspace)[0].status == "text_ready")
    held.set()
    first.stop()
    second = Pipeline(lambda: [workspace]).start()
    second.wait(workspace, [added.source_id or ""])
    second.stop()
    (source,) = load_sources(workspace)
    assert (source.status, source.vectors) == ("ready", source.chunks)
    table = open_table(workspace.vector_uri, "sources")
    assert table
    assert table.pending(source.revision or "") == []


def test_two_workers_share_the_work_without_doubling_it(workspace: Workspace) -> None:
    workers = [Pipeline(lambda: [workspace]).start() for _ in range(2)]
    files = [Incoming(f"memo{n}.md", f"Memo {n} about valve {n}.".encode()) for n in range(30)]
    added = add_files(workspace, files)
    workers[0].wait(workspace, [item.source_id or "" for item in added])
    for worker in workers:
        worker.stop()
    assert {source.status for source in load_sources(workspace)} == {"ready"}
    table = open_table(workspace.vector_uri, "sources")
    assert table
    assert table.count() == sum(source.chunks for source in load_sources(workspace))


def test_vectors_that_fail_leave_the_text_answering_and_can_be_tried_again(
    workspace: Workspace, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = HashEmbedder.embed_passages

    def refuse(self: HashEmbedder, texts: list[str]) -> object:
        raise EmbedderError("The endpoint is not reachable.", code="embedder_unreachable")

    monkeypatch.setattr(HashEmbedder, "embed_passages", refuse)
    (added,) = add_files(workspace, [Incoming("pumps.md", LONG)])
    pipeline.wait(workspace, [added.source_id or ""])
    (source,) = load_sources(workspace)
    assert source.status == "text_ready"
    assert (source.error or {})["code"] == "embedder_unreachable"
    assert search(workspace, "pump 57").hits
    monkeypatch.setattr(HashEmbedder, "embed_passages", real)
    retry_source(workspace, source.id)
    until(lambda: load_sources(workspace)[0].status == "ready")
    assert load_sources(workspace)[0].error is None


def test_cancelling_the_vectors_keeps_the_text(
    workspace: Workspace, pipeline: Pipeline, held: threading.Event
) -> None:
    (added,) = add_files(workspace, [Incoming("pumps.md", LONG)])
    until(lambda: load_sources(workspace)[0].status == "text_ready")
    cancel_source(workspace, added.source_id or "")
    held.set()
    until(lambda: jobs.all_jobs(workspace) == [])
    (view,) = list_sources(workspace)
    assert view.status == "text_ready"
    assert (view.source.error or {})["code"] == "vectors_stopped"
    assert search(workspace, "pump 57").hits


def test_a_source_deleted_while_it_is_read_stays_deleted(
    workspace: Workspace, pipeline: Pipeline, held: threading.Event
) -> None:
    (added,) = add_files(workspace, [Incoming("pumps.md", LONG)])
    until(lambda: load_sources(workspace)[0].status == "text_ready")
    delete_sources(workspace, [added.source_id or ""])
    held.set()
    until(lambda: jobs.all_jobs(workspace) == [])
    time.sleep(0.3)
    assert load_sources(workspace) == []
    assert search(workspace, "pump").hits == []


def test_an_unforeseen_fault_is_one_red_row(
    workspace: Workspace, pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> object:
        raise ZeroDivisionError

    monkeypatch.setattr("services.pipeline.chunk_document", broken)
    (bad,) = add_files(workspace, [Incoming("bad.md", b"text")])
    pipeline.wait(workspace, [bad.source_id or ""])
    (source,) = load_sources(workspace)
    assert source.status == "failed"
    assert "ZeroDivisionError" in (source.error or {})["message"]
    monkeypatch.undo()
    (good,) = add_files(workspace, [Incoming("good.md", b"other text")])
    pipeline.wait(workspace, [good.source_id or ""])
    assert load_sources(workspace)[0].status == "ready"


def test_the_stamp_changes_with_every_commit_and_only_then(workspace: Workspace) -> None:
    before = workspace.stamp()
    assert workspace.stamp() == before
    add_files(workspace, [Incoming("a.md", b"text")])
    assert workspace.stamp() != before


def test_waiting_needs_no_worker_when_all_is_done(workspace: Workspace) -> None:
    Pipeline(lambda: [workspace]).wait(workspace, [])


def test_rows_left_by_a_killed_worker_are_not_doubled(workspace: Workspace) -> None:
    """Killed between adding the passages and committing them: the job and its rows are there."""
    (added,) = add_files(workspace, [Incoming("pumps.md", LONG)])
    first = Pipeline(lambda: [workspace]).start()
    first.wait(workspace, [added.source_id or ""])
    first.stop()
    (source,) = load_sources(workspace)
    uncommitted = {"revision": None, "status": "queued", "chunks": 0, "vectors": 0}
    update_sources({source.id: uncommitted}, workspace)
    jobs.put(workspace, Job(source_id=source.id, revision=source.revision or ""))
    second = Pipeline(lambda: [workspace]).start()
    second.wait(workspace, [source.id])
    second.stop()
    (again,) = load_sources(workspace)
    assert (again.status, again.revision, again.error) == ("ready", source.revision, None)
    table = open_table(workspace.vector_uri, "sources")
    assert table
    assert table.revisions() == {source.revision: source.chunks}


def test_many_small_writes_leave_few_fragments_and_no_row_outside_the_text_index(
    workspace: Workspace,
) -> None:
    """Each write adds a fragment, and every later write and search looks into all of them."""
    worker = Pipeline(lambda: [workspace]).start()
    for n in range(40):
        (added,) = add_files(workspace, [Incoming(f"memo {n}.md", f"Memo {n} on seals.".encode())])
        worker.wait(workspace, [added.source_id or ""])
    (added,) = add_files(workspace, [Incoming("pumps.md", LONG * 6)])
    worker.wait(workspace, [added.source_id or ""])
    worker.stop()
    table = import_lancedb().connect(workspace.vector_uri).open_table("sources")
    assert table.count_rows() > 540
    assert table.stats()["fragment_stats"]["num_fragments"] < 40
    assert table.index_stats("search_text_idx").num_unindexed_rows == 0
    assert search(workspace, "memo 39").hits[0].source_name == "memo 39.md"


@pytest.mark.model
def test_recordings_hold_up_no_text(workspace: Workspace, pipeline: Pipeline) -> None:
    spoken = sounds.ENGLISH.read_bytes()
    talks = [Incoming(f"talk {n}.ogg", spoken + bytes(n)) for n in range(5)]
    added = add_files(workspace, [*talks, Incoming("pumps.md", b"Pump 7 delivered 21 litres.")])
    text = added.pop().source_id or ""
    pipeline.wait(workspace, [text])
    heard = [view for view in list_sources(workspace) if view.status == "ready"]
    assert len(heard) < len(talks)  # the text and at most some of them
    pipeline.wait(workspace, [talk.source_id or "" for talk in added])
    assert {view.status for view in list_sources(workspace)} == {"ready"}


def test_a_long_first_step_is_shown_as_reading(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    go_on = tmp_path / "go on"
    (tmp_path / "sitecustomize.py").write_text(
        "import pathlib, time\n"
        "import services.parsers.text as text\n"
        "usual = text.parse\n"
        "def parse(*arguments, **options):\n"
        f"    while not pathlib.Path({str(go_on)!r}).exists():\n"
        "        time.sleep(0.05)\n"
        "    return usual(*arguments, **options)\n"
        "text.parse = parse\n",
        encoding="utf-8",
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    pipeline = Pipeline(lambda: [workspace]).start()
    try:
        (added,) = add_files(workspace, [Incoming("slow.txt", b"Pump 7 delivered 21 litres.")])
        until(lambda: list_sources(workspace)[0].status == "reading")
        go_on.touch()
        pipeline.wait(workspace, [added.source_id or ""])
    finally:
        go_on.touch()
        pipeline.stop()
    assert list_sources(workspace)[0].status == "ready"
