"""A plan in four passes: cycles, tasks, acceptance criteria, hints. Each asks no more than what code cannot say."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from prd2pr.agents.roles import DECOMPOSER_CRITERIA, DECOMPOSER_CYCLES, DECOMPOSER_HINTS, DECOMPOSER_TASKS
from prd2pr.core.context import repository_map
from prd2pr.core.passes import criteria as written
from prd2pr.core.passes import tasks as cut
from prd2pr.core.passes.cycles import Grouping, check_cycles, drafted_cycles, given_cycles
from prd2pr.core.passes.drafts import CriteriaDraft, CyclesDraft, HintsDraft, OpenQuestion, TasksDraft
from prd2pr.core.passes.hints import hinted, with_hints
from prd2pr.core.passes.merge import Gathered, left_out, merge, planned_stories
from prd2pr.core.passes.open_points import asked, assumed
from prd2pr.core.passes.part import PlanPart, bundles
from prd2pr.core.passes.tasks import CycleScope, CycleTasks
from prd2pr.core.passes.way import most_calls
from prd2pr.core.plan import CriterionDraft, PlanDraft, PlanProblem, StoryDraft, check_plan
from prd2pr.core.records import PlannedCycle
from prd2pr.core.stacks.planned import across_stacks
from prd2pr.core.wording import count
from prd2pr.errors import ModelRefused, PlanInvalid
from prd2pr.flows.asking import Allowance, Ground, Query, Taken, answers
from prd2pr.flows.kept_answers import KeptAnswers
from prd2pr.flows.session import Session
from prd2pr.flows.workbench import Surroundings, text_files


def plan_in_passes(session: Session, head: str, code_tree: str, brief: str = "") -> PlanDraft:
    """Valid by all rules, or PlanInvalid with what is wrong. Writes nothing but what saves paying twice."""
    ground = replace(ground_of(session, head, code_tree), brief=brief)
    grouping = first_pass(ground)
    ground.allowance.most = most_calls(len(grouping.cycles))
    taken = second_pass(ground, grouping)
    stories = planned_stories(session.prd, taken)
    known = written.taken_over(session.prd, stories, left_out(session.prd, taken))
    criteria = third_pass(ground, stories, known, open_points(session, grouping, taken))
    hints = fourth_pass(ground, with_criteria(stories, criteria.found))
    draft = merge(
        session.prd,
        Gathered(
            grouping,
            taken,
            hints.stories,
            criteria.found,
            criteria.questions,
            (*criteria.assumptions, *hints.assumptions),
        ),
    )
    refuse_invalid(ground, draft)
    return draft


def ground_of(session: Session, head: str, code_tree: str) -> Ground:
    files = text_files(session, code_tree)
    kept = KeptAnswers(session.git.private / "plans" / session.prd.id)
    kept.forget_old(time.time())
    return Ground(
        session, head, code_tree, Surroundings(files, repository_map(files).text), kept, Allowance(most_calls(0))
    )


def refuse_invalid(ground: Ground, draft: PlanDraft) -> None:
    """What no single answer could show: the next run asks anew."""
    prd = ground.session.prd
    problems = check_plan(prd, draft)
    if problems:
        ground.kept.forget()
        raise PlanInvalid(
            f"the answers make no valid plan together: {'; '.join(map(str, problems[:5]))}",
            where=prd.path,
            remedy="run it again, or make the PRD clearer at these points",
        )


def told(session: Session, outcome: str, started: float, tokens: int) -> None:
    session.progress.say(
        "phase",
        story=session.prd.id,
        phase="plan",
        outcome=outcome,
        seconds=session.clock.monotonic() - started,
        tokens=session.log.spend.tokens - tokens,
    )


def in_time(ground: Ground) -> Callable[[str], None]:
    """To be told at the end of a pass, with its time and tokens."""
    session = ground.session
    started, tokens = session.clock.monotonic(), session.log.spend.tokens
    return lambda outcome: told(session, outcome, started, tokens)


# --- 1: cycles --------------------------------------------------------------------------------------------------------


def first_pass(ground: Ground) -> Grouping:
    tell, prd = in_time(ground), ground.session.prd
    given = given_cycles(prd)
    if given is not None:
        source = "listed in the PRD" if prd.cycles else "few requirements"
        tell(f"{count(len(given.cycles), 'cycle')}, {source}: nobody was asked")
        return given

    query: Query[CyclesDraft] = Query(PlanPart("cycles"), lambda draft: check_cycles(prd, draft), lambda _: False)
    (taken,) = answers(ground, DECOMPOSER_CYCLES, [query])
    if taken.answer is None:
        raise ModelRefused(
            f"the requirements could not be grouped: {taken.missing}",
            where=prd.path,
            remedy="try again, or choose another model: models.roles.decomposer_cycles in .prd2pr.yml",
        )
    grouping = drafted_cycles(prd, taken.answer)
    tell(count(len(grouping.cycles), "cycle"))
    return grouping


# --- 2: tasks ---------------------------------------------------------------------------------------------------------


def second_pass(ground: Ground, grouping: Grouping) -> tuple[CycleTasks, ...]:
    tell, prd = in_time(ground), ground.session.prd
    queries = [tasks_query(ground, grouping, cycle) for cycle in grouping.cycles]
    taken = answers(ground, DECOMPOSER_TASKS, queries)
    made = tuple(
        CycleTasks(cycle, each.answer or TasksDraft(tasks=()), each.stated)
        for cycle, each in zip(grouping.cycles, taken, strict=True)
    )
    number = sum(len(each.draft.tasks) for each in made)
    tell(f"{count(number, 'story')} for {count(len(prd.requirements), 'requirement')}")
    return made


def tasks_query(ground: Ground, grouping: Grouping, cycle: PlannedCycle) -> Query[TasksDraft]:
    scope = CycleScope(ground.session.prd, grouping.cycles, cycle, frozenset(ground.shared.files))
    stand = asked(scope.prd, grouping.questions)
    part = PlanPart(f"tasks-{cycle.id}", grouping.cycles, cycle, to_cover=scope.to_cover, asked=stand)
    stacks = ground.session.gathering.stacks

    def check(draft: TasksDraft) -> tuple[PlanProblem, ...]:
        named = ((task.key.strip(), task.kind, tuple(task.files)) for task in draft.tasks)
        return (
            *cut.check_tasks(scope, draft),
            *(problem for told in named for problem in across_stacks(*told, stacks)),
        )

    return Query(part, check, cut.is_soft)


# --- 3: criteria ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Written:
    found: dict[str, tuple[CriterionDraft, ...]]
    questions: tuple[OpenQuestion, ...] = ()
    assumptions: tuple[str, ...] = ()


def open_points(session: Session, grouping: Grouping, taken: tuple[CycleTasks, ...]) -> PlanPart:
    """What the passes before have asked and assumed: it is not asked again, and kept to."""
    questions = (*grouping.questions, *(question for each in taken for question in each.draft.questions))
    assumptions = (*grouping.assumptions, *(text for each in taken for text in each.draft.assumptions))
    return PlanPart("", asked=asked(session.prd, questions), assumed=assumed(assumptions))


def third_pass(ground: Ground, stories: tuple[StoryDraft, ...], known: written.Criteria, stand: PlanPart) -> Written:
    """`known`: what the PRD itself says; `stand`: questions and assumptions of the passes before."""
    tell, prd = in_time(ground), ground.session.prd
    missing = written.asked_for(prd, stories, known)
    parts = [replace(stand, name=part.name, stories=part.stories) for part in bundles("criteria", missing)]
    queries = [criteria_query(part, known) for part in parts]
    taken = answers(ground, DECOMPOSER_CRITERIA, queries)
    found = dict(known)
    in_own_words: list[str] = []
    for query, each in zip(queries, taken, strict=True):
        found |= answered(query, each, known)
        for story in query.part.stories:
            if not found[story.key]:
                found[story.key] = written.by_requirement_text(prd, story)
                in_own_words.append(f"The criteria of «{story.title}» are the PRD's own words: {each.missing}.")
    tell(f"{sum(map(len, found.values()))} criteria, {sum(map(len, known.values()))} of them from the PRD")
    drafts = [each.answer for each in taken if each.answer is not None]
    return Written(
        found,
        tuple(question for draft in drafts for question in draft.questions),
        (*in_own_words, *(text for draft in drafts for text in draft.assumptions)),
    )


def criteria_query(part: PlanPart, known: written.Criteria) -> Query[CriteriaDraft]:
    return Query(part, lambda draft: written.check_criteria(part.stories, draft, known), written.is_soft)


def answered(
    query: Query[CriteriaDraft], taken: Taken[CriteriaDraft], known: written.Criteria
) -> dict[str, tuple[CriterionDraft, ...]]:
    """What stands in the PRD first, word for word."""
    given = written.criteria_of(taken.answer) if taken.answer is not None else {}
    return {story.key: (*known.get(story.key, ()), *given.get(story.key, ())) for story in query.part.stories}


def with_criteria(stories: tuple[StoryDraft, ...], found: written.Criteria) -> tuple[StoryDraft, ...]:
    return tuple(story.model_copy(update={"criteria": found.get(story.key, ())}) for story in stories)


# --- 4: hints ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Hinted:
    stories: tuple[StoryDraft, ...]
    assumptions: tuple[str, ...] = ()


def fourth_pass(ground: Ground, stories: tuple[StoryDraft, ...]) -> Hinted:
    """Nothing hangs on hints: an answer that is no use is done without."""
    tell, prd = in_time(ground), ground.session.prd
    parts = [replace(part, plan=stories) for part in bundles("hints", hinted(stories))]
    queries: list[Query[HintsDraft]] = [Query(part, lambda _: (), lambda _: True) for part in parts]
    taken = answers(ground, DECOMPOSER_HINTS, queries, needed=False)
    made = {story.key: story for story in stories}
    given, said = 0, []
    for part, each in zip(parts, taken, strict=True):
        if each.answer is None:
            said.append(f"No hints for {', '.join(f'«{story.title}»' for story in part.stories)}: {each.missing}.")
            continue
        given += len(part.stories)
        for story in part.stories:
            made[story.key] = with_hints(prd, made[story.key], each.answer, ground.shared.files)
    tell(f"hints for {given} of {count(len(stories), 'story')}")
    return Hinted(tuple(made[story.key] for story in stories), tuple(said))
