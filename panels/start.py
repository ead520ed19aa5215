"""Starts the screen: ``python -m panels.start [--port 8501]``.

Streamlit runs ``app.py`` as ``streamlit run app.py`` would; this only takes work out of the way of
the first page (docs/benchmarks.md). While a browser loads Streamlit's own page, the server is idle:
HALO's modules are imported then. And Streamlit would read the metadata of every installed package
to find components; HALO's are its own.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.components.v2 import manifest_scanner

SCRIPT = Path(__file__).resolve().parent.parent / "app.py"
NEEDED = ("panels.frame", "panels.sources", "panels.chat", "panels.studio")


def prepare() -> None:
    """Import what the first run of the screen needs."""
    for name in NEEDED:
        importlib.import_module(name)


@contextlib.asynccontextmanager
async def prepared(_: st.App) -> AsyncIterator[dict[str, Any]]:
    threading.Thread(target=prepare, name="prepare", daemon=True).start()
    yield {}


def main() -> None:
    parser = argparse.ArgumentParser(description="Start HALO's screen on this machine.")
    parser.add_argument("--port", type=int, default=8501)
    options = parser.parse_args()
    manifest_scanner.scan_component_manifests = lambda max_workers=None: []
    with contextlib.suppress(KeyboardInterrupt):
        st.App(SCRIPT, lifespan=prepared).run(config={"server.port": options.port})


if __name__ == "__main__":
    main()
