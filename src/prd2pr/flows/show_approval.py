"""The plan, shown to whoever may approve it: once for each plan, and as a difference where a changed PRD changed it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prd2pr.agents.roles import ESTIMATOR
from prd2pr.core.approval import approved_stories, pending, plan_digest
from prd2pr.core.commit_message import read_step
from prd2pr.core.decide import Rest
from prd2pr.core.estimate import estimate
from prd2pr.core.layout import PLAN_STORY
from prd2pr.core.picture_parts import NextStep, SpendLimits
from prd2pr.core.records import SETTLED, Phase, ProjectState, Story
from prd2pr.core.replan import plan_diff
from prd2pr.core.said.answers import PlanShown
from prd2pr.core.said.markers import plan_marker, waiting_marker
from prd2pr.core.said.plans import PlanDiff, PlanView, plan_view
from prd2pr.flows.consulting import role_records
from prd2pr.flows.plan_changes import change_to
from prd2pr.flows.start import start_of
from prd2pr.flows.telling import tell_once
from prd2pr.forges.said import render_answer

NEXT = "**Next:**"
TAKING_OUT = NextStep(
    "To leave it as it is, go on with the review. To have it taken out, comment",
    '/request_changes "take out what is no longer in the PRD"',
)
LINKED = re.compile(r"\]\([^)]*\)")

if TYPE_CHECKING:
    from prd2pr.flows.show import Showing


def ask_approval(showing: Showing, number: int) -> bool:
    """A comment of its own, since somebody has to act on it. False: an approval is not what is next."""
    session, backlog = showing.seen.session, showing.state.backlog
    following = showing.picture.ahead
    if not isinstance(following, Rest) or not following.next.startswith("/approve"):
        return False
    approved = approved_stories(session.approval, showing.state.status, showing.prd, backlog)
    waiting = pending(backlog, approved)
    comment_plan(showing, number, waiting or backlog.stories, following.next, approved)
    return True


def show_plan(showing: Showing, number: int) -> bool:
    """Where nobody wants to be asked, the plan and what it may cost are to be seen all the same."""
    backlog = showing.state.backlog
    if backlog.dropping:  # a person is asked about it
        return False
    comment_plan(showing, number, backlog.stories, "", None)
    return True


def ask_about_removed(showing: Showing, number: int) -> None:
    """What is gone from the PRD, and was planned or built: asked at once, whatever else is next."""
    diff = last_change(showing)
    if diff is None or not diff.asked:
        return
    said = PlanShown(shown_plan(showing, "", None), diff, after_removal(showing, diff))
    marker = waiting_marker(showing.prd.id, f"removed/{showing.head}")
    tell_once(showing.hub, number, said, marker, commit_url=showing.seen.commit_url)


def after_removal(showing: Showing, diff: PlanDiff | None) -> NextStep:
    """Once all is built, taking something out is a story of its own."""
    if diff is None or not diff.asked:
        return NextStep("")
    finished = showing.state.status.state is ProjectState.SPRINT_REVIEW
    return TAKING_OUT if finished else showing.picture.next


def comment_plan(
    showing: Showing, number: int, stories: tuple[Story, ...], command: str, approved: frozenset[str] | None
) -> None:
    marker = plan_marker(showing.prd.id, plan_digest(showing.prd, stories)[:16])
    diff = last_change(showing)
    plan = PlanShown(shown_plan(showing, command, approved), diff, after_removal(showing, diff))
    text = render_answer(plan, marker=marker, commit_url=showing.seen.commit_url)
    there = showing.hub.comment(number, text, marker=marker)
    if command and what_it_asks(there.body) != what_it_asks(text):
        showing.hub.edit_comment(there.id, text)  # the same plan again: what it asks for is what is accepted now


def shown_plan(showing: Showing, command: str, approved: frozenset[str] | None) -> PlanView:
    session, backlog = showing.seen.session, showing.state.backlog
    ahead = any(story.status not in SETTLED for story in backlog.stories)
    config = showing.config
    learnt = "".join(each.verdict for each in role_records(showing.state) if each.role == ESTIMATOR.name)
    guess = estimate(backlog, config.prices, session.crew, profile=config.profile, fused=config.fused, learnt=learnt)
    return plan_view(
        showing.prd,
        backlog,
        # Once it is built there is nothing to guess.
        estimate=guess if ahead and (command or showing.just_planned) else None,
        limits=SpendLimits.of(session.limits),
        head=showing.head,
        command=command,
        approved=approved or frozenset(),
    )


def what_it_asks(text: str) -> str:
    """The last thing that a plan's comment has to say, wherever its links lead."""
    return LINKED.sub("]", text.rpartition(NEXT)[2]).strip()


def last_change(showing: Showing) -> PlanDiff | None:
    """What the last plan on the branch made of the one before it; None for the first."""
    git, store = showing.git, showing.seen.session.store
    made = []
    for commit in git.log(f"{start_of(git, showing.head).commit}..{showing.head}"):
        step = read_step(commit.trailers)
        if step and step.prd == showing.prd.id and step.story == PLAN_STORY and step.phase is Phase.PLAN:
            made.append(commit)
    if len(made) < 2:
        return None
    before, after = store.load(made[-1].parents[0]), store.load(made[-1].sha)
    if before.prd is None or after.prd is None:
        return None
    return plan_diff(before.backlog, after.backlog, change_to(before, after.prd).asked)
