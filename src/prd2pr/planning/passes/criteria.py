"""Pass 3: acceptance criteria. The PRD's own GIVEN/WHEN/THEN criteria are copied; a model writes the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from prd2pr.domain.records import UNTESTED_KINDS, Prd, Requirement
from prd2pr.domain.wording import clean_line, clip
from prd2pr.planning.passes.drafts import CriteriaDraft, CriterionText, OpenQuestion
from prd2pr.planning.passes.given_when_then import StatedCriterion, find_contradicting_criteria, parse_scenario
from prd2pr.planning.plan import CriterionDraft, PlanLimits, StoryDraft
from prd2pr.planning.problems import PlanProblem
from prd2pr.prd.requirement_ids import get_requirement_key, index_by_key

MAX_CRITERIA = PlanLimits().criteria
MIN_CRITERIA = 2
SOFT_CODES = ("PLN205",)

Criteria = Mapping[str, tuple[CriterionDraft, ...]]  # by the story's key


# --- criteria of the PRD ----------------------------------------------------------------------------------------------


def extract_given_criteria(
    prd: Prd, stories: Sequence[StoryDraft], left_out: Collection[str] = ()
) -> dict[str, tuple[CriterionDraft, ...]]:
    """Copy the PRD's GIVEN/WHEN/THEN criteria to their stories.

    Stories with too many criteria are left out, and so are omitted requirements, about which a person must decide
    first.
    """
    found = {
        story.key: [each for each in list_acceptance_criteria(prd, story, stories) if each.id not in left_out]
        for story in stories
    }
    return {
        key: tuple(CriterionDraft(text=clean_line(each.text), requirements=(each.id,)) for each in given)
        for key, given in found.items()
        if 1 <= len(given) <= MAX_CRITERIA
    }


def select_stories_without_criteria(prd: Prd, stories: Sequence[StoryDraft], known: Criteria) -> tuple[StoryDraft, ...]:
    """Return the stories that the PRD's criteria do not cover completely, with the criteria that they have."""
    return tuple(
        story.model_copy(update={"criteria": known.get(story.key, ())})
        for story in stories
        if story.kind not in UNTESTED_KINDS and not _is_fully_accepted(prd, story, known.get(story.key, ()))
    )


def _is_fully_accepted(prd: Prd, story: StoryDraft, given: Sequence[CriterionDraft]) -> bool:
    """Return whether each functional requirement of the story has its own criterion.

    Criteria of its parts do not count.
    """
    by_id = {requirement.id: requirement for requirement in prd.requirements}
    accepted = {by_id[name].parent for each in given for name in each.requirements}
    served = (name for name in story.requirements if name in by_id and by_id[name].kind == "functional")
    return bool(given) and all(name in accepted for name in served)


def list_acceptance_criteria(prd: Prd, story: StoryDraft, stories: Sequence[StoryDraft]) -> tuple[Requirement, ...]:
    """Return the acceptance criteria that the story names.

    If it names none, return those of its requirements, unless another story shares a requirement.
    """
    by_id = {requirement.id: requirement for requirement in prd.requirements}
    named = [by_id[name] for name in story.requirements if name in by_id]
    own = [each for each in named if each.kind == "acceptance"]
    if not own and not any(_is_shared(each, story, stories) for each in named if each.kind == "functional"):
        served = {each.id for each in named}
        own = [each for each in prd.requirements if each.kind == "acceptance" and each.parent in served]
    return tuple(each for each in dict.fromkeys(own) if parse_scenario(each.text) is not None)


def _is_shared(requirement: Requirement, story: StoryDraft, stories: Sequence[StoryDraft]) -> bool:
    others = (other for other in stories if other.key != story.key and not (other.verify_only or story.verify_only))
    return any(requirement.id in other.requirements for other in others)


def build_fallback_criteria(prd: Prd, story: StoryDraft) -> tuple[CriterionDraft, ...]:
    """Return the text of the requirements as criteria, for use when no model call is left."""
    served = [each for each in prd.requirements if each.id in story.requirements and each.text.strip()]
    named: dict[str, list[str]] = {}
    for each in served[:MAX_CRITERIA]:
        named.setdefault(clip(clean_line(each.text), 400), []).append(each.id)
    return tuple(CriterionDraft(text=text, requirements=tuple(ids)) for text, ids in named.items()) or (
        CriterionDraft(text=story.title),
    )


# --- checks of an answer ----------------------------------------------------------------------------------------------


