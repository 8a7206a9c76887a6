"""Claims on real databases: one holder for each repository, whoever dies; on SQLite, and on PostgreSQL where it is."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from prd2pr.core.intake import Intake
from prd2pr.server.database import Database, open_database
from prd2pr.server.inbox.store import Delivery, counts, forget, known, store
from prd2pr.server.settings import ServerSettings
from prd2pr.server.work import claims
from server.postgres import binaries, postgres

SETTINGS = ServerSettings(lease_seconds=60, backoff_seconds=0.01, attempts=3, rate_per_minute=100)


@pytest.fixture(scope="module")
def postgres_url() -> Iterator[str]:
    if binaries() is None:
        pytest.skip("NOT TESTED: PostgreSQL's binaries (initdb) are not on this machine")
    with postgres(durable=False) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path}/s.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    opened = open_database(url)
    with opened.writing() as connection:
        for table in ("deliveries", "claims", "replicas"):
            connection.execute(text(f"DELETE FROM {table}"))
    yield opened
    opened.close()


def delivered(database: Database, *guids: str, lane: str = "octo/calc", said: str = "") -> None:
    store(database, [Delivery(guid, "push", b"{}", 1.0, Intake(lane, said=said)) for guid in guids])


def opened(database: Database, replica: str = "one", most: int = 5, settings: ServerSettings = SETTINGS) -> list[str]:
    return claims.open_claims(database, replica, settings, most)


def states(database: Database) -> dict[str, int]:
    with database.reading() as connection:
        return counts(connection)


def test_what_waits_in_a_repository_is_taken_together_and_once(database):
    delivered(database, "b", "a", said="4@x.0")
    assert opened(database) == ["a.1"]
    assert opened(database, "two") == []
    claim = claims.adopt(database, "a.1", "one", 1)
    assert claim is not None and {each.guid for each in claim.deliveries} == {"a", "b"}
    assert claim.deliveries[0].said == "4@x.0" and not claim.resumed
    delivered(database, "c")
    assert opened(database) == []  # one at a time for each repository
    assert claims.settle(database, "a.1", "run 7")
    assert not claims.settle(database, "a.1", "run 8")
    assert states(database) == {"done": 2, "waiting": 1}
    assert opened(database, "two") == ["c.1"]


def test_repositories_do_not_wait_for_one_another(database):
    delivered(database, "a", lane="octo/one")
    delivered(database, "b", lane="octo/two")
    assert opened(database, most=1) == ["a.1"]
    assert opened(database) == ["b.1"]


def test_many_replicas_at_once_take_each_repository_once(database):
    for number in range(20):
        delivered(database, f"g{number}", lane=f"octo/r{number}")
    taken: list[str] = []
    failed: list[BaseException] = []

    def take(name: str) -> None:
        try:
            for _ in range(10):
                taken.extend(opened(database, name, most=3))
        except Exception as error:
            failed.append(error)

    threads = [threading.Thread(target=take, args=(f"replica-{at}",)) for at in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == [] and sorted(taken) == sorted(f"g{number}.1" for number in range(20))


def test_a_claim_without_signs_is_taken_over_and_its_first_holder_may_not_go_on(database):
    delivered(database, "a")
    opened(database)
    claims.adopt(database, "a.1", "one", 60)
    claims.give_signs(database, "one", 60, ["a.1"])
    assert claims.holds(database, "a.1", "one", 60) and claims.take_over(database, 60) == []
    hour_passes(database)
    assert claims.take_over(database, 60, held=["a.1"]) == []  # one's own is not taken from oneself
    claims.give_signs(database, "one", 60, [])  # of this one there are none
    assert claims.take_over(database, 60) == ["a.1"]
    claims.give_signs(database, "one", 60, ["a.1"])  # too late
    assert not claims.holds(database, "a.1", "one", 60)
    assert claims.take_over(database, 60) == []
    adopted = claims.adopt(database, "a.1", "two", 60)
    assert adopted is not None and adopted.resumed
    assert claims.holds(database, "a.1", "two", 60) and not claims.holds(database, "a.1", "one", 60)


def test_who_is_slow_keeps_what_nobody_has_taken(database):
    delivered(database, "a")
    opened(database)
    hour_passes(database)
    assert claims.holds(database, "a.1", "one", 60)
    assert claims.take_over(database, 60) == []


def hour_passes(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(text("UPDATE claims SET lease_until = 1"))


def test_what_a_replica_lets_go_is_taken_over_at_once(database):
    delivered(database, "a")
    opened(database)
    claims.let_go(database, "one")
    assert claims.take_over(database, 1) == ["a.1"]


def test_a_failed_try_waits_longer_each_time_and_ends_as_a_dead_letter(database):
    delivered(database, "a")
    slow = SETTINGS.model_copy(update={"backoff_seconds": 100.0})
    opened(database)
    claims.fail(database, "a.1", "no workflow", slow)
    assert states(database) == {"waiting": 1} and opened(database) == []
    with database.writing() as connection:
        waits = connection.execute(text("SELECT not_before FROM deliveries")).scalar_one() - claims.now_of(connection)
        connection.execute(text("UPDATE deliveries SET not_before = 0"))
    assert 95 < waits <= 100
    assert opened(database) == ["a.2"]
    claims.fail(database, "a.2", "no workflow", SETTINGS)
    threading.Event().wait(0.05)
    assert opened(database) == ["a.3"]
    claims.fail(database, "a.3", "still no workflow", SETTINGS)
    (letter,) = claims.dead_letters(database)
    assert (letter.guid, letter.lane, letter.attempts, letter.reason) == ("a", "octo/calc", 3, "still no workflow")
    assert opened(database) == []


def test_a_dead_letter_that_is_replayed_has_all_of_its_tries_again(database):
    delivered(database, "a", "b")
    for attempt in range(1, 4):
        assert opened(database) == [f"a.{attempt}"]
        claims.fail(database, f"a.{attempt}", "no", SETTINGS)
        threading.Event().wait(0.05)
    assert claims.replay(database, ["nobody"]) == []
    assert claims.replay(database, ["b"]) == ["b"]
    assert opened(database) == ["b.4"]
    claims.fail(database, "b.4", "no", SETTINGS)
    assert states(database) == {"dead": 1, "waiting": 1}
    assert claims.replay(database) == ["a"]


def test_a_repository_that_had_enough_this_minute_waits(database):
    few = SETTINGS.model_copy(update={"rate_per_minute": 2})
    for guid in ("a", "b"):
        delivered(database, guid)
        assert opened(database, settings=few) == [f"{guid}.1"]
        claims.settle(database, f"{guid}.1", "")
    delivered(database, "c")
    delivered(database, "d", lane="octo/other")
    assert opened(database, settings=few) == ["d.1"]


def test_a_repeat_while_it_is_worked_on_changes_nothing(database):
    delivered(database, "a")
    opened(database)
    delivered(database, "a")
    assert states(database) == {"taken": 1}


def test_what_was_settled_long_ago_is_forgotten(database):
    delivered(database, "a", "b")
    store(database, [Delivery("i", "star", b"", 1.0, Intake("", "starts nothing"))])
    with database.writing() as connection:
        assert known(connection, ["a", "i", "x"]) == {"a", "i"}
        assert forget(connection, before=2.0) == 1
    assert states(database) == {"waiting": 2}
