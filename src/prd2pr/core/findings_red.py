"""Findings of the RED gate."""

from __future__ import annotations

from prd2pr.core.findings_kind import FindingKind, advice, law, rule

_SCOPE: tuple[FindingKind, ...] = (
    law(
        "RED101",
        "changes something that is not a test",
        "RED is the commit in which only the tests change. If source changes with them, nobody can tell whether the "
        "tests fail because behaviour is missing or because the source was broken on the way.",
        "src/shop/points.py changed in the same commit as tests/tdd/loyalty-1/test_earn.py",
        "leave the file as it was; source comes with GREEN.",
    ),
    law(
        "RED102",
        "changes how tests are run",
        "Test configuration, dependency manifests and CI files decide which tests run and with what. A change there "
        "can make any test fail, or pass.",
        "pytest.ini gains `addopts = --co`",
        "commit the change on its own, before the story; RED holds tests only.",
    ),
    law(
        "RED103",
        "writes the bot's state or a protected file",
        "The state under .orch-state/ is the bot's record of what it proved, and protected files steer the bot and "
        "other agents. Neither may be written by the one whose work is judged.",
        ".orch-state/prds/loyalty/status.json was edited",
        "take the change out of this commit.",
    ),
    law(
        "RED104",
        "new test passes before any implementation",
        "A test that passes before the behaviour exists does not test that behaviour. It would pass as well if the "
        "story were never built.",
        "def test_earn():\n    assert earn(0) is None   # passes: earn() is an empty stub",
        "assert on what the story adds; if the behaviour is there already, say so (see RED105).",
    ),
    law(
        "RED105",
        "every new test passes: the story is built already",
        "All tests of the story pass without a line of new source. That is not RED, and making a test fail for show "
        "would be a lie. The story is pre-implemented and goes to verification.",
        "12 of 12 new tests pass on the untouched source",
        "record the story as pre_implemented, or write tests for the part that is missing.",
    ),
    law(
        "RED106",
        "adds a link, a submodule or an odd file mode",
        "A symbolic link or a submodule lets a path mean something outside of the commit, so the commit no longer "
        "holds what is tested.",
        "tests/data -> /etc",
        "commit the file itself.",
    ),
    law(
        "RED107",
        "a test file reaches into the test runner",
        "Hooks, plugins and patches of pytest can turn any result into any other. Tests and fixtures need none.",
        "def pytest_runtest_makereport(item, call): ...",
        "keep to tests and fixtures; hooks that the project needs are committed before the story.",
    ),
    advice(
        "RED108",
        "changes documentation together with the tests",
        "Documentation does no harm here, but RED is easier to read when it holds the tests alone.",
        "README.md changed in RED",
        "move it to another commit.",
    ),
)

_COLLECTION: tuple[FindingKind, ...] = (
    law(
        "RED201",
        "no new test was collected",
        "pytest found no test of this story, so nothing can be red. Usual reasons: the file or function is not called "
        "`test_…`, or the file is empty.",
        "tests/tdd/loyalty-1/earn_tests.py",
        "call the file test_….py and the functions test_….",
    ),
    law(
        "RED202",
        "a declared test is not collected",
        "The file declares a test that pytest passes over without a word. It looks like a check and is none.",
        "class TestEarn:\n    def __init__(self): ...\n    def test_earn(self): ...",
        "drop the constructor (use setup_method or a fixture), or mend the name.",
    ),
    rule(
        "RED203",
        "a test is shadowed by another of the same name",
        "The second definition replaces the first, which never runs.",
        "def test_earn(): ...   # line 4\ndef test_earn(): ...   # line 9",
        "give each test its own name.",
    ),
    law(
        "RED204",
        "new test was not run to its end",
        "A test that is skipped, xfailed, deselected or missing has not failed; it has said nothing.",
        "tests/test_earn.py::test_earn skipped",
        "let the test run and fail.",
    ),
    law(
        "RED205",
        "a test file cannot be collected",
        "The file stops with an error of its own before any test runs.",
        "ValueError at the top of tests/test_earn.py",
        "make the file importable; only a planned name may be missing.",
    ),
    law(
        "RED206",
        "async test without a plugin to run it",
        "pytest does not run `async def` tests by itself. They fail or are skipped whatever the subject does.",
        "async def test_fetch(): ...   # and no pytest-asyncio or anyio in the project",
        "call asyncio.run() inside a normal test, or add the plugin to the project first.",
    ),
    law(
        "RED207",
        "a test that yields is not run",
        "pytest gave up yield tests long ago: the body does not run as a test.",
        "def test_earn():\n    yield earn(5) == 1",
        "assert instead of yielding, and parametrise for several cases.",
    ),
    rule(
        "RED208",
        "a new test can be skipped or excused",
        "skip, skipif, xfail and importorskip take the verdict out of the hands of the subject. A condition on the "
        "platform is fine.",
        "@pytest.mark.skipif(hasattr(shop, 'earn'), reason='later')",
        "remove the mark; if the test cannot run here, it does not belong to this story.",
    ),
    law(
        "RED209",
        "a test is parametrised over nothing",
        "With an empty list of parameters the test is skipped for ever.",
        "@pytest.mark.parametrize('amount', [])",
        "list the cases.",
    ),
    rule(
        "RED210",
        "a criterion is named by no new test",
        "Each acceptance criterion needs at least one test that says which criterion it is about, so that the trace "
        "from requirement to test has no hole.",
        "loyalty-1.c2 stands in no docstring, marker, comment or test name",
        'write the id into the docstring of the test that covers it: """loyalty-1.c2: …"""',
    ),
    law(
        "RED211",
        "a test file is nested too deeply to be read",
        "The rules that look for empty and faked tests cannot read the file, and neither can a person.",
        "total = 1 + 1 + 1 + …   # a thousand terms",
        "write it flatter.",
    ),
)

