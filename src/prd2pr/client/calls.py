"""What is sent and what an answer means, without sending anything: both clients do exactly this."""

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

from prd2pr.client.errors import ApiError, NotUnderstood, Unreachable, refused
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
PASSING = frozenset({429, 502, 503})  # these go by
TRIES = 4
LONGEST_WAIT = 60.0
FIRST_WAIT = 0.5
TIMEOUT = httpx.Timeout(30.0, connect=10.0)

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class Call(Generic[M]):
    method: str
    path: str
    answer: type[M]
    query: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, str] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def repeatable(self) -> bool:
        """Asking twice is asking once: what only reads, and what carries a key of its own."""
        return self.method == "GET" or "Idempotency-Key" in self.headers


def signed(token: str) -> dict[str, str]:
    return (
        {"Authorization": f"Bearer {token}", "Accept": "application/json"} if token else {"Accept": "application/json"}
    )


# --- the calls --------------------------------------------------------------------------------------------------------


def health() -> Call[Health]:
    return Call("GET", f"{PREFIX}/health", Health)


def tasks(**asked: str) -> Call[Page[Task]]:
    """`repo`, `prd`, `column`, `kind`, `text`, `limit`, `cursor`."""
    return Call("GET", f"{PREFIX}/tasks", Page[Task], given(asked))


def task(key: str) -> Call[TaskDetail]:
    return Call("GET", f"{PREFIX}/tasks/{quoted(key)}", TaskDetail)


def retry(key: str, why: str, idempotency_key: str) -> Call[Asked]:
    return change(f"/tasks/{quoted(key)}/retry", why, idempotency_key)


def workers() -> Call[Listed[Worker]]:
    return Call("GET", f"{PREFIX}/workers", Listed[Worker])


def circuits(repo: str, state: CircuitState | str) -> Call[Listed[Circuit]]:
    return Call("GET", f"{PREFIX}/circuits", Listed[Circuit], given({"repo": repo, "state": state}))


def reset(circuit: str, why: str, idempotency_key: str) -> Call[Asked]:
    return change(f"/circuits/{quoted(circuit)}/reset", why, idempotency_key)


def runs(repo: str, prd: str, limit: int, cursor: str) -> Call[Page[Run]]:
    asked = given({"repo": repo, "prd": prd, "cursor": cursor})
    return Call("GET", f"{PREFIX}/runs", Page[Run], {"limit": str(limit), **asked})


def orders(repo: str, subject: str, limit: int) -> Call[Listed[Asked]]:
    asked = given({"repo": repo, "subject": subject})
    return Call("GET", f"{PREFIX}/orders", Listed[Asked], {"limit": str(limit), **asked})


def order(number: str) -> Call[Asked]:
    return Call("GET", f"{PREFIX}/orders/{quoted(number)}", Asked)


def projects() -> Call[Projects]:
    return Call("GET", f"{PREFIX}/projects", Projects)


def change(path: str, why: str, idempotency_key: str) -> Call[Asked]:
    key = idempotency_key or secrets.token_urlsafe(18)
    return Call("POST", f"{PREFIX}{path}", Asked, body={"why": why}, headers={"Idempotency-Key": key})


def given(asked: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in asked.items() if value}


def quoted(key: str) -> str:
    """The one slash between owner and repository stays: proxies refuse it encoded, or decode it."""
    return quote(key, safe="/:")


# --- the answers ------------------------------------------------------------------------------------------------------


def understood(call: Call[M], response: httpx.Response) -> M:
    if not response.is_success:
        raise problem_of(response)
    try:
        return call.answer.model_validate_json(response.content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise NotUnderstood(f"{response.url} does not answer as this API does: {place}: {first['msg']}") from None


def problem_of(response: httpx.Response) -> ApiError:
    wait = retry_after(response)
    if response.is_redirect:
        return NotUnderstood(f"{response.url} leads elsewhere ({response.status_code}): give the address it leads to")
    try:
        return refused(Problem.model_validate_json(response.content), wait)
    except ValidationError:
        pass
    # What stands in between, such as a proxy, says it in its own way.
    title = response.reason_phrase or "no reason given"
    return refused(Problem(title=title, status=response.status_code, detail=f"{response.status_code} {title}"), wait)


def unreachable(url: str, error: httpx.HTTPError) -> Unreachable:
    said = str(error) or type(error).__name__
    return Unreachable(f"{url} does not answer: {said}")


def retry_after(response: httpx.Response) -> float | None:
    """Seconds, whether it was told as seconds or as a moment."""
    told = response.headers.get("Retry-After", "").strip()
    if told.isascii() and told.isdigit():
        return float(told)
    try:
        moment = parsedate_to_datetime(told)
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())


def wait_before_retry(call: Call[M], tried: int, response: httpx.Response | None) -> float | None:
    """None: it is not tried again. `response` is None where none came."""
    if tried >= TRIES or not call.repeatable:
        return None
    if response is None:
        return spread(tried)
    if response.status_code not in PASSING:
        return None
    told = retry_after(response)
    return spread(tried) if told is None else (told if told <= LONGEST_WAIT else None)


def spread(tried: int) -> float:
    """Doubled each time, and never at the same moment for all."""
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** (tried - 1)) * (0.5 + random.random() / 2)  # noqa: S311 - no secret
