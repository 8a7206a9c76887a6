"""A failed plan is paid for once: the schedule does not retry it, a command or a new text does."""

from __future__ import annotations

import pytest

from world import PLAN, PRD, say

TRIPLE = {
    "key": "S9", "epic": "", "title": "Triple a number", "description": "As a user I triple numbers.",
    "kind": "feature", "criteria": [{"text": "4 gives 12", "example": "triple(4) == 12"}],
    "depends_on": ["calc-2"], "complexity": 1, "estimate_minutes": 5, "requirements": ["FR-3"],
    "module": "calc.sums", "interface": "triple(a)", "source_paths": ["src/calc/sums.py"], "test_paths": [],
}  # fmt: skip
WITH_TRIPLE = f"{PRD}- **FR-3** A number can be tripled.\n"
PLAN_FAILED = "planning the current version of `prds/calc.md` failed"
NO_STORIES = say({**PLAN, "stories": []})  # the transcript has no second attempt


def test_a_failed_first_plan_is_not_retried_by_the_schedule(new):
    world = new()
    good = world.answers_of_model["calc/plan/planner/1/1"]
    world.answers_of_model["calc/plan/planner/1/1"] = NO_STORIES
    world.push_prd("prds/calc.md", PRD)
    assert world.act().outputs["outcome"] == "error"
    (told,) = world.checks()
    assert (told.name, told.conclusion) == ("prd2pr / plan(calc)", "neutral")
    assert "no automatic retry" in told.summary and "change `prds/calc.md`" in told.summary
    world.answers_of_model["calc/plan/planner/1/1"] = good
    world.tick()
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), acted.output
    assert PLAN_FAILED in acted.out
    assert set(world.bare.heads()) == {"main"}
    world.dispatch(by="ada", prd="calc")
    assert world.act().outputs["outcome"] == "waiting"
    assert world.phases() == ["plan(calc)"]


@pytest.mark.slow
def test_a_failed_issue_plan_is_reported_once_and_retried_on_relabelling(new):
    world = new(branch="prd2pr/issue-1")
    good = world.answers_of_model["calc/plan/planner/1/1"]
    world.answers_of_model["issue-1/plan/planner/1/1"] = NO_STORIES
    world.open_issue("A small calculator", PRD.partition("# A small calculator\n")[2])
    world.label(1, "prd2pr")
    del world.pending[0]
    assert world.act().outputs["outcome"] == "error"
    world.answers_of_model["issue-1/plan/planner/1/1"] = good
    world.tick()
    assert world.act().outputs["outcome"] == "nothing-to-do"
    (told,) = world.comments(1)
    assert "no automatic retry" in told.body and "the label" in told.body
    world.unlabel(1, "prd2pr")
    world.label(1, "prd2pr")
    del world.pending[0]
    assert world.act().outputs["outcome"] == "waiting"
    assert world.phases() == ["plan(issue-1)"]


@pytest.mark.slow
def test_a_failed_replan_builds_nothing_and_an_order_plans_again(started):
    number = started.pull().number
    before = started.phases()
    started.answers_of_model["calc/plan-2/planner/1/1"] = say({"stories": []})
    started.push_prd("prds/calc.md", WITH_TRIPLE)
    assert started.act().outputs["outcome"] == "error"
    (told,) = [row.body for row in started.comments(number) if "no automatic retry" in row.body]
    assert "comment `/tdd next`" in told
    assert [row.body for row in started.comments(number) if "<!-- prd2pr:waiting:" in row.body] == [told]
    started.answers_of_model["calc/plan-2/planner/1/1"] = say({"stories": [TRIPLE]})
    started.comment(number, "/tdd status", by="wendy")
    started.tick()
    assert [acted.status for acted in started.settle()] == [0, 0]
    assert started.phases() == before
    assert PLAN_FAILED in started.status_comment(number).body.lower()
    started.comment(number, "/tdd next", by="wendy")
    acted = started.act()
    assert acted.status == 0, acted.output
    assert "plan(calc): the PRD changed: 1 new, 2 kept" in started.subjects()
    assert PLAN_FAILED not in started.status_comment(number).body.lower()
