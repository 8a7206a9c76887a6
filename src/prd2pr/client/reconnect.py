"""An event stream that reconnects after lost connections. Both clients share this module."""

from __future__ import annotations

import sys
import time
from dataclasses import replace
from typing import Any

import httpx
from httpx_sse import ServerSentEvent

from prd2pr.client import protocol
from prd2pr.client.errors import ApiError, ServerTrouble, TooMany
from prd2pr.client.models import Event
from prd2pr.retry import RetryPolicy

READ_TIMEOUT = 60.0  # seconds; the server sends a heartbeat every 15 seconds
FIRST_WAIT = 0.2  # seconds to wait after the server closed the connection
EVENT_RETRIES = RetryPolicy(
    tries=sys.maxsize, first_wait=2 * FIRST_WAIT, longest_wait=30.0, longest_request=30.0, cuts_long_requests=True
)


class EventSubscription:
    path = f"{protocol.PREFIX}/events"

    def __init__(self, url: str, after: str, patience: float | None) -> None:
        self._last_id = after
        self._url = url
        self._policy = EVENT_RETRIES if patience is None else replace(EVENT_RETRIES, deadline=patience)
        self._since = time.monotonic()  # time of the last connection
        self._failures = 0
        self._wait: float | None = None
        self._close_wait = FIRST_WAIT  # the server can change it with `retry:`

    def make_request(self, repo: str) -> dict[str, Any]:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self._last_id:
            headers["Last-Event-ID"] = self._last_id
        timeout = httpx.Timeout(10.0, read=READ_TIMEOUT)
        return {"headers": headers, "params": {"repo": repo} if repo else None, "timeout": timeout}

    def handle_response(self, response: httpx.Response) -> None:
        """Raise permanent errors and count transient ones. The caller must have read the body of an error response."""
        if response.is_success:
            self._since, self._failures, self._wait = time.monotonic(), 0, None
            return
        problem = protocol.parse_error_response(response)
        if not isinstance(problem, TooMany | ServerTrouble):
            raise problem
        self._count_failure(problem, problem.retry_after)

    def parse_message(self, message: ServerSentEvent) -> tuple[Event, ...]:
        """Return the event of a complete message, or nothing if the message only updates the position."""
        self._since = time.monotonic()
        self._last_id = message.id or self._last_id
        self._close_wait = self._close_wait if message.retry is None else message.retry / 1000
        try:
            payload = message.json()
        except ValueError:
            return ()
        if not isinstance(payload, dict):
            return ()
        data = payload.get("data")
        return (
            Event(
                id=message.id,
                kind=message.event,
                at=str(payload.get("at", "")),
                repo=str(payload.get("repo", "")),
                data=data if isinstance(data, dict) else {},
            ),
        )

    def handle_error(self, error: httpx.HTTPError) -> None:
        self._count_failure(protocol.make_unreachable(self._url, error))

    def compute_wait(self) -> float:
        """Return the number of seconds to wait before reconnecting."""
        return min(EVENT_RETRIES.longest_wait, self._close_wait) if self._wait is None else self._wait

    def _count_failure(self, problem: ApiError, requested: float | None = None) -> None:
        self._failures += 1
        self._wait = self._policy.wait(self._failures, requested, time.monotonic() - self._since)
        if self._wait is None:
            raise problem
