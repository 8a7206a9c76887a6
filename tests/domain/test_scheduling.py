"""Which stories run in parallel, and how their records are merged."""

from __future__ import annotations

import pytest

from prd2pr.domain.breakers.records import Circuit, Circuits
from prd2pr.domain.machines.branch_records import BranchRecords
from prd2pr.domain.machines.next_action import ActionContext
from prd2pr.domain.records import Backlog, Cursor, Cycle, CycleState, Phase, Prd, ProjectState, Status, Step, Story
from prd2pr.domain.scheduling import compute_pool_size, find_first_in_plan, find_startable_stories
from prd2pr.state.layout import PrdLayout
from prd2pr.workflow.record_merge import (
    JoinSide,
    JoinSides,
    find_join_conflict,
    find_trunk_decision,
    is_own_path,
    merge_circuits,
    merge_statuses,
)


def story(name: str, **more: object) -> Story:
    return Story.model_validate({"id": name, "epic": "E1", "title": name, **more})


def view(*stories: Story, cycles: dict[str, Cycle] | None = None) -> ActionContext:
    known = cycles or {}
    prd = Prd(id="p", title="P", path="prds/p.md")
    status = Status(state=ProjectState.SPRINT_ACTIVE)
    return ActionContext(BranchRecords(prd, status, Backlog(stories=stories), known.get))


def names(found: tuple[Story, ...]) -> list[str]:
    return [each.id for each in found]


def test_independent_stories_with_different_files_run_in_parallel() -> None:
    here = view(
        story("a", source_paths=("src/a.py",)),
        story("b", source_paths=("src/b.py",)),
        story("c", source_paths=("src/a.py",)),
        story("d", depends_on=("a",), source_paths=("src/d.py",)),
    )
    assert names(find_startable_stories(here, ())) == ["a", "b"]
    assert names(find_startable_stories(here, ["a"])) == ["b"], "c plans to touch a's file"
    assert names(find_startable_stories(here, ["b"], skipped=["a"])) == ["c"]


def test_same_module_conflicts_and_unknown_paths_do_not() -> None:
    here = view(story("a", module="shop.cart"), story("b", module="shop.cart"), story("c"), story("d"))
    assert names(find_startable_stories(here, ())) == ["a", "c", "d"]


def test_design_paths_override_the_plan() -> None:
    cycle = Cycle.model_validate({"story": "a", "design": {"summary": "x", "source_paths": ["src/b.py"]}})
    here = view(story("a"), story("b", source_paths=("src/b.py",)), cycles={"a": cycle})
    assert names(find_startable_stories(here, ["a"])) == []


def test_verifying_story_waits_for_the_building_story() -> None:
    twins = (story("a", requirements=("FR-1",)), story("b", requirements=("FR-1",), verify_only=True))
    assert names(find_startable_stories(view(*twins), ())) == ["a"]
    assert names(find_startable_stories(view(twins[0].model_copy(update={"status": "done"}), twins[1]), ())) == ["b"]


def test_paused_or_blocked_story_is_not_started() -> None:
    paused = Cycle(story="a", paused=True)
    assert names(find_startable_stories(view(story("a"), story("b", status="blocked"), cycles={"a": paused}), ())) == []


@pytest.mark.parametrize(("asked", "cores", "made"), [(1, 8, 1), (3, 1, 3), (0, 2, 2), (0, 32, 4), (500, 2, 64)])
def test_number_of_stories_is_limited(asked: int, cores: int, made: int) -> None:
    assert compute_pool_size(asked, cores) == made


def test_stories_are_chosen_in_plan_order() -> None:
    assert find_first_in_plan(["c", "b"], {"a": 0, "b": 1, "c": 2}) == "b"
    assert find_first_in_plan([], {}) == ""


# --- merged records ---------------------------------------------------------------------------------------------------

STEP = Step(n=1, phase=Phase.DESIGN, at="2030-01-01T00:00:00Z", code_tree="t", evidence="e")
GOING = Cycle(story="a", state=CycleState.REFACTOR, steps=(STEP,))


