"""Mutation testing: GREEN requires a minimum score, and REFACTOR must not lower it."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.evidence import Evidence, FailureKind, Finding, PathKind
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.domain.results.mutation import MutantResult, MutationResult
from prd2pr.domain.stack_policy import ENDINGS
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.verification.gates.common import (
    GatePolicy,
    find_results,
    is_untested_story,
    make_finding,
    make_test_finding,
)

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "GRN301",
        "all tests pass without the new code",
        "When the body of a function is replaced with a `raise`, at least one test must fail. If none fails, the "
        "tests do not test the function.",
        bad="with the body of redeem() replaced by raise, all 12 tests still pass",
        good="with the body of redeem() replaced by raise, 9 of 12 tests fail",
        remedy="test what the function does, or remove it.",
    ),
    define_error(
        "GRN501",
        "too few mutants are killed",
        "Mutants are small faults in the new code, one at a time, on lines that the story's tests run. Tests that "
        "kill few of them would also miss real faults. `gates.mutation_ratio` sets the required share.",
        bad="3 of 12 mutants killed; 40% are required",
        good="11 of 12 mutants killed",
        remedy="write only code that the tests need; GRN502 lists the mutants that survived.",
    ),
    define_warning(
        "GRN502",
        "a mutant survived",
        "With this small change to the code, every test of the story that runs the line still passes, and no other "
        "test of the project was seen to fail. Some mutants change nothing that a test could see; the others show "
        "where a test is missing.",
        bad="mutant survived: `amount < 0` → `amount <= 0`",
        good="a test checks what happens at 0",
        remedy="look at the line and decide whether the difference matters; if so, add a test.",
    ),
    define_error(
        "GRN503",
        "a test passes with a different expected value",
        "The value that the test expects was replaced by another one, and the test still passed. Either the "
        "result equals everything, or it is derived from what the test expects.",
        bad="`test_redeem` also passes with another value than `90`",
        good="with another value than `90`, `test_redeem` fails",
        remedy="make the code return a plain value.",
    ),
    define_error(
        "GRN504",
        "mutation testing was not possible",
        "Mutants are tried on the story's tests alone. Without a mutant these tests must pass every time, and a "
        "hidden canary that is made wrong must fail. Otherwise the results for mutants mean nothing.",
        bad="test_redeem does not pass when the story's tests run alone",
        good="the story's tests pass alone, every time",
        remedy="make the tests independent of other tests and of earlier runs.",
    ),
    define_warning(
        "GRN505",
        "a mutant could not be judged",
        "With the mutant the tests neither passed nor failed: they timed out, or the test process ended.",
        bad="`poll` raises: the tests timed out",
        good="`poll` raises, and test_poll fails",
        remedy="no action is needed; a test that fails instead of waiting would show more.",
    ),
    define_error(
        "GRN506",
        "most tests ignore the result",
        "More than half of the story's tests still pass when the functions that they call return other values of "
        "the same type, raise no error, or do nothing.",
        bad="def test_earn():\n    points = earn(5)\n    assert points == points + 0",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="undo RED (/tdd undo) and assert the values that the criteria require.",
    ),
    define_warning(
        "GRN507",
        "a test ignores the result",
        "The test still passes when the functions that it calls return something else. This may be right "
        "if other tests check the result, and this one verifies that something did not happen.",
        bad="def test_input_is_kept():\n    given = [3, 1]\n    ordered(given)\n    assert given == [3, 1]",
        good="def test_input_is_kept():\n    given = [3, 1]\n    assert ordered(given) == [1, 3]\n"
        "    assert given == [3, 1]",
        remedy="assert the result too.",
    ),
    define_warning(
        "GRN508",
        "one kind of mutation testing found nothing to change",
        "In languages other than Python, faults are inserted into the text of code and tests. For the kinds of "
        "faults that the message names, nothing could be changed or built, so they show nothing about the tests.",
        bad="nothing to try: mutants, expected values replaced",
        good="3 mutants, 2 expected values",
        remedy="no action is needed; in new tests, compare results with plain values.",
    ),
    define_error(
        "RFC409",
        "the mutation score dropped",
        "Mutants are tried on the changed code before and after the refactoring. If the story's tests now kill "
        "clearly fewer of them, the new code does things that no test requires.",
        bad="mutants killed by the story's tests: 11 of 12 before, 7 of 13 now",
        good="mutants killed by the story's tests: 11 of 12 before, 9 of 10 now",
        remedy="remove what no test requires; new behavior starts with RED.",
    ),
    define_warning(
        "RFC410",
        "a changed function is not covered by a test of the story",
        "With its body replaced by a `raise`, no test fails. Either nothing calls it, or no test checks what it does.",
        bad="no test of the story covers `_legacy_total`",
        good="with the body of `_total` replaced by raise, test_bill fails",
        remedy="remove the function if it is not needed.",
    ),
)


SHOWN_SURVIVORS = 3  # per function
FEWEST_MUTANTS = 5  # with fewer mutants, the ratio is meaningless
# Refactored code has other mutants, so the score may drop by this much although the tests are as good as before.
SLACK = 0.15
MORE_SURVIVORS = 3


def check_mutation(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    if not _is_mutation_required(evidence):
        return
    mutation = evidence.bite
    if mutation is None or mutation.problems:
        yield from _report_problems(mutation)
        return
    for each in mutation.knock_outs:
        if each.outcome == "survived":
            message = f"`{each.function}` can be replaced with a `raise` and no test fails"
            yield make_finding("GRN301", message, path=each.path, line=each.line)
    for each in mutation.perturbations:
        if each.outcome == "survived":
            message = f"`{each.function}` still passes with {each.change}"
            yield make_finding("GRN503", message, path=each.path, line=each.line)
    yield from _check_indifferent_tests(evidence, mutation)
    yield from _check_kill_ratio(mutation, policy.mutation_ratio)
    yield from _report_survivors(mutation)
    yield from _report_unjudged(mutation)
    yield from _report_untried(evidence, mutation)


def check_verified_mutation(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    """Check that tests of existing code detect changes of that code.

    Single survivors are reported only if there are too many, because the code was not written for this story's
    criteria.
    """
    mutation = evidence.bite
    if mutation is None:  # nothing that the tests import can be mutated
        return
    if mutation.problems:
        yield from _report_problems(mutation)
        return
    for each in mutation.perturbations:
        if each.outcome == "survived":
            message = f"`{each.function}` still passes with {each.change}"
            yield make_finding("GRN503", message, path=each.path, line=each.line)
    too_few = tuple(_check_kill_ratio(mutation, policy.mutation_ratio))
    yield from too_few
    if too_few:
        yield from _report_survivors(mutation)


def _is_mutation_required(evidence: Evidence) -> bool:
    """Return whether source changed and the story's tests pass. Other checks judge the remaining cases."""
    written = any(
        change.kind is PathKind.SOURCE
        and change.path.endswith(_list_mutable_suffixes(evidence))
        and change.status != "deleted"
        for change in evidence.changes
    )
    run = evidence.head_run
    if is_untested_story(evidence) or not written or run is None or not run.honest or not evidence.story_tests:
        return False
    return all(
        results and all(result.outcome == "passed" for result in results)
        for results in (find_results(run, test) for test in evidence.story_tests)
    )


