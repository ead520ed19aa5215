"""The import report in the viewer: what was read of a source, what was not, and how."""

from __future__ import annotations

import html

import streamlit as st

from panels import state, text
from panels.spoken import name_of
from panels.text import t
from services.models import HARMLESS, ImportReport, Transcription
from services.speech import clock


def draw(found: ImportReport) -> None:
    """One line on what was read, green when complete; its details on demand."""
    sentences = details(found)
    words = html.escape(summary(found))
    if not found.complete:  # the gap itself, not only that there is one
        words += f"<br>{html.escape(sentences.pop(0))}"
    with st.container(
        key=f"rep_{'ok' if found.complete else 'warn'}",
        horizontal=True,
        gap="xsmall",
        vertical_alignment="center",
        wrap=False,
    ):
        icon = "check_circle" if found.complete else "info"
        st.html(f'<span class="rep num"><i class="ic">{icon}</i><span>{words}</span></span>')
        if sentences:
            st.button(
                t("viewer.details"),
                type="tertiary",
                key="report_details",
                on_click=toggle_details,
            )
    if sentences and st.session_state.get("report_open") == state.view_count():
        items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
        st.html(f'<ul class="details num">{items}</ul>')


def toggle_details() -> None:
    shown = st.session_state.get("report_open") == state.view_count()
    st.session_state["report_open"] = None if shown else state.view_count()


def summary(found: ImportReport) -> str:
    """112 of 114 pages read · 2 by text recognition · 9 tables."""
    recognised, pictures = len(found.ocr_pages), found.pictures
    if found.kind == "image" and found.units_total == recognised == 1:
        first = t("report.picture_read", share=text.percent(found.ocr_confidence or 0))
        recognised = 0
    elif found.unit == "second":
        first = t("report.second", length=clock(found.units_read))
    elif found.unit and found.unit != "row":
        unit = f"report.{found.unit}"
        first = t(unit, n=found.units_total, read=found.units_read)
    else:
        first = t("report.words", n=found.words)
    more = [
        t(f"report.{name}", n=count)
        for name, count in (
            ("recognised", recognised),
            ("tables", found.tables),
            ("pictures", max(pictures - len(found.ocr_pages), 0)),
            ("notes", found.notes),
        )
        if count
    ]
    return " · ".join([first, *more])


def details(found: ImportReport) -> list[str]:
    """What was not read or is doubtful first, then how it was read and what else it holds."""
    known = {finding.code for finding in found.findings}
    harmless = [finding for finding in found.findings if finding.code in HARMLESS]
    sentences = [text.finding(finding) for finding in found.findings if finding not in harmless]
    if found.unread and "pages_without_text" not in known:
        unit = found.unit if text.has(f"report.unread_{found.unit}") else "page"
        list_ = text.listed(found.unread)
        sentences.append(t(f"report.unread_{unit}", n=len(found.unread), list=list_))
    if found.kind != "image" or found.units_total > 1:  # the line above says it of one picture
        sentences += map(text.finding, harmless)
    if found.transcription:
        sentences.append(transcribed(found, found.transcription))
    if found.hidden:
        sentences.append(t("report.hidden", list=text.listed(found.hidden)))
    if found.attachments:
        sentences.append(t("report.attachments", list=text.listed(found.attachments)))
    if found.language and not found.transcription:
        sentences.append(t("report.language", name=name_of(found.language)))
    if found.encoding and "encoding_guessed" not in known:
        sentences.append(t("report.encoding", name=found.encoding.upper()))
    if found.unit and found.words:
        sentences.append(t("report.words", n=found.words))
    return sentences


def transcribed(found: ImportReport, how: Transcription) -> str:
    """Who recognised the speech, in which language, and how much of the recording is speech."""
    share = how.speech_seconds / max(found.units_read, 1)
    spoken = name_of(found.language) if found.language else "?"
    if how.language_probability is not None:
        spoken = t("report.sure", language=spoken, share=text.percent(how.language_probability))
    key = "report.transcribed_hosted" if how.hosted else "report.transcribed"
    return t(key, by=how.by, language=spoken, share=text.percent(min(share, 1.0)))
