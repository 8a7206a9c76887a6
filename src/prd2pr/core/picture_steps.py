"""The evidence of each crossed phase, as a person reads it: runs, tests before and after, findings, diff."""

from __future__ import annotations

import base64

from prd2pr.core.bite.words import bite_sentence, replay_sentence, ways_sentence
from prd2pr.core.cycle_machine import GATED
from prd2pr.core.evidence import Comparison, Evidence, Failure, FailureKind, Finding, Proof, RunSummary, TestResult
from prd2pr.core.held_out import held_out_words
from prd2pr.core.isolation import is_none
from prd2pr.core.living.documents import is_document
from prd2pr.core.parity.words import parity_sentence
from prd2pr.core.patch import file_diffs
from prd2pr.core.picture_board import nothing_changed
from prd2pr.core.picture_facts import BranchFacts, anchor
from prd2pr.core.picture_parts import FindingView, PageView, RunView, StepView, StoryView, TestView, Tone
from prd2pr.core.records import UNTESTED_KINDS, Phase, Step, Story
from prd2pr.core.wording import clip, count, dollars, duration, moment, passing, plain, token_count, visible

WHY: dict[FailureKind, str] = {
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


def story_views(facts: BranchFacts) -> tuple[StoryView, ...]:
    """Stories that something has been done for."""
    return tuple(story_view(facts, story) for story in facts.backlog.stories if facts.steps(story.id))


def story_view(facts: BranchFacts, story: Story) -> StoryView:
    standing = facts.standing(story)
    design = facts.cycles[story.id].design
    return StoryView(
        anchor=anchor("story", story.id),
        id=plain(story.id),
        title=clip(plain(story.title), 120),
        outcome=standing.word,
        tone=standing.tone,
        design=clip(plain(design.summary), 600) if design else "",
        decisions=tuple(clip(plain(decision), 300) for decision in design.decisions) if design else (),
        steps=tuple(step_view(facts, story.id, step) for step in facts.steps(story.id)),
        pages=page_views(facts, story.id),
    )


def page_views(facts: BranchFacts, story: str) -> tuple[PageView, ...]:
    """Only a picture that is what its evidence names is shown."""
    step = facts.last_step(story, Phase.INTEGRATED)
    proof = facts.proof(story, step) if step else None
    return tuple(
        PageView(
            path=clip(visible(each.path), 200),
            file=visible(each.file),
            digest=visible(each.digest),
            data=base64.b64encode(facts.files.get(each.digest, b"")).decode(),
        )
        for each in (proof.evidence.pages if proof else ())
    )


def step_view(facts: BranchFacts, story: str, step: Step) -> StepView:
    proof = facts.proof(story, step)
    commit = facts.commits.get((story, step.n))
    outcome, tone = outcome_of(facts, story, step)
    note = clip(plain(step.note or (proof.evidence.note if proof else "")), 600)
    return StepView(
        anchor=anchor("step", story, step.n),
        n=step.n,
        phase=step.phase.value,
        outcome=outcome,
        tone=tone,
        sha=commit.sha if commit else "",
        at=moment(step.at),
        attempts=step.attempts,
        cost=cost_text(step),
        note=note if note != outcome else "",
        runs=run_views(proof.evidence) if proof else (),
        tests=test_views(proof.evidence) if proof else (),
        findings=finding_views(proof),
        facts=sentences(proof.evidence) if proof else (),
        diff=file_diffs(commit.patch) if commit else (),
    )


def outcome_of(facts: BranchFacts, story: str, step: Step) -> tuple[str, Tone]:
    if facts.unproven(story, step):
        return "no proof", "unproven"
    if step.phase not in GATED:
        return "done", "quiet"
    proof = facts.proof(story, step)
    if step.phase is Phase.REFACTOR and (proof is None or nothing_changed(facts, story, step)):
        return "nothing worth changing", "quiet"
    if facts.kind(story) in UNTESTED_KINDS:
        return "accepted, no tests asked for", "quiet"
    return outcome_sentence(step.phase, proof.evidence.head_run if proof else None), "proven"


def outcome_sentence(phase: Phase, run: RunSummary | None) -> str:
    if run is None:
        return "accepted without a test run"
    passed = sum(result.outcome == "passed" for result in run.story)
    others = run.collected - len(run.story)
    if phase is Phase.RED:
        failing = len(run.story) - passed
        return f"{count(failing, 'test')} {'fails' if failing == 1 else 'fail'} as planned"
    return f"{passing(passed, len(run.story), 'story test')}, {passing(run.passed - passed, others, 'other')}"


def cost_text(step: Step) -> str:
    parts = [duration(step.seconds)] if step.seconds else []
    if step.spend.tokens:
        parts.append(token_count(step.spend.tokens))
        parts.append("no price known" if step.spend.usd is None else dollars(step.spend.usd))
    return ", ".join(parts)


def run_views(evidence: Evidence) -> tuple[RunView, ...]:
    runs = (("before", evidence.base_run), ("after", evidence.head_run), ("repeated", evidence.repeat_run))
    return tuple(run_view(label, run) for label, run in runs if run)


def run_view(label: str, run: RunSummary) -> RunView:
    return RunView(
        label=label,
        collected=run.collected,
        passed=run.passed,
        failed=run.failed,
        errors=run.errors,
        skipped=run.skipped,
        seconds=duration(run.seconds),
        sandbox="no sandbox" if is_none(run.sandbox) else plain(run.sandbox),
        honest=run.honest,
        problems=tuple(clip(plain(problem), 300) for problem in run.problems),
    )


def test_views(evidence: Evidence) -> tuple[TestView, ...]:
    before = {result.id: result for result in (evidence.base_run.story if evidence.base_run else ())}
    after = evidence.head_run.story if evidence.head_run else ()
    absent = "moved here" if evidence.phase is Phase.INTEGRATED else "not there" if evidence.base_run else "not run"
    return tuple(
        test_view(result, before[result.id].outcome if result.id in before else absent, evidence.phase)
        for result in after
    )


def test_view(result: TestResult, before: str, phase: Phase) -> TestView:
    planned = phase is Phase.RED and result.outcome in ("failed", "error")
    tone: Tone = "proven" if result.outcome == "passed" else "working" if planned else "refused"
    return TestView(
        id=visible(result.id),
        before=before,
        after=result.outcome,
        tone=tone,
        failure=failure_text(result.failure) if result.failure else "",
    )


def failure_text(failure: Failure) -> str:
    why = f"`{plain(failure.missing)}` {WHY[failure.kind]}" if failure.missing else WHY[failure.kind]
    message = clip(plain(failure.message), 240)
    return f"{why}: {message}" if message and not failure.missing else why


def finding_views(proof: Proof | None) -> tuple[FindingView, ...]:
    return tuple(finding_view(finding) for finding in proof.verdict.findings) if proof else ()


def finding_view(finding: Finding) -> FindingView:
    place = f"{finding.path}:{finding.line}" if finding.path and finding.line else finding.path or finding.test
    return FindingView(plain(finding.code), finding.severity, clip(plain(finding.message), 600), visible(place))


def sentences(evidence: Evidence) -> tuple[str, ...]:
    """Facts that are no table: what was held fast, what the comparison with the base says."""
    said: list[str] = []
    if evidence.locked:
        same = sum(file.expected == file.actual for file in evidence.locked)
        said.append(f"Locked files that are byte for byte what RED committed: {same} of {len(evidence.locked)}.")
    if evidence.comparison:
        said.append(comparison_sentence(evidence.comparison))
    if written := sum(is_document(each.path) for each in evidence.changes if each.path in evidence.living_docs):
        said.append(f"Living docs written with it: {written}, as they are rendered from code and records.")
    if evidence.coverage is not None:
        named = sum(bool(part.tests) for part in evidence.coverage)
        said.append(f"Acceptance criteria that a test names: {named} of {len(evidence.coverage)}.")
    if evidence.repeat_run and evidence.head_run:
        said.append(repeat_sentence(evidence.head_run, evidence.repeat_run))
    if evidence.bite:
        said += [bite_sentence(evidence.bite), ways_sentence(evidence.bite), replay_sentence(evidence.bite)]
    if evidence.parity:
        said.append(parity_sentence(evidence.parity))
    said.append(held_out_words(evidence))
    return tuple(sentence for sentence in said if sentence)


def comparison_sentence(compared: Comparison) -> str:
    lost = len(compared.regressed) + len(compared.vanished)
    verdict = f"{count(lost, 'test')} no longer {'passes' if lost == 1 else 'pass'}" if lost else "none is lost"
    return (
        f"Collected: {count(compared.collected_before, 'test')} before, {compared.collected_after:,} after; "
        f"of those that passed before, {verdict}."
    )


def repeat_sentence(first: RunSummary, second: RunSummary) -> str:
    again = {result.id: signature(result) for result in second.story}
    same = sum(again.get(result.id) == signature(result) for result in first.story)
    return f"A second run, in another order, ended the same way for {same} of {count(len(first.story), 'story test')}."


def signature(result: TestResult) -> str:
    return result.failure.signature if result.failure else result.outcome
