"""An effect that executes orders in repositories on this machine, in a separate process that reports their outcome.

The process runs neither models nor tests, nor any other program of the repository, which could read the App's key. It
records a retry or reset, which the next run in that repository executes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from prd2pr.errors import Prd2prError
from prd2pr.server.database import Database
from prd2pr.server.orders.store import list_open_orders, settle_order
from prd2pr.server.settings import ENV_PREFIX, FILE_SUFFIX, ServerSettings
from prd2pr.server.work.batches import Batch
from prd2pr.server.work.effects import RecordRequest
from prd2pr.state.orders import format_orders

TIMEOUT_SECONDS = 120
# The child dies with the server, so that no two processes work on the same batch.
CHILD_LAUNCHER = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)
if os.getppid() != int(sys.argv[1]):
    sys.exit(9)
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


class LocalOrderFailed(Prd2prError):
    """The process ended without reporting the outcome of the orders."""


class LocalOrderEffect:
    settles_in = 0.0  # the process dies with the server

    def __init__(self, settings: ServerSettings, database: Database) -> None:
        self.settings, self.database = settings, database

    def find(self, batch: Batch) -> None:
        """Return None, because earlier work is found on the branch."""
        del batch

    def begin(self, batch: Batch, turn: int, ask: RecordRequest) -> str:
        """Execute the orders; their outcomes are recorded when this returns."""
        del turn
        ask()
        orders = list_open_orders(self.database, batch.lane)
        for result in self._run_orders(batch.lane, format_orders(orders)) if orders else ():
            settle_order(self.database, str(result["id"]), result["outcome"], str(result["answer"]))
        return f"{len(orders)} orders executed here"

    def has_started(self, batch: Batch, mark: str) -> bool:
        del batch, mark
        return True

    def _run_orders(self, repo: str, orders: str) -> list[dict[str, Any]]:
        path = self.settings.repositories[repo]
        command = [sys.executable, "-c", CHILD_LAUNCHER, str(os.getpid()), "-m", "prd2pr.cli.local_orders", path]
        environment = strip_server_settings(os.environ)
        try:
            done = subprocess.run(
                command,
                input=orders,
                env=environment,
                capture_output=True,
                text=True,
                timeout=TIMEOUT_SECONDS,
                check=False,
            )
            if done.returncode == 0:
                results: list[dict[str, Any]] = json.loads(done.stdout)
                return results
            reason = done.stderr.strip()[-1000:]
        except subprocess.TimeoutExpired:
            reason = f"it took longer than {TIMEOUT_SECONDS} seconds"
        raise LocalOrderFailed(f"the order could not be executed: {reason or 'no reason given'}", where=repo)


def strip_server_settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the server's settings and secrets."""
    own = {ENV_PREFIX + name.upper() for name in ServerSettings.model_fields}
    return {name: value for name, value in environment.items() if name.removesuffix(FILE_SUFFIX) not in own}
