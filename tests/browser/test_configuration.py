"""The Configuration page: a model is chosen, tried out and kept; keys are never written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser import conftest
from tests.modelserver import ModelServer, model_server, refuse, say

pytestmark = pytest.mark.browser
KEY = "sk-very-secret-0123456789"


@pytest.fixture(scope="module")
def served(
    tmp_path_factory: pytest.TempPathFactory, _nothing_from_outside: Path, browser: Browser
) -> Iterator[tuple[str, Path, ModelServer]]:
    """The screen without a model but with a key, and a model server to choose."""
    folder = tmp_path_factory.mktemp("configuration")
    with model_server() as model:
        process, url = conftest.start(
            folder / "data",
            folder / "log.txt",
            OPENAI_API_KEY=KEY,
            HALO_MODEL="",
            OPENAI_BASE_URL="",
        )
        yield url, folder, model
        process.terminate()
        process.wait(timeout=20)


def field(page: Page, key: str, value: str) -> None:
    box = page.locator(f".st-key-{key} input")
    box.fill(value)
    box.press("Enter")
    conftest.settle(page)


def test_a_server_of_the_house_is_tried_out_and_kept(
    served: tuple[str, Path, ModelServer], tab: Callable[..., Page]
) -> None:
    url, folder, model = served
    page = tab()
    conftest.show(page, f"{url}/Configuration")
    page.locator(".st-key-set_provider button", has_text="OpenAI").click()
    field(page, "set_model_openai", "test-model")
    field(page, "set_url", model.url.removesuffix("/v1"))
    model.script = lambda _: say("ready")
    page.locator(".st-key-set_test button").click()
    found = page.locator("dl.details")
    expect(found).to_contain_text(f"{model.url}/chat/completions")
    expect(found).to_contain_text("test-model")
    expect(found).to_contain_text("“ready”")
    page.locator(".st-key-set_save button").click()
    expect(page.locator(".st-key-top")).to_contain_text("test-model")
    kept = (folder / "data" / "config.json").read_text("utf-8")
    assert re.search(r'"HALO_MODEL": ?"openai:test-model"', kept)
    model.script = lambda _: refuse(401, f"Incorrect API key provided: {KEY}")
    page.locator(".st-key-set_test button").click()
    alert = page.locator("[role=alert].failed")
    expect(alert).to_contain_text("refused the key")
    expect(alert).not_to_contain_text(KEY)
    for file in [folder / "log.txt", *(folder / "data").rglob("*.json*")]:
        assert KEY not in file.read_text("utf-8", "replace"), file
