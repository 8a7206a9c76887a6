"""Findings of the RED gate."""

from __future__ import annotations

from prd2pr.core.findings_kind import FindingKind, advice, law, rule
from prd2pr.core.findings_vacuous import VACUOUS_FINDINGS

_SCOPE: tuple[FindingKind, ...] = (
    law(
        "RED101",
        "changes something that is not a test",
        "RED is the commit in which only the tests change. If source changes with them, nobody can tell whether the "
        "tests fail because behaviour is missing or because the source was broken on the way.",
        bad="src/shop/points.py changed in the same commit as tests/tdd/loyalty-1/test_earn.py",
        good="the RED commit holds tests/tdd/loyalty-1/test_earn.py and nothing else",
        hint="leave the file as it was; source comes with GREEN.",
    ),
    law(
        "RED102",
        "changes how tests are run",
        "Test configuration, dependency manifests and CI files decide which tests run and with what. A change there "
        "can make any test fail, or pass.",
        bad="pytest.ini gains `addopts = --co` in the RED commit",
        good="pytest.ini is the file that it was at the base commit",
        hint="commit the change on its own, before the story; RED holds tests only.",
    ),
    law(
        "RED103",
        "writes the bot's state or a protected file",
        "The state under .orch-state/ is the bot's record of what it proved, and protected files steer the bot and "
        "other agents. Neither may be written by the one whose work is judged.",
        bad=".orch-state/prds/loyalty/status.json was edited",
        good="the commit holds tests; the bot writes its state itself",
        hint="take the change out of this commit.",
    ),
    law(
        "RED104",
        "new test passes before any implementation",
        "A test that passes before the behaviour exists does not test that behaviour. It would pass as well if the "
        "story were never built.",
        bad="def test_earn():\n    assert earn(0) is None   # passes: earn() is an empty stub",
        good="def test_earn():\n    assert earn(10) == 2   # fails: earn() returns None",
        hint="assert on what the story adds; if the behaviour is there already, say so (see RED105).",
    ),
    law(
        "RED105",
        "every new test passes on the source as it is",
        "All tests of the story pass without a line of new source, so they show nothing that is still to be built. "
        "That is not RED, and making a test fail for show would be a lie. A story that is built already is verified as "
        "it stands, and the pull request says so; where a part is missing, no test asks for it yet.",
        bad="12 of 12 new tests pass on the untouched source",
        good="9 of 12 new tests fail: the part that they ask for is not built",
        hint="write a test for the part that is missing; if none is, keep the tests: the story is verified as it is.",
    ),
    law(
        "RED106",
        "adds a link, a submodule or an odd file mode",
        "A symbolic link or a submodule lets a path mean something outside of the commit, so the commit no longer "
        "holds what is tested.",
        bad="tests/data -> /etc",
        good="tests/data/rates.csv, an ordinary file",
        hint="commit the file itself.",
    ),
    law(
        "RED107",
        "a test file reaches into the test runner",
        "Hooks, plugins and patches of pytest can turn any result into any other. Tests and fixtures need none.",
        bad="def pytest_runtest_makereport(item, call):\n    call.excinfo = None",
        good="@pytest.fixture\ndef cart():\n    return Cart()",
        hint="keep to tests and fixtures; hooks that the project needs are committed before the story.",
    ),
    advice(
        "RED108",
        "changes documentation together with the tests",
        "Documentation does no harm here, but RED is easier to read when it holds the tests alone.",
        bad="README.md changed in RED",
        good="README.md changes when the story is built, or in a story of its own",
        hint="move it to another commit.",
    ),
    advice(
        "RED109",
        "a further example of an old test passes already",
        "A test that was there before was given more examples. Some of them fail; this one passes. It marks where the "
        "new behaviour ends; by itself it asks for nothing that is missing. Of a new test, no example may pass.",
        bad='@pytest.mark.parametrize("n", [4, 5])   # twice(4) is right already\ndef test_twice(n):\n    '
        "assert twice(n) == n + n",
        good='@pytest.mark.parametrize("n", [5, 7])\ndef test_twice(n):\n    assert twice(n) == n + n',
        hint="keep it where it marks an edge of what the story changes; leave out what was true before.",
    ),
)

