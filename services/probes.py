"""Does the notebook still find what it found? Its own recent questions say so.

A few questions are kept with the places of the passages that were found first. Before the index is
rebuilt, moved to another embedder or compacted they are asked once more, and again afterwards. What
is no longer found is told (a notice on the screen, ``halo doctor``), never passed over. Passages
are compared by their place in the source, because a rebuild gives them new ids; only sources that
were whole before and kept their name are looked at. Nothing of this leaves the machine: with a
hosted embedder the questions are asked of the full text alone.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from services.committed import committed
from services.embeddings import get_embedder
from services.errors import EmbedderError, EmptyQuestionError, StorageError
from services.jsonfile import JsonFile, dump, write_bytes
from services.models import Hit, Source, now
from services.search import Mode, search
from services.tables import current_name, named_table
from services.workspace import LOST_FINDS, Workspace

QUESTIONS = 16
"""So many recent questions are kept."""
FIRST = 5
"""What was among so many first passages"""
AMONG = 10
"""must be among so many afterwards, if it was nearer to the best of them than to the last: which of
many like passages fill the places, chance decides."""
Place = dict[str, Any]


def remember(workspace: Workspace, question: str, hits: list[Hit]) -> None:
    """Keep a question that was just asked and what it found. Raises StorageError."""
    kept = {"question": question, "found": _standing_out(hits)}

    def change(stored: dict[str, Any]) -> dict[str, Any]:
        others = [p for p in stored.get("probes", []) if p["question"] != question]
        return stored | {"probes": [kept, *others][:QUESTIONS]}

    if hits:
        _file(workspace).update(change)


def before(workspace: Workspace) -> None:
    """Note what the questions find now, unless a rebuild that began earlier is still going on.
    Raises StorageError."""
    stored = _file(workspace).read()
    if not stored.get("probes") or stored.get("among"):
        return
    among = {source.id: source.name for source in _whole(workspace)}
    found = {
        question: _standing_out(hits)
        for question, hits in _asked(workspace, stored["probes"], among).items()
    }
    _file(workspace).update(
        lambda held: (
            held
            | {
                "among": among,
                "probes": [
                    p | {"found": found.get(p["question"], p["found"])} for p in held["probes"]
                ],
            }
        )
    )


def after(workspace: Workspace) -> list[str]:
    """Compare, once a rebuild that ``before`` was called for is over. Returns the questions that no
    longer find what they found; a notice tells of them. Raises StorageError."""
    stored = _file(workspace).read()
    if "among" not in stored:
        return []
    among = stored["among"]
    there = {source.id for source in _whole(workspace) if among.get(source.id) == source.name}
    found = {
        question: [_place(hit) for hit in hits]
        for question, hits in _asked(workspace, stored["probes"], there).items()
    }
    lost = [
        probe["question"]
        for probe in stored["probes"]
        if probe["question"] in found
        and not all(
            any(_same(place, other) for other in found[probe["question"]])
            for place in probe["found"]
            if place["source_id"] in there
        )
    ]
    asked = len(found)
    _file(workspace).update(
        lambda held: {
            **{key: value for key, value in held.items() if key != "among"},
            "compared": {"at": now(), "asked": asked, "lost": lost},
        }
    )
    if lost:
        workspace.quarantine.mkdir(parents=True, exist_ok=True)
        path = workspace.quarantine / f"{time.strftime('%Y%m%dT%H%M%S')}-{LOST_FINDS}"
        write_bytes(path, dump({"asked": asked, "lost": lost}))
    return lost


@contextmanager
def compared(workspace: Workspace) -> Iterator[None]:
    """Around work on the index that should change nothing of what is found."""
    before(workspace)
    yield
    after(workspace)


def last(workspace: Workspace) -> tuple[int, list[str]] | None:
    """How many questions were asked at the last comparison and which found less; None before the
    first."""
    known = _file(workspace).read().get("compared")
    return (known["asked"], known["lost"]) if known else None


def _file(workspace: Workspace) -> JsonFile:
    return workspace.file("probes.json", {})


def _whole(workspace: Workspace) -> list[Source]:
    return [source for source in committed(workspace).sources if source.status == "ready"]


def _asked(
    workspace: Workspace, probes: list[dict[str, Any]], among: Collection[str]
) -> dict[str, list[Hit]]:
    """What each question finds in the sources with these ids."""
    ids = list(among)
    mode = _mode(workspace)
    found = {}
    for probe in probes:
        try:
            hits = search(workspace, probe["question"], k=AMONG, mode=mode, source_ids=ids).hits
        except EmptyQuestionError:
            continue
        found[probe["question"]] = hits
    return found


def _mode(workspace: Workspace) -> Mode:
    name = current_name(workspace)
    try:
        hosted = name is not None and get_embedder(named_table(workspace, name).identity).hosted
    except (EmbedderError, StorageError):
        return "text"
    return "text" if hosted else "hybrid"


def _standing_out(hits: list[Hit]) -> list[Place]:
    """The places of the first hits, without those that could as well have come after the last."""
    least = (hits[0].score + hits[AMONG - 1].score) / 2 if len(hits) >= AMONG else float("-inf")
    return [_place(hit) for hit in hits[:FIRST] if hit.score >= least]


def _place(hit: Hit) -> Place:
    return {
        "chunk_id": hit.chunk_id,
        "source_id": hit.source_id,
        "start": hit.chunk.char_start,
        "end": hit.chunk.char_end,
    }


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """True when two passages share text of a source."""
    overlap = min(one["end"], other["end"]) - max(one["start"], other["start"])
    return bool(one["source_id"] == other["source_id"] and overlap > 0)
