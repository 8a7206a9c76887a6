"""`progress.md`: counts, the last run, completed work, and the next story with its test steps."""

from __future__ import annotations

from prd2pr.domain.records import Backlog, Criterion, Prd, ProjectState, Status, Story
from prd2pr.views.progress import is_progress, render_earlier_progress, render_progress

PRD = Prd(id="shop", title="Loyalty points", path="prds/shop.md")
STATUS = Status(state=ProjectState.SPRINT_ACTIVE)
STORIES = (
    Story(id="shop-1", epic="e", title="Earn points", status="done"),
    Story(id="shop-2", epic="e", title="Redeem points", status="blocked"),
    Story(
        id="shop-3",
        epic="e",
        title="Expire points",
        description="After a year.",
        status="backlog",
        criteria=(Criterion(id="shop-3.c1", text="Points of 366 days are gone"),),
    ),
)
BACKLOG = Backlog(stories=STORIES)
EXPECTED = """# Loyalty points

## Current status

- Done: 1 story
- In progress: 0 stories
- Todo: 1 story
- Blocked: 1 story
- State: SPRINT_ACTIVE

## Last run (2026-03-01)

- Completed: shop-1 - Earn points
- Working on: nothing

## Completed work

- shop-1 - Earn points

## Next priority

- Story: shop-3 - Expire points
- Description: After a year.
- Test steps:
  1. Points of 366 days are gone
"""


def test_the_page_names_what_is_done_and_what_comes_next() -> None:
    assert render_progress(PRD, BACKLOG, STATUS, "2026-03-01T10:00:00Z") == EXPECTED


def test_a_finished_plan_has_no_next_priority() -> None:
    text = render_progress(PRD, Backlog(stories=STORIES[:1]), STATUS)
    assert text.endswith("## Next priority\n\nNothing: every story is finished.\n")


def test_only_the_date_is_free_and_earlier_branches_are_accepted() -> None:
    for text in (
        EXPECTED,
        EXPECTED.replace("2026-03-01", "2027-01-31"),
        EXPECTED.replace(" (2026-03-01)", ""),
        render_earlier_progress(PRD, BACKLOG, STATUS),
    ):
        assert is_progress(text.encode(), PRD, BACKLOG, STATUS)
    for old, new in (("Done: 1", "Done: 2"), ("2026-03-01", "2026-03-01) - by me ("), ("shop-3 -", "shop-2 -")):
        assert not is_progress(EXPECTED.replace(old, new).encode(), PRD, BACKLOG, STATUS)
    assert not is_progress(None, PRD, BACKLOG, STATUS)
