"""Members of ZIP archives under AES encryption, as WinZip, 7-Zip and others write it.

The member is stored as salt, a check of the password, the encrypted data and a code over it. The
code is held against the data when the last piece was read.
"""

from __future__ import annotations

import hmac
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

METHOD = 99
"""The number that stands for the compression of such a member."""
_FIELD = 0x9901
_ROUNDS = 1000
_CODE = 10
_BLOCK = 16
_PIECE = 1 << 20


class WrongPasswordError(RuntimeError):
    """The password does not open the member; of the class that ``zipfile`` has for that."""


@dataclass(frozen=True)
class _Stored:
    """What the archive says of a member: bytes of the key, and how it is compressed."""

    key: int
    compression: int


def pieces(path: Path, member: zipfile.ZipInfo, password: str) -> Iterator[bytes]:
    """The plain bytes of a member, piece by piece.

    Raises:
        WrongPasswordError: at the first piece, when the password does not open it.
        zipfile.BadZipFile: the member is damaged.
        NotImplementedError: it is compressed in a way that is not known.
    """
    stored = _stored(member)
    salt_size = stored.key // 2
    with path.open("rb") as file:
        file.seek(member.header_offset)
        head = file.read(30)
        if len(head) < 30 or head[:4] != b"PK\x03\x04":
            raise zipfile.BadZipFile("no header where a member begins")
        file.seek(sum(struct.unpack("<26xHH", head)), 1)
        salt, check = file.read(salt_size), file.read(2)
        left = member.compress_size - salt_size - 2 - _CODE
        if left < 0:
            raise zipfile.BadZipFile("a member shorter than its encryption needs")
        keys = PBKDF2HMAC(
            hashes.SHA1(),
            2 * stored.key + 2,
            salt,
            _ROUNDS,
        ).derive(password.encode())
        if keys[-2:] != check:
            raise WrongPasswordError("wrong password")
        code = hmac.new(keys[stored.key : -2], digestmod="sha1")
        plain = _Plain(keys[: stored.key], stored.compression)
        while left:
            piece = file.read(min(_PIECE, left))
            if not piece:
                raise zipfile.BadZipFile("a member ends before its end")
            left -= len(piece)
            code.update(piece)
            yield from plain.of(piece)
        if not hmac.compare_digest(code.digest()[:_CODE], file.read(_CODE)):
            raise zipfile.BadZipFile("the code over a member is wrong")


def _stored(member: zipfile.ZipInfo) -> _Stored:
    extra, at = member.extra, 0
    while at + 4 <= len(extra):
        number, size = struct.unpack_from("<HH", extra, at)
        if number == _FIELD and size >= 7 and at + 11 <= len(extra):
            strength, compression = struct.unpack_from("<BH", extra, at + 8)
            if strength in (1, 2, 3) and compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                return _Stored(8 + 8 * strength, compression)
            raise NotImplementedError("an encryption or compression that is not known")
        at += 4 + size
    raise zipfile.BadZipFile("nothing says how a member is encrypted")


class _Plain:
    """Decrypts and unpacks; pieces come in the order of the file, all but the last in blocks."""

    def __init__(self, key: bytes, compression: int) -> None:
        self._cipher: Any = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
        self._inflater = (
            zlib.decompressobj(-zlib.MAX_WBITS) if compression == zipfile.ZIP_DEFLATED else None
        )
        self._block = 1

    def of(self, piece: bytes) -> Iterator[bytes]:
        # The counter is written with its lowest byte first, which no ready-made mode does.
        count = -(-len(piece) // _BLOCK)
        numbers = range(self._block, self._block + count)
        self._block += count
        stream = self._cipher.update(
            b"".join(number.to_bytes(_BLOCK, "little") for number in numbers)
        )
        plain = (
            int.from_bytes(piece, "little") ^ int.from_bytes(stream[: len(piece)], "little")
        ).to_bytes(len(piece), "little")
        if self._inflater is None:
            yield plain
            return
        while plain:
            yield self._inflater.decompress(plain, _PIECE)
            plain = self._inflater.unconsumed_tail
