"""Render `progress.md` in the state directory.

Do not change the wording: `verify` compares the file byte by byte on existing branches.
"""

from __future__ import annotations

from prd2pr.domain.records import Backlog, Prd, Status
from prd2pr.domain.wording import clean_line

STATUS_LABELS = {"backlog": "waiting", "sprint": "waiting", "in_progress": "under way", "done": "integrated"}


def render_progress(prd: Prd, backlog: Backlog, status: Status) -> str:
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
