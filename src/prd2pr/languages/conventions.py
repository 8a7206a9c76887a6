"""Conventions of each language for prompts: where tests are, what they look like, and how names are written."""

from __future__ import annotations

import re
from dataclasses import dataclass

from prd2pr.domain.stack import Stack


@dataclass(frozen=True)
class Conventions:
    standard: str  # name of the standard library
    tests: str  # how prompts refer to tests
    support_files: str  # which files may accompany a story's test file
    criterion: str  # how a test names its criterion
    named: str  # template for it, with `{id}` for the criterion
    errors: str
    refused: str
    imports: str
    symbols: str  # how designs name planned code
    method: str  # an example of such a name
    file_name: str  # template with `{story}`
    held_out: tuple[str, str]  # ending of test file names, and its replacement for hidden examples
    pattern: str  # matches the test file names that a design may use
    signatures: str  # the files whose signatures the repository map shows
    source: str  # glob of the source, for models that edit files themselves
    example: str = ""
    kinds: str = "modules, classes, functions, methods (`{method}`), exceptions, constants"  # kinds of planned code
    place: str = ""  # further details about the location of a story's tests
    lacking: str = "the failing import"  # the error that a missing name causes, for prompts
    apart: str = "imports"  # completes "Neither file … the other" in the prompt: tests and hidden examples
    # Template of one hidden example, with `{id}`, `{criterion}`, `{number}` and `{lines}`; empty if not supported.
    held_out_test: str = ""

    def test_file(self, story: str) -> str:
        return self.file_name.format(story=story.replace("-", "_") if "_" in self.file_name else story)

    def is_test_file(self, name: str) -> bool:
        return re.fullmatch(self.pattern, name, re.ASCII) is not None

    def held_out_file(self, test_file: str) -> str:
        ending, instead = self.held_out
        return test_file.removesuffix(ending) + instead


_PYTHON = Conventions(
    standard="Python's standard library",
    tests="pytest tests",
    support_files="A `conftest.py` with fixtures and data files",
    criterion="docstring",
    named='`"""{id}: …"""`',
    errors="`with pytest.raises(TheExactError):` around the one call, never `Exception`",
    refused="skip, xfail, importorskip, `assert True` or no assert, mocks of the subject, asserts that are\n"
    "  caught, in threads or in callbacks that may not run, two tests of one name, unseeded randomness, the time "
    "of day, the\n  network, sleeping, hooks in conftest, `async def` tests (use `asyncio.run`)",
    imports="at the top of the module",
    symbols="by its dotted importable name (a leading `src/` is not part\n  of it)",
    method="shop.cart.Cart.total",
    file_name="test_{story}_<topic>.py",
    held_out=(".py", "_held_out.py"),
    pattern=r"test_\w{1,80}\.py",
    signatures="Python modules",
    source="**/*.py",
    held_out_test='''def test_{criterion}_example_{number}():
    """{id}: an example that the author of the code did not see"""
{lines}
''',
)

_NODE_EXAMPLE = """import { test } from "node:test";
import assert from "node:assert/strict";
import { earn } from "../../../src/points.js";

test("{id}: full tens earn a point each", () => {
  assert.equal(earn(25), 2);
});
"""
_EXPECT_EXAMPLE = """import { expect, test } from "vitest";
import { earn } from "../../../src/points{ending}";

test("{id}: full tens earn a point each", () => {
  expect(earn(25)).toBe(2);
});
"""
_JAVASCRIPT_HIDDEN_EXAMPLE = """test("{id}: example {number}, which the author of the code did not see", () => {
{lines}
});
"""


def _javascript(runner: str, ending: str) -> Conventions:
    node = runner == "node:test"
    throws = "`assert.throws(() => …, TheExactError)`" if node else "`expect(() => …).toThrow(TheExactError)`"
    equal = "`assert.equal(x, x)`" if node else "`expect(true).toBe(true)`"
    example = _NODE_EXAMPLE if node else _EXPECT_EXAMPLE
    if runner == "jest":
        example = example.partition("\n")[2]  # `test` and `expect` are globals
    return Conventions(
        standard="Node's standard library",
        tests=f"{runner} tests",
        support_files="Helpers and data files",
        criterion="title",
        named='`test("{id}: …", …)`',
        errors=f"{throws}, always with the class or the message of the expected error",
        refused=f"`skip`, `only`, `todo`, no assertion, {equal} and other constants, mocks of the\n"
        "  subject, snapshots, assertions that are caught or in callbacks and promises that are not awaited, "
        "a\n  returned comparison, `Math.random`, the real clock, the network, sleeping, `process.exit`",
        imports="at the top of the file, by a path relative to it",
        symbols="by the path of its file with dots in place of slashes and without\n  its ending, and the exported "
        f"name (`earn` of `src/points{ending}` is `src.points.earn`)",
        method="src.cart.Cart.total",
        file_name=f"{{story}}-<topic>.test{ending}",
        held_out=(f".test{ending}", f"_held_out.test{ending}"),
        pattern=r"[\w-]{1,80}\.(test|spec)\.[cm]?[jt]sx?",
        signatures="modules",
        source=f"**/*{ending}",
        example=example.replace("{ending}", "" if ending == ".ts" else ending),
        held_out_test=_JAVASCRIPT_HIDDEN_EXAMPLE,
    )


