"""Collects a story's tests with pytest and tries each fault in a fork of that process.

Runs under the project's own Python, like the launcher, and uses only the standard library and pytest.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import _pytest
import pytest

BASELINE_WALL = 300.0
CPU_FLOOR, CPU_FACTOR = 0.5, 10.0
WALL_FLOOR, WALL_FACTOR = 15.0, 30.0
BATCH = 10

Send = Callable[[dict[str, Any]], None]


class Collector:
    """A pytest plugin that tries the faults instead of running the tests normally."""

    def __init__(self, order: dict[str, Any], tools: Any, guard: Any, send: Send) -> None:
        self._order = order
        self._forks, self._patches, self._tracing = tools.forks, tools.patches, tools.line_tracer
        self._guard = guard
        self._send = send
        self.reports = self._tracing.ReportCollector()
        paths = sorted({fault["path"] for fault in self._all_faults()} | set(order["files"]))
        self._checkout = self._patches.PatchedCheckout(order["checkout"], paths)
        self._files = {self._checkout.place(path): path for path in paths}
        self.on_import = self._tracing.LineTracer(set(self._files))
        self._items: list[Any] = []
        self._lines_by_test: dict[str, set[tuple[str, int]]] = {}
        self._seconds_by_test: dict[str, float] = {}
        self._deadline = 0.0
        self._batch_outcomes: dict[str, tuple[str, str]] = {}
        self._batched: set[str] = set()
        self._reversed_failures: list[str] | None = None  # tests that fail when all tests are rerun in reverse order
        self._flakiness = tools.flakiness.FlakinessCheck(tools, self.reports, send)
        self._outside_replay = tools.outside_calls.OutsideReplay(order["checkout"], order["locked"], tools)
        self._call_recorder, self._describe_result = tools.call_recorder, tools.call_replay.describe_result
        self._calls: list[dict[str, Any]] = []  # calls from tests to the story's functions
        self._unrecorded = 0
        self._return_values = tools.return_values
        self._assertion_failures: set[str] = set()  # tests that failed an assertion in this process

    def _all_faults(self) -> list[dict[str, Any]]:
        order = self._order
        return [*order["knock_outs"], *order["mutants"], *order["perturbations"], *order["canaries"]]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        self.on_import.stop()
        self._items = list(session.items)
        self._flakiness.items = self._list_passing_items()
        self._tracing.remove_reporters(session.config.pluginmanager)
        for item in self._items:
            item.location  # noqa: B018 cached here so that no fork has to compute it
        self._checkout.find_functions()
        gc.freeze()  # forks share these objects
        for problem in self._guard.find_tampering():
            self._report_problem(problem)
        if self._has_problem or not self._run_baseline():
            return True
        if not self._check_unchanged_code("at the start") or not self._canaries_are_killed():
            return True
        if self._order["flakiness"]:
            self._flakiness.seconds = sum(self._seconds_by_test.values())
            self._outside_replay.start(self._calls)
            self._flakiness.check_order(self._reversed_failures, self._record_twice)
            self._flakiness.check_time()
            self._report_indifferent_tests()
        self._deadline = time.monotonic() + self._order["seconds"]
        faults = [("knock_out", fault) for fault in self._order["knock_outs"]]
        faults += [("mutant", fault) for fault in self._order["mutants"]]
        faults += [("perturbation", fault) for fault in self._order["perturbations"]]
        self._try_faults(faults)
        if self._order["flakiness"]:
            self._outside_replay.report(self._unrecorded, self._send)
        self._check_unchanged_code("at the end")
        return True

    def _list_passing_items(self) -> list[Any]:
        failing = self._order["failing"]
        return [item for item in self._items if not self._tracing.is_case_of(item.nodeid, failing)]

    # --- without a fault ----------------------------------------------------------------------------------------------

    def _run_baseline(self) -> bool:
        """Run every test once with tracing. Return whether all tests had the expected outcome.

        The lines that each test executes and its duration are recorded.
        """
        messages: list[dict[str, Any]] = []
        ended = self._forks.run_in_fork(self._trace_tests, messages.append, wall=BASELINE_WALL)
        results = {fact["id"]: fact for fact in messages if "id" in fact}
        self._reversed_failures = next((fact["backwards"] for fact in messages if "backwards" in fact), None)
        for fact in messages:
            self._calls += fact.get("calls", ())
            self._unrecorded += fact.get("unrecorded", 0)
        missing = [item.nodeid for item in self._items if item.nodeid not in results]
        if missing or (ended and not self._order["flakiness"]):
            self._report_problem(f"the story's tests could not be run by themselves: {ended or missing[0]}")
            return False
        failing, order = self._order["failing"], self._order
        active = {self._tracing.strip_parameters(test) for test, fact in results.items() if not fact["skipped"]}
        idle = {
            test for test, fact in results.items() if fact["skipped"] and self._tracing.strip_parameters(test) in active
        }  # cases of a test that are skipped, like those of a parametrized fixture without its backend
        self._items = [item for item in self._items if item.nodeid not in idle]
        self._flakiness.items = self._list_passing_items()
        for test, fact in results.items():
            if test in idle:
                continue
            if self._tracing.is_case_of(test, failing) == fact["passed"]:
                description = (
                    "passes but must fail" if fact["passed"] else "does not pass when the story's tests run alone"
                )
                self._report_problem(
                    f"{'a check' if self._tracing.strip_parameters(test) in order['hidden'] else test} {description}"
                )
        known = {name for test in results for name in (test, self._tracing.strip_parameters(test))}
        for test in [test for test in order["tests"] if test not in known][:3]:
            self._report_problem(f"{test} is not found when the story's tests run alone")
        self._lines_by_test = {test: {(path, line) for path, line in fact["lines"]} for test, fact in results.items()}
        self._seconds_by_test = {test: fact["cpu"] for test, fact in results.items()}
        return not self._has_problem

    _has_problem = False

    def _report_problem(self, what: str) -> None:
        self._has_problem = True
        self._send({"problem": what})

    def _make_recorder(self) -> Any:
        home = str(Path(_pytest.__file__).parent)
        places = self._call_recorder.list_test_places(self._order["checkout"], self._order["locked"], home)
        return self._call_recorder.CallRecorder(
            self._order["knock_outs"], self._checkout.place, places, self._describe_result
        )

    def _record_twice(self, items: list[Any], run: Callable[[list[Any]], list[str]]) -> tuple[list[str], list[str]]:
        """Run the tests twice.

        Return the tests that failed in the second run and the calls that were answered differently.
        """
        rounds = []
        for _ in range(2):
            recorder = self._make_recorder()
            tracer = self._tracing.LineTracer(set(self._files), recorder)
            tracer.start()
            failed = run(items)
            tracer.stop()
            rounds.append(recorder.calls)
        return failed, self._call_recorder.find_changed_answers(*rounds)

    def _trace_tests(self, reply: Send) -> None:
        recorder = self._make_recorder() if self._order["flakiness"] else None
        for item, next_item in self._tracing.pair_with_next(self._items):
            tracer = self._tracing.LineTracer(set(self._files), recorder)
            if recorder:
                recorder.test = item.nodeid
            before = time.process_time()
            tracer.start()
            try:
                item.ihook.pytest_runtest_protocol(item=item, nextitem=next_item)
            finally:
                tracer.stop()
            lines = sorted((self._files[name], line) for name, line in tracer.lines)
            failed, passed = (item.nodeid in each for each in (self.reports.failed, self.reports.passed))
            outcome = {"passed": passed and not failed, "skipped": not passed and not failed}
            reply({"id": item.nodeid, **outcome, "lines": lines, "cpu": time.process_time() - before})
        if recorder:
            reply({"calls": recorder.calls, "unrecorded": recorder.unrecorded})
            reply({"backwards": self._flakiness.run_reversed()})

    def _check_unchanged_code(self, when: str) -> bool:
        """Recompile every function from unchanged source. Return whether the tests still pass."""
        wanted = self._list_passing_items()
        outcome, by = self._run_in_fork(wanted, self._recompile_all)
        if outcome != "survived":
            self._report_problem(
                f"with unchanged code, {when}, {by or 'the run'} is {outcome}, so no result can be trusted"
            )
        return outcome == "survived"

    def _recompile_all(self) -> str:
        for path in self._files.values():
            self._checkout.recompile(path)
        return "patched"

    def _canaries_are_killed(self) -> bool:
        for fault in self._order["canaries"]:
            outcome, by = self._try_in_place(fault, self._covering_tests(fault))
            if outcome != "killed":
                self._report_problem(f"a check that was deliberately made wrong is {outcome} {by}".rstrip())
        return not self._has_problem

    # --- changed return values ----------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.excinfo is not None and isinstance(call.excinfo.value, (AssertionError, pytest.fail.Exception)):
            self._assertion_failures.add(item.nodeid)

    def _report_indifferent_tests(self) -> None:
        """Report tests that pass whatever the story's functions return and that do not check side effects either."""
        messages: list[dict[str, Any]] = []
        seconds = 3 * sum(self._seconds_by_test.values())
        cpu, wall = CPU_FLOOR + CPU_FACTOR * seconds, WALL_FLOOR + WALL_FACTOR * seconds
        ended = self._forks.run_in_fork(self._change_return_values, messages.append, cpu=cpu, wall=wall)
        if not ended and len(messages) == 1:
            self._send(messages[0])

    def _change_return_values(self, reply: Send) -> None:
        functions = self._checkout.functions(self._order["knock_outs"])
        files = {self._checkout.place(fault["path"]) for fault in self._order["knock_outs"]}
        changer = self._return_values.ReturnValueChanger(functions, files)
        changer.install()
        items = [
            item
            for item in self._flakiness.items
            if self._tracing.strip_parameters(item.nodeid) not in self._order["hidden"]
        ]
        same = {item.nodeid for item in items}
        for variation in (self._return_values.MORE, self._return_values.LESS):
            changer.change = variation
            same &= {item.nodeid for item, passed in self._run_with_changes(items, changer) if passed}
        changer.change = self._return_values.NOTHING
        self._assertion_failures.clear()
        for _ in self._run_with_changes([item for item in items if item.nodeid in same], changer):
            pass
        same -= self._assertion_failures
        cases = {self._tracing.strip_parameters(item.nodeid) for item in items if item.nodeid not in same}
        reply({"indifferent": sorted({self._tracing.strip_parameters(test) for test in same} - cases)})

    def _run_with_changes(self, items: list[Any], changer: Any) -> Iterator[tuple[Any, bool]]:
        """Yield each test in which a return value was changed, and whether it still passes."""
        for item, next_item in self._tracing.pair_with_next(items):
            self.reports.failed.pop(item.nodeid, None)
            before = changer.changed
            item.ihook.pytest_runtest_protocol(item=item, nextitem=next_item)
            yield item, item.nodeid not in self.reports.failed and changer.changed > before

    # --- faults -------------------------------------------------------------------------------------------------------

    def _try_faults(self, faults: list[tuple[str, dict[str, Any]]]) -> None:
        tried = {"knock_out": 0, "mutant": 0, "perturbation": 0}
        fresh_runs = 0
        for kind, fault in faults:
            self._try_batch(kind, fault, faults, self._order["most"] - tried[kind])
            if kind != "knock_out" and tried[kind] >= self._order["most"]:
                continue
            covering = self._covering_tests(fault)
            later = fault["on_import"] or self._ran_on_import(fault)
            if kind != "knock_out" and not covering and not later:
                continue  # no test executes it
            if time.monotonic() > self._deadline:
                tried[kind] += 1
                self._report_fault(fault, "not_judged", why="there was no time left")
                continue
            outcome, by = ("later", "") if later else self._try_fault(fault, covering)
            if outcome == "same":
                continue
            if kind == "knock_out" and outcome in ("survived", "unpatched"):
                outcome = "later"  # another process or another story's tests may execute it
            if outcome in ("later", "unpatched"):
                if kind == "perturbation" or (kind == "mutant" and fresh_runs >= self._order["most_anew"]):
                    continue
                fresh_runs += kind == "mutant"
                tried[kind] += 1
                self._send({"fresh_run": fault["id"]})
                continue
            tried[kind] += 1
            why = by if outcome == "not_judged" else ""
            self._report_fault(fault, outcome, by="" if why else by, why=why)

    def _try_fault(self, fault: dict[str, Any], covering: list[Any]) -> tuple[str, str]:
        if not covering:
            return "survived", ""
        if fault["id"] in self._batch_outcomes:
            return self._batch_outcomes[fault["id"]]
        if self._tracing.is_read_from_file(fault):
            with self._tracing.TemporaryContent(self._checkout.place(fault["path"]), self._checkout.edited(fault)):
                return self._try_in_place(fault, covering)
        if self._checkout.is_loaded(fault["path"]):
            return self._try_in_place(fault, covering)
        return self._try_in_file(fault, covering)

    # --- several faults in one fork -----------------------------------------------------------------------------------

    def _try_batch(self, kind: str, fault: dict[str, Any], faults: list[tuple[str, dict[str, Any]]], most: int) -> None:
        """Try the next few faults in one fork, because a fork costs more than most tests.

        Faults without a clear result are tried again one by one. A kill counts only if the same tests pass in the same
        process after the functions are restored. Otherwise a leftover of one fault could make the next one look
        detected.
        """
        if fault["id"] in self._batched:
            return
        same_kind = [candidate for name, candidate in faults if name == kind]
        batch: list[dict[str, Any]] = []
        for candidate in same_kind[same_kind.index(fault) :]:
            if len(batch) == (BATCH if kind == "knock_out" else min(BATCH, most)):
                break
            self._batched.add(candidate["id"])
            if self._can_be_batched(candidate):
                batch.append(candidate)
        if len(batch) > 1:
            self._run_batch(batch)

    def _can_be_batched(self, fault: dict[str, Any]) -> bool:
        later = fault["on_import"] or self._ran_on_import(fault)
        return not later and self._checkout.is_loaded(fault["path"]) and bool(self._covering_tests(fault))

    def _run_batch(self, batch: list[dict[str, Any]]) -> None:
        messages: list[dict[str, Any]] = []
        files = {
            fault["path"]: self._checkout.data(fault["path"])
            for fault in batch
            if self._tracing.is_read_from_file(fault)
        }
        seconds = sum(
            self._seconds_by_test.get(item.nodeid, 1.0) for fault in batch for item in self._covering_tests(fault)
        )
        wall = WALL_FLOOR + WALL_FACTOR * seconds
        ended = self._forks.run_in_fork(lambda reply: self._run_batch_in_fork(batch, reply), messages.append, wall=wall)
        for path, data in files.items():
            self._tracing.TemporaryContent(self._checkout.place(path), data).restore(data)
        if not ended and messages and messages[-1].get("restored") is True:
            for fact in messages[:-1]:
                if fact["outcome"] in ("killed", "same"):
                    self._batch_outcomes[fact["fault"]] = fact["outcome"], fact["by"]

    def _run_batch_in_fork(self, batch: list[dict[str, Any]], reply: Send) -> None:
        self._patches.install_perturbation(self._order["perturbed"])
        used: dict[str, Any] = {}
        for fault in batch:
            items = self._covering_tests(fault)
            used.update({item.nodeid: item for item in items})
            self._forks.limit_cpu(
                CPU_FLOOR + CPU_FACTOR * sum(self._seconds_by_test.get(item.nodeid, 1.0) for item in items)
            )
            state = self._checkout.patch(fault)
            if state == "patched":
                place, edited = self._checkout.place(fault["path"]), self._checkout.edited(fault)
                with self._tracing.TemporaryContent(place, edited, enabled=self._tracing.is_read_from_file(fault)):
                    failed = self._run_until_failure(items)
                reply({"fault": fault["id"], "outcome": "killed" if failed else "survived", "by": failed})
            else:
                reply({"fault": fault["id"], "outcome": state, "by": ""})
            self._checkout.restore_functions()
        items = [item for item in self._items if item.nodeid in used]
        self._forks.limit_cpu(
            CPU_FLOOR + CPU_FACTOR * sum(self._seconds_by_test.get(item.nodeid, 1.0) for item in items)
        )
        reply({"restored": not self._run_until_failure(items)})

    def _run_until_failure(self, items: list[Any]) -> str:
        self.reports.failed.clear()
        for item, next_item in self._tracing.pair_with_next(items):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=next_item)
            if item.nodeid in self.reports.failed:
                self._tracing.tear_down_session(item)
                break
        return next(iter(self.reports.failed), "")

    def _covering_tests(self, fault: dict[str, Any]) -> list[Any]:
        first, last = fault["lines"]
        lines = {(fault["path"], line) for line in range(first, last + 1)}
        return [item for item in self._items if not lines.isdisjoint(self._lines_by_test.get(item.nodeid, ()))]

    def _ran_on_import(self, fault: dict[str, Any]) -> bool:
        first, last = fault["lines"]
        place = self._checkout.place(fault["path"])
        return any((place, line) in self.on_import.lines for line in range(first, last + 1))

    def _try_in_place(self, fault: dict[str, Any], covering: list[Any]) -> tuple[str, str]:
        return self._run_in_fork(covering, lambda: self._checkout.patch(fault))

    def _try_in_file(self, fault: dict[str, Any], covering: list[Any]) -> tuple[str, str]:
        """Try a fault in a module that tests import only while they run."""
        with self._tracing.TemporaryContent(self._checkout.place(fault["path"]), self._checkout.edited(fault)):
            return self._run_in_fork(covering, lambda: "patched")

    def _run_in_fork(self, items: list[Any], patch: Callable[[], str]) -> tuple[str, str]:
        """Apply the fault in a fork and run the tests one after another until one fails."""

        def work(reply: Send) -> None:
            self._patches.install_perturbation(self._order["perturbed"])
            state = patch()
            if state != "patched":
                reply({"outcome": state, "by": ""})
                return
            failed = self._run_until_failure(items)
            reply({"outcome": "killed" if failed else "survived", "by": failed})

        messages: list[dict[str, Any]] = []
        seconds = sum(self._seconds_by_test.get(item.nodeid, 1.0) for item in items)
        cpu, wall = CPU_FLOOR + CPU_FACTOR * seconds, WALL_FLOOR + WALL_FACTOR * seconds
        ended = self._forks.run_in_fork(work, messages.append, cpu=cpu, wall=wall)
        if ended == "time":
            return "timeout", ""
        if ended or len(messages) != 1:
            return "not_judged", ended or "the test process gave no clear answer"
        return messages[0]["outcome"], messages[0]["by"]

    def _report_fault(self, fault: dict[str, Any], outcome: str, *, by: str = "", why: str = "") -> None:
        self._send({"fault": fault["id"], "outcome": outcome, "by": by, "why": why})
