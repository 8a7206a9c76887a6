"""Findings of the GREEN gate. Those about the subject (GRN4xx, GRN7xx) stand in verdicts on REFACTOR too."""

from __future__ import annotations

from prd2pr.core.findings_kind import FindingKind, advice, law, rule
from prd2pr.core.findings_steady import STEADY_FINDINGS

_SCOPE: tuple[FindingKind, ...] = (
    law(
        "GRN101",
        "changes how tests run; GREEN may change source only",
        "A conftest, a test configuration, a CI file or a module that shadows the test runner decides what the tests "
        "say. It is not part of the implementation.",
        bad="src/shop/conftest.py was added",
        good="src/shop/points.py was changed, and nothing that runs tests",
        hint="take the file out of this commit; if the project needs it, commit it before the story.",
    ),
    law(
        "GRN102",
        "changes a dependency manifest",
        "A new dependency changes what every later run installs. That is a decision for people.",
        bad="requirements.txt gains a package",
        good="requirements.txt is the file that it was; the code does without the package",
        hint="do without, or allow it with gates.allow_manifest in .prd2pr.yml on the base branch.",
    ),
    law(
        "GRN103",
        "writes the bot's state or a protected file",
        "The state under .orch-state/ is the bot's record of what it proved, and protected files steer the bot and "
        "other agents. Neither may be written by the one whose work is judged.",
        bad=".orch-state/prds/loyalty/tdd/cycles/loyalty-1.json was edited",
        good="the commit holds source; the bot writes its state itself",
        hint="take the change out of this commit.",
    ),
    law(
        "GRN104",
        "adds a link, a submodule or an odd file mode",
        "A symbolic link or a submodule lets a path mean something outside of the commit.",
        bad="src/shop/data -> ../../tests",
        good="src/shop/data/rates.csv, an ordinary file",
        hint="commit the file itself.",
    ),
    law(
        "GRN105",
        "adds a test file",
        "GREEN makes the tests of RED pass. A test that comes with the code was never seen to fail.",
        bad="tests/test_more.py was added",
        good="src/shop/points.py makes tests/tdd/loyalty-1/test_earn.py pass, and no test came along",
        hint="take it out; new tests begin with RED.",
    ),
    law(
        "GRN106",
        "changes a file that is neither source nor test",
        "GREEN may change source only, so that what made the tests pass is what ships.",
        bad="notes.csv was changed",
        good="src/shop/points.py was changed",
        hint="take it out, or name the directory in paths.source if it is source.",
    ),
    advice(
        "GRN107",
        "changes documentation together with the code",
        "It does no harm, but GREEN is easier to read when it holds the code alone.",
        bad="README.md changed in GREEN",
        good="README.md changes in a commit of its own",
        hint="nothing needs to be done.",
    ),
    law(
        "GRN108",
        "changes nothing",
        "Tests that failed before cannot pass now by an unchanged source. If they do, they are flaky.",
        bad="no source file differs from RED",
        good="src/shop/points.py differs from RED",
        hint="write the implementation.",
    ),
)

_LOCKED: tuple[FindingKind, ...] = (
    law(
        "GRN201",
        "a locked file was changed",
        "Every test, fixture, golden file and file that configures the run must be, byte for byte, what RED committed.",
        bad="tests/tdd/loyalty-2/test_redeem.py: line 14 `== 90` became `>= 0`",
        good="tests/tdd/loyalty-2/test_redeem.py has the blob that RED committed",
        hint="restore the file; if the test is wrong, go back to RED.",
    ),
    law(
        "GRN202",
        "a locked file is gone",
        "A test that RED committed was deleted or renamed.",
        bad="tests/tdd/loyalty-2/test_redeem.py is not there any more",
        good="tests/tdd/loyalty-2/test_redeem.py is where RED put it",
        hint="restore it; tests move only when the story is integrated.",
    ),
    law(
        "GRN203",
        "it is not known which files RED locked",
        "Without that list nobody can say that the tests are the same.",
        bad="no locked file in the evidence: the base commit holds no test",
        good="prd2pr gate green --base RED --head GREEN, with tests in the commit RED",
        hint="judge against the commit that holds the tests.",
    ),
    advice(
        "GRN204",
        "an example in the documentation was changed",
        "The project's pytest runs the examples of docstrings. They stand in the source and are not locked. Where a "
        "story changes what is documented, its example changes too; elsewhere it was bent to what the code does now.",
        bad='    """\n    >>> earn(10)\n    7\n    """   # was: 1',
        good='    """\n    >>> earn(10)\n    1\n    """',
        hint="say in the story why the documented answer is another one, or put it back.",
    ),
)