def _list_mutable_suffixes(evidence: Evidence) -> tuple[str, ...]:
    """Return the suffixes of files in which functions can be knocked out."""
    return ENDINGS.get(evidence.stack.language, ()) if evidence.stack else (".py",)


def _report_problems(mutation: MutationResult | None) -> Iterator[Finding]:
    if mutation is None:
        yield make_finding("GRN504", "no mutation was tried on the story's tests")
        return
    for problem in mutation.problems:
        yield make_finding("GRN504", problem)


def _check_indifferent_tests(evidence: Evidence, mutation: MutationResult) -> Iterator[Finding]:
    """Check for tests that pass whatever the code returns. A few are reported as warnings, a majority as an error."""
    tests = {strip_test_parameters(test) for test in evidence.story_tests}
    found = [test for test in mutation.indifferent if not _has_asserted_before(evidence, test)]
    code = "GRN506" if 2 * len(found) > len(tests) else "GRN507"
    for test in found:
        yield make_test_finding(code, test, "still passes when the code that it calls returns something else")


def _has_asserted_before(evidence: Evidence, test: str) -> bool:
    """Return whether the test failed on an assertion at the base commit, which shows that it checks something."""
    before = evidence.base_run.story if evidence.base_run else ()
    return any(
        strip_test_parameters(each.id) == test and each.failure and each.failure.kind is FailureKind.ASSERTION
        for each in before
    )


def _check_kill_ratio(mutation: MutationResult, asked: float | None) -> Iterator[Finding]:
    if asked is None or mutation.score is None or len(mutation.judged) < FEWEST_MUTANTS or mutation.score >= asked:
        return
    yield make_finding(
        "GRN501", f"{mutation.killed} of {len(mutation.judged)} mutants killed; {asked:.0%} are required"
    )


