"""Judge the change between any two commits, for `prd2pr gate`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from prd2pr.domain.evidence import Evidence, Finding, RunSummary, Verdict
from prd2pr.domain.records import Cycle, DeclaredTestChange, Phase
from prd2pr.domain.results.mutation import MutationResult
from prd2pr.errors import StateProblem, UsageProblem
from prd2pr.state.commit_message import StepRef, read_declared_tests, read_step
from prd2pr.state.git import Git
from prd2pr.state.layout import PRDS
from prd2pr.state.store import StateStore
from prd2pr.verification.gather.context import GatherContext
from prd2pr.verification.gather.pipeline import gather
from prd2pr.verification.story_context import NO_DOCS, ExpectedDocs, StoryContext
from prd2pr.verification.verdict import GATES, GatePolicy

NOT_JUDGED = "not judged"


def judge_commits(  # noqa: PLR0917 the arguments of the command line, in the same order
    gather_context: GatherContext, policy: GatePolicy, phase: Phase, base: str, head: str, story: str | None = None
) -> tuple[Evidence, Verdict]:
    """Gather evidence between two commits and judge it.

    With `story`, use that story's design, criteria and RED tests.
    """
    git = gather_context.git
    base, head = git.rev(base), git.rev(head)
    context = load_story_context(git, story, (base, head)) if story else None
    if phase is Phase.RED and (declared := read_declarations(git, base, head, context)):
        context = replace(context or StoryContext(""), changed_tests=declared)
    step = _read_step_ref(git, head)
    try:
        docs = _render_docs(gather_context, base, head, step) if phase is Phase.INTEGRATED else NO_DOCS
    except StateProblem:
        if step is not None:
            raise
        docs = NO_DOCS  # a person's commit forged the state, which the gate refuses
    evidence = gather(gather_context, phase, base, head, story=context, docs=docs, with_state=step is None)
    return evidence, GATES[phase](evidence, policy)


def _render_docs(gather_context: GatherContext, base: str, head: str, step: StepRef | None) -> ExpectedDocs:
    """Render the living docs from the state before a step or, for other commits, as `prd2pr docs --write` does."""
    # Late, because only INTEGRATED needs them, and loading them takes a quarter of a gate's start.
    from prd2pr.livingdocs.cache import FactsCache
    from prd2pr.proof.claims.documents import render_claimed_docs, render_docs_between
    from prd2pr.proof.verify import load_claim

    info = gather_context.git.commit_info(head)
    if step is not None and info.parents == (base,):
        return render_claimed_docs(gather_context, load_claim(gather_context.git, info, step), FactsCache())
    return render_docs_between(gather_context, base, head)


def load_story_context(git: Git, story: str, commits: Iterable[str]) -> StoryContext | None:
    """Load the story from the first commit that has it, because a step may only use what existed before it.

    Return None if no commit contains a plan. The commits are then a person's and are judged without a story.
    """
    known: set[str] = set()
    base, *later = commits
    for commit in (base, *later):
        for prd in _list_prds(git, commit):
            try:
                state = StateStore(git, prd).load(commit)
                stories = {each.id: each for each in state.backlog.stories}
                cycle = state.cycle(story) or Cycle(story=story)
            except StateProblem:
                if commit == base:
                    raise
                continue  # the judged commit forged it, which the gate refuses
            known |= set(stories)
            if story in stories:
                return StoryContext.from_cycle(prd, stories[story], cycle)
    if not known:
        return None
    listed = ", ".join(sorted(known)[:10])
    raise UsageProblem(
        f"neither commit has a story {story}",
        where="--story",
        remedy=f"choose one of: {listed}",
    )


def read_declarations(git: Git, base: str, head: str, story: StoryContext | None) -> tuple[DeclaredTestChange, ...]:
    """Return the existing tests that the judged commits declare to change, in trailers or in the story's record."""
    declared = [each for commit in git.log(f"{base}..{head}") for each in read_declared_tests(commit.trailers)]
    if story and _read_step_ref(git, head) is not None:
        with suppress(StateProblem):  # forged, which the gate refuses
            cycle = StateStore(git, story.prd).load(head).cycle(story.story)
            declared += cycle.changed_tests if cycle else ()
    return tuple(declared)


def _list_prds(git: Git, commit: str) -> list[str]:
    paths = (entry.path.removeprefix(f"{PRDS}/") for entry in git.entries(commit, PRDS))
    return sorted({path.split("/")[0] for path in paths if "/" in path})


def _read_step_ref(git: Git, commit: str) -> StepRef | None:
    """Return the step that a bot commit names, or None for other commits, which must not change the state."""
    (info,) = git.log(f"{commit}^!") or (None,)
    return read_step(info.trailers) if info else None


def build_gate_report(evidence: Evidence, verdict: Verdict) -> dict[str, Any]:
    report: dict[str, Any] = {
        "verdict": "accepted" if verdict.accepted else NOT_JUDGED if verdict.undecided else "refused",
        "phase": verdict.phase.value,
        "findings": [_format_finding(finding) for finding in verdict.findings],
        "run": _format_run(evidence.head_run),
    }
    if evidence.stack is not None:
        report["stack"] = evidence.stack.model_dump(exclude={"not_checked"})
        report["not_checked"] = list(evidence.stack.not_checked)
    return report if evidence.bite is None else {**report, "bite": _format_mutation(evidence.bite)}


def _format_mutation(mutation: MutationResult) -> dict[str, Any]:
    """Return the numbers of tried and killed mutants, by kind."""
    tried = {"knock_outs": mutation.knock_outs, "mutants": mutation.mutants, "perturbations": mutation.perturbations}
    counts = {
        name: {"tried": len(faults), "noticed": sum(each.outcome == "killed" for each in faults)}
        for name, faults in tried.items()
    }
    return {**counts, "score": mutation.score, "problems": list(mutation.problems)}


def _format_finding(finding: Finding) -> dict[str, Any]:
    return finding.model_dump(include={"code", "severity", "message", "path", "test"})


def _format_run(run: RunSummary | None) -> dict[str, Any] | None:
    fields = {"collected", "passed", "failed", "errors", "skipped", "seconds", "sandbox", "honest"}
    return run.model_dump(include=fields) if run else None
