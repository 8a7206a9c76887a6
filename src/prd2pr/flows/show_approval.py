"""The plan, shown to whoever may approve it: once for each plan, and as a difference where a changed PRD changed it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prd2pr.core.approval import approved_stories, pending, plan_digest
from prd2pr.core.commit_message import read_step
from prd2pr.core.decide import Rest
from prd2pr.core.estimate import estimate
from prd2pr.core.layout import PLAN_STORY
from prd2pr.core.picture_parts import SpendLimits
from prd2pr.core.records import Phase, Story
from prd2pr.core.replan import plan_change, plan_diff
from prd2pr.core.said.answers import PlanShown
from prd2pr.core.said.markers import plan_marker
from prd2pr.core.said.plans import PlanDiff, plan_view
from prd2pr.flows.start import start_of
from prd2pr.forges.said import render_answer

NEXT = "**Next:**"
LINKED = re.compile(r"\]\([^)]*\)")

if TYPE_CHECKING:
    from prd2pr.flows.show import Showing


def ask_approval(showing: Showing, number: int) -> None:
    """A comment of its own, since somebody has to act on it. Nothing, where an approval is not what is next."""
    session, backlog = showing.seen.session, showing.state.backlog
    following = showing.picture.ahead
    if not isinstance(following, Rest) or not following.next.startswith("/approve"):
        return
    approved = approved_stories(session.approval, showing.state.status, showing.prd, backlog)
    waiting = pending(backlog, approved)
    comment_plan(showing, number, waiting or backlog.stories, following.next, approved)


def show_plan(showing: Showing, number: int) -> None:
    """Where nobody wants to be asked, the plan and what it may cost are to be seen all the same."""
    backlog = showing.state.backlog
    if not backlog.dropping:  # else a person is asked about it
        comment_plan(showing, number, backlog.stories, "", None)


def comment_plan(
    showing: Showing, number: int, stories: tuple[Story, ...], command: str, approved: frozenset[str] | None
) -> None:
    session, backlog = showing.seen.session, showing.state.backlog
    marker = plan_marker(showing.prd.id, plan_digest(showing.prd, stories)[:16])
    guess = estimate(backlog, showing.config.prices, session.crew)
    plan = plan_view(
        showing.prd,
        backlog,
        estimate=guess if command or showing.just_planned else None,  # once it is built there is nothing to guess
        limits=SpendLimits.of(session.limits),
        head=showing.head,
        command=command,
        approved=approved or frozenset(),
    )
    text = render_answer(PlanShown(plan, last_change(showing)), marker=marker, commit_url=showing.seen.commit_url)
    there = showing.hub.comment(number, text, marker=marker)
    if command and what_it_asks(there.body) != what_it_asks(text):
        showing.hub.edit_comment(there.id, text)  # the same plan again: what it asks for is what is accepted now


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
    asked = plan_change(before.prd, before.backlog, after.prd, before.begun).asked
    return plan_diff(before.backlog, after.backlog, asked)
