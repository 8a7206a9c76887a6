"""Render docs/languages.md from the tables."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.stack import Stack
from prd2pr.languages.capabilities import LAYERS, RUNNERS, CheckLayer
from prd2pr.languages.conventions import get_conventions

INTRO = """# Languages

Python has its own implementation of the gates. All other languages share one, with a small package for each. Checks
that do not exist for a language are named in every verdict (`RUN109`, and `not_checked` in `prd2pr gate --json`).
Languages other than Python need `pip install 'prd2pr[languages]'`.

`prd2pr demo --language LANGUAGE` (`javascript`, `typescript`, `go`, `rust`) runs a complete example on a sample
repository, with a replayed model and the real tools.

## Checks by runner

| check | description | {heads} |
|---|---|{rules}|
"""

DETAILS = """
## Detection and settings

Language, runner, roots and package manager are detected from the repository's files at the commit of the
configuration: `package.json` (test script, then runner configuration, then dependencies), lock files, `tsconfig.json`,
`go.mod`, `Cargo.toml`, `pyproject.toml` and similar. `prd2pr doctor` shows the result with tools, setup and missing
checks; `prd2pr doctor --json` has it under `stacks`. [Examples](examples/README.md) show the smallest project of each
language.

A repository may have several stacks, each with a root. A step belongs to the stack of its paths, and that stack's suite
is run; INTEGRATED runs the others too. A story must be in one stack: a story across two is refused in the plan (PLN115)
and in every gate (RUN110). [How that works](examples/monorepo.md).

`stacks:` in `.prd2pr.yml` overrides the detection:

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

**Python's unittest** needs no setting: pytest runs its test cases from the repository's root, as `python -m unittest`
does, also in projects that do not mention pytest. Files are found by pytest's names (`test_*.py`, `*_test.py`);
`python_files` of pytest's configuration adds others, such as `tests.py`.

**Java.** `pom.xml` and `build.gradle` are detected, and `prd2pr doctor` shows the setting to add. Nothing is run
without it, since only the project knows which command works offline. The dependencies must be below the root (`setup`
can put them there) or in a system directory: a run does not see `~/.m2`. A test file that javac rejects is excluded and
the rest is run, as with Go; a missing class or method of the test's own package, or of one with the same prefix, is
RED.

A story's tests are written to `<root>/tests/tdd/<story>/` and move to `<root>/tests/unit/<story>/` when it is
integrated. Go needs tests next to the tested code, and Cargo looks for test programs in one directory. There the name
identifies the story: `points/tdd_loyalty_2_spend_test.go` becomes `points/loyalty_2_spend_test.go`, and
`tests/tdd_loyalty_2_spend.rs` becomes `tests/loyalty_2_spend.rs`. In Java only the file's name identifies it
(`src/test/java/shop/tdd_loyalty_2_SpendTest.java` with the class `SpendTest`). Tests in `src/` of a Rust crate are run
and locked, but a story's own tests cannot be there.

## Dependencies

Test dependencies are installed once for each state of manifest and lock file,
[in a sandbox with network](sandbox.md#installing-dependencies) and without package scripts. They are stored in
`.git/prd2pr/cache/dependencies`; `PRD2PR_DEPENDENCIES` names another directory, which clones can share. Concurrent runs
install once. Incomplete and failed installations are discarded, and a failure is reported with command, manifest and
remedy. Each run gets read-only links to the installation. Installations unused for 30 days are deleted.

Packages of a workspace (`workspaces` in `package.json`, `pnpm-workspace.yaml`) are installed together at its root, by
the lock file there. Each is a stack whose tests run in its own directory, and it uses other members from the checkout.
A root without code is not a stack.

Python packages come from an existing environment, or from `setup` in `.prd2pr.yml`: commands that create `.venv` in the
same way, from the manifests of the base branch. `setup` under `stacks:` does the same for any other stack.

A story that changes a manifest is refused (GRN102, RFC102) unless `gates.allow_manifest` is set. Even then only
dependencies may change, since other parts of `package.json`, `Cargo.toml` or `go.mod` may affect how tests run (GRN101,
RFC101).

Dependencies of Go and Rust are not fetched yet: a project uses the standard library only, or has its dependencies in
the repository: `vendor/` as written by `go mod vendor` or `cargo vendor` (for Cargo with its `.cargo/config.toml`), a
module named by `replace` or `go.work`, a crate named by `path`. Each run builds everything itself, so that no earlier
run can influence it through a build cache. The exception is Go's standard library, which Go 1.20 and later do not ship
in compiled form. It is built once for each Go version: outside the sandbox, from Go's source only. It is stored with
the other dependencies and is read-only for every run.

## Trust in results

Results leave the runner through a pipe, each line with a secret that the project's code does not know. The project
cannot forge them, and missing ids are noticed. Every test file gets canary tests at its end, which share its process
and imports: four must fail, each by a different assertion, and one must pass. `junit` and `tap` have neither the secret
nor canaries: prd2pr reads what the command wrote, says so, and checks that the exit status agrees with it.

A test binary of Go or Rust prints its results and could print anything. So it is a child of our program, which alone
has the pipe, and it is run twice: once with canaries that must fail, so that it must end with a failure; once with only
the tests that passed, so that it must end with success. A binary that ends early, reports a test twice or falsifies its
output is caught in one of the two runs. The digests of binaries are checked before each run.

## Names in designs

A design names planned code by the path of its file with dots, without the ending, and the exported name: `earn` of
`src/points.js` is `src.points.earn`. In Go it is package and name (`points.Earn`), in Rust the path with dots
(`shop.points.earn`). A test that fails because such a name is missing is RED; one that fails because of a misspelled
import, a package that is not installed or a syntax error is not.

Go and Rust report a missing name at build time. Test files that do not compile are excluded, and the rest of the
package is run without them; each of their tests fails with the compiler's message. Every error counts: a type mismatch
or an unused variable is a broken build and not RED, whatever else is missing. A missing capability of a project's type
counts like a missing name: a method that an interface requires, or a trait (`Display`, `Add`, `FromStr`, `PartialEq`).
A missing `Copy` is not recognized: Rust reports it as a moved value.
"""


def render_languages_page() -> str:
    return "".join(_render_page())


def _render_page() -> Iterator[str]:
    yield INTRO.format(heads=" | ".join(RUNNERS), rules="|".join("---" for _ in RUNNERS))
    for layer in LAYERS:
        cells = " | ".join(_render_cell(layer, runner) for runner in RUNNERS)
        yield f"| {layer.name} | {layer.what} | {cells} |\n"
    yield DETAILS
    yield "\n## Example tests\n"
    for stack, title in _EXAMPLES:
        example = get_conventions(stack).example.replace("{id}", "loyalty-1.c1").rstrip()
        yield f"\n{title}:\n\n```{stack.language}\n{example}\n```\n"


_EXAMPLES = (
    (Stack("javascript", "node:test"), "node:test"),
    (Stack("typescript", "vitest"), "vitest"),
    (Stack("javascript", "jest"), "jest"),
    (Stack("go", "go test"), "go test"),
    (Stack("rust", "cargo test"), "cargo test"),
    (Stack("java", "surefire"), "surefire (JUnit)"),
)


def _render_cell(layer: CheckLayer, runner: str) -> str:
    if runner not in layer.runners:
        return "no"
    lacking = dict(layer.partly).get(runner)
    return f"yes, but {lacking}" if lacking else "yes"
