"""The advised next step is accepted when it is followed, and every command gets its reaction."""

from __future__ import annotations

import pytest

from github_world import GitHubWorld
from world import PRD, RED_ADD

NEXT = "**Next:**"
LOCKED = "tests/tdd/calc-1/test_calc_1_add.py"


def advised(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(NEXT))


def do(world: GitHubWorld, text: str, by: str = "ada") -> int:
    said = world.comment(world.pull().number, text, by=by)
    world.act()
    return said.id


def answer_to(world: GitHubWorld, comment: int) -> str:
    (found,) = (row.body for row in world.answers() if f"prd2pr:answer:{comment}:" in row.body)
    return found


@pytest.mark.slow
def test_status_description_and_loop_agree_and_each_command_gets_a_reaction(started):
    skipped = do(started, "/tdd skip_phase calc-1")
    assert started.reactions(skipped) == ["rocket"]
    for place in (started.status_comment().body, started.pull().body):
        assert "`calc-1` is waiting for its tests." in advised(place)
    done = do(started, "/tdd next")
    assert started.phases()[-1] == "red(calc-1)", "as it was told"
    assert started.reactions(done) == ["rocket"]
    refused = do(started, "/tdd commit-refactor")
    assert started.reactions(refused) == ["confused"]
    read = do(started, "/state")
    assert started.reactions(read) == ["rocket"]

    started.push({LOCKED: RED_ADD.replace("== 3", ">= 0")}, "wendy", branch=started.branch)
    started.act()
    for place in (started.status_comment().body, started.pull().body):
        assert LOCKED in advised(place) and advised(place).endswith("`/tdd next`")
    phases = started.phases()
    stopped = do(started, "/tdd next")
    assert "has to wait" in answer_to(started, stopped) and LOCKED in answer_to(started, stopped)
    assert started.reactions(stopped) == ["confused"]
    assert started.phases() == phases
    started.push({LOCKED: RED_ADD}, "wendy", branch=started.branch)
    started.act()
    do(started, "/tdd next")
    assert started.phases()[-1] == "green(calc-1)", "put back, what was told is accepted"


@pytest.mark.slow
def test_the_plan_asks_for_an_accepted_command_and_only_then(planned):
    def asked() -> list[str]:
        return [row.body for row in planned.comments(planned.pull().number) if "prd2pr:plan:" in row.body]

    assert "`/approve`" in asked()[0] and "`/approve calc-1`" in asked()[0]
    do(planned, "/sprint plan calc-1")
    do(planned, '/backlog add_story "Subtract two numbers"')
    assert len(asked()) == 1, "no approval is accepted while a sprint is planned"
    assert advised(planned.status_comment().body).endswith("`/sprint start`")
    do(planned, "/sprint start")
    assert len(asked()) == 1, "nor while one is active"
    assert advised(planned.status_comment().body).endswith("`/tdd next`")


@pytest.mark.slow
def test_a_typo_is_answered_under_our_pull_request_only(planned):
    said = do(planned, "/aprove", by="wendy")
    assert "Did you mean `/approve`?" in answer_to(planned, said)
    assert planned.reactions(said) == ["confused"]
    assert planned.phases() == ["plan(calc)"]
    before = len(planned.comments())
    issue = planned.open_issue("Something else", PRD, by="wendy")
    planned.comment(issue.number, "/aprove", by="wendy")
    planned.comment(planned.pull().number, "/aprove", by="rea")
    planned.settle()
    assert len(planned.comments()) == before + 2
