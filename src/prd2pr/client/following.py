"""How a stream of events is followed over cut connections; both clients do exactly this."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx

from prd2pr.client import calls
from prd2pr.client.errors import ServerTrouble, TooMany
from prd2pr.client.models import Event
from prd2pr.client.stream import Lines

SILENCE = 60.0  # seconds; the server says something every 15
FIRST_WAIT = 0.2
LONGEST_WAIT = 30.0


class Following:
    path = f"{calls.PREFIX}/events"

    def __init__(self, url: str, after: str, patience: float | None) -> None:
        self.lines = Lines(last_id=after)
        self._url = url
        self._patience = patience
        self._since = time.monotonic()  # when there was a connection last
        self._failures = 0
        self._asked_wait: float | None = None

    def request(self, repo: str) -> dict[str, Any]:
        headers = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
        if self.lines.last_id:
            headers["Last-Event-ID"] = self.lines.last_id
        timeout = httpx.Timeout(10.0, read=SILENCE)
        return {"headers": headers, "params": {"repo": repo} if repo else None, "timeout": timeout}

    def connected(self, response: httpx.Response) -> None:
        """Raises what will not go by; its body has been read where it is no stream."""
        if response.is_success:
            self._since, self._failures, self._asked_wait = time.monotonic(), 0, None
            return
        problem = calls.problem_of(response)
        if not isinstance(problem, TooMany | ServerTrouble) or self._impatient():
            raise problem
        self._failures += 1
        self._asked_wait = problem.retry_after

    def events(self, lines: Iterator[str]) -> Iterator[Event]:
        for line in lines:
            event = self.lines.take(line)
            self._since = time.monotonic()
            if event is not None:
                yield event

    def cut(self, error: httpx.HTTPError) -> None:
        self._failures += 1
        if self._impatient():
            raise calls.unreachable(self._url, error)

    def wait(self) -> float:
        """Before the next connection."""
        self.lines.cut()
        if self._asked_wait is not None:
            return min(LONGEST_WAIT, self._asked_wait)
        if self._failures:
            return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(self._failures, 10))
        return FIRST_WAIT if self.lines.retry is None else min(LONGEST_WAIT, self.lines.retry)

    def _impatient(self) -> bool:
        return self._patience is not None and time.monotonic() - self._since >= self._patience
