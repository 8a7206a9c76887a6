"""Deliberate faults in a language that is not Python: each is written into a fresh checkout, and the tests are run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from prd2pr.core.bite.plan import Answering, Fault
from prd2pr.core.bite.record import Bite, Bitten, FaultOutcome, Way
from prd2pr.core.bite.text import Edit
from prd2pr.core.evidence import RunReport
from prd2pr.core.runs import bare_id, expanded
from prd2pr.ports import BiteRequest, RunRequest

Tried = Callable[[RunRequest, Mapping[str, tuple[Edit, ...]], float | None], RunReport]
NOT_BUILT = "build"  # how compiled languages call it
MOST_KNOCK_OUTS = 20
MOST_MUTANTS = 8  # each is a run of its own
MOST_PERTURBATIONS = 8
MOST_ANSWERS = 12  # functions that are asked one by one, after all of them at once
AT_ONCE = 2
# A loop that a fault has made endless is not waited for as a whole suite would be.
PATIENCE = 6  # times as long as the same tests take without it
LEAST_SECONDS = 10.0


class Trying:
    """One process for each fault: dear, so that only so many are tried."""

    def __init__(self, tried: Tried, request: BiteRequest) -> None:
        self._tried = tried
        self._request = request
        paths = tuple(sorted({test.partition("::")[0] for test in request.tests}))
        self._asked = RunRequest(request.code_tree, paths=paths, restore=request.restore)
        self._most_seconds = LEAST_SECONDS
        self._reaching: set[str] = set()  # tests that fail with some function knocked out: they do run it
        self.bite = Bite(problems=("trying the faults could not be followed to its end",))

    def do(self) -> None:
        began = time.monotonic()
        sound = self._tried(self._asked, {}, None)
        self._most_seconds = _patience(sound)
        if problems := self._unsound(sound):
            self.bite = Bite(problems=problems)
            return
        plan, most = self._request.plan, min(MOST_MUTANTS, self._request.most)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            knocked = pool.map(self._knocked_out, plan.knock_outs[:MOST_KNOCK_OUTS])
            small = pool.map(self._mutated, plan.mutants[:most])
            wrong = pool.map(self._expected_otherwise, plan.perturbations[:MOST_PERTURBATIONS])
            found = tuple(knocked), tuple(small), tuple(wrong)
        answered = self._answered_otherwise()
        self.bite = Bite(
            knock_outs=found[0],
            mutants=found[1],
            perturbations=found[2],
            indifferent=tuple(sorted(answered or ())),
            answers=answered is not None,
            ways=tuple(self._built_otherwise()),
            seconds=round(time.monotonic() - began, 3),
        )

    def _unsound(self, report: RunReport) -> tuple[str, ...]:
        """Without any fault all tests must pass, or nothing can be told from their failing."""
        if not report.honest:
            return report.problems
        outcomes = {test: result.outcome for test, result in report.by_id().items()}
        failing = [test for test in expanded(self._request.tests, report) if outcomes.get(test) != "passed"]
        return (f"{failing[0]} does not pass when the story's tests are run by themselves",) if failing else ()

    def _knocked_out(self, fault: Fault) -> Bitten:
        report = self._faulty(fault)
        self._reaching |= _failing(report, self._request.tests)
        bitten = self._bitten(fault, report, self._request.tests)
        if bitten.outcome != "survived":
            return bitten
        # Perhaps another test of the project holds it.
        whole = RunRequest(self._request.code_tree, restore=self._request.restore)
        sound = self._tried(whole, {}, None)
        before = {each.id for each in sound.results if each.outcome == "passed"}
        faulty = self._tried(whole, {fault.path: (fault.edit,)}, _patience(sound))
        bitten = self._bitten(fault, faulty, tuple(sorted(before)))
        if bitten.outcome == "survived" and fault.excused:
            return bitten.model_copy(update={"outcome": "not_judged", "why": fault.excused})
        return bitten

    def _mutated(self, fault: Fault) -> Bitten:
        return self._bitten(fault, self._faulty(fault), self._request.tests)

    def _expected_otherwise(self, fault: Fault) -> Bitten:
        own = tuple(test for test in self._request.tests if test.partition("::")[0] == fault.path)
        return self._bitten(fault, self._faulty(fault), own)

    def _faulty(self, fault: Fault) -> RunReport:
        return self._tried(self._asked, {fault.path: (fault.edit,)}, self._most_seconds)

    # --- other answers ------------------------------------------------------------------------------------------------

    def _answered_otherwise(self) -> set[str] | None:
        """Tests that run the story's functions and pass whatever these answer; None where nothing could be tried.

        All functions at once are built once. What the tests then still pass by may be chance, as two changes that make
        up for each other: so these are asked of one function after the other.
        """
        left, plan, asked = set(self._reaching), self._request.plan.answers, False
        if not left or not plan:
            return None
        together = [[each for each in plan if each.how == how] for how in ("other", "nothing")]
        for group in together:
            failing = self._with(group) if group else set[str]()
            asked = asked or (failing is not None and bool(group))
            left -= failing or set()
        for each in [one for group in together for one in group][:MOST_ANSWERS] if left else ():
            failing = self._with([each])
            asked = asked or failing is not None
            left -= failing or set()
            if not left:
                break
        return left if asked else None

    def _with(self, answers: Iterable[Answering]) -> set[str] | None:
        """Tests that do not pass then; None where it cannot be built. Who waits for ever has noticed something."""
        edits: dict[str, tuple[Edit, ...]] = {}
        for each in answers:
            edits[each.path] = tuple(dict.fromkeys((*edits.get(each.path, ()), *each.edits)))
        report = self._tried(self._asked, edits, self._most_seconds)
        if report.exit_status is None:
            return set(self._reaching)
        failing = [test for test in expanded(self._request.tests, report) if _outcomes(report).get(test) != "passed"]
        if failing and _is_broken(report, failing):
            return None
        return {bare_id(test) for test in failing}

    def _built_otherwise(self) -> Iterable[Way]:
        """As the project is built where it is used, without what compilers add for whoever tests."""
        edits: dict[str, tuple[Edit, ...]] = {}
        for path, edit in self._request.plan.released:
            edits[path] = (*edits.get(path, ()), edit)
        if not edits:
            return
        report = self._tried(self._asked, edits, max(self._most_seconds, 2 * LEAST_SECONDS))
        failing = [test for test in expanded(self._request.tests, report) if _outcomes(report).get(test) != "passed"]
        if report.exit_status is None or (failing and _is_broken(report, failing)):
            yield Way(name="released", outcome="not_judged", why="it could not be built and run so")
        else:
            yield Way(name="released", outcome="failed" if failing else "passed", tests=tuple(failing))

    def _bitten(self, fault: Fault, report: RunReport, tests: tuple[str, ...]) -> Bitten:
        outcome, by, why = _outcome(report, tests)
        return Bitten(
            id=fault.id,
            path=fault.path,
            line=fault.line,
            function=fault.function,
            change=fault.change,
            outcome=outcome,
            by=by,
            why=why,
        )


def _patience(sound: RunReport) -> float:
    return max(LEAST_SECONDS, PATIENCE * sound.seconds)


def _outcome(report: RunReport, tests: tuple[str, ...]) -> tuple[FaultOutcome, str, str]:
    if report.exit_status is None:
        return "timeout", "", ""
    failing = [test for test in expanded(tests, report) if _outcomes(report).get(test) != "passed"]
    if failing and not _is_broken(report, failing):
        return "killed", failing[0], ""
    if failing:
        return "not_judged", "", "with this fault it cannot be built"
    if not report.honest:
        return "not_judged", "", report.problems[0]
    return "survived", "", ""


def _outcomes(report: RunReport) -> dict[str, str]:
    return {test: result.outcome for test, result in report.by_id().items()}


def _failing(report: RunReport, tests: tuple[str, ...]) -> set[str]:
    """Without parameters; of a run that was not built, or did not end, nothing is known."""
    outcomes = _outcomes(report)
    failing = [test for test in expanded(tests, report) if outcomes.get(test) != "passed"]
    if report.exit_status is None or (failing and _is_broken(report, failing)):
        return set()
    return {bare_id(test) for test in failing}


def _is_broken(report: RunReport, failing: list[str]) -> bool:
    """A compiler has noticed the fault, and no test was asked. What is wrong on loading is noticed by the tests."""
    known = report.by_id()
    failures = [known[test].failure for test in failing if test in known]
    return bool(failures) and all(each is not None and each.exception == NOT_BUILT for each in failures)
