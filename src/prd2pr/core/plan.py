"""The plan: what the planning role answers, checked by code, and turned into the backlog."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from prd2pr.core.graph import find_cycle, working_order
from prd2pr.core.plan_problems import PLAN_PROBLEMS, PlanProblem
from prd2pr.core.records import UNTESTED_KINDS, Backlog, Criterion, Epic, Prd, Record, Requirement, Story, StoryKind
from prd2pr.core.requirement_ids import by_key, key_of, mentions
from prd2pr.core.wording import clip
from prd2pr.errors import PlanInvalid

__all__ = ["PLAN_PROBLEMS", "PlanDraft", "PlanLimits", "PlanProblem", "StoryDraft", "check_plan", "to_backlog"]

# --- what the role answers --------------------------------------------------------------------------------------------


class CriterionDraft(Record):
    text: str = Field(description="One testable statement of behaviour; GIVEN … WHEN … THEN … where it fits.")
    example: str = Field(default="", description="One concrete example with values: earn(4150) == 41.")
    requirements: tuple[str, ...] = Field(default=(), description="Ids of the PRD that this criterion comes from.")


class EpicDraft(Record):
    key: str = Field(description="Short unique name, as in e1.")
    title: str = Field(description="One line.")
    description: str = Field(default="", description="What the stories of this epic give to users together.")
    requirements: tuple[str, ...] = Field(default=(), description="Ids of the PRD's requirements.")


class StoryDraft(Record):
    key: str = Field(description="Short unique name, as in s1; `depends_on` refers to it.")
    epic: str = Field(default="", description="Key of its epic; empty if there are no epics.")
    title: str = Field(description="One line under 80 characters: what the user gets.")
    description: str = Field(default="", description="What is to be true afterwards and why; two or three sentences.")
    kind: StoryKind = Field(default="feature", description="docs, config and chore need no tests; the others do.")
    criteria: tuple[CriterionDraft, ...] = Field(default=(), description="Two to five acceptance criteria.")
    priority: int = Field(default=3, ge=1, le=5, description="1 is worked on first.")
    depends_on: tuple[str, ...] = Field(default=(), description="Keys of the stories that must be done before.")
    complexity: int = Field(default=3, ge=1, le=10, description="1 trivial, 10 the hardest; above 6, split the story.")
    estimate_minutes: int = Field(default=10, ge=0, description="Time for a practised engineer.")
    requirements: tuple[str, ...] = Field(default=(), description="Ids of the PRD's requirements that it fulfils.")
    module: str = Field(default="", description="Module or package in which the behaviour lives: shop.points.")
    interface: str = Field(default="", description="Signatures that others will call, one a line.")
    source_paths: tuple[str, ...] = Field(default=(), description="At most three source files to write or change.")
    test_paths: tuple[str, ...] = Field(default=(), description="Test files; empty unless there is a reason.")
    # Not asked for in one call: the four passes fill them in.
    test_ideas: SkipJsonSchema[tuple[str, ...]] = ()
    verify_only: SkipJsonSchema[bool] = False


class PlanDraft(Record):
    """A PRD taken apart into stories, each small enough for one test-driven cycle."""

    epics: tuple[EpicDraft, ...] = Field(default=(), description="Groups of stories; leave empty for a small PRD.")
    stories: tuple[StoryDraft, ...] = Field(description="Together they cover every requirement of the PRD.")
    questions: tuple[str, ...] = Field(default=(), description="What a person must answer because the PRD does not.")
    assumptions: tuple[str, ...] = Field(
        default=(), description="What was taken for granted; name the id of a requirement that holds for all stories."
    )
    not_covered: SkipJsonSchema[tuple[str, ...]] = ()  # requirements that nothing is planned for; a question names each


@dataclass(frozen=True)
class PlanLimits:
    stories: int = 200
    criteria: int = 5
    source_paths: int = 3
    title_length: int = 100


def draft_of(backlog: Backlog) -> PlanDraft:
    """A plan as it stands on a branch, in the form that the rules for plans are about."""
    return PlanDraft(
        epics=tuple(EpicDraft(key=epic.id, title=epic.title, requirements=epic.requirements) for epic in backlog.epics),
        stories=tuple(
            StoryDraft(
                key=story.id,
                epic=story.epic,
                title=story.title,
                kind=story.kind,
                criteria=tuple(CriterionDraft(text=each.text, example=each.example) for each in story.criteria),
                depends_on=story.depends_on,
                requirements=story.requirements,
                source_paths=story.source_paths,
                test_paths=story.test_paths,
                verify_only=story.verify_only,
            )
            for story in backlog.stories
        ),
        questions=backlog.questions,
        assumptions=backlog.assumptions,
        not_covered=backlog.not_covered,
    )


# --- checks -----------------------------------------------------------------------------------------------------------


def check_plan(prd: Prd, draft: PlanDraft, limits: PlanLimits = PlanLimits()) -> tuple[PlanProblem, ...]:  # noqa: B008 - frozen
    """All that is wrong, in the order of the table; empty when the plan can be worked on."""
    problems = [
        *_check_size(draft, limits),
        *_check_keys(draft),
        *_check_epic_titles(draft, limits),
        *_check_dependencies(draft),
        *_check_requirements(prd, draft),
        *_check_not_covered(prd, draft),
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
        for key in _repeated(keys):
            yield PlanProblem("PLN102", f"the key `{key}` stands for more than one {what}")
        if any(not key.strip() for key in keys):
            yield PlanProblem("PLN102", f"a {what} has no key")
    epics = {epic.key for epic in draft.epics}
    for story in draft.stories:
        if story.epic not in epics and (story.epic or epics):
            named = f"epic `{story.epic}` is not in the plan" if story.epic else "the story names no epic"
            yield PlanProblem("PLN103", named, story.key)


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
    known = by_key(requirement.id for requirement in prd.requirements)
    for story in draft.stories:
        for name in _named_by(story):
            if key_of(name) not in known:
                yield PlanProblem("PLN107", f"`{name}` is not a requirement of {prd.path}", story.key)
    for epic in draft.epics:
        for name in epic.requirements:
            if key_of(name) not in known:
                yield PlanProblem("PLN107", f"epic `{epic.key}` names `{name}`, not a requirement of {prd.path}")
    left_out = {key_of(name) for name in draft.not_covered}
    for requirement in uncovered(prd, draft):
        if key_of(requirement.id) not in left_out:
            yield PlanProblem("PLN106", f"no story covers {requirement.id} ({first_words(requirement)})")


def first_words(requirement: Requirement) -> str:
    return clip(requirement.text.splitlines()[0], 80) if requirement.text else ""


def not_covered_question(requirement: Requirement, why: str) -> str:
    return f"{requirement.id} ({first_words(requirement)}) is not covered: {why}"


def asks_about_uncovered(question: str, name: str) -> bool:
    return question.startswith(f"{name} (") and ") is not covered: " in question


def _check_not_covered(prd: Prd, draft: PlanDraft) -> Iterator[PlanProblem]:
    """What nobody builds is a person's affair: it stands among the questions, or it was dropped in silence."""
    known = {requirement.id for requirement in prd.requirements}
    for name in draft.not_covered:
        if name not in known:
            yield PlanProblem("PLN107", f"`{name}`, said not to be covered, is not a requirement of {prd.path}")
        elif not any(name in question for question in draft.questions):
            yield PlanProblem("PLN207", f"{name} is said not to be covered, and no question names it")


