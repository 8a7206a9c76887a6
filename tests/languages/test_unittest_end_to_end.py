"""A project with unittest tests and no mention of pytest, end to end and verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from world import PLAN, World, say, submit, write

PRD = "---\nid: calc\ntitle: A small calculator\n---\n\n# A small calculator\n\n- **FR-1** Two numbers can be added.\n"
BASE = {
    "calc/__init__.py": '"""A calculator."""\n',
    "calc/signs.py": "def negate(number):\n    return -number\n",
    "tests/__init__.py": "",
    "tests/test_signs.py": (
        "import unittest\n\nfrom calc.signs import negate\n\n\nclass SignsTest(unittest.TestCase):\n"
        "    def test_negates(self):\n        self.assertEqual(negate(3), -3)\n\n\n"
        'if __name__ == "__main__":\n    unittest.main()\n'
    ),
    "prds/calc.md": PRD,
}
RED = '''import unittest

from calc.sums import add


class AddTest(unittest.TestCase):
    def setUp(self):
        self.cases = [((1, 2), 3), ((-5, 2), -3)]

    def test_two_numbers(self):
        """calc-1.c1: 1 and 2 give 3"""
        for given, expected in self.cases:
            with self.subTest(given=given):
                self.assertEqual(add(*given), expected)

    def test_text_is_refused(self):
        """calc-1.c1: of numbers only"""
        with self.assertRaisesRegex(TypeError, "a number is wanted"):
            add("1", 2)
'''
GREEN = """def add(a, b):
    if isinstance(a, str) or isinstance(b, str):
        raise TypeError("a number is wanted")
    return a + b
"""
STORY = {**PLAN["stories"][0], "source_paths": ["calc/sums.py"]}
DESIGN = submit(
    summary="A function.", symbols=[{"name": "calc.sums.add", "signature": "(a, b)"}], source_paths=["calc/sums.py"],
    test_paths=[], decisions=[],
)  # fmt: skip
ANSWERS = {
    "calc/plan/planner/1/1": say(
        {**PLAN, "epics": [{**PLAN["epics"][0], "requirements": ["FR-1"]}], "stories": [STORY]}
    ),
    "calc-1/design/architect/1/1": [DESIGN],
    "calc-1/red/tester/1/1": write("tests/tdd/calc-1/test_calc_1_add.py", RED),
    "calc-1/green/builder/1/1": write("calc/sums.py", GREEN),
    "calc-1/refactor/refactorer/1/1": [submit("nothing_to_do")],
}


class UnittestWorld(World):
    def start(self, files: dict[str, str] | None = None) -> World:
        self.write({**BASE, **(files or {})})
        self.git("init", "-q", "-b", "main")
        self.commit("start")
        return self


@pytest.mark.slow
def test_unittest_project_is_built_and_verified(tmp_path: Path) -> None:
    world = UnittestWorld(tmp_path, answers=ANSWERS)
    world.start()
    done = world.run()
    assert done.status == 0, done.out + done.err
    phases = [phase.partition("(")[0] for phase in world.phases()]
    assert [phases.count(phase) for phase in ("red", "green", "integrated")] == [1, 1, 1]
    assert "class AddTest(unittest.TestCase)" in world.show("tests/unit/calc-1/test_calc_1_add.py")
    proved = world.verify("--json")
    assert proved.status == 0, proved.out + proved.err
    assert json.loads(proved.out)["all_proved"]
