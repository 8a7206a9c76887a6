"""The parts in which a PRD is planned: at most 40 requirements each, in the order of its cycles or sections.

Each part is planned like a change of the PRD: the stories of earlier parts stay, and the answer adds to them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from prd2pr.domain.dependency_graph import find_cycle, sort_by_dependencies
from prd2pr.domain.records import Backlog, ClassifiedRequirement, PlannedCycle, Prd, Requirement, Story
from prd2pr.domain.wording import clean_line, clip, count
from prd2pr.planning.given_when_then import compute_word_similarity, extract_words
from prd2pr.planning.plan import EpicDraft, PlanDraft, PlanLimits, StoryDraft
from prd2pr.planning.plan_diff import PlanChange
from prd2pr.prd.diff import RequirementChange
from prd2pr.prd.requirement_ids import find_mentioned_ids, get_requirement_key

# As many as one answer can plan with care; acceptance criteria are not counted.
MAX_REQUIREMENTS_PER_CALL = 40
_HEADING = re.compile(r"#{1,6}\s")


@dataclass(frozen=True)
class PlanPart:
    number: int
    of: int
    prd: Prd  # with the requirements of this part and of earlier ones
    requirements: tuple[Requirement, ...]  # the requirements to plan now
    later: tuple[str, ...] = ()  # the ids that later parts plan
    planned: Backlog = field(default_factory=Backlog)  # the decisions of earlier parts

    @property
    def name(self) -> str:
        return f"part-{self.number}"

    @property
    def about(self) -> str:
        return f"part {self.number} of {self.of}"

    @cached_property
    def keys(self) -> frozenset[str]:
        return frozenset(get_requirement_key(each.id) for each in self.requirements)

    @property
    def ids(self) -> str:
        """The requirement ids as text, such as "FR-1 (AC-1, AC-2), FR-1.1, AC-7"."""
        names = {requirement.id for requirement in self.requirements}
        accepting = [each for each in self.requirements if each.kind == "acceptance" and each.parent in names]
        listed = []
        for each in self.requirements:
            own = ", ".join(other.id for other in accepting if other.parent == each.id)
            if each not in accepting:
                listed.append(f"{each.id} ({own})" if own else each.id)
        return ", ".join(listed)

    @property
    def change(self) -> PlanChange:
        earlier = tuple(each for each in self.prd.requirements if get_requirement_key(each.id) not in self.keys)
        return PlanChange(RequirementChange(same=earlier, added=self.requirements), kept=self.planned.stories)

    def follow(self, planned: Backlog) -> PlanPart:
        """Return this part with the decisions that were made for the earlier parts."""
        return replace(self, planned=planned)

    @cached_property
    def known_contradictions(self) -> Mapping[str, ClassifiedRequirement]:
        """The requirements of this part that contradict requirements of earlier parts, by key."""
        found: dict[str, ClassifiedRequirement] = {}
        for each in self.planned.classified:
            named = {get_requirement_key(name) for name in find_mentioned_ids(each.note)}
            note = each.note if get_requirement_key(each.id) in named else f"{each.id}: {each.note}"
            if each.status == "contradictory":
                found |= {key: each.model_copy(update={"id": key, "note": note}) for key in named & self.keys}
        return found

    def tidy(self, answer: PlanDraft) -> PlanDraft:
        """Return the answer without decisions of other parts. Contradictions with earlier parts are added."""
        earlier = {get_requirement_key(each.id) for each in self.prd.requirements} - self.keys
        decided = {get_requirement_key(each.id) for each in self.planned.classified}

        def is_decided_here(each: ClassifiedRequirement) -> bool:
            key = get_requirement_key(each.id)
            if key in self.known_contradictions or key in self.later_keys:
                return False
            return key not in earlier or (each.status == "contradictory" and key not in decided)

        return answer.model_copy(
            update={
                "classified": (*filter(is_decided_here, answer.classified), *self.known_contradictions.values()),
                "stories": tuple(map(self._drop_later_ids, answer.stories)),
            }
        )

    @cached_property
    def later_keys(self) -> frozenset[str]:
        return frozenset(map(get_requirement_key, self.later))

    def _drop_later_ids(self, story: StoryDraft) -> StoryDraft:
        """Remove ids that a later part plans from a story that also names ids of this part."""

        def keep(names: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(name for name in names if get_requirement_key(name) not in self.later_keys)

        if not keep(story.requirements):
            return story
        criteria = tuple(each.model_copy(update={"requirements": keep(each.requirements)}) for each in story.criteria)
        return story.model_copy(update={"requirements": keep(story.requirements), "criteria": criteria})


def split_into_parts(prd: Prd, limit: int = MAX_REQUIREMENTS_PER_CALL) -> tuple[PlanPart, ...]:
    """Split the requirements, keeping cycles, or else sections, together where possible. A small PRD is one part."""
    chunks = list(_pack(_list_groups(prd), limit)) if _count_requirements(prd.requirements) > limit else []
    if len(chunks) < 2:
        return (PlanPart(1, 1, prd, prd.requirements),)
    parts = []
    for number, chunk in enumerate(chunks, start=1):
        own = {each.id for each in chunk}
        so_far = own | {each.id for earlier in chunks[: number - 1] for each in earlier}
        parts.append(
            PlanPart(
                number,
                len(chunks),
                prd.model_copy(update={"requirements": tuple(each for each in prd.requirements if each.id in so_far)}),
                tuple(each for each in prd.requirements if each.id in own),
                tuple(each.id for each in prd.requirements if each.id not in so_far),
            )
        )
    return tuple(parts)


def describe_planning_calls(prd: Prd) -> str:
    calls = len(split_into_parts(prd))
    how = "one call" if calls == 1 else count(calls, "call")
    return f"{how}: {count(_count_requirements(prd.requirements), 'requirement')}"


def _count_requirements(requirements: Sequence[Requirement]) -> int:
    return sum(requirement.kind != "acceptance" for requirement in requirements)


RequirementTree = tuple[Requirement, ...]  # a requirement with its parts and acceptance criteria, which stay together


def _list_groups(prd: Prd) -> list[list[RequirementTree]]:
    """Return the units by cycle, or by section if the PRD lists no cycles, in working order."""
    cycles = sort_cycles(prd.cycles)
    place = {name: n for n, cycle in reversed(list(enumerate(cycles))) for name in cycle.requirements}
    headings = [n for n, line in enumerate(prd.text.splitlines(), start=1) if _HEADING.match(line)]
    groups: dict[int, list[RequirementTree]] = {}
    for unit in _list_units(prd):
        at = next((place[each.id] for each in unit if each.id in place), len(cycles))
        groups.setdefault(at if cycles else bisect_right(headings, unit[0].line), []).append(unit)
    return [groups[key] for key in sorted(groups)] if cycles else list(groups.values())


def _list_units(prd: Prd) -> list[RequirementTree]:
    """Group the requirements by topmost parent. A criterion without a parent joins the requirement that it tests."""
    by_id = {each.id: each for each in prd.requirements}

    def find_root(each: Requirement) -> str:
        seen = {each.id}
        while each.parent in by_id and each.parent not in seen:
            each = by_id[each.parent]
            seen.add(each.id)
        return each.id

    units: dict[str, list[Requirement]] = {}
    orphans = []
    for each in prd.requirements:
        root = find_root(each)
        if root == each.id and each.kind == "acceptance":
            orphans.append(each)
        else:
            units.setdefault(root, []).append(each)
    for each in orphans:
        units.setdefault(_find_exercised(each, units) or each.id, []).append(each)
    return [tuple(unit) for unit in units.values()]


def _find_exercised(criterion: Requirement, units: Mapping[str, Sequence[Requirement]]) -> str:
    """Return the root requirement that the criterion mentions, or else the one with the most similar words."""
    mentioned = {get_requirement_key(name) for name in find_mentioned_ids(criterion.text)}
    words = extract_words(criterion.text)
    similar = {
        root: max(
            (get_requirement_key(each.id) in mentioned, compute_word_similarity(words, extract_words(each.text)))
            for each in unit
        )
        for root, unit in units.items()
    }
    return max(similar, key=lambda root: similar[root], default="")


def _pack(groups: Sequence[Sequence[RequirementTree]], limit: int) -> Iterator[list[Requirement]]:
    """Join neighboring groups up to the limit. A larger group is divided evenly at requirement boundaries."""
    chunk: list[Requirement] = []
    for group in groups:
        for piece in _divide(group, limit):
            if chunk and _count_requirements(chunk) + _count_requirements(piece) > limit:
                yield chunk
                chunk = []
            chunk = [*chunk, *piece]
    if chunk:
        yield chunk


def _divide(group: Sequence[RequirementTree], limit: int) -> Iterator[list[Requirement]]:
    size = sum(map(_count_requirements, group))
    pieces = max(1, -(-size // limit))
    most = -(-size // pieces)
    piece: list[Requirement] = []
    for unit in group:
        if piece and _count_requirements(piece) + _count_requirements(unit) > most:
            yield piece
            piece = []
        piece = [*piece, *unit]
    yield piece


# --- the PRD's own cycles ---------------------------------------------------------------------------------------------


def sort_cycles(cycles: Sequence[PlannedCycle]) -> tuple[PlannedCycle, ...]:
    by_id = {cycle.id: cycle for cycle in cycles}
    rank = {cycle.id: (n,) for n, cycle in enumerate(cycles)}
    return tuple(by_id[name] for name in sort_by_dependencies({each.id: each.depends_on for each in cycles}, rank))


def follow_cycles(prd: Prd, draft: PlanDraft, earlier: Sequence[Story] = ()) -> PlanDraft:
    """Make the first stories of a cycle depend on the cycles that precede it in the PRD.

    `earlier` are the stories of earlier parts. Cycles become epics if the answer has none.
    """
    place = {name: cycle.id for cycle in reversed(prd.cycles) for name in cycle.requirements}

    def find_cycle_of(names: Sequence[str]) -> str:
        return next((place[name] for name in names if name in place), "")

    cycle_of = {each.id: find_cycle_of(each.requirements) for each in earlier}
    cycle_of |= {each.key: find_cycle_of(each.requirements) for each in draft.stories}
    inner = {name for each in earlier for name in each.depends_on}
    inner |= {name for each in draft.stories for name in each.depends_on}
    needs = {cycle.id: cycle.depends_on for cycle in prd.cycles}

    def list_last_stories(cycle: str) -> Iterator[str]:
        for name in needs.get(cycle, ()):
            own = [key for key, other in cycle_of.items() if other == name]
            yield from [key for key in own if key not in inner] or own if own else list_last_stories(name)

    stories = tuple(
        story
        if story.depends_on or story.verify_only
        else story.model_copy(update={"depends_on": tuple(dict.fromkeys(list_last_stories(cycle_of[story.key])))})
        for story in draft.stories
    )
    if find_cycle({story.key: story.depends_on for story in stories}):
        stories = draft.stories
    used = {cycle_of[story.key] for story in stories}
    if draft.epics or "" in used or len(used) < 2:
        return draft.model_copy(update={"stories": stories})
    limit, known = PlanLimits().title_length, {each.id for each in prd.requirements}
    return draft.model_copy(
        update={
            "stories": tuple(each.model_copy(update={"epic": cycle_of[each.key]}) for each in stories),
            "epics": tuple(
                EpicDraft(
                    key=each.id,
                    title=clip(clean_line(each.title), limit) or each.id,
                    requirements=tuple(name for name in each.requirements if name in known),
                )
                for each in prd.cycles
                if each.id in used
            ),
        }
    )
