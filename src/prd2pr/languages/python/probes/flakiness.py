"""Runs a story's tests under varied conditions: in reverse order, twice, at another time and in another time zone.

Runs under the project's own Python, like the launcher, and uses only the standard library and pytest. Passing tests
cost one more run and a fork. Only failures are examined further, in forks that each vary a single condition.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

SHIFT = (4400 * 24 + 7) * 3600  # seconds; changes the decade, year, month, weekday and hour
ZONE = "<+1245>-12:45"  # POSIX notation; more than half a day ahead of UTC, by a fraction of an hour
CPU_FLOOR, CPU_FACTOR = 1.0, 20.0
WALL_FLOOR, WALL_FACTOR = 15.0, 60.0

Send = Callable[[dict[str, Any]], None]
Prepare = Callable[[], str]
RerunTests = Callable[[list[Any]], list[str]]
RunTwice = Callable[[list[Any], RerunTests], tuple[list[str], list[str]]]


class FlakinessCheck:
    """Runs the tests under varied conditions and reports each variation's outcome."""

    def __init__(self, tools: Any, reports: Any, send: Send) -> None:
        self.items: list[Any] = []  # passing tests in their original order
        self._forks, self._tracing, self._clock = tools.forks, tools.line_tracer, tools.clock
        self._reports = reports
        self._send = send
        self.seconds = 0.0  # duration of one run of the tests

    # --- order --------------------------------------------------------------------------------------------------------

    def run_reversed(self) -> list[str]:
        """Rerun the tests in reverse order in this process and return those that fail."""
        return self._run_tests(self.items[::-1])

    def check_order(self, failed: list[str] | None, run_twice: RunTwice) -> None:
        """Check whether the tests depend on their order or fail when repeated.

        `failed` lists the failures of the reversed run, or is None if that run did not finish.
        """
        if failed == []:
            self._report("reversed", "passed")
            self._report("twice", "passed")
            return
        reversed_failures, ended = self._try_rounds([self.items[::-1]])
        self._conclude("reversed", reversed_failures, ended)
        found = self._check_twice(run_twice)
        if not reversed_failures and not ended and not found:
            self._report("once_more", "failed", failed or [])

    def _check_twice(self, run_twice: RunTwice) -> bool:
        """Run the tests twice and report the outcome. Return whether a test failed or the result is unclear.

        The code is considered the cause only if a call was answered differently, because the tests may keep state
        themselves.
        """

        def work(reply: Send) -> None:
            failed, changed_calls = run_twice(self.items, self._run_tests)
            reply({"failed": failed, "changed_calls": changed_calls})

        message, ended = self._run_in_fork(work, 2)
        failed, changed_calls = message.get("failed", []), message.get("changed_calls", [])
        if failed and not changed_calls:
            ended = "the tests require the code to keep state, or keep state themselves"
        self._conclude("twice", failed if changed_calls else [], ended, changed_calls[:1])
        return bool(failed or ended)

    def _conclude(self, variation: str, failed: list[str], ended: str, shown: list[str] | None = None) -> None:
        why = "".join(shown or []) if failed else ended
        self._report(variation, "failed" if failed else "not_judged" if ended else "passed", failed, why)

    # --- time ---------------------------------------------------------------------------------------------------------

    def check_time(self) -> None:
        """Run the tests with a shifted clock and time zone.

        Failures are rerun later with the shift in place before any import.
        """
        failed, ended = self._try_rounds([self.items], self._shift_clock_and_zone)
        if not failed and not ended:
            self._report("clock", "passed")
            self._report("zone", "passed")
            return
        for variation in ("clock", "zone"):
            failed, ended = self._try_rounds([self.items], partial(apply_variation, self._clock, variation))
            if failed:
                self._send({"fresh_variation": variation, "tests": failed})
            else:
                self._report(variation, "not_judged" if ended else "passed", why=ended)

    def _shift_clock_and_zone(self) -> str:
        return apply_variation(self._clock, "clock") or apply_variation(self._clock, "zone")

    # --- running ------------------------------------------------------------------------------------------------------

    def _try_rounds(self, rounds: list[list[Any]], prepare: Prepare | None = None) -> tuple[list[str], str]:
        """Run the rounds in a fork.

        Return the tests that fail in the last round, and the reason if the result is unclear.
        """

        def work(reply: Send) -> None:
            if prepare is not None and (why := prepare()):
                reply({"why": why})
                return
            for items in rounds:
                failed = self._run_tests(items)
            reply({"failed": failed})

        message, ended = self._run_in_fork(work, len(rounds))
        return message.get("failed", []), message.get("why", "") or ended

    def _run_in_fork(self, work: Callable[[Send], None], rounds: int) -> tuple[dict[str, Any], str]:
        messages: list[dict[str, Any]] = []
        seconds = self.seconds * rounds
        cpu, wall = CPU_FLOOR + CPU_FACTOR * seconds, WALL_FLOOR + WALL_FACTOR * seconds
        ended = self._forks.run_in_fork(work, messages.append, cpu=cpu, wall=wall)
        if ended or len(messages) != 1:
            return {}, "the tests did not end in time" if ended == "time" else ended or "there was no clear answer"
        return messages[0], ""

    def _run_tests(self, items: list[Any]) -> list[str]:
        self._reports.failed.clear()
        for item, next_item in self._tracing.pair_with_next(items):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=next_item)
        return [item.nodeid for item in self.items if item.nodeid in self._reports.failed]

    def _report(self, variation: str, outcome: str, tests: list[str] | None = None, why: str = "") -> None:
        self._send({"variation": variation, "outcome": outcome, "tests": tests or [], "why": why})


