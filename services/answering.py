"""Answering one question from the sources: what it may look at, what is found, who answers.

Two ways to an answer share the search: the best sentences word for word, and a model that is given
the passages (``services.writing``). ``Progress`` is what an answer under way shows of itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from services import llm, probes
from services.answers import extractive_answer
from services.embeddings import Embedder, get_embedder, prepared
from services.errors import EmbedderError, EmptyQuestionError, NotFoundError, UserInputError
from services.followups import standalone
from services.grounding import MOST_CITATIONS
from services.models import Answer, Finding, SearchResult, Source
from services.overview import overview
from services.progress import Progress
from services.prompt import Earlier
from services.questions import asks_for_the_whole, read_question
from services.search import search
from services.spread import only_in
from services.storage import load_sources
from services.tables import current_name, named_table
from services.workspace import Workspace
from services.writing import written_answer

PASSAGES = 12
"""Passages a turn looks at,"""
MOST_PASSAGES = 24
"""or one of each source up to so many, where it asks for a list."""
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
    earlier: Sequence[Earlier] = (),
    without_model: bool = False,
    most_citations: int = MOST_CITATIONS,
    progress: Progress | None = None,
) -> Answer:
    """Answer one question from the answerable sources (None: all).

    By the model of the settings, or where none is chosen, or ``without_model``, in the sources'
    own words. ``earlier`` are the turns before it, oldest first; a question that leans on them is
    searched for as ``followups.standalone`` makes it, and a notice says so.

    Raises EmptyQuestionError, NotFoundError when there are no sources, StorageError, SettingsError;
    ModelError when the model fails; CancelledError when ``progress`` was told to stop.
    """
    progress = progress or Progress()
    model = None if without_model else llm.chosen()
    wanted = [
        source
        for source in load_sources(workspace)
        if source_ids is None or source.id in source_ids
    ]
    if not any(source.answerable for source in wanted):
        raise _nothing_to_read(wanted)
    progress.to("searching")
    notices: list[Finding] = []
    if model is not None and model.hosted:
        open_ = [source for source in wanted if not source.private]
        if left := len(wanted) - len(open_):
            if any(source.answerable for source in open_):
                wanted, source_ids = open_, [source.id for source in open_]
            else:
                model = None
            notices.append(_kept_private(left, without_model=model is None))
        if model is not None:
            earlier = _sendable(workspace, earlier)
    asked = standalone(question, [turn.question for turn in earlier])
    if asked != question:
        notices.append(_understood(asked))
    answerable = [source for source in wanted if source.answerable]
    named, plain = only_in(asked, answerable)
    answer = None
    if model is None and asks_for_the_whole(plain):
        answer = overview(workspace, named or answerable)
    if answer is None or not answer.grounded:
        listed = read_question(plain).wanted == "list"
        count = min(max(PASSAGES, len(answerable)), MOST_PASSAGES) if listed else PASSAGES
        result = search(workspace, asked, k=count, source_ids=source_ids, every_source=listed)
        probes.remember(workspace, asked, result.hits)
        progress.to("reading")
        if model is not None and result.hits:
            answer = written_answer(
                workspace, question, result, model, earlier, progress, most=most_citations
            )
        else:
            answer = extractive_answer(plain or asked, result, _embedder(workspace, result))
    answer.notices = [*notices, *answer.notices]
    if answer.record is None:  # a model has said what it wrote as it came
        progress.say(answer.text)
    return answer


def _sendable(workspace: Workspace, earlier: Sequence[Earlier]) -> list[Earlier]:
    """The earlier turns that a hosted model may be told: none that rests on a private source, or
    on one that is gone, of which nobody knows any more."""
    open_ = {source.id for source in load_sources(workspace) if not source.private}
    return [turn for turn in earlier if turn.sources <= open_]


def _kept_private(count: int, *, without_model: bool) -> Finding:
    """Says with the answer what the model was not given."""
    if without_model:
        return Finding(
            code="private_only",
            message="All of these sources are private, so the model outside your network was not "
            "asked.",
        )
    return Finding(
        code="private_left_out",
        message=f"{count} private sources were not looked at: the model is outside your network.",
        params={"n": count},
    )


def _understood(asked: str) -> Finding:
    """Says what was searched for in the place of a question that leans on the conversation."""
    return Finding(code="understood", message=f"Searched for: {asked}", params={"question": asked})


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
    """The embedder the index was made with, where the search could use it and nothing private
    would be sent out by it."""
    name = current_name(workspace)
    if result.mode == "text" or name is None:
        return None
    identity = named_table(workspace, name).identity
    if identity.provider == "local" and not prepared():
        return None
    try:
        embedder = get_embedder(identity)
    except EmbedderError:
        return None
    private = {source.id for source in load_sources(workspace) if source.private}
    if embedder.hosted and any(hit.source_id in private for hit in result.hits):
        return None
    return embedder
