"""A check run for each phase commit that has none yet, and one for the branch as a whole on its head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prd2pr.core.evidence import Finding
from prd2pr.core.gates import GATES
from prd2pr.core.picture_parts import StepView, StoryView
from prd2pr.core.said.checks import (
    MOST_ANNOTATIONS,
    CheckView,
    phase_check,
    placed_findings,
    steps_to_check,
    whole_check,
)
from prd2pr.errors import InputInvalid, StateProblem
from prd2pr.flows.claims import error, record_findings
from prd2pr.flows.joins import branch_line
from prd2pr.flows.peoples_work import step_of
from prd2pr.flows.start import start_of
from prd2pr.flows.verify import claim_of
from prd2pr.forges.said import check_text, whole_check_text

if TYPE_CHECKING:
    from prd2pr.flows.show import Showing

CHECKS_PER_SHOWING = 30  # more are shown by the next one: the host takes 80 new things a minute
PATCH_BYTES = 400_000


def show_checks(showing: Showing, checked: str) -> str:
    """The last commit whose check is shown now. `checked`: the one that was the last before."""
    behind = commits_behind(showing, checked)
    waiting = [(story, step) for story, step in steps_to_check(showing.picture) if step.sha in behind]
    waiting.sort(key=lambda pair: behind[pair[1].sha])
    showing.more |= len(waiting) > CHECKS_PER_SHOWING
    for story, step in waiting[:CHECKS_PER_SHOWING]:
        show_phase(showing, story, step)
        checked = step.sha
    if showing.at_rest:
        showing.hub.check(
            whole_check(
                showing.picture,
                showing.head,
                whole_check_text(showing.picture),
                refuted=showing.refuted is not None,
            )
        )
    return checked


def commits_behind(showing: Showing, checked: str) -> dict[str, int]:
    """The branch's commits after the last one that was checked, in order; all, where that one is gone.

    As they came to the branch: a story's own branch may bring some that were made earlier than what was there already.
    """
    git, head = showing.git, showing.head
    order = {commit.sha: n for n, commit in enumerate(branch_line(git, start_of(git, head).commit, head))}
    after = order.get(checked, -1)
    return {sha: n for sha, n in order.items() if n > after}


def show_phase(showing: Showing, story: StoryView, step: StepView) -> None:
    git, sha = showing.git, step.sha
    findings = step_findings(showing, sha)
    wrong = sorted({finding.code for finding in findings if finding.severity == "error"})
    patch = git.patch(f"{sha}^", sha, limit=PATCH_BYTES) if findings else ""

    def read(path: str) -> str | None:
        data = git.read(sha, path)
        return None if data is None else data.decode("utf-8", "replace")

    placed, unplaced = placed_findings(findings, read, patch)
    shown = placed[:MOST_ANNOTATIONS]
    view = CheckView(story, step, showing.picture.check, len(shown), unplaced, len(placed) - len(shown))
    showing.hub.check(
        phase_check(
            showing.picture.prd,
            story,
            step,
            check_text(view),
            shown,
            f"not proved: {', '.join(wrong)}" if wrong else "",
        )
    )


def step_findings(showing: Showing, sha: str) -> tuple[Finding, ...]:
    """What is so of a step without running a test. The verdict that it carries is a claim: its evidence is judged."""
    commit = showing.git.commit_info(sha)
    step = step_of(commit)
    if step is None:
        return (error("VER103", "a step follows exactly one commit, and this one is a merge or a root"),)
    try:
        claim = claim_of(showing.git, commit, step)
        wrong = tuple(record_findings(claim))
        if wrong or claim.proof is None:
            return wrong or (error("VER101", "the step has no evidence", claim.evidence_path),)
        verdict = GATES[step.phase](claim.proof.evidence, showing.seen.session.policy)
    except (StateProblem, InputInvalid) as problem:
        return (error("VER106", problem.what, problem.where),)
    if verdict.accepted:
        return verdict.findings
    codes = ", ".join(sorted({finding.code for finding in verdict.errors}))
    return error(
        "VER105", f"the {step.phase.value} gate refuses this commit by its own evidence: {codes}"
    ), *verdict.findings
