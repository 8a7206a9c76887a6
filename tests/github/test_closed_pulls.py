"""Closed, merged and reopened pull requests are reported; finished work is verified again only for a reason."""

from __future__ import annotations

import pytest

from fakes.github.events import pushed
from prd2pr.views.pull_request.next_step import ALL_SETTLED
from world import PRD


def written(world, before) -> list[str]:
    calls = world.fake.calls[before:]
    return [f"{call.method} {call.path}" for call in calls if call.writes and "git-upload" not in call.path]


def test_a_closed_pull_request_says_how_to_continue_and_reopening_continues(planned):
    number = planned.pull().number
    planned.close(number, by="wendy")
    planned.pending.clear()  # the workflow does not subscribe to this event
    planned.tick()
    assert planned.act().outputs["outcome"] == "waiting"
    said = planned.status_comment(number).body
    assert "### Closed: A small calculator" in said and f"reopen #&#8203;{number} and comment `/tdd run`" in said
    assert planned.pull().labels == []
    before = len(planned.fake.calls)
    planned.tick()
    planned.act()
    assert written(planned, before) == []
    planned.reopen(number, by="wendy")
    assert planned.act().status == 0
    assert "### Waiting for you" in planned.status_comment(number).body
    assert planned.pull().labels == ["prd2pr:waiting"]
    assert planned.phases() == ["plan(calc)"]


def test_a_merge_is_shown_after_branch_deletion_and_closes_the_tracking_issue(planned):
    number = planned.pull().number
    (tracking,) = [row for row in planned.repo.issues.values() if row.sub_issues]
    before = planned.bare.heads()["main"]
    planned.merge(number)
    planned.delete_branch(planned.branch, by="ada")
    merge = pushed(planned.fake, planned.repo, "ada", "main", before, planned.bare.heads()["main"])
    acted = planned.act(merge)
    assert (acted.status, acted.outputs["outcome"]) == (0, "done"), acted.output
    said = planned.status_comment(number).body
    assert "### Merged: A small calculator" in said and "with 0 of 2 stories finished" in said
    assert "change `prds/calc.md`" in said
    assert planned.pull().labels == []
    assert tracking.state == "closed"


def outcome_and_answer(world, text) -> tuple[str, str]:
    """The outcome of the job, and the answer."""
    world.comment(world.pull().number, text)
    acted = world.act()
    return acted.outputs["outcome"], world.answers()[-1].body


@pytest.mark.slow
def test_closed_or_merged_pull_request_answers_queries_and_refuses_work(planned):
    number, phases = planned.pull().number, planned.phases()
    planned.close(number)
    planned.pending.clear()
    outcome, asked = outcome_and_answer(planned, "/state")
    assert outcome == "waiting" and "**State BACKLOG" in asked and "`/approve`" not in asked
    assert "**Next:** To continue, reopen" in asked
    outcome, refused = outcome_and_answer(planned, "/tdd next")
    assert outcome == "refused" and "`/tdd next` was not executed" in refused and "To continue, reopen" in refused
    assert planned.phases() == phases
    planned.reopen(number)
    planned.merge(number)
    planned.delete_branch(planned.branch, by="ada")
    planned.pending.clear()
    outcome, asked = outcome_and_answer(planned, "/tdd overview")
    assert outcome == "done" and "0 of 2 stories done" in asked
    outcome, refused = outcome_and_answer(planned, "/tdd next")
    assert outcome == "refused" and "To build more, change `prds/calc.md` and push it." in refused


@pytest.mark.slow
def test_finished_work_is_verified_again_only_when_base_or_head_moved(new):
    world = new(files={".prd2pr.yml": "approval: none\n"})
    world.push_prd("prds/calc.md", PRD)
    assert world.act().outputs["outcome"] == "done"
    outcome, refused = outcome_and_answer(world, "/tdd next")
    assert outcome == "refused" and f"**Next:** {ALL_SETTLED}" in refused
    for moves, proved in ((False, False), (True, True), (False, False)):
        if moves:
            world.push({"notes.txt": "More.\n"}, "ada")
            world.pending.clear()
        world.tick()
        acted = world.act()
        assert (acted.status, acted.outputs["outcome"]) == (0, "nothing-to-do"), acted.output
        assert bool(acted.summary) is proved
    world.push({"README.md": "For people.\n"}, "wendy", branch=world.branch)
    world.pending.clear()
    world.tick()
    acted = world.act()
    assert acted.summary and "1 commit on the branch has no proof" in world.status_comment().body


@pytest.mark.slow
def test_old_commands_are_not_answered_again_after_merge_and_branch_deletion(planned):
    (tracking,) = [row for row in planned.repo.issues.values() if row.sub_issues]
    planned.comment(tracking.number, "/tdd pause calc-1")
    planned.settle()
    planned.merge(planned.pull().number)
    planned.delete_branch(planned.branch, by="ada")
    planned.pending.clear()
    before = len(planned.answers())
    planned.comment(tracking.number, "/tdd overview")
    assert planned.act().outputs["outcome"] != "error"
    (answer,) = planned.answers()[before:]
    assert "has no PRD" not in answer.body and "was not executed" not in answer.body


@pytest.mark.slow
def test_our_own_issues_are_not_prds(planned):
    (tracking,) = [row for row in planned.repo.issues.values() if row.sub_issues]
    branches = planned.bare.heads()
    planned.label(tracking.number, "prd2pr")
    acted = planned.act()
    assert planned.bare.heads() == branches and "prd2pr wrote this issue" in acted.output
    planned.tick()
    planned.act()
    assert planned.bare.heads() == branches
