"""Claims on real databases: one at a time for each repository, tried again, given up at last."""

from __future__ import annotations

import threading

from sqlalchemy import text

from prd2pr.core.intake import Intake
from prd2pr.server.database import now_of
from prd2pr.server.inbox.store import Delivery, forget, known, store
from prd2pr.server.work import claims, holding
from prd2pr.server.work.dead_letters import dead_letters, replay
from prd2pr.server.work.holding import Hold
from server.app_world import states
from server.queueing import SETTINGS, backoff_is_over, delivered, held, opened


def test_what_waits_in_a_repository_is_taken_together_and_once(either_database):
    database = either_database
    delivered(database, "b", "a", said="4@x.0")
    (hold,) = opened(database)
    assert hold == Hold("a.1", "one", 0)
    assert opened(database, "two") == []
    claim = claims.read(database, "a.1")
    assert {each.guid for each in claim.deliveries} == {"a", "b"}
    assert claim.deliveries[0].said == "4@x.0" and claim.asked.turn == 0
    delivered(database, "c")
    assert opened(database) == []  # one at a time for each repository
    assert holding.settle(database, hold, "run 7")
    assert not holding.settle(database, hold, "run 8")
    assert states(database) == {"done": 2, "waiting": 1}
    assert opened(database, "two") == [Hold("c.1", "two", 0)]


def test_repositories_do_not_wait_for_one_another(either_database):
    delivered(either_database, "a", lane="octo/one")
    delivered(either_database, "b", lane="octo/two")
    assert [each.claim for each in opened(either_database, most=1)] == ["a.1"]
    assert [each.claim for each in opened(either_database)] == ["b.1"]


def test_many_replicas_at_once_take_each_repository_once(either_database):
    for number in range(20):
        delivered(either_database, f"g{number}", lane=f"octo/r{number}")
    taken: list[str] = []
    failed: list[BaseException] = []

    def take(name: str) -> None:
        try:
            for _ in range(10):
                taken.extend(each.claim for each in opened(either_database, name, most=3))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=take, args=(f"replica-{at}",)) for at in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == [] and sorted(taken) == sorted(f"g{number}.1" for number in range(20))


def test_a_failed_try_waits_longer_each_time_and_ends_as_a_dead_letter(either_database):
    database = either_database
    slow = SETTINGS.model_copy(update={"backoff_seconds": 100.0})
    holding.fail(database, held(database, "a"), "no workflow", slow)
    assert states(database) == {"waiting": 1} and opened(database) == []
    with database.reading() as connection:
        waits = connection.execute(text("SELECT not_before FROM deliveries")).scalar_one() - now_of(connection)
    assert 95 < waits <= 100
    for attempt, why in ((2, "no workflow"), (3, "still no workflow")):
        backoff_is_over(database)
        (hold,) = opened(database)
        assert hold.claim == f"a.{attempt}"
        holding.fail(database, hold, why, SETTINGS)
    (letter,) = dead_letters(database)
    assert (letter.guid, letter.lane, letter.attempts, letter.reason) == ("a", "octo/calc", 3, "still no workflow")
    assert opened(database) == []


def test_a_dead_letter_that_is_replayed_has_all_of_its_tries_again(either_database):
    database = either_database
    delivered(database, "a", "b")
    for attempt in range(1, 4):
        (hold,) = opened(database)
        assert hold.claim == f"a.{attempt}"
        holding.fail(database, hold, "no", SETTINGS)
        backoff_is_over(database)
    assert replay(database, ["nobody"]) == []
    assert replay(database, ["b"]) == ["b"]
    (hold,) = opened(database)
    assert hold.claim == "b.4"
    holding.fail(database, hold, "no", SETTINGS)
    assert states(database) == {"dead": 1, "waiting": 1}
    assert replay(database) == ["a"]


def test_a_repository_that_had_enough_this_minute_waits(either_database):
    few = SETTINGS.model_copy(update={"rate_per_minute": 2})
    for guid in ("a", "b"):
        delivered(either_database, guid)
        (hold,) = opened(either_database, settings=few)
        holding.settle(either_database, hold, "")
    delivered(either_database, "c")
    delivered(either_database, "d", lane="octo/other")
    assert [each.claim for each in opened(either_database, settings=few)] == ["d.1"]


def test_a_repeat_while_it_is_worked_on_changes_nothing(either_database):
    held(either_database, "a")
    delivered(either_database, "a")
    assert states(either_database) == {"taken": 1}


def test_what_was_settled_long_ago_is_forgotten(either_database):
    delivered(either_database, "a", "b")
    store(either_database, [Delivery("i", "star", b"", 1.0, Intake("", "starts nothing"))])
    with either_database.writing() as connection:
        assert known(connection, ["a", "i", "x"]) == {"a", "i"}
        assert forget(connection, before=2.0) == 1
    assert states(either_database) == {"waiting": 2}
