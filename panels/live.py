"""The one pattern for what changes by itself.

A service-owned worker does the work and keeps its own result. The screen only looks: while
something runs, one small fragment draws the live item several times a second and reruns the page
once when it is over. When nothing runs, one heartbeat compares the notebook's fingerprint every
two seconds and reruns the page when another process (or a worker) changed something.
"""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from services.workspace import Workspace

QUICK = 0.4
IDLE = 2.0


def live(draw: Callable[[], bool], *, running: bool, every: float = QUICK) -> None:
    """Draw an item that may change by itself.

    ``draw`` draws it and says whether it still runs. While ``running``, it is drawn again every
    ``every`` seconds alone; the page follows once, when ``draw`` says that it is over.
    """

    @st.fragment(run_every=every if running else None)
    def item() -> None:
        if not draw() and running:
            st.rerun()

    item()


def heartbeat(workspace: Workspace, seen: str) -> None:
    """Notice what others changed; ``seen`` is the notebook's stamp from before the page read it."""

    @st.fragment(run_every=IDLE)
    def beat() -> None:
        if workspace.stamp() != seen:
            st.rerun()

    beat()
