"""What an embedder is: its identity, which a table keeps, and its protocol."""

from __future__ import annotations

import hashlib
import json
import re
from typing import TYPE_CHECKING, Protocol

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


class Identity(BaseModel):
    """What makes two vectors comparable. Stored with every table of vectors.

    Two embedders with equal identities put equal texts at the same place; a table is only ever
    asked with the identity it was built with. The address of a server is no part of it: a model
    may move.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    provider: str
    """``local``, ``openai`` (any endpoint that speaks its protocol) or ``hash``."""
    model: str
    dimension: int = Field(gt=0)
    query_prefix: str = ""
    passage_prefix: str = ""

    @property
    def slug(self) -> str:
        """A short name made of ``a-z 0-9 _ -`` only: safe in a table name and as a file name.

        Different identities have different slugs, also where names differ only in case or in
        signs that are left out.
        """
        readable = re.sub(r"[^a-z0-9]+", "-", f"{self.provider}-{self.model}".lower()).strip("-")
        digest = hashlib.sha256(self.to_json().encode()).hexdigest()[:8]
        return f"{readable[:40].rstrip('-')}-{self.dimension}-{digest}"

    def to_json(self) -> str:
        """One line of JSON, keys sorted: equal identities give equal text."""
        return json.dumps(self.model_dump(), sort_keys=True, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str | bytes) -> Identity:
        """The identity that ``to_json`` wrote. Raises pydantic's ValidationError for anything else.

        Keys of a later version are ignored.
        """
        return cls.model_validate_json(text)


class Embedder(Protocol):
    """Turns texts into vectors. Shared between threads; loads on first use.

    Every method that embeds or counts raises EmbedderError when it cannot, never returns a
    vector that is empty, zero or not finite.
    """

    @property
    def identity(self) -> Identity:
        """What a table built with this embedder must keep."""
        ...

    @property
    def hosted(self) -> bool:
        """True when texts leave for an address that is neither loopback nor private."""
        ...

    @property
    def max_tokens(self) -> int:
        """Longest passage in tokens, as ``count_tokens`` counts; what goes beyond is cut off."""
        ...

    def count_tokens(self, texts: list[str]) -> list[int]:
        """Tokens that each text takes as a passage, prefix and special tokens included."""
        ...

    def embed_passages(self, texts: list[str]) -> Vectors:
        """Vectors of shape (len(texts), dimension), float32, each of length 1."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """Vector of shape (dimension,), float32, of length 1."""
        ...
