"""Tries deliberate faults on a story's tests under the project's own Python, with one fork for each fault.

There are three levels of processes. The launcher has loaded pytest but nothing from the project. It forks the
*collector*, in which pytest collects the story's tests once. The collector tries each fault in its own fork by
replacing the code of functions. This does not work for code that runs on import or only in another process; there the
fault is written to the file, and a fork of the launcher runs pytest from the beginning.

The baseline and the faults take the same path. At the start and at the end, every test must pass with nothing changed,
and once a hidden test is made wrong and must fail. Otherwise the result is rejected.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

BASELINE_WALL = 300.0
SUITE_WALL = 30.0  # limit for all runs of the whole suite with mutants that the story's tests do not detect
BROKEN_IMPORT = "the mutant breaks the import"
WALL_FLOOR, WALL_FACTOR = 15.0, 30.0

Send = Callable[[dict[str, Any]], None]


class FreshMutationRun:
    """Runs pytest from the beginning, in a fork of the launcher, on files that contain a fault."""

    def __init__(self, order: dict[str, Any], tools: Any, run: Callable[..., int]) -> None:
        self._order = order
        self._forks, self._patches, self._tracing = tools.forks, tools.patches, tools.line_tracer
        self._run_pytest = run
        self._passing: dict[bool, list[str] | None] = {}
        self._seconds: dict[bool, float] = {}
        self._suite_deadline = 0.0
        paths = sorted({fault["path"] for kind in ("knock_outs", "mutants") for fault in order[kind]})
        self._checkout = self._patches.PatchedCheckout(order["checkout"], paths)

    def try_fault(self, fault: dict[str, Any], *, whole: bool) -> tuple[str, str, str]:
        """Try a fault. If `whole` is true and the story's own tests do not detect it, run the whole project's tests."""
        outcome, by, why = self._try_once(fault, whole=False)
        if outcome == "survived" and whole:
            return self._try_once(fault, whole=True)
        return outcome, by, why

    def find_other_test(self, fault: dict[str, Any]) -> str:
        """Return a test outside the story that detects the fault, or an empty string if none does in time."""
        self._suite_deadline = self._suite_deadline or time.monotonic() + SUITE_WALL
        if time.monotonic() > self._suite_deadline or self._passing_tests(whole=True) is None:
            return ""
        outcome, by, _ = self._try_once(fault, whole=True)
        return by if outcome == "killed" else ""

    def _try_once(self, fault: dict[str, Any], *, whole: bool) -> tuple[str, str, str]:
        passing_tests = self._passing_tests(whole=whole)
        if passing_tests is None:
            return "not_judged", "", "the tests could not be run in a new session"
        with self._tracing.TemporaryContent(self._checkout.place(fault["path"]), self._checkout.edited(fault)):
            facts, ended = self._run_pytest_in_fork(
                set(passing_tests), whole=whole, wall=WALL_FLOOR + WALL_FACTOR * self._seconds[whole]
            )
        if ended == "time":
            return "timeout", "", ""
        if ended or facts is None:
            return "not_judged", "", ended or "the test process gave no clear answer"
        if facts["broken_import"] and fault["kind"] == "mutant":
            return "not_judged", "", BROKEN_IMPORT  # whatever the tests check, they cannot run
        if facts["failed_test"]:
            return "killed", facts["failed_test"], ""
        return "survived", "", ""

    def _passing_tests(self, *, whole: bool) -> list[str] | None:
        """Return the tests that pass without a fault, or None if the hidden test, which must fail, passes."""
        if whole not in self._passing:
            started = time.monotonic()
            wall = SUITE_WALL if self._suite_deadline else BASELINE_WALL
            facts, ended = self._run_pytest_in_fork(None, whole=whole, wall=wall)
            self._seconds[whole] = time.monotonic() - started
            fine = facts is not None and not ended and self._fails_as_ordered(facts["failed"])
            self._passing[whole] = facts["good"] if fine and facts else None
        return self._passing[whole]

    def _fails_as_ordered(self, failed: list[str]) -> bool:
        return any(self._tracing.is_case_of(test, self._order["failing"]) for test in failed)

    def _run_pytest_in_fork(
        self, watched: set[str] | None, *, whole: bool, wall: float
    ) -> tuple[dict[str, Any] | None, str]:
        order = self._order
        wanted = None if whole else {*order["tests"], *order["hidden"]}

        def work(reply: Send) -> None:
            reports = self._tracing.StopAtFirstFailure(watched)
            self._run_pytest([reports, self._tracing.TestSelector(wanted)], None if whole else order["files"])
            good = reports.passing_tests()
            reply(
                {
                    "good": good,
                    "failed": sorted(reports.failed),
                    "failed_test": reports.failed_test,
                    # Without any result the fault stopped pytest itself, as when a conftest cannot import the module.
                    "broken_import": reports.broken_import or not (good or reports.failed or watched is None),
                }
            )

        messages: list[dict[str, Any]] = []
        ended = self._forks.run_in_fork(work, messages.append, wall=wall)
        return (messages[0] if len(messages) == 1 else None), ended


# --- entry point ------------------------------------------------------------------------------------------------------


def try_all_faults(order: dict[str, Any], tools: Any, run: Callable[..., int], guard: Any, send: Send) -> None:
    """Try all faults and report the outcomes.

    `run` runs pytest on some files with extra plugins and is called only in forks.
    """
    faults = {fault["id"]: fault for kind in ("knock_outs", "mutants") for fault in order[kind]}
    fresh_faults: list[str] = []
    survivors: list[dict[str, Any]] = []
    fresh_variations: list[tuple[str, list[str]]] = []
    problems: list[str] = []

    def on_message(fact: dict[str, Any]) -> None:
        if "fresh_run" in fact:
            fresh_faults.append(fact["fresh_run"])
            return
        if "fresh_variation" in fact:
            fresh_variations.append((fact["fresh_variation"], fact["tests"]))
            return
        problems.extend([fact["problem"]] if "problem" in fact else [])
        if fact.get("outcome") == "survived" and fact.get("fault") in faults:
            survivors.append(fact)
            return
        send(fact)

    def collect(reply: Send) -> None:
        collector = tools.collection.Collector(order, tools, guard, reply)
        collector.on_import.start()
        run(
            [collector.reports, tools.line_tracer.TestSelector({*order["tests"], *order["hidden"]}), collector],
            order["files"],
            guard,
        )

    ended = tools.forks.run_in_fork(
        collect, on_message, wall=BASELINE_WALL + order["seconds"] * 2, close_descriptors=tuple(order["shut"])
    )
    if ended:
        send({"problem": f"the run that tries the faults ended: {ended}"})
        return
    if problems:
        return
    for variation, tests in fresh_variations:
        send(tools.flakiness.FreshTimeRun(tools, run, order).check(variation, tests))
    fresh_run = FreshMutationRun(order, tools, run)
    for name in fresh_faults:
        outcome, by, why = fresh_run.try_fault(faults[name], whole=faults[name]["kind"] == "knock_out")
        on_message({"fault": name, "outcome": outcome, "by": by, "why": why})
    for fact in survivors:
        mutant = faults[fact["fault"]]
        elsewhere = fresh_run.find_other_test(mutant) if mutant["kind"] == "mutant" and not problems else ""
        send({**fact, "elsewhere": elsewhere})
