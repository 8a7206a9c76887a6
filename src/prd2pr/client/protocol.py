"""Requests and responses of the API, without I/O. Both clients share this module.

Each `make_*_call` function defines the parameters and the docstring of a method of both clients.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from prd2pr.client.errors import ApiError, NotUnderstood, Unreachable, make_refusal
from prd2pr.client.models import Asked, Health, Listed, Page, Problem, Projects, ServerReport, Source
from prd2pr.retry import RetryPolicy, read_retry_after
from prd2pr.views.models import CircuitView, ProjectView, RunView, StoryCard, StoryProof, WorkerView

PREFIX = "/api/v1"
TRANSIENT_STATUSES = frozenset({429, 502, 503})
CALL_RETRIES = RetryPolicy(tries=4, longest_request=60.0)
TIMEOUT = httpx.Timeout(30.0, connect=10.0)

M = TypeVar("M", bound=BaseModel)
A_co = TypeVar("A_co", bound=BaseModel, covariant=True)


@dataclass(frozen=True)
class ApiCall(Generic[A_co]):
    path: str
    answer: type[A_co]
    query: Mapping[str, str] = field(default_factory=dict)
    method: str = "GET"
    body: Mapping[str, Any] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_repeatable(self) -> bool:
        """Whether the call can safely be sent twice: it only reads, or it has an idempotency key."""
        return self.method == "GET" or "Idempotency-Key" in self.headers

    @property
    def request(self) -> dict[str, Any]:
        query = {name: value for name, value in self.query.items() if value}
        return {
            "method": self.method,
            "url": f"{PREFIX}{self.path}",
            "params": query,
            "json": self.body,
            "headers": self.headers,
        }

    def continue_at(self, cursor: str) -> ApiCall[A_co]:
        """Return the same call for the page at `cursor`."""
        return replace(self, query={**self.query, "cursor": cursor})


def make_http_options(url: str, token: str, timeout: httpx.Timeout) -> dict[str, Any]:
    """Return the arguments for httpx's clients. Redirects are disabled because they would forward the token."""
    headers = {"Accept": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": timeout, "follow_redirects": False}


# --- the calls --------------------------------------------------------------------------------------------------------


def make_health_call() -> ApiCall[Health]:
    """Return the health of the server."""
    return ApiCall("/health", Health)


def make_tasks_call(
    *,
    repo: str = "",
    prd: str = "",
    column: str = "",
    phase: str = "",
    kind: str = "",
    text: str = "",
    page_size: int = 100,
) -> ApiCall[Page[StoryCard]]:
    """Yield every matching task. Further pages are fetched as needed."""
    query = {"repo": repo, "prd": prd, "column": column, "phase": phase, "kind": kind, "text": text}
    given = {name: value for name, value in query.items() if value}
    return ApiCall("/tasks", Page[StoryCard], {**given, "limit": str(page_size)})


def make_task_call(key: str) -> ApiCall[StoryProof]:
    """Return one task with its proofs."""
    return ApiCall(f"/tasks/{quote_key(key)}", StoryProof)


def make_workers_call() -> ApiCall[Listed[WorkerView]]:
    """Return the workers."""
    return ApiCall("/workers", Listed[WorkerView])


def make_circuits_call(*, repo: str = "", state: str = "") -> ApiCall[Listed[CircuitView]]:
    """Return the circuit breakers."""
    return ApiCall("/circuits", Listed[CircuitView], {"repo": repo, "state": state})


def make_runs_call(*, repo: str = "", prd: str = "", page_size: int = 100) -> ApiCall[Page[RunView]]:
    """Yield runs, newest first."""
    return ApiCall("/runs", Page[RunView], {"repo": repo, "prd": prd, "limit": str(page_size)})


def make_overview_call() -> ApiCall[Projects]:
    """Return all projects, and the other servers from which some of them come."""
    return ApiCall("/projects", Projects)


def make_register_call(url: str, projects: tuple[ProjectView, ...] = ()) -> ApiCall[Source]:
    """Register a server with its projects, or send its heartbeat."""
    body = ServerReport(url=url, projects=projects).model_dump(mode="json")
    return ApiCall("/servers", Source, method="POST", body=body)


def make_retry_call(key: str, *, why: str = "", idempotency_key: str = "") -> ApiCall[Asked]:
    """Order a retry of the current phase of a task."""
    return make_change_call(f"/tasks/{quote_key(key)}/retry", {"why": why}, idempotency_key)


def make_reset_call(circuit: str, *, why: str = "", idempotency_key: str = "") -> ApiCall[Asked]:
    """Order the reset of a circuit breaker."""
    return make_change_call(f"/circuits/{quote_key(circuit)}/reset", {"why": why}, idempotency_key)


def make_command_call(key: str, command: str, *, why: str = "", idempotency_key: str = "") -> ApiCall[Asked]:
    """Give a PRD (`owner/repo:prd`) any command that changes something, such as `/sprint pause`."""
    return make_change_call(f"/prds/{quote_key(key)}/commands", {"command": command, "why": why}, idempotency_key)


def make_orders_call(*, repo: str = "", subject: str = "", most: int = 100) -> ApiCall[Listed[Asked]]:
    """Return the orders and their outcomes, newest first."""
    return ApiCall("/orders", Listed[Asked], {"repo": repo, "subject": subject, "limit": str(most)})


def make_order_call(number: str) -> ApiCall[Asked]:
    """Return one order and its outcome."""
    return ApiCall(f"/orders/{quote_key(number)}", Asked)


def make_change_call(path: str, body: dict[str, str], idempotency_key: str) -> ApiCall[Asked]:
    key = idempotency_key or secrets.token_urlsafe(18)
    return ApiCall(path, Asked, method="POST", body=body, headers={"Idempotency-Key": key})


def quote_key(key: str) -> str:
    """Percent-encode a key, except for the slash between owner and repository.

    Many proxies reject or decode an encoded slash.
    """
    return quote(key, safe="/:")


# --- the answers ------------------------------------------------------------------------------------------------------


def parse_answer(call: ApiCall[M], response: httpx.Response) -> M:
    if not response.is_success:
        raise parse_error_response(response)
    try:
        return call.answer.model_validate_json(response.content, extra="ignore")
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise NotUnderstood(f"{response.url} sent an unexpected response: {place}: {first['msg']}") from None


def parse_error_response(response: httpx.Response) -> ApiError:
    wait = read_retry_after(response.headers, time.time())
    if response.is_redirect:
        return NotUnderstood(f"{response.url} redirects ({response.status_code}): use the address it redirects to")
    try:
        return make_refusal(Problem.model_validate_json(response.content), wait)
    except ValidationError:
        pass
    # for example from a proxy
    title = response.reason_phrase or "no reason given"
    return make_refusal(
        Problem(title=title, status=response.status_code, detail=f"{response.status_code} {title}"), wait
    )


def make_unreachable(url: str, error: httpx.HTTPError) -> Unreachable:
    reason = str(error) or type(error).__name__
    return Unreachable(f"{url} did not respond: {reason}")


class CallTries(Generic[M]):
    """Retries of one call. The call ends when `answer` is set or an error is raised."""

    def __init__(self, call: ApiCall[M], url: str) -> None:
        self.answer: M | None = None
        self._call, self._url, self._count = call, url, 0

    def handle_response(self, response: httpx.Response) -> float:
        """Set the answer, or return the number of seconds to wait before the next try."""
        is_transient = response.status_code in TRANSIENT_STATUSES
        wait = self._compute_wait(read_retry_after(response.headers, time.time())) if is_transient else None
        if wait is None:
            self.answer = parse_answer(self._call, response)
        return wait or 0.0

    def handle_error(self, error: httpx.TransportError) -> float:
        wait = self._compute_wait()
        if wait is None:
            raise make_unreachable(self._url, error) from error
        return wait

    def _compute_wait(self, requested: float | None = None) -> float | None:
        self._count += 1
        return CALL_RETRIES.wait(self._count, requested) if self._call.is_repeatable else None
