"""Claims on real databases: one at a time per repository, retried, and dead-lettered in the end."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text

from prd2pr.github.events.delivery import DeliverySummary
from prd2pr.server.database import read_database_time
from prd2pr.server.inbox.store import InboxDelivery, delete_settled_deliveries, find_known_guids, store_deliveries
from prd2pr.server.work import claims, leases
from prd2pr.server.work.dead_letters import list_dead_letters, replay_dead_letters
from prd2pr.server.work.leases import Lease
from server.app_world import states
from server.inbox_steps import SETTINGS, add_deliveries, claim_delivery, end_backoff, open_claims


@pytest.mark.slow
def test_waiting_deliveries_of_a_repository_are_claimed_together_and_once(either_database):
    database = either_database
    add_deliveries(database, "b", "a", said="4@x.0")
    (hold,) = open_claims(database)
    assert hold == Lease("a.1", "one", 0)
    assert open_claims(database, "two") == []
    claim = claims.read_claim(database, "a.1")
    assert {each.guid for each in claim.deliveries} == {"a", "b"}
    assert claim.deliveries[0].comment == "4@x.0" and claim.request.turn == 0
    add_deliveries(database, "c")
    assert open_claims(database) == []  # one at a time per repository
    assert leases.settle_claim(database, hold, "run 7")
    assert not leases.settle_claim(database, hold, "run 8")
    assert states(database) == {"done": 2, "waiting": 1}
    assert open_claims(database, "two") == [Lease("c.1", "two", 0)]


def test_repositories_do_not_wait_for_one_another(either_database):
    add_deliveries(either_database, "a", lane="octo/one")
    add_deliveries(either_database, "b", lane="octo/two")
    assert [each.claim for each in open_claims(either_database, most=1)] == ["a.1"]
    assert [each.claim for each in open_claims(either_database)] == ["b.1"]


def test_concurrent_replicas_claim_each_repository_once(either_database):
    for number in range(20):
        add_deliveries(either_database, f"g{number}", lane=f"octo/r{number}")
    taken: list[str] = []
    failed: list[BaseException] = []

    def take(name: str) -> None:
        try:
            for _ in range(10):
                taken.extend(each.claim for each in open_claims(either_database, name, most=3))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=take, args=(f"replica-{at}",)) for at in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == [] and sorted(taken) == sorted(f"g{number}.1" for number in range(20))


def test_retries_back_off_and_end_as_a_dead_letter(either_database):
    database = either_database
    slow = SETTINGS.model_copy(update={"backoff_seconds": 100.0})
    leases.fail_claim(database, claim_delivery(database, "a"), "no workflow", slow)
    assert states(database) == {"waiting": 1} and open_claims(database) == []
    with database.reading() as connection:
        waits = connection.execute(text("SELECT not_before FROM deliveries")).scalar_one() - read_database_time(
            connection
        )
    assert 95 < waits <= 100
    for attempt, why in ((2, "no workflow"), (3, "still no workflow")):
        end_backoff(database)
        (hold,) = open_claims(database)
        assert hold.claim == f"a.{attempt}"
        leases.fail_claim(database, hold, why, SETTINGS)
    (letter,) = list_dead_letters(database)
    assert (letter.guid, letter.lane, letter.attempts, letter.reason) == ("a", "octo/calc", 3, "still no workflow")
    assert open_claims(database) == []


def test_a_replayed_dead_letter_has_all_its_attempts_again(either_database):
    database = either_database
    add_deliveries(database, "a", "b")
    for attempt in range(1, 4):
        (hold,) = open_claims(database)
        assert hold.claim == f"a.{attempt}"
        leases.fail_claim(database, hold, "no", SETTINGS)
        end_backoff(database)
    assert replay_dead_letters(database, ["nobody"]) == []
    assert replay_dead_letters(database, ["b"]) == ["b"]
    (hold,) = open_claims(database)
    assert hold.claim == "b.4"
    leases.fail_claim(database, hold, "no", SETTINGS)
    assert states(database) == {"dead": 1, "waiting": 1}
    assert replay_dead_letters(database) == ["a"]


def test_a_repository_over_its_rate_waits(either_database):
    few = SETTINGS.model_copy(update={"rate_per_minute": 2})
    for guid in ("a", "b"):
        add_deliveries(either_database, guid)
        (hold,) = open_claims(either_database, settings=few)
        leases.settle_claim(either_database, hold, "")
    add_deliveries(either_database, "c")
    add_deliveries(either_database, "d", lane="octo/other")
    assert [each.claim for each in open_claims(either_database, settings=few)] == ["d.1"]


def test_redelivery_during_processing_changes_nothing(either_database):
    claim_delivery(either_database, "a")
    add_deliveries(either_database, "a")
    assert states(either_database) == {"taken": 1}


def test_old_settled_deliveries_are_deleted(either_database):
    add_deliveries(either_database, "a", "b")
    store_deliveries(either_database, [InboxDelivery("i", "star", b"", 1.0, DeliverySummary("", "starts nothing"))])
    with either_database.writing() as connection:
        assert find_known_guids(connection, ["a", "i", "x"]) == {"a", "i"}
        assert delete_settled_deliveries(connection, before=2.0) == 1
    assert states(either_database) == {"waiting": 2}
