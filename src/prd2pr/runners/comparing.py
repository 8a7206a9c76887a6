"""Old code against new, inside the project's own Python: what tests call, and what lies near, given to both.

The launcher has loaded pytest and has seen nothing of the project. Twice it forks a session in which pytest collects
the tests: first with the files as they were before the step, then as they are. In the first, a fork runs the tests and
writes down which functions they call and with what (`recording.py`); inputs are made from that (`varying.py`). In each
session two forks make all calls (`calling.py`), in the same order: what is not alike in both depends on time or on
chance, and says nothing. A hidden function that was changed on purpose must
be found to differ, and a hidden test that must fail must be seen to fail; else nothing of all this is believed.

Executed by the project's own Python, like the launcher: standard library and pytest alone.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SESSION_WALL = 300.0
LOST = ({"unjudged": "it does not end"}, {"unjudged": "the process ended"})
CALLS_WALL = 60.0

Say = Callable[[dict[str, Any]], None]


class Session:
    """A pytest plugin that makes calls where pytest would run the tests."""

    def __init__(self, order: dict[str, Any], tools: Any, guard: Any, say: Say, cases: list[Any] | None) -> None:
        self._order, self._tools, self._guard, self._say, self._cases = order, tools, guard, say, cases
        self.reports = tools.seeing.Reports()
        root = order["checkout"] + os.sep
        self._files = {root + path.replace("/", os.sep): path for path in order["watched"]}
        self._targets = [{**each, "file": root + each["path"].replace("/", os.sep)} for each in order["targets"]]
        self._items: list[Any] = []
        self.on_import = tools.seeing.Tracer(set(self._files))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        self.on_import.stop()
        self._items = list(session.items)
        self._tools.seeing.leave_unsaid(session.config.pluginmanager)
        gc.freeze()
        for strange in self._guard.tampering():
            self._say({"problem": strange})
            return True
        told: list[dict[str, Any]] = []
        ended = self._tools.forks.forked(self._run_tests, told.append, wall=SESSION_WALL)
        if ended or len(told) != 1:
            self._say({"problem": f"the tests could not be run by themselves: {ended or 'no clear answer'}"})
            return True
        seen = told[0]
        self._say({"lines": seen["lines"], "failed": seen["failed"], "passed": seen["passed"]})
        if self._cases is None:
            self._cases = self._tools.varying.cases(
                self._order["targets"],
                [*seen["calls"], *self._order["hidden_calls"]],
                self._order["constants"],
                self._order["seed"],
            )
            self._say({"cases": self._cases, "unspoken": seen["unspoken"]})
        self._say({"outcomes": self._twice(self._cases)})
        return True

    def _run_tests(self, answer: Say) -> None:
        tracer = self._tools.seeing.Tracer(set(self._files))
        recorder = None
        if self._cases is None:
            recorder = self._tools.recording.Recorder(self._targets, self._tools.recipes, self._is_known)
        tracer.start()
        if recorder:
            recorder.start()
        try:
            for item, following in self._tools.seeing.in_turn(self._items):
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        finally:
            if recorder:
                recorder.stop()
            tracer.stop()
        seen = tracer.seen | self.on_import.seen
        answer({
            "lines": sorted((self._files[name], line) for name, line in seen),
            "failed": sorted(self.reports.failed),
            "passed": sorted(self.reports.good()),
            "calls": recorder.calls() if recorder else [],
            "unspoken": recorder.unspoken if recorder else {},
        })  # fmt: skip

    def _is_known(self, module: str) -> bool:
        """Of the project's own modules only its source: tests are not there when calls are made again."""
        place = getattr(sys.modules.get(module), "__file__", None) or ""
        if not place.startswith(self._order["checkout"] + os.sep):
            return True
        return module.partition(".")[0] in self._order["modules"]

    # --- making calls -------------------------------------------------------------------------------------------------

    def _twice(self, cases: list[dict[str, Any]]) -> dict[str, Any]:
        first = self._all(cases)
        second = self._all([case for case in cases if first[str(case["id"])] not in LOST])
        return {
            name: outcome if outcome == second.get(name, outcome) else {"unjudged": "not the same twice"}
            for name, outcome in first.items()
        }

    def _all(self, cases: list[dict[str, Any]]) -> dict[str, Any]:
        """The calls of each function in a fork of its own: what one leaves behind is there for no other.

        After a call that does not come back, the function's other calls are left: they would meet another past.
        """
        found: dict[str, Any] = {}
        deadline = time.monotonic() + CALLS_WALL
        for _, group in itertools.groupby(cases, key=lambda case: case["target"]):
            mine = list(group)
            told: list[dict[str, Any]] = []

            def work(answer: Say, mine: list[dict[str, Any]] = mine) -> None:
                self._tools.calling.make_calls(mine, self._tools, self._files, answer)

            wall = deadline - time.monotonic()
            ended = self._tools.forks.forked(work, told.append, wall=wall) if wall > 0 else "time"
            found.update({str(fact["case"]): fact["outcome"] for fact in told})
            lost = LOST[0] if ended == "time" else LOST[1]
            found.update({str(case["id"]): lost for case in mine[len(told) :]})
        return found


# --- both sides ------------------------------------------------------------------------------------------------------


class Swapped:
    """Files of the checkout with what they held before the step; `None` stands for no file at all."""

    def __init__(self, checkout: str, contents: dict[str, str | None]) -> None:
        self._contents = {Path(checkout, path): text for path, text in contents.items()}
        self._held: dict[Path, bytes | None] = {}

    def __enter__(self) -> None:
        for path, text in self._contents.items():
            self._held[path] = path.read_bytes() if path.exists() else None
            _put(path, None if text is None else text.encode())

    def __exit__(self, *_: object) -> None:
        for path, data in self._held.items():
            _put(path, data)


_clock = int(time.time()) - 900_000


def _put(path: Path, data: bytes | None) -> None:
    """Its time differs each time: no compiled copy is taken for it."""
    global _clock  # noqa: PLW0603
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    _clock += 2
    os.utime(path, (_clock, _clock))


def compare(order: dict[str, Any], tools: Any, run: Callable[..., int], guards: Callable[[], Any], say: Say) -> None:
    """`run` runs pytest with more plugins on some files; it is called in forks only."""
    cases: list[Any] = []
    with Swapped(order["checkout"], order["old"]):
        if not _session(order, tools, run, guards(), say, "before", None, cases):
            return
    _session(order, tools, run, guards(), say, "after", cases, [])


def _session(  # noqa: PLR0917 what a session is made of
    order: dict[str, Any], tools: Any, run: Callable[..., int], guard: Any, say: Say, side: str,
    cases: list[Any] | None, made: list[Any],
) -> bool:  # fmt: skip
    problems: list[str] = []

    def heard(fact: dict[str, Any]) -> None:
        problems.extend([fact["problem"]] if "problem" in fact else [])
        made.extend(fact.get("cases", []))
        say({"side": side, **fact})

    def collect(answer: Say) -> None:
        session = Session(order, tools, guard, answer, cases)
        session.on_import.start()
        chosen = tools.seeing.Chosen({*order["tests"], *order["hidden"]})
        run([session.reports, chosen, session], order["files"], guard)

    ended = tools.forks.forked(collect, heard, wall=SESSION_WALL + 2 * CALLS_WALL, shut=tuple(order["shut"]))
    if ended:
        say({"side": side, "problem": f"the comparison ended: {ended}"})
    return not ended and not problems
