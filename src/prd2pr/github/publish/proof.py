"""Verify the whole branch before it is called done, because anyone with push access could have forged its steps."""

from __future__ import annotations

from dataclasses import replace

from prd2pr.domain.wording import inflect_noun
from prd2pr.github.commands.verification import disable_cache
from prd2pr.memory.commit import make_retention_policy
from prd2pr.proof.verify import Verifier
from prd2pr.state.branch_base import find_branch_start
from prd2pr.verification.commit_check import BranchRefutation, CommitCheck, UnprovedCommit
from prd2pr.views.models import Figure, NextStep
from prd2pr.views.pull_request.models import CommitRow, PullRequestView
from prd2pr.workflow.human_commits import read_commit_step
from prd2pr.workflow.session import Session

RESTORE_STEP = NextStep(
    "Nothing is built on rewritten steps. Push the branch as it was before, or revert them; a merge of the base keeps "
    "proofs, a rebase does not. To see all findings, comment",
    "/tdd verify",
)
REVIEW_STEP = NextStep(
    "Review the commits that are not proved and revert them. To see all findings, comment", "/tdd verify"
)


def find_refuted_claims(session: Session, head: str) -> BranchRefutation | None:
    """Return the refuted steps, or None if all claims are true. Steps made by this run are not verified again."""
    base = find_branch_start(session.git, head).commit
    steps = [commit.sha for commit in session.git.log_all(f"{base}..{head}") if read_commit_step(commit) is not None]
    if session.log.branch_writes.commits.issuperset(steps):
        return None
    gathering = replace(session.services.gathering, runner=disable_cache(session.services.runner))
    days = make_retention_policy(session.config.retention)
    checked = Verifier(session.git, gathering, session.constraints.gate_policy, lambda _: None, keeping=days).verify(
        base, head
    )
    # Commits without a claim are reported separately, because only a claim can be false.
    if all(each.proved or each.unproven for each in checked):
        return None
    bad = tuple(
        UnprovedCommit(each.commit, each.subject, list_error_codes(each)) for each in checked if not each.proved
    )
    return BranchRefutation(len(checked) - len(bad), len(checked), bad)


def list_error_codes(checked: CommitCheck) -> tuple[str, ...]:
    return tuple(sorted({finding.code for finding in checked.findings if finding.severity == "error"}))


def mark_refuted(pull_view: PullRequestView, found: BranchRefutation) -> PullRequestView:
    """Return the view with all refuted commits marked as not proved."""
    wrong = {each.sha: each for each in found.commits}
    rows = tuple(mark_not_proved(row, wrong[row.sha]) if row.sha in wrong else row for row in pull_view.commits)
    what = (
        f"{inflect_noun(found.of, 'step')} as proved"
        if found.by_records
        else f"{inflect_noun(found.of, 'commit')} proved"
    )
    figure = Figure(f"{found.proved} of {found.of}", what, strong=True)
    return replace(
        pull_view,
        state="not proved",
        tone="unproven",
        figures=(figure, *(each for each in pull_view.figures if not each.claim)),
        next=RESTORE_STEP if found.by_records else REVIEW_STEP,
        commits=rows,
        unproven=tuple(row for row in rows if row.tone == "unproven"),
    )


def mark_not_proved(row: CommitRow, found: UnprovedCommit) -> CommitRow:
    return replace(row, proof=f"not proved: {', '.join(found.codes)}", tone="unproven")
