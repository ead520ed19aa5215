"""kill -9 at random moments: nothing that was said to be saved is missing, nothing half-written
shows, and the work goes on."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from services import chat, jobs, lance, notes, sweep
from services.doctor import examine
from services.ingestion import load_document, original_path
from services.pipeline import Pipeline
from services.search import search
from services.storage import load_sources
from services.workspace import Workspace, open_workspace

PROJECT = Path(__file__).resolve().parents[2]
KILLS = 50
SEED = 20261130


class Saved:
    """What the killed processes were told is saved."""

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.ready: set[str] = set()
        self.notes: dict[str, str] = {}
        self.questions: dict[str, tuple[str, str]] = {}
        self.answered: dict[str, str] = {}

    def hear(self, line: str) -> None:
        said = json.loads(line)
        if "source" in said:
            self.sources[said["source"]] = said["name"]
        if "ready" in said:
            self.ready.add(said["ready"])
        if "note" in said:
            self.notes[said["note"]] = said["content"]
        if "question" in said:
            self.questions[said["answer"]] = (said["conversation"], said["question"])
        if "answered" in said:
            self.answered[said["answered"]] = said["conversation"]


def run_and_kill(seed: int, lines: int, after: float, saved: Saved) -> None:
    """Let a process say so many things are saved, and kill it so many seconds later."""
    worker = subprocess.Popen(
        [sys.executable, "-m", "tests.services.crash_worker", str(seed)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(PROJECT), os.environ["PYTHONPATH"]])},
    )
    assert worker.stdout
    assert "started" in worker.stdout.readline()
    for _ in range(lines):
        saved.hear(worker.stdout.readline())
    time.sleep(after)
    worker.send_signal(signal.SIGKILL)
    for line in worker.stdout:
        if line.endswith("\n"):
            saved.hear(line)
    worker.wait()
    worker.stdout.close()


def check_nothing_lost(workspace: Workspace, saved: Saved) -> None:
    sources = {source.id: source for source in load_sources(workspace)}
    for key, name in saved.sources.items():
        unheard = name.replace("station-", "renamed ").removesuffix(".md")
        assert sources[key].name in (name, unheard), "a rename may be saved before it is said"
    assert {
        key for key in saved.ready if sources[key].status not in ("ready", "text_ready")
    } == set()
    for source in sources.values():
        assert original_path(workspace, source.id).is_file()
        if source.answerable:
            assert load_document(workspace, source.id).blocks
    kept = {note.id: note.content for note in notes.list_notes(workspace)}
    assert {key: kept[key] for key in saved.notes} == saved.notes
    for answer, (conversation, question) in saved.questions.items():
        messages = {m.id: m for m in chat.load_messages(workspace, conversation)}
        asked = messages[messages[answer].reply_to or ""]
        assert asked.content == question
        assert messages[answer].state in ("done", "interrupted")
    for answer, conversation in saved.answered.items():
        messages = {m.id: m for m in chat.load_messages(workspace, conversation)}
        assert messages[answer].state == "done"
        assert messages[answer].content
    assert workspace.notices() == []


def check_nothing_half_visible(workspace: Workspace) -> None:
    sources = {source.id: source for source in load_sources(workspace)}
    for hit in search(workspace, "station measured litres", k=50).hits:
        assert sources[hit.source_id].revision == hit.revision
        document = load_document(workspace, hit.source_id)
        assert hit.chunk.text.split("\n")[0] in document.text
    table = lance.open_table(workspace.vector_uri, "sources")
    counts = table.revisions() if table else {}
    for source in sources.values():
        if source.answerable:
            assert counts[source.revision or ""] == source.chunks


def test_killed_fifty_times_nothing_is_lost(workspace: Workspace) -> None:
    pick = random.Random(SEED)
    saved = Saved()
    for n in range(KILLS):
        run_and_kill(n, pick.randrange(9), pick.uniform(0.0, 0.5), saved)
        check_nothing_lost(workspace, saved)
        if n % 10 == 9:
            check_nothing_half_visible(workspace)
    assert len(saved.sources) > KILLS / 2, "the test must have had something to lose"
    assert saved.answered, "some answers must have been finished"

    worker = Pipeline(lambda: [workspace]).start()
    worker.wait(workspace, [source.id for source in load_sources(workspace)])
    worker.stop()
    assert {source.status for source in load_sources(workspace)} == {"ready"}
    assert jobs.all_jobs(workspace) == []
    check_nothing_lost(workspace, saved)
    sweep.sweep(workspace)
    check_nothing_half_visible(workspace)
    assert [check for check in examine(open_workspace()) if not check.ok] == []
