"""Two that believe to hold one claim: every order in which a slow holder and its successor can meet, by hand.

`World` stands for GitHub: what is started there is found by its mark, and nothing there knows of leases.
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
from server.queueing import SETTINGS, backoff_is_over, held, it_was_long_ago, leases_run_out, opened


def nothing(*_: object) -> None:
    pass


@dataclass
class World:
    """An effect, which does what a test says right before it asks, and right after."""

    before: Callable[[], None] = nothing
    sending: Callable[[], None] = nothing  # it is on record, and has not arrived
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


def labour(database: Database, replica: str, world: World, sleep: Callable[[float], None] = nothing) -> EngineContext:
    return EngineContext(database, SETTINGS, replica, world, sleep=sleep)


def taken_over(database: Database, replica: str = "two") -> Lease:
    leases_run_out(database)
    (hold,) = leases.take_over_claims(database, replica, 60, 5)
    return hold


# --- whoever lost a claim changes nothing -----------------------------------------------------------------------------


def test_a_claim_without_signs_is_taken_over_once(either_database):
    database = either_database
    hold = held(database, "a")
    leases.record_heartbeat(database, "one", 60, ["a.1"])
    assert leases.renew_lease(database, hold, 60) and leases.take_over_claims(database, "two", 60, 5) == []
    leases_run_out(database)
    assert (
        leases.take_over_claims(database, "one", 60, 5, active_claims=["a.1"]) == []
    )  # one's own is not taken from oneself
    assert leases.take_over_claims(database, "two", 60, 0) == []  # there is no room for it
    assert leases.take_over_claims(database, "two", 60, 5) == [Lease("a.1", "two", 1)]
    assert leases.take_over_claims(database, "three", 60, 5) == []
    leases.record_heartbeat(database, "one", 60, ["a.1"])  # too late
    leases_run_out(database)
    assert leases.take_over_claims(database, "three", 60, 5) == [Lease("a.1", "three", 2)]


def test_who_is_slow_keeps_what_nobody_has_taken(either_database):
    hold = held(either_database, "a")
    leases_run_out(either_database)
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
def test_who_lost_a_claim_can_do_nothing_about_it(either_database, change, successor):
    """Its own replica may have taken it again, under another number."""
    database, hold = either_database, held(either_database, "a")
    if successor == "nobody yet":
        leases.release_claims(database, "one")
    else:
        later = taken_over(database, "two" if successor == "another replica" else "one")
    assert not CHANGES[change](database, hold)
    asked = claims.read_claim(database, "a.1").request
    assert states(database) == {"taken": 1} and (asked.turn, asked.mark) == (0, "")
    if successor != "nobody yet":
        assert CHANGES[change](database, later)


def test_what_a_replica_lets_go_is_taken_over_at_once(either_database):
    held(either_database, "a")
    leases.release_claims(either_database, "one")
    assert leases.take_over_claims(either_database, "two", 1, 5) == [Lease("a.1", "two", 1)]


def test_a_server_that_is_alone_frees_what_a_dead_one_held(either_database):
    held(either_database, "a")
    assert leases.release_orphaned_claims(either_database, active_claims=["a.1"]) == 0
    assert leases.release_orphaned_claims(either_database, active_claims=[]) == 1
    assert leases.take_over_claims(either_database, "two", 1, 5) == [Lease("a.1", "two", 1)]


# --- one start, whoever sleeps when -----------------------------------------------------------------------------------


def test_a_holder_that_slept_before_it_asked_starts_nothing(either_database):
    database, world, ends = either_database, World(), []
    hold = held(database, "a")

    def overtaken() -> None:
        world.before = nothing
        ends.append(process_claim(labour(database, "two", world), taken_over(database)))

    world.before = overtaken
    assert process_claim(labour(database, "one", world), hold) == "taken over"
    assert ends == ["settled"] and world.started == [make_run_mark("a.1", 1)] and states(database) == {"done": 1}


def test_what_a_slow_holder_has_on_its_way_is_waited_for(either_database):
    """The successor looks, finds nothing, and does not start it a second time: it arrives while it waits."""
    database, world, ends = either_database, World(), []
    hold = held(database, "a")

    def overtaken() -> None:
        def arrives(_: float) -> None:
            world.started.append(make_run_mark("a.1", 1))

        ends.append(process_claim(labour(database, "two", world, sleep=arrives), taken_over(database)))
        world.started.clear()  # it is the same one, which `begin` is about to note

    world.sending = overtaken
    assert process_claim(labour(database, "one", world), hold) == "taken over"
    assert ends == ["settled"] and world.started == [make_run_mark("a.1", 1)] and states(database) == {"done": 1}


def test_what_was_started_before_its_holder_slept_is_found(either_database):
    database, world, ends = either_database, World(), []
    hold = held(database, "a")
    world.answered = lambda: ends.append(process_claim(labour(database, "two", world), taken_over(database)))
    assert process_claim(labour(database, "one", world), hold) == "taken over"
    assert ends == ["settled"] and world.started == [make_run_mark("a.1", 1)] and states(database) == {"done": 1}


def test_what_died_with_its_holder_is_started_once_it_cannot_arrive_any_more(either_database):
    database, world = either_database, World()
    hold = held(database, "a")
    assert leases.record_effect_request(database, hold, 1, 60)  # and then it was killed
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        assert world.started == []
        waits.append(seconds)
        it_was_long_ago(database)

    assert process_claim(labour(database, "two", world, sleep), taken_over(database)) == "settled"
    assert len(waits) == 1 and world.started == [make_run_mark("a.1", 1)] and states(database) == {"done": 1}


def test_what_was_accepted_and_is_not_yet_there_is_not_asked_for_again_by_a_successor(either_database):
    database, world = either_database, World()
    hold = held(database, "a")
    assert leases.record_effect_request(database, hold, 1, 60) and leases.record_effect_mark(
        database, hold, make_run_mark("a.1", 1)
    )
    it_was_long_ago(database)

    def begins(_: float) -> None:
        world.started.append(make_run_mark("a.1", 1))

    assert process_claim(labour(database, "two", world, sleep=begins), taken_over(database)) == "settled"
    assert world.started == [make_run_mark("a.1", 1)]


def test_nothing_is_waited_for_where_nothing_was_asked(either_database):
    database, world = either_database, World()
    held(database, "a")
    assert process_claim(labour(database, "two", world, sleep=lambda _: 1 / 0), taken_over(database)) == "settled"
    assert world.started == [make_run_mark("a.1", 1)]


# --- what is not known is not tried under another name ----------------------------------------------------------------


def raising(error: Exception) -> Callable[[], None]:
    def now() -> None:
        raise error

    return now


@pytest.mark.parametrize("error", [EffectUnclear("no answer"), ConnectionResetError("the database, say")])
def test_a_claim_of_which_nobody_knows_keeps_its_marks(either_database, error):
    database, world = either_database, World()
    world.answered = raising(error)
    process_claim(labour(database, "one", world), held(database, "a"))
    assert states(database) == {"taken": 1} and opened(database) == []
    world.answered = nothing
    leases_run_out(database)
    (hold,) = leases.take_over_claims(database, "two", 60, 5)
    assert hold.claim == "a.1" and process_claim(labour(database, "two", world), hold) == "settled"
    assert world.started == [make_run_mark("a.1", 1)]


def test_a_refusal_is_an_answer_and_is_tried_again_as_another_claim(either_database):
    database, world = either_database, World()
    world.sending = raising(HubProblem("no such workflow"))
    assert process_claim(labour(database, "one", world), held(database, "a")) == "failed"
    backoff_is_over(database)
    assert [each.claim for each in opened(database)] == ["a.2"]


def test_what_cannot_be_looked_at_is_put_off_until_a_person_has_to_decide(either_database):
    database, hold = either_database, held(either_database, "a")

    class Blind(World):
        def find(self, claim: WorkClaim, turn: int) -> str | None:
            raise Prd2prError("GitHub does not answer")

    assert leases.record_effect_request(database, hold, 1, 60)
    for ended in ("postponed", "postponed", "postponed"):
        assert process_claim(labour(database, "two", Blind()), taken_over(database)) == ended
    (letter,) = list_dead_letters(database)
    assert "GitHub does not answer" in letter.reason
    assert leases.take_over_claims(database, "three", 60, 5) == [] and opened(database) == []
