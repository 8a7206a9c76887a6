"""A story's tests once more in other circumstances: in another order, twice, later, elsewhere.

Executed by the project's own Python, like the launcher: standard library and pytest alone. What passes costs one more
run of the tests and a fork; only what fails is looked at closely, in forks that differ by one circumstance each.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

SHIFT = (4400 * 24 + 7) * 3600  # seconds: another decade, year, month, day of the week and hour
ZONE = "<+1245>-12:45"  # as POSIX writes it: ahead of UTC by more than half a day, and by no full hour
CPU_FLOOR, CPU_FACTOR = 1.0, 20.0
WALL_FLOOR, WALL_FACTOR = 15.0, 60.0

Say = Callable[[dict[str, Any]], None]
Prepare = Callable[[], str]
Run = Callable[[list[Any]], list[str]]
Twice = Callable[[list[Any], Run], tuple[list[str], list[str]]]


class Ways:
    def __init__(self, tools: Any, reports: Any, say: Say) -> None:
        self.items: list[Any] = []  # tests that pass, in their order
        self._forks, self._see, self._clocks = tools.forks, tools.seeing, tools.clocks
        self._reports = reports
        self._say = say
        self.spent = 0.0  # what the tests take once, in seconds

    # --- order --------------------------------------------------------------------------------------------------------

    def backwards(self) -> list[str]:
        """In this very process, where they have just run forwards: which fail now?"""
        return self._failures(self.items[::-1])

    def judge_order(self, failed: list[str] | None, twice: Twice) -> None:
        """`failed`: what running backwards came to; None where it came to no end. `twice` runs forwards two times."""
        if failed == []:
            self._tell("reversed", "passed")
            self._tell("twice", "passed")
            return
        backwards, ended = self._tried([self.items[::-1]])
        self._conclude("reversed", backwards, ended)
        found = self._judge_twice(twice)
        if not backwards and not ended and not found:
            self._tell("once_more", "failed", failed or [])

    def _judge_twice(self, twice: Twice) -> bool:
        """It counts against the code only if a call was answered otherwise: tests may keep things themselves."""

        def work(answer: Say) -> None:
            failed, otherwise = twice(self.items, self._failures)
            answer({"failed": failed, "otherwise": otherwise})

        told, ended = self._forked(work, 2)
        failed, otherwise = told.get("failed", []), told.get("otherwise", [])
        if failed and not otherwise:
            ended = "the tests want something to be remembered, or keep it themselves"
        self._conclude("twice", failed if otherwise else [], ended, otherwise[:1])
        return bool(failed or ended)

    def _conclude(self, way: str, failed: list[str], ended: str, shown: list[str] | None = None) -> None:
        why = "".join(shown or []) if failed else ended
        self._tell(way, "failed" if failed else "not_judged" if ended else "passed", failed, why)

    # --- time ---------------------------------------------------------------------------------------------------------

    def judge_time(self) -> None:
        """What fails is said to be looked at again: with the clock moved before anything is imported."""
        failed, ended = self._tried([self.items], self._later_elsewhere)
        if not failed and not ended:
            self._tell("clock", "passed")
            self._tell("zone", "passed")
            return
        for way in ("clock", "zone"):
            failed, ended = self._tried([self.items], partial(circumstance, self._clocks, way))
            if failed:
                self._say({"anew_way": way, "tests": failed})
            else:
                self._tell(way, "not_judged" if ended else "passed", why=ended)

    def _later_elsewhere(self) -> str:
        return circumstance(self._clocks, "clock") or circumstance(self._clocks, "zone")

    # --- running ------------------------------------------------------------------------------------------------------

    def _tried(self, rounds: list[list[Any]], prepare: Prepare | None = None) -> tuple[list[str], str]:
        """In a fork: which tests fail in the last round, and why nothing can be said where that is so."""

        def work(answer: Say) -> None:
            if prepare is not None and (why := prepare()):
                answer({"why": why})
                return
            for items in rounds:
                failed = self._failures(items)
            answer({"failed": failed})

        told, ended = self._forked(work, len(rounds))
        return told.get("failed", []), told.get("why", "") or ended

    def _forked(self, work: Callable[[Say], None], rounds: int) -> tuple[dict[str, Any], str]:
        told: list[dict[str, Any]] = []
        spent = self.spent * rounds
        cpu, wall = CPU_FLOOR + CPU_FACTOR * spent, WALL_FLOOR + WALL_FACTOR * spent
        ended = self._forks.forked(work, told.append, cpu=cpu, wall=wall)
        if ended or len(told) != 1:
            return {}, "the tests did not end in time" if ended == "time" else ended or "there was no clear answer"
        return told[0], ""

    def _failures(self, items: list[Any]) -> list[str]:
        self._reports.failed.clear()
        for item, following in self._see.in_turn(items):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        return [item.nodeid for item in self.items if item.nodeid in self._reports.failed]

    def _tell(self, way: str, outcome: str, tests: list[str] | None = None, why: str = "") -> None:
        self._say({"way": way, "outcome": outcome, "tests": tests or [], "why": why})


def circumstance(clocks: Any, way: str, *, moved: bool = True) -> str:
    """Empty, or why it could not be brought about. Not `moved`: all is done but the moving itself."""
    if way == "clock":
        why = clocks.Clock(SHIFT if moved else 0).install()
        return f"the clock cannot be moved in this Python ({why})" if why else ""
    clocks.move_zone(ZONE if moved else "UTC0")
    return ""


class Outside:
    """Which tests asked somebody whose clock was not moved: another program, or a database."""

    def __init__(self) -> None:
        self.asked: set[str] = set()

    def watch(self) -> None:
        sys.addaudithook(self._heard)

    def _heard(self, event: str, _arguments: Any) -> None:
        if event in ("subprocess.Popen", "os.posix_spawn", "sqlite3.connect"):
            self.asked.add(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])


class Anew:
    """What failed with the clock moved under its feet, from the beginning: all imports happen at that time too."""

    def __init__(self, tools: Any, run: Callable[..., int], order: dict[str, Any]) -> None:
        self._tools, self._run, self._order = tools, run, order

    def judge(self, way: str, tests: list[str]) -> dict[str, Any]:
        still = self._pytest(way, moved=False)
        then = self._pytest(way, moved=True)
        if still is None or then is None:
            return {"way": way, "outcome": "not_judged", "tests": [], "why": "the tests do not run from the beginning"}
        failed = [test for test in tests if test in then["failed"] and test in still["good"]]
        mine = [test for test in failed if test not in then["asked"]]
        if failed and not mine:
            why = "other programs that the tests ask have a clock of their own"
            return {"way": way, "outcome": "not_judged", "tests": [], "why": why}
        return {"way": way, "outcome": "failed" if mine else "passed", "tests": mine, "why": ""}

    def _pytest(self, way: str, *, moved: bool) -> dict[str, Any] | None:
        order, see = self._order, self._tools.seeing

        def work(answer: Say) -> None:
            outside = Outside()
            outside.watch()
            if circumstance(self._tools.clocks, way, moved=moved):
                return
            reports = see.Noticing(None)
            self._run([reports, see.Chosen({*order["tests"], *order["hidden"]})], order["files"])
            asked = sorted(outside.asked)
            answer({"good": reports.good(), "failed": sorted(reports.failed), "asked": asked})

        told: list[dict[str, Any]] = []
        ended = self._tools.forks.forked(work, told.append, wall=WALL_FLOOR * 10)
        return told[0] if not ended and len(told) == 1 and order["failing"] in told[0]["failed"] else None
