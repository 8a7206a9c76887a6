"""API calls with retries. Failed reads are repeated; failed writes are repeated only if GitHub did not execute them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from prd2pr.errors import HubProblem
from prd2pr.github.client.errors import check_text_length, classify_error
from prd2pr.github.client.exchange import ApiResponse, RestCall, SendCall, join_path
from prd2pr.github.client.retry import classify_outcome
from prd2pr.retry import RetryPolicy

T = TypeVar("T")

PAGE_SIZE = 100
NEXT_PAGE = re.compile(r'rel="next"')


def ignore_sending() -> None:
    """Do nothing. This is the default for callers that need no notice before a call is sent."""


class GitHubApi:
    """Calls to GitHub's API. Tests replace `send`."""

    def __init__(self, send: SendCall, policy: RetryPolicy) -> None:
        self._send = send
        self._policy = policy

    # --- reading ------------------------------------------------------------------------------------------------------

    def get(self, address: str, **params: str | int) -> Any:
        call = RestCall("GET", address, params)
        return check_response(call, self._repeat(call)).body

    def get_optional(self, address: str, **params: str | int) -> Any | None:
        """Return the body, or None if the resource does not exist."""
        call = RestCall("GET", address, params)
        answer = self._repeat(call)
        return None if answer.status in {404, 410} else check_response(call, answer).body

    def get_response(self, address: str, **params: str | int) -> ApiResponse:
        """Return the response even if it is an error, for callers that need its status or headers."""
        return self._repeat(RestCall("GET", address, params))

    def pages(self, address: str, key: str = "", **params: str | int) -> Iterator[dict[str, Any]]:
        """Yield the items of all pages. `key` names the list in responses that are objects.

        The `link` header only shows whether there is another page; its path is built here.
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
        """Send a call and return its result. If the response was lost, return the result of `look`."""
        done = self.send_checked(call, look)
        return read(check_response(call, done).body) if isinstance(done, ApiResponse) else done

    def send_checked(
        self, call: RestCall, look: Callable[[], T | None] | None, before: Callable[[], None] = ignore_sending
    ) -> ApiResponse | T:
        """Send a call with retries. Return its response, even an error, or the result of `look` after a lost response.

        `before` runs before each send and may raise. Without `look`, the call may be executed twice.
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
        """Look again after a pause, because a read just after a write may be stale."""
        found = look()
        if found is None:
            self._policy.sleep(self._policy.backoff(attempt))
            found = look()
        return found

    def delete(self, address: str) -> None:
        """Delete a resource. Does nothing if it no longer exists or the token may not delete it."""
        call = RestCall("DELETE", address)
        done = self.send_checked(call, lambda: True if self.get_optional(address) is None else None)
        if isinstance(done, ApiResponse) and done.status not in {403, 404, 410}:
            check_response(call, done)

    def send_idempotent(self, call: RestCall) -> Any:
        """Send a write that is safe to repeat, such as creating an object that is named by its content."""
        return check_response(call, self._repeat(call)).body


class RepositoryApi(GitHubApi):
    """Calls for one repository."""

    def __init__(self, send: SendCall, repository: str, policy: RetryPolicy) -> None:
        super().__init__(send, policy)
        self.owner, _, self.name = repository.partition("/")
        self.repository = repository

    def path(self, *parts: str | int) -> str:
        """Return a path below the repository."""
        return join_path("repos", self.owner, self.name) + join_path(*parts)


def check_response(call: RestCall, answer: ApiResponse) -> ApiResponse:
    """Return a successful response and raise an error for others. GraphQL returns status 200 even for errors."""
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
    """Return whether the text starts with our marker. Further down, quoted text could contain one too."""
    return body.lstrip().startswith(marker)


def with_marker(body: str, marker: str) -> str:
    """Put the marker at the start of the text, unless it is already there. Later runs find the text by it."""
    return body if has_marker(body, marker) else f"{marker}\n{body}"
