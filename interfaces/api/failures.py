"""Every error as ``{"error": {"code", "message", "step"}}``, with one table of statuses."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse

from services import errors
from services.errors import HaloError

log = logging.getLogger(__name__)


class Forbidden(errors.UserInputError):
    """The request comes from a page or for a host that HALO does not serve."""

    code = "forbidden"


class KeyNeeded(errors.UserInputError):
    """The request carries no key, or a wrong one."""

    code = "key_needed"


class MethodError(errors.UserInputError):
    """The path exists, the method does not."""

    code = "wrong_method"


STATUS: dict[type[HaloError], int] = {
    KeyNeeded: 401,
    Forbidden: 403,
    MethodError: 405,
    errors.UnsupportedKindError: 400,
    errors.NotFoundError: 404,
    errors.TooLargeError: 413,
    errors.UserInputError: 422,
    errors.ParserStoppedError: 422,
    errors.CancelledError: 409,
    errors.EmbedderError: 503,
    errors.ModelError: 503,
    errors.DiskFullError: 507,
    HaloError: 500,
}
"""The status of each class of error; a class without a row has its parent's."""


class Fault(BaseModel):
    """What went wrong and how to go on."""

    code: str
    """Stable name of what went wrong."""
    message: str
    """One sentence for people."""
    step: str
    """What to do next; may be empty."""
    source_id: str | None = None
    """The source it is about, where there is one."""


class FaultBody(BaseModel):
    """The body of every answer that is not a success."""

    error: Fault


def status_of(error: HaloError) -> int:
    """The HTTP status of an error, by its class."""
    return next(STATUS[kind] for kind in type(error).__mro__ if kind in STATUS)


def body_of(error: HaloError) -> dict[str, Any]:
    """The JSON body of an error."""
    source_id = error.params.get("source_id")
    fault = Fault(code=error.code, message=error.message, step=error.step, source_id=source_id)
    return FaultBody(error=fault).model_dump(exclude_none=True)


def response(error: HaloError, headers: dict[str, str] | None = None) -> JSONResponse:
    """An error as an HTTP answer."""
    return JSONResponse(body_of(error), status_of(error), headers)


def _classes(kind: type[HaloError] = HaloError) -> Iterator[type[HaloError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _classes(below)


def recorded(stored: dict[str, Any], source_id: str | None) -> HaloError:
    """The error kept with a source, of its class again where its code tells that; else the file
    could not be read."""
    code = str(stored["code"])
    by_code = {kind.code: kind for kind in _classes()} | {"unexpected": HaloError}
    kind = by_code.get(code) or by_code.get(code.partition("_")[0], errors.UnreadableSourceError)
    return kind(str(stored["message"]), code=code, source_id=source_id)


def too_large() -> HaloError:
    """The body of a request is over its limit."""
    return errors.TooLargeError(
        "The body of the request is too large.",
        step="Send less at once, or for files raise HALO_UPLOAD_LIMIT_MB.",
    )


def install(app: FastAPI) -> None:
    """Make every error of ``app`` answer in the one shape."""
    app.add_exception_handler(HaloError, _on_halo_error)
    app.add_exception_handler(RequestValidationError, _on_invalid)
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(Exception, _on_unexpected)


async def _on_halo_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HaloError)
    if status_of(error) >= 500:
        log.warning("%s %s: %s", request.method, request.url.path, error)
    return response(error)


async def _on_invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:] if isinstance(part, str))
    about = f"“{where}” in the request" if where else "The body of the request"
    return response(_invalid(f"{about} is not as it must be: {first['msg']}."))


async def _on_http(request: Request, error: Exception) -> JSONResponse:
    """What the framework refuses by itself."""
    assert isinstance(error, HTTPException)
    path, headers = request.url.path, dict(error.headers or {})
    told: HaloError
    match error.status_code:
        case 404:
            told = errors.NotFoundError(f"There is nothing at {path}.", code="no_such_path")
        case 405:
            told = MethodError(f"{path} does not take {request.method}.")
        case 413:
            told = too_large()
        case _:
            told = _invalid(f"The body of the request cannot be read: {error.detail}.")
    return response(told, headers)


def _invalid(message: str) -> HaloError:
    return errors.UserInputError(
        message.replace("..", "."), code="invalid_body", step="/openapi.json says what it takes."
    )


async def _on_unexpected(_: Request, error: Exception) -> JSONResponse:
    return response(errors.unexpected("HALO", error))  # the server logs it, with where it happened
