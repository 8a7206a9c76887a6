"""Network faults during a run: the same commits and objects result, none missing, none twice."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from fakes.github.faults import Broken, BrokenAfter, DropAfter, DropBefore, Refused, SecondaryLimit, Stale
from world import PRD

ROUGH = [
    [
        (Broken(502), "GET /repos/octo/calc"),
        (DropAfter(), "POST */pulls"),
        (BrokenAfter(502), "POST */issues/*/comments"),
        (Stale(2), "GET */issues/*/comments"),
        (DropAfter(), "POST */git-receive-pack"),
        (SecondaryLimit(retry_after=1), "POST */check-runs"),
        (DropBefore(), "GET */issues"),
    ],
    [
        (SecondaryLimit(retry_after=1), "POST */issues"),
        (Stale(1), "GET */pulls"),
        (DropAfter(), "POST */issues"),
        (BrokenAfter(502), "POST */labels"),
        (DropAfter(), "POST */sub_issues"),
        (BrokenAfter(500), "POST */check-runs"),
        (Stale(3), "GET */issues"),
        (Broken(503), "GET */info/refs"),
    ],
]


def published(world) -> dict[str, Any]:
    """Everything published, without what differs between runs: times, commit ids, the port."""
    repo = world.repo
    return {
        "subjects": world.subjects(),
        "issues": [(row.number, row.title, row.state, row.labels, len(row.sub_issues)) for row in repo.issues.values()],
        "comments": sorted((row.number, row.user, row.body.split(":")[1]) for row in repo.comments.values()),
        "checks": sorted((row.name, row.conclusion) for row in repo.checks.values()),
        "labels": sorted(repo.labels),
        "code": world.bare.git("ls-tree", "-r", world.branch, "--", "src", "tests", "prds"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("rough", ROUGH, ids=["one", "another"])
def test_a_run_under_network_faults_leaves_the_same_result(new, planned, rough):
    world = new()
    scripted = [world.fake.faults.add(fault, route) for fault, route in rough]
    world.push_prd("prds/calc.md", PRD)
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    missed = [each for each in scripted if each in world.fake.faults.unmet]
    assert missed == []
    assert published(world) == published(planned)


def test_a_lasting_fault_ends_the_run_and_the_next_publishes_the_rest(planned):
    world = planned
    world.comment(world.pull().number, '/backlog add_story "Halve a number"', by="wendy")
    world.fake.faults.add(SecondaryLimit(retry_after=600), "PATCH */issues/comments/*", times=50)
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (1, "error"), acted.output
    assert "limit" in acted.out
    world.fake.faults.clear()
    world.tick()
    assert world.act().status == 0
    assert "of 3 stories" in world.status_comment(world.pull().number).body
    assert world.phases() == ["plan(calc)", "note(plan)"]


@pytest.mark.slow
def test_a_phase_needs_few_rate_limited_calls(started):
    """A job's token has a thousand an hour; what has not changed is answered by 304 and not counted."""
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    acted = started.act()
    assert acted.status == 0, acted.output
    calls = [call for call in started.fake.calls if call.status != 304 and ".git/" not in call.path]
    pushes = [call.number for call in started.fake.asked("POST *git-receive-pack")][-5:]
    assert len(pushes) == 5  # the order, and four phases
    between = [sum(first < call.number < last for call in calls) for first, last in pairwise(pushes)]
    assert max(between[1:]) <= 10, between
    assert len([call for call in calls if call.number > pushes[-1]]) <= 35


@pytest.mark.slow
def test_without_sub_issues_the_work_continues_and_a_note_names_the_setting(new):
    world = new()
    world.fake.faults.add(Refused(404, "Not Found"), "*/sub_issues*", times=1000)
    world.push_prd("prds/calc.md", PRD)
    acted = world.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "waiting"), acted.output
    assert "sub_issues: false" in world.status_comment().body
