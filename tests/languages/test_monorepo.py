"""Several stacks in one repository: each story is in the stack of its paths, and all are verified."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from languages.mono_world import BASE, GREEN_SERVICE, GREEN_WEB, RED_SERVICE, RED_WEB, MonoWorld, mono_world
from prd2pr.cli.wiring import make_gathering
from prd2pr.config import Config
from prd2pr.domain.records import Phase
from prd2pr.proof.judge import judge_commits
from prd2pr.state.git import Git
from prd2pr.verification.verdict import GatePolicy

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="NOT TESTED: node is not installed")


@pytest.mark.slow
@needs_node
def test_prd_with_a_story_in_each_stack_is_built_and_verified(tmp_path: Path) -> None:
    world = mono_world(tmp_path)
    done = world.run()
    assert done.status == 0, done.out + done.err
    assert world.show("service/tests/unit/calc-1/test_calc_1_earn.py").startswith("from shop.points")
    assert world.show("web/tests/unit/calc-2/shown.test.js").startswith("import")

    stacks = [_evidence(world, "calc-1", "red")["stack"], _evidence(world, "calc-2", "red")["stack"]]
    assert [(stack["runner"], stack["root"]) for stack in stacks] == [("pytest", "service"), ("node:test", "web")]
    assert stacks[0]["not_checked"] == []
    beside = [_evidence(world, story, "integrated")["beside"] for story in ("calc-1", "calc-2")]
    assert [[(suite["stack"], suite["head_run"]["passed"]) for suite in suites] for suites in beside] == [
        [("javascript, node:test in web", 1)],
        [("python, pytest in service", 3)],
    ]
    proved = world.verify("--json")
    assert proved.status == 0, proved.out + proved.err
    assert json.loads(proved.out)["total"]["proved"] >= 8


def _evidence(world: MonoWorld, story: str, phase: str) -> dict[str, Any]:
    root = f".orch-state/prds/calc/tdd/evidence/{story}"
    steps = json.loads(world.show(f".orch-state/prds/calc/tdd/cycles/{story}.json"))["steps"]
    number = next(step["n"] for step in steps if step["phase"] == phase)
    return json.loads(world.show(f"{root}/{number}-{phase}.json"))["evidence"]


# --- changes outside a story's stack ----------------------------------------------------------------------------------


class Stage:
    """The repository's first commit and commits on top of it, judged like human commits."""

    def __init__(self, place: Path, more: dict[str, str] | None = None, config: Config | None = None) -> None:
        subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
        self.git = Git.open(place)
        self.base = self.commit("", {**BASE, **(more or {})})
        self.gathering = make_gathering(self.git, config or Config(), self.base, cached=False)

    def commit(self, parent: str, files: dict[str, str | None]) -> str:
        base = self.git.tree(parent) if parent else self.git.empty_tree
        updates = {path: None if text is None else text.encode() for path, text in files.items()}
        return self.git.commit(self.git.edit_tree(base, updates), [parent] if parent else [], "A step")

    def codes(self, phase: Phase, base: str, head: str) -> dict[str, str]:
        """Code → path of every error."""
        _, verdict = judge_commits(self.gathering, GatePolicy(), phase, base, head)
        return {finding.code: finding.path for finding in verdict.errors}


RED = {"service/tests/tdd/calc-1/test_calc_1_earn.py": RED_SERVICE}
GREEN = {"service/src/shop/points.py": GREEN_SERVICE}


