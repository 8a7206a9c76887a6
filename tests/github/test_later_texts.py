"""A PRD that is pushed while a run is at work: whoever is slower plans what it says now, never what it said before."""

from __future__ import annotations

import threading

import pytest

from fakes.github.faults import Calls
from world import PLAN, PRD, say

pytestmark = pytest.mark.slow

PUSH = "POST */git-receive-pack"
TRIPLE = {
    **PLAN["stories"][1],
    "key": "S9",
    "epic": "",
    "title": "Triple a number",
    "criteria": [{"text": "4 gives 12", "example": "triple(4) == 12"}],
    "depends_on": ["calc-2"],
    "requirements": ["FR-3"],
    "interface": "triple(a)",
}
TRIPLED = PRD + "- **FR-3** A number can be tripled.\n"


def pushed_meanwhile(world, text: str):
    """The oldest pending run; while it is at its first push, a later text is pushed and planned by a run of its own."""
    first, others = world.pending.pop(0), []

    def hold() -> None:
        event = world.push_prd("prds/calc.md", text)
        world.pending.remove(event)
        run = threading.Thread(target=lambda: others.append(world.act(event)))
        run.start()
        run.join()

    for number in range(2, 5):
        world.answers_of_model[f"calc/plan-{number}/planner/1/1"] = say({"stories": [TRIPLE]})
    world.fake.faults.add(Calls(before=hold), PUSH, skip=0)
    acted = world.act(first)
    assert world.fake.faults.unmet == [] and others[0].status == 0, others[0].output
    return acted


def test_of_two_texts_that_are_pushed_within_minutes_the_later_one_is_planned_whoever_is_slower(planned):
    later = TRIPLED.replace("tripled", "tripled, also a negative one")
    planned.push_prd("prds/calc.md", TRIPLED)
    acted = pushed_meanwhile(planned, later)
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert "another run has already planned the changed PRD" in acted.out
    assert planned.show("prds/calc.md") == planned.show("prds/calc.md", "main") == later.strip()
    assert planned.phases() == ["plan(calc)", "plan(calc)"]


def test_a_command_that_a_new_text_overtakes_leaves_the_new_plan_alone_and_is_told_what_it_waits_for(started):
    started.comment(started.pull().number, "/tdd next", by="wendy")
    acted = pushed_meanwhile(started, TRIPLED)
    assert started.phases()[-2:] == ["plan(calc)", "note(plan)"], acted.output
    assert started.show("prds/calc.md") == TRIPLED.strip()
    assert not any("is no longer in the PRD" in row.body for row in started.comments())
    (answer,) = started.answers()
    assert "changed after this comment" in answer.body and "`/approve`" in answer.body
