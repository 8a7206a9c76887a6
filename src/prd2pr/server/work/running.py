"""The work while the server runs: claims are opened, held and taken over, beside what is being served.

Nothing here delays an acknowledgement: dbos is loaded by this thread, after the server has begun to listen.
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

# Not used here. dbos would load it in a thread of its own, and while it is half loaded, requests that read would fail.
import sqlalchemy.orm  # noqa: F401
from fastapi import FastAPI
from sqlalchemy.exc import SQLAlchemyError

from prd2pr.errors import Prd2prError
from prd2pr.server.app import Parts
from prd2pr.server.orders.placing import Placing
from prd2pr.server.work import claims, holding
from prd2pr.server.work.sole import only_replica
from prd2pr.server.work.whose import works

if TYPE_CHECKING:
    from prd2pr.server.work.carrying import Crew
    from prd2pr.server.work.engine import Engine

log = logging.getLogger(__name__)
LOOK_SECONDS = 1.0
FOLLOW_SECONDS = 0.5
DAY = 86_400.0
FINISHING_SECONDS = 10.0
AGAIN_SECONDS = 5.0


def add_to(app: FastAPI, parts: Parts) -> AbstractContextManager[Any]:
    if works(parts.settings):
        app.state.orders = Placing(parts)
    return Working(parts)


class Working:
    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.replica = f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(4)}"
        self.in_hand: set[str] = set()  # claims that threads of this process work on
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._work, name="work", daemon=True),
            threading.Thread(target=self._give_signs, name="work-signs", daemon=True),
        ]
        self._sole = ExitStack()
        # Before anything is served, so that it is told as what it is.
        self._sole.enter_context(only_replica(parts.settings.database))

    def __enter__(self) -> Working:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self.parts.news.set()
        for each in self._threads:
            each.join(timeout=15 + FINISHING_SECONDS)
        holding.let_go(self.parts.database, self.replica)
        self._sole.close()

    # --- the threads --------------------------------------------------------------------------------------------------

    def _give_signs(self) -> None:
        lease = self.parts.settings.lease_seconds
        while not self._stopping.is_set():
            try:
                holding.give_signs(self.parts.database, self.replica, lease, tuple(self.in_hand))
            except SQLAlchemyError as error:
                log.warning("no sign could be given: %s", getattr(error, "orig", error))
            self._stopping.wait(lease / 3)

    def _work(self) -> None:
        if not works(self.parts.settings):
            log.warning("no App is set (PRD2PR_APP_ID): deliveries are stored, and nothing is done about them")
            return
        from prd2pr.server.work.carrying import carrying  # dbos, which takes a while to load

        while not self._stopping.is_set():
            try:
                with carrying(self.parts, self.replica, self.in_hand) as crew:
                    self._work_with(crew)
            except Prd2prError as problem:  # a key that cannot be used: nothing changes before the next start
                log.error("no work is done: %s", " ".join(problem.lines()))  # noqa: TRY400 - told in full
                return
            except Exception:  # the thread's edge: deliveries are taken in all the while, and wait
                log.exception("the work was interrupted, and begins again")
                self._stopping.wait(AGAIN_SECONDS)

    def _work_with(self, crew: Crew) -> None:
        ended = threading.Event()
        beside = [
            threading.Thread(target=self._sweep, args=(crew, ended), name="work-sweep", daemon=True),
            threading.Thread(target=self._follow, args=(crew, ended), name="work-orders", daemon=True),
        ]
        for each in beside:
            each.start()
        try:
            self._turns(crew.engine)
        finally:
            ended.set()
            for each in beside:
                each.join(timeout=10)

    def _turns(self, engine: Engine) -> None:
        if self.parts.database.is_sqlite:  # there is no other replica: what is held was left by a dead one
            holding.all_are_gone(self.parts.database, tuple(self.in_hand))
        while not self._stopping.is_set():
            self._turn(engine)
        ends = time.monotonic() + FINISHING_SECONDS
        while self.in_hand and time.monotonic() < ends:
            time.sleep(0.05)

    def _turn(self, engine: Engine) -> None:
        settings, database = self.parts.settings, self.parts.database
        self.parts.news.clear()
        try:
            free = settings.effects_at_once - len(self.in_hand)
            left = holding.take_over(database, self.replica, settings.lease_seconds, free, tuple(self.in_hand))
            opened = claims.open_claims(database, self.replica, settings, free - len(left))
            for each in (*left, *opened):
                engine.start(each)
        except SQLAlchemyError as error:
            log.warning("the database does not answer: %s", getattr(error, "orig", error))
            self._stopping.wait(LOOK_SECONDS)
            return
        if left:
            log.warning("%d claims were left by a replica that is gone, or put off: they are gone on with", len(left))
        if not left and not opened:
            self.parts.news.wait(LOOK_SECONDS)

    def _sweep(self, crew: Crew, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                if crew.sweeping is not None and crew.sweeping.sweep_if_due():
                    crew.engine.forget(time.time() - self.parts.settings.keep_days * DAY)
            except (SQLAlchemyError, Prd2prError) as error:
                log.warning("the sweep was cut short: %s", error)
            ended.wait(min(30.0, self.parts.settings.sweep_minutes * 15))

    def _follow(self, crew: Crew, ended: threading.Event) -> None:
        while not ended.is_set():
            try:
                crew.following.turn()
            except SQLAlchemyError as error:
                log.warning("what came of orders cannot be learnt now: %s", getattr(error, "orig", error))
            ended.wait(FOLLOW_SECONDS)