_REASON: tuple[FindingKind, ...] = (
    law(
        "RED301",
        "syntax error",
        "A file that does not parse fails for every subject, right or wrong.",
        "def test_earn(:",
        "mend the syntax.",
    ),
    law(
        "RED302",
        "fails because of a name that is not planned",
        "The test may fail because something the design promises does not exist yet. It fails because of something "
        "else that does not exist: a misspelt import, or a dependency that is not installed.",
        "from shop.pionts import earn   # the design says shop.points.earn",
        "import the planned name; add a missing dependency before the story.",
    ),
    law(
        "RED303",
        "fails in a fixture or in set-up",
        "The test never came to its own body, so it has said nothing about the subject.",
        "fixture 'cart' not found",
        "mend the fixture.",
    ),
    law(
        "RED304",
        "the process was ended",
        "SystemExit, KeyboardInterrupt or pytest.exit stop the run. That is not a failing assertion.",
        "sys.exit(1) while the test runs",
        "assert on the result; expect an exit with pytest.raises(SystemExit).",
    ),
    law(
        "RED305",
        "ran out of time",
        "A test that hangs says nothing about what is missing, and would hang in every later run.",
        "while True: ...",
        "make the test end by itself.",
    ),
    law(
        "RED306",
        "fails on purpose",
        "`assert False`, pytest.fail() and the like fail whatever the subject does. No implementation can answer them.",
        "def test_earn():\n    pytest.fail('not implemented')",
        "call the subject and assert on what it returns.",
    ),
    law(
        "RED307",
        "the test's own code breaks",
        "The exception came out of the test itself or of foreign code, not out of the subject or the call to it.",
        "data = {}\nassert earn(data['amount']) == 1   # KeyError in the test",
        "mend the test; what must fail is the behaviour.",
    ),
    law(
        "RED308",
        "an import fails for another reason than a missing name",
        "Something breaks while modules are imported: a circular import, or an error at the top of a module.",
        "ImportError: cannot import name 'a' (most likely due to a circular import)",
        "make the imports work; only a planned name may be missing.",
    ),
    law(
        "RED309",
        "did not fail in its call",
        "Only a failure in the test's own call counts. This one came while collecting, setting up or tearing down.",
        "AssertionError in teardown",
        "let the test itself fail.",
    ),
    rule(
        "RED310",
        "no code can satisfy the tests",
        "Two assertions ask for different answers to the same question. Whatever is built, one of them fails.",
        "assert add(2, 3) == 5\nassert add(2, 3) == 6",
        "decide which answer the story asks for.",
    ),
)

