"""Render `progress.md` in the state directory: a summary of the progress, for people and for the next run.

`verify` renders it again and compares it byte by byte. `render_earlier_progress` renders it as earlier versions did;
its wording must not change, because existing branches contain it.
"""

from __future__ import annotations

import re

from prd2pr.domain.records import SETTLED, Backlog, Prd, Status, Story
from prd2pr.domain.wording import clean_line, clip, count

STATUS_LABELS = {"backlog": "waiting", "sprint": "waiting", "in_progress": "under way", "done": "integrated"}
LAST_RUN = re.compile(rb"^## Last run \(([0-9]{4}-[0-9]{2}-[0-9]{2})\)$", re.MULTILINE)
MAX_DESCRIPTION = 400
MAX_STEPS = 10


def render_progress(prd: Prd, backlog: Backlog, status: Status, day: str = "") -> str:
    """Render the page. `day` is the date of the change that it belongs to, if that is known."""
    stories = backlog.stories
    done = [story for story in stories if story.status == "done"]
    working = [story for story in stories if story.status == "in_progress"]
    counts = {
        "Done": len(done),
        "In progress": len(working),
        "Todo": sum(story.status in ("backlog", "sprint") for story in stories),
        "Blocked": sum(story.status == "blocked" for story in stories),
        "Skipped": sum(story.status == "skipped" for story in stories),
    }
    kept = {name: number for name, number in counts.items() if number or name in ("Done", "In progress", "Todo")}
    sections = [
        f"# {clean_line(prd.title)}",
        "## Current status",
        "\n".join(
            [*(f"- {name}: {count(number, 'story')}" for name, number in kept.items()), f"- State: {status.state}"]
        ),
        f"## Last run ({day[:10]})" if day else "## Last run",
        "\n".join(
            [
                f"- Completed: {format_story_name(done[-1]) if done else 'nothing yet'}",
                f"- Working on: {format_story_name(working[0]) if working else 'nothing'}",
                *([f"- Notes: {clip(clean_line(status.blocked_reason), 300)}"] if status.blocked_reason else []),
            ]
        ),
        "## Completed work",
        "\n".join(f"- {format_story_name(story)}" for story in done) or "Nothing yet.",
        "## Next priority",
        describe_next_story(stories),
    ]
    return "\n\n".join(sections) + "\n"


def describe_next_story(stories: tuple[Story, ...]) -> str:
    """Describe the story to work on next, with its criteria as test steps."""
    following = [story for story in stories if story.status not in SETTLED]
    if not following:
        return "Nothing: every story is finished."
    story = min(following, key=lambda each: (each.status == "blocked", each.status != "in_progress"))
    steps = [
        f"  {n}. {clip(clean_line(criterion.text), MAX_DESCRIPTION)}"
        for n, criterion in enumerate(story.criteria[:MAX_STEPS], 1)
    ]
    return "\n".join(
        [
            f"- Story: {format_story_name(story)}",
            f"- Description: {clip(clean_line(story.description), MAX_DESCRIPTION) or 'none'}",
            "- Test steps:" if steps else "- Test steps: none",
            *steps,
        ]
    )


def format_story_name(story: Story) -> str:
    return f"{story.id} - {clean_line(story.title)}"


def is_progress(data: bytes | None, prd: Prd | None, backlog: Backlog, status: Status) -> bool:
    """Return whether the file agrees with the records. Its date is not checked."""
    if data is None or prd is None:
        return not data and prd is None
    found = LAST_RUN.search(data)
    expected = render_progress(prd, backlog, status, found[1].decode() if found else "")
    return data in (expected.encode(), render_earlier_progress(prd, backlog, status).encode())


def render_earlier_progress(prd: Prd, backlog: Backlog, status: Status) -> str:
    done = sum(story.status == "done" for story in backlog.stories)
    rows = "".join(
        f"| {story.id} | {clean_line(story.title).replace('|', ' ')} | "
        f"{STATUS_LABELS.get(story.status, story.status)} |\n"
        for story in backlog.stories
    )
    return (
        f"# {clean_line(prd.title)}\n\n{done} of {len(backlog.stories)} stories are integrated. "
        f"State: {status.state}.\n\n"
        f"| story | title | status |\n|---|---|---|\n{rows}"
    )
