"""Run the work with dbos, which queues batches by repository, limits their rate, delays retries and recovers crashes.

One workflow is one attempt at a batch. dbos records the results of its steps and repeats only the step that was in
flight; an execution that lost its workflow to another replica can no longer record anything. The inbox does not depend
on dbos's own database: a batch without a workflow gets a new one.

dbos is global to the process, and so are the names below.
"""

from __future__ import annotations

import logging
import sqlite3
import time
from collections.abc import Collection, Iterable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, Protocol, TypedDict

from dbos import DBOS, DBOSConfig, SetEnqueueOptions, SetWorkflowID
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError

from prd2pr.errors import Prd2prError
from prd2pr.retry import RetryPolicy
from prd2pr.server.database import Database, read_database_time
from prd2pr.server.file_owner import match_directory_owner
from prd2pr.server.orders.store import OrderTry
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work.batches import Batch, BatchKey, fail_batch, read_batch, settle_batch, take_batch
from prd2pr.server.work.effects import MAX_STARTS, Effect, EffectUnclear
from prd2pr.server.work_metrics import WorkMetrics

log = logging.getLogger(__name__)

# Increase this when the workflow below changes. Batches of another version get a new workflow.
STEPS_VERSION = "3"
QUEUE, SWEEP_QUEUE, ORDER_QUEUE = "repositories", "sweeps", "orders"
MINUTE, DAY = 60.0, 86_400.0
QUEUE_POLL_SECONDS = 0.2
TIMER_POLL_SECONDS = 0.5
FINISH_SECONDS = 10
FIRST_POLL_SECONDS, MAX_POLL_SECONDS = 1.0, 30.0
MAX_BACKOFF_SECONDS = 600.0
FIRST_CHECK_SECONDS, MAX_CHECK_SECONDS = 0.5, 120.0
# A record that took longer to write contains an outdated time and is written again.
MAX_RECORD_SECONDS = 5.0
REQUEST_EVENT = "request"


class EffectSelector(Protocol):
    def select(self, batch: Batch) -> Effect: ...


class OrderChecker(Protocol):
    def check(self, order: str, tries: int) -> bool:
        """Return whether the outcome of this attempt to execute the order is known."""
        ...


class PeriodicSweep(Protocol):
    def sweep(self, now: float, since: float) -> bool:
        """Recover deliveries and runs lost since the last sweep; return whether the sweep finished."""
        ...


@dataclass(frozen=True)
class EngineContext:
    """Dependencies of the workflows in this process."""

    database: Database
    settings: ServerSettings
    replica: str
    effects: EffectSelector
    orders: OrderChecker
    sweeper: PeriodicSweep | None = None  # None without a GitHub App
    metrics: WorkMetrics = field(default_factory=WorkMetrics)


_contexts: list[EngineContext] = []


def get_engine_context() -> EngineContext:
    return _contexts[-1]


class WorkOutcome(TypedDict):
    """The outcome of starting an effect.

    For `started`, `text` is the mark of the work. `refused` means that nothing was started, and `unclear` means that
    the work may have been started.
    """

    kind: Literal["started", "not yet", "refused", "unclear"]
    text: str
    mark: str  # mark of work that was accepted and may still begin


# When an earlier attempt may have sent a request, and the mark of its work if known.
EarlierRequest = tuple[float, str] | None


# --- the workflow -----------------------------------------------------------------------------------------------------
# dbos records workflow arguments and step results, so they are plain data that a later version can still read.


@DBOS.workflow(name="process_batch", max_recovery_attempts=None)
def process_batch(batch: str, lane: str, attempt: int, earlier: EarlierRequest) -> str:
    """Make one attempt at a batch. Code after a step may run more than once."""
    context, key = get_engine_context(), BatchKey(batch, lane, attempt)
    if not take_batch(context.database, key):
        return "nothing left"
    outcome = ensure_started(key, earlier)
    if outcome["kind"] == "started":
        context.metrics.count_deliveries("started", settle_batch(context.database, key.id, outcome["text"]))
        return outcome["kind"]
    delay = make_retry_policy(context.settings).wait(attempt)
    waited = fail_batch(context.database, key.id, outcome["text"], is_last=delay is None)
    context.metrics.count_deliveries("dead" if delay is None else "retried", waited)
    if delay is not None:
        request = read_request()
        asked_at = request[1] if request else (earlier or (0.0, ""))[0]
        unclear = (asked_at, outcome["mark"]) if outcome["kind"] == "unclear" else None
        enqueue_batch(BatchKey(batch, lane, attempt + 1), str(attempt + 1), unclear, delay)
    return outcome["kind"]


