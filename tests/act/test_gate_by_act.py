"""The generated workflow, run by act: what the gate job lets through, and what it costs."""

from __future__ import annotations

import pytest

from act.rig import ActResult, run_workflow, set_up
from prd2pr import __version__
from prd2pr.github.events.event_filter import NO_COMMAND


@pytest.fixture
def run_comment(source, world):
    """Comment on an issue, and run the workflow."""
    set_up(source, world)
    number = world.open_issue("Points", "please", by="ada").number
    world.pending.clear()

    def comment(body: str, by: str) -> tuple[ActResult, list[str]]:
        row = world.comment(number, body, by=by)
        done = run_workflow(source, world, world.pending.pop(0))
        return done, world.reactions(row.id)

    return comment


@pytest.mark.slow
def test_a_comment_without_a_command_ends_at_the_gate_without_calls(run_comment, world):
    done, reactions = run_comment("Thanks, I did not know /tdd yet", "ada")
    assert (done.status, done.jobs, reactions) == (0, {"gate": "success"}, []), done.log
    assert done.outputs == {"go": "false", "reason": NO_COMMAND}
    assert world.fake.calls == []


@pytest.mark.slow
@pytest.mark.parametrize("body", ["Thanks", "See https://example.org/tdd/state and src/calc", "/assign wendy"])
def test_a_comment_that_cannot_be_a_command_starts_no_job(run_comment, world, body):
    done, _ = run_comment(body, "ada")
    assert (done.status, done.jobs, world.fake.calls) == (0, {}, []), done.log


@pytest.mark.slow
def test_an_outsider_gets_neither_a_reaction_nor_a_worker(run_comment):
    done, reactions = run_comment("/tdd next", "rea")
    assert (done.status, done.jobs, done.outputs["go"]) == (0, {"gate": "success"}, "false"), done.log
    assert reactions == []


@pytest.mark.slow
def test_a_command_is_acknowledged_and_reaches_the_worker(run_comment, source):
    done, reactions = run_comment("/tdd status", "wendy")
    assert done.jobs["gate"] == "success", done.log
    assert "work" in done.jobs, done.log
    assert "eyes" in reactions
    assert f"prd2pr {__version__} of this commit is on the PATH: {source.program}" in done.output
