"""Parsing of JavaScript: declared tests, missing names, functions, and findings about tests."""

from __future__ import annotations

from textwrap import dedent

import pytest

from prd2pr.domain.evidence import FailureKind
from prd2pr.domain.stack import Stack
from prd2pr.languages.base import SourceContext, TestContext
from prd2pr.languages.javascript.failures import classify_failure
from prd2pr.languages.registry import get_language
from prd2pr.languages.runner_kinds import RunnerContext, ThrownError
from prd2pr.languages.test_ids import IdAssigner

JAVASCRIPT = get_language("javascript")
PATH = "tests/points.test.js"
HEAD = 'import { test, describe } from "node:test";\nimport assert from "node:assert/strict";\n'
CLOCK = 'import { now } from "../src/clock.js";\nvi.mock("../src/clock.js");\n'
EARN = 'import { earn } from "../src/points.js";\n'


def declared(body: str, path: str = PATH) -> list[str]:
    return [test.id.removeprefix(f"{path}::") for test in JAVASCRIPT.read_tests(path, HEAD + dedent(body)).tests]


def codes(body: str) -> set[str]:
    text = HEAD + EARN + dedent(body)
    return {fact.code for fact in JAVASCRIPT.check_tests(PATH, text, TestContext("node:test"))}


def test_tests_are_identified_by_suites_and_title() -> None:
    found = declared(
        """
        describe("points", () => { test("earned", () => {}); test("earned", () => {}); });
        test("with [brackets]", () => {});
        test(`${"x"} euros`, () => {});
        test("outer", async (t) => { await t.test("inner", () => {}); });
        """
    )
    assert found == [
        "points > earned", "points > earned #2", "with (brackets)", '${"x"} euros', "outer", "outer > inner",
    ]  # fmt: skip


def test_title_with_placeholders_matches_the_titles_of_the_run() -> None:
    file = JAVASCRIPT.read_tests(PATH, 'test.each([[1, 2]])("%i euros earn %i", (a, b) => {});')
    names = IdAssigner(PATH, file.tests)
    assert names.assign_id(["1 euros earn 2"]) == f"{PATH}::%i euros earn %i[1 euros earn 2]"
    assert names.assign_id(["something else"]) == f"{PATH}::something else"


@pytest.mark.parametrize(
    ("path", "is_test"),
    [
        ("tests/a.test.js", True),
        ("src/a.spec.tsx", True),
        ("src/__tests__/a.js", True),
        ("src/__tests__/helpers/a.js", False),
        ("tests/helpers.js", False),
        ("src/contest.js", False),
        ("src/a.test.d.ts", False),
    ],
)
def test_test_files_are_known_by_name(path: str, is_test: bool) -> None:
    assert JAVASCRIPT.is_test_file(path) is is_test


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ('test("x", () => { earn(1); });', "RED401"),
        ('test("x", () => { assert.ok(true); earn(1); });', "RED401"),
        ('test("x", { todo: true }, () => { assert.equal(earn(1), 2); });', "RED208"),
        ('describe.skip("y", () => { test("x", () => { assert.equal(earn(1), 2); }); });', "RED208"),
        ('test("x", () => { earn(2).then(() => { assert.equal(earn(1), 2); }); });', "RED408"),
        ('test("x", () => { return; assert.equal(earn(1), 2); });', "RED416"),
        ('test("x", () => { assert.throws(() => earn(1), Error); });', "RED406"),
        ("assert.equal = () => {};", "RED107"),
        ('jest.unstable_mockModule("../src/points.js", () => ({}));', "RED405"),
        ('runner.mock("../src/cart.js");\nconst { total } = await import("../src/cart.js");\ntotal(1);', "RED405"),
        ('import * as cart from "../src/cart.js";\nvi.mock("../src/cart.js");\ncart.total(1);', "RED405"),
        ('vi.mock("../src/points.js");', "RED405"),
        ('process.on("exit", () => {});', "RED107"),
    ],
)
def test_findings_about_tests(body: str, code: str) -> None:
    assert code in codes(body)


