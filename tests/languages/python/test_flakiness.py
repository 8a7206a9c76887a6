"""The story's tests run under other conditions."""

from __future__ import annotations

from textwrap import dedent

import pytest
from small_projects import TARGET, exporter

from prd2pr.domain.results.mutation import MutationResult
from prd2pr.languages.python.mutation.plan import plan_mutations
from prd2pr.languages.python.rules.test_code.test_file import find_declared_tests
from prd2pr.languages.python.runner.pytest_runner import PytestRunner
from prd2pr.languages.test_runner import MutationRequest

TEST = """
    from app import number, second


    def test_number():
        assert number(1) == 2


    def test_second():
        assert second(5) == 6
    """


def failing_tests(app: str, test: str = TEST, **request: object) -> dict[str, tuple[str, ...] | str]:
    """Variation -> the tests that fail, or another outcome."""
    files = {"app.py": dedent(app), "test_app.py": dedent(test)}
    plan = plan_mutations({}, {"app.py": files["app.py"]}, {"test_app.py": files["test_app.py"]}, seed="s", most=1)
    ids = find_declared_tests("test_app.py", files["test_app.py"])
    asked = MutationRequest("t", tuple(ids), plan, 1, **request)  # type: ignore[arg-type]
    seen: MutationResult = PytestRunner(exporter(files), TARGET).start_mutation_run(asked)()
    assert seen.problems == ()
    return {way.name: way.tests if way.outcome == "failed" else way.why or way.outcome for way in seen.ways}


FINE = dict.fromkeys(["clock", "hash_seed", "reversed", "twice", "zone"], "passed")


@pytest.mark.slow
def test_dependence_on_order_time_and_zone_is_reported() -> None:
    seen = failing_tests("""
        import datetime
        from time import time as now

        asked = []


        def number(a):
            return a + 1 if 5 not in asked else 0


        def second(a):
            asked.append(a)
            if now() > 1_820_000_000:
                return 0
            return a + 1 + datetime.datetime.fromtimestamp(0).hour
        """)
    first, second = ("test_app.py::test_number",), ("test_app.py::test_second",)
    assert seen == {**FINE, "reversed": first, "twice": first, "clock": second, "zone": second}


def test_correct_use_of_clocks_and_files_is_not_reported() -> None:
    """Clock reads on import, file times, and functions as default values."""
    seen = failing_tests("""
        import datetime
        import os
        import tempfile
        import time
        from dataclasses import dataclass, field

        STARTED = time.time()


        @dataclass
        class Stamp:
            at: float = field(default_factory=time.time)
            on: datetime.datetime = field(default_factory=datetime.datetime.now)


        def number(a):
            with tempfile.NamedTemporaryFile() as file:
                age = time.time() - os.path.getmtime(file.name)
                os.utime(file.name, (time.time() - 50, time.time() - 50))
                older = time.time() - os.stat(file.name).st_mtime
            return a + 1 if age < 30 and 49 < older < 80 else 0


        def second(a):
            stamp = Stamp()
            near = abs(stamp.on.timestamp() - stamp.at) < 30 and stamp.on.date() == datetime.date.today()
            utc = datetime.datetime.now(tz=datetime.timezone.utc)
            near = near and time.strftime("%Y") == str(stamp.on.year) and abs(utc.timestamp() - time.time()) < 30
            return a + 1 if near and time.time() - STARTED < 200 else 0
        """)
    assert seen == FINE


@pytest.mark.slow
def test_another_program_has_its_own_clock() -> None:
    seen = failing_tests("""
        import subprocess
        import time


        def number(a):
            told = subprocess.run(["date", "+%s"], capture_output=True, text=True).stdout
            return a + 1 if abs(int(told) - time.time()) < 60 else 0


        def second(a):
            return a + 1
        """)
    assert seen == {**FINE, "clock": "the tests use other programs, whose clocks are not shifted"}


@pytest.mark.slow
def test_variations_run_only_on_request() -> None:
    plain = "def number(a):\n    return a + 1\n\n\ndef second(a):\n    return a + 1\n"
    assert failing_tests(plain, ways=False) == {}
    assert failing_tests(plain, hash_seed=0) == {way: told for way, told in FINE.items() if way != "hash_seed"}
