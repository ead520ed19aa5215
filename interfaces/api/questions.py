"""Routes of questions: search, ask, and an answer as it comes about."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

from fastapi import APIRouter, Request
from fastapi.sse import format_sse_event
from pydantic import BaseModel, TypeAdapter
from starlette.responses import Response, StreamingResponse

from interfaces import shapes
from interfaces.api import failures
from interfaces.api.bodies import Found, Question, Search, SearchResults
from interfaces.api.notebook import Notebook, known
from services import chat
from services.errors import CancelledError, HaloError, NotFoundError, unexpected
from services.progress import Progress
from services.search import search
from services.storage import load_sources
from services.workspace import Workspace

log = logging.getLogger(__name__)

STREAM = "text/event-stream"
_ANYTHING: TypeAdapter[Any] = TypeAdapter(Any)
Tell = Callable[[str, Any], None]

router = APIRouter(tags=["questions"])


@router.post("/search", summary="Find passages")
def find_passages(workspace: Notebook, asked: Search) -> SearchResults:
    """The best passages for a text, verbatim, each with the place where it stands.

    404 when nothing is indexed yet, or a named source is not there.
    """
    known(workspace, asked.source_ids)
    wanted = None if asked.source_ids is None else set(asked.source_ids)
    if not any(
        s.answerable and (wanted is None or s.id in wanted) for s in load_sources(workspace)
    ):
        raise NotFoundError(
            "Nothing is indexed yet.", code="nothing_indexed", step="Upload a file first."
        )
    result = search(
        workspace, asked.query_text, k=asked.k, mode=asked.mode, source_ids=asked.source_ids
    )
    return SearchResults(
        results=[
            Found(content=hit.chunk.text, metadata=shapes.place(hit, result.query), score=hit.score)
            for hit in result.hits
        ],
        mode=result.mode,
        notices=[notice.message for notice in result.notices],
    )


@router.post(
    "/ask",
    summary="Answer a question",
    response_model=shapes.Answered,
    responses={
        200: {
            "content": {STREAM: {"schema": {"type": "string"}}},
            "description": "The answer; or with “Accept: text/event-stream” the events `stage`, "
            "`text` (what was added, or with `anew` the text from its beginning), then `answer` "
            "or `error`.",
        }
    },
)
def ask(workspace: Notebook, asked: Question, request: Request) -> shapes.Answered | Response:
    """Answer from the sources, each claim with the passages it rests on.

    404 when there is no source to answer from.
    """
    known(workspace, asked.source_ids)
    question = chat.checked_question(asked.question)
    if STREAM in request.headers.get("accept", ""):
        return StreamingResponse(
            _events(workspace, question, asked.source_ids),
            media_type=STREAM,
            headers={"Cache-Control": "no-store"},
        )
    return shapes.answered(
        chat.answer_question(
            workspace, question, asked.source_ids, most_citations=shapes.MOST_CITATIONS
        )
    )


class _Telling:
    """Tells what changed in an answer under way: another stage, more text."""

    def __init__(self, tell: Tell) -> None:
        self.tell, self.stage, self.text = tell, "", ""

    def __call__(self, now: Progress) -> None:
        if (now.stage, now.wait) != (self.stage, 0):
            self.stage = now.stage
            waiting = {"seconds": now.wait} if now.wait else {}
            self.tell("stage", {"stage": now.stage} | waiting)
        if now.text != self.text:
            anew = not now.text.startswith(self.text)
            more = now.text if anew else now.text[len(self.text) :]
            self.text = now.text
            self.tell("text", {"text": more} | ({"anew": True} if anew else {}))


async def _events(
    workspace: Workspace, question: str, source_ids: list[str] | None
) -> AsyncIterator[bytes]:
    """An answer as it comes about, made in a thread of its own, as server-sent events. Once the
    client has gone it is stopped."""
    loop = asyncio.get_running_loop()
    told: asyncio.Queue[bytes | None] = asyncio.Queue()
    gone = threading.Event()

    def put(event: bytes | None) -> None:
        if not gone.is_set():
            loop.call_soon_threadsafe(told.put_nowait, event)

    def tell(name: str, data: dict[str, Any] | BaseModel) -> None:
        if gone.is_set():
            raise CancelledError("Whoever asked has gone.")
        put(format_sse_event(event=name, data_str=_json(data)))

    progress = Progress(_Telling(tell))

    def run() -> None:
        try:
            answer = chat.answer_question(
                workspace,
                question,
                source_ids,
                most_citations=shapes.MOST_CITATIONS,
                progress=progress,
            )
            tell("answer", shapes.answered(answer))
        except CancelledError:
            return
        except HaloError as error:
            tell_error(error)
        except Exception as error:  # a fault becomes an event, not silence
            log.exception("an answer met an unexpected fault")
            tell_error(unexpected("HALO", error))
        put(None)

    def tell_error(error: HaloError) -> None:
        body = _json(failures.body_of(error))
        put(format_sse_event(event="error", data_str=body))

    threading.Thread(target=run, name="halo-answer", daemon=True).start()
    try:
        while (event := await told.get()) is not None:
            yield event
    finally:
        gone.set()
        progress.stopper.stop()


def _json(data: Any) -> str:
    return _ANYTHING.dump_json(data).decode()
