"""Table of the checks that exist for each runner, used by verdicts, `doctor` and docs/languages.md."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.domain.records import Phase

_ALL = (Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED)
_CODE = (Phase.GREEN, Phase.REFACTOR)

JAVASCRIPT = ("node:test", "vitest", "jest")
COMPILED = ("go test", "cargo test")
JAVA = "surefire"
ANY = ("junit", "tap")
RUNNERS = ("pytest", *JAVASCRIPT, *COMPILED, JAVA, *ANY)


@dataclass(frozen=True)
class CheckLayer:
    name: str
    what: str  # description for the docs
    phases: tuple[Phase, ...]  # phases whose verdict reports the layer as missing
    runners: tuple[str, ...]  # runners that have the layer
    partly: tuple[tuple[str, str], ...] = ()  # runners with a limitation, and the limitation


_EVERY = RUNNERS
_READ = ("pytest", *JAVASCRIPT, *COMPILED)

LAYERS: tuple[CheckLayer, ...] = (
    CheckLayer(
        "clean run",
        "a fresh checkout in the sandbox, an environment built from nothing, dependencies read-only",
        _ALL,
        _EVERY,
    ),
    CheckLayer(
        "exact ids",
        "every test is identified by file and title, and none may disappear",
        _ALL,
        _EVERY,
        (("cargo test", "tests in documentation are not run"),),
    ),
    CheckLayer(
        "missing symbol as RED",
        "a planned name that does not exist yet is distinguished from a broken build",
        (Phase.RED,),
        (*_READ, JAVA),
    ),
    CheckLayer(
        "canaries",
        "hidden tests with known results are added to the story's test files or directory",
        _ALL,
        _READ,
        (("cargo test", "not for tests in `src/`"),),
    ),
    CheckLayer(
        "results out of reach",
        "results come through a pipe with a secret, and missing ids are noticed",
        _ALL,
        _READ,
    ),
    CheckLayer(
        "locked files",
        "tests, helpers, snapshots and the runner's configuration are locked by hash",
        _ALL,
        _EVERY,
    ),
    CheckLayer(
        "vacuous tests",
        "empty, skipped or focused tests and constant or swallowed assertions are refused",
        (Phase.RED,),
        _READ,
    ),
    CheckLayer("public signatures", "REFACTOR keeps public signatures", (Phase.REFACTOR,), _READ),
    CheckLayer("measures", "REFACTOR improves at least one metric", (Phase.REFACTOR,), _READ),
    CheckLayer("knock-out", "if a new function is broken, a test of the story fails", _CODE, _READ),
    CheckLayer("expected values replaced", "if an expected value is changed, the test fails", _CODE, _READ),
    CheckLayer("hidden examples", "tests hidden from the builder pass too", (Phase.GREEN,), _READ),
    CheckLayer("source that detects tests", "source that detects test runs is refused", _CODE, _READ),
    CheckLayer("literals of the tests", "source that repeats the tests' values is reported", _CODE, _READ),
    CheckLayer("repeated", "the new tests fail in the same way in a second run", (Phase.RED,), _EVERY),
    CheckLayer(
        "mutants",
        "a required ratio of mutants on changed lines is killed",
        _CODE,
        _READ,
        tuple((runner, "eight at most") for runner in (*JAVASCRIPT, *COMPILED)),
    ),
    CheckLayer(
        "other answers",
        "tests that pass whatever the new code returns are refused",
        (Phase.GREEN,),
        _READ,
        (("cargo test", "values that own memory, other than strings and vectors, are not replaced"),),
    ),
    CheckLayer(
        "stubs before the code",
        "tests that would pass whatever the new code returns are refused before it exists",
        (Phase.RED,),
        ("pytest",),
    ),
    CheckLayer(
        "changed tests",
        "mutants that the old version of a changed test detected are still detected",
        (Phase.GREEN,),
        ("pytest",),
    ),
    CheckLayer("other circumstances", "order, clock, time zone and hash seed are changed", (Phase.GREEN,), ("pytest",)),
    CheckLayer(
        "replay outside the test run",
        "recorded calls return the same without a test runner",
        (Phase.GREEN,),
        ("pytest",),
    ),
    CheckLayer(
        "differential testing", "REFACTOR compares old and new code with the same calls", (Phase.REFACTOR,), ("pytest",)
    ),
    CheckLayer(
        "removal of dead code", "dead code may be removed together with its tests", (Phase.REFACTOR,), ("pytest",)
    ),
)


def list_unchecked_layers(runner: str, phase: Phase) -> tuple[str, ...]:
    """Return the kinds of checks that a verdict of this phase reports as missing."""
    return tuple(each.name for each in LAYERS if phase in each.phases and runner not in each.runners)


def list_never_checked_layers(runner: str) -> tuple[str, ...]:
    """Return the kinds of checks that do not exist for this runner in any phase."""
    return tuple(each.name for each in LAYERS if runner not in each.runners)
