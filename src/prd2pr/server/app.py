"""The server as one ASGI application, with its routes and background services."""

from __future__ import annotations

import importlib
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI

from prd2pr import __version__
from prd2pr.server.database import Database, is_module_available
from prd2pr.server.request_bodies import BodyTimeoutMiddleware
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work_metrics import WorkMetrics

WEBHOOK_PATH = "/webhook"
# `module:function` of each part. The function receives the app and the `ServerContext`, adds routes, and may
# return a context manager, which is entered before the first request and exited after the last.
SERVER_PARTS = (
    "prd2pr.server.inbox.webhook:add_webhook",
    "prd2pr.server.work.service:add_work_service",
    "prd2pr.server.projection.service:add_projection",
    "prd2pr.server.api.routes:add_api",
    "prd2pr.server.dashboard.setup:add_dashboard",
)


@dataclass(frozen=True)
class ServerContext:
    """Objects shared by all parts of the server."""

    settings: ServerSettings
    database: Database
    work_available: threading.Event = field(default_factory=threading.Event)  # set when there may be new work
    metrics: WorkMetrics = field(default_factory=WorkMetrics)


def create_app(
    context: ServerContext, added: tuple[str, ...] = SERVER_PARTS, state: Mapping[str, object] | None = None
) -> FastAPI:
    """Create the application. `state` is copied to `app.state` before the parts in `added` are added."""
    background: list[AbstractContextManager[Any]] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with ExitStack() as running:
            for each in background:
                running.enter_context(each)
            yield

    app = FastAPI(title="prd2pr", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(
        BodyTimeoutMiddleware, seconds=context.settings.body_timeout_seconds, exempt_paths=frozenset({WEBHOOK_PATH})
    )
    app.state.context = context
    for name, value in (state or {}).items():
        setattr(app.state, name, value)
    for name in added:
        module, _, function = name.partition(":")
        part = getattr(importlib.import_module(module), function)(app, context) if is_module_available(module) else None
        if part is not None:
            background.append(part)
    return app
