"""docs/languages.md, made from the tables."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.stacks.conventions import conventions_of
from prd2pr.core.stacks.layers import LAYERS, RUNNERS, Layer
from prd2pr.core.stacks.stack import Stack

INTRO = """# Languages

Python has a way of its own through the gates. Every other language has one and the same, with a short description of
its own. What that way does not look at yet is named in every verdict (`RUN109`, and `not_checked` in `prd2pr gate
--json`), never passed over. Languages beside Python need `pip install 'prd2pr[languages]'`.

`prd2pr demo --language LANGUAGE` (`javascript`, `typescript`, `go`, `rust`) shows the whole way on a sample repository,
with a replayed model and the real tools.

## What is checked where

| layer | what it is | {heads} |
|---|---|{rules}|
"""

FOUND = """
## What is found, and what can be set

Language, runner, roots and package manager are read from the repository's own files, at the commit from which the
configuration is taken: `package.json` (its test script, then a configuration of a runner, then what it depends on),
lock files, `tsconfig.json`, `go.mod`, `Cargo.toml`, `pyproject.toml` and its like. `prd2pr doctor` shows what was
found, with tools, set-up and what is not checked; `prd2pr doctor --json` has it under `stacks`.
[Examples](examples/README.md) show the smallest project of each language.

A repository may have several stacks, each with a root. A step belongs to the stack of its paths, and the suite of that
stack is run; INTEGRATED runs the others too. A story lies in one stack: across two it is refused, in the plan (PLN115)
and in every gate (RUN110). [How that works](examples/monorepo.md).

`stacks:` in `.prd2pr.yml` sets all of it:

```yaml
stacks:
  - runner: vitest
    language: typescript
    root: web
    setup: [[npm, ci, --ignore-scripts]]
    manifests: [web/package.json, web/package-lock.json]
  - runner: surefire         # Java by Maven or Gradle
    root: service
    command: [mvn, -B, -o, -q, -Dmaven.repo.local=.m2, test]
    results: target/surefire-reports/*.xml
  - runner: junit            # any command that writes JUnit XML
    root: other
    command: [node, --test-reporter=junit, "--test-reporter-destination={results}", "{file}"]
  - runner: tap              # any command that writes TAP
    root: tools
    command: [prove, --verbose, "{file}"]
```

**Python's unittest** needs no setting: pytest runs its test cases, also where a project has no word of pytest, from the
repository's root as `python -m unittest` does. Files are found by pytest's names (`test_*.py`, `*_test.py`);
`python_files` of pytest's configuration adds others, such as `tests.py`.

**Java.** `pom.xml` and `build.gradle` are seen, and `prd2pr doctor` names the setting; nothing is run before it is
made, since only the project knows which command finds without a network what Maven or Gradle has fetched. It has to lie
below the root (`setup` can put it there) or in one of the system's directories: a run does not see `~/.m2`. A file that
javac cannot build is left out and the rest is run without it, as with Go; a missing class or method of the test's own
package, or of one that begins like it, is RED.

A story's tests are written to `<root>/tests/tdd/<story>/` and go to `<root>/tests/unit/<story>/` when it is integrated.
Go wants tests beside what they test, and Cargo looks for test programs in one directory. There the name says whose a
test is: `points/tdd_loyalty_2_spend_test.go` becomes `points/loyalty_2_spend_test.go`, and
`tests/tdd_loyalty_2_spend.rs` becomes `tests/loyalty_2_spend.rs`. In Java only the file's name says it
(`src/test/java/shop/tdd_loyalty_2_SpendTest.java` with the class `SpendTest`). Tests in `src/` of a Rust crate are run
and locked, but a story's own tests do not stand there.

## Dependencies

What the tests need is installed once for each state of manifest and lock file, outside of the sandbox and without the
packages' own scripts, and kept in `.git/prd2pr/cache/dependencies`; `PRD2PR_DEPENDENCIES` names another directory,
which clones may share. Two runs at once install it once; what a killed run left half done is thrown away, and what
fails is not kept, but told with command, manifest and remedy. Each run gets links to what was made and, in the sandbox,
can only read there. What nobody needed for 30 days is forgotten.

