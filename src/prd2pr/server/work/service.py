"""Background threads: one passes due work to the engine and, if there are several replicas, one records heartbeats.

Nothing here delays the server's start: a thread imports dbos after the server has started to listen.
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

# Unused here. Otherwise dbos imports it in a thread, and concurrent requests that read would fail.
import sqlalchemy.orm  # noqa: F401
from fastapi import FastAPI
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from prd2pr.errors import Prd2prError
from prd2pr.server.app import ServerContext
from prd2pr.server.database import Database, read_database_time
from prd2pr.server.orders.store import list_unsettled_tries
from prd2pr.server.orders.submission import InboxOrderQueue
from prd2pr.server.work.batches import list_taken, list_waiting
from prd2pr.server.work.capability import has_worker
from prd2pr.server.work.single_writer import hold_database_lock

if TYPE_CHECKING:
    from prd2pr.server.work.engine import WorkEngine

log = logging.getLogger(__name__)
POLL_SECONDS = 1.0
LOST_SECONDS = 60.0
STOP_SECONDS = 25.0
RESTART_SECONDS = 5.0


def add_work_service(app: FastAPI, context: ServerContext) -> AbstractContextManager[Any]:
    if has_worker(context.settings):
        app.state.orders = InboxOrderQueue(context)
    return WorkService(context)


class WorkService:
    def __init__(self, context: ServerContext) -> None:
        self.context = context
        self.replica = f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(4)}"
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=self._work, name="work", daemon=True)]
        if not context.database.is_sqlite:
            self._threads.append(threading.Thread(target=self._send_heartbeats, name="work-signs", daemon=True))
        self._database_lock = ExitStack()
        # Done before anything is served, so that the error is reported at start-up.
        self._database_lock.enter_context(hold_database_lock(context.settings.database))

    def __enter__(self) -> WorkService:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.context.work_available.set()
        for each in self._threads:
            each.join(timeout=STOP_SECONDS)
        remove_replica(self.context.database, self.replica)
        self._database_lock.close()

    # --- the threads --------------------------------------------------------------------------------------------------

    def _send_heartbeats(self) -> None:
        while not self._stopping.is_set():
            try:
                record_heartbeat(self.context.database, self.replica)
            except SQLAlchemyError as error:
                log.warning("the heartbeat could not be recorded: %s", getattr(error, "orig", error))
            self._stopping.wait(self.context.settings.lease_seconds / 3)

    def _work(self) -> None:
        if not has_worker(self.context.settings):
            log.warning(
                "no worker is configured (PRD2PR_APP_ID is not set): deliveries are stored, but no work is done"
            )
            return
        from prd2pr.server.work.wiring import open_engine  # imports dbos, which is slow

        while not self._stopping.is_set():
            try:
                with open_engine(self.context, self.replica) as engine:
                    self._feed(engine)
            except Prd2prError as problem:  # for example an invalid key, which requires a restart
                log.error("no work is done: %s", " ".join(problem.lines()))  # noqa: TRY400 - no traceback needed
                return
            except Exception:  # top level of the thread: deliveries are still stored in the meantime
                log.exception("the work was interrupted and restarts")
                self._stopping.wait(RESTART_SECONDS)

    def _feed(self, engine: WorkEngine) -> None:
        """Queue due work, and recover the work of other replicas and earlier servers."""
        database, lease = self.context.database, self.context.settings.lease_seconds
        queued: set[str] = set()
        recover_at = lost_at = 0.0
        while not self._stopping.is_set():
            self.context.work_available.clear()
            try:
                waiting, orders = list_waiting(database), list_unsettled_tries(database)
                for batch in waiting:
                    if batch.id not in queued:
                        engine.enqueue(batch)
                for order in orders:
                    if order.name not in queued:
                        engine.enqueue_check(order)
                queued = {each.id for each in waiting} | {each.name for each in orders}
                engine.enqueue_sweep(time.time())
                now = time.monotonic()
                if now >= recover_at and not database.is_sqlite:
                    recover_at = now + lease / 3
                    engine.recover({self.replica, *list_live_replicas(database, lease)})
                if now >= lost_at:
                    lost_at = now + LOST_SECONDS
                    engine.requeue_lost([*waiting, *list_taken(database)], orders)
            except SQLAlchemyError as error:
                log.warning("the database does not answer: %s", getattr(error, "orig", error))
                self._stopping.wait(POLL_SECONDS)
            else:
                self.context.work_available.wait(POLL_SECONDS)


# --- live replicas ----------------------------------------------------------------------------------------------------
# dbos recovers only the workflows of its own process. A replica that was merely slow loses its workflows too,
# which is safe: once another execution owns a workflow, the old one can record nothing, and so send nothing.

RECORD_HEARTBEAT = text(
    """INSERT INTO replicas (id, started_at, seen_at) VALUES (:me, :now, :now)
       ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at"""
)


def record_heartbeat(database: Database, replica: str) -> None:
    with database.writing() as connection:
        connection.execute(RECORD_HEARTBEAT, {"me": replica, "now": read_database_time(connection)})


def list_live_replicas(database: Database, seconds: float) -> set[str]:
    """Return the replicas seen within the given time, and delete the others."""
    with database.writing() as connection:
        old = {"old": read_database_time(connection) - seconds}
        connection.execute(text("DELETE FROM replicas WHERE seen_at < :old"), old)
        return set(connection.execute(text("SELECT id FROM replicas")).scalars())


def remove_replica(database: Database, replica: str) -> None:
    """Delete this replica's heartbeat, so that the others continue its work at once."""
    with database.writing() as connection:
        connection.execute(text("DELETE FROM replicas WHERE id = :me"), {"me": replica})
