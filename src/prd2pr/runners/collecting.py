"""The process in which pytest has collected a story's tests, and each fault is tried in a fork of its own.

Executed by the project's own Python, like the launcher: standard library and pytest alone.
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

Say = Callable[[dict[str, Any]], None]


class Collector:
    """A pytest plugin that tries the faults where pytest would run the tests."""

    def __init__(self, order: dict[str, Any], tools: Any, guard: Any, say: Say) -> None:
        self._order = order
        self._forks, self._patching, self._see = tools.forks, tools.patching, tools.seeing
        self._guard = guard
        self._say = say
        self.reports = self._see.Reports()
        paths = sorted({fault["path"] for fault in self._all()} | set(order["files"]))
        self._checkout = self._patching.Checkout(order["checkout"], paths)
        self._files = {self._checkout.place(path): path for path in paths}
        self.on_import = self._see.Tracer(set(self._files))
        self._items: list[Any] = []
        self._covered: dict[str, set[tuple[str, int]]] = {}
        self._spent: dict[str, float] = {}
        self._deadline = 0.0
        self._known: dict[str, tuple[str, str]] = {}
        self._ahead: set[str] = set()
        self._backwards: list[str] | None = None  # tests that fail when all run once more, from the last to the first
        self._ways = tools.ways.Ways(tools, self.reports, say)
        self._outside = tools.outside.Outside(order["checkout"], order["locked"], tools)
        self._record, self._recorded_text = tools.hearing, tools.replaying.recorded
        self._calls: list[dict[str, Any]] = []  # of tests into functions of the story
        self._unkept = 0
        self._answering = tools.answering
        self._asserted: set[str] = set()  # tests that failed by an assertion, of those that ran in this process

    def _all(self) -> list[dict[str, Any]]:
        order = self._order
        return [*order["knock_outs"], *order["mutants"], *order["perturbations"], *order["canaries"]]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        self.on_import.stop()
        self._items = list(session.items)
        self._ways.items = [item for item in self._items if item.nodeid != self._order["failing"]]
        self._see.leave_unsaid(session.config.pluginmanager)
        for item in self._items:
            item.location  # noqa: B018 found out once here, not once in each fork
        self._checkout.look_for_functions()
        gc.freeze()  # forks share what they need not count again
        for strange in self._guard.tampering():
            self._problem(strange)
        if self._told_problem or not self._baseline():
            return True
        if not self._nothing_changes("at the start") or not self._canaries_die():
            return True
        if self._order["ways"]:
            self._ways.spent = sum(self._spent.values())
            self._outside.begin(self._calls)
            self._ways.judge_order(self._backwards, self._recorded_twice)
            self._ways.judge_time()
            self._tell_indifferent()
        self._deadline = time.monotonic() + self._order["seconds"]
        faults = [("knock_out", fault) for fault in self._order["knock_outs"]]
        faults += [("mutant", fault) for fault in self._order["mutants"]]
        faults += [("perturbation", fault) for fault in self._order["perturbations"]]
        self._try_all(faults)
        if self._order["ways"]:
            self._outside.tell(self._unkept, self._say)
        self._nothing_changes("at the end")
        return True

    # --- what holds without a fault -----------------------------------------------------------------------------------

    def _baseline(self) -> bool:
        """Every test once, watched: what passes, which lines each runs, how long it takes."""
        told: list[dict[str, Any]] = []
        ended = self._forks.forked(self._watch_tests, told.append, wall=BASELINE_WALL)
        results = {fact["id"]: fact for fact in told if "id" in fact}
        self._backwards = next((fact["backwards"] for fact in told if "backwards" in fact), None)
        for fact in told:
            self._calls += fact.get("calls", ())
            self._unkept += fact.get("unkept", 0)
        missing = [item.nodeid for item in self._items if item.nodeid not in results]
        if missing or (ended and not self._order["ways"]):
            self._problem(f"the story's tests could not be run by themselves: {ended or missing[0]}")
            return False
        failing, order = self._order["failing"], self._order
        for test, fact in results.items():
            if (test == failing) == fact["passed"]:
                said = "passes, and must fail" if fact["passed"] else "does not pass when the story's tests run alone"
                self._problem(f"{'a check' if self._see.bare(test) in order['hidden'] else test} {said}")
        known = {name for test in results for name in (test, self._see.bare(test))}
        for test in [test for test in order["tests"] if test not in known][:3]:
            self._problem(f"{test} is not found when the story's tests run alone")
        self._covered = {test: {(path, line) for path, line in fact["lines"]} for test, fact in results.items()}
        self._spent = {test: fact["cpu"] for test, fact in results.items()}
        return not self._told_problem

    _told_problem = False

    def _problem(self, what: str) -> None:
        self._told_problem = True
        self._say({"problem": what})

    def _recorder(self) -> Any:
        home = str(Path(_pytest.__file__).parent)
        places = self._record.test_places(self._order["checkout"], self._order["locked"], home)
        return self._record.Recorder(self._order["knock_outs"], self._checkout.place, places, self._recorded_text)

    def _recorded_twice(self, items: list[Any], run: Callable[[list[Any]], list[str]]) -> tuple[list[str], list[str]]:
        """What fails the second time, and which calls were answered otherwise though nobody wants them to be."""
        rounds = []
        for _ in range(2):
            recorder = self._recorder()
            tracer = self._see.Tracer(set(self._files), recorder)
            tracer.start()
            failed = run(items)
            tracer.stop()
            rounds.append(recorder.calls)
        return failed, self._record.changed_minds(*rounds)

    def _watch_tests(self, answer: Say) -> None:
        recorder = self._recorder() if self._order["ways"] else None
        for item, following in self._see.in_turn(self._items):
            tracer = self._see.Tracer(set(self._files), recorder)
            if recorder:
                recorder.test = item.nodeid
            before = time.process_time()
            tracer.start()
            try:
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            finally:
                tracer.stop()
            lines = sorted((self._files[name], line) for name, line in tracer.seen)
            good = item.nodeid in self.reports.passed and item.nodeid not in self.reports.failed
            answer({"id": item.nodeid, "passed": good, "lines": lines, "cpu": time.process_time() - before})
        if recorder:
            answer({"calls": recorder.calls, "unkept": recorder.unkept})
            answer({"backwards": self._ways.backwards()})

    def _nothing_changes(self, when: str) -> bool:
        """Every function made anew from the same text: the tests must not notice."""
        wanted = [item for item in self._items if item.nodeid != self._order["failing"]]
        outcome, by = self._run(wanted, self._remake)
        if outcome != "survived":
            self._problem(f"with nothing changed, {when}, {by or 'the run'} is {outcome}: no result can be believed")
        return outcome == "survived"

    def _remake(self) -> str:
        for path in self._files.values():
            self._checkout.recompile(path)
        return "patched"

    def _canaries_die(self) -> bool:
        for fault in self._order["canaries"]:
            outcome, by = self._in_place(fault, self._covering(fault))
            if outcome != "killed":
                self._problem(f"a check that was made wrong on purpose is {outcome} {by}".rstrip())
        return not self._told_problem

    # --- other answers ------------------------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.excinfo is not None and isinstance(call.excinfo.value, (AssertionError, pytest.fail.Exception)):
            self._asserted.add(item.nodeid)

    def _tell_indifferent(self) -> None:
        """Tests that pass whatever the story's functions answer, and do not look at what they do either."""
        told: list[dict[str, Any]] = []
        spent = 3 * sum(self._spent.values())
        cpu, wall = CPU_FLOOR + CPU_FACTOR * spent, WALL_FLOOR + WALL_FACTOR * spent
        ended = self._forks.forked(self._answer_otherwise, told.append, cpu=cpu, wall=wall)
        if not ended and len(told) == 1:
            self._say(told[0])

    def _answer_otherwise(self, answer: Say) -> None:
        functions = self._checkout.functions(self._order["knock_outs"])
        files = {self._checkout.place(fault["path"]) for fault in self._order["knock_outs"]}
        answering = self._answering.Answering(functions, files)
        answering.install()
        items = [item for item in self._ways.items if self._see.bare(item.nodeid) not in self._order["hidden"]]
        same = {item.nodeid for item in items}
        for way in (self._answering.MORE, self._answering.LESS):
            answering.way = way
            same &= {item.nodeid for item, passed in self._passing(items, answering) if passed}
        answering.way = self._answering.NOTHING
        self._asserted.clear()
        for _ in self._passing([item for item in items if item.nodeid in same], answering):
            pass
        same -= self._asserted
        cases = {self._see.bare(item.nodeid) for item in items if item.nodeid not in same}
        answer({"indifferent": sorted({self._see.bare(test) for test in same} - cases)})

    def _passing(self, items: list[Any], answering: Any) -> Iterator[tuple[Any, bool]]:
        """Each with whether it passes though something was answered otherwise in it."""
        for item, following in self._see.in_turn(items):
            self.reports.failed.pop(item.nodeid, None)
            before = answering.changed
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            yield item, item.nodeid not in self.reports.failed and answering.changed > before

    # --- faults -------------------------------------------------------------------------------------------------------

    def _try_all(self, faults: list[tuple[str, dict[str, Any]]]) -> None:
        tried = {"knock_out": 0, "mutant": 0, "perturbation": 0}
        anew = 0
        for kind, fault in faults:
            self._look_ahead(kind, fault, faults, self._order["most"] - tried[kind])
            if kind != "knock_out" and tried[kind] >= self._order["most"]:
                continue
            covering = self._covering(fault)
            later = fault["on_import"] or self._ran_on_import(fault)
            if kind != "knock_out" and not covering and not later:
                continue  # no test gets there: nothing can be said about it
            if time.monotonic() > self._deadline:
                tried[kind] += 1
                self._tell(fault, "not_judged", why="there was no time left")
                continue
            outcome, by = ("later", "") if later else self._tried(fault, covering)
            if outcome == "same":
                continue
            if kind == "knock_out" and outcome in ("survived", "unpatched"):
                outcome = "later"  # perhaps another process runs it, or another story's tests do
            if outcome in ("later", "unpatched"):
                if kind == "perturbation" or (kind == "mutant" and anew >= self._order["most_anew"]):
                    continue
                anew += kind == "mutant"
                tried[kind] += 1
                self._say({"anew": fault["id"]})
                continue
            tried[kind] += 1
            why = by if outcome == "not_judged" else ""
            self._tell(fault, outcome, by="" if why else by, why=why)

    def _tried(self, fault: dict[str, Any], covering: list[Any]) -> tuple[str, str]:
        if not covering:
            return "survived", ""
        if fault["id"] in self._known:
            return self._known[fault["id"]]
        if self._see.is_read(fault):
            with self._see.Written(self._checkout.place(fault["path"]), self._checkout.edited(fault)):
                return self._in_place(fault, covering)
        if self._checkout.is_loaded(fault["path"]):
            return self._in_place(fault, covering)
        return self._in_the_file(fault, covering)

    # --- several faults in one fork -----------------------------------------------------------------------------------

    def _look_ahead(
        self, kind: str, fault: dict[str, Any], faults: list[tuple[str, dict[str, Any]]], most: int
    ) -> None:
        """A fork costs more than most tests, so the next few faults share one. What came to nothing is tried alone.

        A kill counts when afterwards, with everything mended, the same tests pass in the same process: so no fault has
        left anything behind that made the next one look noticed.
        """
        if fault["id"] in self._ahead:
            return
        following = [other for name, other in faults if name == kind]
        batch: list[dict[str, Any]] = []
        for other in following[following.index(fault) :]:
            if len(batch) == (BATCH if kind == "knock_out" else min(BATCH, most)):
                break
            self._ahead.add(other["id"])
            if self._is_quick(other):
                batch.append(other)
        if len(batch) > 1:
            self._run_batch(batch)

    def _is_quick(self, fault: dict[str, Any]) -> bool:
        later = fault["on_import"] or self._ran_on_import(fault)
        return not later and self._checkout.is_loaded(fault["path"]) and bool(self._covering(fault))

    def _run_batch(self, batch: list[dict[str, Any]]) -> None:
        told: list[dict[str, Any]] = []
        files = {fault["path"]: self._checkout.data(fault["path"]) for fault in batch if self._see.is_read(fault)}
        spent = sum(self._spent.get(item.nodeid, 1.0) for fault in batch for item in self._covering(fault))
        wall = WALL_FLOOR + WALL_FACTOR * spent
        ended = self._forks.forked(lambda answer: self._work_off(batch, answer), told.append, wall=wall)
        for path, data in files.items():
            self._see.Written(self._checkout.place(path), data).put_back(data)
        if not ended and told and told[-1].get("mended") is True:
            for fact in told[:-1]:
                if fact["outcome"] in ("killed", "same"):
                    self._known[fact["fault"]] = fact["outcome"], fact["by"]

    def _work_off(self, batch: list[dict[str, Any]], answer: Say) -> None:
        self._patching.install_perturbed(self._order["perturbed"])
        used: dict[str, Any] = {}
        for fault in batch:
            items = self._covering(fault)
            used.update({item.nodeid: item for item in items})
            self._forks.limit(CPU_FLOOR + CPU_FACTOR * sum(self._spent.get(item.nodeid, 1.0) for item in items))
            state = self._checkout.patch(fault)
            if state == "patched":
                place, edited = self._checkout.place(fault["path"]), self._checkout.edited(fault)
                with self._see.Written(place, edited, really=self._see.is_read(fault)):
                    failed = self._first_failure(items)
                answer({"fault": fault["id"], "outcome": "killed" if failed else "survived", "by": failed})
            else:
                answer({"fault": fault["id"], "outcome": state, "by": ""})
            self._checkout.mend()
        items = [item for item in self._items if item.nodeid in used]
        self._forks.limit(CPU_FLOOR + CPU_FACTOR * sum(self._spent.get(item.nodeid, 1.0) for item in items))
        answer({"mended": not self._first_failure(items)})

    def _first_failure(self, items: list[Any]) -> str:
        self.reports.failed.clear()
        for item, following in self._see.in_turn(items):
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if item.nodeid in self.reports.failed:
                self._see.session_end(item)
                break
        return next(iter(self.reports.failed), "")

    def _covering(self, fault: dict[str, Any]) -> list[Any]:
        first, last = fault["lines"]
        lines = {(fault["path"], line) for line in range(first, last + 1)}
        return [item for item in self._items if not lines.isdisjoint(self._covered.get(item.nodeid, ()))]

    def _ran_on_import(self, fault: dict[str, Any]) -> bool:
        first, last = fault["lines"]
        place = self._checkout.place(fault["path"])
        return any((place, line) in self.on_import.seen for line in range(first, last + 1))

    def _in_place(self, fault: dict[str, Any], covering: list[Any]) -> tuple[str, str]:
        return self._run(covering, lambda: self._checkout.patch(fault))

    def _in_the_file(self, fault: dict[str, Any], covering: list[Any]) -> tuple[str, str]:
        """A module that tests import only while they run."""
        with self._see.Written(self._checkout.place(fault["path"]), self._checkout.edited(fault)):
            return self._run(covering, lambda: "patched")

    def _run(self, items: list[Any], patch: Callable[[], str]) -> tuple[str, str]:
        """In a fork: the fault, then test after test until one fails."""

        def work(answer: Say) -> None:
            self._patching.install_perturbed(self._order["perturbed"])
            state = patch()
            if state != "patched":
                answer({"outcome": state, "by": ""})
                return
            failed = self._first_failure(items)
            answer({"outcome": "killed" if failed else "survived", "by": failed})

        told: list[dict[str, Any]] = []
        spent = sum(self._spent.get(item.nodeid, 1.0) for item in items)
        cpu, wall = CPU_FLOOR + CPU_FACTOR * spent, WALL_FLOOR + WALL_FACTOR * spent
        ended = self._forks.forked(work, told.append, cpu=cpu, wall=wall)
        if ended == "time":
            return "timeout", ""
        if ended or len(told) != 1:
            return "not_judged", ended or "the test process gave no clear answer"
        return told[0]["outcome"], told[0]["by"]

    def _tell(self, fault: dict[str, Any], outcome: str, *, by: str = "", why: str = "") -> None:
        self._say({"fault": fault["id"], "outcome": outcome, "by": by, "why": why})
