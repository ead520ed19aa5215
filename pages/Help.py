"""Help: what HALO does, in the order in which one meets it."""

import html

import streamlit as st

from panels import frame
from panels.header import address
from panels.text import t

TOPICS = ("add", "ask", "check", "notes", "search", "private", "lost")

with frame.page("help.title") as workspace, frame.panel("help"):
    with frame.head("help"):
        frame.title(t("help.title"))
        frame.gap()
        st.page_link("app.py", label=t("search.back"), query_params=address(workspace.id))
    with frame.body("help"):
        topics = "".join(
            f"<h3>{html.escape(t(f'help.{topic}'))}</h3>"
            f"<p>{html.escape(t(f'help.{topic}_text'))}</p>"
            for topic in TOPICS
        )
        st.html(f'<article class="doc page_text">{topics}</article>')