def make_retry_policy(settings: ServerSettings) -> RetryPolicy:
    return RetryPolicy(tries=settings.attempts, first_wait=settings.backoff_seconds, longest_wait=MAX_BACKOFF_SECONDS)


def ensure_started(key: BatchKey, earlier: EarlierRequest) -> WorkOutcome:
    for turn in range(1, MAX_STARTS + 1):
        started = start_effect(key, turn, earlier if turn == 1 else None)
        if started["kind"] != "started":
            return started
        begun = wait_until_started(key, started["text"])
        if begun["kind"] != "not yet":
            return begun
    minutes = get_engine_context().settings.dispatch_minutes
    text = f"the work was dispatched {MAX_STARTS} times, but never began within {minutes:g} minutes"
    return WorkOutcome(kind="unclear", text=text, mark="")


@DBOS.step(name="start_effect")
def start_effect(key: BatchKey, turn: int, earlier: EarlierRequest) -> WorkOutcome:
    """Start the work, or find work that was started by an earlier attempt or by an earlier execution of this step.

    If the response definitely was a refusal, the function does not search for started work.
    """
    context, batch = get_engine_context(), read_batch(get_engine_context().database, key)
    effect, request = context.effects.select(batch), read_request()
    if request and request[0] == turn:
        earlier = (request[1], "")
    asked: list[float] = []
    try:
        mark = find_earlier_start(effect, batch, *earlier) if earlier else ""
        mark = mark or effect.begin(batch, turn, lambda: asked.append(record_request(turn)))
    except EffectUnclear as problem:
        return WorkOutcome(kind="unclear", text=" ".join(problem.lines()), mark="")
    except Prd2prError as problem:
        return WorkOutcome(kind="refused", text=" ".join(problem.lines()), mark="")
    except Exception as error:
        log.exception("batch %s was interrupted", batch.id)
        return WorkOutcome(kind="unclear" if asked or earlier else "refused", text=repr(error), mark="")
    return WorkOutcome(kind="started", text=mark, mark=mark)


def record_request(turn: int) -> float:
    """Record that a request is about to be sent.

    This ends the execution if another one has taken over the workflow.
    """
    while True:
        since = time.monotonic()
        now = read_time()
        DBOS.set_event(REQUEST_EVENT, (turn, now))
        if time.monotonic() - since <= MAX_RECORD_SECONDS:
            return now


def read_request() -> tuple[int, float] | None:
    """Return the turn and time of the last request that this workflow recorded."""
    found: tuple[int, float] | None = DBOS.get_all_events(str(DBOS.workflow_id)).get(REQUEST_EVENT)
    return found


def read_time() -> float:
    with get_engine_context().database.reading() as connection:
        return read_database_time(connection)


def find_earlier_start(effect: Effect, batch: Batch, asked_at: float, mark: str) -> str:
    """Return the mark of work that was started earlier, or "".

    Waits as long as an earlier request may still be in flight.
    """
    while not mark:
        left = asked_at + effect.settles_in - read_time()
        try:
            mark = effect.find(batch) or ""
        except Prd2prError as problem:
            raise make_unclear("it is unknown whether the work was started", problem) from problem
        if left <= 0:
            break
        if not mark:
            time.sleep(min(left, FIRST_POLL_SECONDS))
    return mark