_VACUOUS: tuple[FindingKind, ...] = (
    rule(
        "RED401",
        "asserts nothing that could be wrong",
        "The test has no assertion, or only ones that hold for every subject: constants, tautologies, comparisons "
        "without `assert`. It will pass as soon as the name exists.",
        "def test_earn():\n    earn(5)\n    assert True",
        "assert on what came of the call, against a value you worked out by hand.",
    ),
    rule(
        "RED402",
        "asserts a tuple",
        "A tuple that is not empty is always true.",
        "assert (earn(5) == 1, 'one point')",
        "drop the parentheses.",
    ),
    rule(
        "RED403",
        "returns instead of asserting",
        "pytest ignores what a test returns.",
        "def test_earn():\n    return earn(5) == 1",
        "write assert instead of return.",
    ),
    rule(
        "RED404",
        "swallows its own failure",
        "The assertion stands where its AssertionError is caught and dropped.",
        "try:\n    assert earn(5) == 1\nexcept AssertionError:\n    pass",
        "let the assertion fail.",
    ),
    rule(
        "RED405",
        "the subject is mocked",
        "The test replaces the very thing that it is about, and then tests the replacement. Collaborators may be "
        "replaced.",
        "monkeypatch.setattr(shop, 'earn', lambda amount: 1)\nassert shop.earn(5) == 1",
        "call the real subject; replace only what it depends on.",
    ),
    rule(
        "RED406",
        "is content with any exception",
        "`pytest.raises(Exception)` holds for a TypeError in a half-written subject as well as for the error the "
        "story asks for.",
        "with pytest.raises(Exception):\n    redeem(-1)",
        "name the exception, or say with match= what it tells.",
    ),
    rule(
        "RED407",
        "the tolerance is too wide",
        "With a tolerance of more than half the expected value, wrong values pass.",
        "assert total == pytest.approx(90, abs=100)",
        "use the default tolerance, or one that tells right from wrong.",
    ),
    rule(
        "RED408",
        "asserts in another thread",
        "An AssertionError in a thread ends the thread, not the test.",
        "threading.Thread(target=check).start()   # the assert is in check()",
        "collect results in the thread and assert after join().",
    ),
    rule(
        "RED409",
        "the subject is its own oracle",
        "Both sides of the comparison are the same call: any answer would do.",
        "expected = earn(5)\nassert earn(5) == expected",
        "write down the expected value.",
    ),
    rule(
        "RED410",
        "does not call the subject",
        "The test asks only whether a name exists, or never touches the project's code.",
        "assert callable(earn)",
        "call the subject and assert on the result.",
    ),
    rule(
        "RED411",
        "is content with opposite answers",
        "Success and failure, yes and no, something and nothing are all accepted. One of them is wrong.",
        "assert response.status in (200, 500)",
        "assert the one answer that the criterion asks for.",
    ),
    rule(
        "RED412",
        "the fixture does the work",
        "Call and assertion are in a fixture; the test itself says nothing.",
        "@pytest.fixture\ndef done():\n    assert earn(5) == 1\n    return True",
        "let the fixture build, and let the test call and assert.",
    ),
    rule(
        "RED413",
        "accepts its own snapshot",
        "The test writes the file that it then compares with, so that the first answer is right by definition.",
        "if not GOLDEN.exists():\n    GOLDEN.write_text(render())",
        "commit the golden file with the content that you expect.",
    ),
    rule(
        "RED414",
        "asserts can be switched off",
        "The assertion runs only while Python's own asserts are on, or the test switches them off.",
        "if __debug__:\n    assert earn(5) == 1",
        "assert without a condition.",
    ),
    rule(
        "RED416",
        "the assertion is never reached",
        "It stands behind a return, under a condition that never holds, in an empty loop, or in a handler for an "
        "exception that nobody asks for.",
        "for amount in []:\n    assert earn(amount) == 1",
        "let every run of the test come to the assertion; use pytest.raises to ask for an exception.",
    ),
    advice(
        "RED417",
        "several answers are accepted",
        "Where the subject is not random, one answer is right.",
        "assert earn(5) in (1, 2)",
        "assert the right one.",
    ),
    advice(
        "RED418",
        "asks too little",
        "Every assertion of the test holds for most wrong answers as well: that something came, or how it is called.",
        "assert earn(5) is not None",
        "assert the value that the criterion asks for.",
    ),
)

_REPEATABLE: tuple[FindingKind, ...] = (
    law(
        "RED501",
        "fails differently when it runs again",
        "The second run, in reverse order and with another hash seed, gave another result. A flaky test proves "
        "nothing, now or later.",
        "test_earn: AssertionError first, passed the second time",
        "take chance, order, time and shared state out of the test.",
    ),
    law(
        "RED502",
        "an old failure is claimed as RED",
        "The test failed before this commit in the same way. It is baseline, not a sign of the new story.",
        "tests/test_old.py::test_tax failed already",
        "write new tests for the story and leave the old failure alone.",
    ),
    law(
        "RED503",
        "a test that passed before fails now",
        "New tests must not break old ones: by a shared fixture, a name clash or left-over state.",
        "tests/test_cart.py::test_total passed before",
        "keep the new tests apart from the old ones.",
    ),
    law(
        "RED504",
        "a test that passed before is gone",
        "It was deleted, renamed, skipped or is no longer collected.",
        "tests/test_cart.py::test_total is not collected any more",
        "put it back; removing tests is a step of its own.",
    ),
    rule(
        "RED505",
        "depends on chance",
        "Random numbers without a seed, or the moment of the run, decide the result.",
        "assert earn(random.randint(1, 9)) == 1",
        "use fixed values, or seed the generator.",
    ),
    advice(
        "RED506",
        "compares with the clock",
        "The test can fail around midnight or on a slow machine.",
        "assert order.created == datetime.now()",
        "give the subject a fixed time.",
    ),
    law(
        "RED507",
        "was not run a second time",
        "Without a second run there is no knowing whether the failure is repeatable.",
        "no repeat run in the evidence",
        "judge the commits again; the gate makes both runs itself.",
    ),
    rule(
        "RED508",
        "changes what old tests lean on",
        "A helper, constant, import or fixture that tests use already means something else now. They still pass, but "
        "they no longer ask what they asked.",
        "def check(actual, expected):\n    return actual == expected  # was an assert",
        "leave it as it was and put a new one beside it; parameters that may be left out can be added.",
    ),
)

RED_FINDINGS: tuple[FindingKind, ...] = (*_SCOPE, *_COLLECTION, *_REASON, *_VACUOUS, *_REPEATABLE)
