"""Commits that people push between phases are judged by the same gate, built upon, and never discarded."""

from __future__ import annotations

import re
import shutil

import pytest

from branch_work import CYCLE, cycle, files, forge, push, without
from world import GREEN_ADD, RED_ADD, WRONG_ADD, World, write

TESTS = "tests/tdd/calc-1/test_calc_1_add.py"
SOURCE = "src/calc/sums.py"
TESTER, BUILDER = "calc-1/red/tester/1/1", "calc-1/green/builder/1/1"


def stopped_before(tmp_path_factory, steps: int) -> World:
    world = World(tmp_path_factory.mktemp("stopped")).start()
    for _ in range(steps):
        assert world.next().status == 0
    return world


@pytest.fixture(scope="module")
def designed_story(tmp_path_factory) -> World:
    return stopped_before(tmp_path_factory, 2)


@pytest.fixture(scope="module")
def red_story(tmp_path_factory) -> World:
    return stopped_before(tmp_path_factory, 3)


@pytest.fixture
def at_red(designed_story, tmp_path) -> World:
    shutil.copytree(designed_story.root, tmp_path / "copy", symlinks=True)
    return World(tmp_path / "copy")


@pytest.fixture
def at_green(red_story, tmp_path) -> World:
    shutil.copytree(red_story.root, tmp_path / "copy", symlinks=True)
    return World(tmp_path / "copy")


def unproven(world: World) -> list[str]:
    steps = world.verify(world.branch, "--json").json["steps"]
    return [step["commit"] for step in steps if not step["proved"]]


@pytest.mark.slow
def test_tests_by_a_person_pass_red(at_red):
    sha = push(at_red, {TESTS: RED_ADD}, "Tests by hand")
    done = without(at_red, TESTER).next()
    assert done.status == 0, done.out + done.err
    assert at_red.phases()[2:] == ["Tests by hand", "red(calc-1)"]
    assert cycle(at_red)["state"] == "CODE_GREEN"
    assert cycle(at_red)["steps"][-1]["people"] == ["Ada"]
    assert "commits of Ada" in at_red.git("log", "-1", "--format=%B", at_red.branch)
    verified = at_red.verify(at_red.branch)
    assert verified.status == 0, verified.out
    assert re.search(rf" {sha[:10]} .*\n.* calc/calc-1/2$", verified.out, re.MULTILINE)
    assert "1 commit proved as part of a step" in verified.out
    assert "as part of calc-1/2" in (at_red.repo / ".git/prd2pr/pr/calc.html").read_text()


def test_code_by_a_person_passes_green_and_the_story_is_finished(at_green):
    push(at_green, {SOURCE: "def add(a, b):\n    raise NotImplementedError\n"}, "Begin")
    push(at_green, {SOURCE: GREEN_ADD}, "Add")
    done = without(at_green, BUILDER).run("--story", "calc-1")
    assert done.status == 0, done.out + done.err
    assert at_green.phases()[3:] == ["Begin", "Add", "green(calc-1)", "integrated(calc-1)"]
    assisted = at_green.git(
        "log",
        "--reverse",
        "--format=%an:%(trailers:key=Assisted-by,valueonly,separator=%x2C)",
        f"main..{at_green.branch}",
    ).splitlines()
    own = ["Ada:"] * 4  # nobody but a person worked on GREEN, and no role works in INTEGRATED
    assert assisted == ["Ada:replay"] * 3 + own, "the tester and the planner are named, in commits of the user"
    assert "7 of 7 steps proved" in done.out, "commits that a step has judged are not called unproven"
    assert at_green.verify(at_green.branch).status == 0


