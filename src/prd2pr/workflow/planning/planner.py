"""Make a backlog from a PRD, in one call or in four passes. Code checks the typed answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prd2pr.agents.roles import PLANNER
from prd2pr.agents.task import AttemptContext, EarlierAttempt, PlanScope, RoleMaterial
from prd2pr.agents.tool_loop import RoleResult
from prd2pr.domain.records import Backlog, Phase
from prd2pr.domain.write_policy import build_write_policy
from prd2pr.errors import ModelRefused, PlanInvalid
from prd2pr.planning.classification import apply_classification, check_planner_answer
from prd2pr.planning.passes.strategy import PlanningStrategy, choose_strategy
from prd2pr.planning.plan import PlanDraft, PlanProblem, check_plan, to_backlog
from prd2pr.planning.plan_diff import PlanChange
from prd2pr.planning.problems import problems_to_findings
from prd2pr.planning.stack_assignment import check_single_stack
from prd2pr.state.cache import Cache, find_cache_directory
from prd2pr.workflow.answer_cache import AnswerCache
from prd2pr.workflow.planning.passes import plan_in_passes
from prd2pr.workflow.roles.role_runner import Assignment, SharedResources, read_text_files, run_assignment
from prd2pr.workflow.session import Session

# The first answer, and one with the problems that code found in it.
PLAN_ATTEMPTS = 2


def make_plan(session: Session, head: str, code_tree: str, brief: str = "") -> Backlog:
    """Return a valid plan, or raise PlanInvalid with its problems. Writes nothing.

    `brief` is the result of the roles before the plan.
    """
    way = select_planning_way(session)
    if way.four_passes:
        session.progress.say("note", text=f"planned in {way}")
        return to_backlog(session.prd, plan_in_passes(session, head, code_tree, brief))
    question = PlannerQuestion(head, code_tree, brief=brief)
    draft = make_valid_draft(session, question, lambda draft: check_plan(session.prd, draft))
    return to_backlog(session.prd, draft)


def select_planning_way(session: Session) -> PlanningStrategy:
    return choose_strategy(session.config.profile, session.prd)


@dataclass(frozen=True)
class PlannerQuestion:
    """The PRD to plan, or only what changed in it."""

    head: str
    code_tree: str
    change: PlanChange | None = None
    plan: int = 1  # number of the plan, starting at 1
    brief: str = ""


def make_valid_draft(
    session: Session, question: PlannerQuestion, check: Callable[[PlanDraft], tuple[PlanProblem, ...]]
) -> PlanDraft:
    """Return the planner's answer with what follows from its classification, after at most one repair."""
    earlier: tuple[EarlierAttempt, ...] = ()
    problems: tuple[PlanProblem, ...] = ()
    shared = share_answers(session, question.code_tree)
    paths = [entry.path for entry in session.git.entries(question.code_tree)]
    while len(earlier) < PLAN_ATTEMPTS:
        answer = ask_planner(session, question, earlier, shared)
        draft = apply_classification(session.prd, answer)
        problems = (
            *check(draft),
            *check_planner_answer(session.prd, draft, paths),
            *find_stack_problems(session, draft),
        )
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
        text = answer.model_dump_json(exclude_defaults=True)
        earlier += (EarlierAttempt(len(earlier) + 1, problems_to_findings(problems), patch=text),)
    shared.answer_cache.forget(f"{Phase.PLAN.value}-")
    raise PlanInvalid(
        f"no valid plan after {PLAN_ATTEMPTS} attempts: {'; '.join(problem.message for problem in problems[:5])}",
        where=session.prd.path,
        remedy="run it again, or make the PRD clearer on these points",
    )


def find_stack_problems(session: Session, draft: PlanDraft) -> tuple[PlanProblem, ...]:
    stacks = session.services.gathering.stacks
    stories = ((story.key, story.kind, tuple(story.source_paths)) for story in draft.stories)
    return tuple(problem for story in stories for problem in check_single_stack(*story, stacks))


def share_answers(session: Session, code_tree: str) -> SharedResources:
    """Keep the planner's answers, so that `run` builds the plan that `plan` showed, and it is paid for once."""
    cache = AnswerCache(Cache(find_cache_directory(session.git.private)), session.prd.id)
    return SharedResources(read_text_files(session, code_tree), None, cache, lambda: None)


def forget_plan(session: Session) -> None:
    """Forget the stored answers, so that the next plan is a new one."""
    AnswerCache(Cache(find_cache_directory(session.git.private)), session.prd.id).forget(f"{Phase.PLAN.value}-")


def ask_planner(
    session: Session, question: PlannerQuestion, earlier: tuple[EarlierAttempt, ...], shared: SharedResources
) -> PlanDraft:
    number = len(earlier) + 1
    assignment = Assignment(
        role=PLANNER,
        code_tree=question.code_tree,
        head=question.head,
        policy=build_write_policy(Phase.PLAN, session.prd.id),
        attempt=AttemptContext(number, PLAN_ATTEMPTS, strong=number == PLAN_ATTEMPTS, earlier=earlier),
        plan=PlanScope(question.plan, question.change),
        material=RoleMaterial(brief=question.brief),
        shared=shared,
    )
    result: RoleResult[PlanDraft] = run_assignment(session, assignment).result
    if result.output is None:
        raise ModelRefused("the planner returned no plan", where=session.prd.path)
    return result.output
