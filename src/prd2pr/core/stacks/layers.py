"""What is checked in which language: one table for the verdicts, for `doctor` and for docs/languages.md."""

from __future__ import annotations

from dataclasses import dataclass

from prd2pr.core.records import Phase

_ALL = (Phase.RED, Phase.GREEN, Phase.REFACTOR, Phase.INTEGRATED)
_CODE = (Phase.GREEN, Phase.REFACTOR)

PYTHON = "python"
JAVASCRIPT = ("node:test", "vitest", "jest")
COMPILED = ("go test", "cargo test")
JAVA = "surefire"
ANY = ("junit", "tap")
RUNNERS = ("pytest", *JAVASCRIPT, *COMPILED, JAVA, *ANY)


@dataclass(frozen=True)
class Layer:
    name: str
    what: str  # for the docs
    phases: tuple[Phase, ...]  # whose verdicts say so where it is missing
    runners: tuple[str, ...]  # for which it exists
    partly: tuple[tuple[str, str], ...] = ()  # runner, what is left out there


_EVERY = RUNNERS
_READ = ("pytest", *JAVASCRIPT, *COMPILED)

LAYERS: tuple[Layer, ...] = (
    Layer(
        "clean run",
        "a fresh checkout in the sandbox, an environment built from nothing, dependencies read-only",
        _ALL,
        _EVERY,
    ),
    Layer(
        "exact ids",
        "every test is known by file and title, and none may vanish",
        _ALL,
        _EVERY,
        (("cargo test", "tests in documentation are not run"),),
    ),
    Layer(
        "missing symbol as RED",
        "a planned name that does not exist yet is told apart from a broken build",
        (Phase.RED,),
        (*_READ, JAVA),
    ),
    Layer(
        "canaries",
        "hidden tests that must fail and pass stand in the same file or directory as the story's tests",
        _ALL,
        _READ,
        (("cargo test", "none stand among tests in `src/`"),),
    ),
    Layer(
        "results out of reach",
        "results come by a pipe with a secret, and expected ids that are missing are seen",
        _ALL,
        _READ,
    ),
    Layer(
        "locked files",
        "tests, helpers, snapshots and the runner's configuration are held by their hashes",
        _ALL,
        _EVERY,
    ),
    Layer(
        "tests that ask for nothing",
        "empty, skipped, focused, constant and swallowed assertions are refused",
        (Phase.RED,),
        _READ,
    ),
    Layer("public signatures", "REFACTOR keeps what callers see", (Phase.REFACTOR,), _READ),
    Layer("measures", "REFACTOR makes something better by number", (Phase.REFACTOR,), _READ),
    Layer("knock-out", "with a new function broken, a test of the story fails", _CODE, _READ),
    Layer("expected values replaced", "with another expected value, the test fails", _CODE, _READ),
    Layer("held-out examples", "tests that the programmer is not shown pass too", (Phase.GREEN,), _READ),
    Layer("subject that knows of tests", "source that asks whether it is tested is refused", _CODE, _READ),
    Layer("literals of the tests", "source that repeats the tests' values is told", _CODE, _READ),
    Layer("repeated", "the new tests fail alike in a second run", (Phase.RED,), _EVERY),
    Layer(
        "mutants",
        "small faults on changed lines are noticed up to a ratio",
        _CODE,
        _READ,
        tuple((runner, "eight at most") for runner in (*JAVASCRIPT, *COMPILED)),
    ),
    Layer(
        "other answers",
        "tests that pass whatever the new code answers are refused",
        (Phase.GREEN,),
        _READ,
        (("cargo test", "values that own memory, other than texts and lists, are left as they are"),),
    ),
    Layer(
        "stand-ins before the code",
        "tests that would pass whatever the code will answer are refused before there is any",
        (Phase.RED,),
        ("pytest",),
    ),
    Layer("other circumstances", "order, clock, time zone and hash seed are changed", (Phase.GREEN,), ("pytest",)),
    Layer(
        "outside of the test run", "recorded calls answer the same without a test runner", (Phase.GREEN,), ("pytest",)
    ),
    Layer("old code against new", "REFACTOR gives both the same calls", (Phase.REFACTOR,), ("pytest",)),
    Layer("removal of dead code", "dead code may go together with its tests", (Phase.REFACTOR,), ("pytest",)),
)


def not_checked(runner: str, phase: Phase) -> tuple[str, ...]:
    """Layers that a verdict of this phase has to name as missing."""
    return tuple(each.name for each in LAYERS if phase in each.phases and runner not in each.runners)


def never_checked(runner: str) -> tuple[str, ...]:
    """Layers that no verdict about this runner has."""
    return tuple(each.name for each in LAYERS if runner not in each.runners)
