"""Requirements for which the plan needs no code: already met, contradictory, not testable, or not a requirement.

The planner classifies them, and fixed rules derive the result: a story that verifies met requirements, and questions
about requirements that contradict each other or cannot be tested. Text that is not a requirement is ignored.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from prd2pr.domain.records import UNTESTED_KINDS, ClassifiedRequirement, Prd, Requirement
from prd2pr.domain.wording import clean_line, clip
from prd2pr.planning.plan import (
    CriterionDraft,
    PlanDraft,
    PlanLimits,
    StoryDraft,
    list_claimed_requirements,
)
from prd2pr.prd.requirement_ids import find_mentioned_ids, get_requirement_key, index_by_key

MET_KEY = "already-met"
MET_TITLE = "Verify what the repository already does"
MET_DESCRIPTION = "The code for this exists. Tests are written for it; no code is expected."
MAX_CRITERION_LENGTH = 400
MAX_CRITERIA = PlanLimits().criteria


def quote_requirement(requirement: Requirement) -> str:
    """Return a criterion that quotes a requirement in the PRD's own words."""
    return clip(clean_line(requirement.text), MAX_CRITERION_LENGTH)


def complete_criteria(prd: Prd, draft: PlanDraft) -> PlanDraft:
    """Add a criterion in the PRD's words for each requirement that a story names but none of its criteria covers."""
    return draft.model_copy(update={"stories": tuple(_add_criteria(prd, draft, story) for story in draft.stories)})


def _add_criteria(prd: Prd, draft: PlanDraft, story: StoryDraft) -> StoryDraft:
    given = {get_requirement_key(name) for each in story.criteria for name in each.requirements}
    if story.kind in UNTESTED_KINDS or story.verify_only or (story.criteria and not given):
        return story
    own = {get_requirement_key(name) for name in story.requirements}
    elsewhere = {
        get_requirement_key(name)
        for each in draft.stories
        if each is not story
        for name in list_claimed_requirements(each)
    } | {get_requirement_key(each.id) for each in draft.classified}
    added = []
    for requirement in prd.requirements:
        key, parent = get_requirement_key(requirement.id), get_requirement_key(requirement.parent)
        parts = [each for each in prd.requirements if each.parent == requirement.id]
        replaced = {get_requirement_key(each.id) for each in parts if each.kind != "acceptance"} & (own | given)
        is_part = requirement.kind == "acceptance" and parent in own
        is_optional = requirement.kind != "functional" and bool(given)
        if key not in own - given or parent in given or replaced or is_part or is_optional:
            continue
        accepting = (
            each.id
            for each in parts
            if each.kind == "acceptance" and get_requirement_key(each.id) not in elsewhere | given
        )
        added.append(CriterionDraft(text=quote_requirement(requirement), requirements=(requirement.id, *accepting)))
    return story.model_copy(
        update={"criteria": (*story.criteria, *_join_surplus(added, MAX_CRITERIA - len(story.criteria)))}
    )


def _join_surplus(criteria: Sequence[CriterionDraft], room: int) -> Iterator[CriterionDraft]:
    """Yield the criteria. If there are too many for a story, the last ones are joined to one."""
    first = max(0, room - 1) if len(criteria) > room else len(criteria)
    yield from criteria[:first]
    if rest := criteria[first:]:
        text = clip(" ".join(each.text for each in rest), MAX_CRITERION_LENGTH)
        yield CriterionDraft(text=text, requirements=tuple(name for each in rest for name in each.requirements))


def apply_classification(prd: Prd, draft: PlanDraft, decided: Collection[str] = ()) -> PlanDraft:
    """Add what the classification requires: a story that verifies met requirements, questions and assumptions.

    A requirement that a story claims is not treated as classified, unless it contradicts another.
    """
    draft = complete_criteria(prd, draft)
    scope = _Scope(prd, draft)
    verified = scope.make_met_story()
    general = [each for each in scope.unbuilt if scope.kind(each) == "non_functional"]
    open_ones = [each for each in scope.unbuilt if each not in general]
    return draft.model_copy(
        update={
            "classified": scope.classified,
            "stories": (*((verified,) if verified else ()), *draft.stories),
            "questions": tuple(
                dict.fromkeys((*build_class_questions(prd, scope.classified, decided), *draft.questions))
            ),
            "assumptions": (
                *draft.assumptions,
                *(f"{each.id}: no test can show it. {clean_line(each.note)}" for each in general),
            ),
            "not_covered": tuple(dict.fromkeys((*draft.not_covered, *(scope.spell(each.id) for each in open_ones)))),
        }
    )


