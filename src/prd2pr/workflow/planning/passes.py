"""Make a plan in four passes: cycles, tasks, acceptance criteria, hints. Each asks only what code cannot decide."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from prd2pr.agents.context import build_repository_map
from prd2pr.agents.roles import DECOMPOSER_CRITERIA, DECOMPOSER_CYCLES, DECOMPOSER_HINTS, DECOMPOSER_TASKS
from prd2pr.domain.records import PlannedCycle
from prd2pr.domain.wording import count
from prd2pr.errors import ModelRefused, PlanInvalid
from prd2pr.planning.passes import criteria as written
from prd2pr.planning.passes import tasks as cut
from prd2pr.planning.passes.cycles import Grouping, build_cycles, check_cycles, derive_cycles
from prd2pr.planning.passes.drafts import CriteriaDraft, CyclesDraft, HintsDraft, OpenQuestion, TasksDraft
from prd2pr.planning.passes.hints import apply_hints, select_hinted_stories
from prd2pr.planning.passes.merge import PassResults, collect_omitted_requirements, merge_passes, merge_stories
from prd2pr.planning.passes.open_questions import merge_assumptions, merge_questions
from prd2pr.planning.passes.part import PlanPart, build_parts
from prd2pr.planning.passes.strategy import compute_max_model_calls
from prd2pr.planning.passes.tasks import CycleScope, CycleTasks
from prd2pr.planning.plan import CriterionDraft, PlanDraft, PlanProblem, StoryDraft, check_plan
from prd2pr.planning.stack_assignment import check_single_stack
from prd2pr.state.cache import Cache, find_cache_directory
from prd2pr.workflow.answer_cache import AnswerCache
from prd2pr.workflow.planning.pass_calls import Allowance, PassAnswer, PassQuestion, PlanningContext, ask_all
from prd2pr.workflow.roles.role_runner import SharedResources, read_text_files
from prd2pr.workflow.session import Session


def plan_in_passes(session: Session, head: str, code_tree: str, brief: str = "") -> PlanDraft:
    """Return a valid plan, or raise PlanInvalid with its problems. Writes only the answer cache."""
    context = replace(make_planning_context(session, head, code_tree), brief=brief)
    grouping = plan_cycles(context)
    context.allowance.most = compute_max_model_calls(len(grouping.cycles))
    tasks = plan_tasks(context, grouping)
    stories = merge_stories(session.prd, tasks)
    known_criteria = written.extract_given_criteria(
        session.prd, stories, collect_omitted_requirements(session.prd, tasks)
    )
    criteria = plan_criteria(context, stories, known_criteria, collect_open_points(session, grouping, tasks))
    hints = plan_hints(context, add_criteria(stories, criteria.found))
    draft = merge_passes(
        session.prd,
        PassResults(
            grouping,
            tasks,
            hints.stories,
            criteria.found,
            criteria.questions,
            (*criteria.assumptions, *hints.assumptions),
        ),
    )
    refuse_invalid_plan(context, draft)
    return draft


def make_planning_context(session: Session, head: str, code_tree: str) -> PlanningContext:
    files = read_text_files(session, code_tree)
    cache = AnswerCache(Cache(find_cache_directory(session.git.private)), session.prd.id)
    allowance = Allowance(compute_max_model_calls(0))
    shared = SharedResources(files, build_repository_map(files).text, cache, allowance.take)
    return PlanningContext(session, head, code_tree, shared, allowance)


def refuse_invalid_plan(context: PlanningContext, draft: PlanDraft) -> None:
    """Check the rules that concern all answers together. If one is broken, the next run asks again."""
    prd = context.session.prd
    problems = check_plan(prd, draft)
    if problems:
        context.shared.answer_cache.forget()
        raise PlanInvalid(
            f"the answers together make no valid plan: {'; '.join(map(str, problems[:5]))}",
            where=prd.path,
            remedy="run it again, or make the PRD clearer on these points",
        )


def report_pass(session: Session, outcome: str, started: float, tokens: int) -> None:
    session.progress.say(
        "phase",
        story=session.prd.id,
        phase="plan",
        outcome=outcome,
        seconds=session.clock.monotonic() - started,
        tokens=session.log.spend.tokens - tokens,
    )


def measure_pass(context: PlanningContext) -> Callable[[str], None]:
    """Return a function that reports the end of a pass with its time and tokens."""
    session = context.session
    started, tokens = session.clock.monotonic(), session.log.spend.tokens
    return lambda outcome: report_pass(session, outcome, started, tokens)


# --- 1: cycles --------------------------------------------------------------------------------------------------------


def plan_cycles(context: PlanningContext) -> Grouping:
    report, prd = measure_pass(context), context.session.prd
    given = derive_cycles(prd)
    if given is not None:
        source = "listed in the PRD" if prd.cycles else "few requirements"
        report(f"{count(len(given.cycles), 'cycle')}, {source}: no model call needed")
        return given

    query: PassQuestion[CyclesDraft] = PassQuestion(
        PlanPart("cycles"), lambda draft: check_cycles(prd, draft), lambda _: False
    )
    (taken,) = ask_all(context, DECOMPOSER_CYCLES, [query])
    if taken.answer is None:
        raise ModelRefused(
            f"the requirements could not be grouped: {taken.missing}",
            where=prd.path,
            remedy="try again, or choose another model: models.roles.decomposer_cycles in .prd2pr.yml",
        )
    grouping = build_cycles(prd, taken.answer)
    report(count(len(grouping.cycles), "cycle"))
    return grouping


# --- 2: tasks ---------------------------------------------------------------------------------------------------------


def plan_tasks(context: PlanningContext, grouping: Grouping) -> tuple[CycleTasks, ...]:
    report, prd = measure_pass(context), context.session.prd
    queries = [make_tasks_question(context, grouping, cycle) for cycle in grouping.cycles]
    answers = ask_all(context, DECOMPOSER_TASKS, queries)
    cycle_tasks = tuple(
        CycleTasks(cycle, each.answer or TasksDraft(tasks=()), each.stated)
        for cycle, each in zip(grouping.cycles, answers, strict=True)
    )
    number = sum(len(each.draft.tasks) for each in cycle_tasks)
    report(f"{count(number, 'story')} for {count(len(prd.requirements), 'requirement')}")
    return cycle_tasks


def make_tasks_question(context: PlanningContext, grouping: Grouping, cycle: PlannedCycle) -> PassQuestion[TasksDraft]:
    scope = CycleScope(context.session.prd, grouping.cycles, cycle, frozenset(context.shared.files))
    open_questions = merge_questions(scope.prd, grouping.questions)
    part = PlanPart(f"tasks-{cycle.id}", grouping.cycles, cycle, to_cover=scope.to_cover, asked=open_questions)
    stacks = context.session.services.gathering.stacks

    def check(draft: TasksDraft) -> tuple[PlanProblem, ...]:
        named = ((task.key.strip(), task.kind, tuple(task.files)) for task in draft.tasks)
        return (
            *cut.check_tasks(scope, draft),
            *(problem for task in named for problem in check_single_stack(*task, stacks)),
        )

    return PassQuestion(part, check, cut.is_soft_tasks_problem)


# --- 3: criteria ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WrittenCriteria:
    """The criteria of all stories, and the questions and assumptions of the pass."""

    found: dict[str, tuple[CriterionDraft, ...]]
    questions: tuple[OpenQuestion, ...] = ()
    assumptions: tuple[str, ...] = ()


def collect_open_points(session: Session, grouping: Grouping, taken: tuple[CycleTasks, ...]) -> PlanPart:
    """Return the questions and assumptions of the earlier passes, so that later passes do not repeat them."""
    questions = (*grouping.questions, *(question for each in taken for question in each.draft.questions))
    assumptions = (*grouping.assumptions, *(text for each in taken for text in each.draft.assumptions))
    return PlanPart("", asked=merge_questions(session.prd, questions), assumed=merge_assumptions(assumptions))


def plan_criteria(
    context: PlanningContext, stories: tuple[StoryDraft, ...], known: written.Criteria, earlier: PlanPart
) -> WrittenCriteria:
    """Ask for the missing criteria.

    `known` are the criteria in the PRD, and `earlier` contains the questions and assumptions of earlier passes.
    """
    report, prd = measure_pass(context), context.session.prd
    missing = written.select_stories_without_criteria(prd, stories, known)
    parts = [replace(earlier, name=part.name, stories=part.stories) for part in build_parts("criteria", missing)]
    queries = [make_criteria_question(part, known) for part in parts]
    answers = ask_all(context, DECOMPOSER_CRITERIA, queries)
    found = dict(known)
    fallback_notes: list[str] = []
    for query, each in zip(queries, answers, strict=True):
        found |= merge_criteria(query, each, known)
        for story in query.part.stories:
            if not found[story.key]:
                found[story.key] = written.build_fallback_criteria(prd, story)
                fallback_notes.append(f"The criteria of «{story.title}» are the PRD's own words: {each.missing}.")
    report(f"{sum(map(len, found.values()))} criteria, {sum(map(len, known.values()))} of them from the PRD")
    drafts = [each.answer for each in answers if each.answer is not None]
    return WrittenCriteria(
        found,
        tuple(question for draft in drafts for question in draft.questions),
        (*fallback_notes, *(text for draft in drafts for text in draft.assumptions)),
    )


def make_criteria_question(part: PlanPart, known: written.Criteria) -> PassQuestion[CriteriaDraft]:
    return PassQuestion(
        part, lambda draft: written.check_criteria(part.stories, draft, known), written.is_soft_criteria_problem
    )


def merge_criteria(
    query: PassQuestion[CriteriaDraft], answer: PassAnswer[CriteriaDraft], known: written.Criteria
) -> dict[str, tuple[CriterionDraft, ...]]:
    """Return the criteria by story, with those of the PRD first and unchanged."""
    answered = written.collect_criteria(query.part.stories, answer.answer) if answer.answer is not None else {}
    return {story.key: (*known.get(story.key, ()), *answered.get(story.key, ())) for story in query.part.stories}


def add_criteria(stories: tuple[StoryDraft, ...], found: written.Criteria) -> tuple[StoryDraft, ...]:
    return tuple(story.model_copy(update={"criteria": found.get(story.key, ())}) for story in stories)


# --- 4: hints ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HintedStories:
    """Stories with hints, and the assumptions made where hints are missing."""

    stories: tuple[StoryDraft, ...]
    assumptions: tuple[str, ...] = ()


def plan_hints(context: PlanningContext, stories: tuple[StoryDraft, ...]) -> HintedStories:
    """Ask for hints, ignoring unusable answers."""
    report, prd = measure_pass(context), context.session.prd
    parts = [replace(part, plan=stories) for part in build_parts("hints", select_hinted_stories(stories))]
    queries: list[PassQuestion[HintsDraft]] = [PassQuestion(part, lambda _: (), lambda _: True) for part in parts]
    answers = ask_all(context, DECOMPOSER_HINTS, queries, needed=False)
    hinted_stories = {story.key: story for story in stories}
    answered, notes = 0, []
    for part, each in zip(parts, answers, strict=True):
        if each.answer is None:
            notes.append(f"No hints for {', '.join(f'«{story.title}»' for story in part.stories)}: {each.missing}.")
            continue
        answered += len(part.stories)
        for story in part.stories:
            hinted_stories[story.key] = apply_hints(prd, hinted_stories[story.key], each.answer, context.shared.files)
    report(f"hints for {answered} of {count(len(stories), 'story')}")
    return HintedStories(tuple(hinted_stories[story.key] for story in stories), tuple(notes))
