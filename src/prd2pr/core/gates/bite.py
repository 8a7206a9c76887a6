"""Do the tests bite? What GREEN asks of deliberate faults, and what REFACTOR must not let fall."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.bite.record import Bite
from prd2pr.core.evidence import Evidence, FailureKind, Finding, PathKind
from prd2pr.core.gates.common import GatePolicy, about_test, asks_no_tests, finding, results_of
from prd2pr.core.runs import bare_id
from prd2pr.core.stacks.words import ENDINGS

ENOUGH = 5  # mutants, below which a share says nothing
# Other code has other mutants: so much may differ though the tests notice the same.
SLACK = 0.15
MORE_SURVIVORS = 3


def bites(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    if not _is_asked(evidence):
        return
    bite = evidence.bite
    if bite is None or bite.problems:
        yield from _unmeasured(bite)
        return
    for each in bite.knock_outs:
        if each.outcome == "survived":
            said = f"`{each.function}` can raise an error at once, and no test fails"
            yield finding("GRN301", said, path=each.path, line=each.line)
    for each in bite.perturbations:
        if each.outcome == "survived":
            said = f"`{each.function}` passes just as well with {each.change}"
            yield finding("GRN503", said, path=each.path, line=each.line)
    yield from _indifferent(evidence, bite)
    yield from _share(bite, policy.mutation_ratio)
    yield from _survivors(bite)
    yield from _unjudged(bite)
    yield from _untried(evidence, bite)


def _is_asked(evidence: Evidence) -> bool:
    """Where story tests pass on source that changed. Everything else is refused, or let through, for other reasons."""
    written = any(
        change.kind is PathKind.SOURCE and change.path.endswith(_read_endings(evidence)) and change.status != "deleted"
        for change in evidence.changes
    )
    run = evidence.head_run
    if asks_no_tests(evidence) or not written or run is None or not run.honest or not evidence.story_tests:
        return False
    return all(
        results and all(result.outcome == "passed" for result in results)
        for results in (results_of(run, test) for test in evidence.story_tests)
    )


def _read_endings(evidence: Evidence) -> tuple[str, ...]:
    """Of the files whose functions can be knocked out."""
    return ENDINGS.get(evidence.stack.language, ()) if evidence.stack else (".py",)


def _unmeasured(bite: Bite | None) -> Iterator[Finding]:
    if bite is None:
        yield finding("GRN504", "no deliberate fault was tried on the story's tests")
        return
    for problem in bite.problems:
        yield finding("GRN504", problem)


def _indifferent(evidence: Evidence, bite: Bite) -> Iterator[Finding]:
    """One test may look at something else, as that nothing happened to its input; most of them may not."""
    tests = {bare_id(test) for test in evidence.story_tests}
    found = [test for test in bite.indifferent if not _asserted_before(evidence, test)]
    code = "GRN506" if 2 * len(found) > len(tests) else "GRN507"
    for test in found:
        yield about_test(code, test, "passes just as well when the code that it calls answers something else")


def _asserted_before(evidence: Evidence, test: str) -> bool:
    """With the code of before it came to its assertion and failed there: it does look at something."""
    before = evidence.base_run.story if evidence.base_run else ()
    return any(
        bare_id(each.id) == test and each.failure and each.failure.kind is FailureKind.ASSERTION for each in before
    )


def _share(bite: Bite, asked: float | None) -> Iterator[Finding]:
    if asked is None or bite.score is None or len(bite.judged) < ENOUGH or bite.score >= asked:
        return
    said = f"{bite.killed} of {len(bite.judged)} deliberate faults were noticed; {asked:.0%} are asked for"
    yield finding("GRN501", said)


def _survivors(bite: Bite) -> Iterator[Finding]:
    for each in bite.survivors:
        yield finding("GRN502", f"no test notices {each.change}", path=each.path, line=each.line)


def _unjudged(bite: Bite) -> Iterator[Finding]:
    left = [each for each in (*bite.knock_outs, *bite.perturbations) if each.outcome in {"timeout", "not_judged"}]
    for each in left:
        why = "the tests did not end in time" if each.outcome == "timeout" else each.why
        yield finding("GRN505", f"`{each.function}`, {each.change}: {why}", path=each.path, line=each.line)


def _untried(evidence: Evidence, bite: Bite) -> Iterator[Finding]:
    """Of languages beside Python: a layer that exists and found nothing to try has shown nothing, and says so."""
    if evidence.stack is None:
        return
    tried = {
        "knock-out": bool(bite.knock_outs),
        "mutants": bool(bite.judged),
        "expected values replaced": any(each.outcome in {"killed", "survived"} for each in bite.perturbations),
        "other answers": bool(bite.answers),
    }
    left = [name for name, was in tried.items() if not was and name not in evidence.stack.not_checked]
    if left:
        yield finding("GRN508", f"nothing could be tried: {', '.join(left)}")


# --- REFACTOR ---------------------------------------------------------------------------------------------------------


def bite_holds(evidence: Evidence) -> Iterator[Finding]:
    """Of what was changed, the tests notice as much as before."""
    before, after = evidence.bite_before, evidence.bite
    if before is None or after is None or before.problems:
        return
    for problem in after.problems:
        yield finding("RFC409", f"before the step it could be told what the tests notice; now {problem}")
    known = {each.function for each in before.knock_outs}
    held = all(each.outcome != "survived" for each in before.knock_outs)  # what no test held may get other names
    noticed = {each.function for each in before.knock_outs if each.outcome == "killed"}
    for each in after.knock_outs:
        if each.outcome == "survived" and held and each.function not in known and _is_public(evidence, each.function):
            said = f"`{each.function}` is new and public, and no test runs it"
            yield finding("RFC402", said, path=each.path, line=each.line)
        elif each.outcome == "survived":
            lost = each.function in noticed
            said = "was held by a test before, and is not now" if lost else "is held by no test of the story"
            yield finding("RFC409" if lost else "RFC410", f"`{each.function}` {said}", path=each.path, line=each.line)
    yield from _no_longer_noticed(before, after)
    if before.score is None or after.score is None or min(len(before.judged), len(after.judged)) < ENOUGH:
        return
    if after.score < before.score - SLACK and len(after.survivors) >= len(before.survivors) + MORE_SURVIVORS:
        said = f"{_told(before)} before, {_told(after)} now"
        yield finding("RFC409", f"deliberate faults that the story's tests notice: {said}")


def _is_public(evidence: Evidence, function: str) -> bool:
    """Of other languages: those of Python are read, and its new functions are run by calls of their own."""
    names = {each.name for each in evidence.signatures_after} - {each.name for each in evidence.signatures_before}
    return evidence.stack is not None and any(name.endswith(f".{function}") for name in names)


def _no_longer_noticed(before: Bite, after: Bite) -> Iterator[Finding]:
    """The very same fault in the very same function: wherever it was made before, a test noticed it."""
    outcomes: dict[tuple[str, str], set[str]] = {}
    for each in before.judged:
        outcomes.setdefault((each.function, each.change), set()).add(each.outcome)
    for each in after.survivors:
        if outcomes.get((each.function, each.change)) == {"killed"}:
            said = f"no test notices {each.change} in `{each.function}` any more"
            yield finding("RFC409", said, path=each.path, line=each.line)


def _told(bite: Bite) -> str:
    return f"{bite.killed} of {len(bite.judged)}"
