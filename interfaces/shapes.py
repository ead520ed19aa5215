"""What HALO tells other programs: the JSON of the command line and of the HTTP API, one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel

from services.intake import Added
from services.models import Answer, Block, Citation, Claim, Hit, Quote, Source
from services.storage import get_source, load_sources
from services.words import densest
from services.workspace import Workspace

if TYPE_CHECKING:
    from services.ingestion import SourceView

MOST_CITATIONS = 8


class Failure(BaseModel):
    """Why a source was not read."""

    code: str
    message: str


class AddedSource(BaseModel):
    """What became of a file that was added, of an attachment or of a member of an archive."""

    id: str | None
    name: str
    url: str | None
    type_label: str
    meta: str
    parent: str | None
    """Id of the source it was attached to."""
    status: str
    chunks: int
    units: dict[str, int]
    report: dict[str, Any]
    """The import report: what was read and what was not."""
    error: Failure | None


class ListedSource(BaseModel):
    """A source's record with its status as of now."""

    id: str
    name: str
    url: str | None
    """The address of a source that came by a link."""
    type_label: str
    meta: str
    parent: str | None
    children: list[str]
    """Ids of the sources that its attachments are, those that were there before among them."""
    status: str
    selected: bool
    """Whether questions include it."""
    chunks: int
    vectors: int
    units: dict[str, int]
    size: int
    created_at: str
    error: dict[str, Any] | None


class ShownSource(BaseModel):
    """What was read of a source, block by block."""

    id: str
    name: str
    type_label: str
    metadata: dict[str, str]
    """What the file states of itself: author, date, language ..."""
    units: dict[str, int]
    report: dict[str, Any]
    blocks: list[Block]


class Spot(BaseModel):
    """Where in a passage the words stand that were asked for; its beginning where none do."""

    page: int | None
    page_label: str | None
    time: float | None
    """Seconds into a recording."""


class Place(BaseModel):
    """Where a passage stands: it begins on ``page`` and ends on ``page_end``."""

    source_id: str
    source_name: str
    chunk_id: str
    page: int | None
    page_end: int | None
    page_label: str | None
    sheet: str | None
    slide: int | None
    time: float | None
    """Seconds into a recording."""
    headings: list[str]
    found: Spot


class Answered(BaseModel):
    """An answer, the passages it cites, and how well they hold each of its sentences."""

    answer: str
    grounded: bool
    answered_by: str
    citations: list[Citation]
    claims: list[Claim]
    looked_at: list[Quote]
    """Passages that were considered, where the sources do not hold the answer."""
    notices: list[str]


def result(
    source: Source | None,
    name: str,
    status: str,
    error: Mapping[str, Any] | None,
    workspace: Workspace | None = None,
) -> AddedSource:
    """The outcome of adding or reading a source; its report is there where ``workspace`` is."""
    report: dict[str, Any] = {}
    if source is not None and workspace is not None and source.revision:
        from services.ingestion import load_document

        report = load_document(workspace, source.id).report.model_dump(mode="json")
    return AddedSource(
        id=source.id if source else None,
        name=name,
        url=source.url if source else None,
        type_label=source.type_label if source else "Doc",
        meta=source.meta if source else "",
        parent=source.parent if source else None,
        status=status,
        chunks=source.chunks if source else 0,
        units=source.units if source else {},
        report=report,
        error=Failure(code=error["code"], message=error["message"]) if error else None,
    )


def added(workspace: Workspace, item: Added) -> AddedSource:
    """What became of one added file once the work on it has ended."""
    if item.source_id is None:
        return result(None, item.name, "failed", item.error)
    source = get_source(item.source_id, workspace)
    if item.outcome == "duplicate":
        return result(source, source.name, "duplicate", None, workspace)
    ends = ("ready", "needs_password", "duplicate")
    status = source.status if source.status in ends else "failed"
    return result(source, source.name, status, source.error, workspace)


