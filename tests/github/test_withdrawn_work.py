"""Withdrawn work is not built automatically, and ordered work is not forgotten."""

from __future__ import annotations

import json

import pytest

from world import PRD, script

BODY = PRD.partition("calculator\n\n")[2]
FOR_AN_ISSUE = (
    ("tests/tdd/calc-", "tests/tdd/issue-1-"),
    ("calc-1.c1", "issue-1-1.c1"),
    ("calc-2.c1", "issue-1-2.c1"),
)


def of_an_issue(new):
    asked = {name.replace("calc-", "issue-1-").replace("calc/", "issue-1/"): say for name, say in script().items()}
    text = json.dumps(asked)
    for old, made in FOR_AN_ISSUE:
        text = text.replace(old, made)
    world = new(answers_of_model=json.loads(text), branch="prd2pr/issue-1")
    world.open_issue("A small calculator", BODY)
    world.pending.clear()
    return world


@pytest.mark.slow
def test_an_unlabelled_issue_waits_until_it_is_labelled_again(new):
    world = of_an_issue(new)
    world.label(1, "prd2pr")
    world.act()
    world.comment(world.pull().number, "/approve")
    world.act(env={"PRD2PR_MAX_MINUTES": "0.001"})  # one phase, then the deadline
    world.unlabel(1, "prd2pr")
    world.pending.clear()
    before = world.phases()
    world.tick()
    acted = world.act()
    assert world.phases() == before and acted.status == 0, acted.output
    assert "The label `prd2pr` was removed" in world.status_comment().body
    world.label(1, "prd2pr")
    world.act(env={"PRD2PR_MAX_MINUTES": "0.001"})
    assert len(world.phases()) > len(before)


@pytest.mark.slow
def test_a_user_without_permission_cannot_restore_a_removed_label(new):
    world = of_an_issue(new)
    world.label(1, "prd2pr")
    world.act()
    world.comment(world.pull().number, "/approve")
    world.act(env={"PRD2PR_MAX_MINUTES": "0.001"})  # one phase, then the deadline
    world.unlabel(1, "prd2pr")
    world.pending.clear()
    before = world.phases()
    event = world.label(1, "prd2pr", by="tria")
    assert world.act(event).outputs["outcome"] == "refused"
    world.pending.clear()
    world.tick()
    acted = world.act()
    assert world.phases() == before and acted.status == 0, acted.output
    told = world.status_comment().body
    assert "tria, who added it again, is not allowed to start work" in told, told
    assert "or close the pull request" in told
    assert "@tria" not in told


@pytest.mark.slow
def test_a_closed_issue_waits_until_a_person_continues_it(new):
    world = of_an_issue(new)
    world.label(1, "prd2pr")
    world.act()
    world.comment(world.pull().number, "/approve")
    world.act(env={"PRD2PR_MAX_MINUTES": "0.001"})  # one phase, then the deadline
    world.close(1)
    world.pending.clear()
    before = world.phases()
    world.tick()
    world.act()
    told = world.status_comment().body
    assert "To continue, reopen #" in told, told
    assert world.phases() == before
    world.comment(world.pull().number, "/tdd next")
    world.act()
    assert len(world.phases()) > len(before)


def test_a_command_under_a_labelled_issue_starts_it_after_a_lost_run(new):
    world = of_an_issue(new)
    world.label(1, "prd2pr")
    world.pending.clear()
    world.comment(1, "/tdd status")
    acted = world.act()
    assert world.pulls() and acted.outputs["outcome"] == "waiting", acted.output


@pytest.mark.slow
def test_an_issue_started_by_epic_needs_no_label(new):
    world = of_an_issue(new)
    world.comment(1, "/epic as it says")
    world.act()
    world.comment(world.pull().number, "/tdd status")
    assert world.act().outputs["outcome"] != "refused"
    assert "was removed" not in world.status_comment().body


@pytest.mark.slow
def test_a_reverted_merge_is_not_restarted_by_the_schedule(new):
    world = new(files={".prd2pr.yml": "approval: none\n"})
    world.push_prd("prds/calc.md", PRD)
    world.act()
    world.merge(world.pull().number)
    world.delete_branch(world.branch, "ada")
    world.pending.clear()
    told = world.act(world.by_git(lambda _, git: git("revert", "--no-edit", "-m", "1", "HEAD"), "ada")).output
    assert "change `prds/calc.md`" in told
    world.pending.clear()
    world.tick()
    world.act()
    assert world.branch not in world.bare.heads()