def _report_survivors(mutation: MutationResult) -> Iterator[Finding]:
    """Report the survivors that most likely reveal a missing test, a few for each function."""
    by_function: dict[tuple[str, str], list[MutantResult]] = {}
    for each in mutation.unnoticed:
        by_function.setdefault((each.path, each.function), []).append(each)
    for group in by_function.values():
        ranked = sorted(group, key=lambda each: (_rank_change(each.change), each.line))
        for each in ranked[:SHOWN_SURVIVORS]:
            more = len(group) - SHOWN_SURVIVORS if each is ranked[min(len(group), SHOWN_SURVIVORS) - 1] else 0
            rest = f" (and {more} more in `{each.function}`)" if more > 0 else ""
            yield make_finding(
                "GRN502", f"no test of this story detects {each.change}{rest}", path=each.path, line=each.line
            )


def _rank_change(change: str) -> int:
    """Return 0 for a change of behavior, 1 for a change of a text, and 2 for a change that is hardly visible."""
    before, _, after = change.partition(" → ")
    if {before.strip("`").removeprefix("return "), after.strip("`").removeprefix("return ")} <= {"None", "False"}:
        return 2
    return int(before.lstrip("`").startswith(('"', "'", 'f"', "f'")))


def _report_unjudged(mutation: MutationResult) -> Iterator[Finding]:
    left = [
        each for each in (*mutation.knock_outs, *mutation.perturbations) if each.outcome in {"timeout", "not_judged"}
    ]
    for each in left:
        why = "the tests timed out" if each.outcome == "timeout" else each.why
        yield make_finding("GRN505", f"`{each.function}`, {each.change}: {why}", path=each.path, line=each.line)


def _report_untried(evidence: Evidence, mutation: MutationResult) -> Iterator[Finding]:
    """Report the kinds of mutations for which nothing could be tried in a language other than Python."""
    if evidence.stack is None:
        return
    tried = {
        "knock-out": bool(mutation.knock_outs),
        "mutants": bool(mutation.judged),
        "expected values replaced": any(each.outcome in {"killed", "survived"} for each in mutation.perturbations),
        "other answers": bool(mutation.answers),
    }
    untried = [name for name, was in tried.items() if not was and name not in evidence.stack.not_checked]
    if untried:
        yield make_finding("GRN508", f"nothing could be tried: {', '.join(untried)}")


# --- REFACTOR ---------------------------------------------------------------------------------------------------------


def check_mutation_kept(evidence: Evidence) -> Iterator[Finding]:
    """Check in REFACTOR that the tests kill as many mutants of the changed code as before."""
    before, after = evidence.bite_before, evidence.bite
    if before is None or after is None or before.problems:
        return
    for problem in after.problems:
        yield make_finding("RFC409", f"mutation testing worked before the step and fails now: {problem}")
    known = {each.function for each in before.knock_outs}
    held = all(each.outcome != "survived" for each in before.knock_outs)  # else an untested one may have been renamed
    noticed = {each.function for each in before.knock_outs if each.outcome == "killed"}
    for each in after.knock_outs:
        if (
            each.outcome == "survived"
            and held
            and each.function not in known
            and _is_new_public_function(evidence, each.function)
        ):
            message = f"`{each.function}` is new and public, and no test runs it"
            yield make_finding("RFC402", message, path=each.path, line=each.line)
        elif each.outcome == "survived":
            lost = each.function in noticed
            message = (
                "was checked by a test before and no longer is" if lost else "is not checked by any test of the story"
            )
            code = "RFC409" if lost else "RFC410"
            yield make_finding(code, f"`{each.function}` {message}", path=each.path, line=each.line)
    yield from _check_new_survivors(before, after)
    if before.score is None or after.score is None or min(len(before.judged), len(after.judged)) < FEWEST_MUTANTS:
        return
    if after.score < before.score - SLACK and len(after.survivors) >= len(before.survivors) + MORE_SURVIVORS:
        message = f"mutants killed by the story's tests: {_format_kills(before)} before, {_format_kills(after)} now"
        yield make_finding("RFC409", message)


def _is_new_public_function(evidence: Evidence, function: str) -> bool:
    """Return whether this is a new public function outside Python. In Python, differential testing covers it."""
    names = {each.name for each in evidence.signatures_after} - {each.name for each in evidence.signatures_before}
    return evidence.stack is not None and any(name.endswith(f".{function}") for name in names)


def _check_new_survivors(before: MutationResult, after: MutationResult) -> Iterator[Finding]:
    """Report mutants that survive now although all mutants of the same kind in the same function were killed before."""
    outcomes: dict[tuple[str, str], set[str]] = {}
    for each in before.judged:
        outcomes.setdefault((each.function, each.change), set()).add(each.outcome)
    for each in after.unnoticed:
        if outcomes.get((each.function, each.change)) == {"killed"}:
            message = f"no test detects {each.change} in `{each.function}` any more"
            yield make_finding("RFC409", message, path=each.path, line=each.line)


def _format_kills(mutation: MutationResult) -> str:
    return f"{mutation.killed} of {len(mutation.judged)}"
