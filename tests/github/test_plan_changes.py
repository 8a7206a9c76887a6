"""What is published follows the plan: requirements without a story, issues of reused ids, titles."""

from __future__ import annotations

import json
import re

import pytest

from prd2pr.prd.restored_requirements import REMOVED_SENTENCE
from world import PRD

NO_FR2 = PRD.replace("- **FR-2** A number can be doubled.\n", "")


def do(world, text) -> None:
    world.comment(world.pull().number, text)
    acted = world.act()
    assert acted.status == 0, acted.output


@pytest.mark.slow
def test_uncovered_requirements_reused_ids_and_titles_follow_the_prd(planned):
    (issue,) = (row for row in planned.repo.issues.values() if row.title.startswith("calc-2:"))
    (tracking,) = (row for row in planned.repo.issues.values() if row.sub_issues)
    do(planned, "/backlog remove calc-2")
    assert issue.state == "closed"
    for place in (planned.status_comment().body, planned.pull().body):
        assert re.search(r"not covered[^\n]* FR-2\b", place, re.IGNORECASE), place
    do(planned, '/backlog add_story "Halve a number"')
    assert (issue.state, issue.title) == ("open", "calc-2: Halve a number")
    assert "Halve a number" in issue.body and "doubled" not in issue.body

    planned.push_prd("prds/calc.md", PRD.replace("A small calculator", "A tiny calculator"))
    planned.act()
    assert (planned.pull().title, tracking.title) == ("A tiny calculator", "prd2pr: A tiny calculator")
    planned.pull().title = "What wendy calls it"
    planned.push_prd("prds/calc.md", PRD.replace("A small calculator", "A minute calculator"))
    planned.act()
    assert (planned.pull().title, tracking.title) == ("What wendy calls it", "prd2pr: A minute calculator")


def asked_about_fr2(world) -> list[str]:
    before = len(world.comments())
    world.push_prd("prds/calc.md", NO_FR2)
    world.act()
    said = [row.body for row in world.comments()[before:] if "FR-2 (A number can be doubled.)" in row.body]
    world.tick()
    world.act()
    assert len([row for row in world.comments()[before:] if "FR-2 (A number" in row.body]) == len(said), "once"
    return said


@pytest.mark.slow
def test_removing_a_requirement_after_all_is_built_asks_for_a_decision(planned):
    do(planned, "/approve")
    (said,) = asked_about_fr2(planned)
    assert "calc-2" in said and '`/request_changes "take out' in said
    assert "Estimate" not in said


def test_removing_a_requirement_before_the_sprint_asks_for_a_decision(planned):
    do(planned, "/sprint plan")
    (said,) = asked_about_fr2(planned)
    assert "Nobody has begun calc-2" in said and said.rstrip().endswith("`/sprint start`"), said


@pytest.mark.slow
def test_a_requirement_added_again_is_built_by_its_former_story(planned, verify):
    for text in (NO_FR2, PRD):
        planned.push_prd("prds/calc.md", text)
        acted = planned.act()  # the planner would have no answer
        assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert planned.phases() == ["plan(calc)"] * 3
    backlog = json.loads(planned.show(".orch-state/prds/calc/backlog.json"))
    assert [story["id"] for story in backlog["stories"]] == ["calc-1", "calc-2"]
    assert not backlog.get("dropping") and not backlog.get("questions")
    assert REMOVED_SENTENCE not in planned.pull().body + planned.status_comment().body
    assert verify(planned)["all_proved"]


@pytest.mark.slow
def test_a_prd_changed_during_a_pause_is_planned_on_resume(started):
    do(started, "/sprint pause")
    started.push_prd("prds/calc.md", NO_FR2)
    started.act()
    assert started.phases()[-1] == "note(plan)", "nothing is planned while all is paused"
    do(started, "/sprint resume")
    line = next(row for row in started.status_comment().body.splitlines() if row.startswith("**Next:**"))
    assert "`/approve" in line and "plan(calc)" in started.phases()[4:]
    answers = len(started.answers())
    do(started, f"/approve{line.rpartition('`/approve')[2].partition('`')[0]}")
    assert len(started.answers()) == answers
