"""The application with its routes, and the process that serves it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

import uvicorn
from fastapi import FastAPI

from interfaces.api import failures, notes, questions, sources
from interfaces.api.gate import Gate, is_loopback
from interfaces.api.limit import Limit
from services.errors import SettingsError, UserInputError
from services.pipeline import Pipeline
from services.settings import setting, upload_limit
from services.workspace import Workspace

WAITING = 64
"""Uploads that wait for their source at once; more queue."""
LARGEST_BODY = 4_000_000
"""Bytes of a request without a file."""
FORM = 65_536
"""Bytes that may stand around a file in its form."""
GOODBYE = 5
"""Seconds that requests in hand are given when the server is told to stop."""


def application(workspace: Workspace, worker: Pipeline) -> FastAPI:
    """The HTTP API over one notebook. It starts ``worker``, and stops it at its own end.

    Raises SettingsError.
    """

    @contextlib.asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        worker.start()
        with ThreadPoolExecutor(WAITING, "halo-waiting") as waiters:
            app.state.waiters = waiters
            yield
            worker.stop()

    app = FastAPI(
        title="HALO",
        version=notes.VERSION,
        summary="Sources in, cited answers out.",
        description="Every error is `{“error”: {“code”, “message”, “step”}}`.",
        lifespan=life,
        docs_url=None,  # that page loads its scripts from another machine
        redoc_url=None,
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
        responses={422: {"model": failures.FaultBody, "description": "The request is invalid."}},
    )
    app.state.workspace, app.state.worker = workspace, worker
    for router in (sources.uploads, questions.router, sources.router, notes.router):
        app.include_router(router)
    failures.install(app)
    app.add_middleware(Limit, usual=LARGEST_BODY, paths={"/upload": upload_limit() + FORM})
    app.add_middleware(Gate, key=setting("HALO_API_KEY"))
    return app


def serve(workspace: Workspace, host: str, port: int, tell: Callable[[str], None]) -> None:
    """Serve a notebook until the process is told to stop (Ctrl-C, or a signal).

    ``tell`` is called with the address once requests are taken; port 0 means any free one.
    Raises SettingsError, UserInputError where the address cannot be had.
    """
    if not is_loopback(host) and setting("HALO_API_KEY") is None:
        raise SettingsError(
            f"Other machines reach HALO at {host or 'every address'}, and no key is set.",
            code="key_unset",
            step="Set HALO_API_KEY, or leave --host out.",
        )
    app = application(workspace, Pipeline(lambda: [workspace]).warm())
    with _listening(host, port) as sock:
        name = f"[{host}]" if ":" in host else host
        tell(f"http://{name}:{sock.getsockname()[1]}")
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            ws="none",
            timeout_graceful_shutdown=GOODBYE,
        )
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[sock])


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=128)
    except OSError as error:
        raise UserInputError(
            f"HALO cannot listen at {host}, port {port}: {error.strerror or error}.",
            code="address_taken",
            step="Another program may use the port; choose another with --port.",
        ) from error
