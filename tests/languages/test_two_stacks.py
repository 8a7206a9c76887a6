"""A repository with a Python service and a web folder in JavaScript: one PRD, a story in each."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from languages.node_world import BASE as NODE
from languages.node_world import GREEN, RED, NodeWorld, story
from world import BASE as PYTHON
from world import GREEN_ADD, RED_ADD, Blocks, say, submit, write

PRD = """---
id: calc
title: Sums and points
---

# Sums and points

- **FR-1** Two numbers can be added, in the service.
- **FR-2** A purchase earns one point for each full ten euros, in the web pages.
"""


def design_with(paths: list[str], name: str) -> Blocks:
    symbols = [{"name": name, "signature": "(…)"}]
    return [submit(summary="A function.", symbols=symbols, source_paths=paths, test_paths=[], decisions=[])]


def script() -> dict[str, Blocks]:
    adding = {**story("S1", "Add two numbers", "1 and 2 give 3", "FR-1", []), "source_paths": ["src/calc/sums.py"]}
    earning = {**story("S2", "Earn points", "25 earn 2", "FR-2", []), "source_paths": ["web/src/points.js"]}
    epics = [{"key": "E1", "title": "All", "description": "All", "requirements": ["FR-1", "FR-2"]}]
    return {
        "calc/plan/planner/1/1": say(
            {"epics": epics, "stories": [adding, earning], "questions": [], "assumptions": []}
        ),
        "calc-1/design/architect/1/1": design_with(["src/calc/sums.py"], "calc.sums.add"),
        "calc-1/red/tester/1/1": write("tests/tdd/calc-1/test_calc_1_add.py", RED_ADD),
        "calc-1/green/builder/1/1": write("src/calc/sums.py", GREEN_ADD),
        "calc-1/refactor/refactorer/1/1": [submit("nothing_to_do")],
        "calc-2/design/architect/1/1": design_with(["web/src/points.js"], "web.src.points.earn"),
        "calc-2/red/tester/1/1": write("web/tests/tdd/calc-2/earn.test.js", RED.replace("calc-1.c1", "calc-2.c1")),
        "calc-2/green/builder/1/1": write("web/src/points.js", GREEN),
        "calc-2/refactor/refactorer/1/1": [submit("nothing_to_do")],
    }


class TwoStacks(NodeWorld):
    def start(self, files: dict[str, str] | None = None) -> NodeWorld:
        web = {f"web/{path}": text for path, text in NODE.items() if not path.startswith("prds/")}
        self.write({**PYTHON, **web, "prds/calc.md": PRD, **(files or {})})
        self.git("init", "-q", "-b", "main")
        self.commit("start")
        return self


@pytest.mark.slow  # similar to test_monorepo, with Python at the root
@pytest.mark.skipif(shutil.which("node") is None, reason="NOT TESTED: node is not installed")
def test_each_story_uses_its_stack(tmp_path: Path) -> None:
    world = TwoStacks(tmp_path, answers=script())
    world.start()
    shown = world.program("doctor").out
    assert "python, pytest; javascript, node:test in web" in shown
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert "import" in world.show("web/tests/unit/calc-2/earn.test.js")
    assert "def test" in world.show("tests/unit/calc-1/test_calc_1_add.py")
    proved = world.verify("--json")
    assert proved.status == 0, proved.out + proved.err
