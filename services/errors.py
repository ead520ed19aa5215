"""The one tree of errors a user can meet.

HaloError
├── UserInputError        what was asked for cannot be done as asked (exit 2 or 1, HTTP 4xx)
│   ├── NotFoundError
│   ├── AmbiguousNameError
│   ├── EmptyQuestionError
│   ├── UnsupportedKindError
│   ├── UnreadableSourceError   (damaged, empty, no text)
│   ├── PasswordNeededError
│   └── TooLargeError
├── StorageError          the data folder cannot be used as it is
│   ├── DamagedFileError
│   ├── ForeignFolderError
│   ├── NewerFormatError
│   └── DiskFullError
├── EmbedderError         the embedder is missing, refused or answered wrongly
├── RerankerError         the user's own reranker is missing, refused or answered wrongly
├── ModelError            the language model is missing, refused, or its answer broke off
├── SpeechError           the speech recogniser is missing, refused or answered wrongly
├── ParserStoppedError    a parser was stopped: time, memory or output limit, or it crashed
├── LinkError             what a link names cannot be fetched, or is no content
├── CancelledError        the user stopped the work
└── SettingsError         a setting has a value that HALO does not know

Every error carries a stable ``code``, an English sentence for the user, a next step, and the
``params`` from which another language builds the same sentence (catalogue key ``error.<code>``).
"""

from __future__ import annotations

import errno
import json
from typing import Any


class HaloError(Exception):
    """Base of all errors meant for the user.

    Args:
        message: one sentence saying what happened.
        code: stable identifier; defaults to the class's own.
        step: one sentence saying how to go on, or "".
        params: values that appear in the sentence, for other languages.
    """

    code = "error"

    def __init__(
        self, message: str, *, code: str | None = None, step: str = "", **params: Any
    ) -> None:
        super().__init__(message)
        self.message = message
        self.step = step
        self.params = params
        if code:
            self.code = code

    def __str__(self) -> str:
        return f"{self.message} {self.step}".strip()

    def as_dict(self) -> dict[str, Any]:
        """The error as ``{"code", "message", "params"}``; the shape stored with a source."""
        return {"code": self.code, "message": str(self), "params": self.params}


class UserInputError(HaloError):
    code = "input"


class NotFoundError(UserInputError):
    code = "not_found"


class AmbiguousNameError(UserInputError):
    code = "ambiguous_name"


class EmptyQuestionError(UserInputError):
    code = "empty_question"


class UnsupportedKindError(UserInputError):
    code = "unsupported_kind"


class UnreadableSourceError(UserInputError):
    code = "unreadable"


class PasswordNeededError(UserInputError):
    code = "needs_password"


class TooLargeError(UserInputError):
    code = "too_large"


class StorageError(HaloError):
    code = "storage"


class DamagedFileError(StorageError):
    code = "damaged_file"


class ForeignFolderError(StorageError):
    code = "foreign_folder"


class NewerFormatError(StorageError):
    code = "newer_format"


class DiskFullError(StorageError):
    code = "disk_full"


class EmbedderError(HaloError):
    code = "embedder"


class RerankerError(HaloError):
    code = "reranker"


class ModelError(HaloError):
    code = "model"


class SpeechError(HaloError):
    code = "speech"


class ParserStoppedError(HaloError):
    code = "parser_stopped"


class LinkError(HaloError):
    code = "link"


class CancelledError(HaloError):
    code = "cancelled"


class SettingsError(HaloError):
    code = "settings"


def unexpected(what: str, error: Exception) -> HaloError:
    """A fault nobody foresaw, as a sentence; ``what`` met it: "Reading", "Answering" ..."""
    return HaloError(
        f"{what} met an unexpected fault ({type(error).__name__}).",
        code="unexpected",
        step="Try again; the log has the details.",
        kind=type(error).__name__,
    )


def from_os_error(error: OSError, doing: str) -> StorageError:
    """Translate an operating system error met while ``doing`` something into a sentence.

    A full disk (or quota) becomes DiskFullError, anything else StorageError.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFullError(
            f"The disk is full, so HALO could not finish {doing}.",
            step="Nothing that was saved is lost. Free some space and try again.",
            doing=doing,
        )
    reason = error.strerror or type(error).__name__
    return StorageError(
        f"HALO could not finish {doing}: {reason}.",
        step="Check that the data folder exists and may be written to.",
        doing=doing,
        reason=reason,
    )


def told(error: HaloError) -> dict[str, Any]:
    """An error as plain JSON, for another process; ``rebuilt`` makes it an error again."""
    return {
        "class": type(error).__name__,
        "code": error.code,
        "message": error.message,
        "step": error.step,
        "params": json.loads(json.dumps(error.params, default=str)),
    }


def rebuilt(said: dict[str, Any]) -> HaloError:
    """The error another process told of, of its own class again."""
    kind = globals().get(said["class"], HaloError)
    if not (isinstance(kind, type) and issubclass(kind, HaloError)):
        kind = HaloError
    error: HaloError = kind(said["message"], code=said["code"], step=said["step"])
    error.params = said["params"]
    return error
