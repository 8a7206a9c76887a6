"""Nobody gets stuck: waiting work can be approved, failures block nothing else, undo works anywhere."""

from __future__ import annotations

import pytest

from github_runner import Acted
from github_world import GitHubWorld
from world import PRD

NO_KEY = {"PRD2PR_MODEL": "anthropic:claude-sonnet-5-5", "ANTHROPIC_API_KEY": ""}


def do(world: GitHubWorld, text: str, **more: object) -> Acted:
    world.comment(world.pull().number, text)
    return world.act(**more)


@pytest.mark.slow
def test_each_story_is_approved_separately_when_phases_are_requested_singly(new):
    world = new(files={".prd2pr.yml": "approval: story\n"})
    world.push_prd("prds/calc.md", PRD)
    world.act()
    for _ in range(4):
        assert do(world, "/tdd next").status == 0
    assert world.phases()[-2:] == ["integrated(calc-1)", "note(plan)"], "it waits for approval again, on record"
    done = do(world, "/approve calc-2")
    assert (done.status, done.outputs["outcome"]) == (0, "done"), done.output
    assert world.phases()[-1] == "integrated(calc-2)"


@pytest.mark.slow
def test_a_prd_changed_in_an_active_sprint_can_be_approved(started, verify):
    started.push_prd("prds/calc.md", PRD.replace("- **FR-2** A number can be doubled.\n", ""))
    started.act()
    done = do(started, "/approve")
    assert (done.status, done.outputs["outcome"]) == (0, "done"), done.output
    assert "integrated(calc-1)" in started.phases()
    assert not any("calc-2" in phase for phase in started.phases()), "nobody asked for it any more"


@pytest.mark.slow
def test_undo_works_in_a_clone_that_did_not_make_the_phase(started):
    do(started, "/tdd next")
    do(started, "/tdd next")
    assert started.phases()[-1] == "red(calc-1)"
    started.push({"README.md": "For people.\n"}, "wendy", branch=started.branch)
    started.act()
    done = do(started, "/tdd undo")
    assert done.status == 0, done.output
    assert started.phases()[-1] == "note(calc-1)"
    assert started.show("README.md") == "For people."
    assert "tests/tdd" not in started.bare.git("ls-tree", "-r", "--name-only", started.branch)


@pytest.mark.slow
def test_a_failed_command_is_answered_and_blocks_no_other(started):
    failed = do(started, "/tdd next", env=NO_KEY)
    assert (failed.status, failed.outputs["outcome"]) == (1, "error"), failed.output
    assert "`/tdd explain ERR204`" in started.answers()[-1].body
    answers, phases = len(started.answers()), started.phases()
    do(started, "/state", env=NO_KEY)
    assert len(started.answers()) == answers + 1
    assert do(started, "/tdd halt_all", env=NO_KEY).status == 0
    assert do(started, "/tdd resume", env=NO_KEY).status == 0
    done = do(started, "/tdd next")
    assert done.status == 0, done.output
    crossed = [phase for phase in started.phases()[len(phases) :] if not phase.startswith("note")]
    assert crossed == ["design(calc-1)"], "one comment, one phase"


@pytest.mark.slow
def test_an_order_that_fails_again_is_answered_again(started):
    do(started, "/tdd run", env=NO_KEY)
    answers = len(started.answers())
    for text in ("/tdd run", "/tdd run\n/state"):
        failed = do(started, text, env=NO_KEY)
        assert (failed.status, failed.outputs["outcome"]) == (1, "error"), failed.output
    told = [row.body for row in started.answers()[answers:]]
    assert ["`/tdd explain ERR204`" in each for each in told] == [True, False, True]
    assert "**State SPRINT" in told[1]
    said = [row.id for row in started.comments(by="ada")]
    assert [started.reactions(each)[-1:] for each in said[-2:]] == [["confused"], ["confused"]]


@pytest.mark.parametrize("said", ["/tdd run zed-1", pytest.param("/tdd next calc-2", marks=pytest.mark.slow)])
def test_a_refused_order_neither_approves_nor_builds(planned, said):
    before = planned.phases()
    refused = do(planned, said)
    assert (refused.status, refused.outputs["outcome"]) == (0, "refused"), refused.output
    assert "**Next:** `/approve`" in planned.answers()[-1].body
    assert planned.phases() == before


@pytest.mark.slow
def test_a_sprint_ends_after_a_story_was_aborted(started):
    do(started, "/tdd run calc-1")
    given_up = do(started, '/tdd abort calc-2 "no longer wanted"')
    assert given_up.outputs["outcome"] == "waiting", given_up.output
    assert "Comment `/skip_task calc-2`" in started.status_comment().body
    done = do(started, "/skip_task calc-2")
    assert (done.status, done.outputs["outcome"]) == (0, "done"), done.output
    assert not started.pull().pull.draft
