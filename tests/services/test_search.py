"""Search stays in its scope, sees only what is committed, and takes any characters as data."""

import pytest

from services import lance
from services.embeddings import get_embedder
from services.errors import EmptyQuestionError, StorageError
from services.ingestion import delete_sources, reindex_sources
from services.lance import open_table
from services.ranking import exact_terms, fuse, without_stop_words
from services.search import search
from services.storage import load_sources, update_sources
from services.workspace import Workspace

from .conftest import Library

WELLS = "# Wells\n\nWell ZX-4417-B gave 63.8 mg/l nitrate in March 2024.\n"
PARTS = "# Parts\n\nThe part number 4417 is in stock. Model B is sold out, ZX too.\n"
TOKYO = "東京都の人口は増加している。\n"
HAMLET = "To be or not to be, that is the question.\n"


def names(workspace: Workspace, query: str, **options: object) -> list[str]:
    return [hit.source_name for hit in search(workspace, query, **options).hits]  # type: ignore[arg-type]


def test_an_empty_notebook_finds_nothing_without_an_error(workspace: Workspace) -> None:
    assert search(workspace, "anything").hits == []


@pytest.mark.parametrize("query", ["", "  ", "\n"])
def test_an_empty_query_is_a_sentence(workspace: Workspace, query: str) -> None:
    with pytest.raises(EmptyQuestionError):
        search(workspace, query)


def test_identifiers_phrases_and_scripts(library: Library) -> None:
    library.add(wells=WELLS, parts=PARTS, tokyo=TOKYO, hamlet=HAMLET)
    w = library.workspace
    first = search(w, "ZX-4417-B").hits[0]
    assert first.source_name == "wells.md"
    assert first.exact
    assert names(w, "人口", mode="text") == ["tokyo.md"]
    assert names(w, '"to be"', mode="text")[0] == "hamlet.md"
    assert names(w, "zx-4417-b")[0] == "wells.md"


@pytest.mark.parametrize(
    "query",
    ['C++ (foo "bar', "'; DROP TABLE sources; --", '"', "''", "a AND OR NOT", "x:y^2~*?",
     "\\", "%_", "人口?", "🙂", "a" * 5000, "() [] {}", "-", "\x00 a", "\ud800 nitrate", "“ ” „"],
)  # fmt: skip
def test_odd_characters_are_data(library: Library, query: str) -> None:
    library.add(wells=WELLS)
    search(library.workspace, query)


def test_the_scope_is_set_before_the_search(library: Library) -> None:
    many = library.add(**{f"noise{n}": f"nitrate nitrate nitrate {n}" for n in range(30)})
    (wells,) = library.add(wells=WELLS)
    w = library.workspace
    assert names(w, "nitrate", k=3, source_ids=[wells.id]) == ["wells.md"]
    but_one = [source.id for source in many]
    assert "wells.md" not in names(w, "nitrate", k=50, source_ids=but_one)
    assert names(w, "nitrate", source_ids=[]) == []
    assert names(w, "nitrate", source_ids=["x' OR '1'='1"]) == []


def test_half_written_and_deleted_rows_are_invisible_and_topped_up(library: Library) -> None:
    (wells,) = library.add(wells=WELLS)
    noise = library.add(**{f"noise{n}": f"nitrate nitrate {n}" for n in range(40)})
    delete_sources(library.workspace, [source.id for source in noise])
    table = open_table(library.workspace.vector_uri, "sources")
    assert table
    assert table.count() > 40
    assert names(library.workspace, "nitrate", k=5) == ["wells.md"]
    update_sources({wells.id: {"revision": None, "status": "queued"}}, library.workspace)
    assert names(library.workspace, "nitrate", k=5) == []


def test_text_answers_before_the_vectors_are_there(library: Library) -> None:
    (wells,) = library.add(wells=WELLS)
    update_sources({wells.id: {"status": "text_ready", "vectors": 0}}, library.workspace)
    result = search(library.workspace, "nitrate")
    assert [hit.source_name for hit in result.hits] == ["wells.md"]
    assert result.mode == "text"


