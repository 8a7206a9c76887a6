"""A PRD pushed during a run: the slower run plans the current text, never the older one."""

from __future__ import annotations

import threading

import pytest

from fakes.github.faults import Calls
from prd2pr.github.commands.approval import PLAN_IS_NEWER
from prd2pr.prd.restored_requirements import REMOVED_SENTENCE
from world import PLAN, PRD, say

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


def with_push_during_run(world, text: str):
    """Run the oldest pending event; during its first push, a later text is pushed and planned by its own run."""
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


def test_the_later_of_two_texts_is_planned_whichever_run_is_slower(planned):
    later = TRIPLED.replace("tripled", "tripled, also a negative one")
    planned.push_prd("prds/calc.md", TRIPLED)
    acted = with_push_during_run(planned, later)
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert "another run has already planned the changed PRD" in acted.out
    assert planned.show("prds/calc.md") == planned.show("prds/calc.md", "main") == later.strip()
    assert planned.phases() == ["plan(calc)", "plan(calc)"]


@pytest.mark.slow
def test_a_command_overtaken_by_a_new_text_leaves_the_new_plan_alone(started):
    started.comment(started.pull().number, "/tdd next", by="wendy")
    acted = with_push_during_run(started, TRIPLED)
    assert started.phases()[-2:] == ["plan(calc)", "note(plan)"], acted.output
    assert started.show("prds/calc.md") == TRIPLED.strip()
    assert not any(REMOVED_SENTENCE in row.body for row in started.comments())
    (answer,) = started.answers()
    assert PLAN_IS_NEWER in answer.body and "`/approve`" in answer.body
