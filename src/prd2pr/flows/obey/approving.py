"""A person's word that money may be spent: for plan and branch as they were shown before, no later ones."""

from __future__ import annotations

from prd2pr.core.approval import pending
from prd2pr.core.decide import Rest
from prd2pr.core.decision import Decision
from prd2pr.core.effects import Left, Objection, effect_of
from prd2pr.core.effects.records import found_after
from prd2pr.core.found import Found
from prd2pr.core.picture_parts import NextStep
from prd2pr.core.records import Phase, ProjectState
from prd2pr.core.refusal import Refusal
from prd2pr.core.said.answers import Answer, Illegal, NotNow
from prd2pr.core.wording import clip, count, plain
from prd2pr.flows.decisions import Decided, decide, found_in
from prd2pr.flows.joins import is_exact_join
from prd2pr.flows.obey.order import Ordered
from prd2pr.flows.outlook import step_ahead, what_is_ahead
from prd2pr.flows.peoples_work import first_parents, step_of
from prd2pr.flows.readiness import approved_in
from prd2pr.flows.session import Session
from prd2pr.repo.git import CommitInfo, Git
from prd2pr.repo.store import BranchState


def unseen(session: Session, state: BranchState, ordered: Ordered) -> NotNow | None:
    """Nobody can have meant a plan that was made after he wrote, or what was pushed since the branch was shown."""
    planned = next((c.at for c in first_parents(session.git, state.commit) if is_plan(step_of(c))), "")
    if ordered.at and planned and ordered.at < planned:
        reason = "the plan was made or changed after this was written"
    else:
        reason = pushed_since_shown(session, state.commit)
    if not reason:
        return None
    following = what_is_ahead(session, state)
    command = following.next if isinstance(following, Rest) else ordered.command.shown
    return NotNow(ordered.command.shown, reason, NextStep("Look at it, then comment", command))


def pushed_since_shown(session: Session, head: str) -> str:
    """What an approval cannot be for, as a sentence; empty where only our own steps came since. This run shows it at
    its end, and what is written after that is for it."""
    shown = session.shown
    if not shown or not session.git.has_commit(shown):
        return ""
    foreign = [commit for commit in session.git.log(f"{shown}..{head}") if is_foreign(session.git, commit)]
    if not foreign:
        return ""
    people = ", ".join(dict.fromkeys(clip(plain(each.author.partition(" <")[0]), 60) for each in foreign))
    what = count(len(foreign), "commit")
    return f"the branch has changed since it was shown, {shown[:10]} → {head[:10]}: {what} by {people}"


def is_foreign(git: Git, commit: CommitInfo) -> bool:
    """Neither a step nor exactly what brings a story's own steps in."""
    return step_of(commit) is None and not is_exact_join(git, commit)


def is_plan(step: object) -> bool:
    return getattr(step, "phase", None) is Phase.PLAN


def awaited(session: Session, state: BranchState) -> bool:
    return session.approval in ("plan", "story") and state.status.state is ProjectState.BACKLOG_READY


def approval_by_working(session: Session, state: BranchState, ordered: Ordered, story: str) -> Decision:
    """Who orders work on a plan that waits for approval approves it; by `/tdd next` without an order to go on."""
    return Decision(
        command="approve",
        by=ordered.by,
        at=session.clock.now(),
        text=f"by {ordered.command.shown}",
        stories=stories_for(session, state, story),
        head=state.commit,
        one_by_one=ordered.command.name == "tdd next",
    )


def once_approved(
    session: Session, state: BranchState, ordered: Ordered, story: str, approval: Decision
) -> Found | Answer:
    """What the order would find after the approval. It is not given yet: an order that is refused approves nothing."""
    late = unseen(session, state, ordered)
    if late is not None:
        return late
    if story in state.backlog.dropping and not approval.stories:
        reason = f"{story} is gone from the PRD, and approving the plan drops it"
        return NotNow(ordered.command.shown, reason, step_ahead(session, state))
    found = found_in(state)
    match left := effect_of(found, approval):
        case Left():
            return found_after(found, left)
        case Refusal():
            return Illegal(left, step_ahead(session, state))
        case Objection():
            return NotNow(ordered.command.shown, left.reason, NextStep("", left.next))


def approved(session: Session, state: BranchState, approval: Decision) -> BranchState:
    decided = decide(session, state.commit, approval)  # the phase's own commit moves the cursor
    assert isinstance(decided, Decided), "its effect was looked at before"
    return session.store.load(decided.head)


def stories_for(session: Session, state: BranchState, story: str) -> tuple[str, ...]:
    """The whole plan; where each story is approved by itself, the one that is meant or comes first."""
    if session.approval != "story":
        return ()
    waiting = pending(state.backlog, approved_in(session, state))
    return (story,) if story else tuple(each.id for each in waiting[:1])
