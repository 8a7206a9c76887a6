"""Evidence of each step for people: test runs, tests before and after, findings and diff."""

from __future__ import annotations

from prd2pr.domain.documents import is_document
from prd2pr.domain.evidence import Comparison, Evidence, Failure, FailureKind, Finding, Proof, RunSummary, TestResult
from prd2pr.domain.machines.story_machine import GATED
from prd2pr.domain.records import NO_TESTS_REQUIRED, UNTESTED_KINDS, LineCoverage, Phase, Step
from prd2pr.domain.results.differential import DifferentialResult
from prd2pr.domain.results.isolation import is_unsandboxed
from prd2pr.domain.results.mutation import FaultOutcome, MutantResult, MutationResult
from prd2pr.domain.wording import (
    ANSI,
    clean_line,
    clip,
    count,
    escape_invisible,
    format_dollars,
    format_duration,
    format_pass_count,
    format_time,
    format_token_count,
)
from prd2pr.languages.hidden_examples import describe_hidden_examples
from prd2pr.views.diff import parse_patch
from prd2pr.views.models import (
    FaultLabel,
    FaultView,
    FindingView,
    StepView,
    TestRunView,
    TestView,
    Tone,
    make_html_anchor,
)
from prd2pr.views.mutation_text import (
    format_flakiness_summary,
    format_mutation_score,
    format_mutation_summary,
    format_replay_summary,
)
from prd2pr.views.stories.cards import is_unchanged
from prd2pr.views.stories.facts import PrdFacts

FAILURE_REASONS: dict[FailureKind, str] = {
    FailureKind.ASSERTION: "assertion",
    FailureKind.MISSING_SYMBOL: "does not exist yet",
    FailureKind.NOT_IMPLEMENTED: "not implemented yet",
    FailureKind.SYNTAX: "syntax error",
    FailureKind.FIXTURE: "fixture failed",
    FailureKind.IMPORT: "import failed",
    FailureKind.EXIT: "the process was ended",
    FailureKind.TIMEOUT: "timed out",
    FailureKind.COLLECTION: "could not be collected",
    FailureKind.EXPLICIT: "failed on demand",
    FailureKind.EXCEPTION: "exception",
}


MAX_CHANGE = 300
MAX_FAULTS = 200
# Same rule as `MutationResult.judged`: a timeout says nothing about the tests.
FAULT_LABELS: dict[FaultOutcome, FaultLabel] = {
    "killed": "noticed",
    "survived": "not noticed",
    "timeout": "not judged",
    "not_judged": "not judged",
}
FAULT_ORDER: tuple[FaultLabel, ...] = ("not noticed", "not judged", "noticed")


def format_differential_summary(result: DifferentialResult) -> str:
    if result.problems:
        return f"Old and new code could not be compared: {result.problems[0]}."
    calls = sum(each.calls - each.unjudged for each in result.functions)
    if not calls:
        return "There was no public function whose calls could be compared."
    unjudged = sum(each.unjudged for each in result.functions)
    differing = sum(each.differing for each in result.functions)
    ended = f"{differing:,} with a different result" if differing else "all with the same result"
    left = f"; {unjudged:,} more depend on time, randomness or the environment and were not judged" if unjudged else ""
    return (
        f"{count(calls, 'call')} of {count(len(result.functions), 'public function')}, before and after: {ended}{left}."
    )


def build_step_view(facts: PrdFacts, story: str, step: Step) -> StepView:
    proof = facts.proof(story, step)
    commit = facts.commits.get((story, step.n))
    mutation = proof.evidence.bite if proof else None
    outcome, tone = describe_step_outcome(facts, story, step)
    note = clip(clean_line(step.note or (proof.evidence.note if proof else "")), 600)
    return StepView(
        anchor=make_html_anchor("step", story, step.n),
        n=step.n,
        phase=step.phase.value,
        outcome=outcome,
        tone=tone,
        commit=commit.sha if commit else "",
        at=format_time(step.at),
        attempts=step.attempts,
        cost=format_step_cost(step),
        note=note if note != outcome else "",
        runs=build_test_run_views(proof.evidence) if proof else (),
        tests=build_test_views(proof.evidence) if proof else (),
        findings=build_finding_views(proof),
        facts=(*(list_evidence_sentences(proof.evidence) if proof else ()), *facts.describe_ci(story, step)),
        faults=format_mutation_score(mutation) if mutation else "",
        mutants=build_fault_views(mutation) if mutation else (),
        diff=parse_patch(commit.patch) if commit else (),
        output=format_program_output(proof.evidence.smoke.output) if proof and proof.evidence.smoke else "",
    )


