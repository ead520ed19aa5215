from __future__ import annotations

import os
from pathlib import Path

import pytest

from services.errors import UserInputError
from services.intake import _blocks


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes with names")
def test_a_pipe_is_refused_instead_of_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.txt"
    os.mkfifo(pipe)
    for path in (pipe, Path(os.devnull), tmp_path):
        with pytest.raises(UserInputError) as caught:
            list(_blocks(path))
        assert caught.value.code == "unreadable_file"
