"""Hand-edited state has no effect, and a branch that merely has a name like ours is left alone."""

from __future__ import annotations

import json

import pytest

from fakes.github.faults import Calls

ROOT = ".orch-state/prds/calc"
STATUS = f"{ROOT}/status.json"
START = ["plan(calc)", "note(plan)", "note(plan)"]


def edit(world, path, change) -> str:
    """Edit the file, and return its former text."""
    text = world.show(path) + "\n"
    document = json.loads(text)
    change(document)
    written = json.dumps(document, indent=2, sort_keys=True) + "\n"
    assert written != text
    world.push({path: written}, "wendy", branch=world.branch, message="Tidy")
    world.pending.clear()
    return text


def reported(world, number) -> list[str]:
    return [
        row.body
        for row in world.comments(number, by="github-actions[bot]")
        if "by hand" in row.body and ":status:" not in row.body
    ]


def order(status) -> None:
    status["order"] = "run"


def far_cursor(status) -> None:
    status["cursors"] = [{"number": 2, "comment": 10**15, "commands": None}]


def all_done(backlog) -> None:
    for story in backlog["stories"]:
        story["status"] = "done"


EDITS = [
    pytest.param(STATUS, order, id="order", marks=pytest.mark.slow),
    pytest.param(STATUS, far_cursor, id="cursor", marks=pytest.mark.slow),
    pytest.param(f"{ROOT}/backlog.json", all_done, id="done"),
]


@pytest.mark.parametrize(("path", "change"), EDITS)
def test_nothing_runs_on_hand_edited_state_until_it_is_reverted(started, path, change):
    number = started.pull().number
    before = edit(started, path, change)
    head = started.bare.heads()[started.branch]
    for outcome in ("waiting", "nothing-to-do"):  # the second run finds nothing new
        started.tick()
        acted = started.act()
        assert (acted.status, acted.outputs["outcome"]) == (0, outcome), acted.output
    assert started.bare.heads()[started.branch] == head
    (said,) = reported(started, number)
    assert head[:10] in said and "git revert" in said
    started.push({path: before}, "wendy", branch=started.branch, message="Take it back")
    started.pending.clear()
    started.comment(number, "/tdd next", by="ada")
    assert started.act().status == 0
    assert started.phases() == [*START, "Tidy", "Take it back", "design(calc-1)"]


@pytest.mark.slow
def test_an_approval_does_not_count_for_a_hand_edited_plan(planned):
    number = planned.pull().number
    planned.comment(number, "/approve", by="ada")
    (event,) = planned.pending

    def other(backlog) -> None:
        backlog["stories"][0]["title"] = "Something else"

    edit(planned, f"{ROOT}/backlog.json", other)
    acted = planned.act(event)
    assert acted.outputs["outcome"] == "waiting", acted.output
    assert not json.loads(planned.show(STATUS)).get("approvals")
    assert reported(planned, number)


@pytest.mark.slow
def test_a_hand_edit_during_a_run_has_no_effect(started):
    number = started.pull().number
    started.comment(number, "/tdd next", by="ada")
    (event,) = started.pending
    started.fake.faults.add(Calls(before=lambda: edit(started, STATUS, order) and None), "POST */git-receive-pack")
    acted = started.act(event)
    assert started.fake.faults.unmet == []
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert started.phases() == [*START, "Tidy"]
    (said,) = reported(started, number)
    assert started.bare.heads()[started.branch][:10] in said


@pytest.mark.slow
def test_permitted_edits_of_the_state_are_no_reason_to_stop(started):
    started.push({".orch-state/architecture.md": "# Ours\n"}, "wendy", branch=started.branch)
    started.pending.clear()
    started.comment(started.pull().number, "/tdd next", by="wendy")
    assert started.act().status == 0
    assert started.phases() == [*START, "Work", "design(calc-1)"]


@pytest.mark.slow
def test_a_branch_named_like_ours_does_not_block_the_others(started):
    started.push({"a.txt": "a\n"}, "wendy", branch="prd2pr/aaa")
    started.pending.clear()
    started.comment(started.pull().number, "/tdd next", by="wendy")
    started.pending.clear()  # the event is lost
    started.tick()
    acted = started.act()
    assert acted.status == 0, acted.output
    assert started.phases() == [*START, "design(calc-1)"]