def describe_step_outcome(facts: PrdFacts, story: str, step: Step) -> tuple[str, Tone]:
    if facts.is_unproven(story, step):
        return "no proof", "unproven"
    if step.phase not in GATED:
        return "done", "quiet"
    proof = facts.proof(story, step)
    if step.phase is Phase.REFACTOR and (proof is None or is_unchanged(facts, story, step)):
        return "nothing worth changing", "quiet"
    if facts.kind(story) in UNTESTED_KINDS:
        return f"accepted, {NO_TESTS_REQUIRED}", "quiet"
    return describe_run_outcome(step.phase, proof.evidence.head_run if proof else None), "proven"


def describe_run_outcome(phase: Phase, run: RunSummary | None) -> str:
    if run is None:
        return "accepted without a test run"
    passed = sum(result.outcome == "passed" for result in run.story)
    others = run.collected - len(run.story)
    if phase is Phase.RED:
        failing = len(run.story) - passed
        return f"{count(failing, 'test')} {'fails' if failing == 1 else 'fail'} as expected"
    own = format_pass_count(passed, len(run.story), "story test")
    return f"{own}, {format_pass_count(run.passed - passed, others, 'other')}"


def format_step_cost(step: Step) -> str:
    parts = [format_duration(step.seconds)] if step.seconds else []
    if step.spend.tokens:
        parts.append(format_token_count(step.spend.tokens))
        parts.append("no price known" if step.spend.usd is None else format_dollars(step.spend.usd))
    return ", ".join(parts)


def build_test_run_views(evidence: Evidence) -> tuple[TestRunView, ...]:
    runs = (("before", evidence.base_run), ("after", evidence.head_run), ("repeated", evidence.repeat_run))
    return tuple(build_test_run_view(label, run) for label, run in runs if run)


def build_test_run_view(label: str, run: RunSummary) -> TestRunView:
    return TestRunView(
        label=label,
        collected=run.collected,
        passed=run.passed,
        failed=run.failed,
        errors=run.errors,
        skipped=run.skipped,
        seconds=format_duration(run.seconds),
        sandbox="no sandbox" if is_unsandboxed(run.sandbox) else clean_line(run.sandbox),
        honest=run.honest,
        problems=tuple(clip(clean_line(problem), 300) for problem in run.problems),
    )


def build_test_views(evidence: Evidence) -> tuple[TestView, ...]:
    before = {result.id: result for result in (evidence.base_run.story if evidence.base_run else ())}
    after = evidence.head_run.story if evidence.head_run else ()
    absent = "moved here" if evidence.phase is Phase.INTEGRATED else "not there" if evidence.base_run else "not run"
    return tuple(
        build_test_view(result, before[result.id].outcome if result.id in before else absent, evidence.phase)
        for result in after
    )


def build_test_view(result: TestResult, before: str, phase: Phase) -> TestView:
    planned = phase is Phase.RED and result.outcome in ("failed", "error")
    tone: Tone = "proven" if result.outcome == "passed" else "working" if planned else "refused"
    return TestView(
        id=escape_invisible(result.id),
        before=before,
        after=result.outcome,
        tone=tone,
        failure=format_failure_reason(result.failure) if result.failure else "",
    )


def format_failure_reason(failure: Failure) -> str:
    why = (
        f"`{clean_line(failure.missing)}` {FAILURE_REASONS[failure.kind]}"
        if failure.missing
        else FAILURE_REASONS[failure.kind]
    )
    message = clip(clean_line(failure.message), 240)
    return f"{why}: {message}" if message and not failure.missing else why


def format_program_output(output: str) -> str:
    return "\n".join(map(escape_invisible, ANSI.sub("", output).splitlines()))


