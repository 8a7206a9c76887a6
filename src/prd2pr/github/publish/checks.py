"""Publish a check run for each phase commit that has none yet, and one for the whole branch on its head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from prd2pr.domain.evidence import Finding
from prd2pr.errors import InputInvalid, StateProblem
from prd2pr.github.messages.checks import (
    MAX_ANNOTATIONS,
    CheckView,
    build_phase_check,
    build_whole_check,
    list_steps_to_check,
    place_findings,
)
from prd2pr.github.messages.rendering import check_text, render_whole_check_text
from prd2pr.proof.claims.claim import make_claim_error
from prd2pr.proof.claims.commits import check_records
from prd2pr.proof.verify import load_claim
from prd2pr.state.branch_base import find_branch_start
from prd2pr.verification.verdict import GATES
from prd2pr.views.models import StepView, StoryView
from prd2pr.workflow.human_commits import read_commit_step
from prd2pr.workflow.merges import list_branch_commits

if TYPE_CHECKING:
    from prd2pr.github.publish.context import Publication

MAX_CHECKS = 30  # per run, because GitHub accepts 80 new items per minute; the next run continues
PATCH_BYTES = 400_000


def publish_checks(publication: Publication, checked: str) -> str:
    """Publish checks for the commits after `checked`, and return the last commit with a check."""
    behind = list_commits_after(publication, checked)
    waiting = [(story, step) for story, step in list_steps_to_check(publication.pull_view) if step.commit in behind]
    waiting.sort(key=lambda pair: behind[pair[1].commit])
    publication.has_more |= len(waiting) > MAX_CHECKS
    for story, step in waiting[:MAX_CHECKS]:
        publish_phase_check(publication, story, step)
        checked = step.commit
    if publication.is_stopped:
        publication.hub.check(
            build_whole_check(
                publication.pull_view,
                publication.published,
                render_whole_check_text(publication.pull_view),
                refuted=publication.refuted is not None,
            )
        )
    return checked


def list_commits_after(publication: Publication, checked: str) -> dict[str, int]:
    """Return the position of each commit of the branch after `checked`, or of all commits if that one no longer exists.

    They are in the order in which they reached the branch, because a story's own branch may contain older commits.
    """
    git, head = publication.git, publication.published
    order = {
        commit.sha: n for n, commit in enumerate(list_branch_commits(git, find_branch_start(git, head).commit, head))
    }
    after = order.get(checked, -1)
    return {sha: n for sha, n in order.items() if n > after}


def publish_phase_check(publication: Publication, story: StoryView, step: StepView) -> None:
    git, sha = publication.git, step.commit
    findings = list_step_findings(publication, sha)
    wrong = sorted({finding.code for finding in findings if finding.severity == "error"})
    patch = git.patch(git.code_tree(f"{sha}^"), git.code_tree(sha), limit=PATCH_BYTES) if findings else ""

    def read(path: str) -> str | None:
        data = git.read(sha, path)
        return None if data is None else data.decode("utf-8", "replace")

    placed, unplaced = place_findings(findings, read, patch)
    shown = placed[:MAX_ANNOTATIONS]
    view = CheckView(story, step, publication.pull_view.check, len(shown), unplaced, len(placed) - len(shown))
    publication.hub.check(
        build_phase_check(
            publication.pull_view.prd,
            story,
            step,
            check_text(view),
            shown,
            refused=f"not proved: {', '.join(wrong)}" if wrong else "",
        )
    )


def list_step_findings(publication: Publication, sha: str) -> tuple[Finding, ...]:
    """Judge a step by its evidence, without running tests. Its recorded verdict is only a claim."""
    commit = publication.git.commit_info(sha)
    step = read_commit_step(commit)
    if step is None:
        return (make_claim_error("VER103", "a step has exactly one parent; this commit is a merge or a root"),)
    try:
        claim = load_claim(publication.git, commit, step)
        wrong = tuple(check_records(claim))
        if wrong or claim.proof is None:
            return wrong or (make_claim_error("VER101", "the step has no evidence", claim.evidence_path),)
        verdict = GATES[step.phase](claim.proof.evidence, publication.request.session.constraints.gate_policy)
    except (StateProblem, InputInvalid) as problem:
        return (make_claim_error("VER106", problem.what, problem.where),)
    if verdict.accepted:
        return verdict.findings
    codes = ", ".join(sorted({finding.code for finding in verdict.errors}))
    return make_claim_error(
        "VER105", f"the {step.phase.value} gate refuses this commit by its own evidence: {codes}"
    ), *verdict.findings
