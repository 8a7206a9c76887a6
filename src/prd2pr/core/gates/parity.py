"""Is the behaviour held? What REFACTOR asks of old code and new, given the same calls."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.evidence import Evidence, Finding, PathKind
from prd2pr.core.gates.common import GatePolicy, asks_no_tests, finding
from prd2pr.core.parity.record import AFTER, Differing, Parity

_HOW = {
    "recorded": "as a test calls it",
    "near": "with values of the kind that tests use",
    "hinted": "with values of the annotated types; no test calls it",
    "guessed": "with plain values; no test calls it",
    "odd": "with values that no test comes near",
}


def parity_holds(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    if not policy.compare or not _is_asked(evidence):
        return
    parity = evidence.parity
    if parity is None:
        yield finding("RFC414", "old and new code were not given the same calls")
    elif parity.problems:
        yield from _not_compared(parity)
    else:
        for each in parity.differences:
            yield finding("RFC411" if each.grave else "RFC412", _said(each), path=each.path, line=each.line)
        yield from _unrun(parity)


def _is_asked(evidence: Evidence) -> bool:
    """Where tests pass on Python that changed; everything else is refused, or let through, for other reasons."""
    written = any(change.kind is PathKind.SOURCE and change.path.endswith(".py") for change in evidence.changes)
    run = evidence.head_run
    compared = evidence.comparison
    if asks_no_tests(evidence) or not written or run is None or not run.honest or compared is None:
        return False
    story = all(result.outcome == "passed" for result in run.story)
    return bool(run.passed) and story and not compared.regressed


def _not_compared(parity: Parity) -> Iterator[Finding]:
    """What worked before the step and does not work after it is the step's own doing."""
    for problem in parity.problems:
        yield finding("RFC415" if problem.startswith(AFTER) else "RFC414", problem)


def _said(each: Differing) -> str:
    return f"`{each.given}` was {each.before} and is {each.after} ({_HOW[each.origin]})"


def _unrun(parity: Parity) -> Iterator[Finding]:
    code = "RFC416" if parity.partial else "RFC413"
    for each in parity.unrun:
        inside = f" in `{each.function}`" if each.function else ""
        yield finding(
            code, f"no test runs `{each.what}`{inside}, and it was not there before", path=each.path, line=each.line
        )
