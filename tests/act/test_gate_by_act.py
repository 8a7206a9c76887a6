"""The generated workflow, run by act: what the gate job lets through, and what it costs."""

from __future__ import annotations

import pytest

from act.rig import ActResult, run_workflow, set_up
from prd2pr import __version__


@pytest.fixture
def said(source, world):
    """Somebody comments on an issue, and the workflow runs."""
    set_up(source, world)
    number = world.open_issue("Points", "please", by="ada").number
    world.pending.clear()

    def comment(body: str, by: str) -> tuple[ActResult, list[str]]:
        row = world.comment(number, body, by=by)
        done = run_workflow(source, world, world.pending.pop(0))
        return done, world.reactions(row.id)

    return comment


def test_a_comment_without_a_command_ends_at_the_gate_and_asks_nobody(said, world):
    done, reactions = said("Thanks, see src/calc/signs.py", "ada")
    assert (done.status, done.jobs, reactions) == (0, {"gate": "success"}, []), done.log
    assert done.outputs == {"go": "false", "reason": "the comment contains no command"}
    assert world.fake.calls == []


@pytest.mark.slow
def test_a_comment_without_a_slash_does_not_even_start_the_gate(said, world):
    done, _ = said("Thanks", "ada")
    assert (done.status, done.jobs, world.fake.calls) == (0, {}, []), done.log


@pytest.mark.slow
def test_an_outsider_gets_neither_a_reaction_nor_a_worker(said):
    done, reactions = said("/tdd next", "rea")
    assert (done.status, done.jobs, done.outputs["go"]) == (0, {"gate": "success"}, "false"), done.log
    assert reactions == []


def test_a_command_is_acknowledged_and_reaches_the_worker(said, source):
    done, reactions = said("/tdd status", "wendy")
    assert done.jobs["gate"] == "success", done.log
    assert "work" in done.jobs, done.log
    assert "eyes" in reactions
    assert f"prd2pr {__version__} of this commit is on the PATH: {source.program}" in done.output