def uncovered(prd: Prd, draft: PlanDraft) -> tuple[Requirement, ...]:
    named = {key_of(name) for story in draft.stories for name in _named_by(story)}
    assumed = {key_of(name) for text in draft.assumptions for name in mentions(text)}
    parts: dict[str, list[Requirement]] = {}
    for requirement in prd.requirements:
        parts.setdefault(requirement.parent, []).append(requirement)

    def covered(requirement: Requirement) -> bool:
        key = key_of(requirement.id)
        if key in named or (requirement.kind == "non_functional" and key in assumed):
            return True
        if requirement.kind == "acceptance" and requirement.parent and key_of(requirement.parent) in named:
            return True
        children = parts.get(requirement.id, [])
        return bool(children) and all(covered(child) for child in children)

    return tuple(requirement for requirement in prd.requirements if not covered(requirement))


def _check_story(story: StoryDraft, limits: PlanLimits) -> Iterator[PlanProblem]:
    if not _is_title(story.title, limits.title_length):
        yield PlanProblem("PLN113", f"the title is not one line of 1 to {limits.title_length} characters", story.key)
    count = len(story.criteria)
    least = 0 if story.kind in UNTESTED_KINDS else 1
    if not least <= count <= limits.criteria:
        yield PlanProblem("PLN108", f"{count} criteria; it takes {least} to {limits.criteria}", story.key)
    texts = [" ".join(criterion.text.split()) for criterion in story.criteria]
    if not all(texts) or _repeated(texts):
        yield PlanProblem("PLN109", "a criterion is empty or stands there twice", story.key)
    if story.verify_only and not story.depends_on:
        yield PlanProblem("PLN208", "it is to verify what another story builds, and depends on none", story.key)
    if len(story.source_paths) > limits.source_paths:
        found = len(story.source_paths)
        yield PlanProblem("PLN110", f"{found} source files, the limit is {limits.source_paths}", story.key)
    yield from _check_paths(story)


def _check_paths(story: StoryDraft) -> Iterator[PlanProblem]:
    for path in (*story.source_paths, *story.test_paths):
        reason = _unusable(path)
        if reason:
            yield PlanProblem("PLN111", f"`{path}` {reason}", story.key)
    for path in story.source_paths:
        if _looks_like_test(path):
            yield PlanProblem("PLN112", f"`{path}` is a test, but stands among the source files", story.key)
    for path in set(story.source_paths) & set(story.test_paths):
        yield PlanProblem("PLN112", f"`{path}` stands among both", story.key)


