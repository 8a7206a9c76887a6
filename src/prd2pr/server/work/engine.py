"""The engine behind the inbox: dbos, one workflow for each holding of a claim.

Which claims there are, who holds them and what was asked for on their behalf is the inbox's record alone: whoever takes
a claim over begins a workflow of its own and goes on from that record. So two holders never share a workflow, and were
dbos's own database lost, nothing would be.

dbos is one for the whole process, and so are the names below.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from dbos import DBOS, DBOSConfig, SetWorkflowID
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from prd2pr.errors import Prd2prError
from prd2pr.server.database import Database
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work import claims, holding
from prd2pr.server.work.claims import Claim
from prd2pr.server.work.effects import Effect, Unclear
from prd2pr.server.work.holding import Hold

log = logging.getLogger(__name__)

# Changed where the steps below change.
STEPS_VERSION = "2"
TURNS = 3
FIRST_LOOK, LONGEST_LOOK = 1.0, 30.0
# A record that took longer to write is older than it says by too much, and is written again.
PROMPT_SECONDS = 5.0


class NotBegun(Prd2prError):
    """The work was started several times, and never began."""


class LeaseLost(Prd2prError):
    """Another replica works on it by now."""


class Effects(Protocol):
    def of(self, claim: Claim) -> Effect: ...


@dataclass
class Labour:
    """What the workflows of this process work with."""

    database: Database
    settings: ServerSettings
    replica: str
    effects: Effects
    in_hand: set[str] = field(default_factory=set)
    changed: threading.Event = field(default_factory=threading.Event)
    sleep: Callable[[float], None] = DBOS.sleep


_labour: list[Labour] = []


def labour() -> Labour:
    return _labour[-1]


@DBOS.workflow(name="carry_out")
def carry_out(claim: str, epoch: int) -> str:
    work = labour()
    try:
        return carried_out(work, Hold(claim, work.replica, epoch))
    finally:
        work.in_hand.discard(claim)
        work.changed.set()


def carried_out(work: Labour, hold: Hold) -> str:
    """How it ended, for dbos's record. Whoever is not the holder any more changes nothing by any of these.

    Once something was asked for, only an answer to that fails the claim. Whatever else goes wrong puts it off: its next
    try would be another claim with another mark, which does not find what this one may have started."""
    try:
        done, ended = holding.settle(work.database, hold, begun(work, hold)), "settled"
    except LeaseLost:
        done, ended = False, ""
    except Unclear as problem:
        done, ended = holding.put_off(work.database, hold, " ".join(problem.lines()), work.settings), "put off"
    except Prd2prError as problem:
        done, ended = holding.fail(work.database, hold, " ".join(problem.lines()), work.settings), "failed"
    except Exception as error:
        log.exception("claim %s was interrupted", hold.claim)
        asked = claims.read(work.database, hold.claim).asked
        end = holding.put_off if asked.turn else holding.fail
        done, ended = end(work.database, hold, repr(error), work.settings), "interrupted"
    return ended if done else "taken over"


def begun(work: Labour, hold: Hold) -> str:
    """The mark of work that is known to have begun."""
    asked = claims.read(work.database, hold.claim).asked
    mark = asked.mark or (looked_for(work, hold) if asked.turn else None)
    for turn in range(max(1, asked.turn), TURNS + 1):
        if mark is None:
            mark = begin(work, hold, turn)
        if began_in_time(work, hold, mark):
            return mark
        mark = None
    raise NotBegun(
        f"the work was started {TURNS} times and did not begin within {work.settings.dispatch_minutes:g} minutes"
    )


def looked_for(work: Labour, hold: Hold) -> str | None:
    """What a former holder asked for. It may still be on its way: only once it would have arrived is it not there."""
    while True:
        claim = claims.read(work.database, hold.claim)
        effect = work.effects.of(claim)
        with unclear("it cannot be seen whether it was started"):
            mark = effect.find(claim, claim.asked.turn)
        if mark is not None or claim.asked.seconds_ago >= effect.settles_in:
            return mark
        work.sleep(FIRST_LOOK)
        keep(work, hold)


def begin(work: Labour, hold: Hold, turn: int) -> str:
    claim = claims.read(work.database, hold.claim)

    def ask() -> None:
        late = True
        while late:
            since = time.monotonic()
            if not holding.ask(work.database, hold, turn, work.settings.lease_seconds):
                raise LeaseLost(f"{hold.claim} is not ours any more")
            late = time.monotonic() - since > PROMPT_SECONDS

    return work.effects.of(claim).begin(claim, turn, ask)


def began_in_time(work: Labour, hold: Hold, mark: str) -> bool:
    seconds, waited, look = work.settings.dispatch_minutes * 60, 0.0, FIRST_LOOK
    claim = claims.read(work.database, hold.claim)
    effect = work.effects.of(claim)
    while not seen(effect, claim, mark):
        if waited >= seconds:
            return False
        if not holding.note(work.database, hold, mark):
            raise LeaseLost(f"{hold.claim} is not ours any more")
        work.sleep(look)
        keep(work, hold)
        waited, look = waited + look, min(LONGEST_LOOK, look * 2)
    return True


def seen(effect: Effect, claim: Claim, mark: str) -> bool:
    with unclear("it was started, and cannot be looked at"):
        return effect.has_begun(claim, mark)


@contextmanager
def unclear(what: str) -> Iterator[None]:
    try:
        yield
    except Prd2prError as problem:
        raise Unclear(f"{what}: {problem.what}", where=problem.where, remedy=problem.remedy) from problem


def keep(work: Labour, hold: Hold) -> None:
    if not holding.keeps(work.database, hold, work.settings.lease_seconds):
        raise LeaseLost(f"{hold.claim} is not ours any more")


class Engine:
    """A context: while it is open, workflows run."""

    def __init__(self, work: Labour) -> None:
        self.work = work

    def __enter__(self) -> Engine:
        """dbos makes its tables one by one, and cannot go on where it was killed in between: then they are made anew.
        Nothing is in them that is needed."""
        try:
            self._launch()
        except SQLAlchemyError:
            if not self.work.database.is_sqlite:
                raise
            log.warning("dbos's own database cannot be used, and is made anew")
            drop(beside(self.work.settings.database))
            self._launch()
        return self

    def _launch(self) -> None:
        config: DBOSConfig = {
            "name": "prd2pr",
            "system_database_url": beside(self.work.settings.database),
            "application_version": STEPS_VERSION,
            # New for each process: dbos takes nothing up by itself. The inbox says what is gone on with.
            "executor_id": self.work.replica,
            "log_level": "ERROR",
            "use_listen_notify": False,
            "max_executor_threads": self.work.settings.effects_at_once + 4,
        }
        DBOS(config=config)
        _labour.append(self.work)
        try:
            DBOS.launch()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        DBOS.destroy(workflow_completion_timeout_sec=0)
        _labour.pop()

    def start(self, hold: Hold) -> None:
        """Under a name that no other holding has, whatever database is restored beside it."""
        self.work.in_hand.add(hold.claim)
        try:
            with SetWorkflowID(f"{hold.claim}/{hold.epoch}/{hold.replica}"):
                DBOS.start_workflow(carry_out, hold.claim, hold.epoch)
        except BaseException:
            self.work.in_hand.discard(hold.claim)
            raise

    def forget(self, before: float) -> None:
        """Records of workflows that ended, or were left, long ago."""
        ended = datetime.fromtimestamp(before, UTC).isoformat()
        while old := DBOS.list_workflows(
            status=["SUCCESS", "ERROR", "PENDING"], end_time=ended, limit=500, load_input=False, load_output=False
        ):
            DBOS.delete_workflows([each.workflow_id for each in old])


def drop(url: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{make_url(url).database}{suffix}").unlink(missing_ok=True)


def beside(url: str) -> str:
    """dbos's own database: a file beside ours, whose writes do not wait for ours; in PostgreSQL a schema of it."""
    read = make_url(url)
    if read.get_backend_name() == "sqlite":
        return read.set(database=f"{read.database}-dbos").render_as_string(hide_password=False)
    return read.set(drivername="postgresql").render_as_string(hide_password=False)
