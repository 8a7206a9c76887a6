"""A requirement changes what an existing test asserts: the answer declares the test, and RED changes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from branch_work import push
from workflow.test_conversation import number
from world import World, designed, say, use

PRD = """---
id: calc
title: Higher fee
---

# Higher fee

- **FR-1** The fee below 100 rises from 2 to 3: `fee(10)` gives 3.
"""
CODE = "def fee(amount):\n    return 2 if amount < 100 else 0\n"
OLD = """from shop.fees import fee


def test_fee():
    assert fee(10) == 2


def test_free():
    assert fee(100) == 0
"""
NEW_TEST = '''from shop.fees import fee


def test_higher_fee():
    """calc-1.c1"""
    assert fee(5) == 3
    assert fee(99) == 3
'''
STORY = {
    "key": "s1", "title": "The fee rises", "requirements": ["FR-1"], "source_paths": ["src/shop/fees.py"],
    "criteria": [{"text": "fee(10) gives 3", "requirements": ["FR-1"]}],
}  # fmt: skip
CHANGED = {"test": "tests/test_fees.py::test_fee", "requirement": "FR-1"}
WRITES = [
    use("write_file", path="tests/tdd/calc-1/test_calc_1_higher.py", content=NEW_TEST),
    use("edit_file", path="src/shop/fees.py", old="return 2", new="return 3"),
]
EDIT = use("edit_file", path="tests/test_fees.py", old="fee(10) == 2", new="fee(10) == 3")
DECLARED = use("submit", story="calc-1", explanation="The fee.", changed_tests=[CHANGED])
SUBMIT = use("submit", story="calc-1", status="done", explanation="The fee.")


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path)
    world.start({"prds/calc.md": PRD, "src/shop/fees.py": CODE, "tests/test_fees.py": OLD})
    world.configure("strategy: conversation\nattempts: 1\ngates:\n  held_out: false\n")
    return world


def deliver(world: World, *deliveries: list[dict[str, object]]) -> None:
    world.answers = {"calc/plan/planner/1/1": say({"stories": [STORY]})}
    for attempt, writes in enumerate(deliveries, start=1):
        world.answers[f"calc-1/red/programmer/{attempt}/1"] = number(writes)


def test_declared_test_changes_with_the_behavior(world: World) -> None:
    deliver(world, [*WRITES, EDIT, DECLARED])
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert "fee(10) == 3" in world.show("tests/test_fees.py")
    evidence = world.show(".orch-state/prds/calc/tdd/evidence/calc-1/2-red.json")
    assert "RED509" in evidence and "FR-1" in evidence
    proved = world.verify()
    assert proved.status == 0, proved.out


def test_undeclared_test_stays_as_it_is(world: World) -> None:
    deliver(world, [*WRITES, EDIT, SUBMIT])
    assert world.run().status == 1
    assert "fee(10) == 2" in world.show("tests/test_fees.py")


def test_declaration_is_checked(world: World) -> None:
    wrong = use("submit", story="calc-1", explanation="The fee.", changed_tests=[{**CHANGED, "requirement": "FR-7"}])
    deliver(world, [*WRITES, EDIT, wrong])
    assert world.run().status == 1
    assert "fee(10) == 2" in world.show("tests/test_fees.py")


def test_missing_change_is_made_in_the_next_answer(world: World) -> None:
    """The first answer breaks the existing test; the refusal says how to change it."""
    world.configure("strategy: conversation\nattempts: 2\ngates:\n  held_out: false\n")
    deliver(world, [*WRITES, SUBMIT], [EDIT, DECLARED])
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert world.verify().status == 0


@pytest.mark.parametrize("declared", [True, False])
def test_person_declares_the_test_in_a_trailer(world: World, declared: bool) -> None:
    deliver(world)
    world.answers["calc-1/design/architect/1/1"] = designed("shop.fees.fee")
    world.configure("strategy: strict\ngates:\n  held_out: false\n")
    assert [world.next().status, world.next().status] == [0, 0]
    trailer = f"\n\nChanged-Test: {CHANGED['test']} FR-1\n" if declared else ""
    tests = {"tests/tdd/calc-1/test_calc_1_higher.py": NEW_TEST, "tests/test_fees.py": OLD.replace("== 2", "== 3")}
    push(world, tests, f"Tests by hand{trailer}")
    done = world.next()
    assert ("RED511" in done.out) is not declared, done.out + done.err
    assert ("red(calc-1)" in world.phases()) is declared, done.out + done.err