FORBIDDEN_PARTS = frozenset({".git", ".github", ".orch-state"})


def _unusable(path: str) -> str:
    if not path.strip() or path != path.strip() or not path.isprintable():
        return "is empty or has odd characters"
    if path.startswith(("/", "~")) or path[1:2] == ":" or "\\" in path:
        return "is not relative to the repository"
    parts = path.split("/")
    if any(part in ("", ".", "..") for part in parts):
        return "has `.`, `..` or an empty part"
    if any(part.lower() in FORBIDDEN_PARTS for part in parts):
        return "lies where no story may write"
    return ""


def _looks_like_test(path: str) -> bool:
    *folders, name = path.split("/")
    stem = name.partition(".")[0]
    named_so = name.endswith(".py") and (stem.startswith("test_") or stem.endswith("_test") or stem == "conftest")
    return named_so or any(folder in ("tests", "test") for folder in folders)


def _is_title(title: str, longest: int) -> bool:
    return bool(title.strip()) and len(title) <= longest and title.isprintable()


def _named_by(story: StoryDraft) -> tuple[str, ...]:
    return (*story.requirements, *(name for criterion in story.criteria for name in criterion.requirements))


def _repeated(names: Iterable[str]) -> list[str]:
    seen: dict[str, int] = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
    return [name for name, times in seen.items() if times > 1]


# --- the backlog ------------------------------------------------------------------------------------------------------


def to_backlog(prd: Prd, draft: PlanDraft, limits: PlanLimits = PlanLimits()) -> Backlog:  # noqa: B008 - frozen
    """Ids `<prd>-<n>` in working order: dependencies first, then priority, then the draft's own order."""
    problems = check_plan(prd, draft, limits)
    if problems:
        raise PlanInvalid(
            f"the plan has {len(problems)} {'problem' if len(problems) == 1 else 'problems'}: "
            + "; ".join(str(problem) for problem in problems[:MOST_SHOWN])
            + (f"; and {len(problems) - MOST_SHOWN} more" if len(problems) > MOST_SHOWN else ""),
            where=prd.path,
            remedy=f"Plan again. `prd2pr explain {problems[0].code}` says what is asked for.",
        )
    stories = {story.key: story for story in draft.stories}
    rank = {story.key: (story.priority, n) for n, story in enumerate(draft.stories)}
    order = working_order({key: story.depends_on for key, story in stories.items()}, rank)
    ids = {key: f"{prd.id}-{n}" for n, key in enumerate(order, start=1)}
    epics = {epic.key: f"{prd.id}-e{n}" for n, epic in enumerate(draft.epics, start=1)} or {"": f"{prd.id}-e1"}
    return Backlog(
        epics=_epics(prd, draft, epics),
        stories=tuple(story_of(prd, stories[key], ids, epics) for key in order),
        questions=draft.questions,
        assumptions=draft.assumptions,
        not_covered=draft.not_covered,
    )


MOST_SHOWN = 10


def _epics(prd: Prd, draft: PlanDraft, ids: dict[str, str]) -> tuple[Epic, ...]:
    if not draft.epics:
        everything = tuple(requirement.id for requirement in prd.requirements)
        return (Epic(id=ids[""], title=prd.title, description=prd.summary, requirements=everything),)
    return tuple(
        Epic(
            id=ids[epic.key],
            title=epic.title,
            description=epic.description,
            requirements=canonical(prd, epic.requirements),
        )
        for epic in draft.epics
    )


def story_of(prd: Prd, draft: StoryDraft, ids: dict[str, str], epics: dict[str, str]) -> Story:
    story = ids[draft.key]
    return Story(
        id=story,
        epic=epics[draft.epic],
        title=draft.title.strip(),
        description=draft.description,
        kind=draft.kind,
        criteria=tuple(
            Criterion(id=f"{story}.c{n}", text=criterion.text.strip(), example=criterion.example)
            for n, criterion in enumerate(draft.criteria, start=1)
        ),
        priority=draft.priority,
        depends_on=tuple(dict.fromkeys(ids[key] for key in draft.depends_on)),
        estimate_minutes=draft.estimate_minutes,
        complexity=draft.complexity,
        requirements=canonical(prd, _named_by(draft)),
        module=draft.module,
        interface=draft.interface,
        test_paths=draft.test_paths,
        source_paths=draft.source_paths,
        test_ideas=draft.test_ideas,
        verify_only=draft.verify_only,
    )


def canonical(prd: Prd, names: Iterable[str]) -> tuple[str, ...]:
    """As the PRD spells them, each once."""
    known = by_key(requirement.id for requirement in prd.requirements)
    return tuple(dict.fromkeys(known[key_of(name)] for name in names))
