"""Batches on real databases: taken once and together, retried, and dead-lettered in the end."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text

from prd2pr.github.events.delivery import DeliverySummary
from prd2pr.server.database import load_migrations, open_database
from prd2pr.server.inbox.store import InboxDelivery, delete_settled_deliveries, find_known_guids, store_deliveries
from prd2pr.server.work.batches import (
    BatchKey,
    fail_batch,
    list_taken,
    list_waiting,
    read_batch,
    settle_batch,
    take_batch,
)
from prd2pr.server.work.dead_letters import list_dead_letters, replay_dead_letters
from prd2pr.server.work.service import list_live_replicas, record_heartbeat, remove_replica
from server.app_world import states
from server.inbox_steps import add_deliveries, take_next


def test_waiting_deliveries_of_a_repository_are_taken_together_and_once(either_database):
    database = either_database
    add_deliveries(database, "b", "a", said="4@x.0")
    key = take_next(database)
    assert key == BatchKey("a.1", "octo/calc") and list_waiting(database) == [] and list_taken(database) == [key]
    batch = read_batch(database, key)
    assert {each.guid for each in batch.deliveries} == {"a", "b"} and batch.deliveries[0].comment == "4@x.0"
    assert len(settle_batch(database, key.id, "run 7")) == 2 and settle_batch(database, key.id, "run 7") == []
    assert states(database) == {"done": 2} and not take_batch(database, key) and list_taken(database) == []


def test_nothing_joins_a_batch_later(either_database):
    """Its run may have started before: what arrives now has a batch of its own, also if the step is repeated."""
    database = either_database
    add_deliveries(database, "a")
    key = take_next(database)
    add_deliveries(database, "b")
    assert take_batch(database, key)
    assert [each.guid for each in read_batch(database, key).deliveries] == ["a"]
    assert list_waiting(database) == [BatchKey("b.1", "octo/calc")]


def test_each_repository_has_a_batch_and_the_longest_waiting_is_first(either_database):
    add_deliveries(either_database, "z", lane="octo/one")
    add_deliveries(either_database, "a", lane="octo/two")
    add_deliveries(either_database, "b", lane="octo/one")
    assert list_waiting(either_database) == [BatchKey("z.1", "octo/one"), BatchKey("a.1", "octo/two")]


def test_of_concurrent_batches_of_a_repository_each_delivery_is_in_one(either_database):
    """As with two replicas, one of which has seen an older delivery than the other."""
    database = either_database
    for number in range(20):
        add_deliveries(database, f"g{number:02}", lane="octo/calc")
    failed: list[BaseException] = []

    def take(number: int) -> None:
        try:
            take_batch(database, BatchKey(f"g{number:02}.1", "octo/calc"))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=take, args=(number,)) for number in (0, 5, 5, 10)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == [] and states(database) == {"taken": 20}
    (key,) = list_taken(database)
    assert len(read_batch(database, key).deliveries) == 20


def test_attempts_are_counted_once_and_end_as_a_dead_letter(either_database):
    database = either_database
    add_deliveries(database, "a")
    key = take_next(database)
    fail_batch(database, key.id, "no workflow", is_last=False)
    assert states(database) == {"taken": 1}
    last = BatchKey(key.id, key.lane, 3)
    assert take_batch(database, last) and take_batch(database, last)
    assert list_taken(database) == [last]
    for _ in range(2):
        fail_batch(database, key.id, "still no workflow", is_last=True)
    (letter,) = list_dead_letters(database)
    assert (letter.guid, letter.lane, letter.attempts, letter.reason) == ("a", "octo/calc", 3, "still no workflow")
    assert list_waiting(database) == [] and not take_batch(database, last)


def test_a_replayed_dead_letter_is_another_batch_with_all_its_attempts(either_database):
    database = either_database
    add_deliveries(database, "a", "b")
    old = BatchKey(take_next(database).id, "octo/calc", 3)
    take_batch(database, old)
    fail_batch(database, old.id, "no", is_last=True)
    assert replay_dead_letters(database, ["nobody"]) == []
    assert replay_dead_letters(database, ["b"]) == ["b"]
    assert not take_batch(database, old), "its workflow is repeated: it was killed after the last step"
    key = take_next(database)
    assert key == BatchKey("b.4", "octo/calc") and list_taken(database) == [key]
    assert replay_dead_letters(database) == ["a"]
    assert not take_batch(database, old) and take_next(database).id == "a.4"


def test_redelivery_changes_nothing_unless_the_delivery_is_dead(either_database):
    database = either_database
    add_deliveries(database, "a")
    key = take_next(database)
    add_deliveries(database, "a")
    assert states(database) == {"taken": 1}
    fail_batch(database, key.id, "no", is_last=True)
    add_deliveries(database, "a")
    assert list_waiting(database) == [BatchKey("a.2", "octo/calc")]


def test_old_settled_deliveries_are_deleted(either_database):
    add_deliveries(either_database, "a", "b")
    store_deliveries(either_database, [InboxDelivery("i", "star", b"", 1.0, DeliverySummary("", "starts nothing"))])
    with either_database.writing() as connection:
        assert find_known_guids(connection, ["a", "i", "x"]) == {"a", "i"}
        assert delete_settled_deliveries(connection, before=2.0) == 1
    assert states(either_database) == {"waiting": 2}


def test_a_silent_replica_is_not_alive(either_database):
    record_heartbeat(either_database, "one")
    record_heartbeat(either_database, "two")
    assert list_live_replicas(either_database, 60) == {"one", "two"}
    remove_replica(either_database, "two")
    assert list_live_replicas(either_database, 60) == {"one"}
    with either_database.writing() as connection:
        connection.execute(text("UPDATE replicas SET seen_at = seen_at - 100"))
    assert list_live_replicas(either_database, 60) == set()


@pytest.fixture
def claims_database(request, tmp_path):
    """A database of the version that had claims, with deliveries in every state."""
    url = f"sqlite:///{tmp_path}/old.db"
    old = open_database(url, migrations=[each for each in load_migrations() if each.number not in (7, 24)])
    with old.writing() as connection:
        for guid, state, claim, attempts in (
            ("w", "waiting", "", 0), ("r", "waiting", "", 2), ("t", "taken", "t.1", 1), ("p", "taken", "q.4", 5),
            ("x", "dead", "x.3", 3), ("d", "done", "d.1", 1),
        ):  # fmt: skip
            connection.execute(
                text(
                    """INSERT INTO deliveries (guid, event, lane, received_at, body, state, claim, attempts, not_before)
                       VALUES (:guid, 'push', :guid, 1, :body, :state, :claim, :attempts, 9e9)"""
                ),
                {"guid": guid, "body": b"{}", "state": state, "claim": claim, "attempts": attempts},
            )
        connection.execute(
            text(
                """INSERT INTO claims (id, lane, replica, opened_at, lease_until, state)
                   VALUES ('t.1', 't', 'r', 1, 1, 'open')"""
            )
        )
    old.close()
    return url


def test_a_database_with_claims_is_migrated_and_loses_no_delivery(claims_database):
    database = open_database(claims_database)
    assert states(database) == {"waiting": 2, "taken": 2, "dead": 1, "done": 1}
    assert list_waiting(database) == [BatchKey("w.1", "w"), BatchKey("r.3", "r")]
    assert list_taken(database) == [BatchKey("q.4", "p", 5), BatchKey("t.1", "t", 1)]
    for each in (*list_waiting(database), *list_taken(database)):
        assert take_batch(database, each)
    assert replay_dead_letters(database) == ["x"] and take_next(database, "x").id == "x.4"
    database.close()
