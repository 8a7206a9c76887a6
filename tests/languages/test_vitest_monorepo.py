"""A Python service and a web folder in TypeScript in one repository: one PRD, a story in each, all verified."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from languages.corpus import IN_VITEST, projects
from languages.corpus_judge import INSTALLED, missing
from languages.mono_world import BASE, PLAN, PRD, MonoWorld, designed, script
from world import say, submit, write

WEB = {
    # The same version as in the other vitest tests, so it is installed only once.
    "web/package.json": str(projects(IN_VITEST)["shop"]["package.json"]),
    "web/src/title.ts": "export function title(name: string): string {\n  return `Shop: ${name}`;\n}\n",
    "web/tests/title.test.ts": (
        'import { expect, test } from "vitest";\nimport { title } from "../src/title";\n\n'
        'test("a title", () => {\n  expect(title("tea")).toBe("Shop: tea");\n});\n'
    ),
}
RED = """import { expect, test } from "vitest";
import { shown } from "../../../src/points";

test("calc-2.c1: points are shown with their unit", () => {
  expect(shown(2)).toBe("2 points");
  expect(shown(1)).toBe("1 point");
});
"""
GREEN = """export function shown(points: number): string {
  return `${points} ${points === 1 ? "point" : "points"}`;
}
"""
SECOND = {**PLAN["stories"][1], "source_paths": ["web/src/points.ts"]}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_stories_in_python_and_typescript_are_built_and_verified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := missing("vitest"):
        pytest.skip(f"NOT TESTED: {why}")
    monkeypatch.setenv("PRD2PR_DEPENDENCIES", str(INSTALLED))
    answers = {
        **script(),
        "calc/plan/planner/1/1": say({**PLAN, "stories": [PLAN["stories"][0], SECOND]}),
        "calc-2/design/architect/1/1": designed("web.src.points.shown", "web/src/points.ts"),
        "calc-2/red/tester/1/1": write("web/tests/tdd/calc-2/shown.test.ts", RED),
        "calc-2/green/builder/1/1": write("web/src/points.ts", GREEN),
        "calc-2/refactor/refactorer/1/1": [submit("nothing_to_do")],
    }
    world = MonoWorld(tmp_path, answers=answers)
    service = {path: text for path, text in BASE.items() if not path.startswith("web/")}
    world.write({**service, **WEB, "prds/calc.md": PRD})
    world.git("init", "-q", "-b", "main")
    world.commit("start")
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert world.show("web/tests/unit/calc-2/shown.test.ts").startswith("import")
    assert world.show("service/tests/unit/calc-1/test_calc_1_earn.py").startswith("from shop.points")
    proved = world.verify("--json")
    assert proved.status == 0, proved.out + proved.err
    assert json.loads(proved.out)["all_proved"]
