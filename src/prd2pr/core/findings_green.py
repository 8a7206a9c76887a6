"""Findings of the GREEN gate. Those about the subject (GRN4xx) stand in verdicts on REFACTOR too."""

from __future__ import annotations

from prd2pr.core.findings_kind import FindingKind, advice, law, reserved, rule

_SCOPE: tuple[FindingKind, ...] = (
    law(
        "GRN101",
        "changes how tests run; GREEN may change source only",
        "A conftest, a test configuration, a CI file or a module that shadows the test runner decides what the tests "
        "say. It is not part of the implementation.",
        "src/shop/conftest.py was added",
        "take the file out of this commit; if the project needs it, commit it before the story.",
    ),
    law(
        "GRN102",
        "changes a dependency manifest",
        "A new dependency changes what every later run installs. That is a decision for people.",
        "requirements.txt gains a package",
        "do without, or allow it with gates.allow_manifest in .prd2pr.yml on the base branch.",
    ),
    law(
        "GRN103",
        "writes the bot's state or a protected file",
        "The state under .orch-state/ is the bot's record of what it proved, and protected files steer the bot and "
        "other agents. Neither may be written by the one whose work is judged.",
        ".orch-state/prds/loyalty/tdd/cycles/loyalty-1.json was edited",
        "take the change out of this commit.",
    ),
    law(
        "GRN104",
        "adds a link, a submodule or an odd file mode",
        "A symbolic link or a submodule lets a path mean something outside of the commit.",
        "src/shop/data -> ../../tests",
        "commit the file itself.",
    ),
    law(
        "GRN105",
        "adds a test file",
        "GREEN makes the tests of RED pass. A test that comes with the code was never seen to fail.",
        "tests/test_more.py was added",
        "take it out; new tests begin with RED.",
    ),
    law(
        "GRN106",
        "changes a file that is neither source nor test",
        "GREEN may change source only, so that what made the tests pass is what ships.",
        "notes.csv was changed",
        "take it out, or name the directory in paths.source if it is source.",
    ),
    advice(
        "GRN107",
        "changes documentation together with the code",
        "It does no harm, but GREEN is easier to read when it holds the code alone.",
        "README.md changed in GREEN",
        "nothing needs to be done.",
    ),
    law(
        "GRN108",
        "changes nothing",
        "Tests that failed before cannot pass now by an unchanged source. If they do, they are flaky.",
        "no source file differs from RED",
        "write the implementation.",
    ),
)

_LOCKED: tuple[FindingKind, ...] = (
    law(
        "GRN201",
        "a locked file was changed",
        "Every test, fixture, golden file and file that configures the run must be, byte for byte, what RED committed.",
        "tests/tdd/loyalty-2/test_redeem.py: line 14 `== 90` became `>= 0`",
        "restore the file; if the test is wrong, go back to RED.",
    ),
    law(
        "GRN202",
        "a locked file is gone",
        "A test that RED committed was deleted or renamed.",
        "tests/tdd/loyalty-2/test_redeem.py is not there any more",
        "restore it; tests move only when the story is integrated.",
    ),
    law(
        "GRN203",
        "it is not known which files RED locked",
        "Without that list nobody can say that the tests are the same.",
        "no locked file in the evidence",
        "judge against the commit that holds the tests.",
    ),
)

_RESULTS: tuple[FindingKind, ...] = (
    reserved(
        "GRN301",
        "with the new code knocked out, all tests still pass",
        "A function whose body is replaced by an error must make at least one test fail. If none does, the tests do "
        "not test it.",
        "with redeem() knocked out, all 12 tests still pass",
        "test what the function does, or remove it.",
    ),
    law(
        "GRN302",
        "a test of the story does not pass",
        "GREEN means that every test that was red passes.",
        "test_redeem: expected 90, got 0",
        "go on with the implementation.",
    ),
    law(
        "GRN303",
        "a test of the story was not run",
        "It was red and is now skipped, xfailed, deselected or missing. Only `passed` counts.",
        "test_redeem skipped",
        "let the test run.",
    ),
    law(
        "GRN304",
        "a test that passed before fails now",
        "New behaviour must not break old behaviour.",
        "tests/test_cart.py::test_total passed before",
        "mend the regression.",
    ),
    law(
        "GRN305",
        "fewer tests are collected than before",
        "Tests that passed have vanished from the run.",
        "41 tests before, 40 now",
        "put the tests back.",
    ),
    law(
        "GRN306",
        "no test was red",
        "There is no test of this story that failed before, so passing tests prove nothing about it.",
        "no story tests in the evidence",
        "begin with RED.",
    ),
    law(
        "GRN307",
        "a test of the story had passed before",
        "The test passed already on the commit that should be RED.",
        "test_redeem passed at the base commit",
        "judge against the RED commit, or write a test that fails first.",
    ),
)

