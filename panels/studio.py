"""The Studio panel: what is made from the sources. Today that is notes.

Pattern: a list, or the one thing that is open in its place. Outputs join the list above the notes
as they come; the panel shows nothing that cannot be pressed.
"""

from __future__ import annotations

from panels import frame, notes
from panels.citing import Shown
from panels.text import t
from services.workspace import Workspace


def panel(workspace: Workspace, shown: Shown) -> None:
    note = notes.opened(workspace)
    with frame.panel("studio"):
        with frame.head("studio"):
            if note:
                notes.head(workspace, note)
            else:
                frame.title(t("studio.title"))
        with frame.body("studio"):
            if note:
                notes.body(workspace, note, shown)
            else:
                notes.section(workspace)
