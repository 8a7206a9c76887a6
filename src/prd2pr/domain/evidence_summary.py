"""The readable summary of a step's evidence. All data is in a compressed file next to it."""

from __future__ import annotations

from collections import Counter

from prd2pr.domain.evidence import Evidence, Finding, Proof, RunSummary
from prd2pr.domain.records import Document, Phase, Record

SHOWN_FINDINGS = 10  # so that a summary has at most 40 lines


class RunCounts(Record):
    """The counts of a test run, as `prd2pr gate --json` prints them."""

    collected: int
    passed: int
    failed: int
    errors: int
    skipped: int
    seconds: float
    sandbox: str
    honest: bool


class MutantCounts(Record):
    tried: int
    killed: int
    survived: tuple[str, ...] = ()  # the first ones, as in src/shop/points.py:13 `100` → `101`


class EvidenceSummary(Document):
    """What was observed and judged, stored as `tdd/evidence/<story>/<n>-<phase>.json`."""

    step: str  # as in the commit's trailer
    phase: Phase
    verdict: str
    data: str  # sha256 of the uncompressed data
    made_by: str
    base_tree: str
    head_tree: str
    changes: dict[str, int]  # changed files by kind
    story_tests: dict[str, int]  # the story's tests by outcome
    run: RunCounts | None = None
    mutants: MutantCounts | None = None
    hidden_examples: dict[str, int] | None = None  # by outcome
    findings: tuple[Finding, ...] = ()
    more_findings: int = 0
    note: str = ""


def summarize_step(proof: Proof, digest: str) -> EvidenceSummary:
    evidence, findings = proof.evidence, proof.verdict.findings
    return EvidenceSummary(
        step=f"{evidence.prd}/{evidence.story}/{evidence.step}",
        phase=evidence.phase,
        verdict="accepted" if proof.verdict.accepted else "refused",
        data=digest,
        made_by=evidence.made_by,
        base_tree=evidence.base_tree,
        head_tree=evidence.head_tree,
        changes=dict(Counter(change.kind.value for change in evidence.changes)),
        story_tests=dict(Counter(result.outcome for result in evidence.head_run.story)) if evidence.head_run else {},
        run=count_run(evidence.head_run),
        mutants=count_mutants(evidence),
        hidden_examples=(
            dict(Counter(result.outcome for result in evidence.held_out.results)) if evidence.held_out else None
        ),
        findings=findings[:SHOWN_FINDINGS],
        more_findings=max(0, len(findings) - SHOWN_FINDINGS),
        note=evidence.note,
    )


def count_run(run: RunSummary | None) -> RunCounts | None:
    return RunCounts(**run.model_dump(include=set(RunCounts.model_fields))) if run else None


def count_mutants(evidence: Evidence) -> MutantCounts | None:
    if evidence.bite is None:
        return None
    survived = (each for each in evidence.bite.mutants if each.outcome == "survived")
    shown = (f"{each.path}:{each.line} {each.change}" for each in survived)
    return MutantCounts(
        tried=len(evidence.bite.judged), killed=evidence.bite.killed, survived=tuple(shown)[:SHOWN_FINDINGS]
    )