_SUBJECT: tuple[FindingKind, ...] = (
    rule(
        "GRN401",
        "the source knows that it is tested",
        "It imports the test runner or asks whether a test is running, and so can behave well only then.",
        "if 'PYTEST_CURRENT_TEST' in os.environ:",
        "remove it; the subject must not know its tests.",
    ),
    advice(
        "GRN402",
        "literals of the tests occur in the source",
        "Answers that the tests ask for stand in the source beside the inputs that the tests use. This may be a "
        "lookup table in place of the rule.",
        "if amount == 137: return 90",
        "write the rule behind the examples, if there is one.",
    ),
    rule(
        "GRN403",
        "the source looks at its callers",
        "Frame inspection lets code read what the test expects.",
        "sys._getframe(1).f_locals['expected']",
        "pass what the function needs as an argument.",
    ),
    rule(
        "GRN404",
        "the source ends the process or starts others at import",
        "Code that exits behind the runner's back can forge the result of a run.",
        "os._exit(0)",
        "raise an exception; exit in main() with sys.exit.",
    ),
    rule(
        "GRN405",
        "equality does not look at the other side",
        "An `__eq__` that is always true makes every comparison in every test pass.",
        "def __eq__(self, other): return True",
        "compare what makes two values the same.",
    ),
    rule(
        "GRN406",
        "the module answers to any name",
        "A module `__getattr__` that never raises AttributeError makes every import succeed.",
        "def __getattr__(name): return ANY",
        "raise AttributeError for names that do not exist.",
    ),
    rule(
        "GRN407",
        "replaces parts of the standard library for everybody",
        "Patched time, random numbers or built-ins change what the tests themselves see.",
        "time.time = lambda: 0",
        "pass a clock or a generator as an argument.",
    ),
    rule(
        "GRN408",
        "takes code out of the coverage count",
        "A `pragma: no cover` hides that no test runs the new code.",
        "def redeem(points):  # pragma: no cover",
        "test the code or remove it.",
    ),
    advice(
        "GRN409",
        "swallows every exception",
        "A broad handler that says nothing hides faults that the tests would have shown.",
        "except Exception:\n    pass",
        "catch the exception that you expect.",
    ),
    advice(
        "GRN410",
        "answers by how often it was called",
        "A counter that decides the answer may be tuned to the order of the tests.",
        "calls += 1\nif calls == 2: return 90",
        "let the arguments decide.",
    ),
    rule(
        "GRN411",
        "the source reads the tests",
        "Code that opens test files can read the expected answers there.",
        "open('tests/test_redeem.py').read()",
        "remove it.",
    ),
    rule(
        "GRN412",
        "the source is nested too deeply to be read",
        "What cannot be read cannot be judged: the rules about the subject see nothing of this file.",
        "total = 1 + 1 + 1 + …   # a thousand terms",
        "write it flatter.",
    ),
    rule(
        "GRN413",
        "a helper of the tests stops asserting",
        "A function among the sources asserted for the tests that call it. Without its assertion they hold for any "
        "answer.",
        "def check(actual, expected):\n    return actual == expected   # was: assert",
        "leave the helper as it is; make the subject give the expected answer.",
    ),
)

GREEN_FINDINGS: tuple[FindingKind, ...] = (*_SCOPE, *_LOCKED, *_RESULTS, *_SUBJECT)
