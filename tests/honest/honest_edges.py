"""Code with side effects: output, files, environment, time, processes, databases."""

from __future__ import annotations

from honest_cycle import PLACE, Honest

CASES = [
    Honest(
        "a command line with capsys",
        base={"greet/__init__.py": ""},
        red={
            "tests/test_cli.py": """
                import pytest

                from greet.cli import main

                def test_it_greets(capsys):
                    assert main(["Ada"]) == 0
                    assert capsys.readouterr().out == "Hello, Ada!\\n"

                def test_a_name_is_needed(capsys):
                    with pytest.raises(SystemExit) as stopped:
                        main([])
                    assert stopped.value.code == 2
                    assert "name" in capsys.readouterr().err
                """
        },
        green={
            "greet/cli.py": """
                import argparse


                def main(argv=None):
                    parser = argparse.ArgumentParser(prog="greet")
                    parser.add_argument("name")
                    options = parser.parse_args(argv)
                    print(f"Hello, {options.name}!")
                    return 0
                """
        },
    ),
    Honest(
        "files under tmp_path",
        base={"notes.py": "SUFFIX = '.note'\n"},
        red={
            "tests/test_notes.py": """
                from notes import Notes

                def test_a_note_survives(tmp_path):
                    Notes(tmp_path).write("milk", "two bottles")
                    assert Notes(tmp_path).read("milk") == "two bottles"

                def test_there_is_one_file_per_note(tmp_path):
                    notes = Notes(tmp_path)
                    notes.write("a", "1")
                    notes.write("b", "2")
                    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.note", "b.note"]
                """
        },
        green={
            "notes.py": """
                SUFFIX = '.note'


                class Notes:
                    def __init__(self, directory):
                        self._directory = directory

                    def write(self, name, text):
                        (self._directory / f"{name}{SUFFIX}").write_text(text, encoding="utf-8")

                    def read(self, name):
                        return (self._directory / f"{name}{SUFFIX}").read_text(encoding="utf-8")
                """
        },
    ),
    Honest(
        "settings out of the environment",
        base={"app/__init__.py": "", "app/settings.py": "DEFAULT_PORT = 8000\n"},
        red={
            "tests/test_settings.py": """
                from app import settings

                def test_the_port_comes_from_the_environment(monkeypatch):
                    monkeypatch.setenv("APP_PORT", "9001")
                    assert settings.port() == 9001

                def test_there_is_a_default(monkeypatch):
                    monkeypatch.delenv("APP_PORT", raising=False)
                    assert settings.port() == settings.DEFAULT_PORT
                """
        },
        green={
            "app/settings.py": """
                import os

                DEFAULT_PORT = 8000


                def port():
                    return int(os.environ.get("APP_PORT", DEFAULT_PORT))
                """
        },
    ),
    Honest(
        "test data in a file",
        base={"ledger/__init__.py": ""},
        planned=("ledger.load.load_orders",),
        criteria=("story-1.c1",),
        integrated=True,
        red={
            f"{PLACE}/data/orders.csv": "id,amount\n1,20\n2,35\n",
            f"{PLACE}/test_story_1_orders.py": '''
                from pathlib import Path

                from ledger.load import load_orders

                DATA = Path(__file__).parent / "data"


                def test_orders_are_read_from_csv():
                    """story-1.c1"""
                    assert load_orders(DATA / "orders.csv") == {1: 20, 2: 35}
                ''',
        },
        green={
            "ledger/load.py": """
                import csv


                def load_orders(path):
                    with open(path, newline="", encoding="utf-8") as file:
                        return {int(row["id"]): int(row["amount"]) for row in csv.DictReader(file)}
                """
        },
    ),
    Honest(
        "a golden file with committed content",
        base={"invoice.py": "TITLE = 'Invoice'\n"},
        red={
            "tests/golden/invoice.txt": "Invoice\n-------\npear      3\nplum     12\n",
            "tests/test_invoice.py": """
                from pathlib import Path

                from invoice import render

                GOLDEN = Path(__file__).with_name("golden") / "invoice.txt"

                def test_the_invoice_looks_as_agreed():
                    assert render({"pear": 3, "plum": 12}) == GOLDEN.read_text()
                """,
        },
        green={
            "invoice.py": """
                TITLE = 'Invoice'


                def render(items):
                    lines = [TITLE, "-" * len(TITLE)]
                    lines += [f"{name:<6}{amount:>5}" for name, amount in items.items()]
                    return "\\n".join(lines) + "\\n"
                """
        },
    ),
    Honest(
        "asyncio, run inside the test",
        base={"feeds/__init__.py": ""},
        red={
            "tests/test_feeds.py": """
                import asyncio

                from feeds.gather import fetch_all

                async def fake_fetch(name):
                    await asyncio.sleep(0)
                    return name.upper()

                def test_all_feeds_come_in_order():
                    assert asyncio.run(fetch_all(["a", "b"], fake_fetch)) == ["A", "B"]
                """
        },
        green={
            "feeds/gather.py": """
                import asyncio


                async def fetch_all(names, fetch):
                    return list(await asyncio.gather(*(fetch(name) for name in names)))
                """
        },
    ),
    Honest(
        "sqlite in memory",
        base={"people/__init__.py": ""},
        red={
            "tests/test_people.py": """
                import sqlite3

                import pytest

                from people.store import People

                @pytest.fixture
                def people():
                    connection = sqlite3.connect(":memory:")
                    yield People(connection)
                    connection.close()

                def test_a_person_can_be_found(people):
                    people.add("Ada", 36)
                    assert people.age("Ada") == 36

                def test_a_stranger_has_no_age(people):
                    assert people.age("Bob") is None
                """
        },
        green={
            "people/store.py": """
                class People:
                    def __init__(self, connection):
                        self._connection = connection
                        connection.execute("create table if not exists people (name text primary key, age int)")

                    def add(self, name, age):
                        self._connection.execute("insert into people values (?, ?)", (name, age))

                    def age(self, name):
                        row = self._connection.execute("select age from people where name = ?", (name,)).fetchone()
                        return row[0] if row else None
                """
        },
    ),
    Honest(
        "a JSON round trip",
        base={
            "cards/__init__.py": "",
            "cards/card.py": "class Card:\n    def __init__(self, owner, points):\n"
            "        self.owner, self.points = owner, points\n",
        },
        red={
            "tests/test_codec.py": """
                import json

                import pytest

                from cards.card import Card
                from cards.codec import dumps, loads

                def test_round_trip():
                    again = loads(dumps(Card("Ada", 5)))
                    assert (again.owner, again.points) == ("Ada", 5)

                def test_the_form_on_disk():
                    assert json.loads(dumps(Card("Ada", 5))) == {"owner": "Ada", "points": 5}

                def test_garbage_is_refused():
                    with pytest.raises(ValueError):
                        loads("{")
                """
        },
        green={
            "cards/codec.py": """
                import json

                from cards.card import Card


                def dumps(card):
                    return json.dumps({"owner": card.owner, "points": card.points})


                def loads(text):
                    data = json.loads(text)
                    return Card(data["owner"], data["points"])
                """
        },
    ),
    Honest(
        "time through an injected clock",
        base={"tokens/__init__.py": ""},
        red={
            "tests/test_tokens.py": """
                from datetime import datetime, timedelta, timezone

                from tokens.token import Token

                NOON = datetime(2024, 5, 1, 12, tzinfo=timezone.utc)

                def test_a_token_is_valid_for_an_hour():
                    token = Token(issued=NOON)
                    assert token.valid(lambda: NOON + timedelta(minutes=59))
                    assert not token.valid(lambda: NOON + timedelta(minutes=61))
                """
        },
        green={
            "tokens/token.py": """
                from dataclasses import dataclass
                from datetime import datetime, timedelta


                @dataclass(frozen=True)
                class Token:
                    issued: datetime

                    def valid(self, now):
                        return now() - self.issued <= timedelta(hours=1)
                """
        },
    ),
    Honest(
        "a collaborator is mocked, the subject is not",
        base={"alerts/__init__.py": ""},
        red={
            "tests/test_alerts.py": """
                from unittest.mock import Mock

                from alerts.watch import check

                def test_too_hot_sends_a_message():
                    mailer = Mock()
                    check(temperature=95, mailer=mailer)
                    mailer.send.assert_called_once_with("too hot: 95")

                def test_cool_sends_nothing():
                    mailer = Mock()
                    assert check(temperature=20, mailer=mailer) is False
                    mailer.send.assert_not_called()
                """
        },
        green={
            "alerts/watch.py": """
                LIMIT = 90


                def check(temperature, mailer):
                    if temperature <= LIMIT:
                        return False
                    mailer.send(f"too hot: {temperature}")
                    return True
                """
        },
    ),
    Honest(
        "log lines through caplog",
        base={"jobs/__init__.py": ""},
        red={
            "tests/test_jobs.py": """
                import logging

                from jobs.run import run_all

                def test_a_failing_job_is_logged_and_the_rest_goes_on(caplog):
                    def bad():
                        raise RuntimeError("disk full")

                    with caplog.at_level(logging.WARNING):
                        assert run_all([bad, lambda: 2]) == [None, 2]
                    assert "disk full" in caplog.text
                """
        },
        green={
            "jobs/run.py": """
                import logging

                LOG = logging.getLogger(__name__)


                def run_all(jobs):
                    return [_run(job) for job in jobs]


                def _run(job):
                    try:
                        return job()
                    except RuntimeError as error:
                        LOG.warning("job failed: %s", error)
                        return None
                """
        },
    ),
    Honest(
        "threads in the subject",
        base={"pool/__init__.py": ""},
        red={
            "tests/test_pool.py": """
                from pool.work import in_parallel

                def test_results_keep_their_order():
                    assert in_parallel(lambda n: n * n, [3, 1, 2]) == [9, 1, 4]
                """
        },
        green={
            "pool/work.py": """
                from concurrent.futures import ThreadPoolExecutor


                def in_parallel(function, items):
                    with ThreadPoolExecutor(max_workers=2) as pool:
                        return list(pool.map(function, items))
                """
        },
    ),
    Honest(
        "properties by hypothesis, which the project names",
        base={
            "requirements-dev.txt": "pytest\nhypothesis\n",
            "runs.py": "def nothing():\n    return None\n",
        },
        red={
            "tests/test_runs.py": """
                from hypothesis import given, strategies as st

                from runs import decode, encode

                @given(st.text(alphabet="ab", max_size=8))
                def test_what_is_encoded_can_be_decoded(text):
                    assert decode(encode(text)) == text

                def test_runs_are_counted():
                    assert encode("aab") == [("a", 2), ("b", 1)]
                """
        },
        green={
            "runs.py": """
                from itertools import groupby


                def nothing():
                    return None


                def encode(text):
                    return [(sign, len(list(group))) for sign, group in groupby(text)]


                def decode(runs):
                    return "".join(sign * times for sign, times in runs)
                """
        },
    ),
]
