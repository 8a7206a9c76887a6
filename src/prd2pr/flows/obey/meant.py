"""What a command is about: a story in any spelling, or, where none is named, the blocked one or the one under way."""

from __future__ import annotations

from prd2pr.core.effects.stories import current_story
from prd2pr.core.records import SETTLED, Story
from prd2pr.repo.store import BranchState

# Commands about one story, which may be left out.
ABOUT_THE_CURRENT_STORY = frozenset(
    f"tdd {name}"
    for name in (
        *("abort", "skip_phase", "retry", "pause", "undo", "design", "test", "code", "refactor"),
        *("commit-tests", "commit-code", "commit-refactor", "commit"),
    )
)


def stories_meant(state: BranchState, name: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """In the backlog's own spelling; what it does not know stays as it was written, and is objected to."""
    if given:
        known = {story.id.lower(): story.id for story in state.backlog.stories}
        return tuple(dict.fromkeys(known.get(each.lower(), each) for each in given))
    found: Story | None = None
    if name == "suggest_fix":
        found = blocked_story(state, out_of_attempts=True)
    elif name == "skip_task":
        found = blocked_story(state)
    elif name == "tdd resume" and not state.status.halted:
        found = paused_story(state) or current_story(state.backlog)
    elif name in ABOUT_THE_CURRENT_STORY:
        found = (blocked_story(state) if name == "tdd retry" else None) or current_story(state.backlog)
    return (found.id,) if found else ()


def blocked_story(state: BranchState, *, out_of_attempts: bool = False) -> Story | None:
    blocked = (story for story in state.backlog.stories if story.status == "blocked")
    if not out_of_attempts:
        return next(blocked, None)
    return next((story for story in blocked if (cycle := state.cycle(story.id)) and cycle.blocked), None)


def paused_story(state: BranchState) -> Story | None:
    begun = set(state.cycle_ids)
    stories = (story for story in state.backlog.stories if story.id in begun and story.status not in SETTLED)
    return next((story for story in stories if (cycle := state.cycle(story.id)) and cycle.paused), None)
