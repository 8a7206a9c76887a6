"""Tries deliberate faults on a story's tests, inside the project's own Python: one process, a fork for each fault.

Three processes deep. The launcher has loaded pytest and has seen nothing of the project; it forks the *collector*, in
which pytest collects the story's tests once and each fault is tried in a fork of its own, by exchanging the code of
functions. What runs on import, or is only reached through another process, cannot be tried like that: then the fault
is written into the file, and a fork of the launcher runs pytest from the beginning.

Baseline and faults take the same way. Twice nothing is changed, at the start and at the end, and every test must pass;
once a hidden test is made wrong, and must fail. Else nothing of all this is believed.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

FUNCTION_CODE = 1  # co_flags of what is no module and no class body
BASELINE_WALL = 300.0
CPU_FLOOR, CPU_FACTOR = 0.5, 10.0
WALL_FLOOR, WALL_FACTOR = 15.0, 30.0

Say = Callable[[dict[str, Any]], None]


class Reports:
    """A pytest plugin: what pytest itself said of each test."""

    def __init__(self) -> None:
        self.failed: dict[str, bool] = {}
        self.passed: set[str] = set()
        self.uncollected: list[str] = []

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed[report.nodeid] = True
        elif report.when == "call" and report.outcome == "passed":
            self.passed.add(report.nodeid)

    @pytest.hookimpl(trylast=True)
    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.uncollected.append(report.nodeid)

    def good(self) -> list[str]:
        return [test for test in self.passed if test not in self.failed]


class Tracer:
    """Which lines of functions, in the files that matter, have been run."""

    def __init__(self, files: set[str]) -> None:
        self._files = files
        self.seen: set[tuple[str, int]] = set()

    def start(self) -> None:
        threading.settrace(self._call)
        sys.settrace(self._call)

    def stop(self) -> None:
        sys.settrace(None)
        threading.settrace(None)

    def _call(self, frame: Any, _event: str, _arg: Any) -> Any:
        code = frame.f_code
        return self._line if code.co_filename in self._files and code.co_flags & FUNCTION_CODE else None

    def _line(self, frame: Any, event: str, _arg: Any) -> Any:
        if event == "line":
            self.seen.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


class Chosen:
    """A pytest plugin: of all that is collected, the tests that are wanted. `None`: all."""

    def __init__(self, wanted: set[str] | None) -> None:
        self._wanted = wanted

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> Generator[None, Any, None]:
        yield
        if self._wanted is not None:
            items[:] = [item for item in items if item.nodeid in self._wanted or bare(item.nodeid) in self._wanted]


def bare(test: str) -> str:
    path, mark, name = test.partition("::")
    return path + mark + name.partition("[")[0]


class Collector:
    """A pytest plugin that tries the faults where pytest would run the tests."""

    def __init__(self, order: dict[str, Any], tools: Any, guard: Any, say: Say) -> None:
        self._order = order
        self._forks, self._patching = tools
        self._guard = guard
        self._say = say
        self.reports = Reports()
        paths = sorted({fault["path"] for fault in self._all()} | set(order["files"]))
        self._checkout = self._patching.Checkout(order["checkout"], paths)
        self._files = {self._checkout.place(path): path for path in paths}
        self.on_import = Tracer(set(self._files))
        self._items: list[Any] = []
        self._covered: dict[str, set[tuple[str, int]]] = {}
        self._spent: dict[str, float] = {}
        self._deadline = 0.0

    def _all(self) -> list[dict[str, Any]]:
        order = self._order
        return [*order["knock_outs"], *order["mutants"], *order["perturbations"], *order["canaries"]]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> bool:
        self.on_import.stop()
        self._items = list(session.items)
        leave_unsaid(session.config.pluginmanager)
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
        self._deadline = time.monotonic() + self._order["seconds"]
        faults = [("knock_out", fault) for fault in self._order["knock_outs"]]
        faults += [("mutant", fault) for fault in self._order["mutants"]]
        faults += [("perturbation", fault) for fault in self._order["perturbations"]]
        self._try_all(faults)
        self._nothing_changes("at the end")
        return True

    # --- what holds without a fault -----------------------------------------------------------------------------------

    def _baseline(self) -> bool:
        """Every test once, watched: what passes, which lines each runs, how long it takes."""
        told: list[dict[str, Any]] = []
        ended = self._forks.forked(self._watch_tests, told.append, wall=BASELINE_WALL)
        results = {fact["id"]: fact for fact in told}
        missing = [item.nodeid for item in self._items if item.nodeid not in results]
        if ended or missing:
            self._problem(f"the story's tests could not be run by themselves: {ended or missing[0]}")
            return False
        failing, order = self._order["failing"], self._order
        for test, fact in results.items():
            if (test == failing) == fact["passed"]:
                said = "passes, and must fail" if fact["passed"] else "does not pass when the story's tests run alone"
                self._problem(f"{'a check' if bare(test) in order['hidden'] else test} {said}")
        known = {name for test in results for name in (test, bare(test))}
        for test in [test for test in order["tests"] if test not in known][:3]:
            self._problem(f"{test} is not found when the story's tests run alone")
        self._covered = {test: {(path, line) for path, line in fact["lines"]} for test, fact in results.items()}
        self._spent = {test: fact["cpu"] for test, fact in results.items()}
        return not self._told_problem

    _told_problem = False

    def _problem(self, what: str) -> None:
        self._told_problem = True
        self._say({"problem": what})

    def _watch_tests(self, answer: Say) -> None:
        for item, following in in_turn(self._items):
            tracer = Tracer(set(self._files))
            before = time.process_time()
            tracer.start()
            try:
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            finally:
                tracer.stop()
            lines = sorted((self._files[name], line) for name, line in tracer.seen)
            good = item.nodeid in self.reports.passed and item.nodeid not in self.reports.failed
            answer({"id": item.nodeid, "passed": good, "lines": lines, "cpu": time.process_time() - before})

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

    # --- faults -------------------------------------------------------------------------------------------------------

    def _try_all(self, faults: list[tuple[str, dict[str, Any]]]) -> None:
        tried = {"knock_out": 0, "mutant": 0, "perturbation": 0}
        anew = 0
        for kind, fault in faults:
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
        if self._checkout.is_loaded(fault["path"]):
            return self._in_place(fault, covering)
        return self._in_the_file(fault, covering)

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
        with Written(self._checkout.place(fault["path"]), self._checkout.edited(fault)):
            return self._run(covering, lambda: "patched")

    def _run(self, items: list[Any], patch: Callable[[], str]) -> tuple[str, str]:
        """In a fork: the fault, then test after test until one fails."""

        def work(answer: Say) -> None:
            self._patching.install_perturbed(self._order["perturbed"])
            state = patch()
            if state != "patched":
                answer({"outcome": state, "by": ""})
                return
            for item, following in in_turn(items):
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
                if item.nodeid in self.reports.failed:
                    session_end(item)
                    break
            failed = next(iter(self.reports.failed), "")
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


def leave_unsaid(plugins: Any) -> None:
    """What is written for people, and watched for other runs, takes longer here than the tests."""
    for plugin in plugins.get_plugins():
        if plugin is not None and type(plugin).__name__ in ("TerminalReporter", "Probe"):
            plugins.unregister(plugin)


def in_turn(items: list[Any]) -> list[tuple[Any, Any]]:
    """Each test with the one after it, by which pytest knows which fixtures are still needed."""
    return list(zip(items, [*items[1:], None]))  # noqa: B905 Python 3.9 knows no `strict`


def session_end(item: Any) -> None:
    """Fixtures that later tests would have used are torn down: what they hold must not stay held."""
    try:
        item.session._setupstate.teardown_exact(None)
    except BaseException:  # noqa: BLE001 the test has failed already
        return


class Written:
    """A file with another content, for a while. Its time differs each time: no compiled copy is taken for it."""

    _clock = int(time.time()) - 500_000

    def __init__(self, path: str, data: bytes) -> None:
        self._path, self._data = Path(path), data

    def __enter__(self) -> None:
        self._before = self._path.read_bytes()
        self._put(self._data)

    def __exit__(self, *_: object) -> None:
        self._put(self._before)

    def _put(self, data: bytes) -> None:
        Written._clock += 2
        self._path.write_bytes(data)
        os.utime(self._path, (Written._clock, Written._clock))


# --- from the beginning -----------------------------------------------------------------------------------------------


class Anew:
    """Runs pytest from the beginning, in a fork of the launcher, on files with a fault in them."""

    def __init__(self, order: dict[str, Any], tools: Any, run: Callable[..., int]) -> None:
        self._order = order
        self._forks, self._patching = tools
        self._run_pytest = run
        self._good: dict[bool, list[str] | None] = {}
        self._took: dict[bool, float] = {}
        paths = sorted({fault["path"] for kind in ("knock_outs", "mutants") for fault in order[kind]})
        self._checkout = self._patching.Checkout(order["checkout"], paths)

    def judge(self, fault: dict[str, Any], *, whole: bool) -> tuple[str, str, str]:
        """`whole`: when the story's own tests notice nothing, those of the whole project are asked."""
        outcome, by, why = self._judge(fault, whole=False)
        if outcome == "survived" and whole:
            return self._judge(fault, whole=True)
        return outcome, by, why

    def _judge(self, fault: dict[str, Any], *, whole: bool) -> tuple[str, str, str]:
        good = self._known_good(whole=whole)
        if good is None:
            return "not_judged", "", "the tests do not run from the beginning"
        with Written(self._checkout.place(fault["path"]), self._checkout.edited(fault)):
            facts, ended = self._pytest(set(good), whole=whole, wall=WALL_FLOOR + WALL_FACTOR * self._took[whole])
        if ended == "time":
            return "timeout", "", ""
        if ended or facts is None:
            return "not_judged", "", ended or "the test process gave no clear answer"
        if facts["noticed"]:
            return "killed", facts["noticed"], ""
        return "survived", "", ""

    def _known_good(self, *, whole: bool) -> list[str] | None:
        """What passes with nothing changed; the hidden test that must fail has to be seen to fail."""
        if whole not in self._good:
            started = time.monotonic()
            facts, ended = self._pytest(None, whole=whole, wall=BASELINE_WALL)
            self._took[whole] = time.monotonic() - started
            fine = facts is not None and not ended and self._order["failing"] in facts["failed"]
            self._good[whole] = facts["good"] if fine and facts else None
        return self._good[whole]

    def _pytest(self, watched: set[str] | None, *, whole: bool, wall: float) -> tuple[dict[str, Any] | None, str]:
        order = self._order
        wanted = None if whole else {*order["tests"], *order["hidden"]}

        def work(answer: Say) -> None:
            reports = Noticing(watched)
            self._run_pytest([reports, Chosen(wanted)], None if whole else order["files"])
            answer({"good": reports.good(), "failed": sorted(reports.failed), "noticed": reports.noticed})

        told: list[dict[str, Any]] = []
        ended = self._forks.forked(work, told.append, wall=wall)
        return (told[0] if len(told) == 1 else None), ended