@pytest.mark.parametrize(
    "body",
    [
        'test("x", () => { assert.equal(earn(1), 2); });',
        'jest.mock("../src/clock.js");\ntest("x", () => { assert.equal(earn(1), 2); });',
        'test("x", async () => { await earn(2).then((found) => { assert.equal(found, 2); }); });',
        'test("x", () => { assert.throws(() => earn(-1), RangeError); });',
        'test("x", () => { assert.throws(() => earn(-1), { message: /negative/ }); });',
        'test("x", () => { try { earn(-1); } catch (error) { assert.equal(error.code, 3); } });',
        'test("x", () => { try { earn(-1); assert.fail("no"); } catch (error) { assert.equal(error.code, 3); } });',
        'test("x", async () => { await new Promise((ok) => { setTimeout(() => { assert.ok(earn(1)); ok(); }); }); });',
        'function holds(a, b) { assert.equal(a, b); }\ntest("x", () => { holds(earn(1), 2); });',
        'let found;\nbefore(() => { found = earn(1); });\ntest("x", () => { assert.equal(found, 2); });',
        f'{CLOCK}test("x", () => {{ vi.mocked(now).mockReturnValue(5); now.mockClear(); assert.equal(earn(1), 2); }});',
        'test("x", (t, done) => { try { assert.equal(earn(1), 2); done(); } catch (error) { done(error); } });',
    ],
)
def test_ordinary_test_has_no_findings(body: str) -> None:
    assert codes(body) == set()


def failure(name: str, message: str, stack: str = "", stage: str = "call", text: str = HEAD + EARN):
    ground = RunnerContext(Stack("javascript", "node:test"), "/c", "/s", "/o", "/t", {PATH: text})
    thrown = ThrownError(name, message, stack or f"{name}: {message}\n    at f (file:///c/{PATH}:9:1)")
    return classify_failure(thrown, stage, PATH, JAVASCRIPT.read_tests(PATH, text), ground)


@pytest.mark.parametrize(
    ("name", "message", "kind", "missing"),
    [
        ("SyntaxError", "The requested module '../src/points.js' does not provide an export named 'earn'",
         FailureKind.MISSING_SYMBOL, "src.points.earn"),
        ("Error", f"Cannot find module '/c/src/points.js' imported from /c/{PATH}",
         FailureKind.MISSING_SYMBOL, "src.points"),
        ("Error", "Cannot find module '../src/points' from 'tests/points.test.js'",
         FailureKind.MISSING_SYMBOL, "src.points"),
        ("Error", 'Failed to resolve import "../src/points" from "tests/points.test.js". Does the file exist?',
         FailureKind.MISSING_SYMBOL, "src.points"),
        ("Error", "Cannot find package 'frobnicator' imported from /c/tests/points.test.js", FailureKind.IMPORT, ""),
        ("Error", "Cannot find package '@/points' imported from /c/tests/points.test.js",
         FailureKind.MISSING_SYMBOL, "src.points"),
        ("TypeError", "earn is not a function", FailureKind.MISSING_SYMBOL, "src.points.earn"),
        ("TypeError", "(0 , _points.earn) is not a function", FailureKind.MISSING_SYMBOL, "src.points.earn"),
        ("ReferenceError", "expected is not defined", FailureKind.MISSING_SYMBOL, "expected"),
        ("TypeError", "Cannot read properties of undefined (reading 'x')", FailureKind.EXCEPTION, ""),
    ],
)  # fmt: skip
def test_why_a_test_fails(name: str, message: str, kind: FailureKind, missing: str) -> None:
    found = failure(name, message)
    assert (found.kind, found.missing) == (kind, missing)


def test_only_changed_functions_are_knocked_out() -> None:
    before = "export function a() { return 1; }\nexport const b = (x) => x;\n"
    after = before.replace("=> x", "=> x + 1") + "export class C { d() { return 2; } #e() { return 3; } }\n"
    faults = JAVASCRIPT.make_knock_outs("src/x.js", before, after)
    assert [each.function for each in faults] == ["b", "C.d", "C.#e"]
    begin, end, text = faults[0].edit
    assert after.encode()[begin:end] == b"x + 1"
    assert "throw" in text


