"""The server as one ASGI application: what is served, and what runs beside it."""

from __future__ import annotations

import importlib
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from fastapi import FastAPI

from prd2pr import __version__
from prd2pr.server.bodies import PatientBodies
from prd2pr.server.database import Database, is_there
from prd2pr.server.settings import ServerSettings

WEBHOOK = "/webhook"
# Modules with `add_to(app, parts)`, which adds routes, and may return a context: entered before the first request is
# served, left after the last. One that is not there adds nothing.
ADDED = (
    "prd2pr.server.inbox.webhook",
    "prd2pr.server.work.running",
    "prd2pr.server.projection.running",
    "prd2pr.server.api.routes",
    "prd2pr.server.pages.routes",
)


@dataclass(frozen=True)
class Parts:
    """What every part of the server may use."""

    settings: ServerSettings
    database: Database
    news: threading.Event = field(default_factory=threading.Event)  # set when there may be something new to do


def create_app(parts: Parts, added: tuple[str, ...] = ADDED, state: Mapping[str, object] | None = None) -> FastAPI:
    """`state`: what is in `app.state` before the parts are added."""
    beside: list[AbstractContextManager[Any]] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        with ExitStack() as running:
            for each in beside:
                running.enter_context(each)
            yield

    app = FastAPI(title="prd2pr", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    app.add_middleware(PatientBodies, seconds=parts.settings.body_timeout_seconds, besides=frozenset({WEBHOOK}))
    app.state.parts = parts
    for name, value in (state or {}).items():
        setattr(app.state, name, value)
    for name in added:
        context = importlib.import_module(name).add_to(app, parts) if is_there(name) else None
        if context is not None:
            beside.append(context)
    return app
