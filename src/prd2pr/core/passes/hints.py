"""Pass 4: hints for the harder stories. They help and bind nobody, so what is wrong in them is left out."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from prd2pr.core.passes.drafts import HintDraft, HintsDraft
from prd2pr.core.passes.modules import module_of, outside
from prd2pr.core.plan import PlanDraft, PlanLimits, StoryDraft, check_plan
from prd2pr.core.records import UNTESTED_KINDS, Prd

# Medium and high; below it the design that every story gets anyway is enough.
HINTED_COMPLEXITY = 4
MOST_PATHS = PlanLimits().source_paths


def hinted(stories: Sequence[StoryDraft]) -> tuple[StoryDraft, ...]:
    return tuple(
        story
        for story in stories
        if story.complexity >= HINTED_COMPLEXITY and story.kind not in UNTESTED_KINDS and not story.verify_only
    )


def with_hints(prd: Prd, story: StoryDraft, draft: HintsDraft, there: Collection[str]) -> StoryDraft:
    hint = next((each for each in draft.stories if each.story.strip() == story.key), None)
    if hint is None:
        return story
    paths = usable_paths(prd, hint, there)
    return story.model_copy(
        update={
            "module": " ".join(hint.module.split()) or _module(paths) or story.module,
            "interface": hint.interface.strip(),
            "source_paths": paths or story.source_paths,
            "test_ideas": tuple(dict.fromkeys(" ".join(idea.split()) for idea in hint.test_ideas if idea.strip())),
        }
    )


def _module(paths: tuple[str, ...]) -> str:
    return next((module_of(path) for path in paths if path.endswith(".py")), "")


def usable_paths(prd: Prd, hint: HintDraft, there: Collection[str]) -> tuple[str, ...]:
    """All of them, or none: half of a list would be a hint of its own."""
    paths = tuple(dict.fromkeys(hint.source_paths))
    tried = PlanDraft(stories=(StoryDraft(key="x", title="x", source_paths=paths),))
    wrong = {problem.code for problem in check_plan(prd, tried)} & {"PLN110", "PLN111", "PLN112"}
    return () if wrong or outside(prd, paths, there) else paths
