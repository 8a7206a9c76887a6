"""Graceful shutdown of the server.

1. After SIGTERM, `/health/ready` answers 503, so that load balancers send no more requests.
2. After `drain_seconds`, no connection is accepted; requests in flight are finished.
3. The app's lifespan stops background threads and workers; another server recovers their unfinished work.

Ctrl-C or a second signal skips to the second step.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

import uvicorn
from fastapi import FastAPI

READINESS_CHECK = "accepting"  # name of the check in `/health`


class DrainingServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, stopping: threading.Event, drain_seconds: float) -> None:
        super().__init__(config)
        self.stopping = stopping
        self.drain_seconds = drain_seconds
        self._drain_until: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        first = not self.stopping.is_set()
        self.stopping.set()
        if first and sig == signal.SIGTERM and self.drain_seconds > 0:
            self._drain_until = time.monotonic() + self.drain_seconds
        else:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        ended = await super().on_tick(counter)
        if self._drain_until is not None and time.monotonic() >= self._drain_until:
            self.should_exit = True
        return ended or self.should_exit


def register_readiness_check(app: FastAPI, stopping: threading.Event) -> None:
    """Make `/health/ready` fail while the server is shutting down."""
    app.state.stopping = stopping
    app.state.checks = {**getattr(app.state, "checks", {}), READINESS_CHECK: lambda: not stopping.is_set()}
