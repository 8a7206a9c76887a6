"""Rules that apply to new answers of the planner but not to existing plans, and corrections of such answers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from prd2pr.domain.dependency_graph import sort_by_dependencies
from prd2pr.domain.records import UNTESTED_KINDS, Prd
from prd2pr.domain.wording import clean_line
from prd2pr.planning.given_when_then import (
    StatedCriterion,
    compute_word_similarity,
    extract_words,
    find_contradicting_criteria,
)
from prd2pr.planning.plan import (
    PlanDraft,
    PlanLimits,
    StoryDraft,
    list_claimed_requirements,
    verifies_repository,
)
from prd2pr.planning.problems import PlanProblem
from prd2pr.prd.requirement_ids import get_requirement_key

MAX_COMPLEXITY = 6
SPLIT_REMEDY = ": split it into several stories"  # for the model; left out of the question to a person
# Problems that become questions to a person if the planner does not fix them; the plan is valid nevertheless.
SOFT_CODES = ("PLN110", "PLN201", "PLN204", "PLN205")


def check_planner_answer(
    prd: Prd, draft: PlanDraft, paths: Collection[str], planned_now: Collection[str]
) -> tuple[PlanProblem, ...]:
    """Check an answer.

    `paths` are the repository's files, `planned_now` the keys of the requirements to plan in this call.
    """
    return (
        *check_met_places(draft, paths),
        *_check_acceptance_stories(prd, draft),
        *(problem for story in draft.stories for problem in _check_story_size(story)),
        *_check_structure(prd, draft, paths),
        *_check_contradictions(prd, draft, planned_now),
    )


def check_met_places(draft: PlanDraft, paths: Collection[str]) -> Iterator[PlanProblem]:
    """Check that each requirement that the planner classifies as met names a file that implements it."""
    names = {name for path in paths for name in (path, path.rpartition("/")[2], _dotted_name(path)) if name}
    for each in draft.classified:
        if each.status == "met" and not any(name in each.note for name in names):
            yield PlanProblem("PLN117", f"{each.id} is said to be met, but `note` names no file of the repository")


def _dotted_name(path: str) -> str:
    name = path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
    return name.replace("/", ".") if path.endswith(".py") and "/" in name else ""


def _check_acceptance_stories(prd: Prd, draft: PlanDraft) -> Iterator[PlanProblem]:
    """Check that no story consists only of acceptance criteria that belong to no requirement."""
    if not any(requirement.kind == "functional" for requirement in prd.requirements):
        return
    orphans = {
        get_requirement_key(each.id) for each in prd.requirements if each.kind == "acceptance" and not each.parent
    }
    for story in draft.stories:
        named = {get_requirement_key(name) for name in list_claimed_requirements(story)}
        if named and named <= orphans and not verifies_repository(story):
            names = ", ".join(dict.fromkeys(list_claimed_requirements(story)))
            yield PlanProblem("PLN118", f"only {names}: move the criteria to the stories that they exercise", story.key)


def _check_story_size(story: StoryDraft) -> Iterator[PlanProblem]:
    if story.complexity > MAX_COMPLEXITY and story.kind not in UNTESTED_KINDS:
        how = f"complexity {story.complexity}, at most {MAX_COMPLEXITY}"
        yield PlanProblem("PLN201", f"too large ({how}){SPLIT_REMEDY}", story.key)


def _check_structure(prd: Prd, draft: PlanDraft, existing: Collection[str]) -> Iterator[PlanProblem]:
    for story in draft.stories:
        for path in find_paths_outside_structure(prd, story.source_paths, existing):
            yield PlanProblem("PLN204", f"`{path}` has no place in the PRD's module structure", story.key)


def _check_contradictions(prd: Prd, draft: PlanDraft, planned_now: Collection[str]) -> Iterator[PlanProblem]:
    """Report criteria with equal GIVEN and WHEN but different THEN, unless already classified as contradictory."""
    open_ones = {get_requirement_key(each.id) for each in draft.classified if each.status == "contradictory"}
    acceptance = [each for each in prd.requirements if each.kind == "acceptance"]
    stated = {clean_line(each.text) for each in acceptance}
    criteria = [
        *(StatedCriterion(each.id, clean_line(each.text), by_prd=True) for each in acceptance),
        *(
            StatedCriterion(story.key, text)
            for story in draft.stories
            for each in story.criteria
            if (text := clean_line(each.text)) not in stated
        ),
    ]
    restated = {
        (story.key, get_requirement_key(name)) for story in draft.stories for name in list_claimed_requirements(story)
    }
    for pair in find_contradicting_criteria(criteria):
        keys = {get_requirement_key(each.where) for each in pair if each.by_prd}
        places = {each.where for each in pair if not each.by_prd}
        if len(places) == 1 and (not keys or any((*places, key) in restated for key in keys)):
            continue  # one story states two outcomes, or the PRD's in its own words
        if keys & open_ones or not (len(keys) < len(pair) or keys.intersection(planned_now)):
            continue
        one, other = pair
        between = " and ".join(dict.fromkeys((one.where, other.where)))
        yield PlanProblem(
            "PLN205",
            f"{between} have the same start but different outcomes: «{one.text}» and «{other.text}»",
            "" if other.by_prd else other.where,
        )


# --- problems that the planner did not fix ----------------------------------------------------------------------------


def is_soft_problem(problem: PlanProblem) -> bool:
    return problem.code in SOFT_CODES


def accept_soft_problems(draft: PlanDraft, problems: Iterable[PlanProblem]) -> PlanDraft:
    """Return the draft with a question for each problem. Stories that name too many paths lose their paths."""
    titles = {story.key: story.title for story in draft.stories}
    questions = (_ask_about_problem(each, titles.get(each.story, "")) for each in problems)
    limit = PlanLimits().source_paths
    stories = tuple(
        each if len(each.source_paths) <= limit else each.model_copy(update={"source_paths": ()})
        for each in draft.stories
    )
    return draft.model_copy(
        update={"stories": stories, "questions": tuple(dict.fromkeys((*draft.questions, *questions)))}
    )


_QUESTION_ENDINGS = {
    "PLN110": "A further attempt did not split it. Should it be split?",
    "PLN201": "A further attempt did not split it. Should it be split?",
    "PLN204": "Is this the right place?",
    "PLN205": "Which is valid?",
}


def _ask_about_problem(problem: PlanProblem, title: str) -> str:
    subject = f"«{clean_line(title)}»: " if title else ""
    return f"{subject}{problem.message.removesuffix(SPLIT_REMEDY)}. {_QUESTION_ENDINGS[problem.code]}"


# --- stories that overlap ---------------------------------------------------------------------------------------------

# Titles with at least this share of common words name the same behavior.
SAME_TITLE = 0.75


def mark_verify_only(
    prd: Prd, stories: Sequence[StoryDraft], earlier: Sequence[StoryDraft] = ()
) -> tuple[StoryDraft, ...]:
    """Mark stories that repeat an earlier one as verify-only, in working order, so that no circular dependency arises.

    If the earlier story did not build the behavior, the tests fail as usual and the later story builds it.
    """
    order = sort_by_dependencies(
        {each.key: each.depends_on for each in stories}, {s.key: (n,) for n, s in enumerate(stories)}
    )
    by_key = {story.key: story for story in stories}
    # Any story may name the requirements that apply to all stories.
    general = frozenset(each.id for each in prd.requirements if each.kind == "non_functional")
    builders = [each for each in earlier if not each.verify_only]
    for story in (by_key[key] for key in order if not by_key[key].verify_only):
        same = next((other for other in builders if is_same_story(general, other, story)), None)
        if same is None:
            builders.append(story)
        else:
            by_key[story.key] = _make_verify_only(story, same)
    return tuple(by_key[story.key] for story in stories)


def is_same_story(general: frozenset[str], one: StoryDraft, other: StoryDraft) -> bool:
    common = set(one.requirements) & set(other.requirements) - general
    if not common or UNTESTED_KINDS.intersection((one.kind, other.kind)):
        return False
    return compute_word_similarity(extract_words(one.title), extract_words(other.title)) >= SAME_TITLE


def _make_verify_only(story: StoryDraft, earlier: StoryDraft) -> StoryDraft:
    note = f"Verify only: «{earlier.title}» is planned to build this. Tests are written for it; no code is expected."
    return story.model_copy(
        update={
            "verify_only": True,
            "depends_on": tuple(dict.fromkeys((*story.depends_on, earlier.key))),
            "description": "\n".join(filter(None, (note, story.description))),
        }
    )


# --- the module structure that a PRD prescribes -----------------------------------------------------------------------

# A place such as `src/shop/points.py`, `shop/rules/` or `shop.points`, at the start of an entry or in backticks.
_QUOTED = re.compile(r"`([^`\s]{1,200})`")
_PLACE = re.compile(r"[A-Za-z_][\w-]*(?:[./][\w-]+)*/?")
_START = re.compile(rf"{_PLACE.pattern}(?![\w(])")  # not `Cart.pay(`, a method of the interface
_NO_CODE = (".md", ".rst", ".txt", ".toml", ".cfg", ".ini", ".yml", ".yaml", ".json", ".html", ".css", ".j2")


def parse_module_structure(prd: Prd) -> frozenset[str]:
    """Return the dotted names of the modules, or nothing if the PRD lists none."""
    return frozenset(path_to_module(place) for entry in prd.modules for place in _extract_places(entry))


def find_paths_outside_structure(prd: Prd, paths: Collection[str], there: Collection[str]) -> tuple[str, ...]:
    """Return the paths that neither exist nor belong to the module structure that the PRD prescribes."""
    structure = parse_module_structure(prd)
    if not structure:
        return ()
    return tuple(
        path for path in paths if path not in there and not path.endswith(_NO_CODE) and not _is_inside(path, structure)
    )


def _is_inside(path: str, structure: frozenset[str]) -> bool:
    """Return whether a path is one of the modules, below one, or the `__init__.py` of a package that contains one."""
    name = path_to_module(path)
    if not structure.isdisjoint(_iter_packages(name)):
        return True
    return path.endswith("__init__.py") and any(module.startswith(f"{name}.") for module in structure)


def path_to_module(path: str) -> str:
    """Convert `src/shop/points.py` to `shop.points`. A dotted name is unchanged."""
    plain = path.strip().removeprefix("./").removeprefix("src/").removesuffix(".py").removesuffix("/__init__")
    return plain.rstrip("/").replace("/", ".")


def _extract_places(entry: str) -> Iterator[str]:
    """Yield the quoted paths, or the start of the entry if it looks like a path or a dotted name."""
    quoted = [name for name in _QUOTED.findall(entry) if _PLACE.fullmatch(name)]
    if quoted:
        yield from quoted
        return
    first = _START.match(entry.strip())
    parts = re.split(r"[./]", first[0].rstrip("/")) if first else []
    if first and (len(parts) > 1 or first[0].endswith("/")) and all(len(part) > 1 for part in parts):
        yield first[0]


def _iter_packages(name: str) -> Iterator[str]:
    parts = name.split(".")
    yield from (".".join(parts[:n]) for n in range(1, len(parts) + 1))
