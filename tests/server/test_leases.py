"""Two holders of one claim: every interleaving of a slow holder and its successor.

`World` stands for GitHub: runs are found there by their mark, and it knows nothing of leases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from prd2pr.errors import HubProblem, Prd2prError
from prd2pr.server.database import Database
from prd2pr.server.work import claims, leases
from prd2pr.server.work.claims import WorkClaim
from prd2pr.server.work.dead_letters import list_dead_letters
from prd2pr.server.work.dispatch import make_run_mark
from prd2pr.server.work.effects import EffectUnclear, RecordRequest
from prd2pr.server.work.engine import EngineContext, process_claim
from prd2pr.server.work.leases import Lease
from server.app_world import states
from server.inbox_steps import SETTINGS, age_requests, claim_delivery, end_backoff, expire_leases, open_claims


def nothing(*_: object) -> None:
    pass


@dataclass
class World:
    """An effect with hooks right before the request, while it is sent, and right after."""

    before: Callable[[], None] = nothing
    sending: Callable[[], None] = nothing  # recorded, but not arrived yet
    answered: Callable[[], None] = nothing
    started: list[str] = field(default_factory=list)
    settles_in: float = 30.0

    def select(self, _: WorkClaim) -> World:
        return self

    def find(self, claim: WorkClaim, turn: int) -> str | None:
        marks = {make_run_mark(claim.id, each) for each in range(1, turn + 1)}
        return next((each for each in self.started if each in marks), None)

    def begin(self, claim: WorkClaim, turn: int, ask: RecordRequest) -> str:
        self.before()
        ask()
        self.sending()
        self.started.append(make_run_mark(claim.id, turn))
        self.answered()
        return self.started[-1]

    def has_started(self, claim: WorkClaim, mark: str) -> bool:
        return mark in self.started


def engine(database: Database, replica: str, world: World, sleep: Callable[[float], None] = nothing) -> EngineContext:
    return EngineContext(database, SETTINGS, replica, world, sleep=sleep)


def take_over(database: Database, replica: str = "two") -> Lease:
    expire_leases(database)
    (hold,) = leases.take_over_claims(database, replica, 60, 5)
    return hold


# --- a lost claim has no effect ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_claim_without_heartbeat_is_taken_over_once(either_database):
    database = either_database
    hold = claim_delivery(database, "a")
    leases.record_heartbeat(database, "one", 60, ["a.1"])
    assert leases.renew_lease(database, hold, 60) and leases.take_over_claims(database, "two", 60, 5) == []
    expire_leases(database)
    assert leases.take_over_claims(database, "one", 60, 5, active_claims=["a.1"]) == []  # not taken from itself
    assert leases.take_over_claims(database, "two", 60, 0) == []  # no capacity
    assert leases.take_over_claims(database, "two", 60, 5) == [Lease("a.1", "two", 1)]
    assert leases.take_over_claims(database, "three", 60, 5) == []
    leases.record_heartbeat(database, "one", 60, ["a.1"])  # too late
    expire_leases(database)
    assert leases.take_over_claims(database, "three", 60, 5) == [Lease("a.1", "three", 2)]


def test_a_slow_holder_keeps_a_claim_that_nobody_took(either_database):
    hold = claim_delivery(either_database, "a")
    expire_leases(either_database)
    assert leases.renew_lease(either_database, hold, 60)
    assert leases.take_over_claims(either_database, "two", 60, 5) == []


CHANGES = {
    "keeps": lambda database, hold: leases.renew_lease(database, hold, 60),
    "asks": lambda database, hold: leases.record_effect_request(database, hold, 1, 60),
    "notes": lambda database, hold: leases.record_effect_mark(database, hold, "m"),
    "settles": lambda database, hold: leases.settle_claim(database, hold, "m"),
    "fails": lambda database, hold: leases.fail_claim(database, hold, "no", SETTINGS),
    "puts off": lambda database, hold: leases.postpone_claim(database, hold, "who knows", SETTINGS),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("successor", ["another replica", "itself", "nobody yet"])
def test_a_lost_claim_has_no_effect(either_database, change, successor):
    """Its own replica may have taken it again, under another number."""
    database, hold = either_database, claim_delivery(either_database, "a")
    if successor == "nobody yet":
        leases.release_claims(database, "one")
    else:
        later = take_over(database, "two" if successor == "another replica" else "one")
    assert not CHANGES[change](database, hold)
    asked = claims.read_claim(database, "a.1").request
    assert states(database) == {"taken": 1} and (asked.turn, asked.mark) == (0, "")
    if successor != "nobody yet":
        assert CHANGES[change](database, later)


def test_a_released_claim_is_taken_over_at_once(either_database):
    claim_delivery(either_database, "a")
    leases.release_claims(either_database, "one")
    assert leases.take_over_claims(either_database, "two", 1, 5) == [Lease("a.1", "two", 1)]


def test_a_single_server_releases_the_claims_of_a_dead_one(either_database):
    claim_delivery(either_database, "a")
    assert leases.release_orphaned_claims(either_database, active_claims=["a.1"]) == 0
    assert leases.release_orphaned_claims(either_database, active_claims=[]) == 1
    assert leases.take_over_claims(either_database, "two", 1, 5) == [Lease("a.1", "two", 1)]


# --- one start, whoever is slow ---------------------------------------------------------------------------------------


def test_a_holder_that_slept_before_its_request_starts_nothing(either_database):
    database, world, ends = either_database, World(), []
    hold = claim_delivery(database, "a")

    def overtake() -> None:
        world.before = nothing
        ends.append(process_claim(engine(database, "two", world), take_over(database)))

    world.before = overtake
    assert process_claim(engine(database, "one", world), hold) == "taken over"
    assert ends == ["settled"] and world.started == [make_run_mark("a.1", 1)] and states(database) == {"done": 1}


def test_a_request_of_a_slow_holder_in_transit_is_waited_for(either_database):
    """The successor looks, finds nothing, and does not start it a second time: it arrives while it waits."""
    database, world, ends = either_database, World(), []
    hold = claim_delivery(database, "a")

    def overtake() -> None:
        def arrive(_: float) -> None:
            world.started.append(make_run_mark("a.1", 1))

        ends.append(process_claim(engine(database, "two", world, sleep=arrive), take_over(database)))
        world.started.clear()  # it is the same one, which `begin` is about to record

    world.sending = overtake
    assert process_claim(engine(database, "one", world), hold) == "taken over"
    assert ends == ["settled"] and world.started == [make_run_mark("a.1", 1)] and states(database) == {"done": 1}


def test_a_run_started_before_its_holder_slept_is_found(either_database):
    database, world, ends = either_database, World(), []
    hold = claim_delivery(database, "a")
    world.answered = lambda: ends.append(process_claim(engine(database, "two", world), take_over(database)))
    assert process_claim(engine(database, "one", world), hold) == "taken over"
    assert ends == ["settled"] and world.started == [make_run_mark("a.1", 1)] and states(database) == {"done": 1}


def test_a_request_of_a_dead_holder_is_repeated_once_it_cannot_arrive_any_more(either_database):
    database, world = either_database, World()
    hold = claim_delivery(database, "a")
    assert leases.record_effect_request(database, hold, 1, 60)  # and then it was killed
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        assert world.started == []
        waits.append(seconds)
        age_requests(database)

    assert process_claim(engine(database, "two", world, sleep), take_over(database)) == "settled"
    assert len(waits) == 1 and world.started == [make_run_mark("a.1", 1)] and states(database) == {"done": 1}


def test_an_accepted_request_is_not_repeated_by_a_successor(either_database):
    database, world = either_database, World()
    hold = claim_delivery(database, "a")
    assert leases.record_effect_request(database, hold, 1, 60) and leases.record_effect_mark(
        database, hold, make_run_mark("a.1", 1)
    )
    age_requests(database)

    def begins(_: float) -> None:
        world.started.append(make_run_mark("a.1", 1))

    assert process_claim(engine(database, "two", world, sleep=begins), take_over(database)) == "settled"
    assert world.started == [make_run_mark("a.1", 1)]


def test_nothing_is_waited_for_without_a_request(either_database):
    database, world = either_database, World()
    claim_delivery(database, "a")
    assert process_claim(engine(database, "two", world, sleep=lambda _: 1 / 0), take_over(database)) == "settled"
    assert world.started == [make_run_mark("a.1", 1)]


# --- unclear results are not retried under another claim --------------------------------------------------------------


def raising(error: Exception) -> Callable[[], None]:
    def now() -> None:
        raise error

    return now


@pytest.mark.parametrize("error", [EffectUnclear("no answer"), ConnectionResetError("the database, say")])
def test_an_unclear_claim_keeps_its_marks(either_database, error):
    database, world = either_database, World()
    world.answered = raising(error)
    process_claim(engine(database, "one", world), claim_delivery(database, "a"))
    assert states(database) == {"taken": 1} and open_claims(database) == []
    world.answered = nothing
    expire_leases(database)
    (hold,) = leases.take_over_claims(database, "two", 60, 5)
    assert hold.claim == "a.1" and process_claim(engine(database, "two", world), hold) == "settled"
    assert world.started == [make_run_mark("a.1", 1)]


def test_a_refusal_is_retried_as_another_claim(either_database):
    database, world = either_database, World()
    world.sending = raising(HubProblem("no such workflow"))
    assert process_claim(engine(database, "one", world), claim_delivery(database, "a")) == "failed"
    end_backoff(database)
    assert [each.claim for each in open_claims(database)] == ["a.2"]


def test_an_unreadable_effect_is_postponed_until_a_person_decides(either_database):
    database, hold = either_database, claim_delivery(either_database, "a")

    class Blind(World):
        def find(self, claim: WorkClaim, turn: int) -> str | None:
            raise Prd2prError("GitHub does not answer")

    assert leases.record_effect_request(database, hold, 1, 60)
    for ended in ("postponed", "postponed", "postponed"):
        assert process_claim(engine(database, "two", Blind()), take_over(database)) == ended
    (letter,) = list_dead_letters(database)
    assert "GitHub does not answer" in letter.reason
    assert leases.take_over_claims(database, "three", 60, 5) == [] and open_claims(database) == []