@DBOS.step(name="wait_until_started")
def wait_until_started(key: BatchKey, mark: str) -> WorkOutcome:
    context, batch = get_engine_context(), read_batch(get_engine_context().database, key)
    effect, ends = context.effects.select(batch), time.monotonic() + context.settings.dispatch_minutes * MINUTE
    interval = FIRST_POLL_SECONDS
    try:
        while not effect.has_started(batch, mark):
            if time.monotonic() >= ends:
                return WorkOutcome(kind="not yet", text=mark, mark=mark)
            time.sleep(interval)
            interval = min(MAX_POLL_SECONDS, interval * 2)
    except Prd2prError as problem:
        unclear = make_unclear("the work was started, but its state cannot be read", problem)
        return WorkOutcome(kind="unclear", text=" ".join(unclear.lines()), mark=mark)
    return WorkOutcome(kind="started", text=mark, mark=mark)


def make_unclear(what: str, problem: Prd2prError) -> EffectUnclear:
    return EffectUnclear(f"{what}: {problem.what}", where=problem.where, remedy=problem.remedy)


def enqueue_batch(key: BatchKey, name: str, earlier: EarlierRequest = None, delay: float = 0) -> None:
    """Queue an attempt at a batch. Only one attempt exists for each batch and name."""
    options = SetEnqueueOptions(queue_partition_key=key.lane, delay_seconds=delay or None)
    with SetWorkflowID(f"{key.id}/{name}"), options:
        DBOS.enqueue_workflow(QUEUE, process_batch, key.id, key.lane, key.attempt, earlier)


# --- timers -----------------------------------------------------------------------------------------------------------


@DBOS.workflow(name="track_order", max_recovery_attempts=None)
def track_order(order: str, tries: int, looks: int) -> None:
    """Check an order, and queue the next check at growing intervals, since a run may take hours."""
    if not get_engine_context().orders.check(order, tries):
        delay = min(MAX_CHECK_SECONDS, FIRST_CHECK_SECONDS * 1.5 ** min(looks, 20))
        enqueue_check(OrderTry(order, tries), looks + 1, delay)


def enqueue_check(key: OrderTry, looks: int, delay: float = 0, name: str = "") -> None:
    with SetWorkflowID(f"{key.name}/{name or looks}"), SetEnqueueOptions(delay_seconds=delay or None):
        DBOS.enqueue_workflow(ORDER_QUEUE, track_order, key.order, key.tries, looks)


@DBOS.workflow(name="sweep", max_recovery_attempts=None)
def run_sweep() -> float:
    """Run a sweep. Return the time up to which all deliveries are known, where the next sweep starts."""
    context, now = get_engine_context(), read_time()
    last = DBOS.list_workflows(name="sweep", status="SUCCESS", sort_desc=True, limit=1, load_input=False)
    since = float(last[0].output or 0.0) if last else 0.0
    if context.sweeper is None or not context.sweeper.sweep(now, since):
        return since
    forget_workflows(now - context.settings.keep_days * DAY)
    return now


def forget_workflows(before: float) -> None:
    """Delete the records of workflows that ended before the given time."""
    ended = datetime.fromtimestamp(before, UTC).isoformat()
    states = ["SUCCESS", "ERROR", "CANCELLED"]
    while old := DBOS.list_workflows(status=states, end_time=ended, limit=500, load_input=False, load_output=False):
        DBOS.delete_workflows([each.workflow_id for each in old])


# --- the engine -------------------------------------------------------------------------------------------------------