def test_public_signatures_are_the_exported_ones() -> None:
    text = "export function a(x, y = 1) {}\nfunction hidden() {}\nexport default class B { c(z) {} }\n"
    found = {each.name: each.text for each in JAVASCRIPT.list_signatures("src/shop/index.js", text)}
    assert found["src.shop.a"] == "(x, y = 1)"
    assert "src.shop.hidden" not in found


def test_types_are_part_of_a_signature_and_are_not_mutated() -> None:
    text = "export function a(x: 1 | 2): number {\n  return x * 3;\n}\n"
    assert JAVASCRIPT.list_signatures("src/a.ts", text)[0].text.endswith(": number")
    assert [each.change.partition(" in ")[0] for each in JAVASCRIPT.make_mutants("src/a.ts", "", text)] == [
        "`*` → `/`", "`3` → `(3 + 1)`",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("export const a = () => globalThis.expect ? 1 : 2;", "GRN401"),
        ("export const a = () => process.env['VIT' + 'EST'];", "GRN401"),
        ("export const a = () => import.meta.vitest;", "GRN401"),
        ("export const a = () => typeof describe;", "GRN401"),
        ("export const a = () => new Error().stack;", "GRN403"),
        ("import assert from 'node:assert';\nassert.equal = () => {};", "GRN407"),
        ("globalThis.expect = () => {};", "GRN407"),
        ("import fs from 'fs';\nexport const a = () => fs.readFileSync('tests/data.json');", "GRN411"),
        ("export default new Proxy({}, {});", "GRN406"),
        ("Object.defineProperty(Array.prototype, 'map', {});", "GRN407"),
        ("/* c8 ignore next */ export const a = 1;", "GRN408"),
        ("import x from '../tests/helpers.js';", "GRN411"),
    ],
)
def test_findings_about_source(line: str, code: str) -> None:
    assert code in {fact.code for fact in JAVASCRIPT.check_source("src/a.js", "", line, SourceContext())}


@pytest.mark.parametrize(
    "line",
    [
        "export const a = (error) => error.stack;",
        "export const a = (name) => process.env[name];",
        "export const a = () => { window.location.href = '/tests/results'; };",
        "const util = {};\nutil.join = (a) => a;\nexport default util;",
        "export function a() { process.on('exit', () => console.log('bye')); }",
        "export const a = () => process.argv.slice(2);",
    ],
)
def test_source_without_findings(line: str) -> None:
    assert list(JAVASCRIPT.check_source("src/a.js", "", line, SourceContext())) == []


def test_existing_findings_are_not_reported_again() -> None:
    line = "export const a = () => process.env.VITEST;\n"
    assert list(JAVASCRIPT.check_source("src/a.js", line, f"{line}export const b = 1;\n", SourceContext())) == []


STARTS_BELOW = """
import { execFile, execFileSync } from "node:child_process";
import path from "node:path";
import { promisify } from "node:util";
"""
CLI = 'const CLI = path.join(import.meta.dirname, "..", "bin", "tool");\n'


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        (CLI + 'const run = () => execFileSync(process.execPath, [CLI]);\nconst got = () => run("2");', []),
        (CLI + "const go = promisify(execFile);\nasync function got() { return go(process.execPath, [CLI]); }", []),
        ("const ROOT = path.resolve();\nconst got = () => execSync(`node ${ROOT}/bin/tool 2`);", []),
        (CLI + 'const got = () => execFileSync("echo", ["2"]);', ["RED410"]),
        (CLI + "const got = () => CLI.length;", ["RED410"]),
        ('const got = () => execFileSync(process.execPath, ["-e", "console.log(2)"]);', ["RED410"]),
    ],
)
def test_programs_started_through_constants_and_helpers(text: str, codes: list[str]) -> None:
    test = f"{HEAD}{STARTS_BELOW}{text}\ntest('x', async () => {{ assert.equal(await got(), '2'); }});\n"
    found = JAVASCRIPT.check_tests(PATH, test, TestContext("node:test"))
    assert [fact.code for fact in found] == codes