_RESULTS: tuple[FindingKind, ...] = (
    rule(
        "GRN301",
        "with the new code knocked out, all tests still pass",
        "A function whose body is replaced by an error must make at least one test fail. If none does, the tests do "
        "not test it.",
        bad="with redeem() knocked out, all 12 tests still pass",
        good="with redeem() knocked out, 9 of 12 tests fail",
        hint="test what the function does, or remove it.",
    ),
    law(
        "GRN302",
        "a test of the story does not pass",
        "GREEN means that every test that was red passes.",
        bad="test_redeem: expected 90, got 0",
        good="test_redeem passed",
        hint="go on with the implementation.",
    ),
    law(
        "GRN303",
        "a test of the story was not run",
        "It was red and is now skipped, xfailed, deselected or missing. Only `passed` counts.",
        bad="test_redeem skipped",
        good="test_redeem passed",
        hint="let the test run.",
    ),
    law(
        "GRN304",
        "a test that passed before fails now",
        "New behaviour must not break old behaviour.",
        bad="tests/test_cart.py::test_total passed before and fails now",
        good="tests/test_cart.py::test_total passes before and after",
        hint="mend the regression.",
    ),
    law(
        "GRN305",
        "fewer tests are collected than before",
        "Tests that passed have vanished from the run.",
        bad="41 tests before, 40 now",
        good="41 tests before, 41 now",
        hint="put the tests back.",
    ),
    law(
        "GRN306",
        "no test was red",
        "There is no test of this story that failed before, so passing tests prove nothing about it.",
        bad="no story tests in the evidence",
        good="test_redeem failed at the base commit, and passes now",
        hint="begin with RED.",
    ),
    law(
        "GRN307",
        "a test of the story had passed before",
        "The test passed already on the commit that should be RED.",
        bad="test_redeem passed at the base commit",
        good="test_redeem failed at the base commit: assert None == 90",
        hint="judge against the RED commit, or write a test that fails first.",
    ),
    law(
        "GRN308",
        "an example that the programmer has not seen fails",
        "The test author wrote further examples of the same criteria and held them back. Code that gives the answers "
        "of the tests that it was shown, and not what the criterion says, fails here. Of such an example only the "
        "criterion and the way of failing are told, so that the rule is mended and not the case. Once no attempt is "
        "left, a person is shown the example, and decides whether code or example is wrong.",
        bad="an example that the programmer has not seen fails: criterion loyalty-1.c2; it fails on an assertion",
        good="3 held-out examples pass",
        hint="read the criterion again, and write what it says for every value. If no attempt is left and the example "
        "is wrong, take RED back with `/tdd undo`; the test author then writes it anew.",
    ),
    advice(
        "GRN309",
        "no example was held out",
        "The programmer has seen every test that judges the code, so a table of their answers would have passed them. "
        "The other rules about the subject were applied all the same.",
        bad="held-out: none",
        good="held-out: 3 pass",
        hint="nothing needs to be done; `gates.held_out: false` in .prd2pr.yml asks for no such examples.",
    ),
)

