"""From a PRD to a backlog: by one role or in four passes, typed answers, and rules that code checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prd2pr.agents.loop import RoleResult
from prd2pr.agents.roles import PLANNER
from prd2pr.agents.task import EarlierAttempt
from prd2pr.core.passes.way import Way, way_of
from prd2pr.core.plan import PlanDraft, PlanProblem, check_plan, to_backlog
from prd2pr.core.plan_problems import findings_of
from prd2pr.core.policy import policy_for
from prd2pr.core.records import Backlog, Phase
from prd2pr.core.replan import PlanChange
from prd2pr.core.stacks.planned import across_stacks
from prd2pr.errors import ModelRefused, PlanInvalid
from prd2pr.flows.passes import plan_in_passes
from prd2pr.flows.session import Session
from prd2pr.flows.workbench import Assignment, do_work

PLAN_ATTEMPTS = 3


def make_plan(session: Session, head: str, code_tree: str, brief: str = "") -> Backlog:
    """Valid by all rules, or PlanInvalid with what is wrong. Writes nothing. `brief`: what was found out before."""
    way = planning_way(session)
    if way.four_passes:
        session.progress.say("note", text=f"planned in {way}")
        return to_backlog(session.prd, plan_in_passes(session, head, code_tree, brief))
    question = Question(head, code_tree, brief=brief)
    draft = valid_draft(session, question, lambda draft: check_plan(session.prd, draft))
    return to_backlog(session.prd, draft)


def planning_way(session: Session) -> Way:
    return way_of(session.config.profile, session.prd)


@dataclass(frozen=True)
class Question:
    """What the planner is asked: to plan the PRD, or no more than what changed of it."""

    head: str
    code_tree: str
    change: PlanChange | None = None
    plan: int = 1  # the how manieth plan of this PRD it is
    brief: str = ""


def valid_draft(
    session: Session, question: Question, check: Callable[[PlanDraft], tuple[PlanProblem, ...]]
) -> PlanDraft:
    earlier: tuple[EarlierAttempt, ...] = ()
    problems: tuple[PlanProblem, ...] = ()
    while len(earlier) < PLAN_ATTEMPTS:
        draft = ask_planner(session, question, earlier)
        problems = (*check(draft), *beyond_one_stack(session, draft))
        if not problems:
            return draft
        session.progress.say(
            "refused",
            story=session.prd.id,
            phase="plan",
            codes=sorted({problem.code for problem in problems}),
            attempt=len(earlier) + 1,
            of=PLAN_ATTEMPTS,
            summary=problems[0].message,
        )
        earlier += (EarlierAttempt(len(earlier) + 1, findings_of(problems)),)
    raise PlanInvalid(
        f"no valid plan after {PLAN_ATTEMPTS} attempts: {'; '.join(problem.message for problem in problems[:5])}",
        where=session.prd.path,
        remedy="run it again, or make the PRD clearer at these points",
    )


def beyond_one_stack(session: Session, draft: PlanDraft) -> tuple[PlanProblem, ...]:
    stacks = session.gathering.stacks
    stories = ((story.key, story.kind, tuple(story.source_paths)) for story in draft.stories)
    return tuple(problem for told in stories for problem in across_stacks(*told, stacks))


def ask_planner(session: Session, question: Question, earlier: tuple[EarlierAttempt, ...]) -> PlanDraft:
    assignment = Assignment(
        role=PLANNER,
        code_tree=question.code_tree,
        head=question.head,
        policy=policy_for(Phase.PLAN, session.prd.id),
        attempt=len(earlier) + 1,
        attempts=PLAN_ATTEMPTS,
        earlier=earlier,
        strong=len(earlier) + 1 == PLAN_ATTEMPTS,
        change=question.change,
        plan=question.plan,
        brief=question.brief,
    )
    result: RoleResult[PlanDraft] = do_work(session, assignment).result
    if result.output is None:
        raise ModelRefused("the planner gave no plan", where=session.prd.path)
    return result.output