@pytest.mark.slow
def test_step_that_changes_another_stack_is_refused(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    both = stage.commit(stage.base, {**RED, "web/tests/tdd/calc-1/shown.test.js": RED_WEB})
    assert stage.codes(Phase.RED, stage.base, both)["RUN110"] == "web/tests/tdd/calc-1/shown.test.js"
    red = stage.commit(stage.base, RED)
    assert stage.codes(Phase.RED, stage.base, red) == {}
    more = stage.commit(red, {**GREEN, "web/src/points.js": GREEN_WEB})
    assert stage.codes(Phase.GREEN, red, more) == {"RUN110": "web/src/points.js"}
    assert stage.codes(Phase.GREEN, red, stage.commit(red, GREEN)) == {}


@pytest.mark.slow
@needs_node
def test_broken_tests_of_another_stack_prevent_integration(tmp_path: Path) -> None:
    """The page reads a file of the service, and the page's tests detect its change."""
    reads = (
        'import { test } from "node:test";\nimport assert from "node:assert/strict";\n'
        'import { readFileSync } from "node:fs";\n\n'
        'test("the rate is known", () => {\n'
        '  const rates = readFileSync(new URL("../../service/src/shop/money.py", import.meta.url), "utf8");\n'
        "  assert.match(rates, /def cents/);\n});\n"
    )
    stage = Stage(tmp_path, {"web/tests/rates.test.js": reads})
    moved = {
        "service/tests/test_money.py": None,
        "service/tests/unit/test_money.py": BASE["service/tests/test_money.py"],
    }
    assert stage.codes(Phase.INTEGRATED, stage.base, stage.commit(stage.base, moved)) == {}
    broken = {**moved, "service/src/shop/money.py": "from shop.exact import cents as cents\n"}
    broken["service/src/shop/exact.py"] = BASE["service/src/shop/money.py"]
    found = stage.codes(Phase.INTEGRATED, stage.base, stage.commit(stage.base, broken))
    assert found["INT304"] == "web/tests/rates.test.js"


@pytest.mark.slow
def test_changes_to_tests_or_settings_of_another_stack_are_reported(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    red = stage.commit(stage.base, RED)
    weaker = BASE["web/tests/title.test.js"].replace("assert.equal", "assert.ok")
    found = stage.codes(Phase.GREEN, red, stage.commit(red, {**GREEN, "web/tests/title.test.js": weaker}))
    assert {"GRN201", "RUN110"} <= set(found)
    found = stage.codes(Phase.GREEN, red, stage.commit(red, {**GREEN, "web/package.json": "{}"}))
    assert set(found) == {"GRN101", "GRN102"}


@pytest.mark.slow
def test_policy_allows_dependency_changes_and_no_other_manifest_changes(tmp_path: Path) -> None:
    stage, policy = Stage(tmp_path), GatePolicy(allow_manifest=True)
    red = stage.commit(stage.base, RED)
    package = json.loads(BASE["web/package.json"])
    needs = {**package, "dependencies": {"tea": "1.0.0"}}
    for manifest, codes in ((needs, set()), ({**needs, "scripts": {"test": "true"}}, {"GRN101"})):
        head = stage.commit(red, {**GREEN, "web/package.json": json.dumps(manifest)})
        _, verdict = judge_commits(stage.gathering, policy, Phase.GREEN, red, head)
        assert {finding.code for finding in verdict.errors} == codes


@pytest.mark.slow
def test_paths_of_a_python_root_are_relative_to_the_repository(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    red = stage.commit(stage.base, RED)
    evidence, verdict = judge_commits(stage.gathering, GatePolicy(), Phase.GREEN, red, stage.commit(red, GREEN))
    assert verdict.accepted
    (change,) = evidence.changes
    paths = {
        change.path,
        *(file.path for file in evidence.locked),
        *(fault.path for fault in evidence.bite.mutants),
        *(test.partition("::")[0] for test in evidence.story_tests),
        *(result.id.partition("::")[0] for result in evidence.head_run.story),
        *(fault.by.partition("::")[0] for fault in evidence.bite.knock_outs),
    }
    assert paths == {"service/src/shop/points.py", "service/tests/tdd/calc-1/test_calc_1_earn.py"}
    assert evidence.head_tree == stage.git.code_tree(stage.commit(red, GREEN))


def test_missing_tools_of_another_stack_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **more: None if name == "node" else found(name, **more))
    stage = Stage(tmp_path)
    moved = {
        "service/tests/test_money.py": None,
        "service/tests/unit/test_money.py": BASE["service/tests/test_money.py"],
    }
    head = stage.commit(stage.base, moved)
    _, verdict = judge_commits(stage.gathering, GatePolicy(), Phase.INTEGRATED, stage.base, head)
    assert verdict.accepted
    told = [finding.message for finding in verdict.findings if finding.code == "RUN109"]
    assert len(told) == 1
    assert told[0].startswith("the tests of javascript, node:test in web were not run: `node` is not installed")
