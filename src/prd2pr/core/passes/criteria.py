"""Pass 3: acceptance criteria. What the PRD says as GIVEN/WHEN/THEN is taken over; the rest is asked for."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from prd2pr.core.passes.drafts import CriteriaDraft, OpenQuestion
from prd2pr.core.passes.given import Said, contradictions, scenario
from prd2pr.core.plan import CriterionDraft, PlanLimits, StoryDraft
from prd2pr.core.plan_problems import PlanProblem
from prd2pr.core.records import UNTESTED_KINDS, Prd, Requirement
from prd2pr.core.wording import clip, plain

MOST = PlanLimits().criteria
LEAST = 2
SOFT = ("PLN205",)

Criteria = Mapping[str, tuple[CriterionDraft, ...]]  # by the story's key


# --- by code ----------------------------------------------------------------------------------------------------------


def taken_over(
    prd: Prd, stories: Sequence[StoryDraft], left_out: Collection[str] = ()
) -> dict[str, tuple[CriterionDraft, ...]]:
    """What the PRD itself says of the stories as GIVEN/WHEN/THEN, word for word. More than a story can have is none,
    and what was left out because a person has to decide first is not decided here."""
    found = {
        story.key: [each for each in acceptance_of(prd, story, stories) if each.id not in left_out] for story in stories
    }
    return {
        key: tuple(CriterionDraft(text=plain(each.text), requirements=(each.id,)) for each in given)
        for key, given in found.items()
        if 1 <= len(given) <= MOST
    }


def asked_for(prd: Prd, stories: Sequence[StoryDraft], known: Criteria) -> tuple[StoryDraft, ...]:
    """Those that the PRD's own criteria do not accept as a whole; with those that stand."""
    return tuple(
        story.model_copy(update={"criteria": known.get(story.key, ())})
        for story in stories
        if story.kind not in UNTESTED_KINDS and not _accepted(prd, story, known.get(story.key, ()))
    )


def _accepted(prd: Prd, story: StoryDraft, given: Sequence[CriterionDraft]) -> bool:
    """Each of its functional requirements has a criterion of its own. What is said of parts is not all."""
    by_id = {requirement.id: requirement for requirement in prd.requirements}
    accepted = {by_id[name].parent for each in given for name in each.requirements}
    served = (name for name in story.requirements if name in by_id and by_id[name].kind == "functional")
    return bool(given) and all(name in accepted for name in served)


def acceptance_of(prd: Prd, story: StoryDraft, stories: Sequence[StoryDraft]) -> tuple[Requirement, ...]:
    """Those that the story names. If it names none, those of its requirements that no other story builds as well."""
    by_id = {requirement.id: requirement for requirement in prd.requirements}
    named = [by_id[name] for name in story.requirements if name in by_id]
    own = [each for each in named if each.kind == "acceptance"]
    if not own and not any(_shared(each, story, stories) for each in named if each.kind == "functional"):
        served = {each.id for each in named}
        own = [each for each in prd.requirements if each.kind == "acceptance" and each.parent in served]
    return tuple(each for each in dict.fromkeys(own) if scenario(each.text) is not None)


def _shared(requirement: Requirement, story: StoryDraft, stories: Sequence[StoryDraft]) -> bool:
    others = (other for other in stories if other.key != story.key and not (other.verify_only or story.verify_only))
    return any(requirement.id in other.requirements for other in others)


def by_requirement_text(prd: Prd, story: StoryDraft) -> tuple[CriterionDraft, ...]:
    """Where nobody could be asked any more: the requirements in their own words. Said, where it is done."""
    served = [each for each in prd.requirements if each.id in story.requirements and each.text.strip()]
    texts = dict.fromkeys(clip(plain(each.text), 400) for each in served[:MOST])
    return tuple(CriterionDraft(text=text) for text in texts) or (CriterionDraft(text=story.title),)


# --- an answer --------------------------------------------------------------------------------------------------------


def check_criteria(stories: Sequence[StoryDraft], draft: CriteriaDraft, known: Criteria) -> tuple[PlanProblem, ...]:
    """`known`: the criteria of the PRD itself, which an answer completes and must not contradict."""
    problems = [*_fit(stories, draft), *_counts(draft, known), *_contradicting(draft, known)]
    return tuple(sorted(problems, key=lambda problem: problem.code))


def is_soft(problem: PlanProblem) -> bool:
    return problem.code in SOFT


def criteria_of(draft: CriteriaDraft) -> dict[str, tuple[CriterionDraft, ...]]:
    return {
        each.story.strip(): tuple(
            CriterionDraft(text=" ".join(one.text.split()), example=one.example.strip()) for one in each.criteria
        )
        for each in draft.stories
    }


def _fit(stories: Sequence[StoryDraft], draft: CriteriaDraft) -> Iterator[PlanProblem]:
    wanted = [story.key for story in stories]
    given = [each.story.strip() for each in draft.stories]
    for key in dict.fromkeys(given):
        if key not in wanted:
            yield PlanProblem("PLN206", "there is no such story in the question", key)
        elif given.count(key) > 1:
            yield PlanProblem("PLN206", "it stands in the answer twice", key)
    for key in wanted:
        if key not in given:
            yield PlanProblem("PLN206", "it has no criteria in the answer", key)


def _counts(draft: CriteriaDraft, known: Criteria) -> Iterator[PlanProblem]:
    for key, criteria in criteria_of(draft).items():
        standing = known.get(key, ())
        texts = [each.text for each in (*standing, *criteria)]
        if not LEAST <= len(texts) <= MOST:
            there = f", with {len(standing)} that stand" if standing else ""
            yield PlanProblem("PLN108", f"{len(texts)} criteria{there}; it takes {LEAST} to {MOST} in all", key)
        if not all(texts) or len(set(texts)) < len(texts):
            yield PlanProblem("PLN109", "a criterion is empty or stands there twice", key)


def _contradicting(draft: CriteriaDraft, known: Criteria) -> Iterator[PlanProblem]:
    for one, other in contradictions([*said(known), *said(criteria_of(draft))]):
        if not (one.by_prd and other.by_prd):
            of = f" of {one.where}" if one.where != other.where else ""
            yield PlanProblem("PLN205", f"«{other.text}» contradicts «{one.text}»{of}", other.where)


def said(criteria: Criteria) -> Iterator[Said]:
    for key, each in criteria.items():
        for one in each:
            yield Said(one.requirements[0] if one.requirements else key, one.text, by_prd=bool(one.requirements))


# --- all of them together ---------------------------------------------------------------------------------------------


def contradiction_questions(prd: Prd, criteria: Criteria, titles: Mapping[str, str]) -> Iterator[OpenQuestion]:
    """Nothing is decided: a person says which one holds. Acceptance criteria of the PRD that no story took over are
    looked at as well."""
    standing = [each for each in prd.requirements if each.kind == "acceptance"]
    by_prd = (Said(each.id, plain(each.text), by_prd=True) for each in standing)
    others = (each for each in said(criteria) if not each.by_prd)
    for one, other in contradictions([*by_prd, *others]):
        names = [each.where if each.by_prd else f"«{titles.get(each.where, each.where)}»" for each in (one, other)]
        both = " and ".join(dict.fromkeys(names))
        yield OpenQuestion(
            about=tuple(each.where for each in (one, other) if each.by_prd),
            text=f"{both} start alike and end differently: «{one.text}» and «{other.text}». Which one holds?"[:2000],
        )
