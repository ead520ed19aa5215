"""Sources are added, replaced, renamed, deleted and brought back without losing anything."""

import errno
import io
from pathlib import Path
from typing import Any

import pytest

from services import intake, jobs, jsonfile
from services.adding import add_files, add_text, settle_same_name
from services.errors import DiskFullError, NotFoundError, UserInputError
from services.ingestion import (
    cancel_source,
    delete_sources,
    extract_document_payload,
    infer_type_label,
    ingest_source_content,
    list_sources,
    load_directory_documents,
    load_document,
    original_path,
    reindex_sources,
    rename_source,
    restore_sources,
    retry_source,
    set_selected,
)
from services.intake import LONGEST_NAME, Incoming, folder_files, shown_name
from services.search import search
from services.storage import load_sources
from services.workspace import Workspace

from .conftest import Library

WELLS = "# Wells\n\n## North\n\nWell ZX-4417-B gave 63.8 mg/l nitrate in March 2024.\n"


def found(workspace: Workspace, query: str) -> list[str]:
    return [hit.source_name for hit in search(workspace, query).hits]


def test_a_file_becomes_a_source_that_is_found(library: Library) -> None:
    (source,) = library.add(wells=WELLS)
    assert (source.name, source.status, source.type_label) == ("wells.md", "ready", "Markdown")
    assert source.vectors == source.chunks > 0
    assert found(library.workspace, "nitrate") == ["wells.md"]
    assert original_path(library.workspace, source.id).read_text() == WELLS
    document = load_document(library.workspace, source.id)
    assert "63.8 mg/l" in document.text
    assert jobs.all_jobs(library.workspace) == []


def test_the_same_bytes_are_recognised_whatever_their_name(library: Library) -> None:
    (first,) = library.add(wells=WELLS)
    added = add_files(library.workspace, [Incoming("copy.md", WELLS.encode())])
    assert (added[0].outcome, added[0].source_id) == ("duplicate", first.id)
    assert len(load_sources(library.workspace)) == 1


def test_the_same_bytes_twice_in_one_batch_are_one_source(library: Library) -> None:
    files = [Incoming("a.txt", b"one text"), Incoming("b.txt", b"one text")]
    added = add_files(library.workspace, files)
    assert [item.outcome for item in added] == ["queued", "duplicate"]


@pytest.mark.parametrize(("answer", "names"), [(False, 2), (True, 1)])
def test_another_file_of_the_same_name_waits_for_an_answer(
    library: Library, answer: bool, names: int
) -> None:
    (old,) = library.add(wells=WELLS)
    new = Incoming("wells.md", b"Well QQ-1 is dry.")
    (asked,) = add_files(library.workspace, [new], same_name="ask")
    assert asked.outcome == "same_name"
    assert len(load_sources(library.workspace)) == 1
    settled = settle_same_name(library.workspace, asked, replace=answer)
    library.wait([settled.source_id or ""])
    sources = load_sources(library.workspace)
    assert [source.name for source in sources] == ["wells.md"] * names
    assert all(source.status == "ready" for source in sources)
    assert bool(found(library.workspace, '"ZX-4417-B"')) and (
        ("63.8" in search(library.workspace, "ZX-4417-B nitrate").hits[0].chunk.text) != answer
    )
    assert (settled.source_id == old.id) is answer


def test_a_replacement_that_cannot_be_read_leaves_the_old_source_answering(
    library: Library,
) -> None:
    library.add(wells=WELLS)
    (source,) = library.add_files([Incoming("wells.md", b"   \n ")], same_name="replace")
    assert source.status == "ready"
    assert source.error is not None
    assert found(library.workspace, "nitrate") == ["wells.md"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\x\\report.pdf", "report.pdf"),
        ("O'Brien.txt", "O'Brien.txt"),
        ("x' OR '1'='1.txt", "x' OR '1'='1.txt"),
        ("résumé 東京 (1).pdf", "résumé 東京 (1).pdf"),
        ("🧪 lab.md", "🧪 lab.md"),
        ("a\x00b\nc.txt", "abc.txt"),
        ("con.txt", "con.txt"),
        ("/", "unnamed"),
        ("", "unnamed"),
        ("\u202egpj.txt", "gpj.txt"),
    ],
)
def test_a_name_is_shown_and_never_a_path(name: str, shown: str) -> None:
    assert shown_name(name) == shown


def test_a_very_long_name_keeps_its_ending() -> None:
    name = shown_name("x" * 400 + ".pdf")
    assert len(name) == LONGEST_NAME
    assert name.endswith("….pdf")


