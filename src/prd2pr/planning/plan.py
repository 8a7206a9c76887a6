"""The plan: the planner's answer, the rules that check it, and its conversion to a backlog."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pydantic import Field, model_validator
from pydantic.json_schema import SkipJsonSchema

from prd2pr.domain.dependency_graph import find_cycle, sort_by_dependencies
from prd2pr.domain.records import (
    UNTESTED_KINDS,
    Backlog,
    ClassifiedRequirement,
    Criterion,
    Epic,
    Prd,
    Record,
    Requirement,
    Story,
    StoryKind,
)
from prd2pr.domain.wording import clip
from prd2pr.errors import PlanInvalid
from prd2pr.planning.problems import PLAN_PROBLEMS, PlanProblem
from prd2pr.prd.requirement_ids import collect_mentioned_keys, get_requirement_key, index_by_key

__all__ = ["PLAN_PROBLEMS", "PlanDraft", "PlanLimits", "PlanProblem", "StoryDraft", "check_plan", "to_backlog"]

# --- the planner's answer ---------------------------------------------------------------------------------------------


class CriterionDraft(Record):
    text: str = Field(description="One checkable sentence of at most 25 words about what a caller observes.")
    example: str = Field(default="", description="One example with values: earn(4150) == 41.")
    requirements: tuple[str, ...] = Field(default=(), description="Ids of the PRD's requirements that it checks.")


class EpicDraft(Record):
    key: str = Field(description="Short unique name, as in e1.")
    title: str = Field(description="One line.")
    description: str = Field(default="", description="What the stories of this epic give to users together.")
    requirements: tuple[str, ...] = Field(default=(), description="Ids of the PRD's requirements.")


class StoryDraft(Record):
    key: str = Field(description="Short unique name, as in s1; `depends_on` refers to it.")
    epic: str = Field(default="", description="Key of its epic; empty if there are no epics.")
    title: str = Field(description="One line under 80 characters: what the user gets.")
    description: str = Field(default="", description="Only what title and criteria do not say; one or two sentences.")
    kind: StoryKind = Field(default="feature", description="docs, config and chore need no tests; the others do.")
    criteria: tuple[CriterionDraft, ...] = Field(
        default=(), description="Up to five acceptance criteria; without any, each requirement is one."
    )
    priority: int = Field(default=3, ge=1, le=5, description="1 is worked on first.")
    depends_on: tuple[str, ...] = Field(default=(), description="Keys of the stories that must be done before.")
    complexity: int = Field(default=3, ge=1, le=10, description="1 trivial, 10 the hardest; above 6, split the story.")
    estimate_minutes: int = Field(default=10, ge=0, description="Time for a practised engineer.")
    requirements: tuple[str, ...] = Field(default=(), description="Ids of the PRD's requirements that it fulfils.")
    module: str = Field(default="", description="Module or package in which the behavior lives: shop.points.")
    interface: str = Field(default="", description="Signatures that others will call, one per line.")
    source_paths: tuple[str, ...] = Field(default=(), description="At most three source files to write or change.")
    test_paths: SkipJsonSchema[tuple[str, ...]] = ()
    # Set only by code.
    test_ideas: SkipJsonSchema[tuple[str, ...]] = ()
    verify_only: SkipJsonSchema[bool] = False


class PlanDraft(Record):
    """A PRD split into stories, each small enough for one test-driven cycle."""

    epics: tuple[EpicDraft, ...] = Field(default=(), description="Groups of stories; leave empty for a small PRD.")
    classified: tuple[ClassifiedRequirement, ...] = Field(
        default=(), description="Every requirement that no story builds, and every one that contradicts another."
    )
    stories: tuple[StoryDraft, ...] = Field(description="They build every other requirement of the PRD.")
    questions: tuple[str, ...] = Field(default=(), description="What a person must answer because the PRD does not.")
    assumptions: tuple[str, ...] = Field(
        default=(), description="What was taken for granted; name the id of a requirement that holds for all stories."
    )
    not_covered: SkipJsonSchema[tuple[str, ...]] = ()  # requirements without a story; a question names each of them

    @model_validator(mode="before")
    @classmethod
    def _read_short_form(cls, answer: object) -> object:
        """Accept the short form that the prompt asks for: `"classified": {"met": {"FR-5, FR-6": "src/cart.py"}}`."""
        if not isinstance(answer, dict) or not isinstance(answer.get("classified"), dict):
            return answer
        return {**answer, "classified": list(_expand_classified(answer["classified"]))}


def _expand_classified(given: Mapping[object, object]) -> Iterator[object]:
    for status, notes in given.items():
        if not isinstance(notes, dict):
            yield notes
            continue
        for names, note in notes.items():
            ids = [each for each in re.split(r"\s*,\s*", str(names).strip()) if each]
            is_complete = {get_requirement_key(each) for each in ids} <= collect_mentioned_keys([str(note)])
            text = f"{', '.join(ids)}: {note}" if status == "contradictory" and not is_complete else note
            yield from ({"id": each, "status": status, "note": text} for each in ids)


@dataclass(frozen=True)
class PlanLimits:
    stories: int = 200
    criteria: int = 5
    source_paths: int = 3
    title_length: int = 100


def backlog_to_draft(backlog: Backlog) -> PlanDraft:
    """Convert a backlog back to a draft, so that the planning rules can check it."""
    return PlanDraft(
        epics=tuple(EpicDraft(key=epic.id, title=epic.title, requirements=epic.requirements) for epic in backlog.epics),
        stories=tuple(
            StoryDraft(
                key=story.id,
                epic=story.epic,
                title=story.title,
                kind=story.kind,
                criteria=tuple(
                    CriterionDraft(text=each.text, example=each.example, requirements=each.requirements)
                    for each in story.criteria
                ),
                depends_on=story.depends_on,
                requirements=story.requirements,
                source_paths=story.source_paths,
                test_paths=story.test_paths,
                verify_only=story.verify_only,
            )
            for story in backlog.stories
        ),
        questions=(*backlog.questions, *(each.question for each in backlog.answers)),
        assumptions=backlog.assumptions,
        not_covered=backlog.not_covered,
        classified=backlog.classified,
    )


# --- checks -----------------------------------------------------------------------------------------------------------


def check_plan(prd: Prd, draft: PlanDraft, limits: PlanLimits = PlanLimits()) -> tuple[PlanProblem, ...]:  # noqa: B008 - frozen
    """Return all problems of a plan, sorted by code."""
    problems = [
        *_check_size(draft, limits),
        *_check_keys(draft),
        *_check_epic_titles(draft, limits),
        *_check_dependencies(draft),
        *_check_requirements(prd, draft),
        *_check_not_covered(prd, draft),
        *_check_classified(prd, draft),
        *_check_verified(prd, draft),
        *(problem for story in draft.stories for problem in _check_story(story, limits)),
    ]
    return tuple(sorted(problems, key=lambda problem: problem.code))


def _check_size(draft: PlanDraft, limits: PlanLimits) -> Iterator[PlanProblem]:
    count = len(draft.stories)
    if count == 0:
        yield PlanProblem("PLN101", "the plan has no stories")
    elif count > limits.stories:
        yield PlanProblem("PLN101", f"the plan has {count} stories, the limit is {limits.stories}")


def _check_keys(draft: PlanDraft) -> Iterator[PlanProblem]:
    for what, keys in (("story", [s.key for s in draft.stories]), ("epic", [e.key for e in draft.epics])):
        for key in _find_duplicates(keys):
            yield PlanProblem("PLN102", f"the key `{key}` is used by more than one {what}")
        if any(not key.strip() for key in keys):
            yield PlanProblem("PLN102", f"a {what} has no key")
    epics = {epic.key for epic in draft.epics}
    for story in draft.stories:
        if story.epic not in epics and (story.epic or epics):
            message = f"epic `{story.epic}` is not in the plan" if story.epic else "the story names no epic"
            yield PlanProblem("PLN103", message, story.key)


def _check_classified(prd: Prd, draft: PlanDraft) -> Iterator[PlanProblem]:
    known = index_by_key(requirement.id for requirement in prd.requirements)
    for name in _find_duplicates(get_requirement_key(each.id) for each in draft.classified):
        yield PlanProblem("PLN116", f"{known.get(name, name)} is classified more than once")
    for each in draft.classified:
        if get_requirement_key(each.id) not in known:
            yield PlanProblem("PLN107", f"`{each.id}`, which is classified, is not a requirement of {prd.path}")
        if not each.note.strip():
            yield PlanProblem("PLN116", f"{each.id} is classified as {each.status} without a reason")


def verifies_repository(story: StoryDraft) -> bool:
    """Return whether a story verifies behavior that already exists, rather than behavior that another story builds."""
    return story.verify_only and not story.depends_on


def _check_verified(prd: Prd, draft: PlanDraft) -> Iterator[PlanProblem]:
    met = {get_requirement_key(each.id) for each in draft.classified if each.status == "met"}
    met |= {get_requirement_key(each.id) for each in prd.requirements if get_requirement_key(each.parent) in met}
    for story in filter(verifies_repository, draft.stories):
        if not {get_requirement_key(name) for name in list_claimed_requirements(story)} <= met:
            yield PlanProblem("PLN208", "it verifies neither another story nor a requirement that is met", story.key)


def _check_epic_titles(draft: PlanDraft, limits: PlanLimits) -> Iterator[PlanProblem]:
    for epic in draft.epics:
        if not _is_title(epic.title, limits.title_length):
            yield PlanProblem("PLN113", f"the title of epic `{epic.key}` is empty, too long or not one line")


def _check_dependencies(draft: PlanDraft) -> Iterator[PlanProblem]:
    known = {story.key for story in draft.stories}
    for story in draft.stories:
        for name in story.depends_on:
            if name not in known:
                yield PlanProblem("PLN104", f"depends on `{name}`, which is not in the plan", story.key)
    cycle = find_cycle({story.key: story.depends_on for story in draft.stories})
    if cycle:
        yield PlanProblem("PLN105", " → ".join(cycle), cycle[0])


def _check_requirements(prd: Prd, draft: PlanDraft) -> Iterator[PlanProblem]:
    known = index_by_key(requirement.id for requirement in prd.requirements)
    for story in draft.stories:
        for name in list_claimed_requirements(story):
            if get_requirement_key(name) not in known:
                yield PlanProblem("PLN107", f"`{name}` is not a requirement of {prd.path}", story.key)
    for epic in draft.epics:
        for name in epic.requirements:
            if get_requirement_key(name) not in known:
                yield PlanProblem("PLN107", f"epic `{epic.key}` names `{name}`, not a requirement of {prd.path}")
    left_out = {get_requirement_key(name) for name in draft.not_covered}
    for requirement in find_uncovered_requirements(prd, draft):
        if get_requirement_key(requirement.id) not in left_out:
            yield PlanProblem("PLN106", f"no story covers {requirement.id} ({summarize_requirement(requirement)})")


# Requirements of these classes need neither a story nor a question.
COVERED_STATUSES = ("met", "not_a_requirement")


def summarize_requirement(requirement: Requirement) -> str:
    return clip(requirement.text.splitlines()[0], 80) if requirement.text else ""


def format_uncovered_question(requirement: Requirement, why: str) -> str:
    return f"{requirement.id} ({summarize_requirement(requirement)}) is not covered: {why}"


def is_uncovered_question(question: str, name: str) -> bool:
    return question.startswith(f"{name} (") and ") is not covered: " in question


def _check_not_covered(prd: Prd, draft: PlanDraft) -> Iterator[PlanProblem]:
    """Check that a question names each requirement that is not covered, so that none is dropped silently."""
    known = {requirement.id for requirement in prd.requirements}
    asked = collect_mentioned_keys(draft.questions)
    for name in draft.not_covered:
        if name not in known:
            yield PlanProblem("PLN107", f"`{name}`, listed as not covered, is not a requirement of {prd.path}")
        elif get_requirement_key(name) not in asked:
            yield PlanProblem("PLN207", f"{name} is listed as not covered, but no question names it")


def find_uncovered_requirements(prd: Prd, draft: PlanDraft) -> tuple[Requirement, ...]:
    named = {get_requirement_key(name) for story in draft.stories for name in list_claimed_requirements(story)}
    named |= {get_requirement_key(each.id) for each in draft.classified if each.status in COVERED_STATUSES}
    assumed = collect_mentioned_keys(draft.assumptions)
    parts: dict[str, list[Requirement]] = {}
    for requirement in prd.requirements:
        parts.setdefault(requirement.parent, []).append(requirement)

    def covered(requirement: Requirement) -> bool:
        key = get_requirement_key(requirement.id)
        if key in named or (requirement.kind == "non_functional" and key in assumed):
            return True
        if requirement.kind == "acceptance" and requirement.parent and get_requirement_key(requirement.parent) in named:
            return True
        children = parts.get(requirement.id, [])
        return bool(children) and all(covered(child) for child in children)

    return tuple(requirement for requirement in prd.requirements if not covered(requirement))


def _check_story(story: StoryDraft, limits: PlanLimits) -> Iterator[PlanProblem]:
    if not _is_title(story.title, limits.title_length):
        yield PlanProblem("PLN113", f"the title is not one line of 1 to {limits.title_length} characters", story.key)
    count = len(story.criteria)
    least = 0 if story.kind in UNTESTED_KINDS else 1
    most = count if verifies_repository(story) else limits.criteria
    if not least <= count <= most:
        yield PlanProblem("PLN108", f"{count} criteria; {least} to {limits.criteria} are allowed", story.key)
    texts = [" ".join(criterion.text.split()) for criterion in story.criteria]
    if not all(texts) or _find_duplicates(texts):
        yield PlanProblem("PLN109", "a criterion is empty or repeated", story.key)
    if len(story.source_paths) > limits.source_paths:
        found = len(story.source_paths)
        yield PlanProblem("PLN110", f"{found} source files, the limit is {limits.source_paths}", story.key)
    yield from _check_paths(story)


def _check_paths(story: StoryDraft) -> Iterator[PlanProblem]:
    for path in (*story.source_paths, *story.test_paths):
        reason = _path_problem(path)
        if reason:
            yield PlanProblem("PLN111", f"`{path}` {reason}", story.key)
    for path in story.source_paths:
        if _looks_like_test(path):
            yield PlanProblem("PLN112", f"`{path}` is a test, but listed as a source file", story.key)
    for path in set(story.source_paths) & set(story.test_paths):
        yield PlanProblem("PLN112", f"`{path}` is listed as source and as test", story.key)


FORBIDDEN_PARTS = frozenset({".git", ".github", ".orch-state"})


def _path_problem(path: str) -> str:
    if not path.strip() or path != path.strip() or not path.isprintable():
        return "is empty or has invalid characters"
    if path.startswith(("/", "~")) or path[1:2] == ":" or "\\" in path:
        return "is not relative to the repository"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has `.`, `..` or an empty part"
    if any(part.lower() in FORBIDDEN_PARTS for part in parts):
        return "is in a directory that no story may write"
    return ""


def _looks_like_test(path: str) -> bool:
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    named_so = name.endswith(".py") and (stem.startswith("test_") or stem.endswith("_test") or stem == "conftest")
    return named_so or any(folder in ("tests", "test") for folder in folders)


def _is_title(title: str, longest: int) -> bool:
    return bool(title.strip()) and len(title) <= longest and title.isprintable()


def list_claimed_requirements(story: StoryDraft) -> tuple[str, ...]:
    return (*story.requirements, *(name for criterion in story.criteria for name in criterion.requirements))


def _find_duplicates(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [name for name, times in seen.items() if times > 1]


# --- the backlog ------------------------------------------------------------------------------------------------------


def to_backlog(prd: Prd, draft: PlanDraft, limits: PlanLimits = PlanLimits()) -> Backlog:  # noqa: B008 - frozen
    """Convert a valid draft to a backlog with ids `<prd>-<n>`, ordered by dependencies, priority and draft order."""
    problems = check_plan(prd, draft, limits)
    if problems:
        raise PlanInvalid(
            f"the plan has {len(problems)} {'problem' if len(problems) == 1 else 'problems'}: "
            + "; ".join(str(problem) for problem in problems[:MAX_SHOWN_PROBLEMS])
            + (f"; and {len(problems) - MAX_SHOWN_PROBLEMS} more" if len(problems) > MAX_SHOWN_PROBLEMS else ""),
            where=prd.path,
            remedy=f"Plan again. `prd2pr explain {problems[0].code}` explains the rule.",
        )
    stories = {story.key: story for story in draft.stories}
    rank = {story.key: (story.priority, n) for n, story in enumerate(draft.stories)}
    order = sort_by_dependencies({key: story.depends_on for key, story in stories.items()}, rank)
    ids = {key: f"{prd.id}-{n}" for n, key in enumerate(order, start=1)}
    epics = {epic.key: f"{prd.id}-e{n}" for n, epic in enumerate(draft.epics, start=1)} or {"": f"{prd.id}-e1"}
    return Backlog(
        epics=_build_epics(prd, draft, epics),
        stories=tuple(build_story(prd, stories[key], ids, epics) for key in order),
        questions=draft.questions,
        assumptions=draft.assumptions,
        not_covered=draft.not_covered,
        classified=normalize_classified(prd, draft.classified),
    )


MAX_SHOWN_PROBLEMS = 10


def _build_epics(prd: Prd, draft: PlanDraft, ids: dict[str, str]) -> tuple[Epic, ...]:
    if not draft.epics:
        everything = tuple(requirement.id for requirement in prd.requirements)
        return (Epic(id=ids[""], title=prd.title, description=prd.summary, requirements=everything),)
    return tuple(
        Epic(
            id=ids[epic.key],
            title=epic.title,
            description=epic.description,
            requirements=normalize_requirement_ids(prd, epic.requirements),
        )
        for epic in draft.epics
    )


def build_story(prd: Prd, draft: StoryDraft, ids: dict[str, str], epics: dict[str, str]) -> Story:
    story = ids[draft.key]
    return Story(
        id=story,
        epic=epics[draft.epic],
        title=draft.title.strip(),
        description=draft.description,
        kind=draft.kind,
        criteria=tuple(
            Criterion(
                id=f"{story}.c{n}",
                text=criterion.text.strip(),
                example=criterion.example,
                requirements=normalize_requirement_ids(prd, criterion.requirements),
            )
            for n, criterion in enumerate(draft.criteria, start=1)
        ),
        priority=draft.priority,
        depends_on=tuple(dict.fromkeys(ids[key] for key in draft.depends_on)),
        estimate_minutes=draft.estimate_minutes,
        complexity=draft.complexity,
        requirements=normalize_requirement_ids(prd, list_claimed_requirements(draft)),
        module=draft.module,
        interface=draft.interface,
        test_paths=draft.test_paths,
        source_paths=draft.source_paths,
        test_ideas=draft.test_ideas,
        verify_only=draft.verify_only,
    )


def normalize_requirement_ids(prd: Prd, names: Iterable[str]) -> tuple[str, ...]:
    """Return each id once, as the PRD spells it."""
    known = index_by_key(requirement.id for requirement in prd.requirements)
    return tuple(dict.fromkeys(known[get_requirement_key(name)] for name in names))


def normalize_classified(prd: Prd, listed: Iterable[ClassifiedRequirement]) -> tuple[ClassifiedRequirement, ...]:
    known = index_by_key(requirement.id for requirement in prd.requirements)
    return tuple(each.model_copy(update={"id": known[get_requirement_key(each.id)]}) for each in listed)