class WorkEngine:
    """A context manager; workflows run while it is open."""

    def __init__(self, context: EngineContext) -> None:
        self.context = context
        self._period = -1

    def __enter__(self) -> WorkEngine:
        """Launch dbos.

        If dbos was killed while creating its tables, it cannot resume. Its database is then recreated, which is safe
        because nothing in it is needed.
        """
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
        url, settings = make_dbos_url(self.context.settings.database), self.context.settings
        config: DBOSConfig = {
            "name": "prd2pr",
            "system_database_url": url,
            "application_version": STEPS_VERSION,
            # dbos recovers workflows of the same executor id. SQLite has only one server; replicas recover each
            # other's.
            "executor_id": "server" if self.context.database.is_sqlite else self.context.replica,
            "log_level": "ERROR",
            "use_listen_notify": False,
            "max_executor_threads": settings.effects_at_once + 4,
        }
        if self.context.database.is_sqlite:
            create_sqlite_file(url)
        DBOS(config=config)
        _contexts.append(self.context)
        try:
            DBOS.launch()
            DBOS.register_queue(
                QUEUE,
                worker_concurrency=settings.effects_at_once,
                partition_concurrency=1,
                partition_limiter={"limit": settings.rate_per_minute, "period": MINUTE},
                polling_interval_sec=QUEUE_POLL_SECONDS,
                on_conflict="always_update",
            )
            DBOS.register_queue(SWEEP_QUEUE, global_concurrency=1, on_conflict="always_update")
            # One at a time, since a repository's client must be used by one thread only.
            DBOS.register_queue(
                ORDER_QUEUE, worker_concurrency=1, polling_interval_sec=TIMER_POLL_SECONDS, on_conflict="always_update"
            )
        except BaseException:
            self._destroy(0)
            raise

    def __exit__(self, *_: object) -> None:
        """Stop starting workflows and wait briefly for the running ones; the next server recovers the rest."""
        self._destroy(FINISH_SECONDS)

    def _destroy(self, wait_seconds: int) -> None:
        DBOS.destroy(workflow_completion_timeout_sec=wait_seconds)
        _contexts.pop()

    def enqueue(self, key: BatchKey) -> None:
        """Queue a batch. Repeating this has no effect."""
        enqueue_batch(key, "1")

    def enqueue_check(self, key: OrderTry) -> None:
        """Queue the first check of an order. Repeating this has no effect."""
        enqueue_check(key, 1)

    def enqueue_sweep(self, now: float) -> None:
        """Queue this period's sweep. Repeating this has no effect, even in another replica."""
        period = int(now // (self.context.settings.sweep_minutes * MINUTE))
        if self.context.sweeper is not None and period != self._period:
            with SetWorkflowID(f"sweep-{period}"):
                DBOS.enqueue_workflow(SWEEP_QUEUE, run_sweep)
            self._period = period

    def recover(self, live_replicas: Collection[str]) -> None:
        """Queue the workflows of dead replicas again."""
        running = DBOS.list_queued_workflows(status="PENDING", load_input=False, load_output=False)
        held = {each.executor_id for each in running}
        dead = [each for each in held if each and each not in live_replicas]
        if dead:
            log.warning("the work of %d dead replicas is taken over", len(dead))
            DBOS._recover_pending_workflows(dead)

    def requeue_lost(self, batches: Iterable[BatchKey], orders: Iterable[OrderTry] = ()) -> None:
        """Queue the batches and orders that have no workflow. Read them before calling this.

        It is unknown whether work was started for these batches. The workflow's name includes the minute, so that two
        replicas queue a batch only once.
        """
        live = DBOS.list_queued_workflows(load_input=False, load_output=False)
        outdated = {each.workflow_id for each in live if each.app_version not in (None, STEPS_VERSION)}
        if outdated:
            DBOS.cancel_workflows(list(outdated))
        known = {each.workflow_id.rpartition("/")[0] for each in live if each.workflow_id not in outdated}
        now = read_time()
        for batch in batches:
            if batch.id not in known:
                log.warning("batch %s has no workflow and is queued again", batch.id)
                enqueue_batch(batch, f"m{int(now // MINUTE)}", earlier=(now, ""))
        for order in orders:
            if order.name not in known:
                enqueue_check(order, 1, name=f"m{int(now // MINUTE)}")


def create_sqlite_file(url: str) -> None:
    """Create the file for its owner only, in WAL mode, which flushes once per commit."""
    path = Path(str(make_url(url).database))
    path.touch(mode=0o600)
    match_directory_owner(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")


def delete_sqlite_files(url: str) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        Path(f"{make_url(url).database}{suffix}").unlink(missing_ok=True)


def make_dbos_url(url: str) -> str:
    """Return the URL of dbos's own database.

    On SQLite this is a second file, so that its writes do not wait for ours; on PostgreSQL it is a schema of the same
    database.
    """
    read = make_url(url)
    if read.get_backend_name() == "sqlite":
        return read.set(database=f"{read.database}-dbos").render_as_string(hide_password=False)
    return read.set(drivername="postgresql").render_as_string(hide_password=False)
