"""A process to be killed: adds sources, asks, saves notes, and says what it was told is saved.

Run as ``python -m tests.services.crash_worker SEED``. Each acknowledged thing is one JSON line on
stdout, written only after the service returned.
"""

import json
import random
import sys
import time
from typing import Any

from services import chat, notes
from services.adding import add_files
from services.ingestion import list_sources, reindex_sources, rename_source
from services.intake import Incoming
from services.pipeline import Pipeline
from services.workspace import open_workspace


def say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def text(number: int, paragraphs: int) -> bytes:
    lines = [f"# Station {number}"]
    lines += [
        f"## Section {n}\n\nStation {number} measured {number * 7 + n} litres on day {n}."
        for n in range(paragraphs)
    ]
    return "\n\n".join(lines).encode()


def main(seed: int) -> None:
    pick = random.Random(seed)
    workspace = open_workspace()
    worker = Pipeline(lambda: [workspace]).start()
    say(started=True)
    conversation = chat.new_conversation(workspace)
    say(conversation=conversation.id)
    while True:
        number = pick.randrange(10**9)
        name = f"station-{number}.md"
        (added,) = add_files(workspace, [Incoming(name, text(number, pick.randrange(1, 120)))])
        say(source=added.source_id, name=name)
        if pick.random() < 0.5:
            worker.wait(workspace, [added.source_id or ""])
            say(ready=added.source_id)
        note = notes.new_note(workspace, f"note {number}", f"content {number}")
        say(note=note.id, content=note.content)
        if any(view.source.answerable for view in list_sources(workspace)):
            question = f"How many litres did station {number} measure?"
            answer = chat.ask(workspace, conversation.id, question)
            say(question=question, answer=answer, conversation=conversation.id)
            while (turn := chat.turn(workspace, answer)) and turn.state == "running":
                time.sleep(0.01)
            say(answered=answer, conversation=conversation.id)
        if pick.random() < 0.3:
            rename_source(workspace, added.source_id or "", f"renamed {number}")
            say(source=added.source_id, name=f"renamed {number}")
        if pick.random() < 0.2:
            reindex_sources(workspace, [added.source_id or ""])


if __name__ == "__main__":
    main(int(sys.argv[1]))
