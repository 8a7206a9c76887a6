"""A small project in JavaScript with a PRD and scripted answers, run by the real program with the real node."""

from __future__ import annotations

from pathlib import Path

from world import Blocks, World, say, submit, use, write

PRD = """---
id: calc
title: Points for a shop
---

# Points for a shop

- **FR-1** A purchase earns one point for each full ten euros.
- **FR-2** Points are worth a cent each.
"""

BASE = {
    "package.json": '{"name": "shop", "version": "1.0.0", "type": "module", "scripts": {"test": "node --test"}}\n',
    "src/money.js": "export function cents(euros) {\n  return Math.round(euros * 100);\n}\n",
    "tests/money.test.js": (
        'import { test } from "node:test";\nimport assert from "node:assert/strict";\n'
        'import { cents } from "../src/money.js";\n\n'
        'test("euros in cents", () => {\n  assert.equal(cents(1.5), 150);\n});\n'
    ),
    "prds/calc.md": PRD,
}

RED = """import { describe, it } from "node:test";
import assert from "node:assert/strict";
import { earn } from "../../../src/points.js";

describe("earning points", () => {
  it("counts full ten euros (calc-1.c1)", () => {
    assert.equal(earn(25), 2);
    assert.equal(earn(100), 10);
  });

  it("gives nothing below ten euros (calc-1.c1)", () => {
    assert.equal(earn(9.99), 0);
  });
});
"""
GREEN = "export function earn(euros) {\n  return Math.floor(euros / 10);\n}\n"
RED_WORTH = """import test from "node:test";
import assert from "node:assert/strict";
import { worth } from "../../../src/points.js";

test("points are worth a cent each (calc-2.c1)", () => {
  assert.equal(worth(250), 2.5);
  assert.equal(worth(0), 0);
});
"""
GREEN_WORTH = GREEN + (
    "\nexport function worth(points) {\n  if (points === 0) {\n    return 0;\n  }"
    " else {\n    return points / 100;\n  }\n}\n"
)
BETTER_WORTH = GREEN + "\nexport function worth(points) {\n  return points / 100;\n}\n"


def story(key: str, title: str, criterion: str, requirement: str, after: list[str]) -> dict[str, object]:
    return {
        "key": key, "epic": "E1", "title": title, "description": title, "kind": "feature",
        "criteria": [{"text": criterion, "example": ""}], "depends_on": after, "complexity": 1,
        "estimate_minutes": 5, "requirements": [requirement], "module": "src.points", "interface": "",
        "source_paths": ["src/points.js"], "test_paths": [],
    }  # fmt: skip


PLAN = {
    "epics": [{"key": "E1", "title": "Points", "description": "Points", "requirements": ["FR-1", "FR-2"]}],
    "stories": [
        story("S1", "Earn points", "25 euros earn 2 points", "FR-1", []),
        story("S2", "Points are worth money", "250 points are worth 2.50", "FR-2", ["S1"]),
    ],
    "questions": [],
    "assumptions": [],
}


def designed(name: str) -> Blocks:
    symbols = [{"name": name, "signature": "(…)"}]
    paths = {"source_paths": ["src/points.js"], "test_paths": []}
    return [submit(summary="A function.", symbols=symbols, decisions=[], **paths)]


def script() -> dict[str, Blocks]:
    return {
        "calc/plan/planner/1/1": say(PLAN),
        "calc-1/design/architect/1/1": designed("src.points.earn"),
        "calc-1/red/tester/1/1": write("tests/tdd/calc-1/earn.test.js", RED),
        "calc-1/green/builder/1/1": write("src/points.js", GREEN),
        "calc-1/refactor/refactorer/1/1": [submit("nothing_to_do")],
        "calc-2/design/architect/1/1": designed("src.points.worth"),
        "calc-2/red/tester/1/1": write("tests/tdd/calc-2/worth.test.js", RED_WORTH),
        "calc-2/green/builder/1/1": write("src/points.js", GREEN_WORTH),
        "calc-2/refactor/refactorer/1/1": [use("write_file", path="src/points.js", content=BETTER_WORTH), submit()],
    }


class NodeWorld(World):
    def start(self, files: dict[str, str] | None = None) -> World:
        self.write({".prd2pr.yml": "refactoring: always\n", **BASE, **(files or {})})
        self.git("init", "-q", "-b", "main")
        self.commit("start")
        return self


def node_world(place: Path) -> NodeWorld:
    world = NodeWorld(place, answers=script())
    world.start()
    return world
