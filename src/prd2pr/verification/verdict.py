"""The gates: each applies the policy to the findings of its phase and returns a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prd2pr.domain.evidence import RULE_CRASHED, Evidence, Finding, Verdict
from prd2pr.domain.records import Phase
from prd2pr.errors import Prd2prError
from prd2pr.languages.rule_isolation import describe_crash
from prd2pr.verification.findings import FINDINGS, UNSWITCHABLE
from prd2pr.verification.gates.common import GatePolicy, make_finding
from prd2pr.verification.gates.green import check_green
from prd2pr.verification.gates.integrated import check_integrated
from prd2pr.verification.gates.red import check_red
from prd2pr.verification.gates.refactor import check_refactor

__all__ = ["GATES", "GatePolicy", "judge_green", "judge_integrated", "judge_red", "judge_refactor"]


def judge_red(evidence: Evidence, policy: GatePolicy) -> Verdict:
    return build_verdict(Phase.RED, check_red(evidence, policy), policy)


def judge_green(evidence: Evidence, policy: GatePolicy) -> Verdict:
    return build_verdict(Phase.GREEN, check_green(evidence, policy), policy)


def judge_refactor(evidence: Evidence, policy: GatePolicy) -> Verdict:
    return build_verdict(Phase.REFACTOR, check_refactor(evidence, policy), policy)


def judge_integrated(evidence: Evidence, policy: GatePolicy) -> Verdict:
    return build_verdict(Phase.INTEGRATED, check_integrated(evidence, policy), policy)


GATES: dict[Phase, Callable[[Evidence, GatePolicy], Verdict]] = {
    Phase.RED: judge_red,
    Phase.GREEN: judge_green,
    Phase.REFACTOR: judge_refactor,
    Phase.INTEGRATED: judge_integrated,
}


def _isolate_checks(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the findings of the checks.

    If a check crashes, yield a finding for the crash, so that the step is not accepted.
    """
    try:
        yield from findings
    except Prd2prError:
        raise
    except Exception as error:  # noqa: BLE001 - no check may end the run
        yield make_finding(RULE_CRASHED, describe_crash(error))


def build_verdict(phase: Phase, findings: Iterable[Finding], policy: GatePolicy) -> Verdict:
    ordered = weigh_findings(findings, policy)
    return Verdict(phase=phase, accepted=not any(each.severity == "error" for each in ordered), findings=ordered)


def weigh_findings(findings: Iterable[Finding], policy: GatePolicy) -> tuple[Finding, ...]:
    """Set the severities from the policy, which cannot lower those of unswitchable findings, and sort the findings."""
    weighed: dict[Finding, None] = {}
    for each in _isolate_checks(findings):
        severity = FINDINGS[each.code].severity
        if each.code not in UNSWITCHABLE:
            configured = policy.severities.get(each.code, severity)
            if configured == "off":
                continue
            severity = configured
        weighed[each.model_copy(update={"severity": severity})] = None
    return tuple(sorted(weighed, key=lambda each: (each.severity, each.code, each.path, each.line, each.test)))
