"""Answering one question from the sources: what it may look at, what is found, who answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from services import probes
from services.answers import extractive_answer
from services.embeddings import Embedder, get_embedder, prepared
from services.errors import EmbedderError, EmptyQuestionError, NotFoundError, UserInputError
from services.models import Answer, SearchResult, Source
from services.overview import overview
from services.questions import asks_for_the_whole
from services.search import search
from services.storage import load_sources
from services.tables import current_name, named_table
from services.workspace import Workspace

PASSAGES = 12
"""Passages a turn looks at."""
LONGEST_QUESTION = 50_000
"""Characters of a question; all of them are kept."""


def checked_question(question: str) -> str:
    """A question as it is stored. Raises EmptyQuestionError, UserInputError when it is too long."""
    text = question.strip()
    if not text:
        raise EmptyQuestionError("The question is empty.", step="Type a question.")
    if len(text) > LONGEST_QUESTION:
        raise UserInputError(
            f"The question has {len(text):,} characters; HALO takes up to {LONGEST_QUESTION:,}.",
            code="long_question",
            step="Shorten it, or add the text as a source and ask about it.",
            count=len(text),
            limit=LONGEST_QUESTION,
        )
    return text


def answer_question(
    workspace: Workspace,
    question: str,
    source_ids: Sequence[str] | None = None,
    *,
    on_stage: Any = None,
) -> Answer:
    """Answer one question from the answerable sources (None: all), without a conversation.

    Raises EmptyQuestionError, NotFoundError when there are no sources, StorageError.
    """
    tell = on_stage or (lambda stage: None)
    wanted = [
        source
        for source in load_sources(workspace)
        if source_ids is None or source.id in source_ids
    ]
    if not any(source.answerable for source in wanted):
        raise _nothing_to_read(wanted)
    tell("searching")
    if asks_for_the_whole(question):
        answer = overview(workspace, [source for source in wanted if source.answerable])
        if answer.grounded:
            return answer
    result = search(workspace, question, k=PASSAGES, source_ids=source_ids)
    probes.remember(workspace, question, result.hits)
    tell("reading")
    return extractive_answer(question, result, _embedder(workspace, result))


def _nothing_to_read(wanted: Sequence[Source]) -> NotFoundError:
    """Why a question cannot be answered: there is nothing, or nothing of it could be read."""
    refused = [source for source in wanted if source.status in ("failed", "needs_password")]
    if not refused:
        return NotFoundError(
            "There are no sources to answer from.",
            code="no_sources",
            step="Add a source, or include one.",
        )
    names = ", ".join(source.name for source in refused[:3]) + ("…" if len(refused) > 3 else "")
    return NotFoundError(
        f"None of the sources could be read: {names}.",
        code="no_readable_sources",
        step="The list of sources says why; try them again or add others.",
        names=names,
    )


def _embedder(workspace: Workspace, result: SearchResult) -> Embedder | None:
    """The embedder the index was made with, where the search could use it."""
    name = current_name(workspace)
    if result.mode == "text" or name is None:
        return None
    identity = named_table(workspace, name).identity
    if identity.provider == "local" and not prepared():
        return None
    try:
        return get_embedder(identity)
    except EmbedderError:
        return None
