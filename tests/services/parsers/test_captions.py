"""Pictures described by a model that sees, over a real connection to a scripted one."""

from __future__ import annotations

import base64
import io
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from services import errors
from services.errors import CancelledError, ModelError, UnreadableSourceError
from services.models import Document
from services.reading import Reader
from tests.modelserver import ModelServer, model_server, refuse, say
from tests.services.parsers.test_ocr import COSTS, drawn

SEEN = "A line chart of orders in EUR million, from 12 in 2023 to 31 in 2025."


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with model_server() as running:
        running.script = lambda _: say(f"<think>An axis, a line.</think>{SEEN} [1]")
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("HALO_VISION_MODEL", "openai:sees")
        yield running


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    with Reader() as opened:
        yield opened


def chart(path: Path) -> Path:
    image = Image.new("RGB", (2400, 1200), "white")
    ImageDraw.Draw(image).line([(100, 1100), (1200, 500), (2300, 80)], fill="navy", width=9)
    image.save(path)
    return path


def written(path: Path, *pages: str) -> Path:
    first, *others = [drawn(page) for page in pages]
    first.save(path, save_all=True, append_images=others)
    return path


def codes(document: Document) -> list[str]:
    return [finding.code for finding in document.report.findings]


def picture_sent(request: dict[str, Any]) -> Image.Image:
    (part,) = [p for p in request["messages"][-1]["content"] if p["type"] == "image_url"]
    head, _, data = part["image_url"]["url"].partition(",")
    assert head == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


def test_a_picture_without_text_is_what_the_model_sees(
    server: ModelServer, reader: Reader, tmp_path: Path
) -> None:
    document = reader.read(chart(tmp_path / "orders.png"), "orders.png", out=tmp_path / "out.json")
    (block,) = document.blocks
    assert (block.kind, block.text, block.page) == ("caption", SEEN, 1)
    assert block.headings == ["Picture described by openai:sees"]
    assert codes(document) == ["described"]
    assert (document.report.units_read, document.report.unread) == (1, [])
    assert server.asked[0]["model"] == "sees"
    assert max(picture_sent(server.asked[0]).size) == 1568


def test_captions_stand_behind_the_text_of_their_page(
    server: ModelServer, reader: Reader, tmp_path: Path
) -> None:
    path = written(tmp_path / "two.tiff", COSTS, COSTS.replace("2024", "2025"))
    document = reader.read(path, "two.tiff", out=tmp_path / "out.json")
    assert [(b.page, b.kind) for b in document.blocks] == [
        (1, "paragraph"), (1, "caption"), (2, "paragraph"), (2, "caption"),
    ]  # fmt: skip
    assert "code de" in server.asked[0]["messages"][-1]["content"][0]["text"]


def test_where_the_model_fails_the_text_stays_and_the_report_says_why(
    server: ModelServer, reader: Reader, tmp_path: Path
) -> None:
    server.script = lambda _: refuse(401, "Incorrect API key")
    path = written(tmp_path / "bill.png", COSTS)
    document = reader.read(path, "bill.png", out=tmp_path / "out.json")
    assert document.text == COSTS
    assert codes(document) == ["recognised", "not_described"]
    with pytest.raises(ModelError) as caught:
        reader.read(chart(tmp_path / "orders.png"), "orders.png", out=tmp_path / "out.json")
    assert caught.value.code == "model_key"


def test_without_such_a_model_nothing_is_sent(
    server: ModelServer, reader: Reader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HALO_VISION_MODEL")
    with pytest.raises(UnreadableSourceError), Reader() as fresh:
        fresh.read(chart(tmp_path / "orders.png"), "orders.png", out=tmp_path / "out.json")
    assert server.asked == []


def test_a_slow_server_does_not_hold_up_a_cancel(
    server: ModelServer, reader: Reader, tmp_path: Path
) -> None:
    server.script = lambda _: say(SEEN, first=60.0)
    stopped = threading.Event()
    path = chart(tmp_path / "orders.png")

    def cancelled() -> bool:
        if server.asked:
            stopped.set()
        return stopped.is_set()

    with pytest.raises(CancelledError):
        reader.read(path, "orders.png", out=tmp_path / "out.json", cancelled=cancelled)
    assert len(server.asked) == 1


def test_errors_of_models_come_back_from_the_child_as_what_they_are() -> None:
    error = ModelError("No.", code="model_key", step="Set it.")
    again = errors.rebuilt(errors.told(error))
    assert isinstance(again, ModelError) and again.code == "model_key"
