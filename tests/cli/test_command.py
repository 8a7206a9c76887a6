"""Slash commands at the terminal: the same table, effects and refusals as in a comment."""

from __future__ import annotations

import pytest

from world import World


@pytest.fixture
def planned(tmp_path) -> World:
    world = World(tmp_path).start()
    assert world.run("--max-steps", "1").status == 1
    return world


def test_commands_work_at_the_terminal_as_in_a_comment(planned):
    paused = planned.program("command", "sprint", "pause")
    assert paused.status == 0, paused.err
    stopped = planned.run()
    assert stopped.status == 1 and "prd2pr command /sprint resume" in stopped.out
    assert planned.program("command", "/sprint resume").status == 0
    ran = planned.program("command", "tdd", "next", "--model", f"replay:{planned.transcript()}")
    assert ran.status == 0, ran.err
    assert planned.phases()[-1] == "design(calc-1)"
    state = planned.program("command", "state", "--json").json
    assert "SPRINT_ACTIVE" in state["reply"] and not state["refused"]
    assert planned.run().status == 0
    told = planned.program("command", "feedback", "went well: the pace")
    assert told.status == 0 and "retrospective" in told.out, told.err
    assert planned.phases()[-2:] == ["integrated(calc-2)", "note(plan)"]
    assert planned.verify().status == 0


def test_a_refusal_names_the_state_and_the_allowed_commands_and_changes_nothing(planned):
    head = planned.git("rev-parse", planned.branch)
    refused = planned.program("command", "sprint", "resume")
    assert refused.status == 1
    assert "`/sprint resume` is not allowed in state" in refused.out and "Allowed now: " in refused.out
    unknown = planned.program("command", "sprint", "plam")
    assert unknown.status == 1 and "Did you mean `/sprint plan`?" in unknown.out
    missing = planned.program("command", "backlog", "prioritize", "calc-1", "--json").json
    assert missing["refused"] and "NUMBER" in missing["reply"]
    assert planned.program("command", "hello").status == 2
    assert planned.git("rev-parse", planned.branch) == head


def test_an_argument_with_spaces_is_one_text(planned):
    done = planned.program("command", "backlog", "add_story", "Subtract two numbers")
    assert done.status == 0, done.out + done.err
    assert "Subtract two numbers" in planned.program("command", "backlog", "view").out
