"""The sources that can be asked, as a search needs them: made once for each version of
sources.json, so that a question to thousands of sources walks through none of them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

from services.lance import Scope
from services.models import Source
from services.storage import load_sources
from services.workspace import Workspace

_known: dict[Path, tuple[list[Any], Committed]] = {}


class Committed:
    """Answerable sources, all of a notebook or some. Treat as immutable."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self.sources = tuple(sources)

    @cached_property
    def by_id(self) -> dict[str, Source]:
        return {source.id: source for source in self.sources}

    @cached_property
    def by_table(self) -> dict[str, Committed]:
        names = sorted({source.table or "" for source in self.sources})
        if len(names) == 1:
            return {names[0]: self}
        return {
            name: Committed(s for s in self.sources if (s.table or "") == name) for name in names
        }

    @cached_property
    def revisions(self) -> frozenset[str]:
        return frozenset(source.revision or "" for source in self.sources)

    @cached_property
    def without_vectors(self) -> frozenset[str]:
        """Revisions whose vectors are not all there yet."""
        return frozenset(s.revision or "" for s in self.sources if s.status != "ready")

    @cached_property
    def passages(self) -> int:
        return sum(source.chunks for source in self.sources)

    @cached_property
    def has_vectors(self) -> bool:
        return any(source.vectors for source in self.sources)

    def some(self, ids: Iterable[str]) -> Committed:
        """Those of these ids that are there, in the order of all."""
        wanted = set(ids) & self.by_id.keys()
        if len(wanted) == len(self.sources):
            return self
        return Committed(source for source in self.sources if source.id in wanted)

    def scope(self, chosen: Committed) -> Scope:
        """How a table that holds all of these is asked for the ``chosen`` ones: by the shorter of
        "only these" and "all but those"."""
        if len(chosen.sources) == len(self.sources):
            return Scope()
        if 2 * len(chosen.sources) <= len(self.sources):
            return Scope(only=tuple(sorted(chosen.revisions)), rows=chosen.passages)
        left_out = self.revisions - chosen.revisions
        return Scope(but=tuple(sorted(left_out)), rows=chosen.passages)


def committed(workspace: Workspace) -> Committed:
    """The answerable sources of a notebook as they are committed now."""
    file = workspace.sources_file
    rows = file.read()
    known = _known.get(file.path)
    if known is None or known[0] is not rows:
        made = Committed(source for source in load_sources(workspace) if source.answerable)
        known = _known[file.path] = (rows, made)
    return known[1]
