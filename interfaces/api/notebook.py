"""What every route gets: the notebook that is served and the pipeline that works on it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, TypeVar

from fastapi import Depends, Request

from services.pipeline import Pipeline
from services.storage import get_source
from services.workspace import Workspace

T = TypeVar("T")


async def _workspace(request: Request) -> Workspace:
    workspace: Workspace = request.app.state.workspace
    return workspace


async def _worker(request: Request) -> Pipeline:
    worker: Pipeline = request.app.state.worker
    return worker


async def _waiters(request: Request) -> ThreadPoolExecutor:
    waiters: ThreadPoolExecutor = request.app.state.waiters
    return waiters


Notebook = Annotated[Workspace, Depends(_workspace)]
Worker = Annotated[Pipeline, Depends(_worker)]
Waiters = Annotated[ThreadPoolExecutor, Depends(_waiters)]
"""Threads for requests that wait for the pipeline, so that searches never wait for a thread."""


async def waited(waiters: ThreadPoolExecutor, work: Callable[[], T]) -> T:
    """The result of ``work``, done in one of the waiting threads."""
    return await asyncio.get_running_loop().run_in_executor(waiters, work)


def known(workspace: Workspace, ids: Sequence[str] | None) -> None:
    """Raise NotFoundError where one of these sources is not there."""
    for source_id in ids or ():
        get_source(source_id, workspace)
