"""A notebook with a running pipeline, on the real table and the hash embedder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from services import lance
from services.adding import add_files
from services.intake import Incoming
from services.models import Source
from services.pipeline import Pipeline
from services.storage import get_source
from services.workspace import Workspace, open_workspace


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    opened = open_workspace()
    yield opened
    lance.forget(opened.vector_uri)


@pytest.fixture
def pipeline(workspace: Workspace) -> Iterator[Pipeline]:
    running = Pipeline(lambda: [workspace]).start()
    yield running
    running.stop()


class Library:
    """Adds texts and files and waits until they can be asked."""

    def __init__(self, workspace: Workspace, pipeline: Pipeline) -> None:
        self.workspace, self.pipeline = workspace, pipeline

    def add(self, **texts: str | bytes) -> list[Source]:
        """``add(wells="...")`` adds wells.md; ``add(scan_pdf=b"...")`` adds scan.pdf."""
        files = []
        for key, body in texts.items():
            stem, _, suffix = key.rpartition("_")
            name = f"{stem}.{suffix}" if isinstance(body, bytes) else f"{key}.md"
            files.append(Incoming(name, body if isinstance(body, bytes) else body.encode()))
        return self.add_files(files)

    def add_files(self, files: list[Incoming], **options: object) -> list[Source]:
        added = add_files(self.workspace, files, **options)  # type: ignore[arg-type]
        ids = [item.source_id for item in added if item.source_id]
        self.wait(ids)
        return [get_source(source_id, self.workspace) for source_id in ids]

    def add_path(self, path: Path) -> Source:
        return self.add_files([Incoming(path.name, path)])[0]

    def wait(self, ids: list[str]) -> None:
        self.pipeline.wait(self.workspace, ids)


@pytest.fixture
def library(workspace: Workspace, pipeline: Pipeline) -> Library:
    return Library(workspace, pipeline)