class Noticing(Reports):
    """Ends the run with the first failure of a test that passes without the fault."""

    def __init__(self, watched: set[str] | None) -> None:
        super().__init__()
        self._watched = watched
        self._session: Any = None
        self.noticed = ""

    def pytest_sessionstart(self, session: Any) -> None:
        self._session = session

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        super().pytest_runtest_logreport(report)
        if report.failed and self._watched is not None and report.nodeid in self._watched:
            self.noticed = self.noticed or report.nodeid
            self._session.shouldstop = "noticed"

    @pytest.hookimpl(trylast=True)
    def pytest_collectreport(self, report: Any) -> None:
        super().pytest_collectreport(report)
        if report.failed and self._watched is not None:
            below = sorted(test for test in self._watched if test.startswith(report.nodeid))
            self.noticed = self.noticed or (below[0] if below else "")


# --- the whole of it --------------------------------------------------------------------------------------------------


def bite(order: dict[str, Any], tools: Any, run: Callable[..., int], guard: Any, say: Say) -> None:
    """`run` runs pytest with more plugins on some files; it is called in forks only."""
    faults = {fault["id"]: fault for kind in ("knock_outs", "mutants") for fault in order[kind]}
    later: list[str] = []
    problems: list[str] = []

    def heard(fact: dict[str, Any]) -> None:
        if "anew" in fact:
            later.append(fact["anew"])
            return
        problems.extend([fact["problem"]] if "problem" in fact else [])
        say(fact)

    def collect(answer: Say) -> None:
        collector = Collector(order, tools, guard, answer)
        collector.on_import.start()
        run([collector.reports, Chosen({*order["tests"], *order["hidden"]}), collector], order["files"], guard)

    ended = tools[0].forked(collect, heard, wall=BASELINE_WALL + order["seconds"] * 2, shut=tuple(order["shut"]))
    if ended:
        say({"problem": f"the run that tries the faults ended: {ended}"})
        return
    if problems:
        return
    anew = Anew(order, tools, run)
    for name in later:
        outcome, by, why = anew.judge(faults[name], whole=faults[name]["kind"] == "knock_out")
        say({"fault": name, "outcome": outcome, "by": by, "why": why})
