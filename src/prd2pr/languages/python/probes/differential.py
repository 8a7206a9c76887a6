"""Makes the same calls to the old and the new code under the project's own Python and compares the outcomes.

The launcher has loaded pytest but nothing from the project. It forks two sessions in which pytest collects the tests:
the first with the files from before the step, the second with the new ones. In the first session, a fork runs the tests
and records which functions they call with which arguments (`recipe_recorder.py`), and further inputs are derived from
these (`input_variation.py`). In each session, two forks make all calls in the same order (`calls.py`). If the two forks
disagree, the outcome depends on time or chance and proves nothing. As controls, a deliberately changed function must be
reported as different and a hidden failing test must fail; otherwise the result is rejected.

Runs under the project's own Python, like the launcher, and uses only the standard library and pytest.
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
LOST_OUTCOMES = ({"unjudged": "it does not return"}, {"unjudged": "the process ended"})
CALLS_WALL = 60.0

Send = Callable[[dict[str, Any]], None]


class DifferentialSession:
    """A pytest plugin that makes the calls instead of running the tests."""

    def __init__(self, order: dict[str, Any], tools: Any, guard: Any, send: Send, cases: list[Any] | None) -> None:
        self._order, self._tools, self._guard, self._send, self._cases = order, tools, guard, send, cases
        self.reports = tools.line_tracer.ReportCollector()
        root = order["checkout"] + os.sep
        self._files = {root + path.replace("/", os.sep): path for path in order["watched"]}
        self._targets = [{**each, "file": root + each["path"].replace("/", os.sep)} for each in order["targets"]]
        self._items: list[Any] = []
        self.on_import = tools.line_tracer.LineTracer(set(self._files))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        self.on_import.stop()
        self._items = list(session.items)
        self._tools.line_tracer.remove_reporters(session.config.pluginmanager)
        gc.freeze()
        for problem in self._guard.find_tampering():
            self._send({"problem": problem})
            return True
        messages: list[dict[str, Any]] = []
        ended = self._tools.forks.run_in_fork(self._run_tests, messages.append, wall=SESSION_WALL)
        if ended or len(messages) != 1:
            self._send({"problem": f"the tests could not be run by themselves: {ended or 'no clear reply'}"})
            return True
        run = messages[0]
        self._send({"lines": run["lines"], "failed": run["failed"], "passed": run["passed"]})
        if self._cases is None:
            self._cases = self._tools.input_variation.generate_cases(
                self._order["targets"],
                [*run["calls"], *self._order["hidden_calls"]],
                self._order["constants"],
                self._order["seed"],
            )
            self._send({"cases": self._cases, "unrecorded": run["unrecorded"]})
        self._send({"outcomes": self._call_twice(self._cases)})
        return True

    def _run_tests(self, reply: Send) -> None:
        tracer = self._tools.line_tracer.LineTracer(set(self._files))
        recorder = None
        if self._cases is None:
            recorder = self._tools.recipe_recorder.RecipeRecorder(
                self._targets, self._tools.value_recipes, self._is_known
            )
        tracer.start()
        if recorder:
            recorder.start()
        try:
            for item, next_item in self._tools.line_tracer.pair_with_next(self._items):
                item.ihook.pytest_runtest_protocol(item=item, nextitem=next_item)
        finally:
            if recorder:
                recorder.stop()
            tracer.stop()
        lines = tracer.lines | self.on_import.lines
        reply({
            "lines": sorted((self._files[name], line) for name, line in lines),
            "failed": sorted(self.reports.failed),
            "passed": sorted(self.reports.passing_tests()),
            "calls": recorder.calls() if recorder else [],
            "unrecorded": recorder.unrecorded if recorder else {},
        })  # fmt: skip

    def _is_known(self, module: str) -> bool:
        """Return whether the module can be imported when calls are replayed.

        This is false for the project's test modules.
        """
        place = getattr(sys.modules.get(module), "__file__", None) or ""
        if not place.startswith(self._order["checkout"] + os.sep):
            return True
        return module.partition(".")[0] in self._order["modules"]

    # --- making calls -------------------------------------------------------------------------------------------------

    def _call_twice(self, cases: list[dict[str, Any]]) -> dict[str, Any]:
        first = self._make_all_calls(cases)
        second = self._make_all_calls([case for case in cases if first[str(case["id"])] not in LOST_OUTCOMES])
        return {
            name: outcome if outcome == second.get(name, outcome) else {"unjudged": "not reproducible"}
            for name, outcome in first.items()
        }

    def _make_all_calls(self, cases: list[dict[str, Any]]) -> dict[str, Any]:
        """Make the calls of each function in its own fork, so that they do not affect other functions.

        After a call that does not return, skip the function's remaining calls, because they would start from a
        different state.
        """
        found: dict[str, Any] = {}
        deadline = time.monotonic() + CALLS_WALL
        for _, group in itertools.groupby(cases, key=lambda case: case["target"]):
            group_cases = list(group)
            messages: list[dict[str, Any]] = []

            def work(reply: Send, group_cases: list[dict[str, Any]] = group_cases) -> None:
                self._tools.calls.make_calls(group_cases, self._tools, self._files, reply)

            wall = deadline - time.monotonic()
            ended = self._tools.forks.run_in_fork(work, messages.append, wall=wall) if wall > 0 else "time"
            found.update({str(fact["case"]): fact["outcome"] for fact in messages})
            lost = LOST_OUTCOMES[0] if ended == "time" else LOST_OUTCOMES[1]
            found.update({str(case["id"]): lost for case in group_cases[len(messages) :]})
        return found


# --- both sides ------------------------------------------------------------------------------------------------------


class OldFiles:
    """Temporarily restores files to their content from before the step; `None` means that the file is absent."""

    def __init__(self, checkout: str, contents: dict[str, str | None]) -> None:
        self._contents = {Path(checkout, path): text for path, text in contents.items()}
        self._saved: dict[Path, bytes | None] = {}

    def __enter__(self) -> None:
        for path, text in self._contents.items():
            self._saved[path] = path.read_bytes() if path.exists() else None
            _write_file(path, None if text is None else text.encode())

    def __exit__(self, *_: object) -> None:
        for path, data in self._saved.items():
            _write_file(path, data)


_timestamp = int(time.time()) - 900_000


def _write_file(path: Path, data: bytes | None) -> None:
    """Write a file with a unique timestamp, so that Python does not use a stale compiled copy."""
    global _timestamp  # noqa: PLW0603
    if data is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    _timestamp += 2
    os.utime(path, (_timestamp, _timestamp))


def compare_versions(
    order: dict[str, Any], tools: Any, run: Callable[..., int], guards: Callable[[], Any], send: Send
) -> None:
    """Run both sessions. `run` runs pytest on some files with extra plugins and must be called in a fork."""
    cases: list[Any] = []
    with OldFiles(order["checkout"], order["old"]):
        if not _run_session(order, tools, run, guards(), send, "before", None, cases):
            return
    _run_session(order, tools, run, guards(), send, "after", cases, [])


def _run_session(  # noqa: PLR0917 the parts of a session
    order: dict[str, Any], tools: Any, run: Callable[..., int], guard: Any, send: Send, side: str,
    cases: list[Any] | None, new_cases: list[Any],
) -> bool:  # fmt: skip
    problems: list[str] = []

    def on_message(fact: dict[str, Any]) -> None:
        problems.extend([fact["problem"]] if "problem" in fact else [])
        new_cases.extend(fact.get("cases", []))
        send({"side": side, **fact})

    def collect(reply: Send) -> None:
        session = DifferentialSession(order, tools, guard, reply, cases)
        session.on_import.start()
        chosen = tools.line_tracer.TestSelector({*order["tests"], *order["hidden"]})
        run([session.reports, chosen, session], order["files"], guard)

    ended = tools.forks.run_in_fork(
        collect, on_message, wall=SESSION_WALL + 2 * CALLS_WALL, close_descriptors=tuple(order["shut"])
    )
    if ended:
        send({"side": side, "problem": f"the comparison ended: {ended}"})
    return not ended and not problems
