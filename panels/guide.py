"""The guide above an opened source: what it is about, its subjects, and what was read of it."""

from __future__ import annotations

import html

import streamlit as st

from panels import import_report
from panels.text import t
from services import overview
from services.models import Document, Source
from services.sentences import without_mark
from services.workspace import Workspace

SENTENCES, TOPICS = 2, 4


def ended(sentence: str) -> str:
    """A sentence with its full stop; lines of slides and lists have none."""
    return sentence if sentence.rstrip()[-1:] in ".!?…。！？:" else f"{sentence.rstrip()}."


def draw(workspace: Workspace, source: Source, document: Document) -> None:
    found = overview.guide(workspace, source)
    said = overview.in_order(found.points[:SENTENCES])
    with st.container(key="guide", gap=None):
        if said:
            words = " ".join(ended(without_mark(point.quote.quote)) for point in said)
            topics = "".join(
                f"<span>{html.escape(topic)}</span>" for topic in found.topics[:TOPICS]
            )
            st.html(
                f'<details class="about" open><summary>{html.escape(t("guide.title"))}</summary>'
                f'<p class="serif" lang="{found.language or ""}">{html.escape(words)}</p>'
                f'<div class="topics">{topics}</div></details>'
            )
        import_report.draw(document.report)
