"""Routes of sources: in, looked at, changed, out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Form, UploadFile

from interfaces import shapes
from interfaces.api import failures
from interfaces.api.bodies import Deleted, SourceChange, SourceList, SourceResults, Uploaded
from interfaces.api.notebook import Notebook, Waiters, Worker, waited
from services import adding, ingestion
from services.errors import HaloError, UserInputError
from services.intake import Added, Incoming
from services.pipeline import Pipeline
from services.storage import get_source
from services.workspace import Workspace

PATIENCE = 20.0
"""Seconds an upload waits for vectors once its text can be asked."""

router = APIRouter(tags=["sources"])
# One file a request, for each gets a status of its own.
uploads = APIRouter(
    tags=["sources"], form_limits={"max_files": 1, "max_fields": 4, "max_part_size": 4096}
)


@uploads.post(
    "/upload",
    summary="Add a file",
    responses={
        400: {"model": failures.FaultBody, "description": "A kind of file HALO does not read."},
        413: {"model": failures.FaultBody, "description": "The file is too large."},
        422: {
            "model": failures.FaultBody,
            "description": "It is there already (`duplicate`), holds no text (`no_text`), is "
            "`damaged`, or `needs_password`; or the form is invalid.",
        },
    },
)
async def upload(
    workspace: Notebook,
    worker: Worker,
    waiters: Waiters,
    file: UploadFile,
    password: Annotated[str | None, Form(description="Opens a protected file; not kept.")] = None,
) -> Uploaded:
    """Take a file in, of any kind HALO reads, and wait until it can be asked.

    `status` is `ready`, or `text_ready` while the vectors of a long file are still being made: it
    is found by words until then. An archive is taken in as the files inside it.
    """
    return await waited(waiters, lambda: _take_in(workspace, worker, file, password or None))


def _take_in(
    workspace: Workspace, worker: Pipeline, file: UploadFile, password: str | None
) -> Uploaded:
    incoming = Incoming(file.filename or "", file.file)
    items = adding.add_files(workspace, [incoming], password=password)
    results = _settled(workspace, worker, items)
    usable = [one for one in results if one.status in ("ready", "text_ready")]
    if not usable:
        raise _refusal(items[0], results[0])
    first = results[0] if results[0] in usable else usable[0]
    return Uploaded(**first.model_dump(), sources=results)


def _settled(
    workspace: Workspace, worker: Pipeline, items: Sequence[Added]
) -> list[shapes.AddedSource]:
    """What became of added files and their attachments, once they can be asked or failed."""
    attached: dict[str, list[str]] = {}
    ids = [item.source_id for item in items if item.source_id]
    while ids:
        worker.wait(workspace, ids, patience=PATIENCE)
        attached |= shapes.attached_to(workspace, ids)
        ids = [child for key in ids for child in attached[key] if child not in attached]
    results = list(shapes.with_attached(workspace, items, attached))
    now = {view.source.id: view for view in ingestion.list_sources(workspace)}
    for one in results:
        view = now.get(one.id or "")
        if one.status == "failed" and view and (view.source.answerable or not one.error):
            one.status = view.status  # it can be asked by its text, or nobody is at it any more
    return results


def _refusal(item: Added, result: shapes.AddedSource) -> HaloError:
    if result.status == "duplicate":
        return UserInputError(
            f"This file is there already, as “{result.name}”.",
            code="duplicate",
            step="Use the source that is there, or delete it first.",
            source_id=result.id,
        )
    error = result.error.model_dump() if result.error else None
    if error is None:  # the server was told to stop
        return HaloError(
            "HALO is being stopped. The file is kept.",
            code="stopping",
            step="It is read when HALO runs again.",
            source_id=result.id,
        )
    return failures.recorded(error, result.id)


@router.get("/sources", summary="List the sources")
def list_sources(workspace: Notebook) -> SourceList:
    """All sources with their status as of now, the newest first."""
    return SourceList(sources=[shapes.listed(view) for view in ingestion.list_sources(workspace)])


@router.get("/sources/{source_id}", summary="Show what was read of a source")
def show_source(workspace: Notebook, source_id: str) -> shapes.ShownSource:
    """The text of a source, block by block, and its import report."""
    return shapes.shown(workspace, source_id)


@router.patch("/sources/{source_id}", summary="Rename or include a source")
def change_source(workspace: Notebook, source_id: str, change: SourceChange) -> shapes.ListedSource:
    """Give a source another name, or include it in questions or not."""
    get_source(source_id, workspace)
    if change.name is not None:
        ingestion.rename_source(workspace, source_id, change.name)
    if change.selected is not None:
        ingestion.set_selected(workspace, [source_id], change.selected)
    get_source(source_id, workspace)
    views = ingestion.list_sources(workspace)
    return next(shapes.listed(view) for view in views if view.source.id == source_id)


@router.delete("/sources/{source_id}", summary="Delete a source")
def delete_source(workspace: Notebook, source_id: str) -> Deleted:
    """Delete a source; answers that cite it keep their excerpts."""
    entry = ingestion.delete_sources(workspace, [source_id])
    return Deleted(deleted=[source_id], trash_id=entry)


@router.post("/sources/{source_id}/reindex", summary="Read a source again")
async def reindex_source(
    workspace: Notebook, worker: Worker, waiters: Waiters, source_id: str
) -> SourceResults:
    """Read a source again from its original and wait for the end. What was read before answers
    until then."""

    def work() -> SourceResults:
        ids = ingestion.reindex_sources(workspace, [source_id])
        worker.wait(workspace, ids)
        return SourceResults(sources=shapes.read_again(workspace, ids))

    return await waited(waiters, work)
