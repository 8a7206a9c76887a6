"""What the pull request's branch gets, and when: one push per story, each with passing tests, unless someone asks."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fakes.github.faults import Calls
from github_runner import Ending
from github_world import GitHubWorld
from world import PRD, show_runs, write

START = ["plan(calc)", "note(plan)", "note(plan)"]
FIRST = ["design(calc-1)", "red(calc-1)", "green(calc-1)", "integrated(calc-1)"]
WITHOUT_APPROVAL = {".prd2pr.yml": "approval: none\n"}
PUSH = "POST */git-receive-pack"


def record_pushes(world: GitHubWorld) -> None:
    world.bare.git("config", "core.logAllRefUpdates", "always")


def pushed(world: GitHubWorld) -> list[str]:
    """The heads that the branch had, oldest first."""
    log = world.bare.path / "logs" / "refs" / "heads" / world.branch
    return [line.split(" ")[1] for line in log.read_text(encoding="utf-8").splitlines()] if log.exists() else []


def subject(world: GitHubWorld, rev: str) -> str:
    return str(world.bare.git("log", "-1", "--format=%s", rev)).partition(":")[0]


def suite_passes(world: GitHubWorld, rev: str, root: Path) -> bool:
    place = root / rev[:12]
    place.mkdir(parents=True)
    subprocess.run(["tar", "-x", "-C", str(place)], input=world.bare.git_bytes("archive", rev), check=True)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"], cwd=place, capture_output=True, check=False
    )
    return done.returncode == 0


def calls(world: GitHubWorld) -> dict[str, int]:
    """How often the model was asked by each role, in all runs that the branch has on record."""
    found: dict[str, int] = {}
    for record in show_runs(world.bare.path, world.branch):
        for row in record["roles"]:
            found[row["role"]] = found.get(row["role"], 0) + row["spend"]["calls"]
    return {role: number for role, number in found.items() if role != "planner"}


ONCE_PER_STORY = {"architect": 2, "tester": 2, "builder": 2}


def test_a_run_pushes_once_per_story_and_each_head_passes(new, tmp_path, verify):
    world = new(files=WITHOUT_APPROVAL)
    record_pushes(world)
    world.push_prd("prds/calc.md", PRD)
    world.settle()
    heads = pushed(world)
    assert [subject(world, head) for head in heads] == [
        "plan(calc)",
        "integrated(calc-1)",
        "integrated(calc-2)",
        "note(plan)",
    ]
    assert all(suite_passes(world, head, tmp_path / "heads") for head in heads)
    assert world.bare.refs("refs/prd2pr/work/") == {}
    gated = world.bare.git("log", "--format=%H", "--grep=^Tdd-Phase: [rgi]", f"main..{world.branch}").splitlines()
    assert {check.head_sha for check in world.checks()} == {*gated, heads[-1]}
    assert verify(world)["all_proved"]


def test_a_requested_phase_is_pushed_with_failing_tests(started):
    for phases in (["design(calc-1)"], ["design(calc-1)", "red(calc-1)"]):
        started.comment(started.pull().number, "/tdd next", by="wendy")
        assert started.act().status == 0
        assert started.phases() == [*START, *phases]
    assert started.bare.refs("refs/prd2pr/work/") == {}


@pytest.mark.slow
def test_every_phase_is_pushed_if_the_setting_says_so(started):
    started.push({".prd2pr.yml": "push: phase\n"}, "ada")
    started.pending.clear()
    record_pushes(started)
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    assert started.act().status == 0
    assert [subject(started, head) for head in pushed(started)] == ["note(plan)", *FIRST]


@pytest.mark.slow
def test_a_killed_run_is_resumed_in_the_middle_of_a_story_without_new_calls(started, verify):
    started.comment(started.pull().number, "/tdd run", by="wendy")
    started.act(ending=Ending(4, "after", route=PUSH))  # the order, DESIGN, RED, GREEN
    assert started.phases() == [*START, "note(plan)"]
    assert started.held_phases() == FIRST[:3]
    started.tick()
    assert started.act().status == 0
    assert started.phases()[:8] == [*START, "note(plan)", *FIRST]
    assert calls(started) == ONCE_PER_STORY
    assert started.bare.refs("refs/prd2pr/work/") == {}
    assert verify(started)["all_proved"]


@pytest.mark.parametrize(
    "ending",
    [Ending(10, "after", route=PUSH), Ending(12, "before", route=PUSH)],
    ids=["before the PRD is completed", "before that is on the branch"],
)
def test_a_run_killed_at_the_end_is_completed_by_the_schedule(new, ending):
    world = new(files=WITHOUT_APPROVAL)
    world.push_prd("prds/calc.md", PRD)
    world.act(ending=ending)
    assert subject(world, world.branch) == "integrated(calc-2)"
    world.tick()
    world.settle()
    assert subject(world, world.branch) == "note(plan)"
    assert world.bare.refs("refs/prd2pr/work/") == {}
    head = world.bare.git("rev-parse", world.branch)
    assert f"<!-- prd2pr:head:{head} -->" in world.status_comment().body
    assert f"Tdd-Archive: calc/1 {head}" in world.pull().body


@pytest.mark.slow
@pytest.mark.parametrize("killed", [True, False], ids=["while no run is active", "during the run"])
def test_a_push_in_the_middle_of_a_story_is_built_upon_and_nothing_is_paid_again(started, verify, killed):
    def push() -> None:
        started.push({"README.md": "# Calc\n"}, "wendy", branch=started.branch, message="Say what it is")

    started.comment(started.pull().number, "/tdd run", by="wendy")
    if killed:
        started.act(ending=Ending(4, "after", route=PUSH))
        push()
    else:
        started.fake.faults.add(Calls(after=push), PUSH, skip=3)
    acted = started.act()
    assert (acted.status, acted.outputs["outcome"]) == (0, "done"), acted.output
    subjects = started.subjects()
    assert subjects[4] == "Say what it is"
    assert [each.partition(":")[0] for each in subjects if "note(calc-1)" not in each][5:9] == FIRST, subjects
    assert any("carried over" in each for each in subjects)
    assert started.show("README.md") == "# Calc"
    assert calls(started) == ONCE_PER_STORY
    assert started.bare.refs("refs/prd2pr/work/") == {}
    assert len(started.bare.refs("refs/prd2pr/aside/")) == 1, "what it replaced is kept"
    assert verify(started)["all_proved"]


@pytest.mark.slow
def test_work_that_conflicts_with_a_push_is_done_again(started, verify):
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    started.act(ending=Ending(4, "after", route=PUSH))
    started.push({"src/calc/sums.py": '"""Sums."""\n'}, "wendy", branch=started.branch)
    assert started.act().status == 0
    assert started.phases()[-1] == "integrated(calc-1)"
    assert calls(started) == {"architect": 1, "tester": 1, "builder": 2}
    assert verify(started)["all_proved"]


@pytest.mark.slow
def test_a_story_blocked_in_red_is_not_pushed_and_people_can_continue_from_it(started, verify):
    for attempt in range(1, 5):
        started.answers_of_model[f"calc-1/green/builder/{attempt}/1"] = write(
            "src/calc/sums.py", "def add(a, b):\n    return 3\n"
        )
    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    acted = started.act()
    assert acted.outputs["outcome"] == "blocked", acted.output
    assert started.phases() == [*START, "note(plan)"]
    assert started.held_phases() == [*FIRST[:2], "note(calc-1)"]
    (ref,) = started.bare.refs("refs/prd2pr/work/")
    status = re.sub(r"<!--.*?-->", "", started.status_comment().body)
    assert "Blocked" in status and f"git fetch origin {ref}" in status
    head = started.bare.refs(ref)[ref]
    assert head[:7] not in status
    started.bare.git("update-ref", f"refs/heads/{started.branch}", head)
    started.push({"src/calc/sums.py": "def add(a, b):\n    return a + b\n"}, "wendy", branch=started.branch)
    started.pending.clear()
    started.comment(started.pull().number, "/tdd retry calc-1", by="wendy")
    assert started.act().status == 0
    assert started.phases()[-1] == "integrated(calc-1)"
    assert started.bare.refs("refs/prd2pr/work/") == {}
    assert verify(started)["all_proved"]


@pytest.mark.slow
def test_signed_commits_are_created_once_per_story(new, verify):
    world = new(files={".prd2pr.yml": "approval: none\ncommit: api\n"})
    record_pushes(world)
    world.push_prd("prds/calc.md", PRD)
    world.settle()
    assert [subject(world, head) for head in pushed(world)] == [
        "plan(calc)",
        "integrated(calc-1)",
        "integrated(calc-2)",
        "note(plan)",
    ]
    made = [
        call for call in world.fake.calls if (call.method, call.route.rpartition("/git/")[2]) == ("POST", "commits")
    ]
    assert len(made) == len(world.subjects()), "each commit is GitHub's signed copy"
    assert world.bare.refs("refs/prd2pr/work/") == {}
    assert verify(world)["all_proved"]


@pytest.mark.slow
def test_of_two_runs_the_slower_one_stops_and_nothing_is_done_twice(started, verify):
    inner = []

    def other_run() -> None:
        inner.append(started.act(started.dispatch(by="ada", prd="calc")))

    started.comment(started.pull().number, "/tdd run calc-1", by="wendy")
    event = started.pending.pop()
    started.fake.faults.add(Calls(after=other_run), PUSH, skip=2)
    acted = started.act(event)
    assert (acted.status, inner[0].status) == (0, 0), acted.output + inner[0].output
    assert started.phases() == [*START, "note(plan)", *FIRST]
    assert calls(started) == {"architect": 1, "tester": 1, "builder": 1}
    assert started.bare.refs("refs/prd2pr/work/") == {}
    assert verify(started)["all_proved"]
