"""REFACTOR: the old and the new code must behave the same when called in the same way."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.evidence import Evidence, Finding, PathKind
from prd2pr.domain.results.differential import AFTER_STEP_PREFIX, BehaviorDifference, DifferentialResult
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.verification.gates.common import GatePolicy, is_untested_story, make_finding

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RFC411",
        "a public function behaves differently",
        "The old and the new code were given the same calls: those that the tests make, and others with similar "
        "values. One call now ends differently, and no test detected it. Calls whose result varies, and calls "
        "with external effects, are not judged, unless the old code answered them reliably.",
        bad="def earn(amount):\n    return round(amount / 10)   # was: amount // 10; the tests use only 10 and 20",
        good="def earn(amount):\n    return amount // POINT_PRICE",
        remedy="keep the behavior of the old code for this input, or make the change in a separate story.",
    ),
    define_warning(
        "RFC412",
        "a public function may behave differently",
        "The difference concerns values far from those of the tests, or a detail that few callers notice: an "
        "equal value of another type, or an argument that is modified differently.",
        bad="`earn(-7)` was -1 and is 0 (values far from those of the tests)",
        good="`earn(-7)` is -1 before and after",
        remedy="check whether any caller depends on it.",
    ),
    define_error(
        "RFC413",
        "no test runs the new code",
        "The refactoring adds a branch or a function that no test runs. No requirement and no test covers it.",
        bad="def earn(amount):\n    if amount > LIMIT:   # new, and no test passes so much\n        return 0\n    "
        "return amount // 10",
        good="def earn(amount):\n    return amount // 10",
        remedy="remove it; new behavior starts with RED.",
    ),
    define_warning(
        "RFC414",
        "old and new code were not compared",
        "The same calls could not be made to both, so only the tests show that the behavior is unchanged.",
        bad="the tests could not be run alone: timeout",
        good="40 calls of 3 functions ended the same way before and after",
        remedy="no action is needed; if the tests of the changed code can run alone, more can be compared.",
    ),
    define_error(
        "RFC415",
        "the new code cannot be compared with the old",
        "The calls could be made before the step and cannot be made after it, so the step is the cause.",
        bad="after the step, the comparison stopped: the test process exited",
        good="the calls could be made before and after",
        remedy="look for code that exits the process or replaces parts of the test run.",
    ),
    define_warning(
        "RFC416",
        "none of the selected tests runs the new code",
        "There are more tests than could be run here; one of the others may run this code.",
        bad="no test runs `return 0` in `earn`, and it was not there before",
        good="every new line is run by a test",
        remedy="check whether a test runs it.",
    ),
)


_CALL_ORIGINS = {
    "recorded": "called as in a test",
    "near": "called with values like those in the tests",
    "hinted": "called with values of the annotated types; no test calls it",
    "guessed": "called with plain values; no test calls it",
    "odd": "called with values unlike any in the tests",
}


def check_behavior_kept(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    if not policy.compare or not _is_comparison_required(evidence):
        return
    result = evidence.parity
    if result is None:
        yield make_finding("RFC414", "old and new code were not compared on the same calls")
    elif result.problems:
        yield from _report_problems(result)
    else:
        for each in result.differences:
            yield make_finding(
                "RFC411" if each.grave else "RFC412", _format_difference(each), path=each.path, line=each.line
            )
        yield from _check_new_code_tested(result)


def _is_comparison_required(evidence: Evidence) -> bool:
    """Return whether Python source changed and the tests pass. Other checks judge the remaining cases."""
    written = any(change.kind is PathKind.SOURCE and change.path.endswith(".py") for change in evidence.changes)
    run = evidence.head_run
    compared = evidence.comparison
    if is_untested_story(evidence) or not written or run is None or not run.honest or compared is None:
        return False
    story = all(result.outcome == "passed" for result in run.story)
    return bool(run.passed) and story and not compared.regressed


def _report_problems(result: DifferentialResult) -> Iterator[Finding]:
    """Report why the code was not compared. If only the new code has the problem, the step is refused."""
    for problem in result.problems:
        yield make_finding("RFC415" if problem.startswith(AFTER_STEP_PREFIX) else "RFC414", problem)


def _format_difference(each: BehaviorDifference) -> str:
    return f"`{each.given}` gave {each.before} and now gives {each.after} ({_CALL_ORIGINS[each.origin]})"


def _check_new_code_tested(result: DifferentialResult) -> Iterator[Finding]:
    code = "RFC416" if result.partial else "RFC413"
    for each in result.unrun:
        inside = f" in `{each.function}`" if each.function else ""
        yield make_finding(code, f"new code that no test runs: `{each.what}`{inside}", path=each.path, line=each.line)