@pytest.mark.slow
def test_partial_work_is_reported_kept_and_continued(at_green):
    push(at_green, {SOURCE: WRONG_ADD, "src/calc/notes.py": "KEPT = 1\n"}, "Half of it")
    done = at_green.next()
    assert done.status == 0, done.out + done.err
    assert at_green.phases()[3:] == ["Half of it", "note(calc-1)", "green(calc-1)"]
    assert "the work of Ada does not pass GREEN yet" in done.out
    record = cycle(at_green)
    assert [(each["phase"], each["attempt"]) for each in record["refused"]] == [("green", 0)]
    assert record["steps"][-1]["attempts"] == 1, "the builder's own first attempt"
    assert "src/calc/notes.py" in files(at_green), "what the person wrote is still there"
    assert at_green.show(SOURCE).strip() == GREEN_ADD.strip()
    assert at_green.verify(at_green.branch).status == 0


@pytest.mark.slow
def test_refused_work_is_reported_once(at_green):
    push(at_green, {SOURCE: WRONG_ADD}, "Half of it")
    without(at_green, BUILDER).next()
    assert at_green.phases()[3:] == ["Half of it", "note(calc-1)"]
    at_green.next()
    assert at_green.phases()[3:] == ["Half of it", "note(calc-1)"]


@pytest.mark.slow
def test_tests_and_code_in_one_commit_are_proved_red_first(at_red):
    push(at_red, {TESTS: RED_ADD, SOURCE: GREEN_ADD}, "The whole story")
    without(at_red, TESTER, BUILDER)
    assert at_red.next().status == 0
    assert at_red.phases()[2:] == ["The whole story", "red(calc-1)"]
    assert SOURCE not in files(at_red), "RED is proved without the code"
    done = at_red.next()
    assert done.status == 0, done.out + done.err
    assert at_red.phases()[-1] == "green(calc-1)"
    assert at_red.show(SOURCE).strip() == GREEN_ADD.strip()
    assert at_red.verify(at_red.branch).status == 0


@pytest.mark.slow
def test_wrong_code_with_good_tests_is_passed_to_the_builder(at_red):
    push(at_red, {TESTS: RED_ADD, SOURCE: WRONG_ADD, "src/calc/notes.py": "KEPT = 1\n"}, "The whole story")
    without(at_red, TESTER)
    assert at_red.next().status == 0
    done = at_red.next()
    assert done.status == 0, done.out + done.err
    assert at_red.phases()[2:] == ["The whole story", "red(calc-1)", "note(calc-1)", "green(calc-1)"]
    assert "src/calc/notes.py" in files(at_red)
    assert at_red.verify(at_red.branch).status == 0


@pytest.mark.slow
def test_unrelated_commit_is_built_upon_and_stays_unproven(at_red):
    sha = push(at_red, {"README.md": "# Calc\n"}, "Describe it")
    assert at_red.next().status == 0
    assert at_red.phases()[2:] == ["Describe it", "red(calc-1)"]
    assert "README.md" in files(at_red)
    assert unproven(at_red) == [sha]
    assert sha[:7] in (at_red.repo / ".git/prd2pr/pr/calc.html").read_text()


def test_locked_test_changed_by_a_person_waits_for_the_person(at_green):
    push(at_green, {TESTS: RED_ADD.replace("== 3", "== 4")}, "Other tests")
    done = at_green.next()
    assert done.status == 1
    assert f"`{TESTS}`" in done.out
    assert at_green.phases()[-1] == "Other tests"


LONG_ADD = """def add(a, b):
    if a > 0:
        total = a
        total = total + b
        return total
    else:
        total = a
        total = total + b
        return total
"""


@pytest.mark.slow
def test_refactoring_by_a_person_passes_and_is_integrated(at_green):
    at_green.answers[BUILDER] = write(SOURCE, LONG_ADD)
    assert at_green.next().status == 0
    push(at_green, {SOURCE: GREEN_ADD}, "Simpler")
    done = without(at_green, "calc-1/refactor/refactorer/1/1").next()
    assert done.status == 0, done.out + done.err
    assert at_green.phases()[4:] == ["Simpler", "refactor(calc-1)"]
    push(at_green, {SOURCE: "def add(a, b):\n    return b + a\n\n\ndef _plus(a, b):\n    return add(a, b)\n"}, "More")
    push(at_green, {SOURCE: GREEN_ADD}, "No")
    assert at_green.next().status == 0
    assert at_green.phases()[-1] == "integrated(calc-1)"
    assert at_green.verify(at_green.branch).status == 0, "what comes to nothing is proved by what follows"


