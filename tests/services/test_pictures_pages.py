from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from services import pictures


def test_all_pages_come_in_order_from_one_opening(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "many.tif"
    frames = [Image.new("L", (10 + n, 8), n) for n in range(40)]
    frames[0].save(path, save_all=True, append_images=frames[1:])
    opened = []
    real = Image.open

    def counted(file: Path, *, formats: tuple[str, ...]) -> Image.Image:
        opened.append(file)
        return real(file, formats=formats)

    monkeypatch.setattr(Image, "open", counted)
    found = list(pictures.pages(path, within=(100, 100)))
    assert [page.size for page in found] == [(10 + n, 8) for n in range(40)]
    assert [page.getpixel((0, 0)) for page in found] == list(range(40))
    assert len(opened) == 1
