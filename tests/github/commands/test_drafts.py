"""Drafts: a phase's work on the branch before a gate has judged it, and the gate that judges all of it."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

from branch_work import CYCLE, cycle, files, forge, push, without
from prd2pr.github.commands.drafts import judge_drafts, write_draft
from prd2pr.github.commands.parser import ParsedCommand
from prd2pr.github.commands.request import CommandRequest, CommandResult
from prd2pr.github.commands.undo import undo_phase
from prd2pr.github.messages import replies
from prd2pr.workflow.session import RoleModel
from world import GREEN_ADD, PLAN, RED_ADD, WRONG_ADD, World, designed, say, write
from world_session import make_request, session_of

TESTS = "tests/tdd/calc-1/test_calc_1_add.py"
SOURCE = "src/calc/sums.py"
TESTER, BUILDER = "calc-1/red/tester/1/1", "calc-1/green/builder/1/1"
HANDLERS = {
    "tdd undo": undo_phase,
    **dict.fromkeys(("tdd design", "tdd test", "tdd code", "tdd refactor"), write_draft),
}


@pytest.fixture(scope="module")
def planned_story(tmp_path_factory) -> World:
    world = World(tmp_path_factory.mktemp("planned")).start()
    assert world.next().status == 0
    return world


@pytest.fixture
def world(planned_story, tmp_path) -> World:
    shutil.copytree(planned_story.root, tmp_path / "copy", symlinks=True)
    return World(tmp_path / "copy")


def execute(world: World, command: str) -> CommandResult:
    with session_of(world) as session:
        return HANDLERS.get(command, judge_drafts)(session, make_request(command), "calc-1")


def verified(world: World) -> dict[str, list[str]]:
    """Subjects of the verified and of the unverified commits."""
    done = world.verify(world.branch, "--json")
    subjects = dict(line.split(" ", 1) for line in world.git("log", "--format=%H %s", world.branch).splitlines())
    found: dict[str, list[str]] = {"proved": [], "unproven": [], "wrong": []}
    for step in done.json["steps"]:
        wrong = any(finding["severity"] == "error" for finding in step["findings"])
        found["proved" if step["proved"] else "wrong" if wrong else "unproven"].append(subjects[step["commit"]])
    assert (done.status == 0) is not (found["unproven"] or found["wrong"])
    return found


@pytest.mark.slow
def test_a_whole_story_by_drafts(world):
    done = execute(world, "tdd design")
    assert isinstance(done.answer, replies.DraftReply)
    assert cycle(world)["state"] == "DESIGN"
    assert cycle(world)["design"]["summary"] == "A function."
    done = execute(world, "tdd test")
    assert isinstance(done.answer, replies.DraftReply)
    assert done.answer.paths == (TESTS,)
    assert (cycle(world)["state"], cycle(world)["test_files"][0]["status"]) == ("TEST_RED", "draft")
    assert len(verified(world)["unproven"]) == 1, "work that no gate has judged is unproven, and nothing is wrong"
    red = execute(world, "tdd commit-tests")
    assert isinstance(red.answer, replies.GateReply) and red.answer.accepted
    assert cycle(world)["test_files"][0]["status"] == "committed"
    execute(world, "tdd code")
    assert execute(world, "tdd commit-code").answer.accepted
    done = execute(world, "tdd commit-refactor")
    assert isinstance(done.answer, replies.GateReply) and done.answer.phase == "integrated"
    assert world.phases()[1:] == [
        "note(calc-1)", "note(calc-1)", "red(calc-1)", "note(calc-1)", "green(calc-1)", "integrated(calc-1)",
    ]  # fmt: skip
    assert verified(world) == {"proved": world.subjects(), "unproven": [], "wrong": []}


def test_text_with_the_order_reaches_the_role_as_advice(world):
    asked = []
    with session_of(world) as session:
        hired = session.services.select_model("architect", False)  # noqa: FBT003

        def reply(request):
            asked.append(request)
            return hired.model.reply(request)

        spy = SimpleNamespace(name=hired.model.name, reply=reply)
        order = CommandRequest(ParsedCommand("tdd design", stories=("calc-1",), text="keep it in one module"), by="ada")
        write_draft(
            replace(session, services=replace(session.services, select_model=lambda *_: RoleModel(spy))),
            order,
            "calc-1",
        )
    words = "".join(block.text for message in asked[0].messages for block in message.blocks)
    assert "keep it in one module" in words
    assert "by ada: keep it in one" in world.subjects()[-1]


@pytest.mark.slow
def test_a_drafted_design_passes_without_asking_again(world):
    execute(world, "tdd design")
    assert without(world, "calc-1/design/architect/1/1").next().status == 0
    assert world.phases()[1:] == ["note(calc-1)", "design(calc-1)"]
    assert world.run("--story", "calc-1").status == 0
    assert world.verify(world.branch).status == 0


@pytest.mark.slow
def test_a_refused_draft_changes_nothing_and_costs_no_attempt(world):
    world.next()
    world.next()
    world.answers[BUILDER] = write(SOURCE, WRONG_ADD)
    execute(world, "tdd code")
    head = world.git("rev-parse", world.branch)
    done = execute(world, "tdd commit-code")
    assert isinstance(done.answer, replies.GateReply)
    assert not done.answer.accepted
    assert "GRN302" in {finding.code for finding in done.answer.findings}
    assert world.git("rev-parse", world.branch) == head
    push(world, {SOURCE: GREEN_ADD}, "Mend it")
    done = execute(world, "tdd commit-code")
    assert isinstance(done.answer, replies.GateReply) and done.answer.accepted
    assert done.answer.people == ("Ada",)
    assert verified(world) == {"proved": world.subjects(), "unproven": [], "wrong": []}


@pytest.mark.slow
def test_next_judges_a_draft_before_it_asks_anybody(world):
    world.next()
    execute(world, "tdd test")
    assert without(world, TESTER).next().status == 0
    assert world.phases()[2:] == ["note(calc-1)", "red(calc-1)"]
    assert world.verify(world.branch).status == 0


@pytest.mark.slow
def test_commit_proves_what_is_missing_and_integrates(world):
    world.next()
    world.next()
    push(world, {SOURCE: GREEN_ADD}, "By hand")
    done = execute(world, "tdd commit")
    assert isinstance(done.answer, replies.GateReply) and done.answer.phase == "integrated"
    assert world.phases()[3:] == ["By hand", "green(calc-1)", "integrated(calc-1)"]
    assert world.verify(world.branch).status == 0


@pytest.mark.slow
def test_a_drafted_refactoring_is_judged_as_one(world):
    long = "def add(a, b):\n    if a:\n        total = a\n    else:\n        total = 0\n    return total + b\n"
    world.answers[BUILDER] = write(SOURCE, long)
    for _ in range(3):
        assert world.next().status == 0
    world.answers["calc-1/refactor/refactorer/1/1"] = write(SOURCE, GREEN_ADD)
    assert isinstance(execute(world, "tdd refactor").answer, replies.DraftReply)
    done = execute(world, "tdd commit-refactor")
    assert isinstance(done.answer, replies.GateReply) and done.answer.phase == "integrated"
    assert world.phases()[-2:] == ["refactor(calc-1)", "integrated(calc-1)"]
    assert verified(world) == {"proved": world.subjects(), "unproven": [], "wrong": []}


@pytest.mark.slow
def test_undo_removes_drafts_too(world):
    world.next()
    execute(world, "tdd test")
    assert TESTS in files(world)
    execute(world, "tdd undo")
    assert TESTS not in files(world)
    assert cycle(world)["state"] == "DESIGN"
    assert world.run("--story", "calc-1").status == 0
    assert world.verify(world.branch).status == 0, "what was taken back needs no proof"


@pytest.mark.parametrize(
    ("command", "steps"),
    [
        ("tdd code", 0),
        ("tdd commit-tests", 0),
        ("tdd refactor", 2),
        pytest.param("tdd test", 2, marks=pytest.mark.slow),
        pytest.param("tdd commit-refactor", 1, marks=pytest.mark.slow),
    ],
)
def test_a_transition_that_the_machine_forbids_changes_nothing(world, command, steps):
    for _ in range(steps):
        world.next()
    head = world.git("rev-parse", world.branch)
    assert isinstance(execute(world, command).answer, replies.IllegalReply)
    assert world.git("rev-parse", world.branch) == head


@pytest.mark.slow
@pytest.mark.parametrize(("command", "steps"), [("tdd commit-tests", 1), ("tdd commit-code", 2), ("tdd commit", 2)])
def test_without_work_there_is_nothing_to_judge(world, command, steps):
    for _ in range(steps):
        world.next()
    head = world.git("rev-parse", world.branch)
    done = execute(world, command)
    assert isinstance(done.answer, replies.NotNow)
    assert "no work since the last step" in done.answer.reason
    assert world.git("rev-parse", world.branch) == head


@pytest.mark.slow
def test_a_docs_story_needs_no_tests(tmp_path):
    world = World(tmp_path).start()
    plan = json.loads(json.dumps(PLAN))
    plan["stories"][0].update(kind="docs", criteria=[], title="Describe adding", source_paths=["README.md"])
    world.answers["calc/plan/planner/1/1"] = say(plan)
    world.answers["calc-1/design/architect/1/1"] = designed()
    world.answers[BUILDER] = write("README.md", "# Calc\n\nAdds numbers.\n")
    world.next()
    assert isinstance(execute(world, "tdd test").answer, replies.NotNow)
    world.next()
    assert isinstance(execute(world, "tdd code").answer, replies.DraftReply)
    assert execute(world, "tdd commit").answer.phase == "integrated"
    assert verified(world) == {"proved": world.subjects(), "unproven": [], "wrong": []}


@pytest.mark.parametrize(
    ("edits", "record"),
    [
        ({SOURCE: GREEN_ADD}, {}),
        ({"tests/test_signs.py": "def test_nothing():\n    assert True\n"}, {}),
        ({}, {"state": "CODE_GREEN"}),
        ({}, {"tests": ["tests/tdd/calc-1/test_calc_1_add.py::test_adds_two_numbers"]}),
        ({}, {"pre_implemented": True}),
    ],
    ids=["source", "other-tests", "past-the-gate", "ids", "built-before"],
)
def test_a_forged_draft(world, edits, record):
    world.next()
    execute(world, "tdd test")
    assert forge(world, dict(edits), lambda value: value.update(record)) & {"VER104", "VER108"}


@pytest.mark.slow
def test_drafted_tests_lock_nothing(world):
    world.next()
    execute(world, "tdd test")
    push(world, {TESTS: RED_ADD.replace("add(1, 2) == 3", "add(2, 2) == 4")}, "Better numbers")
    assert without(world, TESTER).next().status == 0
    assert "add(2, 2)" in world.show(TESTS)
    assert json.loads(world.show(CYCLE))["steps"][-1]["people"] == ["Ada"]
    assert world.verify(world.branch).status == 0
