"""Settings: environment first, then .streamlit/secrets.toml, then config.json in the data folder
(never secrets, nor where that folder is).

``SETTINGS`` is the one list of what can be set; README's table is held against it by a test.
"""

from __future__ import annotations

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from services.errors import SettingsError
from services.jsonfile import JsonFile

PROJECT = Path(__file__).resolve().parent.parent
SECRETS_FILE = PROJECT / ".streamlit" / "secrets.toml"


@dataclass(frozen=True)
class Setting:
    """One setting: its environment name, default, meaning, and whether it is a secret."""

    name: str
    default: str
    meaning: str
    secret: bool = False


SETTINGS: tuple[Setting, ...] = (
    Setting("HALO_DATA_DIR", "data", "Folder that holds everything HALO keeps."),
    Setting(
        "HALO_CACHE_DIR",
        "the system's cache folder",
        "Folder for converted models; not needed for backups.",
    ),
    Setting(
        "HALO_EMBEDDER",
        "local",
        "`local` (bundled, offline), `openai` (text-embedding-3-small, or HALO_EMBEDDING_MODEL at "
        "HALO_EMBEDDING_URL), `auto` (openai for a new index when a key is set, else local), "
        "`hash` (tests only).",
    ),
    Setting("HALO_EMBEDDING_MODEL", "text-embedding-3-small", "Model asked for by `openai`."),
    Setting(
        "HALO_EMBEDDING_URL",
        "https://api.openai.com/v1",
        "Any OpenAI-compatible endpoint for embeddings.",
    ),
    Setting(
        "HALO_VECTOR_URI",
        "`lancedb/` in the data folder",
        "Where the LanceDB table lives: a folder or a `s3://`, `gs://`, `az://` address. Keys, "
        "region and the address of an own store come from the usual variables, such as "
        "AWS_ACCESS_KEY_ID and AWS_ENDPOINT_URL.",
    ),
    Setting(
        "HALO_READ_CONSISTENCY_SECONDS",
        "0",
        "How old, at most, what a search knows of another process's work on the index may be. 0 "
        "looks each time, at a cost of 1 or 2 ms, more in a bucket.",
    ),
    Setting(
        "HALO_RERANKER",
        "",
        "A model that orders what a search finds: the address of a server with a `/rerank` "
        "endpoint, or a folder with a cross-encoder (`model.onnx`, `tokenizer.json`).",
    ),
    Setting("HALO_RERANKER_MODEL", "", "Model asked for at that address."),
    Setting("HALO_UPLOAD_LIMIT_MB", "200", "Largest file HALO takes in, in megabytes."),
    Setting(
        "HALO_PASSAGE_TOKENS",
        "320",
        "Longest passage, in the embedder's tokens. Sources read from then on follow it; for those "
        "that are there: `halo reindex`.",
    ),
    Setting(
        "HALO_LINK_NETWORKS",
        "",
        "Private networks that links may reach, separated by commas, such as `10.0.0.0/8` for an "
        "intranet.",
    ),
    Setting(
        "HALO_TRANSCRIPTION",
        "local",
        "Who turns speech into text: `local` (bundled Whisper, offline) or `openai` (sends the "
        "sound of recordings to OPENAI_BASE_URL).",
    ),
    Setting(
        "HALO_TRANSCRIPTION_MODEL",
        "gpt-transcribe",
        "Model asked for by HALO_TRANSCRIPTION=openai; `whisper-1` and most own servers give finer "
        "times.",
    ),
    Setting(
        "HALO_SPEECH_LANGUAGE",
        "auto",
        "Language spoken in recordings, such as `en` or `de`; `auto` finds it out. A source's menu "
        "can say it for one recording.",
    ),
    Setting(
        "HALO_SPEECH_MODEL",
        "the bundled Whisper base",
        "Folder with another Whisper model in the format of CTranslate2.",
    ),
    Setting(
        "HALO_MODEL",
        "OpenAI's small model where OPENAI_API_KEY is set, else `none`",
        "Who writes answers: `provider:model` with `openai` (or any compatible server at "
        "OPENAI_BASE_URL), `anthropic`, `google` or `groq`; `none`: the best sentences of the "
        "sources, word for word.",
    ),
    Setting(
        "OPENAI_BASE_URL",
        "https://api.openai.com/v1",
        "Address for chat and transcription: OpenAI, or any server that speaks its protocol "
        "(Ollama, vLLM, LM Studio, llama.cpp).",
    ),
    Setting(
        "HALO_VISION_MODEL",
        "none",
        "Who describes pictures, as `provider:model`; `none`: only the text in them is read. The "
        "pictures are sent to that model.",
    ),
    Setting(
        "HALO_MODEL_CONTEXT",
        "0",
        "The model's context window in tokens; 0: as the server states it, or a careful guess.",
    ),
    Setting(
        "HALO_MODEL_CONNECT_SECONDS",
        "10",
        "How long HALO waits until the model server takes a call.",
    ),
    Setting(
        "HALO_MODEL_FIRST_SECONDS",
        "120",
        "How long it waits for the first word, and then for each further one.",
    ),
    Setting("HALO_MODEL_TOTAL_SECONDS", "900", "How long one answer may take in all."),
    Setting(
        "HALO_API_KEY",
        "",
        "Key that every request to `halo serve` must carry; needed for an address that other "
        "machines reach.",
        secret=True,
    ),
    Setting("HALO_RERANKER_KEY", "", "Key for the server of HALO_RERANKER.", secret=True),
    Setting(
        "OPENAI_API_KEY",
        "",
        "Key for answers by OpenAI, the `openai` embedder and transcription.",
        secret=True,
    ),
    Setting("ANTHROPIC_API_KEY", "", "Key for models of `anthropic`.", secret=True),
    Setting("GOOGLE_API_KEY", "", "Key for models of `google`.", secret=True),
    Setting("GROQ_API_KEY", "", "Key for models of `groq`.", secret=True),
)
_BY_NAME = {setting.name: setting for setting in SETTINGS}
EMBEDDERS = ("local", "openai", "auto", "hash")
TRANSCRIPTIONS = ("local", "openai")


