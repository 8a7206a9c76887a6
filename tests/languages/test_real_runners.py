"""Real runs of node:test, vitest and jest in the sandbox: outcomes, reasons, canaries, and untrusted results."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from languages.corpus import JEST, VITEST
from languages.corpus_judge import INSTALLED, missing
from prd2pr.domain.evidence import RunReport
from prd2pr.errors import SetupProblem
from prd2pr.languages.project.dependencies import Dependencies
from prd2pr.languages.project.detection import detect_project_stacks
from prd2pr.languages.runner import LanguageRunner
from prd2pr.languages.test_runner import RunRequest
from prd2pr.state.git import Git

SOURCE = {"node:test": "export const other = (x) => x;\n", "vitest": "export const other = (x) => x;\n"}
HEADS = {
    "node:test": (
        'import { describe, it, beforeEach } from "node:test";\nimport assert from "node:assert/strict";\n'
        "const same = (a, b) => assert.equal(a, b);\n"
    ),
    "vitest": 'import { beforeEach, describe, expect, it } from "vitest";\nconst same = (a, b) => expect(a).toBe(b);\n',
    "jest": "const same = (a, b) => expect(a).toBe(b);\n",
}
MANIFESTS = {
    "node:test": {"type": "module", "scripts": {"test": "node --test"}},
    "vitest": {"type": "module", "devDependencies": {"vitest": VITEST}},
    "jest": {"devDependencies": {"jest": JEST}},
}
OUTCOMES = """
describe("outer", () => {
  it("is right", () => same(other(1), 1));
  it("is wrong", () => same(other(1), 2));
  it.skip("is left out", () => {});
});
describe("set up", () => {
  beforeEach(() => {
    throw new Error("no");
  });
  it("is not begun", () => same(other(1), 1));
});
it("names nothing", () => same(other(nothing), 1));
"""
RUNNERS = ["node:test", "vitest", pytest.param("jest", marks=pytest.mark.slow)]


def imported(runner: str, name: str, source: str) -> str:
    if runner == "jest":
        return f'const {{ {name} }} = require("{source}");\n'
    return f'import {{ {name} }} from "{source}";\n'


def run(runner: str, place: Path, files: dict[str, str], **request: object) -> RunReport:
    if why := missing("node:test" if runner == "node:test" else "vitest"):
        pytest.skip(f"NOT TESTED with {runner}: {why}")
    source = SOURCE.get(runner, "exports.other = (x) => x;\n")
    whole = {"package.json": json.dumps(MANIFESTS[runner]), "src/points.js": source, **files}
    (stack,) = detect_project_stacks(whole, whole)
    assert stack.runner == runner
    subprocess.run(["git", "init", "-q", str(place / "repo")], check=True)
    with Git.open(place / "repo") as git:
        tree = git.edit_tree(git.empty_tree, {path: text.encode() for path, text in whole.items()})
        try:
            return LanguageRunner(git.export, stack, Dependencies(INSTALLED)).run(RunRequest(tree, **request))
        except SetupProblem as problem:
            pytest.skip(f"NOT TESTED with {runner}: {problem.what}")


@pytest.mark.slow
@pytest.mark.parametrize("runner", RUNNERS)
def test_outcomes_and_reasons(runner: str, tmp_path: Path) -> None:
    path = "tests/points.test.js"
    report = run(runner, tmp_path, {path: HEADS[runner] + imported(runner, "other", "../src/points.js") + OUTCOMES})
    assert report.problems == ()
    told = {
        result.id.removeprefix(f"{path}::"): (result.outcome, result.failure.kind.value if result.failure else "")
        for result in report.results
    }
    assert told.pop("set up > is not begun")[1] == "fixture"
    assert told == {
        "outer > is right": ("passed", ""),
        "outer > is wrong": ("failed", "assertion"),
        "outer > is left out": ("skipped", ""),
        "names nothing": ("failed", "missing_symbol"),
    }


@pytest.mark.slow
@pytest.mark.parametrize("runner", RUNNERS)
def test_missing_names_and_broken_files(runner: str, tmp_path: Path) -> None:
    head = HEADS[runner]
    body = 'it("asks", () => same(earn(1), 1));\n'
    report = run(
        runner,
        tmp_path,
        {
            "tests/name.test.js": head + imported(runner, "earn", "../src/points.js") + body,
            "tests/module.test.js": head + imported(runner, "earn", "../src/nowhere.js") + body,
            "tests/package.test.js": head + imported(runner, "earn", "frobnicator") + body,
            "tests/syntax.test.js": head + 'it("asks", () => same(1, );\n',
        },
    )
    reasons = {
        result.id.partition("::")[0]: (result.failure.kind.value, result.failure.missing)
        for result in report.results
        if result.failure
    }
    assert reasons == {
        "tests/name.test.js": ("missing_symbol", "src.points.earn"),
        "tests/module.test.js": ("missing_symbol", "src.nowhere"),
        "tests/package.test.js": ("import", ""),
        "tests/syntax.test.js": ("syntax", ""),
    }


@pytest.mark.parametrize("runner", RUNNERS)
def test_only_requested_files_are_run(runner: str, tmp_path: Path) -> None:
    text = HEADS[runner] + imported(runner, "other", "../src/points.js") + 'it("is", () => same(other(1), 1));\n'
    files = {"tests/one.test.js": text, "tests/two.test.js": text}
    report = run(runner, tmp_path, files, paths=("tests/two.test.js",))
    assert [result.id for result in report.results] == ["tests/two.test.js::is"]
    assert report.honest


def test_file_that_exits_the_process_is_not_trusted(tmp_path: Path) -> None:
    text = HEADS["node:test"] + 'it("is", () => same(1, 1));\nprocess.exit(0);\n'
    report = run("node:test", tmp_path, {"tests/one.test.js": text})
    assert not report.honest
    assert "before the tests of tests/one.test.js" in report.problems[0]
    assert [result.outcome for result in report.results] == ["error"]


def test_result_secret_cannot_be_read(tmp_path: Path) -> None:
    """Code that replaces the functions used to write results sees and changes nothing."""
    text = HEADS["node:test"] + (
        'import fs from "node:fs";\n'
        "const seen = [];\n"
        "for (const name of ['writeSync', 'write']) fs[name] = (...given) => seen.push(given);\n"
        "JSON.stringify = (value) => { seen.push(value); return '{}'; };\n"
        "Object.prototype.toJSON = function () { seen.push(this); return {}; };\n"
        'it("is wrong", () => same(1, 2));\n'
        'it("sees nothing", () => same(seen.length, 0));\n'
    )
    report = run("node:test", tmp_path, {"tests/one.test.js": text})
    outcomes = {result.id.partition("::")[2]: result.outcome for result in report.results}
    assert outcomes == {"is wrong": "failed", "sees nothing": "passed"}
    assert report.honest


def test_reporter_refuses_a_second_use(tmp_path: Path) -> None:
    text = HEADS["node:test"] + (
        'const report = process.execArgv.find((word) => word.includes("node_report")).split("=")[1];\n'
        "const { default: second } = await import(report);\n"
        "async function* forged() { yield { type: 'test:pass', data: { name: 'is wrong', nesting: 0 } }; }\n"
        'it("is wrong", () => same(1, 2));\n'
        "for await (const _ of second(forged())) { break; }\n"
    )
    report = run("node:test", tmp_path, {"tests/one.test.js": text})
    assert any("second time" in problem for problem in report.problems)


def test_no_network_and_no_writes_to_dependencies(tmp_path: Path) -> None:
    text = HEADS["node:test"] + (
        'import net from "node:net";\nimport fs from "node:fs";\n'
        'it("has no network", async () => {\n'
        "  const ended = await new Promise((resolve) => {\n"
        '    const socket = net.connect(80, "192.0.2.1");\n'
        '    socket.on("error", (error) => resolve(error.code));\n'
        '    socket.on("connect", () => resolve("connected"));\n'
        "  });\n"
        '  same(ended, "ENETUNREACH");\n'
        "});\n"
        'it("cannot write outside", () => assert.throws(() => fs.writeFileSync("/usr/x", ""), { code: "EROFS" }));\n'
    )
    report = run("node:test", tmp_path, {"tests/one.test.js": text})
    if "no network" not in report.sandbox:
        pytest.skip(f"NOT TESTED: the sandbox here gives {report.sandbox}")
    assert {result.outcome for result in report.results} == {"passed"}


def test_run_that_rewrites_its_files_is_not_trusted(tmp_path: Path) -> None:
    """Files run one after the other in one checkout: the first could weaken the second."""
    rewriting = HEADS["node:test"] + (
        'import fs from "node:fs";\n'
        'const other = new URL("./two.test.js", import.meta.url);\n'
        'fs.writeFileSync(other, fs.readFileSync(other, "utf8").replace("same(1, 2)", "same(1, 1)"));\n'
        'it("is", () => same(1, 1));\n'
    )
    second = HEADS["node:test"] + 'it("is wrong", () => same(1, 2));\n'
    report = run("node:test", tmp_path, {"tests/one.test.js": rewriting, "tests/two.test.js": second})
    assert report.problems == ("tests/two.test.js was changed while the tests ran",)
