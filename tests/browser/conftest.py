"""The real screen in Chromium: one server for all tests, a fresh notebook and tab for each.

``app`` is the running server with a notebook of its own (``app.workspace``); tests put sources
into it through the services, as another process would. ``page`` is a tab that shows it. Each tab
fails its test when a request leaves this computer or when the screen shows a traceback.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from services import adding, ingestion, notebooks
from services.intake import Incoming
from services.workspace import Workspace, open_workspace

PROJECT = Path(__file__).resolve().parent.parent.parent
START_SECONDS = 60
ARGUMENTS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
NOT_RUNNING = "[data-testid=stApp][data-test-script-state=notRunning]"


@dataclass(frozen=True)
class App:
    """The running screen, and the notebook that the test sees."""

    url: str
    data: Path
    workspace: Workspace

    @property
    def address(self) -> str:
        return f"{self.url}/?nb={self.workspace.id}"

    def add(self, *files: tuple[str, bytes]) -> list[str]:
        """Put files into the notebook, as another process would; the server reads them."""
        incoming = [Incoming(name, data) for name, data in files]
        return [added.source_id or "" for added in adding.add_files(self.workspace, incoming)]

    def add_text(self, title: str, body: str) -> str:
        return adding.add_text(self.workspace, title, body).source_id or ""

    def ready(self, ids: Sequence[str], *, seconds: float = 60) -> None:
        """Wait until the server has read these sources."""

        def done() -> bool:
            views = ingestion.list_sources(self.workspace)
            return {v.source.id for v in views if v.status == "ready"} >= set(ids)

        wait_for(done, seconds)


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def settle(page: Page) -> None:
    """Wait until the script has run."""
    page.wait_for_selector(NOT_RUNNING, timeout=30_000)


def show(page: Page, address: str) -> None:
    """Open an address and wait until its content is drawn."""
    page.goto(address)
    page.wait_for_selector("[class*=st-key-p_], .st-key-blocked", timeout=30_000)
    settle(page)


def start(data: Path, log: Path, **env: str) -> tuple[subprocess.Popen[bytes], str]:
    """Start the screen on a free port; returns its process and address once it answers."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "panels.start", "--port", str(port)]
    with log.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=PROJECT,
            env=os.environ | {"HALO_DATA_DIR": str(data), "HALO_EMBEDDER": "hash"} | env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    url = f"http://127.0.0.1:{port}"

    def answers() -> bool:
        assert process.poll() is None, log.read_text(encoding="utf-8", errors="replace")
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                return bool(answer.read() == b"ok")
        except OSError:
            return False

    wait_for(answers, START_SECONDS)
    return process, url


@pytest.fixture(scope="session")
def server(
    tmp_path_factory: pytest.TempPathFactory, _nothing_from_outside: Path
) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("screen")
    process, url = start(folder / "data", folder / "log.txt")
    yield url, folder / "data"
    process.terminate()
    process.wait(timeout=20)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from tests.conftest import chromium

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium(), args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def app(server: tuple[str, Path], monkeypatch: pytest.MonkeyPatch) -> App:
    url, data = server
    monkeypatch.setenv("HALO_DATA_DIR", str(data))
    book = notebooks.create_notebook(f"Test {time.monotonic_ns()}")
    return App(url, data, open_workspace(book.id))


@pytest.fixture
def tab(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Makes tabs: ``tab(width=390, height=844, dark=True, language="de-DE")``."""
    contexts = []
    abroad: list[str] = []

    def watch(request: Request) -> None:
        if not re.match(r"(https?|wss?)://127\.0\.0\.1[:/]|data:|blob:", request.url):
            abroad.append(request.url)

    def make(
        width: int = 1440, height: int = 900, *, dark: bool = False, language: str = "en-US"
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if dark else "light",
            locale=language,
        )
        context.set_default_timeout(30_000)
        contexts.append(context)
        page = context.new_page()
        page.on("request", watch)
        return page

    yield make
    traces = [
        page.locator("[data-testid=stException]").count()
        for context in contexts
        for page in context.pages
    ]
    for context in contexts:
        context.close()
    assert not abroad, "a request left this computer"
    assert not any(traces), "the screen shows a traceback"


@pytest.fixture
def page(app: App, tab: Callable[..., Page]) -> Page:
    """A desktop tab that shows the test's notebook."""
    made = tab()
    show(made, app.address)
    return made
