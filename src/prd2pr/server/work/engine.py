"""Run claims as dbos workflows, one for each lease on a claim.

Claims, their holders and their requests are recorded in our tables alone. A replica that takes a claim over starts its
own workflow and continues from that record, so two holders never share a workflow, and losing dbos's own database loses
nothing.

dbos is global to the process, and so are the names below.
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
from prd2pr.server.work import claims, leases
from prd2pr.server.work.claims import WorkClaim
from prd2pr.server.work.effects import Effect, EffectUnclear
from prd2pr.server.work.leases import Lease

log = logging.getLogger(__name__)

# Increase it when the steps below change.
STEPS_VERSION = "2"
MAX_STARTS = 3
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 1.0, 30.0
# A record that took longer to write has an outdated time and is written again.
MAX_RECORD_SECONDS = 5.0


class WorkNotStarted(Prd2prError):
    """The work was started several times and never began."""


class LeaseLost(Prd2prError):
    """Another replica holds the claim by now."""


class EffectSelector(Protocol):
    def select(self, claim: WorkClaim) -> Effect: ...


@dataclass
class EngineContext:
    """What the workflows of this process use."""

    database: Database
    settings: ServerSettings
    replica: str
    effects: EffectSelector
    active_claims: set[str] = field(default_factory=set)
    changed: threading.Event = field(default_factory=threading.Event)
    sleep: Callable[[float], None] = DBOS.sleep


_contexts: list[EngineContext] = []


def get_engine_context() -> EngineContext:
    return _contexts[-1]


@DBOS.workflow(name="carry_out")
def run_claim(claim: str, epoch: int) -> str:
    context = get_engine_context()
    try:
        return process_claim(context, Lease(claim, context.replica, epoch))
    finally:
        context.active_claims.discard(claim)
        context.changed.set()


def process_claim(context: EngineContext, lease: Lease) -> str:
    """Start the claim's work, record how it ended, and return that for dbos. A former holder changes nothing.

    Once a request was sent, only a definite answer fails the claim. Other errors postpone it: a failed claim is retried
    as a new claim with another mark, which would not find what this one may have started."""
    try:
        done, ended = leases.settle_claim(context.database, lease, ensure_started(context, lease)), "settled"
    except LeaseLost:
        done, ended = False, ""
    except EffectUnclear as problem:
        done, ended = (
            leases.postpone_claim(context.database, lease, " ".join(problem.lines()), context.settings),
            "postponed",
        )
    except Prd2prError as problem:
        done, ended = leases.fail_claim(context.database, lease, " ".join(problem.lines()), context.settings), "failed"
    except Exception as error:
        log.exception("claim %s was interrupted", lease.claim)
        request = claims.read_claim(context.database, lease.claim).request
        end = leases.postpone_claim if request.turn else leases.fail_claim
        done, ended = end(context.database, lease, repr(error), context.settings), "interrupted"
    return ended if done else "taken over"


def ensure_started(context: EngineContext, lease: Lease) -> str:
    """Return the mark of the started work; start it if needed."""
    request = claims.read_claim(context.database, lease.claim).request
    mark = request.mark or (find_earlier_start(context, lease) if request.turn else None)
    for turn in range(max(1, request.turn), MAX_STARTS + 1):
        if mark is None:
            mark = start_effect(context, lease, turn)
        if wait_until_started(context, lease, mark):
            return mark
        mark = None
    raise WorkNotStarted(
        f"the work was started {MAX_STARTS} times and did not begin in {context.settings.dispatch_minutes:g} minutes"
    )


def find_earlier_start(context: EngineContext, lease: Lease) -> str | None:
    """Return the mark of what a former holder started; wait as long as its request may still be in flight."""
    while True:
        claim = claims.read_claim(context.database, lease.claim)
        effect = context.effects.select(claim)
        with raise_as_unclear("it is unknown whether the work was started"):
            mark = effect.find(claim, claim.request.turn)
        if mark is not None or claim.request.seconds_ago >= effect.settles_in:
            return mark
        context.sleep(FIRST_POLL_SECONDS)
        require_lease(context, lease)


def start_effect(context: EngineContext, lease: Lease, turn: int) -> str:
    claim = claims.read_claim(context.database, lease.claim)

    def ask() -> None:
        late = True
        while late:
            since = time.monotonic()
            if not leases.record_effect_request(context.database, lease, turn, context.settings.lease_seconds):
                raise LeaseLost(f"{lease.claim} is held by another replica")
            late = time.monotonic() - since > MAX_RECORD_SECONDS

    return context.effects.select(claim).begin(claim, turn, ask)


def wait_until_started(context: EngineContext, lease: Lease, mark: str) -> bool:
    seconds, waited, interval = context.settings.dispatch_minutes * 60, 0.0, FIRST_POLL_SECONDS
    claim = claims.read_claim(context.database, lease.claim)
    effect = context.effects.select(claim)
    while not has_effect_started(effect, claim, mark):
        if waited >= seconds:
            return False
        if not leases.record_effect_mark(context.database, lease, mark):
            raise LeaseLost(f"{lease.claim} is held by another replica")
        context.sleep(interval)
        require_lease(context, lease)
        waited, interval = waited + interval, min(MAX_POLL_SECONDS, interval * 2)
    return True


def has_effect_started(effect: Effect, claim: WorkClaim, mark: str) -> bool:
    with raise_as_unclear("the work was started, but its state cannot be read"):
        return effect.has_started(claim, mark)


@contextmanager
def raise_as_unclear(what: str) -> Iterator[None]:
    try:
        yield
    except Prd2prError as problem:
        raise EffectUnclear(f"{what}: {problem.what}", where=problem.where, remedy=problem.remedy) from problem


def require_lease(context: EngineContext, lease: Lease) -> None:
    if not leases.renew_lease(context.database, lease, context.settings.lease_seconds):
        raise LeaseLost(f"{lease.claim} is held by another replica")


class WorkEngine:
    """A context manager; workflows run while it is open."""

    def __init__(self, context: EngineContext) -> None:
        self.context = context

    def __enter__(self) -> WorkEngine:
        """Launch dbos. If it was killed while creating its tables it cannot resume: its database is then recreated,
        which is safe, since nothing in it is needed."""
        try:
            self._launch()
        except SQLAlchemyError:
            if not self.context.database.is_sqlite:
                raise
            log.warning("dbos's own database is unusable and is recreated")
            delete_sqlite_files(make_dbos_url(self.context.settings.database))
            self._launch()
        return self

    def _launch(self) -> None:
        config: DBOSConfig = {
            "name": "prd2pr",
            "system_database_url": make_dbos_url(self.context.settings.database),
            "application_version": STEPS_VERSION,
            # Unique for each process, so that dbos recovers nothing by itself; our claims decide what continues.
            "executor_id": self.context.replica,
            "log_level": "ERROR",
            "use_listen_notify": False,
            "max_executor_threads": self.context.settings.effects_at_once + 4,
        }
        DBOS(config=config)
        _contexts.append(self.context)
        try:
            DBOS.launch()
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        DBOS.destroy(workflow_completion_timeout_sec=0)
        _contexts.pop()

    def start(self, lease: Lease) -> None:
        """Start a workflow whose id no other lease has, even after a database was restored."""
        self.context.active_claims.add(lease.claim)
        try:
            with SetWorkflowID(f"{lease.claim}/{lease.epoch}/{lease.replica}"):
                DBOS.start_workflow(run_claim, lease.claim, lease.epoch)
        except BaseException:
            self.context.active_claims.discard(lease.claim)
            raise

    def forget(self, before: float) -> None:
        """Delete records of workflows that ended before the given time."""
        ended = datetime.fromtimestamp(before, UTC).isoformat()
        while old := DBOS.list_workflows(
            status=["SUCCESS", "ERROR", "PENDING"], end_time=ended, limit=500, load_input=False, load_output=False
        ):
            DBOS.delete_workflows([each.workflow_id for each in old])


def delete_sqlite_files(url: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{make_url(url).database}{suffix}").unlink(missing_ok=True)


def make_dbos_url(url: str) -> str:
    """Return the URL of dbos's own database: a second SQLite file, so that its writes do not wait for ours; in
    PostgreSQL a schema of the same database."""
    read = make_url(url)
    if read.get_backend_name() == "sqlite":
        return read.set(database=f"{read.database}-dbos").render_as_string(hide_password=False)
    return read.set(drivername="postgresql").render_as_string(hide_password=False)