def apply_variation(clock: Any, variation: str, *, moved: bool = True) -> str:
    """Apply a variation. Return an empty string, or the reason why it cannot be applied.

    If `moved` is false, make all the preparations but do not shift the clock or time zone.
    """
    if variation == "clock":
        why = clock.ShiftedClock(SHIFT if moved else 0).install()
        return f"the clock cannot be shifted in this Python ({why})" if why else ""
    clock.set_time_zone(ZONE if moved else "UTC0")
    return ""


class ExternalProgramMonitor:
    """Records which tests used an external program or database, whose clock was not shifted."""

    def __init__(self) -> None:
        self.tests: set[str] = set()

    def watch(self) -> None:
        sys.addaudithook(self._on_audit_event)

    def _on_audit_event(self, event: str, _arguments: Any) -> None:
        if event in ("subprocess.Popen", "os.posix_spawn", "sqlite3.connect"):
            self.tests.add(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])


class FreshTimeRun:
    """Reruns tests that failed under a shifted clock in a new pytest session, so that imports are shifted too."""

    def __init__(self, tools: Any, run: Callable[..., int], order: dict[str, Any]) -> None:
        self._tools, self._run, self._order = tools, run, order

    def check(self, variation: str, tests: list[str]) -> dict[str, Any]:
        unshifted = self._run_pytest(variation, moved=False)
        shifted = self._run_pytest(variation, moved=True)
        if unshifted is None or shifted is None:
            return {
                "variation": variation,
                "outcome": "not_judged",
                "tests": [],
                "why": "the tests could not be run in a new session",
            }
        failed = [test for test in tests if test in shifted["failed"] and test in unshifted["good"]]
        relevant = [test for test in failed if test not in shifted["used_programs"]]
        if failed and not relevant:
            why = "the tests use other programs, whose clocks are not shifted"
            return {"variation": variation, "outcome": "not_judged", "tests": [], "why": why}
        return {"variation": variation, "outcome": "failed" if relevant else "passed", "tests": relevant, "why": ""}

    def _run_pytest(self, variation: str, *, moved: bool) -> dict[str, Any] | None:
        order, tracing = self._order, self._tools.line_tracer

        def work(reply: Send) -> None:
            monitor = ExternalProgramMonitor()
            monitor.watch()
            if apply_variation(self._tools.clock, variation, moved=moved):
                return
            reports = tracing.StopAtFirstFailure(None)
            self._run([reports, tracing.TestSelector({*order["tests"], *order["hidden"]})], order["files"])
            tests = sorted(monitor.tests)
            reply({"good": reports.passing_tests(), "failed": sorted(reports.failed), "used_programs": tests})

        messages: list[dict[str, Any]] = []
        ended = self._tools.forks.run_in_fork(work, messages.append, wall=WALL_FLOOR * 10)
        if ended or len(messages) != 1:
            return None
        failing = any(tracing.is_case_of(test, order["failing"]) for test in messages[0]["failed"])
        return messages[0] if failing else None
