"""Following the event stream across lost connections; shared by both clients."""

from __future__ import annotations

import time
from typing import Any

import httpx

from prd2pr.client import protocol
from prd2pr.client.errors import ServerTrouble, TooMany
from prd2pr.client.models import Event
from prd2pr.client.sse import SseParser

READ_TIMEOUT = 60.0  # seconds; the server sends a heartbeat every 15
FIRST_WAIT = 0.2
MAX_WAIT = 30.0


class EventSubscription:
    path = f"{protocol.PREFIX}/events"

    def __init__(self, url: str, after: str, patience: float | None) -> None:
        self.parser = SseParser(last_id=after)
        self._url = url
        self._patience = patience
        self._since = time.monotonic()  # the time of the last connection
        self._failures = 0
        self._retry_after: float | None = None

    def make_request(self, repo: str) -> dict[str, Any]:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self.parser.last_id:
            headers["Last-Event-ID"] = self.parser.last_id
        timeout = httpx.Timeout(10.0, read=READ_TIMEOUT)
        return {"headers": headers, "params": {"repo": repo} if repo else None, "timeout": timeout}

    def handle_response(self, response: httpx.Response) -> None:
        """Raise permanent errors; the body of an error answer has been read."""
        if response.is_success:
            self._since, self._failures, self._retry_after = time.monotonic(), 0, None
            return
        problem = protocol.parse_error_response(response)
        if not isinstance(problem, TooMany | ServerTrouble) or self._is_out_of_patience():
            raise problem
        self._failures += 1
        self._retry_after = problem.retry_after

    def parse_line(self, line: str) -> tuple[Event, ...]:
        """Return the event that this line completes, if any."""
        event = self.parser.feed(line)
        self._since = time.monotonic()
        return (event,) if event else ()

    def handle_error(self, error: httpx.HTTPError) -> None:
        self._failures += 1
        if self._is_out_of_patience():
            raise protocol.make_unreachable(self._url, error)

    def compute_wait(self) -> float:
        """Return the seconds to wait before the next connection."""
        self.parser.reset()
        if self._retry_after is not None:
            return min(MAX_WAIT, self._retry_after)
        if self._failures:
            return min(MAX_WAIT, FIRST_WAIT * 2.0 ** min(self._failures, 10))
        return FIRST_WAIT if self.parser.retry is None else min(MAX_WAIT, self.parser.retry)

    def _is_out_of_patience(self) -> bool:
        return self._patience is not None and time.monotonic() - self._since >= self._patience
