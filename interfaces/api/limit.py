"""How much a request may hold: what is over it is refused before it is kept."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from interfaces.api import failures


class Limit:
    """Passes bodies on to ``app`` up to a limit.

    Args:
        usual: bytes of a request.
        paths: bytes of requests for certain paths.
    """

    def __init__(self, app: ASGIApp, usual: int, paths: Mapping[str, int]) -> None:
        self._app = app
        self._usual = usual
        self._paths = paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        most = self._paths.get(scope["path"], self._usual)
        announced = dict(scope["headers"]).get(b"content-length", b"")
        if announced.isdigit() and int(announced) > most:
            await failures.response(failures.too_large())(scope, receive, send)
            return
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise HTTPException(413)  # any other error would be taken for a damaged form
            return message

        await self._app(scope, counted, send)