_SUBJECT: tuple[FindingKind, ...] = (
    rule(
        "GRN401",
        "the source knows that it is tested",
        "It imports the test runner or asks whether a test is running, and so can behave well only then.",
        bad="import os\n"
        "\n"
        "def redeem(total, points):\n"
        "    if 'PYTEST_CURRENT_TEST' in os.environ:\n"
        "        return 90\n"
        "    return 0",
        good="def redeem(total, points):\n    return total - points",
        hint="remove it; the subject must not know its tests.",
    ),
    advice(
        "GRN402",
        "literals of the tests occur in the source",
        "Answers that the tests ask for stand in the source beside the inputs that the tests use. This may be a "
        "lookup table in place of the rule.",
        bad="def redeem(total, points):\n"
        "    if (total, points) == (137, 47):\n"
        "        return 90\n"
        "    if (total, points) == (215, 31):\n"
        "        return 184\n"
        "    return 0",
        good="def redeem(total, points):\n    return total - points",
        hint="write the rule behind the examples, if there is one.",
    ),
    rule(
        "GRN403",
        "the source looks at its callers",
        "Frame inspection lets code read what the test expects.",
        bad="import sys\n\ndef redeem(total, points):\n    return sys._getframe(1).f_locals['expected']",
        good="def redeem(total, points):\n    return total - points",
        hint="pass what the function needs as an argument.",
    ),
    rule(
        "GRN404",
        "the source ends the process or starts others at import",
        "Code that exits behind the runner's back can forge the result of a run.",
        bad="import os\n\ndef redeem(total, points):\n    os._exit(0)",
        good="def redeem(total, points):\n"
        "    if points < 0:\n"
        "        raise ValueError('negative points')\n"
        "    return total - points",
        hint="raise an exception; exit in main() with sys.exit.",
    ),
    rule(
        "GRN405",
        "equality does not look at the other side",
        "An `__eq__` that is always true makes every comparison in every test pass.",
        bad="class Points:\n    def __eq__(self, other):\n        return True",
        good="class Points:\n"
        "    def __init__(self, number):\n"
        "        self.number = number\n"
        "\n"
        "    def __eq__(self, other):\n"
        "        return isinstance(other, Points) and self.number == other.number",
        hint="compare what makes two values the same.",
    ),
    rule(
        "GRN406",
        "the module answers to any name",
        "A module `__getattr__` that never raises AttributeError makes every import succeed.",
        bad="def __getattr__(name):\n    return lambda *arguments: 90",
        good="def __getattr__(name):\n"
        "    if name == 'award':   # the old name of earn\n"
        "        return earn\n"
        "    raise AttributeError(name)",
        hint="raise AttributeError for names that do not exist.",
    ),
    rule(
        "GRN407",
        "replaces parts of the standard library for everybody",
        "Patched time, random numbers or built-ins change what the tests themselves see.",
        bad="import time\n\ntime.time = lambda: 0",
        good="def age(created, now):\n    return now - created",
        hint="pass a clock or a generator as an argument.",
    ),
    rule(
        "GRN408",
        "takes code out of the coverage count",
        "A `pragma: no cover` hides that no test runs the new code.",
        bad="def redeem(total, points):  # pragma: no cover\n    return total - points",
        good="def redeem(total, points):\n    return total - points",
        hint="test the code or remove it.",
    ),
    advice(
        "GRN409",
        "swallows every exception",
        "A broad handler that says nothing hides faults that the tests would have shown.",
        bad="def points_of(text):\n    try:\n        return int(text)\n    except Exception:\n        pass",
        good="def points_of(text):\n    try:\n        return int(text)\n    except ValueError:\n        return 0",
        hint="catch the exception that you expect.",
    ),
    rule(
        "GRN415",
        "hides its failures from the tests",
        "A handler for every exception gives the very answer that a test expects, or drops even what ends the program: "
        "the tests pass whether the code works or not.",
        bad="def points_of(text):\n    try:\n        return int(text)\n    except:\n        pass",
        good="def points_of(text):\n    try:\n        return int(text)\n    except ValueError:\n        return 0",
        hint="catch the exception that you expect, and let the others through.",
    ),
    advice(
        "GRN410",
        "answers by how often it was called",
        "A counter that decides the answer may be tuned to the order of the tests.",
        bad="calls = 0\n"
        "\n"
        "def redeem(total, points):\n"
        "    global calls\n"
        "    calls += 1\n"
        "    return 90 if calls == 1 else 80",
        good="def redeem(total, points):\n    return total - points",
        hint="let the arguments decide.",
    ),
    rule(
        "GRN411",
        "the source reads the tests",
        "Code that opens test files can read the expected answers there.",
        bad="def redeem(total, points):\n"
        "    text = open('tests/test_redeem.py').read()\n"
        "    return int(text.rpartition('== ')[2])",
        good="def redeem(total, points):\n    return total - points",
        hint="remove it.",
    ),
    rule(
        "GRN412",
        "the source is nested too deeply to be read",
        "What cannot be read cannot be judged: the rules about the subject see nothing of this file.",
        bad="total = 1 + 1 + 1 + …   # a thousand terms",
        good="total = sum([1] * 1000)",
        hint="write it flatter.",
    ),
    rule(
        "GRN413",
        "a helper of the tests stops asserting",
        "A function among the sources asserted for the tests that call it. Without its assertion they hold for any "
        "answer.",
        bad="def check(actual, expected):\n    return actual == expected   # was: assert",
        good="def check(actual, expected):\n    assert actual == expected",
        hint="leave the helper as it is; make the subject give the expected answer.",
    ),
    rule(
        "GRN416",
        "a table of the tests' examples stands for the rule",
        "The function knows what the tests ask for and nothing else, and the examples are no list of names: a simple "
        "rule explains them, or the inputs are numbers here and there. This is read in the code, and asked: of inputs "
        "that look like those of the tests, not one gets an answer.",
        bad="def redeem(total, points):\n    return {(137, 47): 90, (215, 31): 184}[total, points]",
        good="def redeem(total, points):\n    return total - points",
        hint="write the rule behind the examples. A list that the world keeps goes in whole, with what is not in it.",
    ),
    advice(
        "GRN414",
        "asks the environment whether it is in CI or under test",
        "A variable such as `CI` or `TESTING` may choose how much is printed. If it chooses the answer, what was "
        "tested is not what runs elsewhere.",
        bad="import os\n\ndef redeem(total, points):\n    return total - points if os.environ.get('CI') else total",
        good="def redeem(total, points):\n    return total - points",
        hint="pass what differs as a setting with a name of its own.",
    ),
)