def test_hostile_names_write_nothing_outside_and_delete_only_their_own(
    library: Library, tmp_path: Path
) -> None:
    names = ["../../evil.txt", "O'Brien.txt", "x' OR '1'='1.txt", "résumé 東京 (1).txt", "a" * 300]
    files = [
        Incoming(name, f"text number {n} about pumps".encode()) for n, name in enumerate(names)
    ]
    sources = library.add_files(files)
    assert [source.status for source in sources] == ["ready"] * 5
    assert {path.name for path in tmp_path.iterdir()} == {"data"}
    delete_sources(library.workspace, [sources[2].id])
    left = {hit.source_id for hit in search(library.workspace, "pumps", k=20).hits}
    assert left == {source.id for source in sources if source is not sources[2]}


def test_an_empty_file_is_a_red_row_that_is_updated_not_doubled(library: Library) -> None:
    for _ in range(2):
        (added,) = add_files(library.workspace, [Incoming("empty.pdf", b"")])
        assert added.outcome == "refused"
    (source,) = load_sources(library.workspace)
    assert source.status == "failed"
    assert "0 bytes" in (source.error or {})["message"]


def test_one_bad_file_does_not_stop_the_others(library: Library) -> None:
    good, bad, also = library.add(wells=WELLS, junk_pdf=b"\x00\x01\x02" * 50, bridge="A bridge.")
    assert [good.status, bad.status, also.status] == ["ready", "failed", "ready"]
    assert (bad.error or {})["message"]


