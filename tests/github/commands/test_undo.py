"""`/tdd undo`: a commit takes back exactly one phase, and `verify` accepts exactly that."""

from __future__ import annotations

import json
import shutil

import pytest

from branch_work import cycle, files, forge, keep, push, without
from prd2pr.domain.records import Cursor
from prd2pr.github.commands.request import CommandRequest, CommandResult
from prd2pr.github.commands.undo import undo_phase
from prd2pr.github.messages import replies
from prd2pr.reports.pull_request import build_pull_request_view
from world import GREEN_ADD, PLAN, RED_ADD, World, say, write
from world_session import make_request, session_of

TESTS = "tests/tdd/calc-1/test_calc_1_add.py"
SOURCE = "src/calc/sums.py"


@pytest.fixture(scope="module")
def green_story(tmp_path_factory) -> World:
    world = World(tmp_path_factory.mktemp("green")).start()
    for _ in range(4):
        assert world.next().status == 0
    return world


@pytest.fixture
def world(green_story, tmp_path) -> World:
    shutil.copytree(green_story.root, tmp_path / "copy", symlinks=True)
    return World(tmp_path / "copy")


def undone(world: World, order: CommandRequest | None = None) -> CommandResult:
    with session_of(world) as session:
        return undo_phase(session, order or make_request("tdd undo", why="another way is better"), "calc-1")


def code(world: World, rev: str) -> str:
    """Names and blobs of everything but the state."""
    listing = world.git("ls-tree", "-r", rev).splitlines()
    return "\n".join(line for line in listing if "\t.orch-state/" not in line)


@pytest.mark.slow
def test_each_phase_is_undone_by_a_commit_and_can_be_repeated(world):
    plan, design, red, green = world.git("rev-list", "--reverse", f"main..{world.branch}").split()
    states = []
    for before in (red, design, plan):
        done = undone(world)
        assert isinstance(done.answer, replies.CommandDone), done
        assert code(world, world.branch) == code(world, before)
        states.append(cycle(world)["state"])
    assert states == ["CODE_GREEN", "TEST_RED", "DESIGN"]
    assert world.git("merge-base", green, world.branch) == green, "nothing was rewritten"
    assert world.verify(world.branch).status == 0
    assert world.run("--story", "calc-1").status == 0
    assert world.phases()[-1] == "integrated(calc-1)"
    verified = world.verify(world.branch)
    assert verified.status == 0, verified.out


@pytest.mark.slow
def test_the_record_of_an_undo(world):
    done = undone(
        world, CommandRequest(make_request("tdd undo").command, "ada", settles=Cursor(number=7, comment=99), why="no")
    )
    record = cycle(world)
    assert record["steps"][-1]["undoes"] == 3
    assert record["steps"][-1]["note"] == "green (step 3) undone by ada: no"
    assert [file["status"] for file in record["test_files"]] == ["committed"]
    assert isinstance(done.answer, replies.CommandDone)
    assert (done.answer.before, done.answer.after) == ("REFACTOR", "CODE_GREEN")
    cursors = json.loads(world.show(".orch-state/prds/calc/status.json"))["cursors"]
    assert [(each["number"], each["comment"]) for each in cursors] == [(7, 99)]
    undone(world)
    assert cycle(world)["test_files"] == []
    assert cycle(world)["tests"] == []


def test_undone_work_is_not_shown_as_verified(world):
    undone(world)
    with session_of(world) as session:
        made = build_pull_request_view(session.store, session.target.branch, session.constraints.limits)
    cells = {cell.text for row in made.board for cell in row.cells}
    shas = world.git("rev-list", "--reverse", f"main..{world.branch}").split()
    red, green = shas[2], shas[3]
    assert red[:7] in cells, cells
    assert green[:7] not in cells


def test_nothing_is_left_to_undo(world):
    for _ in range(3):
        undone(world)
    head = world.git("rev-parse", world.branch)
    done = undone(world)
    assert isinstance(done.answer, replies.IllegalReply)
    assert world.git("rev-parse", world.branch) == head


def test_human_changes_elsewhere_are_kept(world):
    push(world, {"README.md": "# Calc\n"}, "Describe it")
    assert undone(world).answer
    assert {"README.md", TESTS} <= files(world)
    assert SOURCE not in files(world)


def test_human_changes_on_top_are_not_discarded(world):
    push(world, {SOURCE: GREEN_ADD + "\n\nKEPT = 1\n"}, "Go on")
    head = world.git("rev-parse", world.branch)
    done = undone(world)
    assert isinstance(done.answer, replies.NotNow)
    assert SOURCE in done.answer.reason
    assert world.git("rev-parse", world.branch) == head


@pytest.mark.slow
def test_a_step_that_proved_human_commits_is_undone_with_them(world):
    undone(world)
    push(world, {SOURCE: GREEN_ADD}, "By hand")
    assert without(world, "calc-1/green/builder/1/1").next().status == 0
    assert cycle(world)["steps"][-1]["people"] == ["Ada"]
    undone(world)
    assert SOURCE not in files(world)
    assert world.verify(world.branch).status == 0
    world.answers["calc-1/green/builder/1/1"] = write(SOURCE, GREEN_ADD)
    assert world.next().status == 0
    assert world.verify(world.branch).status == 0


@pytest.mark.slow
def test_a_dependent_story_prevents_undo(tmp_path):
    world = World(tmp_path).start()
    plan = json.loads(json.dumps(PLAN))
    plan["stories"][1]["depends_on"] = []
    world.answers["calc/plan/planner/1/1"] = say(plan)
    for more in (("--max-steps", "3"), ("--story", "calc-2", "--max-steps", "2")):
        world.run(*more)
    assert world.phases()[-1] == "red(calc-2)"
    done = undone(world)
    assert isinstance(done.answer, replies.NotNow)
    assert "calc-2 was built on" in done.answer.reason


# --- forgeries --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("edits", "record", "code"),
    [
        ({}, keep, None),
        ({SOURCE: GREEN_ADD}, keep, "VER108"),
        ({TESTS: RED_ADD.replace("== 3", "== 4")}, keep, "VER108"),
        ({}, lambda value: value.update(state="REFACTOR"), "VER106"),
        ({}, lambda value: value.update(tests=[]), "VER106"),
        ({}, lambda value: value["steps"][-1].update(undoes=2), "VER104"),
        ({SOURCE: GREEN_ADD}, lambda value: value["steps"][-1].update(undoes=0), "VER104"),
        ({SOURCE: GREEN_ADD}, lambda value: value["steps"][-1].update(undoes=0, draft=True), "VER104"),
    ],
    ids=["honest", "code", "tests", "state", "no-tests", "another-step", "plain-note", "draft"],
)
def test_a_forged_undo(world, edits, record, code):
    undone(world)
    found = forge(world, edits, record)
    assert (code in found) if code else not found
