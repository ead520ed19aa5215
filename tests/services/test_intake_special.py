"""What is no file cannot be taken in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from services.intake import Incoming, take_in
from services.workspace import Workspace


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_refused_instead_of_waited_for(workspace: Workspace, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    for path in (pipe, Path(os.devnull), tmp_path):
        taken = take_in(workspace, Incoming(path.name, path))
        assert (taken.outcome, (taken.error or {})["code"]) == ("refused", "unreadable_file")