def test_script_that_nothing_loads_may_exit() -> None:
    line = "process.exit(0);"
    package = {"package.json": '{"name": "shop", "main": "src/index.js", "bin": {"tool": "bin/tool.js"}}'}
    for other, codes in {
        "spawnSync(process.execPath, ['../bin/tool.js']);": [],
        "import { tool } from '../src/tool.js';": [],
        "import '../bin/tool.js';": ["GRN404"],
        "const CLI = path.join('..', 'bin', 'tool.js');\nawait import(CLI);": ["GRN404"],
        "import 'shop/bin/tool';": ["GRN404"],
        "import 'shop';": ["GRN404"],
    }.items():
        context = SourceContext(files={"bin/tool.js": line, "tests/a.test.js": other, **package})
        found = JAVASCRIPT.check_source("bin/tool.js", "", line, context)
        assert [fact.code for fact in found] == codes, other
    for loading in ('"main": "bin/tool.js"', '"scripts": {"test": "node --import ./bin/tool.js --test"}'):
        context = SourceContext(files={"bin/tool.js": line, "package.json": f"{{{loading}}}"})
        assert [fact.code for fact in JAVASCRIPT.check_source("bin/tool.js", "", line, context)] == ["GRN404"], loading


@pytest.mark.parametrize(
    ("condition", "codes"),
    [
        ("require.main === module", []),
        ("import.meta.main", []),
        ("process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href", []),
        ("isMain", []),
        ("require.main !== module", ["GRN404"]),
        ("import.meta.url", ["GRN404"]),
        ("import.meta.url === import.meta.url", ["GRN404"]),
        ("process.argv[1] || import.meta.main", ["GRN404"]),
        ("other", ["GRN404"]),
    ],
)
def test_main_program_may_exit(condition: str, codes: list[str]) -> None:
    text = "const isMain = process.argv[1] === fileURLToPath(import.meta.url);\nconst other = true;\n"
    text += f"if ({condition}) {{\n  process.exitCode = main();\n}}\n"
    found = JAVASCRIPT.check_source("src/a.js", "", text, SourceContext(files={"src/b.js": "import './a.js';"}))
    assert [fact.code for fact in found] == codes


def test_literal_in_a_rule_is_no_example_table() -> None:
    tests = {PATH: HEAD + EARN + 'test("x", () => { assert.equal(earn(25), 2); assert.equal(earn(0), 0); });'}
    rule = "export function earn(x) {\n  if (x === 0) return 0;\n  return Math.floor(x / 10);\n}\n"
    assert "GRN416" not in {fact.code for fact in JAVASCRIPT.check_source("src/a.js", "", rule, SourceContext(tests))}


def test_package_json_may_only_gain_a_dependency() -> None:
    old, new = (
        '{"scripts": {"test": "node --test"}}',
        '{"scripts": {"test": "node --test"}, "dependencies": {"x": "1"}}',
    )
    assert list(JAVASCRIPT.check_manifest("package.json", old, new)) == []
    (fact,) = JAVASCRIPT.check_manifest("package.json", old, '{"scripts": {"test": "exit 0"}}')
    assert fact.code == "GRN101"
    assert "scripts" in fact.message


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        ('process["argv"][1]?.includes("te" + "st")', "GRN401"),
        ('process.argv[1].endsWith("run")', "GRN401"),
        ("process.getActiveResourcesInfo().length > 0", "GRN401"),
        ("Object.keys(process.env).length < 12", "GRN401"),
        ('process.listenerCount("uncaught" + "Exception") > 0', "GRN401"),
        ('typeof globalThis["i" + "t"] === "function"', "GRN401"),
        ("import.meta.env.VITEST", "GRN401"),
        ("process.connected", "GRN414"),
        ("import.meta.env", "GRN414"),
        ("!process.stdout.isTTY", "GRN414"),
        ('import.meta.env.MODE === "test"', "GRN414"),
    ],
)
def test_source_that_inspects_its_environment(asked: str, code: str) -> None:
    text = f"export function half(n) {{\n  if ({asked}) return n / 2;\n  return 0;\n}}\n"
    assert code in {fact.code for fact in JAVASCRIPT.check_source("src/half.js", "", text, SourceContext())}


