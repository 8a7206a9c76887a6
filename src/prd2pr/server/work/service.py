"""Background threads that open claims, renew leases, take over expired claims, sweep and track orders.

Nothing here delays an acknowledgement: a thread loads dbos after the server has started to listen.
"""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
import time
from contextlib import AbstractContextManager, ExitStack
from typing import TYPE_CHECKING, Any

# Unused here. Otherwise dbos loads it in a thread, and requests that read meanwhile would fail.
import sqlalchemy.orm  # noqa: F401
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError

from prd2pr.errors import Prd2prError
from prd2pr.server.app import ServerContext
from prd2pr.server.orders.submission import InboxOrderQueue
from prd2pr.server.work import claims, leases
from prd2pr.server.work.capability import has_worker
from prd2pr.server.work.single_writer import hold_database_lock

if TYPE_CHECKING:
    from prd2pr.server.work.engine import WorkEngine
    from prd2pr.server.work.wiring import WorkerSet

log = logging.getLogger(__name__)
POLL_SECONDS = 1.0
TRACK_SECONDS = 0.5
DAY = 86_400.0
FINISH_SECONDS = 10.0
RESTART_SECONDS = 5.0


def add_work_service(app: FastAPI, parts: ServerContext) -> AbstractContextManager[Any]:
    if has_worker(parts.settings):
        app.state.orders = InboxOrderQueue(parts)
    return WorkService(parts)


class WorkService:
    def __init__(self, parts: ServerContext) -> None:
        self.parts = parts
        self.replica = f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(4)}"
        self.active_claims: set[str] = set()  # claims that threads of this process work on
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name="work", daemon=True),
            threading.Thread(target=self._send_heartbeats, name="work-signs", daemon=True),
        ]
        self._database_lock = ExitStack()
        # Before anything is served, so that the error is reported at start-up.
        self._database_lock.enter_context(hold_database_lock(parts.settings.database))

    def __enter__(self) -> WorkService:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.parts.work_available.set()
        for each in self._threads:
            each.join(timeout=15 + FINISH_SECONDS)
        leases.release_claims(self.parts.database, self.replica)
        self._database_lock.close()

    # --- the threads --------------------------------------------------------------------------------------------------

    def _send_heartbeats(self) -> None:
        lease = self.parts.settings.lease_seconds
        while not self._stopping.is_set():
            try:
                leases.record_heartbeat(self.parts.database, self.replica, lease, tuple(self.active_claims))
            except SQLAlchemyError as error:
                log.warning("the heartbeat could not be recorded: %s", getattr(error, "orig", error))
            self._stopping.wait(lease / 3)

    def _work(self) -> None:
        if not has_worker(self.parts.settings):
            log.warning(
                "no worker is configured (PRD2PR_APP_ID is not set): deliveries are stored, but no work is done"
            )
            return
        from prd2pr.server.work.wiring import open_workers  # loads dbos, which is slow

        while not self._stopping.is_set():
            try:
                with open_workers(self.parts, self.replica, self.active_claims) as workers:
                    self._work_with(workers)
            except Prd2prError as problem:  # such as an invalid key: only a restart helps
                log.error("no work is done: %s", " ".join(problem.lines()))  # noqa: TRY400 - no traceback needed
                return
            except Exception:  # top level of the thread: deliveries are still stored meanwhile
                log.exception("the work was interrupted and restarts")
                self._stopping.wait(RESTART_SECONDS)

    def _work_with(self, workers: WorkerSet) -> None:
        ended = threading.Event()
        threads = [
            threading.Thread(target=self._sweep, args=(workers, ended), name="work-sweep", daemon=True),
            threading.Thread(target=self._track_orders, args=(workers, ended), name="work-orders", daemon=True),
        ]
        for each in threads:
            each.start()
        try:
            self._run_turns(workers.engine)
        finally:
            ended.set()
            for each in threads:
                each.join(timeout=10)

    def _run_turns(self, engine: WorkEngine) -> None:
        if self.parts.database.is_sqlite:  # there is no other replica: open claims are of a dead one
            leases.release_orphaned_claims(self.parts.database, tuple(self.active_claims))
        while not self._stopping.is_set():
            self._run_turn(engine)
        ends = time.monotonic() + FINISH_SECONDS
        while self.active_claims and time.monotonic() < ends:
            time.sleep(0.05)

    def _run_turn(self, engine: WorkEngine) -> None:
        settings, database = self.parts.settings, self.parts.database
        self.parts.work_available.clear()
        try:
            free = settings.effects_at_once - len(self.active_claims)
            taken_over = leases.take_over_claims(
                database, self.replica, settings.lease_seconds, free, tuple(self.active_claims)
            )
            opened = claims.open_claims(database, self.replica, settings, free - len(taken_over))
            for each in (*taken_over, *opened):
                engine.start(each)
        except SQLAlchemyError as error:
            log.warning("the database does not answer: %s", getattr(error, "orig", error))
            self._stopping.wait(POLL_SECONDS)
            return
        if taken_over:
            log.warning("%d claims of dead replicas, or postponed ones, were taken over", len(taken_over))
        if not taken_over and not opened:
            self.parts.work_available.wait(POLL_SECONDS)

    def _sweep(self, workers: WorkerSet, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                if workers.sweeper is not None and workers.sweeper.sweep_if_due():
                    workers.engine.forget(time.time() - self.parts.settings.keep_days * DAY)
            except (SQLAlchemyError, Prd2prError) as error:
                log.warning("the sweep was interrupted: %s", error)
            ended.wait(min(30.0, self.parts.settings.sweep_minutes * 15))

    def _track_orders(self, workers: WorkerSet, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                workers.order_tracker.poll()
            except SQLAlchemyError as error:
                log.warning("the outcome of orders cannot be read now: %s", getattr(error, "orig", error))
            ended.wait(TRACK_SECONDS)
