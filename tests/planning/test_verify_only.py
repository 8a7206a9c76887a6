"""A story whose code another story is planned to build: its tests are written, and RED is never claimed."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest

from world import GREEN_ADD, PLAN, RED_ADD, World, say, script, write

TESTS_AGAIN = '''from calc.sums import add


def test_adds_large_numbers():
    """calc-2.c1"""
    assert add(1000, 2000) == 3000
    assert add(-7, 7) == 0
'''
AGAIN = "tests/tdd/calc-2/test_calc_2_again.py"


def overlapping() -> dict:
    plan = copy.deepcopy(PLAN)
    plan["stories"][1] |= {
        "title": "Add two numbers again", "verify_only": True, "requirements": ["FR-1", "FR-2"],
        "criteria": [{"text": "1000 and 2000 give 3000", "example": ""}],
    }  # fmt: skip
    return plan


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path).start()
    world.answers |= {"calc/plan/planner/1/1": say(overlapping()), "calc-2/red/tester/1/1": write(AGAIN, TESTS_AGAIN)}
    return world


@pytest.mark.slow
def test_built_story_is_verified_at_the_first_attempt(world: World) -> None:
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert [phase for phase in world.phases() if "calc-2" in phase] == [
        "design(calc-2)",
        "green(calc-2)",
        "integrated(calc-2)",
    ]
    cycle = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-2.json"))
    assert cycle["pre_implemented"]
    assert cycle.get("refused", []) == [], "nothing was refused: it was planned so"
    proved = world.verify("--json")
    assert proved.status == 0, proved.out + proved.err


@pytest.mark.slow
def test_story_that_was_not_built_is_built_like_any_other(world: World) -> None:
    del world.answers["calc-2/red/tester/1/1"]
    world.answers |= {key: value for key, value in script().items() if key.startswith("calc-2/")}
    double = {"title": "Add two numbers again", "criteria": [{"text": "4 gives 8", "example": ""}]}
    plan = overlapping()
    plan["stories"][1] |= double
    world.answers["calc/plan/planner/1/1"] = say(plan)
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert "red(calc-2)" in world.phases()
    assert world.verify().status == 0


@pytest.mark.slow
def test_fused_answer_is_verified_too(world: World) -> None:
    world.write({".prd2pr.yml": "profile: quick\n"})
    world.commit("quick")
    both = [*write("tests/tdd/calc-1/test_calc_1_add.py", RED_ADD)[:1], *write("src/calc/sums.py", GREEN_ADD)]
    world.answers |= {"calc-1/red/fused/1/1": both, "calc-2/red/fused/1/1": write(AGAIN, TESTS_AGAIN)}
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert "green(calc-2)" in world.phases() and "red(calc-2)" not in world.phases()
    assert world.verify().status == 0


def test_older_backlogs_are_read_unchanged(world: World) -> None:
    world.answers["calc/plan/planner/1/1"] = say(PLAN)
    assert world.next().status == 0
    path = ".orch-state/prds/calc/backlog.json"
    world.git("switch", "-q", world.branch)
    old = json.loads((world.repo / path).read_text())
    for story in old["stories"]:
        story.pop("verify_only", None), story.pop("test_ideas", None)
    del old["not_covered"]
    (world.repo / path).write_text(json.dumps(old, indent=2) + "\n")
    world.git("commit", "-qam", "as an older version wrote it")
    world.git("switch", "-q", "main")
    assert world.program("status", "--json").status == 0