@pytest.mark.slow
def test_tests_that_fail_again_are_no_longer_reported_as_passing(at_green):
    assert at_green.next().status == 0
    assert [file["status"] for file in cycle(at_green)["test_files"]] == ["passing"]
    sha = push(at_green, {SOURCE: WRONG_ADD}, "Break it")
    done = at_green.next()
    assert done.status == 1, done.out
    assert [file["status"] for file in cycle(at_green)["test_files"]] == ["committed"]
    assert unproven(at_green) == [sha]
    push(at_green, {SOURCE: GREEN_ADD}, "Mend it")
    assert at_green.run("--story", "calc-1").status == 0
    assert [file["status"] for file in cycle(at_green)["test_files"]] == ["integrated"]
    assert at_green.verify(at_green.branch).status == 0


@pytest.mark.slow
def test_hand_written_state_is_never_proved(at_red):
    text = at_red.show(CYCLE)
    sha = push(at_red, {TESTS: RED_ADD, CYCLE: text.replace("A function.", "Another function.")}, "Tests and state")
    at_red.answers[TESTER] = write("tests/tdd/calc-1/test_calc_1_more.py", RED_ADD.replace("_numbers", "_more"))
    at_red.next()
    assert unproven(at_red)[0] == sha


@pytest.mark.slow
def test_base_merge_after_red_is_built_upon_and_proved(at_green):
    at_green.write({"NOTES.md": "main goes on\n"})
    at_green.commit("On main")
    at_green.git("switch", "-q", at_green.branch)
    at_green.git("merge", "-q", "--no-ff", "-m", "Take main in", "main")
    at_green.git("switch", "-q", "main")
    done = at_green.next()
    assert done.status == 0, done.out + done.err
    assert unproven(at_green) == []


def code_tree(world: World, rev: str) -> str:
    listing = [line for line in world.git("ls-tree", rev).splitlines() if not line.endswith("\t.orch-state")]
    return world.git_input("mktree", "\n".join(listing) + "\n")


@pytest.mark.slow
def test_step_may_not_start_before_the_previous_step(at_green):
    """GREEN based on a commit before RED would count RED's tests as its own and lock nothing."""
    push(at_green, {SOURCE: GREEN_ADD}, "By hand")
    assert without(at_green, BUILDER).next().status == 0
    design, red, by_hand = (code_tree(at_green, f"{at_green.branch}~{n}") for n in (3, 2, 1))
    assert len({design, red, by_hand}) == 3
    for base in (design, "0" * 40):
        assert "VER104" in forge_green(at_green, base)


@pytest.mark.slow
def test_step_does_not_prove_commits_before_its_base(at_green):
    push(at_green, {SOURCE: GREEN_ADD}, "By hand")
    assert without(at_green, BUILDER).next().status == 0
    found = forge_green(at_green, code_tree(at_green, f"{at_green.branch}~1"))
    assert "VER105" in found, "nothing has changed since, and the tests passed before"


def forge_green(world: World, base: str) -> set[str]:
    return forge(world, {}, seen=lambda evidence: evidence.update(base_tree=base), others_proved=False)


@pytest.mark.slow
@pytest.mark.parametrize("flag", [{"draft": True}, {"undoes": 2}])
def test_gated_step_is_neither_draft_nor_undo(at_green, flag):
    assert at_green.next().status == 0
    assert "VER106" in forge(at_green, {}, lambda value: value["steps"][-1].update(flag))
