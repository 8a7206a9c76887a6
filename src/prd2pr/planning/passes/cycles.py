"""Pass 1: group requirements into cycles in working order, from the PRD's own list or by a model.

Code completes the groups, so that each requirement belongs to a cycle or applies to every story.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from prd2pr.domain.dependency_graph import find_cycle, sort_by_dependencies
from prd2pr.domain.records import PlannedCycle, Prd, Requirement
from prd2pr.domain.wording import clean_line, clip
from prd2pr.planning.passes.drafts import MAX_CYCLES, CyclesDraft, OpenQuestion
from prd2pr.planning.problems import PlanProblem
from prd2pr.prd.requirement_ids import get_requirement_key, index_by_key

# Up to this number no grouping is needed, since one call of the next pass can handle all requirements.
ONE_CYCLE_REQUIREMENTS = 6
REST_CYCLE = "cycle-rest"
MAX_TITLE = 100


@dataclass(frozen=True)
class Grouping:
    cycles: tuple[PlannedCycle, ...]  # in working order
    questions: tuple[OpenQuestion, ...] = ()
    assumptions: tuple[str, ...] = ()


def derive_cycles(prd: Prd) -> Grouping | None:
    """Return the PRD's own cycles, one cycle for a small PRD, or None if a model must group the requirements."""
    if prd.cycles:
        return _complete_grouping(prd, prd.cycles)
    if sum(requirement.kind != "acceptance" for requirement in prd.requirements) <= ONE_CYCLE_REQUIREMENTS:
        names = tuple(requirement.id for requirement in prd.requirements if _needs_cycle(prd, requirement))
        return _complete_grouping(prd, (PlannedCycle(id="cycle-1", title=prd.title, requirements=names),))
    return None


def check_cycles(prd: Prd, draft: CyclesDraft) -> tuple[PlanProblem, ...]:
    """Return the problems that code cannot fix."""
    return tuple(_find_problems(prd, draft))


def _find_problems(prd: Prd, draft: CyclesDraft) -> Iterator[PlanProblem]:
    known = index_by_key(requirement.id for requirement in prd.requirements)
    keys = [cycle.key.strip() for cycle in draft.cycles]
    if not keys:
        yield PlanProblem("PLN101", "the answer has no cycles")
    for key in dict.fromkeys(keys):
        if not key or keys.count(key) > 1:
            yield PlanProblem("PLN102", f"the key `{key}` is used by more than one cycle" if key else "no key")
    for cycle in draft.cycles:
        if not clean_line(cycle.title):
            yield PlanProblem("PLN113", f"cycle `{cycle.key}` has no title")
        for name in cycle.depends_on:
            if name.strip() not in keys:
                yield PlanProblem("PLN104", f"cycle `{cycle.key}` depends on `{name}`, which is not in the answer")
        for name in cycle.requirements:
            if get_requirement_key(name) not in known:
                yield PlanProblem("PLN107", f"cycle `{cycle.key}`: `{name}` is not a requirement of {prd.path}")
    circle = find_cycle({cycle.key.strip(): [name.strip() for name in cycle.depends_on] for cycle in draft.cycles})
    if circle:
        yield PlanProblem("PLN105", " → ".join(circle))


def build_cycles(prd: Prd, draft: CyclesDraft) -> Grouping:
    """Build the cycles of a valid answer. Each requirement belongs to the first group that names it."""
    known = index_by_key(requirement.id for requirement in prd.requirements)
    ids = {cycle.key.strip(): f"cycle-{n}" for n, cycle in enumerate(draft.cycles, start=1)}
    placed: set[str] = set()
    cycles = []
    for cycle in draft.cycles:
        named = dict.fromkeys(known[get_requirement_key(name)] for name in cycle.requirements)
        own = tuple(name for name in named if name not in placed)
        placed.update(own)
        needs = tuple(dict.fromkeys(ids[name.strip()] for name in cycle.depends_on))
        cycles.append(PlannedCycle(id=ids[cycle.key.strip()], title=cycle.title, requirements=own, depends_on=needs))
    made = _complete_grouping(prd, _drop_empty_cycles(tuple(cycles)))
    return Grouping(made.cycles, draft.questions, (*made.assumptions, *draft.assumptions))


