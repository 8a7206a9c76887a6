"""Two stories for one thing: the later one only verifies what the earlier one builds."""

from __future__ import annotations

from collections.abc import Sequence

from prd2pr.core.graph import working_order
from prd2pr.core.passes.open_points import likeness, words
from prd2pr.core.plan import StoryDraft
from prd2pr.core.records import UNTESTED_KINDS, Prd

# From this share of common words on, two titles name the same behaviour.
SAME_TITLE = 0.75


def verified_only(prd: Prd, stories: Sequence[StoryDraft]) -> tuple[StoryDraft, ...]:
    """In working order, so that nothing can come to wait for itself. If it turns out that nothing was built yet, its
    tests fail as those of any story do, and it is built."""
    order = working_order({each.key: each.depends_on for each in stories}, {s.key: (n,) for n, s in enumerate(stories)})
    by_key = {story.key: story for story in stories}
    # What holds for every story may be named by any.
    general = frozenset(each.id for each in prd.requirements if each.kind == "non_functional")
    builders: list[StoryDraft] = []
    for key in order:
        story = by_key[key]
        earlier = next((other for other in builders if overlap(general, other, story)), None)
        if earlier is None:
            builders.append(story)
        else:
            by_key[key] = _verifying(story, earlier)
    return tuple(by_key[story.key] for story in stories)


def overlap(general: frozenset[str], one: StoryDraft, other: StoryDraft) -> bool:
    """The same requirement that is not general, and the same title; or, from two calls that did not know of each other,
    the same files.

    Within one answer two stories for one requirement in one file are two behaviours, and were meant so.
    """
    common = set(one.requirements) & set(other.requirements) - general
    if not common or UNTESTED_KINDS.intersection((one.kind, other.kind)):
        return False
    if likeness(words(one.title), words(other.title)) >= SAME_TITLE:
        return True
    same_files = bool(one.source_paths) and set(one.source_paths) == set(other.source_paths)
    return one.epic != other.epic and same_files and set(one.requirements) == set(other.requirements)


def _verifying(story: StoryDraft, earlier: StoryDraft) -> StoryDraft:
    said = f"Verify only: «{earlier.title}» is planned to build this. Tests are written for it; no code is expected."
    return story.model_copy(
        update={
            "verify_only": True,
            "depends_on": tuple(dict.fromkeys((*story.depends_on, earlier.key))),
            "description": "\n".join(filter(None, (said, story.description))),
        }
    )