@pytest.mark.parametrize(
    "text",
    [
        "if (process.argv[1] === fileURLToPath(import.meta.url)) main(process.argv.slice(2));",
        "if (import.meta.url === pathToFileURL(process.argv[1]).href) main();",
        'if (process.argv[1]?.endsWith("cli.js")) main();',
        "export function usage() { return `usage: ${basename(process.argv[1])} FILE`; }",
        "export function main() { if (process.argv.length < 3) return usage(); return run(process.argv.slice(2)); }",
        "export function isMain(url) { return process.argv[1] === fileURLToPath(url); }",
        'if (process.listenerCount("SIGINT") === 0) process.on("SIGINT", stop);',
        'export const home = () => process.env.APP_HOME ?? "here";',
    ],
)
def test_programs_may_read_their_arguments(text: str) -> None:
    assert not list(JAVASCRIPT.check_source("src/half.js", "", text, SourceContext()))


@pytest.mark.parametrize(
    ("body", "changes"),
    [
        ("assert.equal(earn(25), 2);", ["`2` replaced by `9`"]),
        ("const want = 2; assert.equal(earn(25), want);", ["`2` replaced by `9`"]),
        (
            "const want = [2, 3]; earn([1]).forEach((x, i) => assert.equal(x, want[i]));",
            ["`[2, 3]` replaced by `[9, 10]`"],
        ),
        ("for (const [a, b] of [[25, 2]]) assert.equal(earn(a), b);", ["`[[25, 2]]` replaced by `[[25, 9]]`"]),
        (
            "[{ a: 25, b: 2 }].forEach((row) => assert.equal(earn(row.a), row.b));",
            ["`[{ a: 25, b: 2 }]` replaced by `[{ a: 25, b: 9 }]`"],
        ),
        ("const given = { a: 1 }; assert.deepEqual(earn(given), given);", []),  # inputs too
        ("for (const row of [1, 2]) assert.equal(earn(row), row);", []),
        ("[{ a: 2 }].forEach((row) => assert.equal(earn(row), row.a));", []),
        ("same(earn(25), 2);", ["`2` replaced by `9`"]),
        ('same(earn(25), 2, "a label");', ["`2` replaced by `9`"]),
    ],
)
def test_expected_values_are_replaced_where_they_are_literal(body: str, changes: list[str]) -> None:
    helper = "function same(got, want, label) {\n  assert.equal(got, want, label);\n}\n"
    text = f'{HEAD}{EARN}{helper}test("x", () => {{\n  {body}\n}});\n'
    assert [fault.change for fault in JAVASCRIPT.make_wrong_expectations(PATH, text)] == changes


@pytest.mark.parametrize(
    ("text", "hows"),
    [
        ("export const half = (n) => n / 2;", {"other": "return prd2pr", "nothing": "catch"}),
        (
            "export function half(n) { const all = []; all.push(n); return all; }",
            {"other": "return", "nothing": "catch"},
        ),
        ("export function keep(n) { store.push(n); return n; }", {"other": "return", "nothing": "{}"}),
        ("export function keep(n) { store.push(n); }", {"nothing": "{}"}),
        ("export class A { add(n) { this.n = n; return this; } }", {"nothing": "{}"}),
        ("export class A { set n(v) { this.v = v; } }", {"nothing": "{}"}),
        ("export class A { constructor() { this.n = 1; } }", {}),
        ("export function* each(n) { yield n; }", {"nothing": "{}"}),
        ("export async function half(n) { return n / 2; }", {"other": "await (async () =>", "nothing": "catch"}),
    ],
)
def test_functions_with_changed_return_values_or_no_effect(text: str, hows: dict[str, str]) -> None:
    found = {each.how: each.edits[0][2] for each in JAVASCRIPT.replace_return_values("src/half.js", "", text)}
    assert found.keys() == hows.keys()
    assert all(hows[how] in made for how, made in found.items())
    for each in JAVASCRIPT.replace_return_values("src/half.js", "", text):
        data = text.encode()
        for begin, end, other in sorted(each.edits, reverse=True):
            data = data[:begin] + other.encode() + data[end:]
        assert JAVASCRIPT.read_tests("src/half.js", data.decode()).broken == 0
