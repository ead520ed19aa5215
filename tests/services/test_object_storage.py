"""The index in a bucket: everything the product does with it, over a real S3 protocol."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services import doctor
from services.committed import committed
from services.errors import StorageError
from services.ingestion import delete_sources, reindex_sources
from services.lance import open_table
from services.search import search
from services.storage import load_sources
from services.workspace import Workspace, create_workspace, open_workspace
from tests import s3
from tests.services.conftest import Library

WELLS = "# Wells\n\nWell ZX-4417-B gave 12.6 mg nitrate per litre in March."
PARTS = "# Parts\n\nThe pump holds four screws of steel."


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[s3.Store]:
    with s3.running() as running:
        monkeypatch.setenv("HALO_VECTOR_URI", "s3://halo/index/")
        monkeypatch.setenv("AWS_ENDPOINT_URL", running.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.KEY)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        monkeypatch.setenv("AWS_REGION", "us-east-1")
        yield running


def found(workspace: Workspace, query: str) -> list[str]:
    return [hit.source_name for hit in search(workspace, query).hits]


def test_add_search_delete_and_reindex_in_a_bucket(store: s3.Store, library: Library) -> None:
    w = library.workspace
    wells, parts = library.add(wells=WELLS, parts=PARTS)
    assert w.vector_uri.startswith("s3://halo/index/")
    assert any(name.startswith("halo/index/") for name in store.objects)
    assert not (w.root / "lancedb").exists()
    assert found(w, "nitrate in March")[0] == "wells.md"
    assert search(w, "ZX-4417-B").hits[0].exact
    assert found(w, "screws")[0] == "parts.md"
    delete_sources(w, [parts.id])
    assert found(w, "screws") == ["wells.md"]
    before = committed(w).revisions
    reindex_sources(w, [wells.id])
    library.wait([wells.id])
    assert committed(w).revisions.isdisjoint(before)
    assert found(w, "nitrate") == ["wells.md"]
    assert all(check.ok for check in doctor.examine(w) if check.name == "index")


def test_notebooks_share_a_bucket_and_no_rows(store: s3.Store, library: Library) -> None:
    library.add(wells=WELLS)
    other = create_workspace("Other")
    assert other.vector_uri != library.workspace.vector_uri
    assert load_sources(other) == []
    assert open_table(other.vector_uri, "sources") is None


def test_a_bucket_that_refuses_is_a_sentence(
    store: s3.Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "somebody-else")
    with pytest.raises(StorageError):
        open_table(open_workspace().vector_uri, "sources")
