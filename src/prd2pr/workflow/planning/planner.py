"""Make a backlog from a PRD with one call, or one call for each part of a large PRD.

Fixed rules check the typed answers.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from prd2pr.agents.roles import PLANNER
from prd2pr.agents.task import AttemptContext, EarlierAttempt, PlanScope, RoleMaterial
from prd2pr.agents.tool_loop import RoleResult
from prd2pr.domain.questions import add_answer_note
from prd2pr.domain.records import Backlog, Phase, Prd
from prd2pr.domain.write_policy import build_write_policy
from prd2pr.errors import ModelRefused, PlanInvalid
from prd2pr.planning.answer_checks import (
    accept_soft_problems,
    check_planner_answer,
    is_soft_problem,
    mark_verify_only,
)
from prd2pr.planning.classification import apply_classification
from prd2pr.planning.parts import PlanPart, describe_planning_calls, follow_cycles, split_into_parts
from prd2pr.planning.plan import (
    PlanDraft,
    PlanProblem,
    StoryDraft,
    backlog_to_draft,
    check_plan,
    list_claimed_requirements,
    to_backlog,
)
from prd2pr.planning.plan_diff import PlanChange, build_replanned_backlog, check_replan_answer
from prd2pr.planning.problems import problems_to_findings
from prd2pr.planning.stack_assignment import check_single_stack
from prd2pr.prd.requirement_ids import get_requirement_key
from prd2pr.state.cache import Cache, find_cache_directory
from prd2pr.workflow.answer_cache import AnswerCache
from prd2pr.workflow.roles.role_runner import Assignment, SharedResources, read_text_files, run_assignment
from prd2pr.workflow.session import Session

# The first answer, and one with the problems that code found in it.
PLAN_ATTEMPTS = 2


def make_plan(session: Session, head: str, code_tree: str, brief: str = "") -> Backlog:
    """Return a valid plan, or raise PlanInvalid with its problems. Nothing is written.

    `brief` is the result of the roles before the plan.
    """
    backlog = Backlog()
    parts = split_into_parts(session.prd)
    if len(parts) > 1:
        session.progress.say("note", text=f"planned in {describe_planning_calls(session.prd)}")
    for part in (each.follow(backlog) for each in parts):
        is_first = part.number == 1
        question = PlannerQuestion(
            head, code_tree, part.prd, backlog, None if is_first else part.change, part, brief=brief
        )
        draft = make_valid_draft(session, question)
        backlog = (
            to_backlog(part.prd, draft)
            if is_first
            else build_replanned_backlog(part.prd, backlog, part.change, draft, drop=False)
        )
    return backlog


@dataclass(frozen=True)
class PlannerQuestion:
    """A request to plan the PRD, a part of it, or its changes."""

    head: str
    code_tree: str
    prd: Prd
    before: Backlog = field(default_factory=Backlog)  # the plan so far
    change: PlanChange | None = None  # what the answer adds to it
    part: PlanPart | None = None  # of the first plan
    plan: int = 1  # number of the plan, starting at 1
    brief: str = ""

    @property
    def scope(self) -> PlanScope:
        if self.part is None:
            return PlanScope(self.plan, self.change)
        return PlanScope(self.plan, part=self.part if self.part.of > 1 else None)

    @property
    def prefix(self) -> str:
        """The prefix of the keys under which its answers are stored."""
        return f"{Phase.PLAN.value}-{self.scope.part.name}-" if self.scope.part else f"{Phase.PLAN.value}-"

    def complete(self, answer: PlanDraft) -> PlanDraft:
        """Return the answer with all additions that fixed rules make."""
        if self.part is None:
            decided = [name for each in self.before.answers for name in each.decided]
            draft = apply_classification(self.prd, self._drop_answered(answer), decided)
            return draft.model_copy(update={"stories": tuple(map(self._add_answers, draft.stories))})
        draft = apply_classification(self.prd, self.part.tidy(answer))
        draft = follow_cycles(self.prd, draft, self.before.stories)
        earlier = backlog_to_draft(self.before).stories
        return draft.model_copy(update={"stories": mark_verify_only(self.prd, draft.stories, earlier)})

    @property
    def answered_keys(self) -> frozenset[str]:
        """The keys of the requirements about which a person has decided."""
        return frozenset(map(get_requirement_key, self.before.reopened)) if self.change else frozenset()

    def _add_answers(self, story: StoryDraft) -> StoryDraft:
        description = story.description
        for each in self.change.answered if self.change else ():
            description = add_answer_note(description, list_claimed_requirements(story), each)
        return story.model_copy(update={"description": description})

    def _drop_answered(self, answer: PlanDraft) -> PlanDraft:
        """Remove contradictions about which a person has decided, although the PRD's text still contains them."""
        keys = self.answered_keys
        classified = (
            each
            for each in answer.classified
            if each.status != "contradictory" or get_requirement_key(each.id) not in keys
        )
        return answer.model_copy(update={"classified": tuple(classified)})

    def check(self, draft: PlanDraft, paths: Collection[str]) -> tuple[PlanProblem, ...]:
        if self.change is None:
            problems = check_plan(self.prd, draft)
            planned_now = frozenset(get_requirement_key(each.id) for each in self.prd.requirements)
        else:
            problems = check_replan_answer(self.prd, self.before, self.change, draft)
            planned_now = self.change.requirements.list_keys_to_cover() - self.answered_keys
        return (*problems, *check_planner_answer(self.prd, draft, paths, planned_now))


