"""Where a setting comes from."""

from pathlib import Path

import pytest

from services import settings, storage
from services.errors import SettingsError
from services.settings import setting
from services.workspace import Workspace


def test_the_environment_wins_over_the_secrets_file_and_that_over_the_folder(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HALO_UPLOAD_LIMIT_MB", raising=False)
    storage.update_config({"HALO_UPLOAD_LIMIT_MB": 10}, workspace)
    assert setting("HALO_UPLOAD_LIMIT_MB") == "10"
    secrets = tmp_path / "secrets.toml"
    secrets.write_text("HALO_UPLOAD_LIMIT_MB = 20\n", encoding="utf-8")
    monkeypatch.setattr(settings, "SECRETS_FILE", secrets)
    assert setting("HALO_UPLOAD_LIMIT_MB") == "20"
    monkeypatch.setenv("HALO_UPLOAD_LIMIT_MB", "30")
    assert setting("HALO_UPLOAD_LIMIT_MB") == "30"


def test_a_key_in_the_data_folder_is_not_used(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    storage.update_config({"OPENAI_API_KEY": "sk-1", "HALO_DATA_DIR": "/elsewhere"}, workspace)
    assert setting("OPENAI_API_KEY") is None
    assert settings.data_dir() == workspace.home


@pytest.mark.parametrize("value", ["many", "63", "-1", "64.5", "٦٤x"])
def test_a_number_that_is_none_or_too_small_is_a_sentence(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALO_PASSAGE_TOKENS", value)
    with pytest.raises(SettingsError, match="HALO_PASSAGE_TOKENS is set to") as caught:
        settings.passage_tokens()
    assert caught.value.code == "bad_number"
