"""All routes of the API in one table, each with what it needs and every answer that it may give.

They are served under `/api/v1`, where they stay as they are, and by their short names for people and Prometheus. The
dashboard's pages are under `/dashboard`, so nothing stands in another's way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.convertors import Convertor, register_url_convertor

from prd2pr.client import models as said
from prd2pr.server.api import changes, reads
from prd2pr.server.api.door import Door, Pace
from prd2pr.server.api.happened import Announcements
from prd2pr.server.api.measures import Measured, Measures
from prd2pr.server.api.problems import add_problems, documented
from prd2pr.server.api.stream import HEARTBEAT, Seats
from prd2pr.server.app import Parts

PREFIX = "/api/v1"
SIGNED = (401, 422, 429, 503)
CHANGING = (401, 403, 404, 409, 413, 422, 429, 503)


class TaskKeyConvertor(Convertor[str]):
    """owner/repo:story, with nothing after it: what has not this form is not taken for one."""

    regex = "[^/]+/[^/:]+:[^/]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


@dataclass(frozen=True)
class Route:
    method: str
    path: str
    handler: Callable[..., Any]
    summary: str
    answer: Any  # a model; None: not JSON
    refusals: tuple[int, ...] = ()
    media_type: str = "application/json"
    status: int = 200
    body: bool = False


ROUTES: tuple[Route, ...] = (
    Route("GET", "/health", reads.health, "Whether the server can do its work", said.Health),
    Route("GET", "/health/live", reads.live, "Whether the server runs", said.Health),
    Route("GET", "/health/ready", reads.ready, "Whether the server takes work now", said.Health, (503,)),
    Route("GET", "/tasks", reads.tasks, "Stories of all repositories, page by page", said.Page[said.Task], SIGNED),
    Route("GET", "/tasks/{key:taskkey}", reads.task, "One story, with its proofs", said.TaskDetail, (404, *SIGNED)),
    Route(
        "POST", "/tasks/{key:taskkey}/retry", changes.retry, "Try a story's phase again", said.Asked, CHANGING,
        status=202, body=True,
    ),
    Route("GET", "/workers", reads.workers, "Who does the work", said.Listed[said.Worker], (401, 429, 503)),
    Route("GET", "/circuits", reads.circuits, "Circuit breakers", said.Listed[said.Circuit], SIGNED),
    Route(
        "POST", "/circuits/{circuit_id:path}/reset", changes.reset, "Close a circuit", said.Asked, CHANGING,
        status=202, body=True,
    ),
    Route("GET", "/runs", reads.runs, "Runs, the newest first", said.Page[said.Run], SIGNED),
    Route("GET", "/orders", reads.orders, "What was asked for, newest first", said.Listed[said.Asked], SIGNED),
    Route("GET", "/orders/{order_id}", reads.order, "What came of one order", said.Asked, (404, *SIGNED)),
    Route("GET", "/projects", reads.projects, "Repositories, also of other servers", said.Projects, (401, 429, 503)),
    Route("GET", "/audit", reads.audit, "Who asked for what, newest first", said.Listed[said.Asked], (403, *SIGNED)),
    Route(
        "GET", "/metrics", reads.metrics, "Measures for Prometheus", None, (401, 403, 429, 503), media_type="text/plain"
    ),
    Route(
        "GET", "/events", reads.events, "What happens, as server-sent events", None, SIGNED,
        media_type="text/event-stream",
    ),
)  # fmt: skip


def add_to(app: FastAPI, parts: Parts) -> Announcements:
    """`app.state.reading` answers; `app.state.orders`, if somebody sets it, takes what is asked for."""
    settings = parts.settings
    register_url_convertor("taskkey", TaskKeyConvertor())
    app.state.door = Door(parts.database, Pace(settings.api_rate_per_minute))
    app.state.announcements = announcements = Announcements(parts.database, is_ending=lambda: is_ending(app))
    app.state.seats = Seats(settings.event_connections, max(1, settings.event_connections // 10))
    app.state.heartbeat = HEARTBEAT
    app.state.measures = measures = Measures(app.state.reading, announcements)
    add_problems(app)
    app.add_middleware(Measured, measures=measures)
    app.include_router(router("v1"), prefix=PREFIX)
    app.include_router(router("short"))
    describe_problems(app)
    app.state.order_desk = changes.FormDesk(app)
    return announcements


def is_ending(app: FastAPI) -> bool:
    """Whoever runs the server sets `app.state.stopping` when it was told to stop."""
    stopping = getattr(app.state, "stopping", None)
    return stopping is not None and bool(stopping.is_set())


def router(kind: str) -> APIRouter:
    made = APIRouter()
    for route in ROUTES:
        made.add_api_route(
            route.path,
            route.handler,
            methods=[route.method],
            summary=route.summary,
            tags=[route.path.split("/")[1]],
            operation_id=f"{route.handler.__name__}_{kind}",
            status_code=route.status,
            response_model=route.answer,
            responses=answers_of(route),
            openapi_extra=BODY if route.body else None,
        )
    return made


def answers_of(route: Route) -> dict[int | str, dict[str, Any]]:
    made = documented(*route.refusals)
    if route.status == 202:
        made[202] = {"description": route.summary, "headers": LOCATION}
    if 429 in route.refusals or 503 in route.refusals:
        for status in {429, 503} & set(route.refusals):
            made[status]["headers"] = RETRY_AFTER
    if route.answer is None:
        made[route.status] = {
            "description": route.summary,
            "content": {route.media_type: {"schema": {"type": "string"}}},
        }
    return made


LOCATION = {"Location": {"description": "Where to look what came of it.", "schema": {"type": "string"}}}
RETRY_AFTER = {"Retry-After": {"description": "Seconds.", "schema": {"type": "string"}}}
BODY = {
    "requestBody": {
        "required": False,
        "content": {"application/json": {"schema": said.Why.model_json_schema()}},
    }
}


def describe_problems(app: FastAPI) -> None:
    """FastAPI describes its own form of 422 where there is a parameter; ours is the one that is answered."""
    made = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            schemas = schema["components"]["schemas"]
            schemas["Problem"] = said.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= schemas["Problem"].pop("$defs", {})
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
        return app.openapi_schema or {}

    app.openapi = described  # type: ignore[method-assign]  # FastAPI's own documented way