def attached_to(workspace: Workspace, ids: Sequence[str]) -> dict[str, list[str]]:
    """Ids of the sources made of each source's attachments, those that are still there."""
    sources = {source.id: source for source in load_sources(workspace)}
    children = {key: sources[key].children or [] if key in sources else [] for key in ids}
    return {key: [child for child in found if child in sources] for key, found in children.items()}


def with_attached(
    workspace: Workspace, items: Sequence[Added], attached: Mapping[str, list[str]]
) -> Iterator[AddedSource]:
    """The results of added files, each followed by those of its attachments and theirs. An
    attachment that was there before is a duplicate."""
    shown: set[str] = set()
    for item in items:
        if item.source_id:
            shown.add(item.source_id)
        yield added(workspace, item)
        yield from _below(workspace, item.source_id or "", attached, shown)


def _below(
    workspace: Workspace, parent: str, attached: Mapping[str, list[str]], shown: set[str]
) -> Iterator[AddedSource]:
    for source_id in attached.get(parent, []):
        if source_id in shown:
            continue
        shown.add(source_id)
        source = get_source(source_id, workspace)
        outcome: Literal["queued", "duplicate"] = "queued"
        if source.parent != parent:
            outcome = "duplicate"
        one = added(workspace, Added(source.name, source.size, outcome, source_id))
        one.parent = parent  # also of a source that was there before by itself
        yield one
        yield from _below(workspace, source_id, attached, shown)


def read_again(workspace: Workspace, ids: Sequence[str]) -> list[AddedSource]:
    """The results of re-indexing these sources."""
    wanted = set(ids)
    return [
        result(s, s.name, "failed" if s.error else s.status, s.error, workspace)
        for s in load_sources(workspace)
        if s.id in wanted
    ]


def listed(view: SourceView) -> ListedSource:
    """A source as it is listed."""
    source = view.source
    return ListedSource(
        id=source.id,
        name=source.name,
        url=source.url,
        type_label=source.type_label,
        meta=source.meta,
        parent=source.parent,
        children=source.children or [],
        status=view.status,
        selected=source.selected,
        chunks=source.chunks,
        vectors=source.vectors,
        units=source.units,
        size=source.size,
        created_at=source.created_at,
        error=source.error,
    )


def shown(workspace: Workspace, source_id: str) -> ShownSource:
    """A source with its text. Raises NotFoundError."""
    from services.ingestion import load_document

    source = get_source(source_id, workspace)
    document = load_document(workspace, source.id)
    return ShownSource(
        id=source.id,
        name=source.name,
        type_label=source.type_label,
        metadata=document.metadata,
        units=source.units,
        report=document.report.model_dump(mode="json"),
        blocks=document.blocks,
    )


def spot(hit: Hit, query: str) -> Spot:
    """Where the words of a query stand in a found passage."""
    at = densest(hit.chunk.text, query)
    page, label, _ = hit.place(at)
    return Spot(page=page, page_label=label, time=hit.time(at))


def place(hit: Hit, query: str) -> Place:
    """Where a found passage stands."""
    page, label, _ = hit.place(0)
    return Place(
        source_id=hit.source_id,
        source_name=hit.source_name,
        chunk_id=hit.chunk_id,
        page=page,
        page_end=hit.chunk.page_end or page,
        page_label=label,
        sheet=hit.chunk.sheet,
        slide=hit.chunk.slide,
        time=hit.time(0),
        headings=hit.chunk.headings,
        found=spot(hit, query),
    )


def answered(answer: Answer) -> Answered:
    """An answer as it is told."""
    return Answered(
        answer=answer.text,
        grounded=answer.grounded,
        answered_by=answer.answered_by,
        citations=answer.citations[:MOST_CITATIONS],
        claims=answer.claims,
        looked_at=answer.looked_at,
        notices=[notice.message for notice in answer.notices],
    )