def make_valid_draft(session: Session, question: PlannerQuestion) -> PlanDraft:
    """Return the planner's answer with the additions of fixed rules, after at most one request for corrections."""
    earlier: tuple[EarlierAttempt, ...] = ()
    usable: list[tuple[PlanDraft, tuple[PlanProblem, ...]]] = []
    problems: tuple[PlanProblem, ...] = ()
    shared = share_answers(session, question.code_tree)
    paths = [entry.path for entry in session.git.entries(question.code_tree)]
    while len(earlier) < PLAN_ATTEMPTS:
        text = ""
        try:
            answer = ask_planner(session, question, earlier, shared)
        except ModelRefused as error:
            if len(earlier) + 1 == PLAN_ATTEMPTS and not usable:
                raise
            problems = (PlanProblem("PLN209", error.what),)
        else:
            draft, text = question.complete(answer), answer.model_dump_json(exclude_defaults=True)
            problems = (*question.check(draft, paths), *find_stack_problems(session, draft))
            if not problems:
                return draft
            if all(map(is_soft_problem, problems)):
                usable.append((draft, problems))
        session.progress.say(
            "refused",
            story=session.prd.id,
            phase="plan",
            codes=sorted({problem.code for problem in problems}),
            attempt=len(earlier) + 1,
            of=PLAN_ATTEMPTS,
            summary=problems[0].message,
        )
        earlier += (EarlierAttempt(len(earlier) + 1, problems_to_findings(problems), patch=text),)
    if usable:
        return accept_soft_problems(*min(usable, key=lambda each: len(each[1])))
    shared.answer_cache.forget(question.prefix)
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
    """Store the planner's answers, so that `run` uses the plan that `plan` showed without paying for it again."""
    cache = AnswerCache(Cache(find_cache_directory(session.git.private)), session.prd.id)
    return SharedResources(read_text_files(session, code_tree), cache)


def forget_plan(session: Session) -> None:
    """Delete the stored answers, so that the next plan is made again."""
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
        plan=question.scope,
        material=RoleMaterial(brief=question.brief),
        shared=shared,
    )
    result: RoleResult[PlanDraft] = run_assignment(session, assignment).result
    if result.output is None:
        raise ModelRefused("the planner returned no plan", where=session.prd.path)
    return result.output
