"""Findings of the REFACTOR and INTEGRATED gates."""

from __future__ import annotations

from prd2pr.core.findings_held import HELD_FINDINGS
from prd2pr.core.findings_kind import FindingKind, advice, law, rule

_REFACTOR: tuple[FindingKind, ...] = (
    law(
        "RFC101",
        "changes how tests run; REFACTOR may change source only",
        "A refactoring leaves the tests and all that runs them alone; they are what holds the behaviour.",
        bad="pyproject.toml was changed",
        good="src/shop/points.py was changed; pyproject.toml is the file that it was",
        hint="take the file out of this commit.",
    ),
    law(
        "RFC102",
        "changes a dependency manifest",
        "A refactoring needs nothing new.",
        bad="requirements.txt gains a package",
        good="requirements.txt is the file that it was",
        hint="take it out, or allow it with gates.allow_manifest in .prd2pr.yml on the base branch.",
    ),
    law(
        "RFC103",
        "writes the bot's state or a protected file",
        "Neither may be written by the one whose work is judged.",
        bad=".prd2pr.yml was edited",
        good="the commit holds source only",
        hint="take the change out of this commit.",
    ),
    law(
        "RFC104",
        "adds a link, a submodule or an odd file mode",
        "A symbolic link or a submodule lets a path mean something outside of the commit.",
        bad="src/shop -> ../elsewhere",
        good="src/shop/points.py, an ordinary file",
        hint="commit the file itself.",
    ),
    law(
        "RFC105",
        "adds a test file",
        "New tests begin with RED.",
        bad="tests/test_more.py was added",
        good="src/shop/points.py was changed, and no test came along",
        hint="take it out.",
    ),
    law(
        "RFC106",
        "changes a file that is neither source nor test",
        "A refactoring changes source only.",
        bad="notes.csv was changed",
        good="src/shop/points.py was changed",
        hint="take it out.",
    ),
    advice(
        "RFC107",
        "changes documentation together with the code",
        "It does no harm, but the refactoring is easier to read alone.",
        bad="README.md changed in REFACTOR",
        good="README.md changes in a commit of its own",
        hint="nothing needs to be done.",
    ),
    law(
        "RFC201",
        "a locked file was changed",
        "The tests are what holds the behaviour while the code moves. They must be what RED committed.",
        bad="tests/tdd/loyalty-2/test_redeem.py: line 14 `== 90` became `>= 0`",
        good="tests/tdd/loyalty-2/test_redeem.py has the blob that RED committed",
        hint="restore the file.",
    ),
    law(
        "RFC202",
        "a locked file is gone",
        "A test was deleted or renamed.",
        bad="tests/tdd/loyalty-2/test_redeem.py is not there any more",
        good="tests/tdd/loyalty-2/test_redeem.py is where RED put it",
        hint="restore it.",
    ),
    law(
        "RFC203",
        "it is not known which files are locked",
        "Without that list nobody can say that the tests are the same.",
        bad="no locked file in the evidence: the base commit holds no test",
        good="prd2pr gate refactor --base GREEN --head REFACTOR, with tests in the commit GREEN",
        hint="judge against the GREEN commit.",
    ),
    rule(
        "RFC204",
        "an example in the documentation was changed",
        "The project's pytest runs the examples of docstrings: they are tests. A refactoring leaves them as they are.",
        bad='    """\n    >>> redeem(137, 47)\n    91\n    """   # was: 90',
        good='    """\n    >>> redeem(137, 47)\n    90\n    """',
        hint="put the example back; a function that is removed takes its examples with it.",
    ),
    law(
        "RFC302",
        "a test of the story does not pass",
        "The behaviour has changed.",
        bad="test_redeem: expected 90, got 0",
        good="test_redeem passed before and after",
        hint="undo the step that broke it.",
    ),
    law(
        "RFC303",
        "a test of the story was not run",
        "It is skipped, xfailed, deselected or missing. Only `passed` counts.",
        bad="test_redeem skipped",
        good="test_redeem passed before and after",
        hint="let the test run.",
    ),
    law(
        "RFC304",
        "a test that passed before fails now",
        "The behaviour has changed elsewhere.",
        bad="tests/test_cart.py::test_total passed before and fails now",
        good="tests/test_cart.py::test_total passes before and after",
        hint="undo the step that broke it.",
    ),
    law(
        "RFC305",
        "fewer tests are collected than before",
        "Tests that passed have vanished from the run.",
        bad="41 tests before, 40 now",
        good="41 tests before, 41 now",
        hint="put the tests back.",
    ),
    law(
        "RFC306",
        "no test holds the behaviour",
        "A refactoring is safe only while tests pass before and after it. Here none does.",
        bad="0 tests passed",
        good="53 tests passed before, 53 pass now",
        hint="write tests for the behaviour first.",
    ),
    rule(
        "RFC401",
        "a public signature changed",
        "Callers outside of this repository depend on public names and their parameters.",
        bad="shop.points.earn(amount) became earn(amount, rate)",
        good="shop.points.earn(amount) stays; _points_for(amount, rate) is new and private",
        hint="keep the old form, or make the change a story of its own.",
    ),
    rule(
        "RFC402",
        "a feature came along",
        "A new public function that nothing calls is not a refactoring, and no test asked for it.",
        bad="def redeem(total, points):\n"
        "    return total - points * 2\n"
        "\n"
        "\n"
        "def transfer(points, to):   # nobody calls it\n"
        "    to.points += points",
        good="def redeem(total, points):\n"
        "    return total - _worth(points)\n"
        "\n"
        "\n"
        "def _worth(points):\n"
        "    return points * 2",
        hint="take it out and write a story for it.",
    ),
    rule(
        "RFC403",
        "only comments and layout changed",
        "The program is the same. That is not a refactoring, and the step would claim an improvement that is none.",
        bad="a docstring was added, and nothing else",
        good="two branches that did the same became one",
        hint="record the step as nothing worth changing.",
    ),
    rule(
        "RFC404",
        "got worse by measure",
        "Neither complexity, nor length, nor duplication has fallen, and at least one of them has risen.",
        bad="complexity 14 before, 14 after; 120 lines before, 131 after",
        good="complexity 14 before, 9 after; 120 lines before, 104 after",
        hint="make it simpler, or record the step as nothing worth changing.",
    ),
    rule(
        "RFC405",
        "a new branch that no test asked for",
        "The code asks about a value that it never mentioned before. No test knows that branch.",
        bad="def price(amount, customer):\n    if customer == 'vip':\n        return amount * 0.5\n    return amount",
        good="def price(amount, customer):\n    discount = 0\n    return amount - discount",
        hint="take it out and write a story for it.",
    ),
    rule(
        "RFC406",
        "changes nothing and does not say so",
        "An empty step must be recorded as nothing worth changing.",
        bad="no source file differs from GREEN",
        good="the step's record says: nothing worth changing",
        hint="record the step as nothing worth changing.",
    ),
    rule(
        "RFC407",
        "the improvement was not measured",
        "The evidence holds no measures of before and after.",
        bad="no measures in the evidence",
        good="complexity, length and duplication of both trees in the evidence",
        hint="judge the commits again.",
    ),
    advice(
        "RFC408",
        "no measure changed",
        "Complexity, length and duplication are what they were. Unlike a change of comments alone (RFC403), the code "
        "is another: better names and types are a gain that no number shows, so this is told and not refused.",
        bad="_calc was renamed to _points_for",
        good="_calc was renamed to _points_for, and a branch that it did not need is gone",
        hint="nothing needs to be done.",
    ),
    rule(
        "RFC409",
        "the tests notice less than before",
        "Deliberate faults are put into what the refactoring changed, before and after it. If the story's tests notice "
        "clearly fewer of them now, the new code does things that no test asks for.",
        bad="deliberate faults that the story's tests notice: 11 of 12 before, 7 of 13 now",
        good="deliberate faults that the story's tests notice: 11 of 12 before, 9 of 10 now",
        hint="leave out what no test asks for; new behaviour begins with RED.",
    ),
    advice(
        "RFC410",
        "a function of the refactoring that no test of the story holds",
        "It can raise an error at once, and no test fails. Either nothing calls it, or nothing asks what it does.",
        bad="`_legacy_total` is held by no test of the story",
        good="with `_total` knocked out, test_bill fails",
        hint="remove the function, if nothing needs it.",
    ),
)

