"""Merge the answers of the four passes into one plan, with all open points as questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prd2pr.domain.records import PlannedCycle, Prd, Requirement
from prd2pr.planning.passes.criteria import Criteria, build_contradiction_questions
from prd2pr.planning.passes.cycles import Grouping
from prd2pr.planning.passes.drafts import OpenQuestion
from prd2pr.planning.passes.open_questions import (
    SAME_QUESTION,
    compute_word_similarity,
    extract_words,
    merge_assumptions,
    merge_questions,
)
from prd2pr.planning.passes.overlap import mark_verify_only
from prd2pr.planning.passes.tasks import SPLIT_REMEDY, CycleScope, CycleTasks, build_story_draft, list_earlier_cycles
from prd2pr.planning.plan import (
    EpicDraft,
    PlanDraft,
    PlanLimits,
    StoryDraft,
    find_uncovered_requirements,
    format_uncovered_question,
    summarize_requirement,
)
from prd2pr.planning.problems import PlanProblem
from prd2pr.prd.requirement_ids import get_requirement_key, index_by_key

MAX_PATHS = PlanLimits().source_paths


# --- after pass 2 -----------------------------------------------------------------------------------------------------


def merge_stories(prd: Prd, answers: Sequence[CycleTasks]) -> tuple[StoryDraft, ...]:
    """Return the stories of all cycles, in the order of the cycles and without criteria."""
    cycles = tuple(each.cycle for each in answers)
    by_cycle = {each.cycle.id: _build_stories(prd, cycles, each) for each in answers}
    waiting = [
        _add_dependencies(story, _last_story_keys(cycles, by_cycle, cycle))
        for cycle in cycles
        for story in by_cycle[cycle.id]
    ]
    return mark_verify_only(prd, waiting)


def _build_stories(prd: Prd, cycles: tuple[PlannedCycle, ...], answer: CycleTasks) -> tuple[StoryDraft, ...]:
    scope = CycleScope(prd, cycles, answer.cycle)
    earlier = list_earlier_cycles(cycles, answer.cycle)
    epic = answer.cycle.id if len(cycles) > 1 else ""
    # Two calls may both use the key `s1`, so the plan has its own keys.
    keys = {task.key.strip(): f"{answer.cycle.id}/s{n}" for n, task in enumerate(answer.draft.tasks, start=1)}
    made = []
    for task in answer.draft.tasks:
        story = build_story_draft(scope, task)
        made.append(
            story.model_copy(
                update={
                    "key": keys[story.key],
                    "epic": epic,
                    "depends_on": tuple(keys[name] for name in story.depends_on if name not in earlier),
                    # More paths would be refused; a question already says that the story is too large.
                    "source_paths": story.source_paths if len(story.source_paths) <= MAX_PATHS else (),
                }
            )
        )
    return tuple(made)


def _last_story_keys(
    cycles: tuple[PlannedCycle, ...], by_cycle: dict[str, tuple[StoryDraft, ...]], cycle: PlannedCycle
) -> tuple[str, ...]:
    """Return the last stories of the cycles that this one depends on.

    A cycle without stories is replaced by the cycles that it depends on.
    """
    by_id = {each.id: each for each in cycles}
    found: dict[str, None] = {}
    waiting = list(cycle.depends_on)
    while waiting:
        name = waiting.pop(0)
        stories = by_cycle.get(name, ())
        inner = {other for story in stories for other in story.depends_on}
        found |= dict.fromkeys(story.key for story in stories if story.key not in inner)
        if not stories and name in by_id:
            waiting += by_id[name].depends_on
    return tuple(found)


def _add_dependencies(story: StoryDraft, ends: tuple[str, ...]) -> StoryDraft:
    """Make the first stories of a cycle depend on earlier cycles. The other stories depend on these."""
    return story if story.depends_on else story.model_copy(update={"depends_on": ends})


# --- the plan ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PassResults:
    grouping: Grouping
    answers: tuple[CycleTasks, ...]
    stories: tuple[StoryDraft, ...]  # including hints
    criteria: Criteria
    questions: tuple[OpenQuestion, ...] = ()  # from pass 3
    assumptions: tuple[str, ...] = ()  # from pass 3, and about hints that pass 4 did not give


def merge_passes(prd: Prd, gathered: PassResults) -> PlanDraft:
    """Merge the results into a draft for `to_backlog`, with a question for each uncovered requirement."""
    stories = tuple(
        story.model_copy(update={"criteria": gathered.criteria.get(story.key, ())}) for story in gathered.stories
    )
    missing = find_uncovered_requirements(prd, PlanDraft(stories=stories))
    general = tuple(each for each in missing if each.kind == "non_functional")
    not_covered = tuple(each for each in missing if each.kind != "non_functional")
    return PlanDraft(
        epics=_build_epics(gathered) if len(gathered.answers) > 1 else (),
        stories=stories,
        questions=merge_questions(prd, _collect_questions(prd, gathered, not_covered)),
        assumptions=merge_assumptions(_collect_assumptions(gathered, general)),
        not_covered=tuple(each.id for each in not_covered),
    )


def _build_epics(gathered: PassResults) -> tuple[EpicDraft, ...]:
    used = {story.epic for story in gathered.stories}
    return tuple(
        EpicDraft(key=cycle.id, title=cycle.title, requirements=cycle.requirements)
        for cycle in (each.cycle for each in gathered.answers)
        if cycle.id in used
    )


def _collect_questions(prd: Prd, gathered: PassResults, not_covered: Sequence[Requirement]) -> Iterator[OpenQuestion]:
    uncovered_ones = tuple(_build_uncovered_questions(prd, gathered, not_covered))
    yield from uncovered_ones
    titles = {story.key: story.title for story in gathered.stories}
    yield from build_contradiction_questions(prd, gathered.criteria, titles)
    others = (
        *gathered.grouping.questions,
        *(question for answer in gathered.answers for question in answer.draft.questions),
        *gathered.questions,
    )
    yield from (each for each in others if not _is_already_asked(prd, each, uncovered_ones))
    for answer in gathered.answers:
        yield from _build_problem_questions(answer)


def _is_already_asked(prd: Prd, question: OpenQuestion, others: Sequence[OpenQuestion]) -> bool:
    """Return whether other questions about uncovered requirements already ask the same."""
    known = index_by_key(requirement.id for requirement in prd.requirements)
    about = {known[get_requirement_key(name)] for name in question.about if get_requirement_key(name) in known}
    mine = [each for each in others if about.intersection(each.about)]
    same = any(
        compute_word_similarity(extract_words(question.text), extract_words(each.text)) >= SAME_QUESTION
        for each in mine
    )
    return bool(about) and about <= {name for each in mine for name in each.about} and same


def _build_uncovered_questions(
    prd: Prd, gathered: PassResults, not_covered: Sequence[Requirement]
) -> Iterator[OpenQuestion]:
    left = collect_omitted_requirements(prd, gathered.answers)
    for each in not_covered:
        why = left.get(each.id, "no story was planned for it. What is to be built?")
        yield OpenQuestion(about=(each.id,), text=format_uncovered_question(each, why)[:2000])
    missing = {each.id for each in not_covered}
    for each in prd.requirements:
        if each.id in left and each.id not in missing:  # another story or its parent covers it
            text = f"{each.id} ({summarize_requirement(each)}) was left out: {left[each.id]}"
            yield OpenQuestion(about=(each.id,), text=text[:2000])


def collect_omitted_requirements(prd: Prd, answers: Sequence[CycleTasks]) -> dict[str, str]:
    """Map each omitted requirement to the reason why a person must decide first."""
    known = index_by_key(requirement.id for requirement in prd.requirements)
    omitted = (
        each for answer in answers for each in answer.draft.left_out if get_requirement_key(each.requirement) in known
    )
    return {known[get_requirement_key(each.requirement)]: each.why for each in omitted}


def _build_problem_questions(answer: CycleTasks) -> Iterator[OpenQuestion]:
    """Ask about problems that further attempts did not fix.

    Uncovered requirements are left out, since they already have a question.
    """
    titles = {task.key.strip(): task.title for task in answer.draft.tasks}
    for problem in answer.open_problems:
        ending = _QUESTION_ENDINGS.get(problem.code)
        if ending:
            yield OpenQuestion(
                text=f"«{titles.get(problem.story, problem.story)}»: {_shorten_problem(problem)}. {ending}"[:2000]
            )


_QUESTION_ENDINGS = {
    "PLN110": "Further attempts did not split it. Should it be split?",
    "PLN201": "Further attempts did not split it. Should it be split?",
    "PLN204": "Is this the right place?",
}


def _shorten_problem(problem: PlanProblem) -> str:
    return problem.message.removesuffix(SPLIT_REMEDY)


def _collect_assumptions(gathered: PassResults, general: Sequence[Requirement]) -> Iterator[str]:
    if general:
        named = ", ".join(each.id for each in general)
        pronoun = "it" if len(general) == 1 else "them"
        yield f"{named}: applies to every story, so no separate story is planned for {pronoun}."
    yield from gathered.grouping.assumptions
    for answer in gathered.answers:
        yield from answer.draft.assumptions
    yield from gathered.assumptions