def build_finding_views(proof: Proof | None) -> tuple[FindingView, ...]:
    return tuple(build_finding_view(finding) for finding in proof.verdict.findings) if proof else ()


def build_finding_view(finding: Finding) -> FindingView:
    place = f"{finding.path}:{finding.line}" if finding.path and finding.line else finding.path or finding.test
    return FindingView(
        clean_line(finding.code), finding.severity, clip(clean_line(finding.message), 600), escape_invisible(place)
    )


def list_evidence_sentences(evidence: Evidence) -> tuple[str, ...]:
    """List facts that no table shows: locked files, comparison with the base, mutation testing."""
    sentences: list[str] = []
    if evidence.locked:
        same = sum(file.expected == file.actual for file in evidence.locked)
        sentences.append(f"Locked files identical to those of RED: {same} of {len(evidence.locked)}.")
    if evidence.comparison:
        sentences.append(format_comparison_summary(evidence.comparison))
    if written := sum(is_document(each.path) for each in evidence.changes if each.path in evidence.living_docs):
        sentences.append(f"Living docs updated: {written}, as rendered from code and records.")
    if evidence.coverage is not None:
        named = sum(bool(part.tests) for part in evidence.coverage)
        sentences.append(f"Acceptance criteria that a test names: {named} of {len(evidence.coverage)}.")
    if evidence.repeat_run and evidence.head_run:
        sentences.append(format_repeat_summary(evidence.head_run, evidence.repeat_run))
    if evidence.bite:
        sentences += [
            format_mutation_summary(evidence.bite),
            format_flakiness_summary(evidence.bite),
            format_replay_summary(evidence.bite),
        ]
    if evidence.parity:
        sentences.append(format_differential_summary(evidence.parity))
    sentences.append(describe_hidden_examples(evidence))
    if evidence.line_coverage:
        sentences.append(f"Line coverage, not judged: {format_line_coverage(evidence.line_coverage)}.")
    if evidence.smoke:
        sentences.append(f"Run of the program, not judged: {evidence.smoke.summary}.")
    return tuple(sentence for sentence in sentences if sentence)


def format_line_coverage(measured: LineCoverage, before: LineCoverage | None = None) -> str:
    """Return `93.6% of 440 statements, 91.2% before; 24 of 24 of the story's own`."""
    whole = (
        f"{measured.share} of {count(measured.statements, 'statement')}{f', {before.share} before' if before else ''}"
    )
    return f"{whole}; {measured.own} of the story's own" if measured.own else whole


def format_comparison_summary(compared: Comparison) -> str:
    lost = len(compared.regressed) + len(compared.vanished)
    verdict = f"{count(lost, 'test')} no longer {'passes' if lost == 1 else 'pass'}" if lost else "all still pass"
    return (
        f"Collected: {count(compared.collected_before, 'test')} before, {compared.collected_after:,} after; "
        f"of those that passed before, {verdict}."
    )


def format_repeat_summary(first: RunSummary, second: RunSummary) -> str:
    again = {result.id: make_result_signature(result) for result in second.story}
    same = sum(again.get(result.id) == make_result_signature(result) for result in first.story)
    return (
        f"A second run, in another order, gave the same result for {same} of {count(len(first.story), 'story test')}."
    )


def make_result_signature(result: TestResult) -> str:
    return result.failure.signature if result.failure else result.outcome


def build_fault_views(mutation: MutationResult) -> tuple[FaultView, ...]:
    """Build the list of mutants, with surviving ones first. After a squash, only their number is known."""
    tried = [build_fault_view(each) for each in (*mutation.mutants, *mutation.knock_outs) if each.path]
    return tuple(sorted(tried, key=lambda each: FAULT_ORDER.index(each.outcome)))[:MAX_FAULTS]


def build_fault_view(fault: MutantResult) -> FaultView:
    change = fault.change or f"`{fault.function}` raises at once"
    return FaultView(
        change=clip(escape_invisible(change), MAX_CHANGE),
        place=escape_invisible(f"{fault.path}:{fault.line}" if fault.line else fault.path),
        outcome=FAULT_LABELS[fault.outcome],
        by=escape_invisible(fault.by),
        why=clip(clean_line(fault.why), 300) or ("it ran out of time" if fault.outcome == "timeout" else ""),
    )
