"""Batches as dbos workflows, and every interleaving of a slow execution and its successor on another replica.

`World` stands for GitHub: runs are found there by their mark, and it knows nothing of workflows. A replica that is
declared dead while it works is one whose workflows are recovered: `take_over`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

import pytest
from dbos import DBOS, SetEnqueueOptions, SetWorkflowID
from sqlalchemy import text

from prd2pr.errors import HubProblem, Prd2prError
from prd2pr.server.database import Database, open_database
from prd2pr.server.orders.store import OrderTry
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work import engine as engine_module
from prd2pr.server.work.batches import Batch, BatchKey, list_taken, list_waiting, take_batch
from prd2pr.server.work.dead_letters import list_dead_letters
from prd2pr.server.work.dispatch import make_run_mark
from prd2pr.server.work.effects import MAX_STARTS, EffectUnclear, RecordRequest
from prd2pr.server.work.engine import ORDER_QUEUE, QUEUE, EngineContext, WorkEngine, forget_workflows, process_batch
from server.app_world import wait_until
from server.inbox_steps import add_deliveries

REPLICA = "one"
numbers = count(1)


def nothing(*_: object) -> None:
    pass


def raising(error: Exception) -> Callable[[], None]:
    def now() -> None:
        raise error

    return now


@dataclass
class World:
    """An effect with hooks right before the request, while it is sent, and right after."""

    before: Callable[[], None] = nothing
    sending: Callable[[], None] = nothing  # recorded, but not arrived yet
    answered: Callable[[], None] = nothing
    looking: Callable[[], None] = nothing
    checking: Callable[[], None] = nothing
    started: list[str] = field(default_factory=list)
    handled: list[list[str]] = field(default_factory=list)
    begun: int = 0
    returned: int = 0
    looks: int = 0
    checks: int = 0
    settles_in: float = 1.0

    def find(self, batch: Batch) -> str | None:
        self.looks += 1
        self.looking()
        marks = {make_run_mark(batch.id, each) for each in range(1, MAX_STARTS + 1)}
        return next((each for each in self.started if each in marks), None)

    def begin(self, batch: Batch, turn: int, ask: RecordRequest) -> str:
        self.begun += 1
        try:
            self.before()
            ask()
            self.sending()
            self.handled.append([each.guid for each in batch.deliveries])
            self.started.append(make_run_mark(batch.id, turn))
            self.answered()
            return self.started[-1]
        finally:
            self.returned += 1

    def has_started(self, batch: Batch, mark: str) -> bool:
        self.checking()
        has_started = mark in self.started
        self.checks += 1
        return has_started


class Worlds(dict[str, World]):
    def select(self, batch: Batch) -> World:
        return self[batch.lane]


@dataclass
class Duties:
    """Orders with the number of checks until their outcome is known, and sweeps."""

    open_checks: dict[str, int] = field(default_factory=dict)
    checked: list[tuple[str, int]] = field(default_factory=list)
    swept: list[tuple[float, float]] = field(default_factory=list)
    finishes: bool = True
    may_check: threading.Event = field(default_factory=threading.Event)

    def check(self, order: str, tries: int) -> bool:
        self.may_check.wait(60)
        self.checked.append((order, tries))
        self.open_checks[order] -= 1
        return self.open_checks[order] <= 0

    def sweep(self, now: float, since: float) -> bool:
        self.swept.append((now, since))
        return self.finishes


@dataclass
class Stage:
    """An open engine, with one repository for each test."""

    database: Database
    engine: WorkEngine
    worlds: Worlds
    duties: Duties
    lane: str = ""

    @property
    def world(self) -> World:
        return self.worlds[self.lane]

    def name(self, delivery: str, lane: str = "") -> str:
        return f"{lane or self.lane}-{delivery}".replace("/", ".")

    def deliver(self, *names: str, lane: str = "") -> list[str]:
        """Store deliveries and queue their batch, as the service does; return their ids."""
        guids = [self.name(each, lane) for each in names]
        add_deliveries(self.database, *guids, lane=lane or self.lane)
        for each in list_waiting(self.database):
            self.engine.enqueue(each)
        return guids

    def states(self, lane: str = "") -> dict[str, int]:
        with self.database.reading() as connection:
            query = text("SELECT state, count(*) AS number FROM deliveries WHERE lane = :lane GROUP BY state")
            return {row.state: row.number for row in connection.execute(query, {"lane": lane or self.lane})}

    def wait_for(self, **states: int) -> None:
        wait_until(lambda: self.states() == states, 90)

    def wait_until_idle(self) -> None:
        wait_until(lambda: not self.live(), 90)

    def live(self) -> list[str]:
        live = DBOS.list_queued_workflows(queue_name=QUEUE, load_input=False)
        return [each.workflow_id for each in live if each.workflow_id.startswith(self.name("a")[:-1])]

    def take_over(self) -> None:
        """Another replica declares this one dead, and continues its work."""
        self.engine.recover(live_replicas=())

    def overtake(self) -> None:
        """Sleep until the successor has done all the work."""
        self.world.before = self.world.sending = self.world.answered = self.world.checking = nothing
        self.take_over()
        self.wait_for(done=1)


def make_settings(url: str, **more: object) -> ServerSettings:
    given = {"backoff_seconds": 0.01, "attempts": 3, "rate_per_minute": 1000, "dispatch_minutes": 2}
    return ServerSettings(database=url, **(given | more))


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def opened(request, tmp_path_factory) -> Iterator[Stage]:
    place = tmp_path_factory.mktemp("engine")
    url = f"sqlite:///{place}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    database, worlds, duties = open_database(url), Worlds(), Duties()
    with WorkEngine(EngineContext(database, make_settings(url), REPLICA, worlds, duties, duties)) as engine:
        yield Stage(database, engine, worlds, duties)
    database.close()


@pytest.fixture
def stage(opened: Stage) -> Iterator[Stage]:
    lane = f"octo/r{next(numbers)}"
    opened.worlds[lane] = World()
    opened.duties.may_check.set()
    yield Stage(opened.database, opened.engine, opened.worlds, opened.duties, lane)
    with opened.database.writing() as connection:
        connection.execute(text("DELETE FROM deliveries"))


# --- the queue --------------------------------------------------------------------------------------------------------


def test_a_repository_is_worked_on_once_at_a_time_and_what_waits_is_handled_together(stage):
    go_on = threading.Event()
    stage.world.before = lambda: go_on.wait(60)
    (first,) = stage.deliver("a")
    wait_until(lambda: stage.world.begun == 1)
    later = [*stage.deliver("b"), *stage.deliver("c"), *stage.deliver("d")]
    other = f"{stage.lane}-other"
    stage.worlds[other] = World()
    stage.deliver("a", lane=other)
    wait_until(lambda: stage.states(other) == {"done": 1}, 120)
    assert stage.world.begun == 1 and stage.states() == {"taken": 1, "waiting": 3}
    stage.world.before = nothing
    go_on.set()
    stage.wait_for(done=4)
    assert stage.world.handled == [[first], later]


def test_a_batch_is_queued_once_however_often_it_is_requested(stage):
    stage.deliver("a")
    stage.deliver("a")
    stage.wait_for(done=1)
    stage.engine.enqueue(BatchKey(f"{stage.name('a')}.1", stage.lane))
    stage.wait_until_idle()
    assert stage.world.begun == 1


# --- one start, whoever is slow ---------------------------------------------------------------------------------------


def test_an_execution_that_slept_before_its_request_sends_nothing(stage):
    stage.world.before = stage.overtake
    stage.deliver("a")
    stage.wait_for(done=1)
    stage.wait_until_idle()
    wait_until(lambda: stage.world.returned == 2)
    assert stage.world.begun == 2 and len(stage.world.started) == 1


def test_without_the_check_before_a_request_both_would_send_it(stage, monkeypatch):
    """A planted bug, which shows that the test above can fail."""
    monkeypatch.setattr(engine_module, "record_request", lambda _: 0.0)
    stage.world.before = stage.overtake
    stage.deliver("a")
    wait_until(lambda: len(stage.world.started) == 2)


@pytest.mark.slow
def test_the_work_of_a_live_replica_is_left_alone(stage):
    states = []

    def look() -> None:
        stage.engine.recover(live_replicas=[DBOS.executor_id])
        states.extend(each.status for each in DBOS.list_queued_workflows(queue_name=QUEUE, load_input=False))

    stage.world.before = look
    stage.deliver("a")
    stage.wait_for(done=1)
    assert states == ["PENDING"], "it was queued again"
    stage.wait_until_idle()
    assert stage.world.begun == 1


@pytest.mark.slow
def test_a_request_of_a_slow_execution_in_transit_is_waited_for(stage):
    """The successor looks, finds nothing, and does not start it a second time: it arrives while it waits."""
    world = stage.world

    def sleep() -> None:
        world.sending = nothing
        stage.take_over()
        wait_until(lambda: world.looks > 0, 120)

    world.sending, world.settles_in = sleep, 20.0
    stage.deliver("a")
    stage.wait_for(done=1)
    assert world.begun == 1 and len(world.started) == 1 and world.looks > 0


def test_a_run_started_before_its_execution_slept_is_found(stage):
    stage.world.answered = stage.overtake
    stage.deliver("a")
    stage.wait_for(done=1)
    assert stage.world.begun == 1 and len(stage.world.started) == 1


@pytest.mark.slow
def test_a_request_of_a_dead_execution_is_repeated_once_it_cannot_arrive_any_more(stage):
    world, asked = stage.world, []

    def die() -> None:
        asked.append(time.time())
        stage.overtake()
        raise EffectUnclear("it was killed, in fact")

    world.sending = die
    world.before = lambda: asked.append(time.time())
    stage.deliver("a")
    stage.wait_for(done=1)
    stage.wait_until_idle()
    assert world.looks > 0 and len(world.started) == 1 and time.time() - asked[0] >= world.settles_in


def test_an_accepted_request_is_not_repeated_by_a_successor(stage):
    """It was accepted and is not visible yet: the successor waits for it."""
    world, hidden = stage.world, []

    def sleep() -> None:
        world.checking = nothing
        hidden.extend(world.started)
        world.started.clear()
        stage.take_over()
        wait_until(lambda: world.checks > 0, 120)
        world.started.extend(hidden)

    world.checking = sleep
    stage.deliver("a")
    stage.wait_for(done=1)
    assert world.begun == 1 and world.looks == 0


@pytest.mark.slow
def test_a_start_that_does_not_begin_is_repeated_with_another_mark(stage, monkeypatch):
    monkeypatch.setattr(engine_module, "MINUTE", 1)
    world = stage.world
    world.answered = lambda: world.started.pop() if world.begun == 1 else None
    world.begin = lambda batch, turn, ask: World.begin(world, batch, turn, ask) if turn > 1 else "accepted, then lost"
    (guid,) = stage.deliver("a")
    stage.wait_for(done=1)
    assert world.started == [make_run_mark(f"{guid}.1", 2)]


# --- retries ----------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("error", [EffectUnclear("no answer"), ConnectionResetError("the database, say")])
def test_a_start_with_an_unclear_result_is_looked_up_and_not_repeated(stage, error):
    stage.world.answered = raising(error)
    stage.deliver("a")
    stage.wait_for(done=1)
    assert stage.world.begun == 1 and stage.world.looks > 0 and len(stage.world.started) == 1


@pytest.mark.slow
def test_a_refusal_is_retried_without_a_look(stage):
    world = stage.world
    world.sending = lambda: raising(HubProblem("no such workflow"))() if world.begun == 1 else None
    stage.deliver("a")
    stage.wait_for(done=1)
    assert world.begun == 2 and world.looks == 0


@pytest.mark.slow
def test_an_unreadable_effect_is_retried_until_a_person_decides(stage):
    world = stage.world
    world.answered, world.looking = raising(EffectUnclear("no answer")), raising(Prd2prError("GitHub does not answer"))
    stage.deliver("a")
    stage.wait_for(dead=1)
    (letter,) = list_dead_letters(stage.database)
    assert "GitHub does not answer" in letter.reason and letter.attempts == 3
    assert world.begun == 1 and world.looks == 2
    stage.wait_until_idle()


# --- orders and sweeps ------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_an_order_is_checked_until_its_outcome_is_known_by_one_chain_of_checks(stage):
    order, duties = OrderTry(stage.name("order"), 2), stage.duties
    duties.open_checks[order.order] = 2
    duties.may_check.clear()
    for _ in range(3):
        stage.engine.enqueue_check(order)
        stage.engine.requeue_lost([], [order])
    duties.may_check.set()
    wait_until(lambda: duties.open_checks[order.order] == 0, 120)
    wait_until(lambda: not DBOS.list_queued_workflows(queue_name=ORDER_QUEUE, load_input=False), 120)
    assert duties.checked.count((order.order, 2)) == 2


def test_an_order_whose_check_is_lost_is_checked_again(stage):
    order = OrderTry(stage.name("order"), 1)
    stage.duties.open_checks[order.order] = 1
    stage.engine.requeue_lost([], [order])
    wait_until(lambda: stage.duties.open_checks[order.order] == 0, 120)


@pytest.mark.slow
def test_a_period_is_swept_once_and_a_sweep_continues_where_the_last_one_finished(stage):
    swept, period = stage.duties.swept, stage.engine.context.settings.sweep_minutes * 60
    before = len(swept)
    another = WorkEngine(stage.engine.context)
    for number, finishes in ((1, True), (2, False), (3, True)):
        stage.duties.finishes = finishes
        stage.engine.enqueue_sweep(number * period)
        another.enqueue_sweep(number * period)
        wait_until(lambda at=before + number: len(swept) == at, 120)
        wait_until(lambda: not DBOS.list_queued_workflows(queue_name="sweeps"), 120)
    first, second, third = swept[before:]
    assert second[1] == first[0] and third[1] == first[0]


# --- batches without a workflow ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("is_started", [True, False])
def test_a_batch_whose_workflow_is_lost_is_looked_up_and_continued(stage, is_started):
    """As after an upgrade, or if dbos's database was lost or the inbox restored."""
    world, lane, guid = stage.world, stage.lane, stage.name("a")
    add_deliveries(stage.database, guid, lane=lane)
    key = BatchKey(f"{guid}.1", lane, 2)
    assert take_batch(stage.database, key)
    world.started = [make_run_mark(key.id, 1)] if is_started else []
    stage.engine.requeue_lost(list_taken(stage.database))
    stage.engine.requeue_lost(list_taken(stage.database))
    stage.wait_for(done=1)
    assert world.begun == (0 if is_started else 1) and world.looks > 0 and len(world.started) == 1


