"""Pass 1: the requirements in groups, in working order. From the PRD where it lists them, else from a model's answer.

Whoever made the groups, code completes them: each requirement gets a home, or is said to hold for every story.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from prd2pr.core.graph import find_cycle, working_order
from prd2pr.core.passes.drafts import MOST_CYCLES, CyclesDraft, OpenQuestion
from prd2pr.core.plan_problems import PlanProblem
from prd2pr.core.records import PlannedCycle, Prd, Requirement
from prd2pr.core.requirement_ids import by_key, key_of
from prd2pr.core.wording import clip, plain

# So few need no grouping: one call of the next pass sees them all.
ONE_CYCLE_REQUIREMENTS = 6
REST = "cycle-rest"
TITLE = 100


@dataclass(frozen=True)
class Grouping:
    cycles: tuple[PlannedCycle, ...]  # in working order
    questions: tuple[OpenQuestion, ...] = ()
    assumptions: tuple[str, ...] = ()


def given_cycles(prd: Prd) -> Grouping | None:
    """Without asking anybody: those that the PRD lists, or one for a small PRD. None: a model has to group them."""
    if prd.cycles:
        return _completed(prd, prd.cycles)
    if sum(requirement.kind != "acceptance" for requirement in prd.requirements) <= ONE_CYCLE_REQUIREMENTS:
        names = tuple(requirement.id for requirement in prd.requirements if _needs_a_home(prd, requirement))
        return _completed(prd, (PlannedCycle(id="cycle-1", title=prd.title, requirements=names),))
    return None


def check_cycles(prd: Prd, draft: CyclesDraft) -> tuple[PlanProblem, ...]:
    """What code cannot put right by itself."""
    return tuple(_problems(prd, draft))


def _problems(prd: Prd, draft: CyclesDraft) -> Iterator[PlanProblem]:
    known = by_key(requirement.id for requirement in prd.requirements)
    keys = [cycle.key.strip() for cycle in draft.cycles]
    if not keys:
        yield PlanProblem("PLN101", "the answer has no cycles")
    for key in dict.fromkeys(keys):
        if not key or keys.count(key) > 1:
            yield PlanProblem("PLN102", f"the key `{key}` stands for more than one cycle" if key else "no key")
    for cycle in draft.cycles:
        if not plain(cycle.title):
            yield PlanProblem("PLN113", f"cycle `{cycle.key}` has no title")
        for name in cycle.depends_on:
            if name.strip() not in keys:
                yield PlanProblem("PLN104", f"cycle `{cycle.key}` depends on `{name}`, which is not in the answer")
        for name in cycle.requirements:
            if key_of(name) not in known:
                yield PlanProblem("PLN107", f"cycle `{cycle.key}`: `{name}` is not a requirement of {prd.path}")
    circle = find_cycle({cycle.key.strip(): [name.strip() for name in cycle.depends_on] for cycle in draft.cycles})
    if circle:
        yield PlanProblem("PLN105", " → ".join(circle))


def drafted_cycles(prd: Prd, draft: CyclesDraft) -> Grouping:
    """Of an answer without problems: ids by code, each requirement in the first group that names it."""
    known = by_key(requirement.id for requirement in prd.requirements)
    ids = {cycle.key.strip(): f"cycle-{n}" for n, cycle in enumerate(draft.cycles, start=1)}
    placed: set[str] = set()
    cycles = []
    for cycle in draft.cycles:
        named = dict.fromkeys(known[key_of(name)] for name in cycle.requirements)
        own = tuple(name for name in named if name not in placed)
        placed.update(own)
        needs = tuple(dict.fromkeys(ids[name.strip()] for name in cycle.depends_on))
        cycles.append(PlannedCycle(id=ids[cycle.key.strip()], title=cycle.title, requirements=own, depends_on=needs))
    made = _completed(prd, _without_empty(tuple(cycles)))
    return Grouping(made.cycles, draft.questions, (*made.assumptions, *draft.assumptions))


def homes(prd: Prd, cycles: tuple[PlannedCycle, ...]) -> Mapping[str, tuple[str, ...]]:
    """Requirement → the cycles that build it: those that name it, else those that name what it is a part of."""
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


def _completed(prd: Prd, cycles: tuple[PlannedCycle, ...]) -> Grouping:
    found = homes(prd, cycles)
    rest = tuple(
        requirement.id
        for requirement in prd.requirements
        if not found[requirement.id] and _needs_a_home(prd, requirement) and not _by_its_parts(prd, requirement, found)
    )
    said: tuple[str, ...] = ()
    if rest:
        cycles = (*cycles, PlannedCycle(id=REST, title="What no other cycle builds", requirements=rest))
        said = (f"{', '.join(rest)}: in no cycle of the plan, so planned apart from the others, last.",)
    ordered = _in_order(tuple(cycle.model_copy(update={"title": _title(cycle)}) for cycle in cycles))
    return Grouping(joined(ordered), assumptions=said)


def _needs_a_home(prd: Prd, requirement: Requirement) -> bool:
    """Acceptance criteria come with their requirement; what only limits how things are done holds for every story."""
    if requirement.kind == "acceptance":
        return not requirement.parent
    if requirement.kind == "non_functional":
        return any(other.parent == requirement.id and other.kind == "acceptance" for other in prd.requirements)
    return True


def _by_its_parts(prd: Prd, requirement: Requirement, found: Mapping[str, tuple[str, ...]]) -> bool:
    parts = [other for other in prd.requirements if other.parent == requirement.id and other.kind != "acceptance"]
    return bool(parts) and all(found[part.id] for part in parts)


def _without_empty(cycles: tuple[PlannedCycle, ...]) -> tuple[PlannedCycle, ...]:
    """Who depended on a group without requirements depends on what that one depended on."""
    by_id = {cycle.id: cycle for cycle in cycles}

    def needed(names: tuple[str, ...]) -> Iterator[str]:
        for name in names:
            yield from (name,) if by_id[name].requirements else needed(by_id[name].depends_on)

    return tuple(
        cycle.model_copy(update={"depends_on": tuple(dict.fromkeys(needed(cycle.depends_on)))})
        for cycle in cycles
        if cycle.requirements
    )


def _in_order(cycles: tuple[PlannedCycle, ...]) -> tuple[PlannedCycle, ...]:
    by_id = {cycle.id: cycle for cycle in cycles}
    rank = {cycle.id: (n,) for n, cycle in enumerate(cycles)}
    return tuple(by_id[name] for name in working_order({each.id: each.depends_on for each in cycles}, rank))


def joined(cycles: tuple[PlannedCycle, ...], most: int = MOST_CYCLES) -> tuple[PlannedCycle, ...]:
    """No more than `most`: neighbours in working order become one. So nothing can come to wait for itself."""
    if len(cycles) <= most:
        return cycles
    cuts = [len(cycles) * n // most for n in range(most + 1)]
    groups = [cycles[first:end] for first, end in pairwise(cuts)]
    now = {cycle.id: group[0].id for group in groups for cycle in group}
    return tuple(_joined(group, now) for group in groups)


def _joined(group: tuple[PlannedCycle, ...], now: Mapping[str, str]) -> PlannedCycle:
    needs = dict.fromkeys(now[name] for cycle in group for name in cycle.depends_on)
    return PlannedCycle(
        id=group[0].id,
        title=clip("; ".join(cycle.title for cycle in group), TITLE),
        phase=group[0].phase,
        requirements=tuple(dict.fromkeys(name for cycle in group for name in cycle.requirements)),
        depends_on=tuple(name for name in needs if name != group[0].id),
        details=tuple(text for cycle in group for text in (cycle.title, *cycle.details)),
    )


def _title(cycle: PlannedCycle) -> str:
    """It becomes the title of an epic."""
    return clip(plain(cycle.title), TITLE) or cycle.id