def build_class_questions(
    prd: Prd, classified: Iterable[ClassifiedRequirement], decided: Collection[str] = ()
) -> tuple[str, ...]:
    """Ask about each contradiction once, and about each requirement that cannot be tested, unless it is decided.

    The texts follow from the classification alone, so that a question disappears together with it.
    """
    general = {get_requirement_key(each.id) for each in prd.requirements if each.kind == "non_functional"}
    listed = tuple(classified)
    contradictory = [each for each in listed if each.status == "contradictory"]
    asked: set[str] = set()
    questions = []
    for each in contradictory:
        key = get_requirement_key(each.id)
        named = {get_requirement_key(name) for name in find_mentioned_ids(each.note)}
        if key in asked:
            continue
        asked |= {key, *(named & {get_requirement_key(other.id) for other in contradictory})}
        prefix = "" if key in named else f"{each.id}: "
        questions.append(f"{prefix}{clean_line(each.note)}")
    settled = general | {get_requirement_key(name) for name in decided}
    questions += [
        f"{each.id} cannot be tested: {clean_line(each.note)}"
        for each in listed
        if each.status == "not_testable" and get_requirement_key(each.id) not in settled
    ]
    return tuple(questions)


# --- what follows from the classification -----------------------------------------------------------------------------


@dataclass(frozen=True)
class _Scope:
    prd: Prd
    draft: PlanDraft

    @cached_property
    def known(self) -> dict[str, str]:
        return index_by_key(requirement.id for requirement in self.prd.requirements)

    @cached_property
    def requirements(self) -> dict[str, Requirement]:
        return {get_requirement_key(requirement.id): requirement for requirement in self.prd.requirements}

    @cached_property
    def claimed(self) -> frozenset[str]:
        return frozenset(
            get_requirement_key(name) for story in self.draft.stories for name in list_claimed_requirements(story)
        )

    @cached_property
    def classified(self) -> tuple[ClassifiedRequirement, ...]:
        """The classified requirements that no story claims, and all contradictory ones, which always need an answer."""
        return tuple(
            each
            for each in self.draft.classified
            if each.status == "contradictory" or get_requirement_key(each.id) not in self.claimed
        )

    @cached_property
    def unbuilt(self) -> tuple[ClassifiedRequirement, ...]:
        return tuple(
            each
            for each in self.classified
            if each.status in ("contradictory", "not_testable")
            and get_requirement_key(each.id) in self.known
            and get_requirement_key(each.id) not in self.claimed
        )

    def spell(self, name: str) -> str:
        return self.known[get_requirement_key(name)]

    def kind(self, each: ClassifiedRequirement) -> str:
        return self.requirements[get_requirement_key(each.id)].kind

    def make_met_story(self) -> StoryDraft | None:
        """Return a story that verifies all requirements that are met, with a criterion for each."""
        met = [key for each in self.classified if (key := get_requirement_key(each.id)) in self.known and _is_met(each)]
        ordered = [key for key in self.requirements if key in met]
        if not ordered:
            return None
        texts: dict[str, list[str]] = {}
        for requirement in self._list_verified(ordered):
            texts.setdefault(quote_requirement(requirement), []).append(requirement.id)
        return StoryDraft(
            key=MET_KEY,
            epic=self.draft.epics[0].key if self.draft.epics else "",
            title=MET_TITLE,
            description=MET_DESCRIPTION,
            criteria=tuple(CriterionDraft(text=text, requirements=tuple(names)) for text, names in texts.items()),
            priority=1,
            complexity=2,
            estimate_minutes=2 * len(texts),
            requirements=tuple(self.known[key] for key in ordered),
            verify_only=True,
        )

    def _list_verified(self, met: Sequence[str]) -> tuple[Requirement, ...]:
        """List the requirements to verify: each met one, or the acceptance criteria or parts that replace it."""
        found: dict[str, Requirement] = {}
        for key in met:
            parts = [each for each in self.prd.requirements if get_requirement_key(each.parent) == key and each.parent]
            own = {get_requirement_key(each.id): each for each in parts}
            accepting = {name: each for name, each in own.items() if each.kind == "acceptance"}
            others = own.keys() - accepting.keys()
            if accepting:
                found |= {name: each for name, each in accepting.items() if name not in self._decided_elsewhere(met)}
            elif not others or not others <= set(met):
                found[key] = self.requirements[key]
        return tuple(found.values())

    def _decided_elsewhere(self, met: Sequence[str]) -> frozenset[str]:
        return self.claimed | {get_requirement_key(each.id) for each in self.classified} - set(met)


def _is_met(each: ClassifiedRequirement) -> bool:
    return each.status == "met"
