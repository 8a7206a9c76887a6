"""API calls with retries: reads are repeated; writes only after a check whether they were done."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from prd2pr.errors import HubProblem
from prd2pr.github.client.errors import check_text_length, classify_error
from prd2pr.github.client.exchange import ApiResponse, RestCall, Send, join_path
from prd2pr.github.client.retry import classify_outcome
from prd2pr.retry import RetryPolicy

T = TypeVar("T")

PAGE_SIZE = 100
NEXT_PAGE = re.compile(r'rel="next"')


def ignore_sending() -> None:
    """For callers that need not know when a call is sent."""


class RepositoryApi:
    """Calls for one repository. `send` is the real client's or a test's."""

    def __init__(self, send: Send, repository: str, policy: RetryPolicy) -> None:
        self.owner, _, self.name = repository.partition("/")
        self.repository = repository
        self._send = send
        self._policy = policy

    def path(self, *parts: str | int) -> str:
        """Return a path below the repository's."""
        return join_path("repos", self.owner, self.name) + join_path(*parts)

    # --- reading ------------------------------------------------------------------------------------------------------

    def get(self, address: str, **params: str | int) -> Any:
        call = RestCall("GET", address, params)
        return check_response(call, self._repeat(call)).body

    def get_optional(self, address: str, **params: str | int) -> Any | None:
        """Return the body; None if it does not exist."""
        call = RestCall("GET", address, params)
        answer = self._repeat(call)
        return None if answer.status in {404, 410} else check_response(call, answer).body

    def get_response(self, address: str, **params: str | int) -> ApiResponse:
        """Return any response, for callers that need a refusal or the headers."""
        return self._repeat(RestCall("GET", address, params))

    def pages(self, address: str, key: str = "", **params: str | int) -> Iterator[dict[str, Any]]:
        """Yield every item. `key`: where the items are, in responses that are not a plain list.

        The path of the next page is built here: the `link` header only says whether there is one.
        """
        number, more = 1, True
        while more:
            call = RestCall("GET", address, {**params, "per_page": PAGE_SIZE, "page": number})
            answer = check_response(call, self._repeat(call))
            yield from (answer.body[key] if key else answer.body)
            more = NEXT_PAGE.search(answer.headers.get("link", "")) is not None
            number += 1

    def _repeat(self, call: RestCall) -> ApiResponse:
        return self.send_checked(call, None)

    # --- writing ------------------------------------------------------------------------------------------------------

    def create_or_find(self, call: RestCall, look: Callable[[], T | None], read: Callable[[Any], T]) -> T:
        """Return what the call creates, or what `look` finds if its response was lost."""
        done = self.send_checked(call, look)
        return read(check_response(call, done).body) if isinstance(done, ApiResponse) else done

    def send_checked(
        self, call: RestCall, look: Callable[[], T | None] | None, before: Callable[[], None] = ignore_sending
    ) -> ApiResponse | T:
        """Return the response, even a refusal, or what `look` found. `before` runs before each send and may raise.

        Without `look`, the call may be executed twice.
        """
        attempt = 0
        while True:
            attempt += 1
            before()
            outcome = classify_outcome(call, self._send(call), self._policy.now())
            if isinstance(outcome, ApiResponse):
                return outcome
            if not self._policy.pause(attempt, outcome.why, outcome.limit):
                raise outcome.make_problem(attempt, self._policy.now())
            found = self._look_twice(look, attempt) if look and outcome.may_be_done else None
            if found is not None:
                return found

    def _look_twice(self, look: Callable[[], T | None], attempt: int) -> T | None:
        """A read just after a write may be stale: only the second "nothing" counts."""
        found = look()
        if found is None:
            self._policy.sleep(self._policy.backoff(attempt))
            found = look()
        return found

    def delete(self, address: str) -> None:
        """Delete. It may be gone already; what this token may not delete stays."""
        call = RestCall("DELETE", address)
        done = self.send_checked(call, lambda: True if self.get_optional(address) is None else None)
        if isinstance(done, ApiResponse) and done.status not in {403, 404, 410}:
            check_response(call, done)

    def send_idempotent(self, call: RestCall) -> Any:
        """Repeat a write that makes nothing twice, such as objects named by their content."""
        return check_response(call, self._repeat(call)).body


def check_response(call: RestCall, answer: ApiResponse) -> ApiResponse:
    """Return the response of a successful call; raise otherwise. GraphQL responds 200 even to refusals."""
    if not 200 <= answer.status < 300:
        raise classify_error(call, answer)
    if call.path == "/graphql" and isinstance(answer.body, dict) and answer.body.get("errors"):
        raise classify_error(call, ApiResponse(_graphql_status(answer.body["errors"]), answer.headers, answer.body))
    return answer


GRAPHQL_STATUS = {"FORBIDDEN": 403, "NOT_FOUND": 404, "RATE_LIMITED": 429, "RATE_LIMIT": 429, "UNPROCESSABLE": 422}


def _graphql_status(errors: Any) -> int:
    kind = errors[0].get("type") if isinstance(errors, list) and errors and isinstance(errors[0], dict) else ""
    return GRAPHQL_STATUS.get(str(kind), 422)


def post_call(address: str, body: Mapping[str, Any]) -> RestCall:
    return RestCall("POST", address, body=check_body_length(address, body))


def patch_call(address: str, body: Mapping[str, Any]) -> RestCall:
    return RestCall("PATCH", address, body=check_body_length(address, body))


def check_body_length(address: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    problem: HubProblem | None = check_text_length(address, str(body.get("body") or ""))
    if problem is not None:
        raise problem
    return body


def has_marker(body: str, marker: str) -> bool:
    """Check the start only: further down, quoted text of others may contain our markers."""
    return body.lstrip().startswith(marker)


def with_marker(body: str, marker: str) -> str:
    """A text without its marker could not be found again and would be created twice."""
    return body if has_marker(body, marker) else f"{marker}\n{body}"