def map_requirements_to_cycles(prd: Prd, cycles: tuple[PlannedCycle, ...]) -> Mapping[str, tuple[str, ...]]:
    """Map each requirement to the cycles that name it, or else to those that name its parent."""
    listed: dict[str, tuple[str, ...]] = {}
    for cycle in cycles:
        for name in cycle.requirements:
            listed[name] = (*listed.get(name, ()), cycle.id)
    parents = {requirement.id: requirement.parent for requirement in prd.requirements}

    def home(name: str) -> tuple[str, ...]:
        while name and name not in listed:
            name = parents.get(name, "")
        return listed.get(name, ())

    return {name: home(name) for name in parents}


def _complete_grouping(prd: Prd, cycles: tuple[PlannedCycle, ...]) -> Grouping:
    found = map_requirements_to_cycles(prd, cycles)
    rest = tuple(
        requirement.id
        for requirement in prd.requirements
        if not found[requirement.id]
        and _needs_cycle(prd, requirement)
        and not _is_covered_by_parts(prd, requirement, found)
    )
    assumptions: tuple[str, ...] = ()
    if rest:
        cycles = (*cycles, PlannedCycle(id=REST_CYCLE, title="Requirements of no other cycle", requirements=rest))
        assumptions = (f"{', '.join(rest)}: in no cycle of the plan, so planned last, as a separate cycle.",)
    ordered = _sort_cycles(tuple(cycle.model_copy(update={"title": _epic_title(cycle)}) for cycle in cycles))
    return Grouping(merge_cycles(ordered), assumptions=assumptions)


def _needs_cycle(prd: Prd, requirement: Requirement) -> bool:
    """Return whether a requirement needs a cycle.

    Acceptance criteria belong to their requirement's cycle, and pure constraints apply to all stories.
    """
    if requirement.kind == "acceptance":
        return not requirement.parent
    if requirement.kind == "non_functional":
        return any(other.parent == requirement.id and other.kind == "acceptance" for other in prd.requirements)
    return True


def _is_covered_by_parts(prd: Prd, requirement: Requirement, found: Mapping[str, tuple[str, ...]]) -> bool:
    parts = [other for other in prd.requirements if other.parent == requirement.id and other.kind != "acceptance"]
    return bool(parts) and all(found[part.id] for part in parts)


def _drop_empty_cycles(cycles: tuple[PlannedCycle, ...]) -> tuple[PlannedCycle, ...]:
    """Drop cycles without requirements, passing their dependencies on to the cycles that depend on them."""
    by_id = {cycle.id: cycle for cycle in cycles}

    def needed(names: tuple[str, ...]) -> Iterator[str]:
        for name in names:
            yield from (name,) if by_id[name].requirements else needed(by_id[name].depends_on)

    return tuple(
        cycle.model_copy(update={"depends_on": tuple(dict.fromkeys(needed(cycle.depends_on)))})
        for cycle in cycles
        if cycle.requirements
    )


def _sort_cycles(cycles: tuple[PlannedCycle, ...]) -> tuple[PlannedCycle, ...]:
    by_id = {cycle.id: cycle for cycle in cycles}
    rank = {cycle.id: (n,) for n, cycle in enumerate(cycles)}
    return tuple(by_id[name] for name in sort_by_dependencies({each.id: each.depends_on for each in cycles}, rank))


def merge_cycles(cycles: tuple[PlannedCycle, ...], most: int = MAX_CYCLES) -> tuple[PlannedCycle, ...]:
    """Merge neighboring cycles until at most `most` are left. No circular dependency can arise."""
    if len(cycles) <= most:
        return cycles
    cuts = [len(cycles) * n // most for n in range(most + 1)]
    groups = [cycles[first:end] for first, end in pairwise(cuts)]
    now = {cycle.id: group[0].id for group in groups for cycle in group}
    return tuple(_merge_group(group, now) for group in groups)


def _merge_group(group: tuple[PlannedCycle, ...], now: Mapping[str, str]) -> PlannedCycle:
    needs = dict.fromkeys(now[name] for cycle in group for name in cycle.depends_on)
    return PlannedCycle(
        id=group[0].id,
        title=clip("; ".join(cycle.title for cycle in group), MAX_TITLE),
        phase=group[0].phase,
        requirements=tuple(dict.fromkeys(name for cycle in group for name in cycle.requirements)),
        depends_on=tuple(name for name in needs if name != group[0].id),
        details=tuple(text for cycle in group for text in (cycle.title, *cycle.details)),
    )


def _epic_title(cycle: PlannedCycle) -> str:
    return clip(clean_line(cycle.title), MAX_TITLE) or cycle.id
