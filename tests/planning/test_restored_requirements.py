"""A requirement that is removed from the PRD and restored: planned once, and asked about only while it is missing."""

from __future__ import annotations

import pytest

from planning.samples import functional, prd_of
from prd2pr.planning.plan import CriterionDraft, PlanDraft, StoryDraft, to_backlog
from prd2pr.planning.plan_diff import build_replanned_backlog, compute_plan_change, find_replan_violations
from prd2pr.prd.requirement_ids import get_requirement_key
from prd2pr.prd.restored_requirements import find_reappeared_keys

PRD = prd_of(functional(3))
LESS = prd_of("\n".join(line for line in functional(3).splitlines() if "FR-3" not in line) + "\n")
EARLIER = {get_requirement_key(each.id): each for each in PRD.requirements}
PLAN = PlanDraft(
    stories=tuple(
        StoryDraft(key=f"s{n}", title=f"Story {n}", requirements=(f"FR-{n}",), criteria=(CriterionDraft(text="a"),))
        for n in (1, 2, 3)
    ),
    questions=("Is there tax?",),
)


def without_fr3(begun: frozenset[str]):
    before = to_backlog(PRD, PLAN)
    return build_replanned_backlog(LESS, before, compute_plan_change(PRD, before, LESS, begun), None, drop=False)


@pytest.mark.parametrize("begun", [frozenset(), frozenset({"shop-3"})])
def test_unchanged_restored_requirement_is_served_by_its_story(begun) -> None:
    gone = without_fr3(begun)
    assert "FR-3" in gone.questions[-1] and gone.dropping == (() if begun else ("shop-3",))
    assert find_reappeared_keys(LESS, gone, PRD) == {get_requirement_key("FR-3")}
    change = compute_plan_change(LESS, gone, PRD, begun, EARLIER)
    assert not change.needs_planner and change.wanted_again == ("shop-3",)
    after = build_replanned_backlog(PRD, gone, change, None, drop=False)
    assert (after.stories, after.questions, after.dropping) == (gone.stories, ("Is there tax?",), ())
    assert list(find_replan_violations(PRD, gone, change, after)) == []
    stale = after.model_copy(update={"questions": gone.questions})
    assert [
        what
        for what in find_replan_violations(PRD, gone, change, stale)
        if "removed requirement that the PRD has" in what
    ]
    if not begun:
        assert list(find_replan_violations(PRD, gone, change, after.model_copy(update={"dropping": ("shop-3",)})))


def test_changed_or_dropped_restored_requirement_is_planned_again() -> None:
    gone = without_fr3(frozenset())
    other = prd_of(functional(3).replace("thing 3", "another thing"))
    assert compute_plan_change(LESS, gone, other, frozenset(), EARLIER).needs_planner
    skipped = [s.model_copy(update={"status": "skipped"}) if s.id == "shop-3" else s for s in gone.stories]
    dropped = gone.model_copy(update={"stories": tuple(skipped), "dropping": ()})
    change = compute_plan_change(LESS, dropped, PRD, frozenset(), EARLIER)
    assert change.needs_planner and not change.wanted_again
    (first,) = (story for story in gone.stories if story.id == "shop-3")
    both = dropped.model_copy(update={"stories": (*skipped, first.model_copy(update={"id": "shop-4"}))})
    assert compute_plan_change(LESS, both, PRD, frozenset({"shop-4"}), EARLIER).needs_planner, (
        "its last words were not built"
    )
