"""The status line of a source: words, tone and bar for every state."""

from __future__ import annotations

from typing import Any

import pytest

from panels import status
from services.ingestion import SourceView
from services.models import Source, SourceStatus


def view(
    state: SourceStatus, done: int = 0, total: int = 0, unit: str = "", **fields: Any
) -> SourceView:
    return SourceView(Source(name="x", status=state, **fields), state, done, total, unit)


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        (view("queued"), "Waiting"),
        (view("reading"), "Reading"),
        (view("reading", 60, 88, "page"), "Reading page 61 of 88"),
        (view("reading", 40, 90, "byte"), "Fetching"),
        (view("reading", 90, 90, "byte"), "Fetched, waiting to be read"),
        (view("text_ready", 62, 100, "passage"), "Text ready, vectors 62\u00a0%"),
        (view("ready", units={"pages": 114}), "Ready · 114 pages"),
        (view("ready", units={"pages": 114}, unread=2), "Ready · 112 of 114 pages read"),
        (view("ready", units={"sheets": 6}, hidden=1), "Ready · 6 sheets, 1 hidden"),
        (view("ready", type_label="Image", units={"pages": 1}, words=12), "Ready · 12 words"),
        (view("ready", units={"seconds": 3723}), "Ready · 1:02:03 transcribed"),
        (view("ready", origin="text", words=1240), "Ready · pasted, 1,240 words"),
        (view("ready", words=1), "Ready · 1 word"),
        (view("failed", error={"code": "no_text", "message": "…"}), "No readable text"),
        (view("failed", error={"code": "odd", "message": "It broke."}), "It broke."),
        (view("failed"), ""),
        (view("needs_password"), "Needs password"),
        (view("needs_password", error={"params": {"wrong": True}}), "Wrong password"),
        (view("cancelled"), "Cancelled"),
    ],
)
def test_words(seen: SourceView, words: str) -> None:
    assert status.sentence(seen) == words


def test_only_work_in_progress_has_a_bar() -> None:
    assert 'style="width:62.0%"' in status.line(view("text_ready", 62, 100))
    assert "bar" not in status.line(view("queued"))
    assert "bar" not in status.line(view("reading", 90, 90, "byte"))
    assert "bar" not in status.line(view("ready", units={"pages": 3}))
    stopped = view("text_ready", 62, 100, error={"code": "vectors_stopped", "message": ""})
    assert not status.running(stopped) and "bar" not in status.line(stopped)


def test_the_line_is_escaped() -> None:
    hostile = view("failed", error={"code": "odd", "message": '<b onclick="x">'})
    assert "<b" not in status.line(hostile)


def test_what_lies_in_the_file_is_not_tried_again() -> None:
    assert status.retryable(view("failed", sha256="x", error={"code": "parser_crashed"}))
    assert status.retryable(view("cancelled", sha256="x"))
    assert not status.retryable(view("failed", sha256="x", error={"code": "unsupported_kind"}))
    assert not status.retryable(view("failed", error={"code": "parser_crashed"}))
