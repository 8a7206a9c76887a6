"""How the server stops: told to, it says that it is not ready, serves on for a moment, then finishes and lets go.

1. SIGTERM: `/health/ready` answers 503 from now on, so that whoever balances sends nothing more here.
2. After `drain_seconds` no connection is accepted; requests in flight are finished.
3. What runs beside (claims, threads, workers) is left by the lifespan of the app, which lets its leases go.

Ctrl-C, or a second signal, goes to the second step at once.
"""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType

import uvicorn
from fastapi import FastAPI

READINESS = "accepting"  # as `/health` names it


class Draining(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, stopping: threading.Event, drain_seconds: float) -> None:
        super().__init__(config)
        self.stopping = stopping
        self.drain_seconds = drain_seconds
        self._ends: float | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        first = not self.stopping.is_set()
        self.stopping.set()
        if first and sig == signal.SIGTERM and self.drain_seconds > 0:
            self._ends = time.monotonic() + self.drain_seconds
        else:
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        ended = await super().on_tick(counter)
        if self._ends is not None and time.monotonic() >= self._ends:
            self.should_exit = True
        return ended or self.should_exit


def tell_readiness(app: FastAPI, stopping: threading.Event) -> None:
    """`app.state.checks` is what `/health/ready` asks."""
    app.state.stopping = stopping
    app.state.checks = {**getattr(app.state, "checks", {}), READINESS: lambda: not stopping.is_set()}
