"""A model outage on GitHub: after three failed jobs the breaker trips, and a person resets it."""

from __future__ import annotations

import json

import pytest

from github_world import GitHubWorld

pytestmark = pytest.mark.slow

DOWN = {"PRD2PR_MODEL": "command:false"}
CIRCUITS = ".orch-state/prds/calc/circuits.json"


def test_failures_are_recorded_on_the_branch_and_cost_no_more_than_needed(started: GitHubWorld, verify) -> None:
    number = started.pull().number
    for _ in range(3):
        started.comment(number, "/tdd next", by="wendy")
        failed = started.act(env=DOWN)
        assert (failed.status, failed.outputs["outcome"]) == (1, "error"), failed.output
    opened = {each["name"] for each in json.loads(started.show(CIRCUITS))["circuits"] if each["opened_at"]}
    assert opened == {"design", "command", "system"}
    phases = started.phases()
    started.comment(number, "/tdd next", by="wendy")
    waits = started.act(env=DOWN)
    assert waits.outputs["outcome"] == "refused", waits.output
    assert "`/tdd reset`" in started.answers()[-1].body
    assert started.phases() == phases, "nobody was asked, and nothing was written"
    assert "`/tdd reset`" in started.status_comment().body
    started.comment(number, "/tdd reset\n/tdd next", by="wendy")
    done = started.act()
    assert done.status == 0, done.output
    assert started.phases()[len(phases) :] == ["note(plan)", "design(calc-1)"]
    assert verify(started)["all_proved"]
