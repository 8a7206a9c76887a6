"""Judge the evidence about a changeset, and describe the result on one line. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from prd2pr.domain.changeset import ChangesetEvidence, ChangesetKind, ChangesetVerdict
from prd2pr.domain.evidence import Finding
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.domain.wording import count, format_share
from prd2pr.verification.findings import FINDINGS
from prd2pr.verification.gates.changeset import check_changeset, classify_changeset, is_requirement_change
from prd2pr.verification.gates.common import GatePolicy
from prd2pr.verification.verdict import weigh_findings

# The kind that describes a changeset with several stacks is the first of these.
_RANKING = (
    ChangesetKind.UNTESTED,
    ChangesetKind.BEHAVIOR,
    ChangesetKind.REFACTORING,
    ChangesetKind.TESTS,
    ChangesetKind.SETTINGS,
    ChangesetKind.NO_EFFECT,
    ChangesetKind.EMPTY,
)

MAX_REASONS = 2  # in the one line about a refusal
STATED_CODES = {"CHK101", "CHK102"}


def judge_changeset(evidence: Sequence[ChangesetEvidence], policy: GatePolicy) -> ChangesetVerdict:
    found = [finding for each in evidence for finding in check_changeset(each, policy)]
    findings = tuple(map(_reword_for_changeset, weigh_findings(found, policy)))
    accepted = not any(each.severity == "error" for each in findings)
    kind = min((classify_changeset(each) for each in evidence), key=_RANKING.index)
    return ChangesetVerdict(
        kind=kind, accepted=accepted, headline=_describe(kind, evidence, findings), findings=findings
    )


def _reword_for_changeset(finding: Finding) -> Finding:
    """Name the change instead of the story, which the messages of shared gates mention."""
    message = finding.message.replace("no test of this story", "no test of this change")
    return finding.model_copy(update={"message": message})


def _describe(kind: ChangesetKind, evidence: Sequence[ChangesetEvidence], findings: Sequence[Finding]) -> str:
    numbers = ", ".join(_describe_parts(kind, evidence))
    reasons = [f"{FINDINGS[code].title} ({code})" for code in _list_reasons(findings)]
    shown = reasons[:MAX_REASONS] + ([f"{len(reasons) - MAX_REASONS} more"] if len(reasons) > MAX_REASONS else [])
    return f"{', '.join(shown)}; {numbers}" if shown else numbers


def _list_reasons(findings: Sequence[Finding]) -> list[str]:
    """Return the codes of the errors, except those that the description of the changeset already mentions."""
    errors = dict.fromkeys(each.code for each in findings if each.severity == "error")
    return [code for code in errors if code not in STATED_CODES]


def _describe_parts(kind: ChangesetKind, evidence: Sequence[ChangesetEvidence]) -> Iterator[str]:
    if kind is ChangesetKind.EMPTY:
        yield "nothing differs from the base"
    elif kind is ChangesetKind.NO_EFFECT:
        files = count(_count_changes(evidence), "changed file")
        yield f"{files}, none of which a test could see: {_name_inert(evidence)}"
    elif kind is ChangesetKind.SETTINGS:
        ran = sum(each.head_run.passed for each in evidence if each.head_run)
        yield f"only settings changed, and {count(ran, 'test')} {'passes' if ran == 1 else 'pass'} as before"
    elif kind is ChangesetKind.UNTESTED:
        code = [one for each in evidence if classify_changeset(each) is kind for one in each.code]
        yield f"source changed in {count(len(code), 'place')}, and no test fails without the change"
    else:
        yield from _describe_tests(kind, evidence)


def _describe_tests(kind: ChangesetKind, evidence: Sequence[ChangesetEvidence]) -> Iterator[str]:
    red = _count_tests(test for each in evidence for test in _list_own_red_tests(each))
    fresh = red + _count_tests(test for each in evidence for test in each.passing_tests)
    if kind is ChangesetKind.BEHAVIOR:
        verbs = ("fails", "passes") if red == 1 else ("fail", "pass")
        tests = format_share(red, fresh, "new or changed test")
        yield f"{tests} {verbs[0]} without the new source and {verbs[1]} with it"
        if killed := _describe_mutants(evidence):
            yield killed
    elif kind is ChangesetKind.REFACTORING:
        calls = sum(
            one.calls
            for each in evidence
            if each.refactor and each.refactor.parity
            for one in each.refactor.parity.functions
        )
        yield f"claimed as refactoring ({next(each.refactoring for each in evidence if each.refactoring)})"
        yield f"{count(calls, 'call')} of old and new code compared"
    else:
        yield f"only tests changed: {count(fresh, 'new or changed test')}"
    changed = sum(each.now is not None for one in evidence for each in one.earlier if is_requirement_change(each))
    if changed:
        yield f"{count(changed, 'existing test')} with a changed requirement"


def _list_own_red_tests(each: ChangesetEvidence) -> Iterator[str]:
    """Yield the red tests, except those that fail only because their file imports a new name."""
    runs = (each.red.base_run, each.red.head_run) if each.red else (None, None)
    passed = {result.id for result in runs[0].story if result.outcome == "passed"} if runs[0] else set()
    passed = set(map(strip_test_parameters, passed))
    results = runs[1].story if runs[1] else ()
    stopped = {result.id for result in results if result.failure and result.failure.stage == "collect"}
    for test in each.red_tests or each.fixed_tests:
        if test not in stopped or strip_test_parameters(test) not in passed:
            yield test


def _describe_mutants(evidence: Sequence[ChangesetEvidence]) -> str:
    results = [each.green.bite for each in evidence if each.green and each.green.bite]
    judged = sum(len(each.judged) for each in results)
    return f"{sum(each.killed for each in results)} of {count(judged, 'mutant')} killed" if judged else ""


def _count_tests(tests: Iterable[str]) -> int:
    return len({strip_test_parameters(test) for test in tests})


def _count_changes(evidence: Sequence[ChangesetEvidence]) -> int:
    return len({change.path for each in evidence for change in each.changes})


def _name_inert(evidence: Sequence[ChangesetEvidence]) -> str:
    names = {change.kind.value for each in evidence for change in each.changes if change.kind.value != "source"}
    if any(each.invisible for each in evidence):
        names.add("comments, docstrings, annotations or layout")
    return ", ".join(sorted(names))


def build_report(evidence: Sequence[ChangesetEvidence], verdict: ChangesetVerdict) -> dict[str, Any]:
    """Return the verdict with its numbers, as `--json` prints it."""
    return {
        "verdict": "accepted" if verdict.accepted else "refused",
        "kind": verdict.kind.value,
        "headline": verdict.headline,
        "findings": [each.model_dump() for each in verdict.findings],
        "stacks": [_report_stack(each) for each in evidence],
    }


def _report_stack(each: ChangesetEvidence) -> dict[str, Any]:
    mutation = each.green.bite if each.green else None
    fields = {"collected", "passed", "failed", "errors", "skipped", "seconds", "sandbox", "honest"}
    return {
        "stack": each.stack,
        "base_tree": each.base_tree,
        "head_tree": each.head_tree,
        "changed_files": len(each.changes),
        "red_tests": list(each.red_tests or each.fixed_tests),
        "passing_tests": list(each.passing_tests),
        "changed_requirements": [one.id for one in each.earlier if is_requirement_change(one)],
        "mutants": {"tried": len(mutation.judged), "killed": mutation.killed} if mutation else None,
        "faults_of_old_tests": each.protection.killed_before if each.protection else None,
        "run": each.head_run.model_dump(include=fields) if each.head_run else None,
    }
