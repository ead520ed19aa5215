"""The time at which something is said, from the recording to the hit, the citation and back."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from services import chat, lance
from services.chunking import chunk_document
from services.citations import locate
from services.embeddings import get_embedder
from services.ingestion import load_document, reindex_sources, set_language
from services.lance import Scope, open_table
from services.models import Block, Citation, Document
from services.search import search
from services.storage import get_source
from tests import sounds
from tests.services.conftest import Library

VTT = """WEBVTT

00:00:05.000 --> 00:00:08.000
The harbour was closed on Monday.

00:01:10.500 --> 00:01:15.000
Seventeen ships had to wait outside.
"""


def words(texts: list[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def test_a_passage_knows_the_time_of_each_of_its_characters() -> None:
    first = Block(text="One two three. Four five six.", time=3.0, times=[(0, 3.0), (15, 6.5)])
    document = Document(blocks=[first, Block(text="Seven eight.", time=40.0)]).settle()
    (chunk,) = chunk_document(document, words)
    assert list(zip(chunk.time_starts, chunk.times, strict=True)) == [
        (0, 3.0),
        (15, 6.5),
        (chunk.text.index("Seven"), 40.0),
    ]
    assert [document.time_at(at) for at in (0, 14, 15, 30, 32)] == [3.0, 3.0, 6.5, 40.0, 40.0]
    parts = chunk_document(document, words, max_tokens=9)
    assert len(parts) > 1
    assert all(part.times[0] <= part.times[-1] for part in parts)


def test_subtitles_are_found_and_cited_with_their_time(library: Library) -> None:
    (source,) = library.add(talk_vtt=VTT.encode())
    (hit,) = search(library.workspace, "ships wait", k=1).hits
    at = hit.chunk.text.index("Seventeen")
    assert hit.time(0) == 5.0
    assert hit.quote(at, at + 10).time == 70.5
    answer = chat.answer_question(library.workspace, "How many ships had to wait?")
    assert answer.citations[0].time in (5.0, 70.5)
    assert "at 1:10" in chat.citation_line(Citation(number=1, **hit.quote(at, at + 9).model_dump()))
    assert source.units == {"cues": 2}


@pytest.mark.model
def test_a_recording_is_found_cited_and_read_again_in_its_language(library: Library) -> None:
    source = library.add_path(sounds.ENGLISH)
    assert (source.status, source.units) == ("ready", {"seconds": 20})
    answer = chat.answer_question(library.workspace, "When did the first ship come in?")
    citation = next(one for one in answer.citations if "first ship" in one.quote)
    document = load_document(library.workspace, source.id)
    assert citation.time == document.time_at(citation.start)
    assert citation.time is not None
    assert citation.time > 10

    set_language(library.workspace, [source.id], "en")
    reindex_sources(library.workspace, [source.id])
    library.wait([source.id])
    again = load_document(library.workspace, source.id)
    assert get_source(source.id, library.workspace).speech_language == "en"
    assert again.report.transcription is not None
    assert again.report.transcription.language_probability is None
    found = locate(again, citation.quote, citation.start)
    assert found is not None
    assert again.time_at(found[0]) == pytest.approx(citation.time, abs=0.5)


def test_a_table_of_an_earlier_version_goes_on_working(tmp_path: Path) -> None:
    identity = get_embedder().identity
    new = lance._schema(identity)
    old = pa.schema([f for f in new if f.name not in ("time_starts", "times")], new.metadata)
    uri = str(tmp_path / "old")
    lance.connect(uri).create_table("sources", schema=old)
    table = open_table(uri, "sources", identity)
    assert table is not None
    row = dict.fromkeys(new.names) | {
        "chunk_id": "c0", "source_id": "s0", "revision": "r0", "text": "Seventeen ships",
        "search_text": "Seventeen ships", "chunk_index": 0, "char_start": 0, "char_end": 15,
        "time_starts": [0], "times": [70.5],
    }  # fmt: skip
    table.add([row])
    (found,) = table.search_text("ships", 5, Scope())
    assert (found.chunk.time_starts, found.chunk.times) == ([0], [70.5])
    table.complete()
    lance.forget(uri)
