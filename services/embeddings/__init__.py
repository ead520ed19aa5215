"""Embedders: one protocol, one registry, one shared instance for each identity.

``get_embedder()`` gives the embedder of the settings, ``get_embedder(identity)`` the one a table
was built with. Importing this package and asking for an embedder loads nothing; the first text
does.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable

from services.embeddings.identity import Embedder, Identity
from services.errors import EmbedderError, HaloError
from services.settings import embedder_name, setting

__all__ = ["Embedder", "Identity", "get_embedder", "prepare", "prepared", "warm"]

_lock = threading.Lock()
_shared: dict[object, Embedder] = {}


def get_embedder(identity: Identity | None = None) -> Embedder:
    """The embedder of the settings, or the one that ``identity`` names.

    The same instance for the same identity in this process, safe to share between threads.

    Raises:
        EmbedderError: the one asked for cannot be had, for example for want of a key.
        SettingsError: HALO_EMBEDDER has an unknown value.
    """
    if identity is None:
        name = embedder_name()
        if name == "auto":
            name = "openai" if setting("OPENAI_API_KEY") else "local"
        return _PROVIDERS[name](None)
    if identity.provider not in _PROVIDERS:
        raise _unknown(identity)
    return _PROVIDERS[identity.provider](identity)


def prepare(progress: Callable[[float, str], None] | None = None) -> None:
    """Convert the bundled weights, once, so that the first question need not wait for it.

    ``progress`` is called with a fraction 0..1 and the stage: waiting, checking, converting,
    saving, done. Also checks what an earlier run left, and builds it anew if it is damaged.
    """
    from services.embeddings import convert

    convert.ensure_converted(progress, thorough=True)


def prepared() -> bool:
    """True when the bundled embedder can start at once."""
    from services.embeddings import convert

    return convert.is_converted()


def warm(embedder: Embedder) -> None:
    """Start loading the bundled embedder in the background; nothing for any other."""
    from services.embeddings.local import LocalEmbedder

    if isinstance(embedder, LocalEmbedder) and prepared():
        threading.Thread(target=_load, args=(embedder.load,), name="halo-warm", daemon=True).start()


def _load(load: Callable[[], None]) -> None:
    # What goes wrong here, also because the process ends, is told to whoever needs a vector.
    with contextlib.suppress(HaloError, RuntimeError, ImportError):
        load()


def _local(identity: Identity | None) -> Embedder:
    from services.embeddings import local

    if identity not in (None, local.IDENTITY):
        raise _unknown(identity)
    return _share(local.IDENTITY, lambda: local.LocalEmbedder())


def _hash(identity: Identity | None) -> Embedder:
    from services.embeddings import hashed

    known = hashed.identity(identity.model if identity else setting("HALO_EMBEDDING_MODEL"))
    if identity not in (None, known):
        raise _unknown(identity)
    return _share(known, lambda: hashed.HashEmbedder(known))


def _openai(identity: Identity | None) -> Embedder:
    from services.embeddings import endpoint, openai

    url = endpoint.normalised(setting("HALO_EMBEDDING_URL") or endpoint.OPENAI)
    key = setting("OPENAI_API_KEY")
    model = identity.model if identity else setting("HALO_EMBEDDING_MODEL") or openai.DEFAULT_MODEL
    if url == endpoint.OPENAI and not key:
        raise EmbedderError(
            f"The embedding model “{model}” needs a key, and none is set.",
            code="embedder_key_missing",
            step="Set OPENAI_API_KEY, or HALO_EMBEDDER=local.",
            model=model,
        )
    # The address and the key are part of the key here: a change of either takes effect at once.
    return _share(
        ("openai", url, key, model, identity),
        lambda: openai.OpenAIEmbedder(url, model, key, identity),
    )


_PROVIDERS: dict[str, Callable[[Identity | None], Embedder]] = {
    "local": _local,
    "openai": _openai,
    "hash": _hash,
}


def _share(key: object, make: Callable[[], Embedder]) -> Embedder:
    with _lock:
        if key not in _shared:
            _shared[key] = make()
        return _shared[key]


def _unknown(identity: Identity | None) -> EmbedderError:
    name = f"{identity.provider}:{identity.model}" if identity else ""
    return EmbedderError(
        f"This index was built with the embedder “{name}”, which this version of HALO lacks.",
        code="embedder_unknown",
        step="Build the index anew with the embedder that is set.",
        name=name,
    )