_COLLECTION: tuple[FindingKind, ...] = (
    law(
        "RED201",
        "no new test was collected",
        "pytest found no test of this story, so nothing can be red. Usual reasons: the file or function is not called "
        "`test_…`, or the file is empty.",
        bad="tests/tdd/loyalty-1/earn_tests.py holds `def earn_test():`",
        good="tests/tdd/loyalty-1/test_earn.py holds `def test_earn():`",
        hint="call the file test_….py and the functions test_….",
    ),
    law(
        "RED202",
        "a declared test is not collected",
        "The file declares a test that pytest passes over without a word. It looks like a check and is none.",
        bad="class TestEarn:\n"
        "    def __init__(self):\n"
        "        self.amount = 5\n"
        "\n"
        "    def test_earn(self):\n"
        "        assert earn(self.amount) == 1",
        good="class TestEarn:\n"
        "    def setup_method(self):\n"
        "        self.amount = 5\n"
        "\n"
        "    def test_earn(self):\n"
        "        assert earn(self.amount) == 1",
        hint="drop the constructor (use setup_method or a fixture), or mend the name.",
    ),
    rule(
        "RED203",
        "a test is shadowed by another of the same name",
        "The second definition replaces the first, which never runs.",
        bad="def test_earn():\n"
        "    assert earn(5) == 1\n"
        "\n"
        "def test_earn():   # the first never runs\n"
        "    assert earn(0) == 0",
        good="def test_earn():\n    assert earn(5) == 1\n\ndef test_earn_nothing():\n    assert earn(0) == 0",
        hint="give each test its own name.",
    ),
    law(
        "RED204",
        "new test was not run to its end",
        "A test that is skipped, xfailed, deselected or missing has not failed; it has said nothing.",
        bad="tests/test_earn.py::test_earn skipped",
        good="tests/test_earn.py::test_earn failed: assert None == 1",
        hint="let the test run and fail.",
    ),
    law(
        "RED205",
        "a test file cannot be collected",
        "The file stops with an error of its own before any test runs.",
        bad="raise ValueError('not ready')   # at the top of tests/test_earn.py",
        good="from shop.points import earn   # planned: this name may be missing",
        hint="make the file importable; only a planned name may be missing.",
    ),
    law(
        "RED206",
        "async test without a plugin to run it",
        "pytest does not run `async def` tests by itself. They fail or are skipped whatever the subject does.",
        bad="class TestFetch(unittest.TestCase):   # or a function, and no plugin for it in the project\n"
        "    async def test_fetch(self):\n        self.assertEqual(await fetch(5), 1)",
        good="def test_fetch():\n    assert asyncio.run(fetch(5)) == 1",
        hint="call asyncio.run() inside a normal test, or add the plugin to the project first.",
    ),
    law(
        "RED207",
        "a test that yields is not run",
        "pytest gave up yield tests long ago: the body does not run as a test.",
        bad="def test_earn():\n    yield earn(5) == 1\n    yield earn(10) == 2",
        good="@pytest.mark.parametrize(('amount', 'points'), [(5, 1), (10, 2)])\n"
        "def test_earn(amount, points):\n"
        "    assert earn(amount) == points",
        hint="assert instead of yielding, and parametrise for several cases.",
    ),
    rule(
        "RED208",
        "a new test can be skipped or excused",
        "skip, skipif, xfail and importorskip take the verdict out of the hands of the subject. A condition on the "
        "platform is fine.",
        bad="@pytest.mark.skipif(not hasattr(shop, 'earn'), reason='later')\ndef test_earn():\n    assert earn(5) == 1",
        good="@pytest.mark.skipif(sys.platform == 'win32', reason='no fork there')\n"
        "def test_earn():\n"
        "    assert earn(5) == 1",
        hint="remove the mark; if the test cannot run here, it does not belong to this story.",
    ),
    law(
        "RED209",
        "a test is parametrised over nothing",
        "With an empty list of parameters the test is skipped for ever.",
        bad="@pytest.mark.parametrize('amount', [])\ndef test_earn(amount):\n    assert earn(amount) == 1",
        good="@pytest.mark.parametrize('amount', [5, 6, 9])\ndef test_earn(amount):\n    assert earn(amount) == 1",
        hint="list the cases.",
    ),
    rule(
        "RED210",
        "a criterion is named by no new test",
        "Each acceptance criterion needs at least one test that says which criterion it is about, so that the trace "
        "from requirement to test has no hole.",
        bad="def test_earn_rounds_down():   # criterion loyalty-1.c2 is named nowhere\n    assert earn(9) == 1",
        good="def test_earn_rounds_down():\n"
        '    """loyalty-1.c2: what is left over earns nothing"""\n'
        "    assert earn(9) == 1",
        hint='write the id into the docstring of the test that covers it: """loyalty-1.c2: …"""',
    ),
    law(
        "RED211",
        "a test file is nested too deeply to be read",
        "The rules that look for empty and faked tests cannot read the file, and neither can a person.",
        bad="total = 1 + 1 + 1 + …   # a thousand terms",
        good="def test_total():\n    assert total([1] * 1000) == 1000",
        hint="write it flatter.",
    ),
    rule(
        "RED212",
        "a held-out example names no criterion",
        "If the example fails later, its criterion is all that the programmer is told about it.",
        bad="def test_earn_large_amount():   # in test_earn_held_out.py\n    assert earn(1234) == 246",
        good="def test_earn_large_amount():\n"
        '    """loyalty-1.c1: one point for five, in full fives"""\n'
        "    assert earn(1234) == 246",
        hint='write the id into the docstring of the example: """loyalty-1.c1: …"""',
    ),
)

