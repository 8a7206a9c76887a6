"""Pass 4: hints for complex stories. They are optional, so invalid hints are dropped."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from prd2pr.domain.records import UNTESTED_KINDS, Prd
from prd2pr.planning.passes.drafts import HintDraft, HintsDraft
from prd2pr.planning.passes.module_structure import find_paths_outside_structure, path_to_module
from prd2pr.planning.plan import PlanDraft, PlanLimits, StoryDraft, check_plan

# Medium and high complexity; for simpler stories the design is enough.
HINTED_COMPLEXITY = 4
MAX_PATHS = PlanLimits().source_paths


def select_hinted_stories(stories: Sequence[StoryDraft]) -> tuple[StoryDraft, ...]:
    return tuple(
        story
        for story in stories
        if story.complexity >= HINTED_COMPLEXITY and story.kind not in UNTESTED_KINDS and not story.verify_only
    )


def apply_hints(prd: Prd, story: StoryDraft, draft: HintsDraft, there: Collection[str]) -> StoryDraft:
    hint = next((each for each in draft.stories if each.story.strip() == story.key), None)
    if hint is None:
        return story
    paths = select_usable_paths(prd, hint, there)
    return story.model_copy(
        update={
            "module": " ".join(hint.module.split()) or _first_module(paths) or story.module,
            "interface": hint.interface.strip(),
            "source_paths": paths or story.source_paths,
            "test_ideas": tuple(dict.fromkeys(" ".join(idea.split()) for idea in hint.test_ideas if idea.strip())),
        }
    )


def _first_module(paths: tuple[str, ...]) -> str:
    return next((path_to_module(path) for path in paths if path.endswith(".py")), "")


def select_usable_paths(prd: Prd, hint: HintDraft, there: Collection[str]) -> tuple[str, ...]:
    """Return all paths of the hint, or none if one of them is invalid."""
    paths = tuple(dict.fromkeys(hint.source_paths))
    tried = PlanDraft(stories=(StoryDraft(key="x", title="x", source_paths=paths),))
    wrong = {problem.code for problem in check_plan(prd, tried)} & {"PLN110", "PLN111", "PLN112"}
    return () if wrong or find_paths_outside_structure(prd, paths, there) else paths
