"""OpenDocument files under a password: opened in memory, never written out plain.

Both ways in use are known: each part encrypted by itself (AES-CBC, key by PBKDF2), and, since 2024,
the whole package as one part (AES-GCM, key by Argon2id).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import zipfile
import zlib
from pathlib import Path
from typing import IO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from lxml import etree

from services.errors import PasswordNeededError
from services.parsers.ooxml import PART_LIMIT, safe_parser, too_large
from services.parsers.protected import password_needed
from services.parsers.sniff import BROKEN_ZIP, damaged, unsupported

_WHAT = "OpenDocument file"
_DAMAGE = (*BROKEN_ZIP, KeyError, binascii.Error, etree.XMLSyntaxError)
_MOST_ROUNDS = 10_000_000
_MOST_MEMORY = 1 << 20
"""KiB that a key may take to derive: a hostile file must not ask for more than this."""


def unlocked(path: Path, password: str | None) -> Path | IO[bytes]:
    """The file itself, or a plain copy of a protected one.

    Raises:
        PasswordNeededError: no password, or one that does not open the file.
        UnreadableSourceError: the container is broken.
        UnsupportedKindError: it is encrypted in a way HALO does not know.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = {name.lower(): name for name in archive.namelist()}
            manifest = _part(archive, names.get("meta-inf/manifest.xml", ""))
            locked = _locked(manifest) if manifest else {}
            if not locked:
                return path
            if not password:
                raise _needed(given=False)
            plain = io.BytesIO()
            with zipfile.ZipFile(plain, "w") as copy:
                for name in archive.namelist():
                    data = _part(archive, name)
                    how = locked.get(name)
                    copy.writestr(name, data if how is None else _decrypted(data, how, password))
            whole = _whole(plain) if "encrypted-package" in locked else None
    except _DAMAGE as error:
        raise damaged(_WHAT) from error
    found = whole or plain
    found.seek(0)
    return found


def _needed(*, given: bool) -> PasswordNeededError:
    error = password_needed(given=given)
    if not given:
        error.message = "This OpenDocument file is protected by a password."
    return error


def _part(archive: zipfile.ZipFile, name: str) -> bytes:
    if not name:
        return b""
    with archive.open(name) as stream:
        data = stream.read(PART_LIMIT + 1)
    if len(data) > PART_LIMIT:
        raise too_large()
    return data


def _whole(plain: io.BytesIO) -> io.BytesIO:
    with zipfile.ZipFile(plain) as outer:
        return io.BytesIO(_part(outer, "encrypted-package"))


def _locked(manifest: bytes) -> dict[str, etree._Element]:
    """What the manifest says about each encrypted part."""
    root = etree.fromstring(manifest, safe_parser())
    return {
        str(entry.get(_m(entry, "full-path"))): entry
        for entry in root.iter("{*}file-entry")
        if entry.find("{*}encryption-data") is not None
    }


def _m(element: etree._Element, name: str) -> str:
    """A name in the element's own namespace, where attributes of the manifest are too."""
    return f"{{{etree.QName(element).namespace}}}{name}"


def _decrypted(data: bytes, entry: etree._Element, password: str) -> bytes:
    about = entry.find("{*}encryption-data")
    cipher = about.find("{*}algorithm")
    derivation = about.find("{*}key-derivation")
    if cipher is None or derivation is None:
        raise damaged(_WHAT)
    name = _end(cipher, "algorithm-name")
    vector = _bytes(cipher, "initialisation-vector")
    key = _key(about, derivation, password)
    if name == "aes256-gcm":
        try:
            plain = AESGCM(key).decrypt(vector, data[len(vector) :], None)
        except InvalidTag as error:
            raise _needed(given=True) from error
    elif name in ("aes256-cbc", "aes192-cbc", "aes128-cbc"):
        decryptor = Cipher(algorithms.AES(key), modes.CBC(vector)).decryptor()
        plain = decryptor.update(data) + decryptor.finalize()
        padding = plain[-1] if plain else 0
        if not 0 < padding <= 16 or not _is_right(about, plain[:-padding]):
            raise _needed(given=True)
        plain = plain[:-padding]
    else:
        raise unsupported(
            "an OpenDocument file encrypted in an old way", "Save it again, with or without one."
        )
    inflater = zlib.decompressobj(-15)
    try:
        found = inflater.decompress(plain, PART_LIMIT + 1)
    except zlib.error as error:
        raise _needed(given=True) from error
    if len(found) > PART_LIMIT:
        raise too_large()
    return found


def _key(about: etree._Element, derivation: etree._Element, password: str) -> bytes:
    start = about.find("{*}start-key-generation")
    form = _end(start, "start-key-generation-name") if start is not None else "sha1"
    hashed = (hashlib.sha256 if "256" in form else hashlib.sha1)(password.encode()).digest()
    salt = _bytes(derivation, "salt")
    size = int(derivation.get(_m(derivation, "key-size"), "16"))
    if _end(derivation, "key-derivation-name") == "argon2id":
        of = {
            etree.QName(key).localname: value
            for key, value in derivation.attrib.items()
            if key.startswith("{")
        }
        memory, rounds = int(of["argon2-memory"]), int(of["argon2-iterations"])
        if memory > _MOST_MEMORY or rounds > 100:
            raise damaged(_WHAT)
        return Argon2id(
            salt=salt, length=size, iterations=rounds, lanes=int(of["argon2-lanes"]),
            memory_cost=memory,
        ).derive(hashed)  # fmt: skip
    count = int(derivation.get(_m(derivation, "iteration-count"), "1024"))
    if not 0 < count <= _MOST_ROUNDS:
        raise damaged(_WHAT)
    return PBKDF2HMAC(hashes.SHA1(), size, salt, count).derive(hashed)


def _is_right(about: etree._Element, plain: bytes) -> bool:
    """Whether decrypted bytes have the checksum that the file states for their beginning."""
    stated = about.get(_m(about, "checksum"))
    if not stated:
        return True
    kind = _end(about, "checksum-type")
    made = (hashlib.sha256 if "256" in kind else hashlib.sha1)(plain[:1024]).digest()
    return made == base64.b64decode(stated)


def _end(element: etree._Element, name: str) -> str:
    """The last word of an attribute that names a method, in small letters."""
    value = str(element.get(_m(element, name), ""))
    return value.replace(":", "#").rpartition("#")[2].rpartition("/")[2].lower()


def _bytes(element: etree._Element, name: str) -> bytes:
    return base64.b64decode(element.get(_m(element, name), ""))
