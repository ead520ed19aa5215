"""Which table a notebook's passages go to.

A table belongs to one embedder. The rows of sources.json name the table that answers; new sources
go there too, whatever the settings say, until everything is moved to another embedder at once.
"""

from __future__ import annotations

from collections import Counter

from services.embeddings import Identity, get_embedder
from services.errors import StorageError
from services.lance import FIRST_TABLE, VectorTable, open_table
from services.models import Finding
from services.storage import load_sources
from services.workspace import Workspace


def current_name(workspace: Workspace) -> str | None:
    """The table that answers now; None in a notebook without passages."""
    named = Counter(source.table for source in load_sources(workspace) if source.table)
    return named.most_common(1)[0][0] if named else None


def writing_table(workspace: Workspace) -> tuple[str, VectorTable]:
    """Where passages of a new source go, made if needed. Raises EmbedderError, StorageError."""
    name = current_name(workspace)
    if name is None:
        name = _name_for(workspace, get_embedder().identity)
    return name, named_table(workspace, name)


def named_table(workspace: Workspace, name: str) -> VectorTable:
    """The table of this name; made for the embedder of the settings where it is gone."""
    table = open_table(workspace.vector_uri, name)
    if table is None:
        table = open_table(workspace.vector_uri, name, get_embedder().identity)
    if table is None:
        raise StorageError("The index cannot be opened.", code="index", step="Run “halo doctor”.")
    return table


def target_table(workspace: Workspace) -> str:
    """The table that the settings' embedder asks for."""
    return _name_for(workspace, get_embedder().identity)


def embedder_change(workspace: Workspace) -> Finding | None:
    """What to tell the user when the settings name another embedder than the index has."""
    name = current_name(workspace)
    table = open_table(workspace.vector_uri, name) if name else None
    if table is None:
        return None
    have, want = table.identity, get_embedder().identity
    if have == want:
        return None
    return Finding(
        code="embedder_changed",
        message=f"The index was made with {have.model}; the settings ask for {want.model}. The old "
        "index answers until everything is re-indexed.",
        params={"have": have.model, "want": want.model},
    )


def _name_for(workspace: Workspace, identity: Identity) -> str:
    """``sources`` for the first embedder of a notebook, ``sources__<embedder>`` for others."""
    first = open_table(workspace.vector_uri, FIRST_TABLE)
    if first is None or first.identity == identity:
        return FIRST_TABLE
    return f"{FIRST_TABLE}__{identity.slug}"