_INTEGRATED: tuple[FindingKind, ...] = (
    law(
        "INT101",
        "changes something else than the place of the tests and the living docs",
        "Integration moves the story's tests and writes the living docs, each as a plain file at its own place under "
        "docs.directory. It does nothing else, so that what was proved GREEN is what is integrated.",
        bad="src/shop/points.py was changed",
        good="tests/tdd/loyalty-2/test_redeem.py moved to tests/unit/loyalty-2/, docs/CODEBASE_MAP.md was written",
        hint="take the change out; code changes belong to GREEN or REFACTOR.",
    ),
    law(
        "INT102",
        "a test changed while it moved",
        "The file at its new place is not the file that was proved.",
        bad="tests/unit/loyalty-2/test_redeem.py differs from tests/tdd/loyalty-2/test_redeem.py",
        good="tests/unit/loyalty-2/test_redeem.py has the blob of tests/tdd/loyalty-2/test_redeem.py",
        hint="move the file as it is.",
    ),
    law(
        "INT103",
        "a test of the story stayed behind or was lost",
        "Every file of tests/tdd/<story>/ moves to its permanent place.",
        bad="tests/tdd/loyalty-2/test_redeem.py is still there",
        good="tests/tdd/loyalty-2/ is gone; all of its files are in tests/unit/loyalty-2/",
        hint="move it too.",
    ),
    law(
        "INT104",
        "adds a link, a submodule or an odd file mode",
        "A moved file keeps its mode.",
        bad="tests/unit/loyalty-2/data is a link",
        good="tests/unit/loyalty-2/data/rates.csv, an ordinary file",
        hint="move the file itself.",
    ),
    law(
        "INT105",
        "a living doc says something else than is rendered",
        "Living docs are made from code and records alone. They are rendered again, and have to be the same byte for "
        "byte. Otherwise anything could be put into them without a gate.",
        bad="docs/RUNBOOK.md tells to run a program that the repository does not name",
        good="docs/RUNBOOK.md is what `prd2pr docs` makes of this tree",
        hint="leave the generated part to prd2pr; your words go above or below its marks, in a commit of their own.",
    ),
    advice(
        "INT106",
        "a living doc was rendered by another version",
        "Versions word their documents differently, so this one cannot render it again byte for byte. It was seen that "
        "it is a plain file at its own place, and that the text around its marks is what it was.",
        bad="docs/RUNBOOK.md was written by prd2pr 0.9.0",
        good="docs/RUNBOOK.md was written by the version that verifies it",
        hint="read it, or verify with the version that is named.",
    ),
    law(
        "INT302",
        "a test of the story does not pass at its new place",
        "It depended on where it lay, or on its neighbours.",
        bad="tests/unit/loyalty-2/test_redeem.py::test_redeem failed",
        good="tests/unit/loyalty-2/test_redeem.py::test_redeem passed",
        hint="go back to RED and free the test from its place.",
    ),
    law(
        "INT303",
        "a test of the story was not run at its new place",
        "Only `passed` counts.",
        bad="tests/unit/loyalty-2/test_redeem.py::test_redeem is not collected",
        good="tests/unit/loyalty-2/test_redeem.py::test_redeem passed",
        hint="look for a clash of file names or a directory that pytest ignores.",
    ),
    law(
        "INT304",
        "a test that passed before fails now",
        "The whole suite must pass, but for failures that were there before the story.",
        bad="tests/test_cart.py::test_total passed before and fails now",
        good="tests/test_cart.py::test_total passes before and after",
        hint="look for a clash between the moved tests and the old ones.",
    ),
    law(
        "INT305",
        "fewer tests are collected than before",
        "Tests were lost on the way.",
        bad="53 tests before, 52 now",
        good="53 tests before, 53 now",
        hint="look for a clash of file names.",
    ),
    law(
        "INT306",
        "the story has no tests",
        "A story without a proved test is not done, unless its kind asks for none.",
        bad="no story tests in the evidence",
        good="12 tests of the story, proved RED and GREEN, in the evidence",
        hint="begin with RED.",
    ),
)

LATER_FINDINGS: tuple[FindingKind, ...] = (*_REFACTOR, *HELD_FINDINGS, *_INTEGRATED)
