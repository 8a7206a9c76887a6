"""Approval of a plan by a person, which permits spending. It covers the plan and the branch as last published."""

from __future__ import annotations

from prd2pr.domain.decision import Decision
from prd2pr.domain.machines.approval import list_unapproved_stories
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.machines.refusal import CommandRefusal
from prd2pr.domain.records import Phase, ProjectState
from prd2pr.domain.wording import clean_line, clip, count
from prd2pr.github.commands.request import CommandRequest
from prd2pr.github.messages.replies import CommandReply, IllegalReply, NotNow
from prd2pr.planning.decisions import DecisionOutcome, Objection, compute_effect
from prd2pr.planning.decisions.records import apply_decision_to_records
from prd2pr.state.git import CommitInfo, Git
from prd2pr.state.store import BranchState
from prd2pr.views.models import NextStep
from prd2pr.workflow.commits.decisions import AppliedDecision, apply_decision, read_decision_input
from prd2pr.workflow.human_commits import read_commit_step, walk_first_parents
from prd2pr.workflow.merges import is_exact_join
from prd2pr.workflow.next_action import find_branch_action, find_next_step
from prd2pr.workflow.session import Session
from prd2pr.workflow.sprint_start import load_approved_stories

PLAN_IS_NEWER = "the plan was made or changed after this comment"


def check_approval_is_current(session: Session, state: BranchState, request: CommandRequest) -> NotNow | None:
    """Return a reply if the approval cannot refer to the current plan or branch, otherwise None.

    The plan may be newer than the comment, or someone may have pushed since the branch was published.
    """
    planned = next(
        (c.at for c in walk_first_parents(session.git, state.commit) if is_plan_step(read_commit_step(c))), ""
    )
    if request.at and planned and request.at < planned:
        reason = PLAN_IS_NEWER
    else:
        reason = describe_unseen_commits(session, state.commit)
    if not reason:
        return None
    following = find_branch_action(session, state)
    command = following.next if isinstance(following, NoAction) else request.command.shown
    return NotNow(request.command.shown, reason, NextStep("Review it, then comment", command))


def describe_unseen_commits(session: Session, head: str) -> str:
    """Describe the commits that an approval cannot cover, or return an empty string if there are only our own steps.

    This run publishes these commits at its end, so that a later approval covers them.
    """
    shown = session.host.published_head
    if not shown or not session.git.has_commit(shown):
        return ""
    foreign = [commit for commit in session.git.log(f"{shown}..{head}") if is_external_commit(session.git, commit)]
    if not foreign:
        return ""
    people = ", ".join(dict.fromkeys(clip(clean_line(each.author.partition(" <")[0]), 60) for each in foreign))
    what = count(len(foreign), "commit")
    return f"the branch has changed since it was published, {shown[:10]} → {head[:10]}: {what} by {people}"


def is_external_commit(git: Git, commit: CommitInfo) -> bool:
    """Return whether the commit is neither a step nor an unmodified merge of a story's own steps."""
    return read_commit_step(commit) is None and not is_exact_join(git, commit)


def is_plan_step(step: object) -> bool:
    return getattr(step, "phase", None) is Phase.PLAN


def is_awaiting_approval(session: Session, state: BranchState) -> bool:
    return session.constraints.approval in ("plan", "story") and state.status.state is ProjectState.BACKLOG_READY


def find_implied_approval(session: Session, state: BranchState, request: CommandRequest, story: str) -> Decision:
    """Build the approval that a run command implies for a plan that waits for approval.

    `/tdd next` approves only one step.
    """
    return Decision(
        command="approve",
        by=request.by,
        at=session.clock.now(),
        text=f"by {request.command.shown}",
        stories=list_stories_to_approve(session, state, story),
        head=state.commit,
        one_by_one=request.command.name == "tdd next",
    )


def preview_approval(
    session: Session, state: BranchState, request: CommandRequest, story: str, approval: Decision
) -> BranchRecords | CommandReply:
    """Return the records as they would be after the approval, or a reply if the approval is refused."""
    late = check_approval_is_current(session, state, request)
    if late is not None:
        return late
    if story in state.backlog.dropping and not approval.stories:
        reason = f"{story} was removed from the PRD, and approving the plan drops it"
        return NotNow(request.command.shown, reason, find_next_step(session, state))
    found = read_decision_input(state)
    match left := compute_effect(found, approval):
        case DecisionOutcome():
            return apply_decision_to_records(found, left)
        case CommandRefusal():
            return IllegalReply(left, find_next_step(session, state))
        case Objection():
            return NotNow(request.command.shown, left.reason, NextStep("", left.next))


def commit_approval(session: Session, state: BranchState, approval: Decision) -> BranchState:
    decided = apply_decision(session, state.commit, approval)  # without the cursor, which the commit of the phase moves
    assert isinstance(decided, AppliedDecision), "its effect was previewed"
    return session.store.load(decided.head)


def list_stories_to_approve(session: Session, state: BranchState, story: str) -> tuple[str, ...]:
    """Return the given story or the next one if stories are approved individually.

    An empty tuple stands for the whole plan.
    """
    if session.constraints.approval != "story":
        return ()
    waiting = list_unapproved_stories(state.backlog, load_approved_stories(session, state))
    return (story,) if story else tuple(each.id for each in waiting[:1])
