"""progress.md: where a PRD stands, for whoever opens the state's directory."""

from __future__ import annotations

from prd2pr.core.records import Backlog, Prd, Status
from prd2pr.core.wording import plain

WORDS = {"backlog": "waiting", "sprint": "waiting", "in_progress": "under way", "done": "integrated"}


def progress_text(prd: Prd, backlog: Backlog, status: Status) -> str:
    done = sum(story.status == "done" for story in backlog.stories)
    rows = "".join(
        f"| {story.id} | {plain(story.title).replace('|', ' ')} | {WORDS.get(story.status, story.status)} |\n"
        for story in backlog.stories
    )
    return (
        f"# {plain(prd.title)}\n\n{done} of {len(backlog.stories)} stories are integrated. State: {status.state}.\n\n"
        f"| story | title | status |\n|---|---|---|\n{rows}"
    )