def check_criteria(stories: Sequence[StoryDraft], draft: CriteriaDraft, known: Criteria) -> tuple[PlanProblem, ...]:
    """Check an answer. `known` are the PRD's criteria, which the answer completes and must not contradict."""
    answered = collect_criteria(stories, draft)
    problems = [
        *_check_stories(stories, draft),
        *_check_counts(answered, known),
        *_check_contradictions(answered, known),
    ]
    return tuple(sorted(problems, key=lambda problem: problem.code))


def is_soft_criteria_problem(problem: PlanProblem) -> bool:
    return problem.code in SOFT_CODES


def collect_criteria(stories: Sequence[StoryDraft], draft: CriteriaDraft) -> dict[str, tuple[CriterionDraft, ...]]:
    """Return the answer's criteria by story. Of the ids that a criterion names, those of its story are kept."""
    known = {story.key: index_by_key(story.requirements) for story in stories}

    def clean(criterion: CriterionText, own: Mapping[str, str]) -> CriterionDraft:
        keys = dict.fromkeys(map(get_requirement_key, criterion.requirements))
        return CriterionDraft(
            text=" ".join(criterion.text.split()),
            example=criterion.example.strip(),
            requirements=tuple(own[key] for key in keys if key in own),
        )

    return {
        each.story.strip(): tuple(clean(one, known.get(each.story.strip(), {})) for one in each.criteria)
        for each in draft.stories
    }


def _check_stories(stories: Sequence[StoryDraft], draft: CriteriaDraft) -> Iterator[PlanProblem]:
    wanted = [story.key for story in stories]
    given = [each.story.strip() for each in draft.stories]
    for key in dict.fromkeys(given):
        if key not in wanted:
            yield PlanProblem("PLN206", "this story was not requested", key)
        elif given.count(key) > 1:
            yield PlanProblem("PLN206", "it is in the answer twice", key)
    for key in wanted:
        if key not in given:
            yield PlanProblem("PLN206", "it has no criteria in the answer", key)


def _check_counts(answered: Criteria, known: Criteria) -> Iterator[PlanProblem]:
    for key, criteria in answered.items():
        stated = known.get(key, ())
        texts = [each.text for each in (*stated, *criteria)]
        if not MIN_CRITERIA <= len(texts) <= MAX_CRITERIA:
            given = f", including {len(stated)} of the PRD" if stated else ""
            yield PlanProblem(
                "PLN108", f"{len(texts)} criteria{given}; {MIN_CRITERIA} to {MAX_CRITERIA} are allowed", key
            )
        if not all(texts) or len(set(texts)) < len(texts):
            yield PlanProblem("PLN109", "a criterion is empty or repeated", key)


def _check_contradictions(answered: Criteria, known: Criteria) -> Iterator[PlanProblem]:
    stated = frozenset(each.text for given in known.values() for each in given)
    for one, other in find_contradicting_criteria(
        [*flatten_criteria(known, stated), *flatten_criteria(answered, stated)]
    ):
        if not (one.by_prd and other.by_prd):
            of = f" of {one.where}" if one.where != other.where else ""
            yield PlanProblem("PLN205", f"«{other.text}» contradicts «{one.text}»{of}", other.where)


def flatten_criteria(criteria: Criteria, stated: Collection[str]) -> Iterator[StatedCriterion]:
    """Yield all criteria. `stated` are the texts of those that the PRD states itself."""
    for key, each in criteria.items():
        for one in each:
            by_prd = one.text in stated and bool(one.requirements)
            yield StatedCriterion(one.requirements[0] if by_prd else key, one.text, by_prd=by_prd)


# --- contradictions ---------------------------------------------------------------------------------------------------


def build_contradiction_questions(prd: Prd, criteria: Criteria, titles: Mapping[str, str]) -> Iterator[OpenQuestion]:
    """Ask a person which of two contradicting criteria is valid, including criteria of the PRD that no story has."""
    acceptance = [each for each in prd.requirements if each.kind == "acceptance"]
    by_prd = (StatedCriterion(each.id, clean_line(each.text), by_prd=True) for each in acceptance)
    stated = frozenset(clean_line(each.text) for each in acceptance)
    others = (each for each in flatten_criteria(criteria, stated) if not each.by_prd)
    for one, other in find_contradicting_criteria([*by_prd, *others]):
        names = [each.where if each.by_prd else f"«{titles.get(each.where, each.where)}»" for each in (one, other)]
        both = " and ".join(dict.fromkeys(names))
        yield OpenQuestion(
            about=tuple(each.where for each in (one, other) if each.by_prd),
            text=f"{both} have the same start but different outcomes: «{one.text}» and «{other.text}». Which is valid?"[
                :2000
            ],
        )