_BITE: tuple[FindingKind, ...] = (
    rule(
        "GRN501",
        "too few deliberate faults are noticed",
        "Small faults are put into the new code, one at a time, on lines that the story's tests run. Tests that notice "
        "few of them would let real faults pass as well. `gates.mutation_ratio` says how many are asked for.",
        bad="3 of 12 deliberate faults were noticed; 40% are asked for",
        good="11 of 12 deliberate faults were noticed",
        hint="write code whose every line the tests ask for; GRN502 names the faults that nobody noticed.",
    ),
    advice(
        "GRN502",
        "a deliberate fault that no test notices",
        "With this small change to the code, every test of the story that runs the line still passes. Some faults "
        "change nothing that could be noticed; the others are what a test is missing for.",
        bad="no test notices `amount < 0` → `amount <= 0`",
        good="a test asks what happens at 0",
        hint="look at the line, and ask what would go wrong and whether anybody would want to know.",
    ),
    rule(
        "GRN503",
        "a test passes with another expected value",
        "The value that the test expects was replaced by another one, and the test still passed. So it does not "
        "compare: the answer equals everything, or is made from what the test expects.",
        bad="`test_redeem` passes just as well with another value than `90`",
        good="with another value than `90`, `test_redeem` fails",
        hint="let the code give the answer itself, as a plain value.",
    ),
    rule(
        "GRN504",
        "it could not be told whether the tests bite",
        "Deliberate faults are tried on the story's tests alone. They must pass there with nothing changed, again and "
        "again, and a hidden test that is made wrong must fail; else what they say about faults is worth nothing.",
        bad="test_redeem does not pass when the story's tests run alone",
        good="the story's tests pass alone, as often as they are run",
        hint="make the tests independent of other tests and of earlier runs.",
    ),
    advice(
        "GRN505",
        "a deliberate fault could not be judged",
        "With the fault in place the tests neither passed nor failed: they did not end, or the test process did.",
        bad="`poll` raises: the tests did not end in time",
        good="`poll` raises, and test_poll fails",
        hint="nothing needs to be done; a test that fails instead of waiting would say more.",
    ),
    rule(
        "GRN506",
        "tests do not look at the answer",
        "More than half of the story's tests pass just as well when the functions that they call answer other values "
        "of the same kind, raise no error, or do nothing at all.",
        bad="def test_earn():\n    points = earn(5)\n    assert points == points + 0",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="take RED back (/tdd undo) and assert the values that the criteria ask for.",
    ),
    advice(
        "GRN507",
        "a test does not look at the answer",
        "The test passes just as well when the functions that it calls answer something else. Beside tests that do "
        "look, it may be about something that did not happen.",
        bad="def test_input_is_kept():\n    given = [3, 1]\n    ordered(given)\n    assert given == [3, 1]",
        good="def test_input_is_kept():\n    given = [3, 1]\n    assert ordered(given) == [1, 3]\n"
        "    assert given == [3, 1]",
        hint="assert the answer as well.",
    ),
    advice(
        "GRN508",
        "a layer found nothing to try",
        "In languages beside Python faults are put into the text of code and tests. Where there was nothing that this "
        "layer knows how to change, or none of it could be built, it has shown nothing about the tests.",
        bad="nothing could be tried: mutants, expected values replaced",
        good="3 mutants, 2 expected values",
        hint="nothing needs to be done; compare answers with plain values where the tests are written anew.",
    ),
)

GREEN_FINDINGS: tuple[FindingKind, ...] = (*_SCOPE, *_LOCKED, *_RESULTS, *_SUBJECT, *_BITE, *STEADY_FINDINGS)
