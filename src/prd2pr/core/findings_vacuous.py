"""Findings of the RED gate about tests that would pass with any implementation."""

from __future__ import annotations

from prd2pr.core.findings_kind import FindingKind, advice, rule

VACUOUS_FINDINGS: tuple[FindingKind, ...] = (
    rule(
        "RED401",
        "asserts nothing that could be wrong",
        "The test has no assertion, or only ones that hold for every subject: constants, tautologies, comparisons "
        "without `assert`. It will pass as soon as the name exists.",
        bad="def test_earn():\n    earn(5)\n    assert True",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="assert on what came of the call, against a value you worked out by hand.",
    ),
    rule(
        "RED402",
        "asserts a tuple",
        "A tuple that is not empty is always true.",
        bad="def test_earn():\n    assert (earn(5) == 1, 'one point')",
        good="def test_earn():\n    assert earn(5) == 1, 'one point'",
        hint="drop the parentheses.",
    ),
    rule(
        "RED403",
        "returns instead of asserting",
        "pytest ignores what a test returns.",
        bad="def test_earn():\n    return earn(5) == 1",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="write assert instead of return.",
    ),
    rule(
        "RED404",
        "swallows its own failure",
        "The assertion stands where its AssertionError is caught and dropped.",
        bad="def test_earn():\n    try:\n        assert earn(5) == 1\n    except AssertionError:\n        pass",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="let the assertion fail.",
    ),
    rule(
        "RED405",
        "the subject is mocked",
        "The test replaces the very thing that it is about, and then tests the replacement. Collaborators may be "
        "replaced.",
        bad="def test_earn(monkeypatch):\n"
        "    monkeypatch.setattr(shop, 'earn', lambda amount: 1)\n"
        "    assert shop.earn(5) == 1",
        good="def test_earn(monkeypatch):\n"
        "    monkeypatch.setattr(shop, 'today', lambda: '2024-02-29')   # a collaborator\n"
        "    assert shop.earn(5) == 1",
        hint="call the real subject; replace only what it depends on.",
    ),
    rule(
        "RED406",
        "is content with any exception",
        "`pytest.raises(Exception)` holds for a TypeError in a half-written subject as well as for the error the "
        "story asks for.",
        bad="def test_redeem():\n    with pytest.raises(Exception):\n        redeem(100, -1)",
        good="def test_redeem():\n    with pytest.raises(ValueError, match='negative'):\n        redeem(100, -1)",
        hint="name the exception, or say with match= what it tells.",
    ),
    rule(
        "RED407",
        "the tolerance is too wide",
        "With a tolerance of more than half the expected value, wrong values pass.",
        bad="def test_redeem():\n    assert redeem(100, 10) == pytest.approx(90, abs=100)",
        good="def test_redeem():\n    assert redeem(100, 10) == pytest.approx(90, abs=0.01)",
        hint="use the default tolerance, or one that tells right from wrong.",
    ),
    rule(
        "RED408",
        "asserts in another thread",
        "An AssertionError in a thread ends the thread, not the test.",
        bad="def test_earn():\n"
        "    def check():\n"
        "        assert earn(5) == 1\n"
        "    worker = threading.Thread(target=check)\n"
        "    worker.start()\n"
        "    worker.join()",
        good="def test_earn():\n"
        "    found = []\n"
        "    worker = threading.Thread(target=lambda: found.append(earn(5)))\n"
        "    worker.start()\n"
        "    worker.join()\n"
        "    assert found == [1]",
        hint="collect results in the thread and assert after join().",
    ),
    rule(
        "RED409",
        "the subject is its own oracle",
        "Both sides of the comparison are the same call: any answer would do.",
        bad="def test_earn():\n    expected = earn(5)\n    assert earn(5) == expected",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="write down the expected value.",
    ),
    rule(
        "RED410",
        "does not call the subject",
        "The test asks only whether a name exists, or never touches the project's code.",
        bad="def test_earn():\n    assert callable(earn)",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="call the subject and assert on the result.",
    ),
    rule(
        "RED411",
        "is content with opposite answers",
        "Success and failure, yes and no, something and nothing are all accepted. One of them is wrong.",
        bad="def test_checkout():\n    assert checkout(Cart()).status in (200, 500)",
        good="def test_checkout():\n    assert checkout(Cart()).status == 400",
        hint="assert the one answer that the criterion asks for.",
    ),
    rule(
        "RED412",
        "the fixture does the work",
        "Call and assertion are in a fixture; the test itself says nothing.",
        bad="@pytest.fixture\n"
        "def done():\n"
        "    assert earn(5) == 1\n"
        "    return True\n"
        "\n"
        "def test_earn(done):\n"
        "    assert done",
        good="@pytest.fixture\ndef amount():\n    return 5\n\ndef test_earn(amount):\n    assert earn(amount) == 1",
        hint="let the fixture build, and let the test call and assert.",
    ),
    rule(
        "RED413",
        "accepts its own snapshot",
        "The test writes the file that it then compares with, so that the first answer is right by definition.",
        bad="GOLDEN = Path(__file__).with_name('receipt.txt')\n"
        "\n"
        "def test_receipt():\n"
        "    if not GOLDEN.exists():\n"
        "        GOLDEN.write_text(render(5))\n"
        "    assert render(5) == GOLDEN.read_text()",
        good="GOLDEN = Path(__file__).with_name('receipt.txt')\n"
        "\n"
        "def test_receipt():\n"
        "    assert render(5) == GOLDEN.read_text()",
        hint="commit the golden file with the content that you expect.",
    ),
    rule(
        "RED414",
        "asserts can be switched off",
        "The assertion runs only while Python's own asserts are on, or the test switches them off.",
        bad="def test_earn():\n    if __debug__:\n        assert earn(5) == 1",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="assert without a condition.",
    ),
    rule(
        "RED416",
        "the assertion is never reached",
        "It stands behind a return, under a condition that never holds, in an empty loop, or in a handler for an "
        "exception that nobody asks for.",
        bad="def test_earn():\n    for amount in []:\n        assert earn(amount) == 1",
        good="def test_earn():\n    for amount in [5, 6, 9]:\n        assert earn(amount) == 1",
        hint="let every run of the test come to the assertion; use pytest.raises to ask for an exception.",
    ),
    advice(
        "RED417",
        "several answers are accepted",
        "Where the subject is not random, one answer is right.",
        bad="def test_earn():\n    assert earn(5) in (1, 2)",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="assert the right one.",
    ),
    advice(
        "RED418",
        "asks too little",
        "Every assertion of the test holds for most wrong answers as well: that something came, or how it is called.",
        bad="def test_earn():\n    assert earn(5) is not None",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="assert the value that the criterion asks for.",
    ),
    rule(
        "RED419",
        "no test asks what the answer is",
        "All new tests ask too little (RED418): code that gives some answer, right or wrong, would satisfy them all.",
        bad="def test_earn():\n    assert isinstance(earn(5), int)",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="let at least one test assert a value that the criterion asks for.",
    ),
    advice(
        "RED420",
        "asks only of the items in the answer",
        "Every assertion stands in a loop over what the subject gave. Where that is empty, none is made.",
        bad="def test_fetch():\n    for name in fetch('tea'):\n        assert 'tea' in name",
        good="def test_fetch():\n    assert fetch('tea') == ['green tea', 'tea']",
        hint="assert the whole answer, or first how much there is of it.",
    ),
    rule(
        "RED421",
        "does not care what the answer is",
        "The test was run with something in place of the names that are missing, which answers every call. It passes "
        "with every number, or every text, every list …: whatever will be written, it holds.",
        bad="def test_earn():\n    points = earn(5)\n    assert max(points, 1) >= 1",
        good="def test_earn():\n    assert earn(5) == 1",
        hint="assert the value that the criterion asks for.",
    ),
    advice(
        "RED422",
        "compares answers with each other alone",
        "The test passes with whatever stands in for the missing names. It compares two calls, or looks at what it "
        "handed in; that may be what is asked for, beside tests that ask for a value.",
        bad="def test_same():\n    assert earn(5) == earn(5)",
        good="def test_same():\n    assert earn(5) == earn(5) == 1",
        hint="ask for the value as well.",
    ),
)
