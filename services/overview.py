"""What sources are about, without a language model: each source's central sentences, cited.

A question for the whole ("What is this about?") has no passage that answers it: every included
source is heard instead of the five that lie nearest to those words.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from services.citations import check_support
from services.digest import Digest, Point, digest
from services.errors import NotFoundError
from services.ingestion import load_document
from services.models import Answer, Citation, Claim, Finding, Source
from services.sentences import without_mark
from services.workspace import Workspace

MOST = 8
"""Citations of an answer; of more sources than these the longest are heard."""


def guide(workspace: Workspace, source: Source) -> Digest:
    """What one source is about. Raises NotFoundError when its text is not there."""
    return _guide(workspace, source.id, source.revision or "", source.name)


@lru_cache(maxsize=256)
def _guide(workspace: Workspace, source_id: str, revision: str, name: str) -> Digest:
    document = load_document(workspace, source_id, revision)
    return digest(Source(id=source_id, revision=revision, name=name), document)


def overview(workspace: Workspace, sources: Sequence[Source]) -> Answer:
    """An answer that says of each source what it is about, in the order of ``sources``.

    A source that is only figures, pictures or labels has no such sentence; where none has one the
    answer is not grounded.
    """
    heard = sorted(sources, key=lambda source: -source.words)[:MOST]
    heard = [source for source in sources if source in heard]
    points: list[tuple[Source, Point]] = []
    each = max(1, min(3, MOST // max(len(heard), 1)))
    for source in heard:
        try:
            found = guide(workspace, source)
        except NotFoundError:  # deleted while this was asked
            continue
        points += [(source, point) for point in in_order(found.points[:each])]
    citations: list[Citation] = []
    claims: list[Claim] = []
    parts: list[str] = []
    last: Source | None = None
    for number, (source, point) in enumerate(points, start=1):
        text = without_mark(point.quote.quote)
        support = check_support(text, [point.quote.quote])
        citations.append(Citation(number=number, support=support, **point.quote.model_dump()))
        claims.append(Claim(text=text, citations=[number], support=support))
        if source is not last:
            parts.append(f"**{_plain(source.name)}**")
        parts.append(f"{text} [{number}]")
        last = source
    answer = Answer(
        text="\n\n".join(parts), grounded=bool(points), citations=citations, claims=claims
    )
    if len(heard) < len(sources):
        answer.notices.append(
            Finding(
                code="overview_part",
                message=f"The {len(heard)} longest of {len(sources)} sources were looked at.",
                params={"n": len(heard), "m": len(sources)},
            )
        )
    return answer


def in_order(points: Sequence[Point]) -> list[Point]:
    """Points as they stand in their text."""
    return sorted(points, key=lambda point: point.order)


def _plain(name: str) -> str:
    """A name inside Markdown: what would be markup there is escaped."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>#|~" else c for c in name)