_REASON: tuple[FindingKind, ...] = (
    law(
        "RED301",
        "syntax error",
        "A file that does not parse fails for every subject, right or wrong.",
        bad="def test_earn(:\n    assert earn(5) == 1",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="mend the syntax.",
    ),
    law(
        "RED302",
        "fails because of a name that is not planned",
        "The test may fail because something the design promises does not exist yet. It fails because of something "
        "else that does not exist: a misspelt import, or a dependency that is not installed.",
        bad="from shop.pionts import earn   # the design says shop.points.earn",
        good="from shop.points import earn   # as the design says",
        hint="import the planned name; add a missing dependency before the story.",
    ),
    law(
        "RED303",
        "fails in a fixture or in set-up",
        "The test never came to its own body, so it has said nothing about the subject.",
        bad="def test_total(cart):   # fixture 'cart' not found\n    assert cart.total() == 0",
        good="@pytest.fixture\ndef cart():\n    return Cart()\n\ndef test_total(cart):\n    assert cart.total() == 0",
        hint="mend the fixture.",
    ),
    law(
        "RED304",
        "the process was ended",
        "SystemExit, KeyboardInterrupt or pytest.exit stop the run. That is not a failing assertion.",
        bad="def test_usage():\n    main(['--no-such-option'])   # ends in sys.exit(2)",
        good="def test_usage():\n    with pytest.raises(SystemExit):\n        main(['--no-such-option'])",
        hint="assert on the result; expect an exit with pytest.raises(SystemExit).",
    ),
    law(
        "RED305",
        "ran out of time",
        "A test that hangs says nothing about what is missing, and would hang in every later run.",
        bad="def test_queue():\n    while poll() is None:   # for ever\n        pass",
        good="def test_queue():\n    assert poll(tries=3) is None",
        hint="make the test end by itself.",
    ),
    law(
        "RED306",
        "fails on purpose",
        "`assert False`, pytest.fail() and the like fail whatever the subject does. No implementation can answer them.",
        bad="def test_earn():\n    pytest.fail('not implemented')",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="call the subject and assert on what it returns.",
    ),
    law(
        "RED307",
        "the test's own code breaks",
        "The exception came out of the test itself or of foreign code, not out of the subject or the call to it.",
        bad="def test_earn():\n    order = {}\n    assert earn(order['amount']) == 1   # KeyError in the test itself",
        good="def test_earn():\n    order = {'amount': 5}\n    assert earn(order['amount']) == 1",
        hint="mend the test; what must fail is the behaviour.",
    ),
    law(
        "RED308",
        "an import fails for another reason than a missing name",
        "Something breaks while modules are imported: a circular import, or an error at the top of a module.",
        bad="ImportError: cannot import name 'a' (most likely due to a circular import)",
        good="ImportError: cannot import name 'earn' from 'shop.points', and the design promises shop.points.earn",
        hint="make the imports work; only a planned name may be missing.",
    ),
    law(
        "RED309",
        "did not fail in its call",
        "Only a failure in the test's own call counts. This one came while collecting, setting up or tearing down.",
        bad="@pytest.fixture\n"
        "def account():\n"
        "    found = Account()\n"
        "    yield found\n"
        "    assert found.points == 1   # fails in teardown",
        good="def test_earn():\n    assert earn(5) == 1   # fails here, in the test's own call",
        hint="let the test itself fail.",
    ),
    rule(
        "RED310",
        "no code can satisfy the tests",
        "Two assertions ask for different answers to the same question, or one asks for what cannot be, such as a "
        "number above five and below three. Whatever is built, the test fails.",
        bad="def test_add():\n    assert add(2, 3) == 5\n    assert add(2, 3) == 6",
        good="def test_add():\n    assert add(2, 3) == 5\n    assert add(2, 4) == 6",
        hint="decide which answer the story asks for.",
    ),
)

