"""The dashboard in its own app, with real server-sent events, and well-known tokens."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse

from fakes.board_sample import NOW, StillReading
from prd2pr.client.models import Asked, Source
from prd2pr.server.dashboard.access import COOKIE, Visitor, allow_all, allow_none
from prd2pr.server.dashboard.router import DashboardContext, make_dashboard_router
from prd2pr.views.board.source import PrdSource
from prd2pr.views.models import CircuitView, StoryCard

OWNER, READER, OF_ONE = "token-of-the-owner", "token-of-a-reader", "token-for-acme-shop"
VISITORS = {
    OWNER: Visitor("owner", allow_all, allow_all, sees_all=True),
    READER: Visitor("reader", allow_all, allow_none, sees_all=True),
    OF_ONE: Visitor("one", lambda repo: repo == "acme/shop", lambda repo: repo == "acme/shop"),
}


@dataclass
class Events:
    """Kept forever, so that a client that reconnects gets what it missed."""

    told: list[tuple[str, str]] = field(default_factory=list)
    cuts: int = 0  # how often all connections were cut
    resumed: bool = False  # a client reconnected with its last event id

    def tell(self, kind: str, repo: str) -> None:
        self.told.append((kind, json.dumps({"at": NOW, "repo": repo, "data": {}})))

    async def stream(self, after: int) -> AsyncIterator[str]:
        yield "retry: 200\n\n"
        cuts = self.cuts
        while cuts == self.cuts:
            for number, (kind, data) in enumerate(self.told[after:], after + 1):
                yield f"id: {number}\nevent: {kind}\ndata: {data}\n\n"
                after = number
            await asyncio.sleep(0.02)


class Shown:
    """What the pages show; a test may change all of it while they are open."""

    def __init__(self, *sources: PrdSource) -> None:
        self.reading = StillReading(*sources)
        self.events = Events()
        self.asked: list[tuple[str, str]] = []
        self.ordered: list[Asked] = []
        self.refusal = ""  # why an order is refused
        self.guest: Visitor | None = None
        self.servers: tuple[Source, ...] = ()

    def cut(self) -> None:
        """Cut every listening connection."""
        self.events.cuts += 1

    def visitor(self, token: str) -> Visitor | None:
        return VISITORS.get(token)

    def reset(self, token: str, circuit: CircuitView) -> str:
        return self._ordered(token, circuit.id, f"/tdd reset {circuit.name}")

    def retry(self, token: str, card: StoryCard, why: str) -> str:
        return self._ordered(token, card.key, f"/tdd retry {card.id}", why)

    def list_orders_about(self, *subjects: str) -> tuple[Asked, ...]:
        return tuple(each for each in reversed(self.ordered) if each.subject in subjects)

    def _ordered(self, token: str, subject: str, command: str, why: str = "") -> str:
        if self.refusal:
            return self.refusal
        name, repo = VISITORS[token].name, subject.partition(":")[0]
        self.asked.append((name, subject))
        given = {"id": f"{len(self.ordered):016x}", "command": command, "repo": repo, "subject": subject, "why": why}
        self.ordered.append(Asked(**given, by=name, at=NOW))
        return ""


def dashboard_app(shown: Shown) -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    desk = DashboardContext(
        get_reader=lambda: shown.reading,
        access=shown,
        get_orders=lambda: shown,
        list_servers=lambda: shown.servers,
        clock=lambda: NOW,
    )
    app.include_router(make_dashboard_router(desk))

    @app.get("/events")
    async def events(request: Request) -> Response:
        if shown.guest is None and request.cookies.get(COOKIE) not in VISITORS:
            return Response(status_code=401)
        last = request.headers.get("last-event-id", "")
        shown.events.resumed |= bool(last)
        after = int(last or len(shown.events.told))
        return StreamingResponse(shown.events.stream(after), media_type="text/event-stream")

    return app


@contextlib.contextmanager
def served(shown: Shown) -> Iterator[str]:
    """Serve on a free port of this machine, until the block ends."""
    listening = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(dashboard_app(shown), log_level="warning", timeout_graceful_shutdown=1, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(120)
        listening.close()
