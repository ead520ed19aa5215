"""The halves of the bundled model are joined once, checked, and never half there."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.errors import SettingsError, SpeechError
from services.speech import weights


def test_the_halves_are_joined_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_CACHE_DIR", str(tmp_path))
    assert not weights.is_joined()
    folder = weights.joined()
    assert weights.is_joined()
    assert (folder / weights.MODEL).stat().st_size == weights.SIZE
    written = (folder / weights.MODEL).stat().st_mtime_ns
    assert weights.model_dir() == folder
    assert (folder / weights.MODEL).stat().st_mtime_ns == written
    assert not list(tmp_path.glob(".whisper-base-*"))

    (folder / weights.MODEL).write_bytes(b"cut off")
    assert weights.joined() == folder
    assert (folder / weights.MODEL).stat().st_size == weights.SIZE


def test_weights_of_another_version_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(weights, "PARTS", weights.PARTS[::-1])
    with pytest.raises(SpeechError) as caught:
        weights.joined()
    assert caught.value.code == "speech_weights_damaged"
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == []


def test_missing_weights_say_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(weights, "PARTS", (("no_such_package_of_weights", "a"),))
    with pytest.raises(SpeechError) as caught:
        weights.joined()
    assert caught.value.code == "speech_weights_missing"
    assert "make install" in caught.value.step


def test_a_folder_of_the_settings_comes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_SPEECH_MODEL", str(tmp_path / "large"))
    with pytest.raises(SettingsError):
        weights.model_dir()
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / weights.MODEL).write_bytes(b"")
    assert weights.model_dir() == tmp_path / "large"
    assert weights.model_name() == "large"
