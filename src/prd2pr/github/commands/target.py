"""Find the story that a command refers to: the one it names, or by default the blocked or current one."""

from __future__ import annotations

from prd2pr.domain.records import SETTLED, Story
from prd2pr.github.commands.request import CommandRequest, CommandResult
from prd2pr.github.messages.replies import NotNow
from prd2pr.planning.decisions.stories import find_current_story
from prd2pr.state.store import BranchState

# Commands about one story that default to the current story.
CURRENT_STORY_COMMANDS = frozenset(
    f"tdd {name}"
    for name in (
        *("abort", "skip_phase", "retry", "pause", "undo", "design", "test", "code", "refactor"),
        *("commit-tests", "commit-code", "commit-refactor", "commit"),
    )
)


def resolve_stories(state: BranchState, name: str, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the story ids as spelled in the backlog. Unknown ids are kept, so that the handler can reject them."""
    if given:
        known = {story.id.lower(): story.id for story in state.backlog.stories}
        return tuple(dict.fromkeys(known.get(each.lower(), each) for each in given))
    found: Story | None = None
    if name == "suggest_fix":
        found = find_blocked_story(state, out_of_attempts=True)
    elif name == "skip_task":
        found = find_blocked_story(state)
    elif name == "tdd resume" and not state.status.halted:
        found = find_paused_story(state) or find_current_story(state.backlog)
    elif name in CURRENT_STORY_COMMANDS:
        found = (find_blocked_story(state) if name == "tdd retry" else None) or find_current_story(state.backlog)
    return (found.id,) if found else ()


def find_blocked_story(state: BranchState, *, out_of_attempts: bool = False) -> Story | None:
    blocked = (story for story in state.backlog.stories if story.status == "blocked")
    if not out_of_attempts:
        return next(blocked, None)
    return next((story for story in blocked if (cycle := state.cycle(story.id)) and cycle.blocked), None)


def find_paused_story(state: BranchState) -> Story | None:
    started = set(state.cycle_ids)
    stories = (story for story in state.backlog.stories if story.id in started and story.status not in SETTLED)
    return next((story for story in stories if (cycle := state.cycle(story.id)) and cycle.paused), None)


def find_target_story(state: BranchState, request: CommandRequest) -> str | CommandResult:
    """Return the story that the command refers to, or a reply if there is none."""
    stories = resolve_stories(state, request.command.name, request.command.stories)
    if stories:
        return stories[0]
    return CommandResult(state.commit, NotNow(request.command.shown, "there is no story that it could apply to"))
