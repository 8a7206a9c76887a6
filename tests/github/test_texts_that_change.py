"""PRDs whose text changes under a run: unreadable on the base, a label taken away, an issue labelled again."""

from __future__ import annotations

import pytest

from world import PRD

BROKEN = PRD.replace("id: calc", "id: [calc")


def test_a_prd_that_became_unreadable_is_said_on_its_pull_request_and_nothing_is_built_until_it_is_mended(started):
    number = started.pull().number
    before = started.phases()
    started.push_prd("prds/calc.md", BROKEN)
    acted = started.act()
    assert acted.outputs["outcome"] == "refused", acted.output
    said = started.status_comment(number).body
    assert "`prds/calc.md` cannot be read on main" in said, said
    started.comment(number, "/tdd next", by="wendy")
    assert started.act().outputs["outcome"] == "refused"
    assert started.phases() == before
    started.push_prd("prds/calc.md", PRD)
    assert started.act().status == 0
    assert "cannot be read" not in started.status_comment(number).body
    started.comment(number, "/tdd next", by="wendy")
    assert started.act().status == 0
    assert started.phases() == [*before, "design(calc-1)"]


@pytest.mark.parametrize(
    ("what", "reason"), [("unlabel", "the label `prd2pr` was taken away"), ("close", "the issue was closed")]
)
def test_an_issue_that_nobody_wants_any_more_when_its_run_begins_is_not_planned(new, what, reason):
    world = new()
    world.open_issue("A small calculator", PRD.partition("# A small calculator\n")[2])
    world.pending.clear()
    world.label(1, "prd2pr")
    _ = world.unlabel(1, "prd2pr") if what == "unlabel" else world.close(1)
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), acted.output
    assert f"#1 is no PRD: {reason} meanwhile" in acted.out
    assert set(world.bare.heads()) == {"main"}
