"""The requests of the API and the meaning of its answers, without I/O; shared by both clients."""

from __future__ import annotations

import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Generic, TypeVar
from urllib.parse import quote

import httpx
from pydantic import BaseModel, ValidationError

from prd2pr.client.errors import ApiError, NotUnderstood, Unreachable, make_refusal
from prd2pr.client.models import (
    Asked,
    Circuit,
    CircuitState,
    Health,
    Listed,
    Page,
    Problem,
    Projects,
    Run,
    Task,
    TaskDetail,
    Worker,
)

PREFIX = "/api/v1"
TRANSIENT_STATUSES = frozenset({429, 502, 503})  # worth a retry
MAX_TRIES = 4
MAX_WAIT = 60.0
FIRST_WAIT = 0.5
TIMEOUT = httpx.Timeout(30.0, connect=10.0)

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class ApiCall(Generic[M]):
    method: str
    path: str
    answer: type[M]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_repeatable(self) -> bool:
        """Whether sending it twice is safe: it only reads, or carries an idempotency key."""
        return self.method == "GET" or "Idempotency-Key" in self.headers


def make_headers(token: str) -> dict[str, str]:
    return (
        {"Authorization": f"Bearer {token}", "Accept": "application/json"} if token else {"Accept": "application/json"}
    )


# --- the calls --------------------------------------------------------------------------------------------------------


def make_health_call() -> ApiCall[Health]:
    return ApiCall("GET", f"{PREFIX}/health", Health)


def make_tasks_call(**query: str) -> ApiCall[Page[Task]]:
    """`repo`, `prd`, `column`, `kind`, `text`, `limit`, `cursor`."""
    return ApiCall("GET", f"{PREFIX}/tasks", Page[Task], drop_empty(query))


def make_task_call(key: str) -> ApiCall[TaskDetail]:
    return ApiCall("GET", f"{PREFIX}/tasks/{quote_key(key)}", TaskDetail)


def make_retry_call(key: str, why: str, idempotency_key: str) -> ApiCall[Asked]:
    return make_change_call(f"/tasks/{quote_key(key)}/retry", why, idempotency_key)


def make_workers_call() -> ApiCall[Listed[Worker]]:
    return ApiCall("GET", f"{PREFIX}/workers", Listed[Worker])


def make_circuits_call(repo: str, state: CircuitState | str) -> ApiCall[Listed[Circuit]]:
    return ApiCall("GET", f"{PREFIX}/circuits", Listed[Circuit], drop_empty({"repo": repo, "state": state}))


def make_reset_call(circuit: str, why: str, idempotency_key: str) -> ApiCall[Asked]:
    return make_change_call(f"/circuits/{quote_key(circuit)}/reset", why, idempotency_key)


def make_runs_call(repo: str, prd: str, limit: int, cursor: str) -> ApiCall[Page[Run]]:
    query = drop_empty({"repo": repo, "prd": prd, "cursor": cursor})
    return ApiCall("GET", f"{PREFIX}/runs", Page[Run], {"limit": str(limit), **query})


def make_orders_call(repo: str, subject: str, limit: int) -> ApiCall[Listed[Asked]]:
    query = drop_empty({"repo": repo, "subject": subject})
    return ApiCall("GET", f"{PREFIX}/orders", Listed[Asked], {"limit": str(limit), **query})


def make_order_call(number: str) -> ApiCall[Asked]:
    return ApiCall("GET", f"{PREFIX}/orders/{quote_key(number)}", Asked)


def make_projects_call() -> ApiCall[Projects]:
    return ApiCall("GET", f"{PREFIX}/projects", Projects)


def make_change_call(path: str, why: str, idempotency_key: str) -> ApiCall[Asked]:
    key = idempotency_key or secrets.token_urlsafe(18)
    return ApiCall("POST", f"{PREFIX}{path}", Asked, body={"why": why}, headers={"Idempotency-Key": key})


def drop_empty(query: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in query.items() if value}


def quote_key(key: str) -> str:
    """Quote a key except for the slash between owner and repository: proxies refuse or decode an encoded one."""
    return quote(key, safe="/:")


# --- the answers ------------------------------------------------------------------------------------------------------


def parse_answer(call: ApiCall[M], response: httpx.Response) -> M:
    if not response.is_success:
        raise parse_error_response(response)
    try:
        return call.answer.model_validate_json(response.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise NotUnderstood(f"{response.url} gave an answer that is not of this API: {place}: {first['msg']}") from None


def parse_error_response(response: httpx.Response) -> ApiError:
    wait = parse_retry_after(response)
    if response.is_redirect:
        return NotUnderstood(f"{response.url} redirects ({response.status_code}): use the address it redirects to")
    try:
        return make_refusal(Problem.model_validate_json(response.content), wait)
    except ValidationError:
        pass
    # From a proxy, for example.
    title = response.reason_phrase or "no reason given"
    return make_refusal(
        Problem(title=title, status=response.status_code, detail=f"{response.status_code} {title}"), wait
    )


def make_unreachable(url: str, error: httpx.HTTPError) -> Unreachable:
    reason = str(error) or type(error).__name__
    return Unreachable(f"{url} does not answer: {reason}")


def parse_retry_after(response: httpx.Response) -> float | None:
    """Return the header's seconds, given as a number or as a date."""
    value = response.headers.get("Retry-After", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def compute_retry_wait(call: ApiCall[M], tried: int, response: httpx.Response | None) -> float | None:
    """Return the seconds to wait before a retry; None: do not retry. `response`: None if there was no answer."""
    if tried >= MAX_TRIES or not call.is_repeatable:
        return None
    if response is None:
        return compute_jittered_wait(tried)
    if response.status_code not in TRANSIENT_STATUSES:
        return None
    value = parse_retry_after(response)
    return compute_jittered_wait(tried) if value is None else (value if value <= MAX_WAIT else None)


def compute_jittered_wait(tried: int) -> float:
    """Return exponential backoff with jitter."""
    return min(MAX_WAIT, FIRST_WAIT * 2.0 ** (tried - 1)) * (0.5 + random.random() / 2)  # noqa: S311 - no secret