_GO = Conventions(
    standard="Go's standard library",
    tests="Go tests",
    support_files="Helpers, and no data files,",
    criterion="comment",
    named="`// {id}: …` right above `func TestXxx(t *testing.T)`",
    errors="compare the error itself (`errors.Is`, `errors.As`, or its text), not only with nil",
    refused="a name that another file of the package already has, `t.Skip`, build tags, no `t.Error` or\n"
    "  `t.Fatal`, conditions of constants alone, an assertion in a goroutine that is not awaited, `recover` that "
    "swallows\n  panics, its own `TestMain`, replacing the subject, `math/rand`, the real clock, the network, "
    "sleeping, `os.Exit`",
    imports="at the top of the file by the path in `go.mod`, or not at all where the test is in the same package",
    symbols="by its package and its name (`Earn` of the package `points` is\n  `points.Earn`, whatever the directory)",
    method="cart.Cart.Total",
    kinds="types, functions, methods (`{method}`), error values, constants; a type's fields are in its `signature`",
    file_name="<topic>_test.go",
    held_out=("_test.go", "_held_out_test.go"),
    pattern=r"[a-z][a-z0-9_]{0,60}_test\.go",
    signatures="packages",
    source="**/*.go",
    lacking="the build that fails without them",
    apart="uses or redeclares a name of",
    example="""package points

import "testing"

// {id}: full tens earn a point each
func TestEarnCountsFullTens(t *testing.T) {
	if got := Earn(25); got != 2 {
		t.Errorf("Earn(25) = %d, want 2", got)
	}
}
""",
)

_RUST = Conventions(
    standard="Rust's standard library",
    tests="Rust integration tests",
    support_files="Nothing",
    criterion="doc comment",
    named="`/// {id}: …` right above `#[test]`",
    errors='compare the `Err` with the exact one (`assert_eq!(parse("x"), Err(Error::Empty))`);\n'
    "  `#[should_panic]` only with `expected = …`",
    refused="`#[ignore]`, `#[cfg(…)]` on tests, no assertion, `assert!(true)` and other constants, `#[should_panic]`\n"
    "  without `expected`, assertions that are caught or in threads that are not joined, defining the subject in "
    "the test,\n  randomness, the real clock, the network, sleeping, `process::exit`",
    imports="by `use` at the top of the file, from the crate (`use shop::points::earn;`)",
    symbols="by its path with dots in place of `::`, the crate's name first\n  (`shop::points::earn` is "
    "`shop.points.earn`)",
    method="shop.cart.Cart.total",
    kinds="modules, types, functions, methods (`{method}`), errors, constants; fields, variants and derived traits\n"
    "  are in their type's `signature`",
    place="; where the code\n  is of a member of a workspace, in that member's own `tests/`",
    file_name="<topic>.rs",
    held_out=(".rs", "_held_out.rs"),
    pattern=r"[a-z][a-z0-9_]{0,60}\.rs",
    signatures="modules",
    source="**/*.rs",
    lacking="the build that fails without them",
    example="""use shop::points::earn;

/// {id}: full tens earn a point each
#[test]
fn full_tens_earn_a_point_each() {
    assert_eq!(earn(25), 2);
}
""",
)

_JAVA = Conventions(
    standard="Java's standard library",
    tests="JUnit tests",
    support_files="Helpers and data files",
    criterion="comment",
    named="`// {id}: …` right above `@Test`",
    errors="`assertThrows(TheExactError.class, () -> …)` around the one call, never `Exception`",
    refused="a class that another file of the package already has, `@Disabled`, no assertion, constants, mocks of the\n"
    "  subject, assertions that are caught, randomness, the real clock, the network, sleeping, `System.exit`",
    imports="at the top of the file; the class is not public, since its file has another name",
    symbols="by package, class and name (`earn` of the class `Points` in the\n  package `shop` is `shop.Points.earn`)",
    method="shop.Cart.total",
    file_name="<Topic>Test.java",
    held_out=("Test.java", "HeldOutTest.java"),
    pattern=r"[A-Z]\w{0,60}Test\.java",
    signatures="classes",
    source="**/*.java",
    lacking="the build that fails without them",
    apart="uses or redeclares a name of",
    example="""package shop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class EarnTest {
    // {id}: full tens earn a point each
    @Test
    void fullTensEarnAPointEach() {
        assertEquals(2, Points.earn(25));
    }
}
""",
)

_ANY = Conventions(
    standard="The language's standard library",
    tests="tests",
    support_files="Data files",
    criterion="title or comment",
    named="`{id}: …`",
    errors="name the exact expected error",
    refused="skipped tests, no assertion, constants, mocks of the subject, randomness, the real clock, the network",
    imports="as the language has it",
    symbols="by the path of its file with dots in place of slashes and without its ending, and its name",
    method="src.cart.Cart.total",
    file_name="{story}-<topic>",
    held_out=("", "_held_out"),
    pattern=r"[\w.-]{1,80}",
    signatures="modules",
    source="**/*",
)


def get_conventions(stack: Stack) -> Conventions:
    if stack.runner == "pytest":
        return _PYTHON
    if stack.language in {"javascript", "typescript"}:
        return _javascript(stack.runner, ".ts" if stack.language == "typescript" else ".js")
    return {"go": _GO, "rust": _RUST, "java": _JAVA}.get(stack.language, _ANY)