def _secrets() -> dict[str, object]:
    if not SECRETS_FILE.is_file():
        return {}
    try:
        return tomllib.loads(SECRETS_FILE.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"The file {SECRETS_FILE.name} is not valid TOML: {error}.",
            code="secrets_file",
            step="Correct the line it names, or remove the file.",
            reason=str(error),
        ) from error


def setting(name: str) -> str | None:
    """The value of a setting named in ``SETTINGS``, or None where none was given.

    Read afresh on each call, so a changed environment needs no restart.
    """
    assert name in _BY_NAME, name
    value: object = os.environ.get(name, "").strip() or None  # empty is not set
    if value is None:
        value = _secrets().get(name)
    if value is None and name != "HALO_DATA_DIR" and not _BY_NAME[name].secret:
        value = _configured().get(name)
    return None if value is None else str(value).strip() or None


def where_set(name: str) -> str:
    """Where a setting has its value from: ``environment``, ``secrets``, ``config`` or "" where it
    was not given."""
    if os.environ.get(name, "").strip():
        return "environment"
    if name in _secrets():
        return "secrets"
    return "config" if setting(name) else ""


def _configured() -> dict[str, object]:
    home = data_dir()
    file = JsonFile(home / "config.json", {}, home / "locks", home / "quarantine")
    stored: dict[str, object] = file.read()
    return stored


def data_dir() -> Path:
    """The data folder, absolute; relative values are taken from the working directory."""
    return Path(setting("HALO_DATA_DIR") or PROJECT / "data").expanduser().absolute()


def cache_dir() -> Path:
    """The folder for converted models; outside the data folder, shared by all workspaces."""
    chosen = setting("HALO_CACHE_DIR")
    return Path(chosen).expanduser().absolute() if chosen else platformdirs.user_cache_path("halo")


def embedder_name() -> str:
    """One of ``EMBEDDERS``. Raises SettingsError for any other value."""
    return _one_of(EMBEDDERS, "HALO_EMBEDDER", "unknown_embedder", "Use local, openai or auto.")


def transcription() -> str:
    """One of ``TRANSCRIPTIONS``. Raises SettingsError for any other value."""
    known, code = TRANSCRIPTIONS, "unknown_transcription"
    return _one_of(known, "HALO_TRANSCRIPTION", code, "Use local or openai.")


def _one_of(known: tuple[str, ...], name: str, code: str, step: str) -> str:
    value = (setting(name) or _BY_NAME[name].default).lower()
    if value not in known:
        raise SettingsError(
            f"{name} is set to “{value}”, which HALO does not know.",
            code=code,
            step=step,
            name=value,
        )
    return value


def upload_limit() -> int:
    """The largest file taken in, in bytes. Raises SettingsError."""
    return _whole_number("HALO_UPLOAD_LIMIT_MB", least=1) * 1_000_000


def passage_tokens() -> int:
    """The most tokens a passage may have. Raises SettingsError."""
    return _whole_number("HALO_PASSAGE_TOKENS", least=64)


def model_context() -> int:
    """The model's context window in tokens as it was set, 0 where it was not. Raises
    SettingsError."""
    return _whole_number("HALO_MODEL_CONTEXT", least=0)


def model_seconds() -> tuple[int, int, int]:
    """How long to wait for a connection, for the next word, and for all of an answer. Raises
    SettingsError."""
    names = (
        "HALO_MODEL_CONNECT_SECONDS",
        "HALO_MODEL_FIRST_SECONDS",
        "HALO_MODEL_TOTAL_SECONDS",
    )
    connect, first, total = (_whole_number(name, least=1) for name in names)
    return connect, first, total


def read_consistency() -> int:
    """Seconds for which another process's work on the index may go unnoticed. Raises
    SettingsError."""
    return _whole_number("HALO_READ_CONSISTENCY_SECONDS", least=0)


def _whole_number(name: str, least: int) -> int:
    value = setting(name) or _BY_NAME[name].default
    if not value.isdecimal() or int(value) < least:
        raise SettingsError(
            f"{name} is set to “{value}”; it takes whole numbers from {least}.",
            code="bad_number",
            step=f"Use a number such as {_BY_NAME[name].default}.",
            name=name,
            value=value,
            least=least,
            usual=_BY_NAME[name].default,
        )
    return int(value)