Packages of a workspace (`workspaces` in `package.json`, `pnpm-workspace.yaml`) are installed together at its root, by
the lock file there, and each is a stack whose tests run in its own directory. What one of them uses of another is the
checkout's own code. A root that only holds them together is no stack.

Of Python, packages come from an environment that exists, or from `setup` in `.prd2pr.yml`: commands that make `.venv`,
in the same way, from the manifests of the base branch. `setup` under `stacks:` is the same for any other stack.

A story that changes a manifest is refused (GRN102, RFC102) unless `gates.allow_manifest` is set. Even then only
dependencies may change: whatever else stands in `package.json`, `Cargo.toml` or `go.mod` may decide how tests run
(GRN101, RFC101).

For Go and Rust nothing is fetched yet: a project needs the standard library alone, or has what it depends on in the
repository: `vendor/` as `go mod vendor` and `cargo vendor` write it (for Cargo with its `.cargo/config.toml`), another
module that `replace` or `go.work` names, another crate that `path` names. What a run builds it builds for itself, from
nothing, so that no earlier run can have put anything into a build cache. Only Go's own standard library, which Go 1.20
and later do not bring along built, is built once for each Go: outside of the sandbox, from Go's source alone, kept
beside the other dependencies, and read-only for every run.

## How a run is believed

Results leave the runner by a pipe, each line with a secret that the project's code does not know; a file of the project
cannot forge them, and ids that are missing are seen. Every test file gets hidden tests at its end, which share its
process and its imports: four must fail, each by another assertion, and one must pass. For `junit` and `tap` there is
neither: prd2pr sees what the command wrote, and says so. It asks that how the command ended agrees with it.

A test binary of Go or Rust prints its results, and could print anything. So it is a child of a program of ours, which
alone has the pipe, and it is run twice: once with hidden tests that must fail, and must end with a failure; once with
nothing but what it said to pass, and must end with success. A binary that ends early, says twice how a test ended, or
rewrites its own output is caught in one of both. Binaries are compared with their digests before each run.

## How names are written

A design names what will exist by the path of its file with dots, without its ending, and the exported name: `earn` of
`src/points.js` is `src.points.earn`. In Go it is package and name (`points.Earn`), in Rust the path with dots
(`shop.points.earn`). A test that fails because such a name is missing is RED; one that fails
because of a misspelt import, a package that is not installed or a syntax error is not.

Go and Rust say at build time that a name is missing. The test files that cannot be built are left out, and the rest of
the package is run without them; each of their tests fails by the compiler's own words. Every error counts: a type that
does not fit, or a variable that is not used, is a broken build and no RED, whatever else is missing beside it. What a
type of the project cannot do yet is missing like a name: a method that an interface asks for, or a trait (`Display`,
`Add`, `FromStr`, `PartialEq`). A missing `Copy` is not told apart: Rust calls it a value that was moved.
"""


def languages_page() -> str:
    return "".join(_page())


def _page() -> Iterator[str]:
    yield INTRO.format(heads=" | ".join(RUNNERS), rules="|".join("---" for _ in RUNNERS))
    for layer in LAYERS:
        cells = " | ".join(_cell(layer, runner) for runner in RUNNERS)
        yield f"| {layer.name} | {layer.what} | {cells} |\n"
    yield FOUND
    yield "\n## How a test looks\n"
    for stack, title in _SHOWN:
        example = conventions_of(stack).example.replace("{id}", "loyalty-1.c1").rstrip()
        yield f"\n{title}:\n\n```{stack.language}\n{example}\n```\n"


_SHOWN = (
    (Stack("javascript", "node:test"), "node:test"),
    (Stack("typescript", "vitest"), "vitest"),
    (Stack("javascript", "jest"), "jest"),
    (Stack("go", "go test"), "go test"),
    (Stack("rust", "cargo test"), "cargo test"),
    (Stack("java", "surefire"), "surefire (JUnit)"),
)


def _cell(layer: Layer, runner: str) -> str:
    if runner not in layer.runners:
        return "not checked here"
    lacking = dict(layer.partly).get(runner)
    return f"yes, but {lacking}" if lacking else "yes"
