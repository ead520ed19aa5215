"""Word, Excel and PowerPoint files under a password: opened in memory, never written out plain."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import IO

from services.errors import PasswordNeededError
from services.parsers.sniff import damaged, unsupported

_DAMAGE = (OSError, ValueError, LookupError, TypeError, struct.error)
"""What a broken container makes the reader of it raise."""
_EVERYBODYS = "VelvetSweatshop"
"""Excel's own password for workbooks that only ask not to be changed."""


def unlocked(path: Path, password: str | None) -> IO[bytes]:
    """The package inside a protected file.

    Raises:
        PasswordNeededError: no password, or one that does not open the file.
        UnreadableSourceError: the container is broken or encrypted in an unknown way.
    """
    try:
        import msoffcrypto  # type: ignore[import-untyped]
        from msoffcrypto import exceptions
    except ModuleNotFoundError as error:
        raise unsupported(
            "an Office file protected by a password", "Save it without a password and add it again."
        ) from error
    plain = io.BytesIO()
    with path.open("rb") as file:
        try:
            office = msoffcrypto.OfficeFile(file)
            # The older formats check the password always, the newer one only when asked to.
            check = {"verify_password": True} if office.format == "ooxml" else {}
            office.load_key(password=password or _EVERYBODYS, **check)
            office.decrypt(plain)
        except exceptions.InvalidKeyError as error:
            raise password_needed(given=bool(password)) from error
        except (
            exceptions.FileFormatError,
            exceptions.DecryptionError,
            exceptions.ParseError,
            *_DAMAGE,
        ) as error:
            raise damaged("protected Office file") from error
    plain.seek(0)
    return plain


def password_needed(*, given: bool) -> PasswordNeededError:
    """The refusal of a locked file, in other words when a password was tried."""
    if given:
        return PasswordNeededError(
            "This password does not open the file.",
            step="Check it and try again.",
            wrong=True,
        )
    return PasswordNeededError(
        "This Office file is protected by a password.",
        step="Enter its password, or add a copy saved without one.",
        wrong=False,
    )
