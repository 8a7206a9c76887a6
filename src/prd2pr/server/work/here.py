"""Orders for repositories of this machine: carried out in them by a process of its own, and answered at once.

It runs neither a model nor a test: a retry and a reset are decisions. Whoever works there goes on by them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from prd2pr.core.orders import written_orders
from prd2pr.errors import Prd2prError
from prd2pr.server.database import Database
from prd2pr.server.orders.record import open_orders, settle
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work.claims import Claim
from prd2pr.server.work.effects import Ask
from prd2pr.server.work.local import TIED, clean_environment

SECONDS = 120


class OrderNotTaken(Prd2prError):
    """The process ended without having said what came of the orders."""


class Here:
    settles_in = 0.0  # its process dies with the server

    def __init__(self, settings: ServerSettings, database: Database) -> None:
        self.settings, self.database = settings, database

    def find(self, claim: Claim, turn: int) -> None:
        """What was done before is on the branch, and is found there."""
        del claim, turn

    def begin(self, claim: Claim, turn: int, ask: Ask) -> str:
        """The whole of it: what came of each order is on record when this returns."""
        del turn
        ask()
        orders = open_orders(self.database, claim.lane)
        for told in self._told(claim.lane, written_orders(orders)) if orders else ():
            settle(self.database, str(told["id"]), told["outcome"], str(told["answer"]))
        return f"{len(orders)} ordered here"

    def has_begun(self, claim: Claim, mark: str) -> bool:
        del claim, mark
        return True

    def _told(self, repo: str, orders: str) -> list[dict[str, Any]]:
        path = self.settings.repositories[repo]
        command = [sys.executable, "-c", TIED, str(os.getpid()), "-m", "prd2pr.entry.ordered_here", path]
        environment = clean_environment(os.environ)
        try:
            done = subprocess.run(
                command, input=orders, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
            )
            if done.returncode == 0:
                made: list[dict[str, Any]] = json.loads(done.stdout)
                return made
            said = done.stderr.strip()[-1000:]
        except subprocess.TimeoutExpired:
            said = f"it took longer than {SECONDS} seconds"
        raise OrderNotTaken(f"the order could not be carried out: {said or 'no reason was given'}", where=repo)
