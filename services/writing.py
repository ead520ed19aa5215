"""An answer that a model writes from the passages found.

The passages go out numbered and fenced in what room the model's window leaves, the text comes in
piece by piece, and at its end every claim is checked against the passages that were sent.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from services.errors import ModelError
from services.excerpts import Excerpt, gather
from services.grounding import grounded
from services.llm import Choice
from services.llm.failures import empty
from services.llm.talk import Ended, talk, window
from services.models import Answer, Finding, Record, SearchResult
from services.progress import Progress
from services.prompt import Earlier, left_out, messages, room
from services.storage import load_sources
from services.style import Style, load_style
from services.tokens import estimated
from services.workspace import Workspace
from services.written import Written

LEAST_ROOM = 200
"""Tokens below which no passage is worth sending."""


def written_answer(
    workspace: Workspace,
    question: str,
    result: SearchResult,
    model: Choice,
    earlier: Sequence[Earlier],
    progress: Progress,
    *,
    most: int,
) -> Answer:
    """The model's answer to ``question`` from the hits of ``result``.

    A prompt that turns out too long is sent once more with half of the passages. Raises ModelError,
    SettingsError, CancelledError.
    """
    model.require_key()
    style = load_style(workspace)
    reckoned = window(model)
    for attempt in (1, 2):
        tokens = room(reckoned, question, style)
        if tokens < LEAST_ROOM:
            raise ModelError(
                f"The question leaves no room for passages in the window of “{model.model}”.",
                code="model_window",
                step="Shorten the question, or set HALO_MODEL_CONTEXT to the model's real window.",
                model=model.model,
            )
        excerpts, missing = gather(workspace, result.hits, tokens)
        private = {source.id for source in load_sources(workspace) if source.private}
        one = _Request(question, excerpts, earlier, style, model, reckoned, private, progress, most)
        try:
            answer = one.answer()
        except ModelError as error:
            if error.code != "model_context" or attempt == 2:
                raise
            sent = sum(estimated(excerpt.shown) for excerpt in excerpts)
            reckoned = reckoned - tokens + min(sent, tokens) // 2
            continue
        answer.notices = [*result.notices, *left_out(missing, one.forgotten), *answer.notices]
        return answer
    raise AssertionError("the second attempt returns or raises")


class _Request:
    """One request and what comes of it."""

    def __init__(
        self,
        question: str,
        excerpts: Sequence[Excerpt],
        earlier: Sequence[Earlier],
        style: Style,
        model: Choice,
        reckoned: int,
        private: set[str],
        progress: Progress,
        most: int,
    ) -> None:
        self.excerpts, self.model, self.progress, self.most = excerpts, model, progress, most
        self.sent, count = messages(question, excerpts, earlier, style, reckoned, private)
        self.forgotten = len(earlier) - count
        self.record = Record(
            url=model.url,
            hosted=model.hosted,
            window=reckoned,
            passages=[excerpt.sent() for excerpt in excerpts],
            earlier=count,
            settings=style.model_dump(exclude_defaults=True),
        )
        self.written = Written([excerpt.number for excerpt in excerpts])

    def answer(self) -> Answer:
        self.progress.partial = self.so_far
        self.progress.to("asking")
        prepared = time.monotonic() - self.progress.started
        ended = talk(
            self.model,
            self.sent,
            on_text=self._heard,
            on_wait=self._waits,
            stopper=self.progress.stopper,
        )
        self.written.close()
        if not self.written.text:  # it thought, and said nothing
            raise empty(self.model)
        self.progress.say(self.written.text)
        self.progress.to("checking")
        started = time.monotonic()
        answer = self.so_far()
        self.record.seconds = {
            "prepared": round(prepared, 3),
            "first": ended.first_seconds,
            "written": ended.seconds,
            "checked": round(time.monotonic() - started, 3),
        }
        self._note(answer, ended)
        return answer

    def so_far(self) -> Answer:
        """What was written until now, grounded."""
        text = self.written.text.rstrip()
        markers = [marker for marker in self.written.markers if marker[1] <= len(text)]
        answer = grounded(text, markers, self.excerpts, most=self.most)
        answer.answered_by, answer.record = self.model.name, self.record
        return answer

    def _heard(self, piece: str) -> None:
        self.written.feed(piece)
        self.progress.say(self.written.text)

    def _waits(self, seconds: int) -> None:
        self.progress.to("waiting" if seconds else "asking", seconds)

    def _note(self, answer: Answer, ended: Ended) -> None:
        """Keep how it went, and say what a reader should know of it."""
        self.record.finish = ended.finish
        self.record.tokens_in, self.record.tokens_out = ended.tokens_in, ended.tokens_out
        if ended.finish == "length":
            answer.notices.append(
                Finding(
                    code="answer_cut", message="The model reached its limit: the answer is cut off."
                )
            )
        expected = sum(estimated(said.text) for said in self.sent)
        if 0 < ended.tokens_in < 0.3 * expected:
            answer.notices.append(
                Finding(
                    code="prompt_cut",
                    message="The model server seems to have cut what it was sent. Give it a larger "
                    "context, or set HALO_MODEL_CONTEXT to the one it has.",
                )
            )
