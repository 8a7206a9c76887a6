"""PRD text that changes during the work: unreadable on the base, a label removed, an issue labelled again."""

from __future__ import annotations

import pytest

from github_world import GitHubWorld
from world import PRD

BROKEN = PRD.replace("id: calc", "id: [calc")
UNREADABLE = "`prds/calc.md` can no longer be read on main"
TEXT = PRD.partition("# A small calculator\n")[2]
NEW_TEXT = f"{TEXT}\nThe same, in other words.\n"  # no requirement changed, so the planner is not asked


@pytest.mark.slow
def test_an_unreadable_prd_is_reported_and_nothing_is_built_until_it_is_fixed(started):
    number = started.pull().number
    before = started.phases()
    started.push_prd("prds/calc.md", BROKEN)
    acted = started.act()
    assert acted.outputs["outcome"] == "refused", acted.output
    said = started.status_comment(number).body
    assert UNREADABLE in said, said
    started.comment(number, "/tdd next", by="wendy")
    assert started.act().outputs["outcome"] == "refused"
    assert started.phases() == before
    started.push_prd("prds/calc.md", PRD)
    assert started.act().status == 0
    assert UNREADABLE not in started.status_comment(number).body
    started.comment(number, "/tdd next", by="wendy")
    assert started.act().status == 0
    assert started.phases() == [*before, "design(calc-1)"]


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("close", "the issue was closed"),
        pytest.param("unlabel", "the label `prd2pr` was removed", marks=pytest.mark.slow),
    ],
)
def test_an_issue_withdrawn_before_its_run_is_not_planned(new, what, reason):
    world = new()
    world.open_issue("A small calculator", TEXT)
    world.pending.clear()
    world.label(1, "prd2pr")
    _ = world.unlabel(1, "prd2pr") if what == "unlabel" else world.close(1)
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), acted.output
    assert f": {reason}." in acted.out and "#1 " in acted.out
    assert set(world.bare.heads()) == {"main"}


def relabelled(new, author) -> GitHubWorld:
    """A planned issue whose text changed and which was labelled again, but that run never started."""
    world = new(branch="prd2pr/issue-1")
    world.answers_of_model["issue-1/plan/planner/1/1"] = world.answers_of_model["calc/plan/planner/1/1"]
    world.open_issue("A small calculator", TEXT, by=author)
    world.label(1, "prd2pr", by="ada")
    acted = world.act(world.pending[-1])
    assert acted.outputs["outcome"] == "waiting", acted.output
    with world.fake.lock:
        world.repo.issues[1].body = NEW_TEXT
    world.unlabel(1, "prd2pr")
    world.label(1, "prd2pr", by="ada")
    with world.fake.lock:  # a run here is faster than the one-second resolution of GitHub's times
        world.repo.issues[1].labelled[-1].at = world.fake.stamp(world.fake.now() + 2)
    world.pending.clear()
    return world


def test_the_new_text_of_an_issue_is_planned_by_the_next_run(new):
    world = relabelled(new, "wendy")
    world.tick()
    acted = world.act()
    assert acted.status == 0, acted.output
    assert world.phases() == ["plan(issue-1)", "plan(issue-1)"]
    assert "in other words" in world.show("prds/issue-1.md")
    world.tick()
    assert world.act().outputs["outcome"] == "nothing-to-do"
    assert len(world.phases()) == 2


@pytest.mark.slow
def test_the_old_plan_is_not_built_when_the_labelled_text_is_unknown(new):
    world = relabelled(new, "nobody")
    world.comment(1, "/approve", by="wendy")
    acted = world.act()
    said = world.status_comment(world.pull().number).body
    assert "The issue was labeled again" in said, acted.output
    assert "remove the label `prd2pr` and add it again" in said
    assert [phase for phase in world.phases() if not phase.startswith(("plan", "note"))] == []
    assert "in other words" not in world.show("prds/issue-1.md")
