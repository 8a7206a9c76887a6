"""Pass 2: the stories of each cycle, the checks of an answer, and its conversion to story drafts."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from prd2pr.domain.records import PlannedCycle, Prd, Requirement
from prd2pr.domain.wording import clean_line
from prd2pr.planning.passes.criteria import list_acceptance_criteria
from prd2pr.planning.passes.cycles import map_requirements_to_cycles
from prd2pr.planning.passes.drafts import TaskDraft, TasksDraft
from prd2pr.planning.passes.module_structure import find_paths_outside_structure, path_to_module
from prd2pr.planning.plan import (
    PlanDraft,
    PlanLimits,
    StoryDraft,
    check_plan,
    find_uncovered_requirements,
    summarize_requirement,
)
from prd2pr.planning.problems import PlanProblem
from prd2pr.prd.requirement_ids import get_requirement_key, index_by_key

LIMITS = PlanLimits()
MAX_TESTS = 20
LINE_LIMIT = 100
MAX_COMPLEXITY = 6
SPLIT_REMEDY = ": split it into several stories"  # for the model; left out of the question to a person

# These rules need the complete plan with criteria. Coverage of the cycle is checked separately.
_CHECKED_LATER = ("PLN101", "PLN106", "PLN108", "PLN109")
# Problems that become a question to a person if further attempts do not fix them.
SOFT_CODES = ("PLN110", "PLN201", "PLN202", "PLN203", "PLN204")


@dataclass(frozen=True)
class CycleTasks:
    """A cycle with its accepted answer, which is empty if no call was left."""

    cycle: PlannedCycle
    draft: TasksDraft
    open_problems: tuple[PlanProblem, ...] = ()  # soft problems that no attempt fixed


@dataclass(frozen=True)
class CycleScope:
    """The context in which an answer about one cycle is checked."""

    prd: Prd
    cycles: tuple[PlannedCycle, ...]
    cycle: PlannedCycle
    existing_paths: Collection[str] = ()  # paths that exist in the repository

    @cached_property
    def own(self) -> frozenset[str]:
        """The ids that the cycle's stories may name, including those that apply to all stories."""
        found = map_requirements_to_cycles(self.prd, self.cycles)
        return frozenset(name for name, cycles in found.items() if not cycles or self.cycle.id in cycles)

    @cached_property
    def to_cover(self) -> tuple[Requirement, ...]:
        found = map_requirements_to_cycles(self.prd, self.cycles)
        return tuple(each for each in self.prd.requirements if self.cycle.id in found[each.id])

    @cached_property
    def known(self) -> Mapping[str, str]:
        return index_by_key(requirement.id for requirement in self.prd.requirements)


def check_tasks(scope: CycleScope, draft: TasksDraft) -> tuple[PlanProblem, ...]:
    """Check the answer about one cycle. The problems use the answer's own keys."""
    stories = tuple(build_story_draft(scope, task) for task in draft.tasks)
    plan = PlanDraft(
        stories=tuple(each.model_copy(update={"depends_on": _dependencies_in_cycle(scope, each)}) for each in stories)
    )
    problems = [
        *(problem for problem in check_plan(scope.prd, plan) if problem.code not in _CHECKED_LATER),
        *_check_sizes(scope, draft, stories),
        *_check_places(scope, draft),
        *_check_coverage(scope, plan, draft),
    ]
    return tuple(sorted(problems, key=lambda problem: problem.code))


def is_soft_tasks_problem(problem: PlanProblem) -> bool:
    return problem.code in SOFT_CODES


def build_story_draft(scope: CycleScope, task: TaskDraft) -> StoryDraft:
    """Convert a task to a story draft.

    Requirements of other cycles are dropped if the task also names some of its own cycle.
    """
    named = tuple(dict.fromkeys(scope.known.get(get_requirement_key(name), name) for name in task.requirements))
    own = tuple(name for name in named if name in scope.own)
    unknown = tuple(name for name in named if get_requirement_key(name) not in scope.known)
    return StoryDraft(
        key=task.key.strip(),
        title=clean_line(task.title),
        description=task.description.strip(),
        kind=task.kind,
        depends_on=tuple(dict.fromkeys(name.strip() for name in task.depends_on)),
        complexity=task.complexity,
        estimate_minutes=task.minutes,
        requirements=(*own, *unknown) if own else named,
        module=next((path_to_module(path) for path in task.files if path.endswith(".py")), ""),
        source_paths=task.files,
    )


def _dependencies_in_cycle(scope: CycleScope, story: StoryDraft) -> tuple[str, ...]:
    """Return the dependencies within the cycle. Earlier cycles are done before it in any case."""
    return tuple(name for name in story.depends_on if name not in list_earlier_cycles(scope.cycles, scope.cycle))


def list_earlier_cycles(cycles: tuple[PlannedCycle, ...], cycle: PlannedCycle) -> frozenset[str]:
    """Return all cycles that this one depends on, directly or indirectly."""
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


def _check_sizes(scope: CycleScope, draft: TasksDraft, stories: tuple[StoryDraft, ...]) -> Iterator[PlanProblem]:
    for task, story in zip(draft.tasks, stories, strict=True):
        yield from _check_size(task, len(list_acceptance_criteria(scope.prd, story, stories)))


def _check_size(task: TaskDraft, criteria: int) -> Iterator[PlanProblem]:
    measured: Mapping[str, bool] = {
        f"{task.tests} tests, at most {MAX_TESTS}": task.tests > MAX_TESTS,
        f"{task.lines} lines, fewer than {LINE_LIMIT}": task.lines >= LINE_LIMIT,
        f"complexity {task.complexity}, at most {MAX_COMPLEXITY}": task.complexity > MAX_COMPLEXITY,
        f"{criteria} of the PRD's acceptance criteria, at most {LIMITS.criteria}": criteria > LIMITS.criteria,
    }
    over = [text for text, is_exceeded in measured.items() if is_exceeded]
    if over:
        yield PlanProblem("PLN201", f"too large ({'; '.join(over)}){SPLIT_REMEDY}", task.key.strip())


def _check_places(scope: CycleScope, draft: TasksDraft) -> Iterator[PlanProblem]:
    for task in draft.tasks:
        named = [
            scope.known[get_requirement_key(name)]
            for name in task.requirements
            if get_requirement_key(name) in scope.known
        ]
        if scope.cycle.requirements and not any(name in scope.own for name in named):
            foreign = f"{', '.join(named)} belongs to another cycle" if named else "it names no requirement"
            yield PlanProblem("PLN202", foreign, task.key.strip())
        for path in find_paths_outside_structure(scope.prd, task.files, scope.existing_paths):
            yield PlanProblem("PLN204", f"`{path}` has no place in the PRD's module structure", task.key.strip())


def _check_coverage(scope: CycleScope, plan: PlanDraft, draft: TasksDraft) -> Iterator[PlanProblem]:
    left = {get_requirement_key(each.requirement) for each in draft.left_out}
    for each in draft.left_out:
        if get_requirement_key(each.requirement) not in scope.known:
            yield PlanProblem("PLN107", f"`{each.requirement}`, left out, is not a requirement of {scope.prd.path}")
    missing = {requirement.id for requirement in find_uncovered_requirements(scope.prd, plan)}
    for requirement in scope.to_cover:
        if (
            requirement.id in missing
            and get_requirement_key(requirement.id) not in left
            and requirement.kind != "non_functional"
        ):
            missing_text = f"no story fulfills {requirement.id} ({summarize_requirement(requirement)})"
            yield PlanProblem("PLN203", f"{missing_text}, and it is not listed in `left_out`")
