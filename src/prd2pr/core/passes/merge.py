"""One plan out of many answers: keys by code, cycles that wait for cycles, and everything named that was left open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prd2pr.core.passes.criteria import Criteria, contradiction_questions
from prd2pr.core.passes.cycles import Grouping
from prd2pr.core.passes.drafts import OpenQuestion
from prd2pr.core.passes.open_points import SAME_QUESTION, asked, assumed, likeness, words
from prd2pr.core.passes.overlap import verified_only
from prd2pr.core.passes.tasks import CycleScope, CycleTasks, before, story_draft
from prd2pr.core.plan import EpicDraft, PlanDraft, PlanLimits, StoryDraft, first_words, not_covered_question, uncovered
from prd2pr.core.plan_problems import PlanProblem
from prd2pr.core.records import PlannedCycle, Prd, Requirement
from prd2pr.core.requirement_ids import by_key, key_of

MOST_PATHS = PlanLimits().source_paths


# --- after pass 2 -----------------------------------------------------------------------------------------------------


def planned_stories(prd: Prd, answers: Sequence[CycleTasks]) -> tuple[StoryDraft, ...]:
    """All stories, in the order of their cycles, without criteria yet."""
    cycles = tuple(each.cycle for each in answers)
    by_cycle = {each.cycle.id: _stories(prd, cycles, each) for each in answers}
    waiting = [_after(story, _ends(cycles, by_cycle, cycle)) for cycle in cycles for story in by_cycle[cycle.id]]
    return verified_only(prd, waiting)


def _stories(prd: Prd, cycles: tuple[PlannedCycle, ...], answer: CycleTasks) -> tuple[StoryDraft, ...]:
    scope = CycleScope(prd, cycles, answer.cycle)
    earlier = before(cycles, answer.cycle)
    epic = answer.cycle.id if len(cycles) > 1 else ""
    # Two calls may both speak of `s1`, and what a key is made of is their affair; the plan has its own.
    keys = {task.key.strip(): f"{answer.cycle.id}/s{n}" for n, task in enumerate(answer.draft.tasks, start=1)}
    made = []
    for task in answer.draft.tasks:
        story = story_draft(scope, task)
        made.append(
            story.model_copy(
                update={
                    "key": keys[story.key],
                    "epic": epic,
                    "depends_on": tuple(keys[name] for name in story.depends_on if name not in earlier),
                    # More would be refused; that it is too large is told.
                    "source_paths": story.source_paths if len(story.source_paths) <= MOST_PATHS else (),
                }
            )
        )
    return tuple(made)


def _ends(
    cycles: tuple[PlannedCycle, ...], by_cycle: dict[str, tuple[StoryDraft, ...]], cycle: PlannedCycle
) -> tuple[str, ...]:
    """The last stories of the cycles that this one waits for; where such a cycle has none, of those before it."""
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


def _after(story: StoryDraft, ends: tuple[str, ...]) -> StoryDraft:
    """Only the first stories of a cycle need to be told: the others wait for these."""
    return story if story.depends_on else story.model_copy(update={"depends_on": ends})


# --- the plan ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gathered:
    """What the passes have brought together."""

    grouping: Grouping
    answers: tuple[CycleTasks, ...]
    stories: tuple[StoryDraft, ...]  # with hints
    criteria: Criteria
    questions: tuple[OpenQuestion, ...] = ()  # of pass 3
    assumptions: tuple[str, ...] = ()  # of pass 3, and what did not fit


def merge(prd: Prd, gathered: Gathered) -> PlanDraft:
    """What check_plan and to_backlog take. Requirements for which nothing is planned are named, each in a question."""
    stories = tuple(
        story.model_copy(update={"criteria": gathered.criteria.get(story.key, ())}) for story in gathered.stories
    )
    missing = uncovered(prd, PlanDraft(stories=stories))
    general = tuple(each for each in missing if each.kind == "non_functional")
    not_covered = tuple(each for each in missing if each.kind != "non_functional")
    return PlanDraft(
        epics=_epics(gathered) if len(gathered.answers) > 1 else (),
        stories=stories,
        questions=asked(prd, _questions(prd, gathered, not_covered)),
        assumptions=assumed(_assumptions(gathered, general)),
        not_covered=tuple(each.id for each in not_covered),
    )


def _epics(gathered: Gathered) -> tuple[EpicDraft, ...]:
    used = {story.epic for story in gathered.stories}
    return tuple(
        EpicDraft(key=cycle.id, title=cycle.title, requirements=cycle.requirements)
        for cycle in (each.cycle for each in gathered.answers)
        if cycle.id in used
    )


def _questions(prd: Prd, gathered: Gathered, not_covered: Sequence[Requirement]) -> Iterator[OpenQuestion]:
    uncovered_ones = tuple(_uncovered_questions(prd, gathered, not_covered))
    yield from uncovered_ones
    titles = {story.key: story.title for story in gathered.stories}
    yield from contradiction_questions(prd, gathered.criteria, titles)
    others = (
        *gathered.grouping.questions,
        *(question for answer in gathered.answers for question in answer.draft.questions),
        *gathered.questions,
    )
    yield from (each for each in others if not _asked_by(prd, each, uncovered_ones))
    for answer in gathered.answers:
        yield from _stated(answer)


def _asked_by(prd: Prd, question: OpenQuestion, others: Sequence[OpenQuestion]) -> bool:
    """Whether it asks no more than why what it is about is not covered."""
    known = by_key(requirement.id for requirement in prd.requirements)
    about = {known[key_of(name)] for name in question.about if key_of(name) in known}
    mine = [each for each in others if about.intersection(each.about)]
    same = any(likeness(words(question.text), words(each.text)) >= SAME_QUESTION for each in mine)
    return bool(about) and about <= {name for each in mine for name in each.about} and same


def _uncovered_questions(prd: Prd, gathered: Gathered, not_covered: Sequence[Requirement]) -> Iterator[OpenQuestion]:
    left = left_out(prd, gathered.answers)
    for each in not_covered:
        why = left.get(each.id, "no story was planned for it. What is to be built?")
        yield OpenQuestion(about=(each.id,), text=not_covered_question(each, why)[:2000])
    missing = {each.id for each in not_covered}
    for each in prd.requirements:
        if each.id in left and each.id not in missing:  # another story has it, or the requirement that it accepts
            text = f"{each.id} ({first_words(each)}) was left out: {left[each.id]}"
            yield OpenQuestion(about=(each.id,), text=text[:2000])


def left_out(prd: Prd, answers: Sequence[CycleTasks]) -> dict[str, str]:
    """What a person has to decide first, and why."""
    known = by_key(requirement.id for requirement in prd.requirements)
    said = (each for answer in answers for each in answer.draft.left_out if key_of(each.requirement) in known)
    return {known[key_of(each.requirement)]: each.why for each in said}


def _stated(answer: CycleTasks) -> Iterator[OpenQuestion]:
    """What asking again did not mend. What is not covered has its question already."""
    titles = {task.key.strip(): task.title for task in answer.draft.tasks}
    for problem in answer.stated:
        ending = _ENDINGS.get(problem.code)
        if ending:
            yield OpenQuestion(text=f"«{titles.get(problem.story, problem.story)}»: {_short(problem)}. {ending}"[:2000])


_ENDINGS = {
    "PLN110": "Asking again did not split it. Should it be split?",
    "PLN201": "Asking again did not split it. Should it be split?",
    "PLN204": "Is that where it belongs?",
}


def _short(problem: PlanProblem) -> str:
    return problem.message.partition(": make several")[0]


def _assumptions(gathered: Gathered, general: Sequence[Requirement]) -> Iterator[str]:
    if general:
        named = ", ".join(each.id for each in general)
        yield f"{named}: held by every story; none is about {'it' if len(general) == 1 else 'them'} alone."
    yield from gathered.grouping.assumptions
    for answer in gathered.answers:
        yield from answer.draft.assumptions
    yield from gathered.assumptions
