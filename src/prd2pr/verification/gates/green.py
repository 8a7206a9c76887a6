"""GREEN: only source changed, and exactly the RED tests pass now."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.evidence import Evidence, Finding, PathKind
from prd2pr.domain.records import Phase
from prd2pr.domain.results.finding_kind import FindingKind, define_strict_error, define_warning
from prd2pr.verification.gates.changed_tests import check_old_versions
from prd2pr.verification.gates.common import (
    GateCodes,
    GatePolicy,
    check_links,
    check_locks,
    check_no_regressions,
    check_runs,
    check_source_only,
    check_story_tests_pass,
    find_results,
    is_untested_story,
    make_finding,
    make_test_finding,
    report_facts,
)
from prd2pr.verification.gates.hidden_examples import check_examples_given, hide_example_details
from prd2pr.verification.gates.mutation import check_mutation, check_verified_mutation
from prd2pr.verification.gates.red import collect_red_findings
from prd2pr.verification.gates.stability import check_stability

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "GRN101",
        "changes how tests run; GREEN may change source only",
        "A conftest, a test configuration, a CI file or a module that shadows the test runner can change test "
        "results. It is not part of the implementation.",
        bad="src/shop/conftest.py was added",
        good="src/shop/points.py was changed, and no file that configures the tests",
        remedy="remove the file from this commit; if the project needs it, commit it before the story.",
    ),
    define_strict_error(
        "GRN102",
        "changes a dependency manifest",
        "A new dependency changes what every later run installs. People must decide that.",
        bad="requirements.txt gains a package",
        good="requirements.txt is unchanged; the code does not need the package",
        remedy="remove the dependency, or allow it with gates.allow_manifest in .prd2pr.yml on the base branch.",
    ),
    define_strict_error(
        "GRN103",
        "writes the bot's state or a protected file",
        ".orch-state/ records what the bot has proved, and protected files control the bot and other agents. An "
        "author must not write files by which their own work is judged.",
        bad=".orch-state/prds/loyalty/tdd/cycles/loyalty-1.json was edited",
        good="the commit contains source only; the bot writes its own state",
        remedy="remove the change from this commit.",
    ),
    define_strict_error(
        "GRN104",
        "adds a symbolic link, a submodule or an unusual file mode",
        "A symbolic link or a submodule makes a path point outside the commit.",
        bad="src/shop/data -> ../../tests",
        good="src/shop/data/rates.csv, a regular file",
        remedy="commit the file itself.",
    ),
    define_strict_error(
        "GRN105",
        "adds a test file",
        "GREEN makes the RED tests pass. A test that is added together with the code has never been shown to fail.",
        bad="tests/test_more.py was added",
        good="src/shop/points.py makes tests/tdd/loyalty-1/test_earn.py pass; no test was added",
        remedy="remove it; new tests start with RED.",
    ),
    define_strict_error(
        "GRN106",
        "changes a file that is neither source nor test",
        "GREEN may change source only, so that the tests pass because of the code that ships.",
        bad="notes.csv was changed",
        good="src/shop/points.py was changed",
        remedy="remove it, or add its directory to paths.source if it is source.",
    ),
    define_warning(
        "GRN107",
        "changes documentation together with the code",
        "It does no harm, but GREEN is easier to review when it contains only code.",
        bad="README.md changed in GREEN",
        good="README.md changes in a separate commit",
        remedy="no action is needed.",
    ),
    define_strict_error(
        "GRN108",
        "changes nothing",
        "Tests that failed cannot start to pass while the source is unchanged. If they do, they are flaky.",
        bad="no source file differs from RED",
        good="src/shop/points.py differs from RED",
        remedy="write the implementation.",
    ),
    define_strict_error(
        "GRN201",
        "a locked file was changed",
        "Every test, fixture, golden file and test configuration must be identical, byte for byte, to what RED "
        "committed.",
        bad="tests/tdd/loyalty-2/test_redeem.py: line 14 `== 90` became `>= 0`",
        good="tests/tdd/loyalty-2/test_redeem.py has the blob that RED committed",
        remedy="restore the file; if the test is wrong, go back to RED.",
    ),
    define_strict_error(
        "GRN202",
        "a locked file is missing",
        "A test that RED committed was deleted or renamed.",
        bad="tests/tdd/loyalty-2/test_redeem.py is missing",
        good="tests/tdd/loyalty-2/test_redeem.py is where RED committed it",
        remedy="restore it; tests move only when the story is integrated.",
    ),
    define_strict_error(
        "GRN203",
        "the list of files locked by RED is missing",
        "Without that list it cannot be shown that the tests are unchanged.",
        bad="no locked file in the evidence: the base commit contains no test",
        good="prd2pr gate green --base RED --head GREEN, where the RED commit contains tests",
        remedy="judge against the commit that contains the tests.",
    ),
    define_strict_error(
        "GRN302",
        "a test of the story does not pass",
        "GREEN means that every RED test passes.",
        bad="test_redeem: expected 90, got 0",
        good="test_redeem passed",
        remedy="continue the implementation.",
    ),
    define_strict_error(
        "GRN303",
        "a test of the story was not run",
        "It was red and is now skipped, xfailed, deselected or missing. Only `passed` counts.",
        bad="test_redeem skipped",
        good="test_redeem passed",
        remedy="make the test run.",
    ),
    define_strict_error(
        "GRN304",
        "a test that passed before fails now",
        "New behavior must not break existing behavior.",
        bad="tests/test_cart.py::test_total passed before and fails now",
        good="tests/test_cart.py::test_total passes before and after",
        remedy="fix the regression. If a requirement of the story changes what the test asserts, change the test "
        "together with the story's tests, as strictly as before, and declare it in `changed_tests` (after /tdd undo if "
        "RED is committed).",
    ),
    define_strict_error(
        "GRN305",
        "fewer tests are collected than before",
        "Tests that passed before are no longer collected.",
        bad="41 tests before, 40 now",
        good="41 tests before, 41 now",
        remedy="restore the tests.",
    ),
    define_strict_error(
        "GRN306",
        "no test was red",
        "No test of this story failed before, so passing tests prove nothing about it.",
        bad="no story tests in the evidence",
        good="test_redeem failed at the base commit and passes now",
        remedy="start with RED.",
    ),
    define_strict_error(
        "GRN307",
        "a test of the story passed before",
        "The test already passed on the commit that should be RED.",
        bad="test_redeem passed at the base commit",
        good="test_redeem failed at the base commit: assert None == 90",
        remedy="judge against the RED commit, or write a test that fails first.",
    ),
)


CODES = GateCodes(
    phase=Phase.GREEN,
    how_tests_run="GRN101",
    manifest="GRN102",
    state="GRN103",
    link="GRN104",
    test="GRN105",
    other="GRN106",
    docs="GRN107",
    locked="GRN201",
    locked_gone="GRN202",
    unlocked="GRN203",
    not_passed="GRN302",
    not_run="GRN303",
    regressed="GRN304",
    fewer="GRN305",
)


def check_green(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    yield from hide_example_details(_collect_findings(evidence, policy), evidence)


def _collect_findings(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    if evidence.pre_implemented:
        yield from _check_pre_implemented(evidence, policy)
        return
    yield from check_runs(evidence, policy)
    yield from check_source_only(evidence, CODES, policy)
    yield from check_links(evidence, CODES.link)
    yield from _check_changes(evidence)
    yield from check_locks(evidence, CODES)
    yield from _check_red_before(evidence)
    yield from check_story_tests_pass(evidence, CODES)
    yield from check_examples_given(evidence)
    yield from check_no_regressions(evidence, CODES.regressed, CODES.fewer)
    yield from check_old_versions(evidence)
    yield from check_mutation(evidence, policy)
    yield from check_stability(evidence)
    yield from report_facts(evidence, "GRN")


def _check_pre_implemented(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    """Check a story whose code existed already. All checks of RED apply, but the tests must pass.

    The story does not claim RED and is shown as built before, not as proven.
    """
    yield from (each for each in collect_red_findings(evidence, policy) if each.code != "RED105")
    yield from check_story_tests_pass(evidence, CODES)
    yield from check_verified_mutation(evidence, policy)


def _check_changes(evidence: Evidence) -> Iterator[Finding]:
    if is_untested_story(evidence):
        if not evidence.changes:
            yield make_finding("GRN108", "nothing differs from the previous commit")
    elif not any(change.kind in {PathKind.SOURCE, PathKind.MANIFEST} for change in evidence.changes):
        yield make_finding("GRN108", "no source file differs from the RED commit")


def _check_red_before(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.story_tests and not is_untested_story(evidence):
        yield make_finding("GRN306", "no test of this story failed before, so nothing can turn green")
    for test in evidence.story_tests:
        before = find_results(evidence.base_run, test)
        if before and all(result.outcome == "passed" for result in before):
            yield make_test_finding("GRN307", test, "already passed at the base commit, where it should fail")
