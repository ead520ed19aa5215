"""The chat with a model: time before it is asked, and the screen while it writes.

    python -m benchmarks.chat [--chunks 100000] [--questions 20] [--seconds 15]

A server that follows a script stands in for the model, so only HALO's own part is measured:

- from the question to the request, in a notebook with so many passages (bundled embedder, real
  search, real documents);
- while 200 tokens a second come in: how far the text on screen is behind what was sent, how long
  a press on a source's box takes to show, and how much of a core the server's process uses.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import psutil
from playwright.sync_api import Page, sync_playwright

from benchmarks import screen
from services import chat
from services.chunking import chunk_document
from services.embeddings import get_embedder
from services.models import Block, Document, Job, Source
from services.passages import record_fields, row
from services.storage import save_sources
from services.tables import writing_table
from services.workspace import Workspace, open_workspace
from tests.modelserver import ModelServer, Reply, model_server, say

IN_A_SOURCE, BATCH = 500, 20
TOKENS_A_SECOND = 200
PRESSES = 5
BUDGETS = {
    "question to request, median": "150 ms",
    "text on screen behind, median": "500 ms",
    "text on screen behind, 95 %": "500 ms",
    "press on a box to its effect": "250 ms",
    "server's share of a core": "50 %",
}
SUBJECTS = "nitrate copper turbine harbour tariff vaccine glacier railway orchard reactor".split()
VERBS = "rose fell doubled halved peaked stalled".split()


def load(workspace: Workspace, count: int) -> None:
    """``count`` passages in committed sources, with documents on disk and made-up vectors."""
    dice = random.Random(3)
    name, table = writing_table(workspace)
    embedder = get_embedder(table.identity)
    rng = np.random.default_rng(3)
    sources: list[Source] = []
    rows: list[dict[str, Any]] = []
    for number in range(count // IN_A_SOURCE):
        document = Document()
        for part in range(IN_A_SOURCE):
            text = _paragraph(dice, number, part)
            document.blocks.append(Block(kind="heading", text=f"Section {part}", level=1))
            document.blocks.append(Block(text=text, headings=[f"Section {part}"]))
        document.settle()
        source = Source(name=f"Report {number:04}.md", kind="md", meta="MD")
        job = Job(source_id=source.id)
        chunks = chunk_document(document, embedder.count_tokens, max_tokens=320, title=source.name)
        path = workspace.document(source.id, job.revision)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(document.model_dump_json(), "utf-8")
        rows += [
            row(source, job, n, chunk, source.name, document) for n, chunk in enumerate(chunks)
        ]
        fields = record_fields(document, job, name, len(chunks))
        fields |= {"status": "ready", "vectors": len(chunks)}
        sources.append(source.model_copy(update=fields))
        if len(sources) % BATCH == 0 or number == count // IN_A_SOURCE - 1:
            vectors = rng.standard_normal((len(rows), table.identity.dimension), dtype=np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            table.add(rows)
            table.fill([item["chunk_id"] for item in rows], vectors)
            rows = []
    table.refresh()
    save_sources(sources, workspace)
    print(f"{sum(source.chunks for source in sources):,} passages\n", flush=True)


def _paragraph(dice: random.Random, source: int, part: int) -> str:
    return " ".join(
        f"In station {dice.randrange(9000)} the {dice.choice(SUBJECTS)} {dice.choice(VERBS)} by "
        f"{dice.randrange(900) / 10} % in {dice.randrange(1990, 2030)} ({source}.{part})."
        for _ in range(4)
    )


def overhead(workspace: Workspace, questions: int) -> list[float]:
    """Milliseconds from each question to the request for its answer, after two for warming up."""
    talk = chat.new_conversation(workspace)
    dice = random.Random(5)
    times = []
    for number in range(questions + 2):
        station, subject = dice.randrange(9000), dice.choice(SUBJECTS)
        asked = f"By how much did the {subject} change in station {station}?"
        message_id = chat.ask(workspace, talk.id, asked)
        while chat.running_turn(workspace, talk.id) is not None:
            time.sleep(0.02)
        found = {message.id: message for message in chat.load_messages(workspace, talk.id)}
        answer = found[message_id].answer
        assert answer and answer.record, found[message_id].error
        assert answer.record.passages, "the request held passages"
        if number >= 2:
            times.append(answer.record.seconds["prepared"] * 1000)
    return times


class Stream:
    """Numbered words at 200 a second, and when each was handed out."""

    def __init__(self, seconds: int) -> None:
        self.count = seconds * TOKENS_A_SECOND
        self.sent: list[float] = []

    def __iter__(self) -> Iterator[str]:
        began = time.monotonic()
        for number in range(self.count):
            time.sleep(max(began + number / TOKENS_A_SECOND - time.monotonic(), 0))
            self.sent.append(time.monotonic())
            yield f"w{number} " if number % 30 else f"w{number}.\n\n"


def streaming(model: ModelServer, seconds: int) -> dict[str, float]:
    """The screen while an answer streams: lag and presses in milliseconds, CPU in percent."""
    stream = Stream(seconds)
    model.script = lambda _: Reply(stream)  # type: ignore[arg-type]
    process, url = screen.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            )
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            screen.wait_for_server(url)
            page.goto(url)
            page.wait_for_selector("[class*=st-key-row_]", timeout=60_000)
            page.wait_for_selector(screen.NOT_RUNNING)
            page.locator("[data-testid=stChatInputTextArea]").fill("How did the region fare?")
            page.keyboard.press("Enter")
            return _watched(page, stream, psutil.Process(process.pid))
    finally:
        process.terminate()
        process.wait(timeout=20)


def _watched(page: Page, stream: Stream, server: psutil.Process) -> dict[str, float]:
    while not stream.sent:
        time.sleep(0.01)
    time.sleep(1)
    began, before = time.monotonic(), sum(server.cpu_times()[:2])
    half = began + stream.count / TOKENS_A_SECOND / 2
    lags = []
    while time.monotonic() < half:
        text = page.locator(".st-key-log").inner_text()
        shown = [int(word) for word in re.findall(r"\bw(\d+)\b", text)]
        if shown:
            lags.append((time.monotonic() - stream.sent[max(shown)]) * 1000)
        time.sleep(0.05)
    used = (sum(server.cpu_times()[:2]) - before) / (time.monotonic() - began) * 100
    presses = screen.click_ms(page, PRESSES)
    assert len(stream.sent) < stream.count, "it streamed to the end of the measurement"
    return {
        "text on screen behind, median": statistics.median(lags),
        "text on screen behind, 95 %": sorted(lags)[int(0.95 * (len(lags) - 1))],
        "press on a box to its effect": presses,
        "server's share of a core": used,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--seconds", type=int, default=15)
    options = parser.parse_args(arguments)
    rows: dict[str, float] = {}
    with (
        model_server() as model,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
    ):
        os.environ |= {
            "HALO_DATA_DIR": folder,
            "HALO_MODEL": "openai:test-model",
            "OPENAI_BASE_URL": model.url,
        }
        workspace = open_workspace()
        load(workspace, options.chunks)
        model.script = lambda _: say("It rose [1].", usage=None)
        times = overhead(workspace, options.questions)
        rows["question to request, median"] = statistics.median(times)
        rows["question to request, 95 %"] = sorted(times)[int(0.95 * (len(times) - 1))]
    with (
        model_server() as model,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
    ):
        os.environ |= {
            "HALO_DATA_DIR": folder,
            "HALO_EMBEDDER": "hash",
            "OPENAI_BASE_URL": model.url,
        }
        screen.seed(20, 20)
        rows |= streaming(model, options.seconds)
    for name, value in rows.items():
        unit = "%" if "share" in name else "ms"
        print(f"{name:<38}{value:>10,.0f} {unit:<3} {BUDGETS.get(name, ''):>8}")


if __name__ == "__main__":
    main()
