"""What RED and GREEN say about held-out examples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from prd2pr.core.evidence import Evidence, FailureKind, Finding
from prd2pr.core.gates.common import finding, results_of

RESULTS = frozenset({"GRN302", "GRN303"})
FAILS_HOW = {
    FailureKind.ASSERTION: "on an assertion",
    FailureKind.MISSING_SYMBOL: "because a name does not exist",
    FailureKind.NOT_IMPLEMENTED: "because it is not implemented",
    FailureKind.TIMEOUT: "because it does not end",
    FailureKind.EXIT: "because the process is ended",
}


def nameless(evidence: Evidence) -> Iterator[Finding]:
    """RED: if an example fails later, its criterion is all that the programmer is told."""
    held = evidence.held_out
    if held is None or evidence.coverage is None:
        return
    named = {test for each in held.criteria for test in each.tests}
    for test in dict.fromkeys(held.declared):
        if test not in named:
            said = "is held out and names no criterion, so nobody could be told what its failure is about"
            yield finding("RED212", said, path=test.partition("::")[0], test=test)


def none_given(evidence: Evidence) -> Iterator[Finding]:
    if evidence.held_out is not None and not evidence.held_out.files:
        yield finding("GRN309", "the test author held no example back: the code was judged by what its author has read")


def veiled(findings: Iterable[Finding], evidence: Evidence) -> Iterator[Finding]:
    """GREEN: of a held-out example no more is told than its criterion and in which way it failed."""
    paths = evidence.held_out.paths if evidence.held_out else frozenset()
    for each in findings:
        if each.path not in paths and not any(path in each.message for path in paths):
            yield each
        elif each.code in RESULTS:
            yield _unseen(each.test, evidence)
        else:
            yield finding(each.code, "this is so of a held-out example")


def _unseen(test: str, evidence: Evidence) -> Finding:
    assert evidence.held_out is not None, "only its tests are asked about"
    about = [each.criterion for each in evidence.held_out.criteria if test.partition("[")[0] in each.tests]
    what = f"criterion {', '.join(about)}" if about else "it names no criterion"
    return finding("GRN308", f"an example that the programmer has not seen fails: {what}; {_how(test, evidence)}")


def _how(test: str, evidence: Evidence) -> str:
    failures = [result.failure for result in results_of(evidence.head_run, test) if result.failure]
    if not failures:
        return "it is not run"
    kind, exception = failures[0].kind, failures[0].exception
    return f"it fails {FAILS_HOW.get(kind, f'with {exception}' if exception else f'by its {kind.value}')}"
