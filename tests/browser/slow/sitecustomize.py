"""Answers that take their time, word by word, in the process whose PYTHONPATH begins here.

What is tested with it is the screen's part of a long answer, not the answering. Python imports a
module of this name at start; the one it hides (the tests' network guard) is run first.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from services.models import Answer
    from services.workspace import Workspace

SENTENCE = "The operating margin fell to 12.6 % in 2025."
WORD = 0.05
"""Seconds between two words."""


def answer(
    workspace: Workspace,
    question: str,
    source_ids: Sequence[str] | None = None,
    *,
    on_stage: Any = None,
) -> Answer:
    """Repeat one sentence as often as the question says ("40 times"), a word at a time."""
    import services.turns
    from services.errors import HaloError
    from services.models import Answer, Citation, Claim
    from services.storage import load_sources

    turn = next(t for t in services.turns._turns.values() if t.question == question)
    on_stage("searching")
    time.sleep(0.3)
    if "fail" in question:
        raise HaloError("The model cannot be reached.", step="Check its address.", code="no_model")
    times = next((int(word) for word in question.split() if word.isdigit()), 10)
    text = " ".join(f"Point {number}: {SENTENCE} [1]" for number in range(1, times + 1))
    on_stage("writing")
    words = text.split(" ")
    for count in range(1, len(words) + 1):
        if turn.stopped.is_set():
            break
        turn.text = " ".join(words[:count])
        time.sleep(WORD)
    source = next(source for source in load_sources(workspace) if source.answerable)
    cited = Citation(
        number=1,
        source_id=source.id,
        source_name=source.name,
        revision=source.revision or "",
        chunk_id="c1",
        quote=SENTENCE,
        support="supported",
    )
    return Answer(
        text=turn.text,
        grounded=True,
        citations=[cited],
        claims=[Claim(text=SENTENCE, citations=[1], support="supported")],
    )


for folder in sys.path:
    guard = Path(folder, "sitecustomize.py")
    if guard.exists() and not guard.samefile(__file__):
        exec(compile(guard.read_text(encoding="utf-8"), str(guard), "exec"), {})
        break

if "panels.start" in sys.orig_argv:  # not in the processes that read files
    import services.turns

    services.turns.answer_question = answer  # type: ignore[attr-defined]
