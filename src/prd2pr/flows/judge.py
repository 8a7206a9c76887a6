"""Judging two commits, anybody's: what `prd2pr gate` does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prd2pr.core.bite.record import Bite
from prd2pr.core.commit_message import StepRef, read_step
from prd2pr.core.evidence import Evidence, Finding, RunSummary, Verdict
from prd2pr.core.gates import GATES, GatePolicy
from prd2pr.core.layout import PRDS
from prd2pr.core.records import Cycle, Phase
from prd2pr.errors import UsageProblem
from prd2pr.flows.gather import Gathering, gather
from prd2pr.flows.living_cache import FactsCache
from prd2pr.flows.living_claims import docs_between, docs_of_claim
from prd2pr.flows.story_context import NO_DOCS, DocsRendered, StoryContext
from prd2pr.flows.verify import claim_of
from prd2pr.repo.git import Git
from prd2pr.repo.store import StateStore


def judge(  # noqa: PLR0917 the words of the command line, in their order
    gathering: Gathering, policy: GatePolicy, phase: Phase, base: str, head: str, story: str | None = None
) -> tuple[Evidence, Verdict]:
    """With a story, its design, criteria and RED ids count, as the branch holds them."""
    git = gathering.git
    base, head = git.rev(base), git.rev(head)
    context = story_context(git, story, (base, head)) if story else None
    step = _step(git, head)
    docs = _docs(gathering, base, head, step) if phase is Phase.INTEGRATED else NO_DOCS
    evidence = gather(gathering, phase, base, head, story=context, docs=docs, with_state=step is None)
    return evidence, GATES[phase](evidence, policy)


def _docs(gathering: Gathering, base: str, head: str, step: StepRef | None) -> DocsRendered:
    """A step's documents were rendered before it; anybody else's say what is there with the commit."""
    info = gathering.git.commit_info(head)
    if step is not None and info.parents == (base,):
        return docs_of_claim(gathering, claim_of(gathering.git, info, step), FactsCache())
    return docs_between(gathering, base, head)


def story_context(git: Git, story: str, commits: Iterable[str]) -> StoryContext | None:
    """From the first commit that knows the story: what a step may know is what was there before it.

    Commits that hold no plan at all are a person's: then the name says nothing, and they are judged as they are.
    """
    known: set[str] = set()
    for commit in commits:
        for prd in _prds(git, commit):
            state = StateStore(git, prd).load(commit)
            stories = {each.id: each for each in state.backlog.stories}
            known |= set(stories)
            if story in stories:
                return StoryContext.of(prd, stories[story], state.cycle(story) or Cycle(story=story))
    if not known:
        return None
    listed = ", ".join(sorted(known)[:10])
    raise UsageProblem(
        f"neither commit knows a story {story}",
        where="--story",
        remedy=f"stories there: {listed}",
    )


def _prds(git: Git, commit: str) -> list[str]:
    paths = (entry.path.removeprefix(f"{PRDS}/") for entry in git.entries(commit, PRDS))
    return sorted({path.split("/")[0] for path in paths if "/" in path})


def _step(git: Git, commit: str) -> StepRef | None:
    """The bot's own commits carry state with every step; in anybody else's it does not belong."""
    (info,) = git.log(f"{commit}^!") or (None,)
    return read_step(info.trailers) if info else None


def gate_json(evidence: Evidence, verdict: Verdict) -> dict[str, Any]:
    told: dict[str, Any] = {
        "verdict": "accepted" if verdict.accepted else "refused",
        "phase": verdict.phase.value,
        "findings": [_finding(finding) for finding in verdict.findings],
        "run": _run(evidence.head_run),
    }
    if evidence.stack is not None:
        told["stack"] = evidence.stack.model_dump(exclude={"not_checked"})
        told["not_checked"] = list(evidence.stack.not_checked)
    return told if evidence.bite is None else {**told, "bite": _bite(evidence.bite)}


def _bite(bite: Bite) -> dict[str, Any]:
    """Where deliberate faults were tried: how many, and how many of them the tests noticed."""
    tried = {"knock_outs": bite.knock_outs, "mutants": bite.mutants, "perturbations": bite.perturbations}
    counts = {
        name: {"tried": len(faults), "noticed": sum(each.outcome == "killed" for each in faults)}
        for name, faults in tried.items()
    }
    return {**counts, "score": bite.score, "problems": list(bite.problems)}


def _finding(finding: Finding) -> dict[str, Any]:
    return finding.model_dump(include={"code", "severity", "message", "path", "test"})


def _run(run: RunSummary | None) -> dict[str, Any] | None:
    told = {"collected", "passed", "failed", "errors", "skipped", "seconds", "sandbox", "honest"}
    return run.model_dump(include=told) if run else None
