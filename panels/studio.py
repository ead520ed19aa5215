"""The Studio panel: what is made from the sources, and notes.

Pattern: tiles, outputs and notes, or the one thing that is open in their place. The panel shows
nothing that cannot be pressed.
"""

from __future__ import annotations

import streamlit as st

from panels import frame, make_dialog, notes, outputs
from panels.citing import Shown
from panels.text import t
from services.studio.templates import templates
from services.workspace import Workspace

ICONS = {"report": "article", "table": "table_chart", "comparison": "compare_arrows"}


def panel(workspace: Workspace, shown: Shown) -> None:
    note = notes.opened(workspace)
    output = None if note else outputs.opened(workspace)
    with frame.panel("studio"):
        with frame.head("studio"):
            if note:
                notes.head(workspace, note)
            elif output:
                outputs.head(workspace, output)
            else:
                frame.title(t("studio.title"))
        with frame.body("studio"):
            if note:
                notes.body(workspace, note, shown)
            elif output:
                outputs.body(workspace, output, shown)
            else:
                tiles(any(view.source.answerable for view in shown.views))
                outputs.section(workspace)
                notes.section(workspace)


def tiles(usable: bool) -> None:
    """One tile for each kind of output; without a source that can be read none can be pressed."""
    kinds = list(dict.fromkeys(template.kind for template in templates()))
    with st.container(key="tiles", horizontal=True, gap="small"):
        for kind in kinds:
            st.button(
                t(f"studio.kind.{kind}"),
                icon=f":material/{ICONS[kind]}:",
                key=f"tile_{kind}",
                disabled=not usable,
                on_click=make_dialog.open_for,
                args=(kind,),
            )
