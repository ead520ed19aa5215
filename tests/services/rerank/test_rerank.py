"""The user's own reranker in a search: it orders, and never costs the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from services.search import search
from services.workspace import Workspace
from tests.services.conftest import Library

from .conftest import Answer, RerankServer, cross_encoder, shortest_first

NOTES = {
    "rain": "Rain fell on the nitrate field near the well for days.",
    "level": "The nitrate level of the well rose in spring, and rose again.",
    "pump": "The pump of the nitrate well needs a new seal before autumn comes.",
    "short": "A nitrate well.",
}


def names(workspace: Workspace, query: str, **options: Any) -> list[str]:
    return [hit.source_name for hit in search(workspace, query, **options).hits]


def test_a_folder_orders_what_is_found(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(**NOTES)
    w = library.workspace
    before = search(w, "nitrate well", k=4)
    monkeypatch.setenv("HALO_RERANKER", str(cross_encoder(tmp_path / "model")))
    after = search(w, "nitrate well", k=4)
    assert after.hits[0].source_name == "pump.md"
    assert {hit.chunk_id for hit in after.hits} == {hit.chunk_id for hit in before.hits}
    assert [hit.score for hit in after.hits] == [hit.score for hit in before.hits]
    assert not after.notices


def test_a_server_judges_ten_times_as_many_as_asked_and_the_limit_stays(
    library: Library, server: RerankServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(
        short="Nitrate in a well.",
        **{f"n{n}": f"Nitrate in well {n}, sample {n * 7}." for n in range(70)},
    )
    monkeypatch.setenv("HALO_RERANKER", server.url)
    monkeypatch.setenv("HALO_RERANKER_MODEL", "m")
    found = names(library.workspace, "nitrate in the well", k=6)
    assert len(found) == 6
    assert found[0] == "short.md"
    (request,) = server.asked
    assert len(request["documents"]) == 60
    assert request["model"] == "m"


def test_what_stands_there_verbatim_stays_first(
    library: Library, server: RerankServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(**NOTES, code="The protocol of well ZX-4417-B tells of nitrate and much else.")
    monkeypatch.setenv("HALO_RERANKER", server.url)
    assert names(library.workspace, "nitrate in ZX-4417-B")[:2] == ["code.md", "short.md"]


def _down(request: dict[str, Any]) -> Answer:
    return 503, {"error": "loading"}


def _nonsense(request: dict[str, Any]) -> Answer:
    return 200, {"results": "soon"}


@pytest.mark.parametrize("answer", [_down, _nonsense])
def test_a_failure_is_told_and_the_order_of_the_search_stays(
    library: Library, server: RerankServer, monkeypatch: pytest.MonkeyPatch, answer: Any
) -> None:
    library.add(**NOTES)
    w = library.workspace
    before = [(hit.chunk_id, hit.score) for hit in search(w, "nitrate well").hits]
    monkeypatch.setenv("HALO_RERANKER", server.url)
    server.answer = answer
    result = search(w, "nitrate well")
    assert [(hit.chunk_id, hit.score) for hit in result.hits] == before
    (notice,) = result.notices
    assert notice.code == "not_reranked"
    assert "reranker" in str(notice.params["reason"])
    server.answer = shortest_first
    assert not search(w, "nitrate well").notices, "it is asked again once it works"


def test_a_folder_that_is_not_there_is_told(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library.add(**NOTES)
    monkeypatch.setenv("HALO_RERANKER", str(tmp_path / "nowhere"))
    result = search(library.workspace, "nitrate well")
    assert len(result.hits) == 4
    assert [notice.code for notice in result.notices] == ["not_reranked"]


def test_sources_marked_private_are_not_sent_outside(
    library: Library, server: RerankServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from services.rerank.endpoint import EndpointReranker
    from services.storage import update_sources

    sources = library.add(**NOTES)
    by_name = {source.name: source for source in sources}
    update_sources({by_name["pump.md"].id: {"private": True}}, library.workspace)
    monkeypatch.setenv("HALO_RERANKER", server.url)
    search(library.workspace, "nitrate well")
    assert len(server.asked[-1]["documents"]) == 4, "a server in the house may read all"
    monkeypatch.setattr("services.rerank.endpoint.is_hosted", lambda url: True)
    monkeypatch.setattr("services.rerank._opened", lambda *given: EndpointReranker(*given))
    found = names(library.workspace, "nitrate well")
    assert "pump.md" in found
    assert len(server.asked[-1]["documents"]) == 3
    assert not any("pump" in text for text in server.asked[-1]["documents"])
