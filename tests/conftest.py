"""What every test gets: a data folder of its own, no settings from outside, and no network.

- ``HALO_DATA_DIR`` points into the test's ``tmp_path``; keys and ``HALO_*`` variables of the
  caller are gone; the hash embedder is the default.
- ``HALO_CACHE_DIR`` is one folder for all tests and runs, so the bundled model is converted once.
- A test that reaches for another machine is refused and fails, in child Python processes too.
- Tests marked ``browser`` are skipped with a sentence where there is no Chromium.
"""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

import services.pipeline
import services.settings
from services.llm import talk
from tests.modelserver import ModelServer, model_server

PROJECT = Path(__file__).resolve().parent.parent
CACHE = PROJECT / ".cache" / "halo"
FOREIGN_PREFIXES = ("HALO_", "OPENAI_", "ANTHROPIC_", "GOOGLE_", "GROQ_", "AWS_", "STREAMLIT_")

# Runs in this process and, as sitecustomize, in every Python process a test starts. Attempts are
# noted in a file, because code under test may well swallow the refusal.
GUARD = textwrap.dedent(
    """
    import ipaddress
    import os
    import sys

    LOCAL = ("localhost", "testserver", "::1", "::", "0.0.0.0", "")


    def _is_local(host):
        if isinstance(host, bytes):
            host = host.decode("ascii", "replace")
        return host is None or host in LOCAL or host.startswith("127.")


    def _is_number(host):
        try:
            return bool(ipaddress.ip_address(host))
        except ValueError:
            return False


    def _refuse_network(event, args):
        if event in ("socket.connect", "socket.sendto"):
            address = args[1]
            host = address[0] if isinstance(address, tuple) and address else None
        elif event == "socket.getaddrinfo":
            host = None if _is_number(args[0]) else args[0]
        else:
            return
        log = os.environ.get("HALO_TEST_REFUSED")
        if log is None or _is_local(host):
            return
        with open(log, "a", encoding="utf-8") as file:
            file.write(f"{event} {host}\\n")
        raise ConnectionRefusedError(f"tests reach no other machine: {event} {host}")


    sys.addaudithook(_refuse_network)
    """
)
exec(compile(GUARD, "<network guard>", "exec"), {})


@pytest.fixture(scope="session", autouse=True)
def _nothing_from_outside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Hold for the whole session, so that session fixtures start their processes under it too."""
    folder = tmp_path_factory.mktemp("guard")
    (folder / "sitecustomize.py").write_text(GUARD, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(FOREIGN_PREFIXES)]:
            patch.delenv(name)
        patch.setenv("HALO_DATA_DIR", str(folder / "data"))
        patch.setenv("HALO_CACHE_DIR", str(CACHE))
        patch.setenv("HALO_EMBEDDER", "hash")
        patch.setenv("AGNO_TELEMETRY", "false")
        patch.setenv("PYTHONPATH", str(folder))
        patch.setenv("HALO_TEST_REFUSED", str(folder / f"{os.getpid()}.log"))
        patch.setattr(services.settings, "SECRETS_FILE", folder / "secrets.toml")
        yield folder / f"{os.getpid()}.log"


@pytest.fixture(autouse=True)
def _alone(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    _nothing_from_outside: Path,
) -> Iterator[None]:
    """A data folder of its own, and nobody to talk to."""
    monkeypatch.setenv("HALO_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setattr(services.settings, "SECRETS_FILE", tmp_path / "secrets.toml")
    refused = _nothing_from_outside
    refused.unlink(missing_ok=True)
    yield
    if services.pipeline._pipeline:  # a screen started it; it would work in the next test's folder
        services.pipeline._pipeline.stop()
        services.pipeline._pipeline = None
    attempts = refused.read_text(encoding="utf-8") if refused.exists() else ""
    if attempts and not request.node.get_closest_marker("network_refused"):
        pytest.fail(f"The test reached for another machine:\n{attempts}", pytrace=False)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model server on loopback, chosen in the settings."""
    with model_server() as running:
        monkeypatch.setenv("HALO_MODEL", "openai:test-model")
        monkeypatch.setenv("OPENAI_BASE_URL", running.url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-0123456789")
        yield running
        talk.forget()


def chromium() -> str | None:
    """The path of an installed Chromium or Chrome."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes that are no text by their length: what is packed at import holds the time of day, and
    every worker must give a test the same name."""
    if isinstance(val, bytes) and not (val.isascii() and val.decode("ascii").isprintable()):
        return f"{len(val)} bytes"
    return None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip = pytest.mark.skip(reason="no Chromium was found (Debian's package is called chromium)")
    may_skip = chromium() is None and not os.environ.get("CI")
    for item in items:
        if may_skip and item.get_closest_marker("browser"):
            item.add_marker(skip)


def pytest_report_header() -> str:
    return f"Chromium: {chromium() or 'none'}; Python {sys.version.split()[0]}"
