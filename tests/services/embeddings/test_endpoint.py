"""How addresses are spelt, and which of them are in the house."""

from __future__ import annotations

import pytest

from services.embeddings.endpoint import OPENAI, is_hosted, normalised
from services.errors import SettingsError


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("https://api.openai.com/v1", OPENAI),
        ("https://API.openai.com", OPENAI),
        ("https://api.openai.com/v1/v1/", OPENAI),
        (" http://localhost:11434/ ", "http://localhost:11434/v1"),
        ("http://localhost:8000/v1/embeddings/", "http://localhost:8000/v1"),
        ("https://host/api/openai/", "https://host/api/openai"),
        ("http://[::1]:9/v1", "http://[::1]:9/v1"),
    ],
)
def test_one_spelling(given: str, expected: str) -> None:
    assert normalised(given) == expected
    assert normalised(expected) == expected


@pytest.mark.parametrize(
    "given",
    [
        "localhost:11434",
        "ftp://host/v1",
        "http://",
        "http://host:99999",
        "http://[::1/v1",
        "http://user:secret@host/v1",
        "http://host/v1?key=secret",
    ],
)
def test_what_is_no_address_is_refused_without_repeating_it(given: str) -> None:
    with pytest.raises(SettingsError) as caught:
        normalised(given)
    assert "secret" not in str(caught.value)
    assert caught.value.params == {"name": "HALO_EMBEDDING_URL"}


@pytest.mark.parametrize(
    "host",
    "localhost LOCALHOST. a.localhost 127.0.0.1 127.8.9.1 10.1.2.3 172.16.0.1 172.31.9.9 "
    "192.168.1.1 169.254.1.1 0.0.0.0 [::1] [fd00::1] [fe80::1%25eth0] [::ffff:10.0.0.1] "
    "host.docker.internal".split(),
)
def test_in_the_house(host: str) -> None:
    assert not is_hosted(f"http://{host}:1234/v1")


@pytest.mark.parametrize(
    "host",
    "api.openai.com 8.8.8.8 172.32.0.1 100.64.0.1 [2606:4700::1] [::ffff:8.8.8.8] ollama "
    "localhost.example.com 127.0.0.1.nip.io 10.evil.com 2130706433".split(),
)
def test_not_in_the_house(host: str) -> None:
    assert is_hosted(f"http://{host}:1234/v1")