def test_a_live_batch_is_not_queued_again(stage):
    go_on = threading.Event()
    stage.world.before = lambda: go_on.wait(60)
    stage.deliver("a")
    wait_until(lambda: stage.world.begun == 1)
    stage.deliver("b")
    stage.engine.requeue_lost([*list_waiting(stage.database), *list_taken(stage.database)])
    assert len(stage.live()) == 2
    go_on.set()
    stage.wait_for(done=2)


@pytest.mark.slow
def test_a_batch_of_another_version_is_continued_by_this_one(stage):
    guid = stage.name("a")
    add_deliveries(stage.database, guid, lane=stage.lane)
    options = SetEnqueueOptions(queue_partition_key=stage.lane, app_version="an older one")
    with SetWorkflowID(f"{guid}.1/1"), options:
        DBOS.enqueue_workflow(QUEUE, process_batch, f"{guid}.1", stage.lane, 1, None)
    stage.engine.requeue_lost(list_waiting(stage.database))
    stage.wait_for(done=1)
    stage.wait_until_idle()
    assert stage.world.begun == 1


@pytest.mark.slow
def test_old_records_are_deleted(stage):
    stage.deliver("a")
    stage.wait_for(done=1)
    stage.wait_until_idle()
    assert DBOS.list_workflows(workflow_id_prefix=stage.name("a"))
    forget_workflows(time.time() + 60)
    assert not DBOS.list_workflows(workflow_id_prefix=stage.name("a"))