def test_a_file_over_the_limit_is_refused_before_it_is_kept(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_UPLOAD_LIMIT_MB", "1")
    data = b"x" * 1_000_001
    (tmp_path / "big.txt").write_bytes(data)
    for form in (data, tmp_path / "big.txt", io.BytesIO(data)):
        (added,) = add_files(workspace, [Incoming("big.txt", form)])
        assert (added.error or {})["code"] == "too_large"
    assert list(workspace.originals.iterdir()) == []
    (source,) = load_sources(workspace)  # its row says how large it is, and stays one
    assert (source.status, source.size) == ("failed", len(data))


def test_a_file_that_finds_no_room_stops_none_of_the_others(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = intake._store

    def store(data: bytes, target: Path) -> tuple[int, str]:
        if len(data) > 100:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(data, target)

    monkeypatch.setattr(intake, "_store", store)
    files = [Incoming("a.txt", b"a"), Incoming("big.txt", b"x" * 101), Incoming("c.txt", b"c")]
    outcomes = [item.outcome for item in add_files(workspace, files)]
    assert outcomes == ["queued", "refused", "queued"]
    by_name = {source.name: source for source in load_sources(workspace)}
    assert (by_name["big.txt"].error or {})["code"] == "disk_full"
    assert by_name["big.txt"].size == 101
    monkeypatch.undo()
    again = add_files(workspace, [files[1], Incoming("big.txt", b"another of this name")])
    assert again[0].source_id == by_name["big.txt"].id != again[1].source_id


def test_a_missing_file_leaves_no_row(workspace: Workspace, tmp_path: Path) -> None:
    (added,) = add_files(workspace, [Incoming("gone.txt", tmp_path / "gone.txt")])
    assert (added.error or {})["code"] == "no_such_file"
    assert load_sources(workspace) == []


def test_pasted_text_is_named_by_its_first_line(library: Library) -> None:
    added = add_text(library.workspace, "", "# Margin bridge\n\nVolume added 11 million.")
    library.wait([added.source_id or ""])
    assert load_sources(library.workspace)[0].name == "Margin bridge"
    with pytest.raises(UserInputError, match="no text"):
        add_text(library.workspace, "x", " \n ")


def test_renaming_touches_the_name_only_and_search_shows_the_new_one(library: Library) -> None:
    (source,) = library.add(wells=WELLS)
    rename_source(library.workspace, source.id, "Wells 2024 / north")
    assert found(library.workspace, "nitrate") == ["Wells 2024 ∕ north"]
    assert load_sources(library.workspace)[0].revision == source.revision
    with pytest.raises(UserInputError):
        rename_source(library.workspace, source.id, "  ")
    with pytest.raises(NotFoundError):
        rename_source(library.workspace, "0" * 32, "x")


def test_inclusion_is_kept(library: Library) -> None:
    one, two = library.add(wells=WELLS, bridge="A bridge.")
    set_selected(library.workspace, [one.id], False)
    state = {source.id: source.selected for source in load_sources(library.workspace)}
    assert state == {one.id: False, two.id: True}


def test_a_deleted_source_is_gone_at_once_and_comes_back_whole(library: Library) -> None:
    (source,) = library.add(wells=WELLS)
    entry = delete_sources(library.workspace, [source.id])
    assert found(library.workspace, "nitrate") == []
    assert load_sources(library.workspace) == []
    restore_sources(library.workspace, entry)
    assert load_sources(library.workspace) == [source]
    assert found(library.workspace, "nitrate") == ["wells.md"]
    with pytest.raises(NotFoundError):
        restore_sources(library.workspace, entry)
    with pytest.raises(NotFoundError):
        delete_sources(library.workspace, ["0" * 32])


def test_restored_sources_stand_where_they_stood(library: Library) -> None:
    library.add(one="One about wells.", two="Two about wells.", three="Three.", four="Four.")
    before = load_sources(library.workspace)
    for gone in (before[1:3], before[3:], before[:1], [before[0], before[2]]):
        entry = delete_sources(library.workspace, [source.id for source in gone])
        restore_sources(library.workspace, entry)
        assert load_sources(library.workspace) == before


def test_a_deleted_sources_bytes_can_be_added_afresh(library: Library) -> None:
    (source,) = library.add(wells=WELLS)
    delete_sources(library.workspace, [source.id])
    (again,) = library.add(wells=WELLS)
    assert again.id != source.id
    assert found(library.workspace, "nitrate") == ["wells.md"]


def test_reindexing_swaps_the_revision_and_keeps_what_the_user_changed(library: Library) -> None:
    (source,) = library.add(wells=WELLS)
    rename_source(library.workspace, source.id, "Mine")
    reindex_sources(library.workspace, [source.id])
    library.wait([source.id])
    (after,) = load_sources(library.workspace)
    assert after.revision != source.revision
    assert (after.name, after.status) == ("Mine", "ready")
    assert found(library.workspace, "nitrate") == ["Mine"]
    assert load_document(library.workspace, source.id, source.revision).text, "kept for citations"


def test_cancelling_before_reading_leaves_a_row_that_can_be_tried_again(
    workspace: Workspace,
) -> None:
    (added,) = add_files(workspace, [Incoming("wells.md", WELLS.encode())])
    assert added.source_id
    cancel_source(workspace, added.source_id)
    (view,) = list_sources(workspace)
    assert view.status == "cancelled"
    assert jobs.all_jobs(workspace) == []
    retry_source(workspace, added.source_id)
    assert list_sources(workspace)[0].status == "queued"
    assert len(jobs.all_jobs(workspace)) == 1


def test_a_folder_is_listed_without_hidden_links_and_strangers(tmp_path: Path) -> None:
    for name in ("b.txt", "a.md", ".hidden.txt", "~$lock.docx", "movie.xyz", "sub/c.csv"):
        path = tmp_path / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "in" / "link.txt").symlink_to(tmp_path / "in" / "b.txt")
    names = [path.name for path in folder_files(f' "{tmp_path / "in"}" ')]
    assert names == ["a.md", "b.txt", "c.csv"]
    with pytest.raises(NotFoundError):
        folder_files(str(tmp_path / "nowhere"))


def test_names_of_the_reference_system_hold(tmp_path: Path) -> None:
    (tmp_path / "wells.md").write_text(WELLS)
    assert infer_type_label("x.pdf") == "PDF"
    assert infer_type_label("x.pdf", b"just text") == "Text"
    payload = extract_document_payload("wells.md", WELLS.encode())
    assert payload["title"] == "wells.md"
    assert "63.8" in payload["body"]
    with pytest.raises(ValueError, match="program"):
        extract_document_payload("x.pdf", b"\x7fELF\x02\x01\x01" + b"\x00" * 100)
    (document,) = load_directory_documents(tmp_path)
    assert document["source_path"] == str(tmp_path / "wells.md")


def test_content_is_queued_for_whoever_works_next(library: Library) -> None:
    ingest_source_content("Web page", "A page about pumps.", "fetched today")
    (source,) = load_sources(library.workspace)
    library.wait([source.id])
    assert load_sources(library.workspace)[0].meta == "fetched today"
    assert found(library.workspace, "pumps") == ["Web page"]


def test_on_a_full_disk_sources_are_deleted_for_good(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was deleted before keeps its way back; what is deleted makes room, not more files."""
    first, kept, last = (
        add_text(workspace, name, f"The text of {name}.").source_id or ""
        for name in ("first", "kept", "last")
    )
    entry = delete_sources(workspace, [first])
    path = original_path(workspace, last)
    real = jsonfile.write_bytes

    def full(target: Path, data: bytes, **more: Any) -> None:
        if path.exists():
            raise DiskFullError("The disk is full.")
        real(target, data, **more)

    monkeypatch.setattr(jsonfile, "write_bytes", full)
    with pytest.raises(NotFoundError):
        delete_sources(workspace, ["nothing"])
    assert delete_sources(workspace, [last]) == ""
    assert [source.id for source in load_sources(workspace)] == [kept]
    assert original_path(workspace, kept).is_file()
    assert [job.source_id for job in jobs.all_jobs(workspace)] == [kept]
    restore_sources(workspace, entry)
    assert original_path(workspace, first).is_file()
