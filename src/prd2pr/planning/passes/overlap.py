"""Detect two stories for the same behavior. The later one only verifies what the earlier one builds."""

from __future__ import annotations

from collections.abc import Sequence

from prd2pr.domain.dependency_graph import sort_by_dependencies
from prd2pr.domain.records import UNTESTED_KINDS, Prd
from prd2pr.planning.passes.open_questions import compute_word_similarity, extract_words
from prd2pr.planning.plan import StoryDraft

# Titles with at least this share of common words name the same behavior.
SAME_TITLE = 0.75


def mark_verify_only(prd: Prd, stories: Sequence[StoryDraft]) -> tuple[StoryDraft, ...]:
    """Mark later duplicates as verify-only, in working order, so that no circular dependency arises.

    If the earlier story did not build the behavior, the tests fail as usual and the later story builds it.
    """
    order = sort_by_dependencies(
        {each.key: each.depends_on for each in stories}, {s.key: (n,) for n, s in enumerate(stories)}
    )
    by_key = {story.key: story for story in stories}
    # Any story may name the requirements that apply to all stories.
    general = frozenset(each.id for each in prd.requirements if each.kind == "non_functional")
    builders: list[StoryDraft] = []
    for key in order:
        story = by_key[key]
        earlier = next((other for other in builders if is_overlapping(general, other, story)), None)
        if earlier is None:
            builders.append(story)
        else:
            by_key[key] = _make_verify_only(story, earlier)
    return tuple(by_key[story.key] for story in stories)


def is_overlapping(general: frozenset[str], one: StoryDraft, other: StoryDraft) -> bool:
    """Return whether two stories overlap: a common specific requirement, and similar titles or the same files.

    The same files count only in different cycles: within one answer, two stories for one requirement in one file are
    meant as two behaviors.
    """
    common = set(one.requirements) & set(other.requirements) - general
    if not common or UNTESTED_KINDS.intersection((one.kind, other.kind)):
        return False
    if compute_word_similarity(extract_words(one.title), extract_words(other.title)) >= SAME_TITLE:
        return True
    same_files = bool(one.source_paths) and set(one.source_paths) == set(other.source_paths)
    return one.epic != other.epic and same_files and set(one.requirements) == set(other.requirements)


def _make_verify_only(story: StoryDraft, earlier: StoryDraft) -> StoryDraft:
    note = f"Verify only: «{earlier.title}» is planned to build this. Tests are written for it; no code is expected."
    return story.model_copy(
        update={
            "verify_only": True,
            "depends_on": tuple(dict.fromkeys((*story.depends_on, earlier.key))),
            "description": "\n".join(filter(None, (note, story.description))),
        }
    )
