"""Pass 2: the stories of each cycle. What is checked of one cycle's answer, and what becomes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from prd2pr.core.passes.criteria import acceptance_of
from prd2pr.core.passes.cycles import homes
from prd2pr.core.passes.drafts import TaskDraft, TasksDraft
from prd2pr.core.passes.modules import module_of, outside
from prd2pr.core.plan import PlanDraft, PlanLimits, StoryDraft, check_plan, first_words, uncovered
from prd2pr.core.plan_problems import PlanProblem
from prd2pr.core.records import PlannedCycle, Prd, Requirement
from prd2pr.core.requirement_ids import by_key, key_of
from prd2pr.core.wording import plain

LIMITS = PlanLimits()
MOST_TESTS = 20
FEWER_LINES = 100
MOST_COMPLEXITY = 6

# Of a plan without criteria these say nothing; whether all is covered is asked of the cycle's own requirements.
_LATER = ("PLN101", "PLN106", "PLN108", "PLN109")
# What can be told to a person instead of being refused for ever.
SOFT = ("PLN110", "PLN201", "PLN202", "PLN203", "PLN204")


@dataclass(frozen=True)
class CycleTasks:
    """A cycle with the answer that was taken for it; an empty one, where none could be had any more."""

    cycle: PlannedCycle
    draft: TasksDraft
    stated: tuple[PlanProblem, ...] = ()  # soft problems that were not mended


@dataclass(frozen=True)
class CycleScope:
    """What an answer about one cycle is measured by."""

    prd: Prd
    cycles: tuple[PlannedCycle, ...]
    cycle: PlannedCycle
    there: Collection[str] = ()  # paths that exist in the repository

    @cached_property
    def own(self) -> frozenset[str]:
        """Ids that its stories may claim, with those that hold for all."""
        found = homes(self.prd, self.cycles)
        return frozenset(name for name, cycles in found.items() if not cycles or self.cycle.id in cycles)

    @cached_property
    def to_cover(self) -> tuple[Requirement, ...]:
        found = homes(self.prd, self.cycles)
        return tuple(each for each in self.prd.requirements if self.cycle.id in found[each.id])

    @cached_property
    def known(self) -> Mapping[str, str]:
        return by_key(requirement.id for requirement in self.prd.requirements)


def check_tasks(scope: CycleScope, draft: TasksDraft) -> tuple[PlanProblem, ...]:
    """In the words of the answer: keys are its own."""
    stories = tuple(story_draft(scope, task) for task in draft.tasks)
    plan = PlanDraft(stories=tuple(each.model_copy(update={"depends_on": _inner(scope, each)}) for each in stories))
    problems = [
        *(problem for problem in check_plan(scope.prd, plan) if problem.code not in _LATER),
        *_sizes(scope, draft, stories),
        *_misplaced(scope, draft),
        *_not_covered(scope, plan, draft),
    ]
    return tuple(sorted(problems, key=lambda problem: problem.code))


def is_soft(problem: PlanProblem) -> bool:
    return problem.code in SOFT


def story_draft(scope: CycleScope, task: TaskDraft) -> StoryDraft:
    """Claims on requirements of other cycles are dropped where the story has its own: those are built there."""
    named = tuple(dict.fromkeys(scope.known.get(key_of(name), name) for name in task.requirements))
    own = tuple(name for name in named if name in scope.own)
    unknown = tuple(name for name in named if key_of(name) not in scope.known)
    return StoryDraft(
        key=task.key.strip(),
        title=plain(task.title),
        description=task.description.strip(),
        kind=task.kind,
        depends_on=tuple(dict.fromkeys(name.strip() for name in task.depends_on)),
        complexity=task.complexity,
        estimate_minutes=task.minutes,
        requirements=(*own, *unknown) if own else named,
        module=next((module_of(path) for path in task.files if path.endswith(".py")), ""),
        source_paths=task.files,
    )


def _inner(scope: CycleScope, story: StoryDraft) -> tuple[str, ...]:
    """A cycle that comes before anyway need not be named, and does no harm."""
    return tuple(name for name in story.depends_on if name not in before(scope.cycles, scope.cycle))


def before(cycles: tuple[PlannedCycle, ...], cycle: PlannedCycle) -> frozenset[str]:
    """All cycles that this one waits for, directly or not."""
    needs = {each.id: each.depends_on for each in cycles}
    found: set[str] = set()
    waiting = list(cycle.depends_on)
    while waiting:
        name = waiting.pop()
        if name not in found and name in needs:
            found.add(name)
            waiting += needs[name]
    return frozenset(found)


# --- sizes, places, coverage ------------------------------------------------------------------------------------------


def _sizes(scope: CycleScope, draft: TasksDraft, stories: tuple[StoryDraft, ...]) -> Iterator[PlanProblem]:
    for task, story in zip(draft.tasks, stories, strict=True):
        yield from _too_large(task, len(acceptance_of(scope.prd, story, stories)))


def _too_large(task: TaskDraft, criteria: int) -> Iterator[PlanProblem]:
    measured: Mapping[str, bool] = {
        f"{task.tests} tests, at most {MOST_TESTS}": task.tests > MOST_TESTS,
        f"{task.lines} lines, less than {FEWER_LINES}": task.lines >= FEWER_LINES,
        f"complexity {task.complexity}, at most {MOST_COMPLEXITY}": task.complexity > MOST_COMPLEXITY,
        f"{criteria} of the PRD's acceptance criteria, at most {LIMITS.criteria}": criteria > LIMITS.criteria,
    }
    over = [words for words, too_much in measured.items() if too_much]
    if over:
        yield PlanProblem("PLN201", f"too large ({'; '.join(over)}): make several stories of it", task.key.strip())


def _misplaced(scope: CycleScope, draft: TasksDraft) -> Iterator[PlanProblem]:
    for task in draft.tasks:
        named = [scope.known[key_of(name)] for name in task.requirements if key_of(name) in scope.known]
        if scope.cycle.requirements and not any(name in scope.own for name in named):
            foreign = f"{', '.join(named)} belongs to another cycle" if named else "it names no requirement"
            yield PlanProblem("PLN202", foreign, task.key.strip())
        for path in outside(scope.prd, task.files, scope.there):
            yield PlanProblem("PLN204", f"`{path}` has no place in the PRD's module structure", task.key.strip())


def _not_covered(scope: CycleScope, plan: PlanDraft, draft: TasksDraft) -> Iterator[PlanProblem]:
    left = {key_of(each.requirement) for each in draft.left_out}
    for each in draft.left_out:
        if key_of(each.requirement) not in scope.known:
            yield PlanProblem("PLN107", f"`{each.requirement}`, left out, is not a requirement of {scope.prd.path}")
    missing = {requirement.id for requirement in uncovered(scope.prd, plan)}
    for requirement in scope.to_cover:
        if requirement.id in missing and key_of(requirement.id) not in left and requirement.kind != "non_functional":
            said = f"no story fulfils {requirement.id} ({first_words(requirement)})"
            yield PlanProblem("PLN203", f"{said}, and it is not said to be left out")
