"""Post the plan as a comment for those who may approve it, once per plan, with a diff if the PRD changed."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from prd2pr.agents.roles import ESTIMATOR
from prd2pr.domain.costs.estimate import estimate_backlog
from prd2pr.domain.machines.approval import compute_plan_digest, list_approved_stories, list_unapproved_stories
from prd2pr.domain.machines.next_phase import NoAction
from prd2pr.domain.records import SETTLED, Phase, ProjectState, Story
from prd2pr.github.comment_once import post_once
from prd2pr.github.messages.markers import make_marker
from prd2pr.github.messages.rendering import render_reply
from prd2pr.github.messages.replies import PlanReply
from prd2pr.planning.plan_diff import diff_plans
from prd2pr.state.branch_base import find_branch_start
from prd2pr.state.commit_message import read_step
from prd2pr.state.layout import PLAN_STORY
from prd2pr.views.models import NextStep
from prd2pr.views.plan import PlanDiff, PlanView, build_plan_view
from prd2pr.views.pull_request.models import SpendLimits
from prd2pr.workflow.planning.prd_changes import find_plan_change
from prd2pr.workflow.roles.consultation import load_role_records

NEXT_HEADING = "**Next:**"
TAKE_OUT_STEP = NextStep(
    "To keep it, continue with the review. To have it removed, comment",
    '/request_changes "remove what is no longer in the PRD"',
)
LINK_TARGET = re.compile(r"\]\([^)]*\)")

if TYPE_CHECKING:
    from prd2pr.github.publish.context import Publication


def request_approval(publication: Publication, number: int) -> bool:
    """Post the plan in a separate comment for approval. Return False if approval is not the next step."""
    session, backlog = publication.request.session, publication.state.backlog
    following = publication.pull_view.next_action
    if not isinstance(following, NoAction) or not following.next.startswith("/approve"):
        return False
    approved = list_approved_stories(session.constraints.approval, publication.state.status, publication.prd, backlog)
    waiting = list_unapproved_stories(backlog, approved)
    post_plan(publication, number, waiting or backlog.stories, following.next, approved)
    return True


def publish_plan(publication: Publication, number: int) -> bool:
    """Post the plan and its estimated cost without asking for approval. Return whether it was posted."""
    backlog = publication.state.backlog
    if backlog.dropping:  # a person is asked about the removal instead
        return False
    post_plan(publication, number, backlog.stories, "", None)
    return True


def ask_about_removed(publication: Publication, number: int) -> None:
    """Ask immediately about requirements that were removed from the PRD but are planned or built."""
    diff = find_last_plan_diff(publication)
    if diff is None or not diff.asked:
        return
    reply = PlanReply(
        build_current_plan_view(publication, "", None), diff, suggest_step_after_removal(publication, diff)
    )
    marker = make_marker("waiting", publication.prd.id, f"removed/{publication.head}")
    post_once(publication.hub, number, reply, marker, commit_url=publication.request.commit_url)


def suggest_step_after_removal(publication: Publication, diff: PlanDiff | None) -> NextStep:
    """Suggest a separate story for the removal once everything is built."""
    if diff is None or not diff.asked:
        return NextStep("")
    finished = publication.state.status.state is ProjectState.SPRINT_REVIEW
    return TAKE_OUT_STEP if finished else publication.pull_view.next


def post_plan(
    publication: Publication, number: int, stories: tuple[Story, ...], command: str, approved: frozenset[str] | None
) -> None:
    marker = make_marker("plan", publication.prd.id, compute_plan_digest(publication.prd, stories)[:16])
    diff = find_last_plan_diff(publication)
    plan = PlanReply(
        build_current_plan_view(publication, command, approved), diff, suggest_step_after_removal(publication, diff)
    )
    text = render_reply(plan, marker=marker, commit_url=publication.request.commit_url)
    there = publication.hub.comment(number, text, marker=marker)
    if command and format_next_step(there.body) != format_next_step(text):
        publication.hub.edit_comment(there.id, text)  # same plan, but the accepted command has changed


def build_current_plan_view(publication: Publication, command: str, approved: frozenset[str] | None) -> PlanView:
    session, backlog = publication.request.session, publication.state.backlog
    has_open_stories = any(story.status not in SETTLED for story in backlog.stories)
    config = publication.config
    learnt = "".join(each.verdict for each in load_role_records(publication.state) if each.role == ESTIMATOR.name)
    guess = estimate_backlog(
        backlog,
        config.prices,
        session.services.models,
        profile=config.profile,
        fused=config.fused,
        converses=config.converses,
        learnt=learnt,
    )
    return build_plan_view(
        publication.prd,
        backlog,
        # No estimate once everything is built.
        estimate=guess if has_open_stories and (command or publication.just_planned) else None,
        limits=SpendLimits.of(session.constraints.limits),
        head=publication.head,
        command=command,
        approved=approved or frozenset(),
    )


def format_next_step(text: str) -> str:
    """Return the last paragraph of a plan's comment, without link targets."""
    return LINK_TARGET.sub("]", text.rpartition(NEXT_HEADING)[2]).strip()


def find_last_plan_diff(publication: Publication) -> PlanDiff | None:
    """Return the difference between the last two plans on the branch, or None if there is only one."""
    git, store = publication.git, publication.request.session.store
    made = []
    for commit in git.log(f"{find_branch_start(git, publication.head).commit}..{publication.head}"):
        step = read_step(commit.trailers)
        if step and step.prd == publication.prd.id and step.story == PLAN_STORY and step.phase is Phase.PLAN:
            made.append(commit)
    if len(made) < 2:
        return None
    before, after = store.load(made[-1].parents[0]), store.load(made[-1].sha)
    if before.prd is None or after.prd is None:
        return None
    return diff_plans(before.backlog, after.backlog, find_plan_change(before, after.prd).asked)