def test_a_dead_embedder_falls_back_to_text_and_says_so(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(wells=WELLS)
    table = open_table(library.workspace.vector_uri, "sources")
    assert table
    gone = table.identity.model_copy(update={"provider": "openai", "model": "gone"})
    monkeypatch.setattr(table, "identity", gone)
    result = search(library.workspace, "nitrate")
    assert [hit.source_name for hit in result.hits] == ["wells.md"]
    assert (result.mode, [notice.code for notice in result.notices]) == ("text", ["text_only"])


def test_every_mode_scores_higher_for_better(library: Library) -> None:
    library.add(wells=WELLS, parts=PARTS, hamlet=HAMLET)
    for mode in ("hybrid", "vector", "text"):
        hits = search(library.workspace, "nitrate in March", mode=mode).hits
        assert hits[0].source_name == "wells.md"
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_a_passage_is_found_once(library: Library) -> None:
    library.add(wells=WELLS)
    found = [hit.chunk_id for hit in search(library.workspace, "ZX-4417-B nitrate", k=50).hits]
    assert len(found) == len(set(found))


def test_of_a_very_long_question_it_is_said_that_it_was_cut(library: Library) -> None:
    library.add(wells=WELLS)
    result = search(library.workspace, "nitrate " * 500)
    assert [notice.code for notice in result.notices] == ["question_cut"]


def test_a_missing_index_is_said_and_rebuilt(library: Library) -> None:
    (wells,) = library.add(wells=WELLS)
    lance.drop_table(library.workspace.vector_uri, "sources")
    with pytest.raises(StorageError) as caught:  # nothing was looked at: that is no empty result
        search(library.workspace, "nitrate")
    assert caught.value.code == "index_missing"
    reindex_sources(library.workspace, [wells.id])
    library.wait([wells.id])
    assert names(library.workspace, "nitrate") == ["wells.md"]


def test_another_embedder_moves_everything_at_once(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(wells=WELLS, parts=PARTS)
    monkeypatch.setenv("HALO_EMBEDDING_MODEL", "hash-8")
    assert "wells.md" in names(library.workspace, "nitrate"), "the old index answers"
    (late,) = library.add(hamlet=HAMLET)
    assert late.table == "sources", "a new source joins the index that answers"
    reindex_sources(library.workspace)
    library.wait([source.id for source in load_sources(library.workspace)])
    tables = {source.table for source in load_sources(library.workspace)}
    assert len(tables) == 1
    (name,) = tables
    table = open_table(library.workspace.vector_uri, name or "")
    assert table
    assert table.identity == get_embedder().identity
    assert table.identity.dimension == 8
    assert "wells.md" in names(library.workspace, "nitrate")


def test_moving_to_another_embedder_reads_no_file_again(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    wells, parts = library.add(wells=WELLS, parts=PARTS)
    library.workspace.original(wells.sha256 or "").unlink()
    library.workspace.document(parts.id, parts.revision or "").write_text("{", encoding="utf-8")
    monkeypatch.setenv("HALO_EMBEDDING_MODEL", "hash-8")
    reindex_sources(library.workspace)
    library.wait([wells.id, parts.id])
    moved = load_sources(library.workspace)
    assert {(source.status, source.error) for source in moved} == {("ready", None)}
    assert len({source.table for source in moved} - {"sources"}) == 1
    assert names(library.workspace, "nitrate")[0] == "wells.md"


def test_sources_are_cut_anew_when_the_length_of_passages_changes(
    library: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    (long,) = library.add(long="\n\n".join(f"Well {n} was sampled in May. " * 8 for n in range(40)))
    monkeypatch.setenv("HALO_PASSAGE_TOKENS", "64")
    reindex_sources(library.workspace, [long.id])
    library.wait([long.id])
    (cut,) = load_sources(library.workspace)
    assert cut.chunks > 2 * long.chunks
    assert names(library.workspace, "well 7")


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("What about ZX-4417-B?", ["ZX-4417-B"]),
        ('find "two quarters" now', ["two quarters"]),
        ("„zwei Quartale“ in Q4", ["zwei Quartale", "Q4"]),
        ("foo_bar2.baz and 1234", ["foo_bar2.baz"]),
        ("a well-known fact", []),
        ("plain words", []),
    ],
)
def test_exact_terms(query: str, terms: list[str]) -> None:
    assert exact_terms(query) == terms


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("What is the nitrate of the well?", "nitrate well?"),
        ("Wie lang ist die Brücke?", "lang Brücke?"),
        ("to be or not to be", "to be or not to be"),
        ("who are you", "who are you"),
        ("der C++-Code (v2.1)", "C++-Code (v2.1)"),
        ("黑豹队的防守丢了多少分？", "黑豹队的防守丢了多少分？"),
    ],
)
def test_words_that_say_nothing_are_not_searched_for(query: str, asked: str) -> None:
    assert without_stop_words(query) == asked


def test_fusion_of_nothing_is_nothing() -> None:
    assert fuse([], [], [], get_embedder().identity) == []