def side(status: str = "backlog", cycle: Cycle | None = None, **more: object) -> JoinSide:
    circuits = more.get("circuits", Circuits())
    assert isinstance(circuits, Circuits)
    backlog = Backlog(stories=(story("a", status=status), story("b")))
    return JoinSide(backlog, Status(state=ProjectState.SPRINT_ACTIVE), circuits, cycle)


def test_mergeable_records() -> None:
    assert find_join_conflict(JoinSides("a", side(), side(), side("in_progress", GOING))) == ""


@pytest.mark.parametrize(
    ("ours", "theirs", "why"),
    [
        (side("done", GOING), side("in_progress", GOING), "a is now done"),
        (side("skipped"), side("in_progress", GOING), "a is now skipped"),
        (side("backlog", Cycle(story="a", paused=True)), side("in_progress", GOING), "a decision about a"),
        (side(), side("done", GOING), "a is not in progress"),
        (side(), side("in_progress"), "a is not in progress"),
        (side(), side("in_progress", Cycle(story="a", state=CycleState.COMMIT)), "a is not in progress"),
    ],
)
def test_conflicting_records(ours: JoinSide, theirs: JoinSide, why: str) -> None:
    assert why in find_join_conflict(JoinSides("a", side(), ours, theirs))


def test_story_with_a_new_priority_or_issue_is_the_same_story() -> None:
    ours = JoinSide(Backlog(stories=(story("a", priority=1, issue=7), story("b"))), Status(), Circuits(), None)
    theirs = side("in_progress", GOING)
    assert find_trunk_decision(JoinSides("a", side(), ours, theirs)) == ""
    renamed = JoinSide(Backlog(stories=(story("a", description="other"), story("b"))), Status(), Circuits(), None)
    assert "plan of a has changed" in find_trunk_decision(JoinSides("a", side(), renamed, theirs))


def test_merged_status_drops_used_advice_and_keeps_the_latest_cursor() -> None:
    advised = Status(state=ProjectState.SPRINT_ACTIVE, advice="round up", cursors=(Cursor(number=1, comment=5),))
    left, ours = side(), side()
    left, ours = (JoinSide(each.backlog, advised, each.circuits, each.cycle) for each in (left, ours))
    heeded = Status(state=ProjectState.SPRINT_ACTIVE, cursors=(Cursor(number=1, comment=4),))
    theirs = JoinSide(side("in_progress").backlog, heeded, Circuits(), GOING)
    joined = merge_statuses(JoinSides("a", left, ours, theirs))
    assert (joined.advice, joined.cursors) == ("", advised.cursors), "a cursor never goes back"


def test_a_blocked_story_blocks_the_project() -> None:
    stuck = GOING.model_copy(update={"blocked": "green was refused 3 times"})
    joined = merge_statuses(JoinSides("a", side(), side(), side("blocked", stuck)))
    assert (joined.state, joined.blocked_reason) == (ProjectState.BLOCKED, "a: green was refused 3 times")


def test_breakers_are_merged_and_the_worse_state_wins() -> None:
    def circuits(*made: Circuit) -> JoinSide:
        return side(circuits=Circuits(circuits=made))

    red, push = Circuit(name="red", level="stage", failures=1), Circuit(name="push", level="stage", failures=2)
    flapping = Circuit(name="red", level="stage", failures=1, opened_at="2030-01-01T00:00:00Z", by_hand=True)
    assert merge_circuits(JoinSides("a", side(), circuits(push), circuits(red))).circuits == (push, red)
    more = red.model_copy(update={"failures": 2})
    assert merge_circuits(JoinSides("a", side(), circuits(flapping), circuits(more))).circuits == (flapping,)
    assert merge_circuits(JoinSides("a", circuits(red), circuits(), circuits(red))).circuits == (), "reset by a person"


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("tdd/cycles/a.json", True),
        ("tdd/cycles/b.json", False),
        ("tdd/evidence/a/1-red.json", True),
        ("tdd/evidence/ab/1-red.json", False),
        ("runs/x.json", True),
        ("sprints/s1.json", False),
        ("pipeline/review.json", False),
        ("pipeline/a/review.json", True),
        ("prd.json", False),
    ],
)
def test_records_that_a_story_may_change(path: str, own: bool) -> None:
    layout = PrdLayout("p")
    assert is_own_path(layout, "a", f"{layout.root}/{path}") is own
