"""Requirements that the planner takes for met are verified, not built; what is not met becomes a story."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from workflow.test_conversation import number
from world import Blocks, World, say, use

PRD = """---
id: calc
title: Calculator
---

# Calculator

- **FR-1** `double(4)` gives 8.
- **FR-2** `triple(4)` gives 12.
- **FR-3** `negate(4)` gives -4.
"""
VERIFIED = "verified as already implemented"
CODE = "def double(n):\n    return n * 2\n\n\ndef triple(n):\n    return n * 3\n"
PLACE = "tests/tdd/{0}/test_{1}_{2}.py"
NEGATE = {
    "key": "negate", "title": "Negate", "criteria": [{"text": "negate(4) gives -4", "requirements": ["FR-3"]}],
    "requirements": ["FR-3"], "source_paths": ["src/calc/sums.py"],
}  # fmt: skip
MET = [{"id": name, "status": "met", "note": "src/calc/sums.py"} for name in ("FR-1", "FR-2")]


def make_test(story: str, at: int, name: str, factor: int) -> str:
    return (
        f'def test_{name}():\n    """{story}.c{at}"""\n    assert {name}(4) == {4 * factor}\n'
        f"    assert {name}(-3) == {-3 * factor}\n"
    )


def file_of(story: str, *tests: tuple[str, int]) -> Blocks:
    names = ", ".join(name for name, _ in tests)
    bodies = "\n\n".join(make_test(story, at, *each) for at, each in enumerate(tests, 1))
    path = PLACE.format(story, story.replace("-", "_"), "all")
    return [use("write_file", path=path, content=f"from calc.sums import {names}\n\n\n{bodies}")]


def submit(story: str) -> dict[str, object]:
    return use("submit", story=story, status="done", explanation="Tests.")


def negate(story: str) -> Blocks:
    add = use(
        "edit_file", path="src/calc/sums.py", old="def double", new="def negate(n):\n    return -n\n\n\ndef double"
    )
    return [*file_of(story, ("negate", -1)), add, submit(story)]


def steps(story: str, *phases: str) -> list[str]:
    return [f"{phase}({story})" for phase in phases]


def read_trace(world: World) -> dict[str, str]:
    """Return the verdict of each requirement in the trace."""
    found = re.findall(r"^\| `(FR-\d)` \| .* \| ([^|]*) \|$", world.show("docs/TRACE.md"), re.MULTILINE)
    return dict(found)


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.start({"prds/calc.md": PRD, "src/calc/sums.py": CODE})
    world.configure("strategy: conversation\ngates:\n  held_out: false\n")
    world.answers = {"calc/plan/planner/1/1": say({"stories": [NEGATE], "classified": MET})}
    return world


def test_one_answer_verifies_what_is_met_and_builds_the_rest(world: World) -> None:
    both = file_of("calc-1", ("double", 2), ("triple", 3))
    world.answers["calc-1/red/programmer/1/1"] = number([*both, submit("calc-1"), *negate("calc-2")])
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert [each for each in world.phases() if "calc-1" in each] == steps("calc-1", "design", "green", "integrated")
    assert read_trace(world) == {
        "FR-1": VERIFIED,
        "FR-2": VERIFIED,
        "FR-3": "proven",
    }
    evidence = json.loads(world.show(".orch-state/prds/calc/tdd/evidence/calc-1/2-green.json"))["evidence"]
    outcomes = {each["outcome"] for each in evidence["bite"]["mutants"]}
    assert evidence["pre_implemented"] and outcomes == {"killed"}, "mutants of existing code are killed"
    assert "double" not in world.show("docs/CHANGELOG.md") and "Verify" not in world.show("docs/CHANGELOG.md")
    assert world.verify().status == 0


def test_tests_that_notice_no_mutant_are_refused(world: World) -> None:
    weak = "from calc.sums import double, triple\n\n\n" + "\n\n".join(
        f'def test_{name}():\n    """calc-1.c{at}"""\n    assert isinstance({name}(4), int)\n'
        for at, name in enumerate(("double", "triple"), 1)
    )
    path = PLACE.format("calc-1", "calc_1", "all")
    world.configure("strategy: conversation\nattempts: 2\ngates:\n  held_out: false\n")
    world.answers["calc-1/red/programmer/1/1"] = number([
        use("write_file", path=path, content=weak), submit("calc-1"), *negate("calc-2"),
    ])  # fmt: skip
    both = file_of("calc-1", ("double", 2), ("triple", 3))
    world.answers["calc-1/red/programmer/2/1"] = number([*both, submit("calc-1")])
    done = world.run()
    assert done.status == 0, done.out + done.err
    refused = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))["refused"]
    assert len(refused) == 1


def test_a_refusal_does_not_name_that_verifying_tests_pass(world: World) -> None:
    vague = file_of("calc-1", ("double", 2), ("triple", 3))
    vague[0]["input"]["content"] += '\n\ndef test_nothing():\n    """calc-1.c1"""\n    assert True\n'
    world.answers["calc-1/red/programmer/1/1"] = number([*vague, submit("calc-1"), *negate("calc-2")])
    both = file_of("calc-1", ("double", 2), ("triple", 3))
    world.answers["calc-1/red/programmer/2/1"] = number([*both, submit("calc-1")])
    done = world.run()
    assert done.status == 0, done.out + done.err
    (refused,) = json.loads(world.show(".orch-state/prds/calc/tdd/cycles/calc-1.json"))["refused"]
    assert refused["codes"] and "RED105" not in refused["codes"]


def test_what_is_not_met_becomes_a_story(world: World) -> None:
    world.write({"src/calc/sums.py": CODE.replace("n * 3", "n * 4")})
    world.commit("triple is wrong")
    both = file_of("calc-1", ("double", 2), ("triple", 3))
    world.answers["calc-1/red/programmer/1/1"] = number([*both, submit("calc-1"), *negate("calc-2")])
    fix = use("edit_file", path="src/calc/sums.py", old="n * 4", new="n * 3")
    world.answers["calc-1/red/programmer/2/1"] = number([
        *file_of("calc-1", ("double", 2)), submit("calc-1"), *file_of("calc-3", ("triple", 3)), fix, submit("calc-3"),
    ])  # fmt: skip
    done = world.run()
    assert done.status == 0, done.out + done.err
    phases = world.phases()
    assert [each for each in phases if "calc-3" in each] == steps("calc-3", "design", "red", "green", "integrated")
    backlog = json.loads(world.show(".orch-state/prds/calc/backlog.json"))
    assert [(each["id"], each["requirements"]) for each in backlog["stories"]] == [
        ("calc-1", ["FR-1"]), ("calc-3", ["FR-2"]), ("calc-2", ["FR-3"]),
    ]  # fmt: skip
    assert [each["id"] for each in backlog["classified"]] == ["FR-1"]
    assert read_trace(world) == {"FR-1": VERIFIED, "FR-2": "proven", "FR-3": "proven"}
    assert world.verify().status == 0
