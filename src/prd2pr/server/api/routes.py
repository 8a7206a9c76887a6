"""A table of all API routes, each with its handler and possible responses.

They are served under `/api/v1`, which is stable, and also without the prefix for people and Prometheus. The dashboard's
pages are under `/dashboard`, so the paths do not collide.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI
from fastapi.middleware.cors import CORSMiddleware
from pydantic import BaseModel
from starlette.convertors import Convertor, register_url_convertor

from prd2pr.client import models as api
from prd2pr.server.api import changes, reads
from prd2pr.server.api.authentication import Authenticator, RateLimiter
from prd2pr.server.api.events import EventFeed
from prd2pr.server.api.explorer import add_explorer
from prd2pr.server.api.metrics import MetricsMiddleware, MetricsRegistry
from prd2pr.server.api.problems import add_problem_handlers, document_statuses
from prd2pr.server.api.stream import HEARTBEAT_SECONDS, ConnectionLimit
from prd2pr.server.app import ServerContext
from prd2pr.views.models import CircuitView, RunView, StoryCard, StoryProof, WorkerView

PREFIX = "/api/v1"
TOKEN_ERRORS = (401, 422, 429, 503)
CHANGE_ERRORS = (401, 403, 404, 409, 413, 422, 429, 503)


class TaskKeyConvertor(Convertor[str]):
    """Matches `owner/repo:story` and nothing else."""

    regex = "[^/]+/[^/:]+:[^/]+"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


@dataclass(frozen=True)
class ApiRoute:
    operation: str  # prefix of the operation id in the OpenAPI description
    method: str
    path: str
    handler: Callable[..., Any]
    summary: str
    answer: Any  # the response model, or None if the response is not JSON
    refusals: tuple[int, ...] = ()
    media_type: str = "application/json"
    status: int = 200
    body: type[api.Why] | type[api.ServerReport] | None = None


ROUTES: tuple[ApiRoute, ...] = (
    ApiRoute("health", "GET", "/health", reads.get_health, "Whether the server can do its work", api.Health),
    ApiRoute("live", "GET", "/health/live", reads.get_liveness, "Whether the server runs", api.Health),
    ApiRoute(
        "ready",
        "GET",
        "/health/ready",
        reads.get_readiness,
        "Whether the server accepts requests now",
        api.Health,
        (503,),
    ),
    ApiRoute(
        "tasks",
        "GET",
        "/tasks",
        reads.get_tasks,
        "Stories of all repositories, page by page",
        api.Page[StoryCard],
        TOKEN_ERRORS,
    ),
    ApiRoute(
        "task",
        "GET",
        "/tasks/{key:taskkey}",
        reads.get_task,
        "One story, with its proofs",
        StoryProof,
        (404, *TOKEN_ERRORS),
    ),
    ApiRoute(
        "retry",
        "POST",
        "/tasks/{key:taskkey}/retry",
        changes.retry_task,
        "Retry a story's phase",
        api.Asked,
        CHANGE_ERRORS,
        status=202,
        body=api.Why,
    ),
    ApiRoute("workers", "GET", "/workers", reads.get_workers, "Workers", api.Listed[WorkerView], (401, 429, 503)),
    ApiRoute(
        "circuits", "GET", "/circuits", reads.get_circuits, "Circuit breakers", api.Listed[CircuitView], TOKEN_ERRORS
    ),
    ApiRoute(
        "reset",
        "POST",
        "/circuits/{circuit_id:path}/reset",
        changes.reset_circuit,
        "Reset a circuit breaker",
        api.Asked,
        CHANGE_ERRORS,
        status=202,
        body=api.Why,
    ),
    ApiRoute(
        "command",
        "POST",
        "/prds/{key:taskkey}/commands",
        changes.give_command,
        "Give a PRD a command",
        api.Asked,
        CHANGE_ERRORS,
        status=202,
        body=api.CommandLine,
    ),
    ApiRoute("runs", "GET", "/runs", reads.get_runs, "Runs, newest first", api.Page[RunView], TOKEN_ERRORS),
    ApiRoute("orders", "GET", "/orders", reads.get_orders, "Orders, newest first", api.Listed[api.Asked], TOKEN_ERRORS),
    ApiRoute(
        "order",
        "GET",
        "/orders/{order_id}",
        reads.get_order,
        "One order, with its outcome",
        api.Asked,
        (404, *TOKEN_ERRORS),
    ),
    ApiRoute(
        "projects",
        "GET",
        "/projects",
        reads.get_projects,
        "Repositories, including those of other servers",
        api.Projects,
        (401, 429, 503),
    ),
    ApiRoute(
        "register",
        "POST",
        "/servers",
        changes.register_server,
        "Register a server, or send its heartbeat",
        api.Source,
        (401, 403, 413, 422, 429, 503),
        body=api.ServerReport,
    ),
    ApiRoute(
        "audit",
        "GET",
        "/audit",
        reads.get_audit_log,
        "The audit log, newest first",
        api.Listed[api.Asked],
        (403, *TOKEN_ERRORS),
    ),
    ApiRoute(
        "metrics",
        "GET",
        "/metrics",
        reads.get_metrics,
        "Metrics for Prometheus",
        None,
        (401, 403, 429, 503),
        media_type="text/plain",
    ),
    ApiRoute(
        "events",
        "GET",
        "/events",
        reads.stream_events,
        "Events, as server-sent events",
        None,
        TOKEN_ERRORS,
        media_type="text/event-stream",
    ),
)


def add_api(app: FastAPI, context: ServerContext) -> EventFeed:
    """Add the API, which reads from `app.state.reader` and submits orders to `app.state.orders` if that is set."""
    settings = context.settings
    register_url_convertor("taskkey", TaskKeyConvertor())
    app.state.authenticator = Authenticator(context.database, RateLimiter(settings.api_rate_per_minute))
    app.state.event_feed = feed = EventFeed(
        context.database,
        is_ending=lambda: is_server_stopping(app),
        observe=lambda event: context.metrics.count_event(event.kind, event.data),
    )
    app.state.connection_limit = ConnectionLimit(settings.event_connections, max(1, settings.event_connections // 10))
    app.state.heartbeat = HEARTBEAT_SECONDS
    app.state.metrics_registry = registry = MetricsRegistry(
        app.state.reader, feed, context.metrics, lambda: reads.list_servers(app)
    )
    add_problem_handlers(app)
    app.add_middleware(MetricsMiddleware, registry=registry)
    app.include_router(make_api_router("v1"), prefix=PREFIX)
    app.include_router(make_api_router("short"))
    document_problem_schema(app)
    add_explorer(app)
    if settings.cors_origins:
        # Without credentials: a page of another origin sends a token, never the dashboard's cookie.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
            expose_headers=["Location", "Retry-After"],
        )
    app.state.order_service = changes.FormOrders(app)
    return feed


def is_server_stopping(app: FastAPI) -> bool:
    """Return whether the server is shutting down, as set by its runner in `app.state.stopping`."""
    stopping = getattr(app.state, "stopping", None)
    return stopping is not None and bool(stopping.is_set())


def make_api_router(kind: str) -> APIRouter:
    made = APIRouter()
    for route in ROUTES:
        made.add_api_route(
            route.path,
            route.handler,
            methods=[route.method],
            summary=route.summary,
            tags=[route.path.split("/")[1]],
            operation_id=f"{route.operation}_{kind}",
            status_code=route.status,
            response_model=route.answer,
            responses=document_answers(route),
            openapi_extra=document_body(route.body) if route.body else None,
        )
    return made


def document_answers(route: ApiRoute) -> dict[int | str, dict[str, Any]]:
    made = document_statuses(*route.refusals)
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


LOCATION = {"Location": {"description": "The order's address.", "schema": {"type": "string"}}}
RETRY_AFTER = {"Retry-After": {"description": "Seconds.", "schema": {"type": "string"}}}


def document_body(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)  # nested models are also in answers, so the description has them
    return {"requestBody": {"required": "required" in schema, "content": {"application/json": {"schema": schema}}}}


def document_problem_schema(app: FastAPI) -> None:
    """Document our Problem schema instead of FastAPI's default 422 schema, which is never sent."""
    made = app.openapi

    def describe() -> dict[str, Any]:
        if app.openapi_schema is None:
            schema = made()
            schemas = schema["components"]["schemas"]
            schemas["Problem"] = api.Problem.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= schemas["Problem"].pop("$defs", {})
            for unused in ("HTTPValidationError", "ValidationError"):
                schemas.pop(unused, None)
        return app.openapi_schema or {}

    app.openapi = describe  # type: ignore[method-assign]  # as FastAPI documents it
