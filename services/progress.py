"""An answer under way: what is being done, the text so far, and how it is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from services.errors import CancelledError
from services.llm.talk import Stopper
from services.models import Answer

Stage = Literal["searching", "reading", "asking", "waiting", "writing", "checking", "done"]


class Progress:
    """Written by whoever answers, read by whoever watches; ``changed`` is called after each
    change, in the thread that made it.

    ``stage`` says what is being done, ``wait`` how many seconds a busy server asked for, ``text``
    is the answer so far, ``partial`` makes an answer of it where one can be made.
    """

    def __init__(self, changed: Callable[[Progress], None] = lambda _: None) -> None:
        self.started = time.monotonic()
        self.stage: Stage = "searching"
        self.wait = 0
        self.text = ""
        self.partial: Callable[[], Answer] | None = None
        self.stopper = Stopper()
        self._changed = changed

    def to(self, stage: Stage, wait: int = 0) -> None:
        """Go on to a stage. Raises CancelledError when it was stopped meanwhile."""
        if self.stopper.stopped:
            raise CancelledError("The answer was stopped.")
        self.stage, self.wait = stage, wait
        self._changed(self)

    def say(self, text: str) -> None:
        """The text as it is now."""
        if text != self.text:
            self.stage, self.text = "writing", text
            self._changed(self)
