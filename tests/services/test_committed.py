"""What a search asks about committed sources, and the scope it makes of it."""

from __future__ import annotations

from services.committed import Committed, committed
from services.lance import Scope
from services.models import Source
from services.storage import save_sources, update_sources
from services.workspace import Workspace


def source(name: str, **fields: object) -> Source:
    made = {"revision": f"rev{name}", "status": "ready", "table": "sources", "chunks": 7}
    return Source.model_validate({"id": f"id{name}", "name": name} | made | fields)


def test_the_same_until_something_is_committed(workspace: Workspace) -> None:
    save_sources([source("a"), source("b", status="queued", revision=None)], workspace)
    first = committed(workspace)
    assert [s.name for s in first.sources] == ["a"]
    assert committed(workspace) is first
    update_sources({"idb": {"status": "text_ready", "revision": "revb"}}, workspace)
    now = committed(workspace)
    assert now is not first
    assert now.revisions == {"reva", "revb"}
    assert now.without_vectors == {"revb"}


def test_the_scope_is_the_shorter_list_and_knows_how_many_rows_it_leaves() -> None:
    everything = Committed(source(name) for name in "abcdef")
    assert everything.scope(everything) == Scope()
    assert everything.some(["idb", "nobody"]).revisions == {"revb"}
    few = everything.some(["idb", "ida"])
    assert everything.scope(few) == Scope(only=("reva", "revb"), rows=14)
    many = everything.some(f"id{name}" for name in "abcde")
    assert everything.scope(many) == Scope(but=("revf",), rows=35)
    assert everything.some(f"id{name}" for name in "abcdef") is everything


def test_sources_of_several_tables_are_asked_table_by_table() -> None:
    everything = Committed([source("a"), source("b", table="other"), source("c")])
    assert {k: t.revisions for k, t in everything.by_table.items()} == {
        "sources": {"reva", "revc"},
        "other": {"revb"},
    }
