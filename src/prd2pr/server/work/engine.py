"""The durable engine behind the inbox: dbos, one workflow for each claim, called by the claim's id.

A step whose result is on record is not repeated, also after a kill; waiting survives a restart. Which claims there are
is the inbox's business alone: were dbos's own database lost, every claim would be begun anew.

dbos is one for the whole process, and so are the names below.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from dbos import DBOS, DBOSConfig, SetWorkflowID
from sqlalchemy.engine import make_url

from prd2pr.errors import Prd2prError
from prd2pr.server.database import Database
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work import claims
from prd2pr.server.work.claims import Claim
from prd2pr.server.work.effects import Effect

log = logging.getLogger(__name__)

# Changed where the steps below change: a workflow is only gone on with by the program that it was begun with.
STEPS_VERSION = "1"
TURNS = 3
FIRST_LOOK, LONGEST_LOOK = 1.0, 30.0


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


_labour: list[Labour] = []


def labour() -> Labour:
    return _labour[-1]


@DBOS.workflow(name="carry_out")
def carry_out(name: str) -> str:
    work = labour()
    work.in_hand.add(name)
    try:
        if claims.adopt(work.database, name, work.replica, work.settings.lease_seconds) is None:
            return "closed already"
        mark = begun(name)
    except LeaseLost:
        return "taken over"
    except Exception as error:
        if not isinstance(error, Prd2prError):
            log.exception("claim %s failed", name)
        claims.fail(
            work.database,
            name,
            " ".join(error.lines()) if isinstance(error, Prd2prError) else repr(error),
            work.settings,
        )
        return "failed"
    else:
        return "settled" if claims.settle(work.database, name, mark) else "closed already"
    finally:
        work.in_hand.discard(name)
        work.changed.set()


def begun(name: str) -> str:
    """The mark of work that is known to have begun."""
    seconds = labour().settings.dispatch_minutes * 60
    for turn in range(1, TURNS + 1):
        still_ours(name)
        mark = begin(name, turn)
        waited, look = 0.0, FIRST_LOOK
        while not has_begun(name, mark):
            if waited >= seconds:
                break
            DBOS.sleep(look)
            still_ours(name)
            waited, look = waited + look, min(LONGEST_LOOK, look * 2)
        else:
            return mark
    raise NotBegun(f"the work was started {TURNS} times and did not begin within {seconds / 60:g} minutes")


@DBOS.step(name="begin")
def begin(name: str, turn: int) -> str:
    claim = claims.read(labour().database, name)
    return labour().effects.of(claim).begin(claim, turn)


@DBOS.step(name="has_begun")
def has_begun(name: str, mark: str) -> bool:
    claim = claims.read(labour().database, name)
    return labour().effects.of(claim).has_begun(claim, mark)


def still_ours(name: str) -> None:
    """Outside of the steps: what one replica sees of this is no part of the record."""
    work = labour()
    if not claims.holds(work.database, name, work.replica, work.settings.lease_seconds):
        raise LeaseLost(f"{name} is not ours any more")


class Engine:
    """A context: while it is open, workflows run."""

    def __init__(self, work: Labour) -> None:
        self.work = work

    def __enter__(self) -> Engine:
        config: DBOSConfig = {
            "name": "prd2pr",
            "system_database_url": beside(self.work.settings.database),
            "application_version": STEPS_VERSION,
            # New for each process: dbos then takes nothing up by itself. The inbox says what is gone on with.
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
        return self

    def __exit__(self, *_: object) -> None:
        DBOS.destroy(workflow_completion_timeout_sec=0)
        _labour.pop()

    def start(self, claim: str) -> None:
        self.work.in_hand.add(claim)
        try:
            with SetWorkflowID(claim):
                DBOS.start_workflow(carry_out, claim)
        except BaseException:
            self.work.in_hand.discard(claim)
            raise

    def resume(self, claim: str) -> None:
        """Whose replica is gone. It goes on after the last step that is on record."""
        status = DBOS.get_workflow_status(claim)
        if status is None:
            self.start(claim)
        elif status.status in ("SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"):
            claims.fail(self.work.database, claim, "the work ended without an answer", self.work.settings)
        else:
            DBOS.resume_workflow(claim)

    def forget(self, before: float) -> None:
        """Records of workflows that ended long ago."""
        ended = datetime.fromtimestamp(before, UTC).isoformat()
        while old := DBOS.list_workflows(
            status=["SUCCESS", "ERROR"], end_time=ended, limit=500, load_input=False, load_output=False
        ):
            DBOS.delete_workflows([each.workflow_id for each in old])


def beside(url: str) -> str:
    """dbos's own database: a file beside ours, whose writes do not wait for ours; in PostgreSQL a schema of it."""
    read = make_url(url)
    if read.get_backend_name() == "sqlite":
        return read.set(database=f"{read.database}-dbos").render_as_string(hide_password=False)
    return read.set(drivername="postgresql").render_as_string(hide_password=False)
