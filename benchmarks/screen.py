"""How fast the screen is: 500 sources and 200 messages in one notebook, measured in a browser.

``python -m benchmarks.screen`` seeds a temporary data folder, starts the screen on it and prints
one table: script time of a full rerun, elements on the page, time from a click to its effect, time
from the start of the process to the first content, and what the server's process needs after it has
embedded a PDF of 20 pages with the bundled embedder. Budgets stand beside the results.
"""

from __future__ import annotations

import argparse
import logging
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import psutil
from playwright.sync_api import Page, sync_playwright

from benchmarks.intake import made_pdf
from services import adding, chat
from services.intake import Incoming
from services.models import Answer, Citation, Claim, Message
from services.pipeline import Pipeline, pipeline
from services.storage import load_sources, save_chat_history
from services.workspace import Workspace, open_workspace

PROJECT = Path(__file__).resolve().parent.parent
SOURCES, MESSAGES, RUNS = 500, 200, 7
SENTENCE = "The operating margin of region {n} fell to 12.6 % in 2025."
NOT_RUNNING = "[data-testid=stApp][data-test-script-state=notRunning]"
BUDGETS = {
    "full rerun, script": "150 ms",
    "process start to content": "4 s",
    "elements on the page": "1,500",
    "click on a box to its effect": "300 ms",
    "memory of the server, embedder loaded": "900 MB",
}


def seed(sources: int, messages: int) -> None:
    """A notebook with read sources and a conversation whose answers cite them."""
    workspace = open_workspace()
    files = [
        Incoming(f"Report {n:03}.txt", f"# Region {n}\n\n{SENTENCE.format(n=n)}".encode())
        for n in range(sources)
    ]
    adding.add_files(workspace, files)
    worker = Pipeline().start()
    try:
        while any(source.status != "ready" for source in load_sources(workspace)):
            time.sleep(0.2)
    finally:
        worker.stop()
    save_chat_history(chat.new_conversation(workspace).id, turns(workspace, messages), workspace)


def turns(workspace: Workspace, messages: int) -> list[Message]:
    known = load_sources(workspace)
    made: list[Message] = []
    for n in range(messages // 2):
        question = Message(role="user", content=f"How did the margin of region {n} change?")
        cited = [
            Citation(
                number=number,
                source_id=source.id,
                source_name=source.name,
                revision=source.revision or "",
                chunk_id="",
                quote=f"The operating margin of region {n} fell to 12.6 % in 2025.",
                support="supported",
            )
            for number, source in enumerate(known[n : n + 3], start=1)
        ]
        text = " ".join(f"{citation.quote} [{citation.number}]" for citation in cited)
        claims = [
            Claim(text=citation.quote, citations=[citation.number], support="supported")
            for citation in cited
        ]
        answer = Answer(text=text, grounded=True, citations=cited, claims=claims)
        made += [
            question,
            Message(
                role="assistant", content=text, reply_to=question.id, answer=answer, seconds=1.2
            ),
        ]
    return made


def script_ms(runs: int = RUNS) -> float:
    """Median time of a full run of app.py, without a browser."""
    from streamlit.testing.v1 import AppTest

    logging.disable(logging.ERROR)
    screen = AppTest.from_file(str(PROJECT / "app.py"), default_timeout=60)
    times = []
    for _ in range(runs + 2):
        began = time.perf_counter()
        screen.run()
        times.append((time.perf_counter() - began) * 1000)
    assert not screen.exception, screen.exception
    pipeline().stop()  # it would do the work of the server that is measured next
    return statistics.median(times[2:])


def start() -> tuple[subprocess.Popen[bytes], str]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "panels.start", "--port", str(port)]
    process = subprocess.Popen(
        command, cwd=PROJECT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    return process, f"http://127.0.0.1:{port}"


def wait_for_server(url: str) -> None:
    while True:
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.05)


def included(page: Page) -> int:
    found = re.search(r"\d+", page.locator(".st-key-top .count").inner_text())
    return int(found[0]) if found else -1


def click_ms(page: Page, runs: int = RUNS) -> float:
    """Median time from a click on a source's box to the changed count in the header."""
    times = []
    for _ in range(runs):
        before = included(page)
        began = time.perf_counter()
        page.locator("[class*=st-key-row_] label").first.click()
        page.wait_for_function(
            "before => parseInt(document.querySelector('.st-key-top .count').innerText) !== before",
            arg=before,
        )
        times.append((time.perf_counter() - began) * 1000)
        page.wait_for_selector(NOT_RUNNING)
        page.wait_for_timeout(300)
    return statistics.median(times)


def measure() -> dict[str, str]:
    rows = {"full rerun, script": f"{script_ms():,.0f} ms"}
    began = time.perf_counter()
    process, url = start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"),
                args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
            )
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            wait_for_server(url)
            page.goto(url)
            page.wait_for_selector("[class*=st-key-row_]", timeout=60_000)
            rows["process start to content"] = f"{time.perf_counter() - began:.1f} s"
            page.wait_for_selector('a[href^="#cite-"]')
            page.wait_for_selector(NOT_RUNNING)
            page.wait_for_timeout(1000)
            count = page.evaluate("document.querySelectorAll('.stApp *').length")
            rows["elements on the page"] = f"{count:,}"
            rows["click on a box to its effect"] = f"{click_ms(page):,.0f} ms"
            began = time.perf_counter()
            page.locator('a[href^="#cite-"]').last.click()
            page.wait_for_selector(".doc .hit")
            rows["click on a citation to its passage"] = (
                f"{(time.perf_counter() - began) * 1000:,.0f} ms"
            )
            browser.close()
    finally:
        process.terminate()
        process.wait(timeout=20)
    return rows


def memory_mb() -> str:
    """Memory of a server's process that has read and embedded a file and shows it."""
    workspace = open_workspace()
    adding.add_files(workspace, [Incoming("series.pdf", made_pdf(20, 0))])
    process, url = start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page()
            wait_for_server(url)
            page.goto(url)
            page.wait_for_selector("[class*=st-key-row_]", timeout=60_000)
            while load_sources(workspace)[0].status != "ready":
                time.sleep(0.5)
            needed = psutil.Process(process.pid).memory_info().rss
            browser.close()
    finally:
        process.terminate()
        process.wait(timeout=20)
    return f"{needed / 1e6:,.0f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sources", type=int, default=SOURCES)
    parser.add_argument("--messages", type=int, default=MESSAGES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ |= {"HALO_DATA_DIR": folder, "HALO_EMBEDDER": "hash", "HALO_MODEL": "none"}
        seed(options.sources, options.messages)
        rows = measure()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ |= {"HALO_DATA_DIR": folder, "HALO_EMBEDDER": "local"}
        rows["memory of the server, embedder loaded"] = memory_mb()
    print(f"\n{options.sources} sources, {options.messages} messages\n")
    for name, value in rows.items():
        print(f"{name:<38}{value:>12}   {BUDGETS.get(name, ''):>8}")


if __name__ == "__main__":
    main()
