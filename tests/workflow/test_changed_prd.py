"""A changed PRD: only the change is planned, and started stories stay as they are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from prd2pr.domain.records import Backlog
from world import GREEN_DOUBLE, PLAN, PRD, World, designed, say, submit, write

STATE = ".orch-state/prds/calc"
TRIPLE = {
    "key": "S9", "epic": "", "title": "Triple a number", "description": "As a user I triple numbers.",
    "kind": "feature", "criteria": [{"text": "4 gives 12", "example": "triple(4) == 12"}],
    "depends_on": ["calc-2"], "complexity": 1, "estimate_minutes": 5, "requirements": ["FR-3"],
    "module": "calc.sums", "interface": "triple(a)", "source_paths": ["src/calc/sums.py"], "test_paths": [],
}  # fmt: skip
WITH_TRIPLE = PRD + "- **FR-3** A number can be tripled.\n"
RED_TRIPLE = '''from calc.sums import triple


def test_triples():
    """calc-3.c1"""
    assert triple(4) == 12
    assert triple(-3) == -9
'''
GREEN_TRIPLE = GREEN_DOUBLE + "\n\ndef triple(a):\n    return a * 3\n"
ALL_OF_TRIPLE = {
    "calc/plan-2/planner/1/1": say({"stories": [TRIPLE]}),
    "calc-3/design/architect/1/1": designed("calc.sums.triple"),
    "calc-3/red/tester/1/1": write("tests/tdd/calc-3/test_calc_3_triple.py", RED_TRIPLE),
    "calc-3/green/builder/1/1": write("src/calc/sums.py", GREEN_TRIPLE),
    "calc-3/refactor/refactorer/1/1": [submit("nothing_to_do")],
}


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, World]:
    """Built once: with the first story done, and with both."""
    half = World(tmp_path_factory.mktemp("half")).start()
    assert half.run("--story", "calc-1").status == 0
    whole = copied(half, tmp_path_factory.mktemp("whole"))
    assert whole.run().status == 0
    return {"half": half, "whole": whole}


def copied(world: World, root: Path) -> World:
    shutil.copytree(world.repo, root / "repo", symlinks=True)
    return World(root)


@pytest.fixture
def world(built, tmp_path) -> World:
    """calc-1 is done and calc-2 not started."""
    return copied(built["half"], tmp_path)


@pytest.fixture
def finished(built, tmp_path) -> World:
    return copied(built["whole"], tmp_path)


def change_prd(world: World, text: str, path: str = "prds/calc.md") -> None:
    world.write({path: text})
    world.commit("change the PRD")


def backlog(world: World) -> Backlog:
    return Backlog.model_validate_json(world.show(f"{STATE}/backlog.json"))


def statuses(world: World) -> dict[str, str]:
    return {story.id: story.status for story in backlog(world).stories}


def verified(world: World, since: str = "~1") -> None:
    """Verify the last commits only: earlier ones were proved when they were made."""
    done = world.verify(f"{world.branch}{since}..{world.branch}", "--json")
    assert done.status == 0, done.out


@pytest.mark.slow
def test_a_new_requirement_becomes_a_story_and_finished_ones_stay(finished):
    world = finished
    before = backlog(world).stories
    change_prd(world, WITH_TRIPLE)
    world.answers = dict(ALL_OF_TRIPLE)  # any other call fails the run
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert "prds/calc.md has changed since it was planned; planning the changes" in done.out
    after = backlog(world).stories
    assert after[:2] == before
    assert statuses(world) == {"calc-1": "done", "calc-2": "done", "calc-3": "done"}
    assert world.phases()[9:] == [
        "plan(calc)", "note(plan)", "note(plan)",
        "design(calc-3)", "red(calc-3)", "green(calc-3)", "integrated(calc-3)",
    ]  # fmt: skip
    assert "plan(calc): the PRD changed: 1 new, 2 kept" in world.subjects()
    assert "FR-3" in world.show("prds/calc.md")
    verified(world, "~7")
    again = world.run()
    assert again.status == 0
    assert len(world.phases()) == 16, "nothing is left to do, and nothing is planned twice"


@pytest.mark.slow
def test_reworded_requirement_of_a_finished_story_gets_a_follow_up_story(world):
    head = world.git("rev-parse", world.branch)
    change_prd(world, PRD.replace("Two numbers can be added", "Two or three numbers can be added"))
    follow = {**TRIPLE, "title": "Add three numbers", "requirements": ["FR-1"], "depends_on": ["calc-1"]}
    world.answers["calc/plan-2/planner/1/1"] = say({"stories": [follow]})
    assert world.next().status == 0
    cycle = f"{STATE}/tdd/cycles/calc-1.json"
    assert world.show(cycle) == world.show(cycle, head)
    assert statuses(world) == {"calc-1": "done", "calc-2": "backlog", "calc-3": "backlog"}
    assert {story.id: story.requirements for story in backlog(world).stories} == {
        "calc-1": ("FR-1",), "calc-2": ("FR-2",), "calc-3": ("FR-1",),
    }  # fmt: skip
    verified(world)


@pytest.mark.slow
def test_unstarted_story_is_replanned_under_its_id(world):
    change_prd(world, PRD.replace("A number can be doubled", "A number can be halved"))
    halve = {**PLAN["stories"][1], "key": "calc-2", "epic": "", "depends_on": ["calc-1"], "title": "Halve a number"}
    world.answers["calc/plan-2/planner/1/1"] = say({"stories": [halve], "questions": ["What of odd numbers?"]})
    assert world.next().status == 0
    assert world.subjects()[-1] == "plan(calc): the PRD changed: 1 changed, 1 kept"
    plan = backlog(world)
    assert [(story.id, story.title) for story in plan.stories] == [
        ("calc-1", "Add two numbers"), ("calc-2", "Halve a number"),
    ]  # fmt: skip
    assert plan.questions == ("What of odd numbers?",)
    verified(world)


@pytest.mark.slow
def test_planner_is_asked_only_about_the_change(world):
    change_prd(world, WITH_TRIPLE)
    rewritten = {**PLAN["stories"][0], "key": "calc-1", "epic": "", "title": "Add it all again"}
    stray = {**TRIPLE, "key": "S8", "title": "A dashboard", "requirements": ["FR-1"]}
    world.answers["calc/plan-2/planner/1/1"] = say({"stories": [TRIPLE, rewritten, stray]})
    world.answers["calc/plan-2/planner/2/1"] = say({"stories": [TRIPLE]})
    done = world.next()
    assert done.status == 0, done.out + done.err
    assert "PLN102" in done.out
    assert "PLN114" in done.out
    (planned,) = [line for line in done.out.splitlines() if "the PRD changed: " in line]
    assert " s " in planned
    assert " 0 s " not in planned
    assert list(statuses(world)) == ["calc-1", "calc-2", "calc-3"]
    assert backlog(world).stories[0].title == "Add two numbers"


@pytest.mark.slow
def test_changed_text_around_requirements_costs_no_call(world):
    change_prd(world, PRD.replace("# A small calculator", "# A small calculator\n\nFor everybody.\n"))
    world.answers = {}
    assert world.next().status == 0
    assert world.subjects()[-1] == "plan(calc): the PRD changed: 2 kept"
    verified(world)


@pytest.mark.slow
def test_renumbered_requirements_are_the_same_ones(world):
    change_prd(world, PRD.replace("FR-2", "FR-7").replace("FR-1", "FR-2"))
    world.answers = {}
    assert world.next().status == 0
    assert [story.requirements for story in backlog(world).stories] == [("FR-2",), ("FR-7",)]
    assert statuses(world) == {"calc-1": "done", "calc-2": "backlog"}
    verified(world)


@pytest.mark.slow
def test_locally_a_removed_requirement_removes_its_unstarted_story(world):
    change_prd(world, PRD.replace("- **FR-2** A number can be doubled.\n", ""))
    world.answers = {}
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert "FR-2 (A number can be doubled.) is no longer " in " ".join(done.out.split())
    assert statuses(world) == {"calc-1": "done", "calc-2": "skipped"}
    assert json.loads(world.show(f"{STATE}/status.json"))["state"] == "SPRINT_REVIEW"
    verified(world)


@pytest.mark.slow
def test_removed_requirement_of_a_finished_story_becomes_a_question(finished):
    world = finished
    change_prd(world, PRD.replace("- **FR-2** A number can be doubled.\n", ""))
    world.answers = {}
    assert world.run().status == 0
    assert statuses(world) == {"calc-1": "done", "calc-2": "done"}
    (question,) = backlog(world).questions
    assert "FR-2" in question and "calc-2" in question and question.endswith("?")
    assert "def double" in world.show("src/calc/sums.py")
    verified(world)


@pytest.mark.slow
def test_renamed_prd_continues(world):
    world.git("mv", "prds/calc.md", "prds/sums.md")
    world.commit("rename the PRD")
    done = world.program("run", "prds/sums.md", "--model", f"replay:{world.transcript()}")
    assert done.status == 0, done.out + done.err
    assert world.phases().count("plan(calc)") == 1
    assert statuses(world) == {"calc-1": "done", "calc-2": "done"}


@pytest.mark.slow
def test_renamed_and_changed_prd_exists_once(world):
    world.git("mv", "prds/calc.md", "prds/sums.md")
    change_prd(world, WITH_TRIPLE, "prds/sums.md")
    world.answers["calc/plan-2/planner/1/1"] = say({"stories": [TRIPLE]})
    done = world.program("next", "prds/sums.md", "--model", f"replay:{world.transcript()}")
    assert done.status == 0, done.out + done.err
    assert world.git("ls-tree", "--name-only", world.branch, "prds/").splitlines() == ["prds/sums.md"]
    verified(world)


@pytest.mark.slow
def test_two_prds_with_one_id_are_refused_naming_both(tmp_path):
    world = World(tmp_path).start()
    change_prd(world, PRD.replace("doubled", "halved"), "prds/other.md")
    done = world.run()
    assert done.status != 0
    assert "prds/other.md and prds/calc.md " in done.err and " `calc`" in done.err
    assert world.git("branch", "--list", world.branch) == ""


@pytest.mark.slow
def test_deleted_prd_stops_the_work_with_a_message(world):
    before = world.subjects()
    world.git("rm", "-q", "prds/calc.md")
    world.git("commit", "-qm", "delete the PRD")
    done = world.program("next", "--model", f"replay:{world.transcript()}")
    assert done.status == 1
    assert "`prds/calc.md` was deleted from main" in " ".join(done.out.split())
    assert world.subjects() == before


@pytest.mark.slow
def test_human_commits_are_judged_before_the_plan_changes(world):
    for _ in range(2):  # the design and RED of calc-2
        assert world.next().status == 0
    world.git("switch", "-q", world.branch)
    world.write({"src/calc/sums.py": GREEN_DOUBLE})
    world.commit("double by hand")
    world.git("switch", "-q", "main")
    change_prd(world, WITH_TRIPLE)
    world.answers["calc/plan-2/planner/1/1"] = say({"stories": [TRIPLE]})
    assert world.next().status == 0
    assert world.next().status == 0
    assert world.phases()[-3:] == ["double by hand", "green(calc-2)", "plan(calc)"]
    verified(world, "~3")


@pytest.mark.slow
def test_refused_plan_leaves_the_branch_unchanged_and_is_retried(world):
    """An answer refused three times leaves the branch unchanged; the next run asks again."""
    before = world.subjects()
    change_prd(world, WITH_TRIPLE)
    for attempt in (1, 2, 3):
        world.answers[f"calc/plan-2/planner/{attempt}/1"] = say({"stories": []})
    done = world.next()
    assert done.status != 0
    assert "no story covers FR-3" in done.err
    assert world.subjects() == before
    world.answers["calc/plan-2/planner/1/1"] = say({"stories": [TRIPLE]})
    assert world.next().status == 0
    assert world.phases()[-1] == "plan(calc)"


# --- forged plans -----------------------------------------------------------------------------------------------------


@pytest.fixture
def replanned(world) -> World:
    change_prd(world, WITH_TRIPLE)
    world.answers["calc/plan-2/planner/1/1"] = say({"stories": [TRIPLE]})
    assert world.next().status == 0
    return world


def forge(world: World, name: str, change) -> str:
    """The last commit with one state file changed by hand."""
    path = f"{STATE}/{name}"
    record = json.loads(world.show(path))
    change(record)
    world.git("switch", "-q", world.branch)
    world.write({path: json.dumps(record)})
    world.git("add", path)
    world.git("commit", "-q", "--amend", "--no-edit")
    world.git("switch", "-q", "main")
    done = world.verify(f"{world.branch}~1..{world.branch}", "--json")
    assert done.status == 1, done.out
    return " ".join(finding["message"] for step in done.json["steps"] for finding in step["findings"])


@pytest.mark.slow
def test_a_plan_that_rewrites_a_finished_story_is_refused(replanned):
    def rewrite(record):
        record["stories"][0]["title"] = "Something easier"

    assert "calc-1 differs" in forge(replanned, "backlog.json", rewrite)


@pytest.mark.slow
def test_a_plan_that_approves_itself_is_refused(replanned):
    def approve(record):
        record["approvals"] = [{"by": "eve", "at": "2026-01-01T00:00:00Z", "head": "1" * 40}]

    assert "does not follow from the changed PRD" in forge(replanned, "status.json", approve)
