"""The reference system's names for the index do what they always did, and commit."""

import pytest

from services import retrieval
from services.errors import NotFoundError
from services.storage import load_sources


def test_index_query_rename_and_delete() -> None:
    retrieval.ensure_sources_table()
    retrieval.index_source_text("Wells", "Well ZX-4417-B gave nitrate.", {"meta": "2024"})
    (source,) = load_sources()
    assert (source.name, source.meta, source.status) == ("Wells", "2024", "ready")
    (found,) = retrieval.query_similar("nitrate", limit=3)
    assert found["meta"]["source_id"] == source.id
    assert 0 <= found["score"] <= 2
    assert retrieval.get_source_chunk_texts(source.id) == ["Well ZX-4417-B gave nitrate."]
    assert retrieval.get_source_chunk_texts(title="Wells") == ["Well ZX-4417-B gave nitrate."]
    assert retrieval.get_source_chunk_texts("x' OR '1'='1") == []
    retrieval.rename_source(source.id, "North wells", "Wells")
    assert retrieval.query_similar("nitrate")[0]["meta"]["title"] == "North wells"
    with pytest.raises(NotFoundError):
        retrieval.rename_source("x" * 32, "y")
    retrieval.delete_source_chunks("x" * 32)
    retrieval.delete_source_chunks(source.id)
    assert retrieval.query_similar("nitrate") == []