_REPEATABLE: tuple[FindingKind, ...] = (
    law(
        "RED501",
        "fails differently when it runs again",
        "The second run, in reverse order and with another hash seed, gave another result. A flaky test proves "
        "nothing, now or later.",
        bad="test_earn: AssertionError first, passed the second time",
        good="test_earn: the same AssertionError in both runs",
        hint="take chance, order, time and shared state out of the test.",
    ),
    law(
        "RED502",
        "an old failure is claimed as RED",
        "The test failed before this commit in the same way. It is baseline, not a sign of the new story.",
        bad="tests/test_old.py::test_tax failed already",
        good="tests/test_earn.py::test_earn is new and fails; tests/test_old.py is left alone",
        hint="write new tests for the story and leave the old failure alone.",
    ),
    law(
        "RED503",
        "a test that passed before fails now",
        "New tests must not break old ones: by a shared fixture, a name clash or left-over state.",
        bad="tests/test_cart.py::test_total passed before",
        good="tests/test_cart.py::test_total passes before and after",
        hint="keep the new tests apart from the old ones.",
    ),
    law(
        "RED504",
        "a test that passed before is gone",
        "It was deleted, renamed, skipped or is no longer collected.",
        bad="tests/test_cart.py::test_total is not collected any more",
        good="every test that was collected before is collected now",
        hint="put it back; removing tests is a step of its own.",
    ),
    rule(
        "RED505",
        "depends on chance",
        "Random numbers without a seed, or the moment of the run, decide the result.",
        bad="def test_earn():\n    assert earn(random.randint(1, 9)) == 1",
        good="def test_earn():\n    assert earn(random.Random(7).randint(5, 9)) == 1",
        hint="use fixed values, or seed the generator.",
    ),
    advice(
        "RED506",
        "compares with the clock",
        "The test can fail around midnight or on a slow machine.",
        bad="def test_created():\n    assert order().created.date() == datetime.now().date()",
        good="def test_created():\n    noon = datetime(2024, 2, 29, 12)\n    assert order(now=noon).created == noon",
        hint="give the subject a fixed time.",
    ),
    law(
        "RED507",
        "was not run a second time",
        "Without a second run there is no knowing whether the failure is repeatable.",
        bad="no repeat run in the evidence",
        good="head_run and repeat_run in the evidence, both by the gate",
        hint="judge the commits again; the gate makes both runs itself.",
    ),
    rule(
        "RED508",
        "changes what old tests lean on",
        "A helper, constant, import or fixture that tests use already means something else now. They still pass, but "
        "they no longer ask what they asked.",
        bad="def check(actual, expected):\n    return actual == expected   # was an assert",
        good="def check(actual, expected):\n"
        "    assert actual == expected\n"
        "\n"
        "def check_points(actual, expected):   # new, beside it\n"
        "    assert actual.points == expected",
        hint="leave it as it was and put a new one beside it; parameters that may be left out can be added.",
    ),
)

RED_FINDINGS: tuple[FindingKind, ...] = (*_SCOPE, *_COLLECTION, *_REASON, *VACUOUS_FINDINGS, *_REPEATABLE)
