"""A repository with a Python service and a JavaScript web folder, and one PRD with a story in each."""

from __future__ import annotations

from pathlib import Path

from languages.node_world import story
from world import Blocks, World, say, submit, write

PRD = """---
id: calc
title: Points for a shop
---

# Points for a shop

- **FR-1** The service: a purchase earns one point for each full ten euros.
- **FR-2** The web page shows points with their unit.
"""

BASE = {
    "README.md": "# A shop\n",
    "service/pyproject.toml": (
        '[project]\nname = "shop"\nversion = "1"\n\n[tool.pytest.ini_options]\npythonpath = ["src"]\n'
    ),
    "service/src/shop/__init__.py": '"""A shop."""\n',
    "service/src/shop/money.py": "def cents(euros):\n    return round(euros * 100)\n",
    "service/tests/test_money.py": (
        "from shop.money import cents\n\n\ndef test_cents():\n    assert cents(1.5) == 150\n"
    ),
    "web/package.json": '{"name": "web", "version": "1.0.0", "type": "module", "scripts": {"test": "node --test"}}\n',
    "web/src/title.js": "export function title(name) {\n  return `Shop: ${name}`;\n}\n",
    "web/tests/title.test.js": (
        'import { test } from "node:test";\nimport assert from "node:assert/strict";\n'
        'import { title } from "../src/title.js";\n\n'
        'test("a title", () => {\n  assert.equal(title("tea"), "Shop: tea");\n});\n'
    ),
    "prds/calc.md": PRD,
}

RED_SERVICE = '''from shop.points import earn


def test_full_tens_earn_a_point_each():
    """calc-1.c1: 25 euros earn 2 points"""
    assert earn(25) == 2
    assert earn(100) == 10


def test_less_than_ten_earns_nothing():
    """calc-1.c1"""
    assert earn(9.99) == 0
    assert earn(10) == 1
'''
GREEN_SERVICE = "def earn(euros):\n    return int(euros // 10)\n"
RED_WEB = """import { test } from "node:test";
import assert from "node:assert/strict";
import { shown } from "../../../src/points.js";

test("calc-2.c1: points are shown with their unit", () => {
  assert.equal(shown(2), "2 points");
  assert.equal(shown(1), "1 point");
});
"""
GREEN_WEB = 'export function shown(points) {\n  return `${points} ${points === 1 ? "point" : "points"}`;\n}\n'

PLAN = {
    "epics": [{"key": "E1", "title": "Points", "description": "Points", "requirements": ["FR-1", "FR-2"]}],
    "stories": [
        {
            **story("S1", "Earn points", "25 euros earn 2 points", "FR-1", []),
            "module": "shop.points", "source_paths": ["service/src/shop/points.py"],
        },
        {
            **story("S2", "Show points", "2 points are shown as `2 points`", "FR-2", ["S1"]),
            "module": "web.src.points", "source_paths": ["web/src/points.js"],
        },
    ],
    "questions": [],
    "assumptions": [],
}  # fmt: skip


def designed(name: str, path: str) -> Blocks:
    symbols = [{"name": name, "signature": "(…)"}]
    return [submit(summary="A function.", symbols=symbols, decisions=[], source_paths=[path], test_paths=[])]


def script() -> dict[str, Blocks]:
    return {
        "calc/plan/planner/1/1": say(PLAN),
        "calc-1/design/architect/1/1": designed("shop.points.earn", "service/src/shop/points.py"),
        "calc-1/red/tester/1/1": write("service/tests/tdd/calc-1/test_calc_1_earn.py", RED_SERVICE),
        "calc-1/green/builder/1/1": write("service/src/shop/points.py", GREEN_SERVICE),
        "calc-1/refactor/refactorer/1/1": [submit("nothing_to_do")],
        "calc-2/design/architect/1/1": designed("web.src.points.shown", "web/src/points.js"),
        "calc-2/red/tester/1/1": write("web/tests/tdd/calc-2/shown.test.js", RED_WEB),
        "calc-2/green/builder/1/1": write("web/src/points.js", GREEN_WEB),
        "calc-2/refactor/refactorer/1/1": [submit("nothing_to_do")],
    }


class MonoWorld(World):
    def start(self, files: dict[str, str] | None = None) -> World:
        self.write({**BASE, **(files or {})})
        self.git("init", "-q", "-b", "main")
        self.commit("start")
        return self


def mono_world(place: Path, answers: dict[str, Blocks] | None = None, files: dict[str, str] | None = None) -> MonoWorld:
    world = MonoWorld(place, answers={**script(), **(answers or {})})
    world.start(files)
    return world
