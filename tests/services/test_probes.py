"""A notebook's recent questions, compared before and after work on its index."""

from __future__ import annotations

import json

import pytest

from services import chat, doctor, probes, sweep
from services.ingestion import delete_sources, reindex_sources, rename_source
from services.lance import VectorTable, open_table
from services.search import search
from services.workspace import Workspace
from tests.services.conftest import Library

WELLS = "Well ZX-4417-B gave 12.6 mg nitrate per litre in March."
PARTS = "The pump holds four screws of steel."


def asked(workspace: Workspace, *questions: str) -> None:
    for question in questions:
        probes.remember(workspace, question, search(workspace, question).hits)


def notices(workspace: Workspace) -> list[str]:
    return [notice.code for notice in workspace.notices()]


def lose(workspace: Workspace, revision: str | None) -> None:
    """What must never happen: rows gone while their source is committed."""
    table = open_table(workspace.vector_uri, "sources")
    assert table and revision
    table.delete([revision])


def test_a_question_that_was_asked_is_kept_with_what_it_found(library: Library) -> None:
    (wells,) = library.add(wells=WELLS)
    chat.answer_question(library.workspace, "How much nitrate?")
    stored = json.loads((library.workspace.root / "probes.json").read_bytes())
    (probe,) = stored["probes"]
    assert probe["question"] == "How much nitrate?"
    assert [place["source_id"] for place in probe["found"]] == [wells.id]
    asked(library.workspace, *(f"nitrate {n}" for n in range(30)))
    stored = json.loads((library.workspace.root / "probes.json").read_bytes())
    assert len(stored["probes"]) == probes.QUESTIONS
    assert stored["probes"][0]["question"] == "nitrate 29"


def test_reading_everything_again_finds_the_same_under_new_ids(library: Library) -> None:
    w = library.workspace
    sources = library.add(wells=WELLS, parts=PARTS)
    asked(w, "nitrate", "screws of steel")
    reindex_sources(w)
    library.wait([source.id for source in sources])
    assert probes.after(w) == []
    assert probes.last(w) == (2, [])
    assert notices(w) == []


def test_a_loss_is_told_until_it_was_seen(library: Library) -> None:
    w = library.workspace
    wells, *_ = library.add(wells=WELLS, **{f"parts{n}": f"{PARTS} {n}" for n in range(8)})
    asked(w, "nitrate", "screws of steel")
    with probes.compared(w):
        lose(w, wells.revision)
    assert probes.last(w) == (2, ["nitrate"])
    (notice,) = w.notices()
    assert (notice.code, notice.params["n"], notice.params["asked"]) == ("finds_lost", 1, 2)
    assert "nitrate" in notice.message
    checks = {check.name: check for check in doctor.examine(w)}
    assert not checks["recent questions"].ok
    assert checks["list of sources"].ok
    w.dismiss_notice(notice.id)
    assert notices(w) == []


def test_deleted_and_new_sources_are_no_loss(library: Library) -> None:
    w = library.workspace
    wells, _ = library.add(wells=WELLS, parts=PARTS)
    asked(w, "nitrate", "screws of steel")
    with probes.compared(w):
        delete_sources(w, [wells.id])
        library.add(**{f"new{n}": f"{PARTS} {n}" for n in range(12)})
    assert probes.last(w) == (2, [])


def test_what_was_renamed_meanwhile_is_not_compared(library: Library) -> None:
    w = library.workspace
    library.add(wells=WELLS)
    others = library.add(**{f"other{n}": f"{PARTS} {n}" for n in range(12)})
    asked(w, "nitrate")
    with probes.compared(w):
        for n, source in enumerate(others):
            rename_source(w, source.id, f"Nitrate {n}")
    assert probes.last(w) == (1, [])


def test_which_of_many_like_passages_fill_the_places_is_no_loss(library: Library) -> None:
    w = library.workspace
    parts = library.add(**{f"parts{n}": f"{PARTS} Its code is ZX-{n}-B." for n in range(30)})
    question = "How many screws has ZX-17-B?"
    asked(w, question)
    best, *others = [hit.source_id for hit in search(w, question, k=5).hits]
    with probes.compared(w):
        for source in parts:
            if source.id in others:
                lose(w, source.revision)
    assert probes.last(w) == (1, [])
    with probes.compared(w):
        lose(w, next(source.revision for source in parts if source.id == best))
    assert probes.last(w) == (1, [question])


def test_a_comparison_survives_the_process_that_began_it(library: Library) -> None:
    w = library.workspace
    wells, _ = library.add(wells=WELLS, parts=PARTS)
    asked(w, "nitrate")
    probes.before(w)
    lose(w, wells.revision)
    probes.before(w)  # the same rebuild, asked for twice, keeps what was found before it
    assert probes.after(w) == ["nitrate"]
    assert probes.after(w) == []


def test_compaction_is_compared(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    w = library.workspace
    wells, _ = library.add(wells=WELLS, parts=PARTS)
    asked(w, "nitrate")
    monkeypatch.setattr("services.lance.KEPT_VERSIONS", 0)
    monkeypatch.setattr(VectorTable, "tidy", lambda table: table.delete([wells.revision or ""]))
    sweep.sweep(w)
    assert notices(w) == ["finds_lost"]


def test_without_questions_nothing_is_written(library: Library) -> None:
    library.add(wells=WELLS)
    with probes.compared(library.workspace):
        pass
    assert probes.last(library.workspace) is None
    assert not (library.workspace.root / "probes.json").exists()
