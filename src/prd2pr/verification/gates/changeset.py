"""CHANGESET: judge whether the tests of a pull request prove its changes, for `prd2pr check`."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.changeset import ChangedCode, ChangesetEvidence, ChangesetKind, EarlierTest
from prd2pr.domain.evidence import Finding, PathKind
from prd2pr.domain.paths import is_run_hook
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_strict_error, define_warning
from prd2pr.domain.test_runs import strip_test_parameters
from prd2pr.domain.wording import clip, count
from prd2pr.verification.gates.common import GatePolicy, make_finding, make_test_finding
from prd2pr.verification.gates.green import check_green
from prd2pr.verification.gates.red import collect_red_findings
from prd2pr.verification.gates.refactor import check_refactor

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "CHK101",
        "source changed, and no test needs the change",
        "No test fails without the new source: the changeset changes no test, or its tests do not fail on the old "
        "source. Whether the change works, or does anything, is not shown.",
        bad="src/shop/points.py changes `earn`; no test changes",
        good="src/shop/points.py changes `earn`; tests/test_points.py has a test that fails on the old `earn`",
        remedy="add a test that fails without the change; if the change keeps the behavior, say so with "
        "`--refactoring`, the label `refactoring` or the trailer `Refactoring: yes`.",
    ),
    define_strict_error(
        "CHK102",
        "all new tests pass without the new source",
        "The new and changed tests give the same result on the old source, so they do not test what the changeset "
        "adds.",
        bad="3 of 3 new tests pass on the old source",
        good="2 of 3 new tests fail on the old source and pass on the new one",
        remedy="assert on what the change adds; if it keeps the behavior, say so with `--refactoring`.",
    ),
    define_warning(
        "CHK103",
        "a new test passes without the new source",
        "The test describes behavior that exists already. It may be useful, but it does not test the change.",
        bad="tests/test_points.py::test_zero passes on the old source",
        good="tests/test_points.py::test_bonus fails on the old source",
        remedy="no action is needed if the test is about existing behavior.",
    ),
    define_error(
        "CHK104",
        "no test detects a change of behavior",
        "With the change of this one function undone, every test still passes, although the function then returns "
        "something else. The changeset contains a change that its tests do not test.",
        bad="`tax` returned 7 for tax(100) and returns 0; with the old `tax` all tests pass",
        good="with the old `tax`, tests/test_tax.py::test_reduced_rate fails",
        remedy="add a test for this function, or leave its change out.",
    ),
    define_warning(
        "CHK105",
        "no test fails if the change of a function is undone",
        "No difference in behavior was found either. The function was probably only refactored; a reviewer "
        "should check it.",
        bad="with the old `format_total`, all tests pass",
        good="with the old `format_total`, tests/test_bill.py::test_rounding fails",
        remedy="no action is needed if the function behaves as before.",
    ),
    define_warning(
        "CHK106",
        "a new or changed test is skipped",
        "A test that does not run proves nothing here.",
        bad="tests/test_windows.py::test_drive is skipped on this machine",
        good="the test runs and passes",
        remedy="run `prd2pr check` on a machine on which the test is not skipped.",
    ),
    define_strict_error(
        "CHK201",
        "a test was removed, but not what it tests",
        "The test passed before. What it tests still exists, and no new test takes its place.",
        bad="tests/test_cart.py::test_total was deleted; Cart.total is still there",
        good="tests/test_cart.py::test_total was deleted together with Cart.total",
        remedy="restore the test, or replace it in the same changeset by one that detects the same faults.",
    ),
    define_strict_error(
        "CHK202",
        "a test that passed before is skipped now",
        "A skipped or expected failure protects nothing.",
        bad="@pytest.mark.skip was added to test_total, which passed before",
        good="test_total still runs",
        remedy="remove the mark; if the test is wrong, correct it.",
    ),
    define_strict_error(
        "CHK203",
        "tests were weakened",
        "The old versions of the changed or removed tests detect faults that the new ones do not. Small faults are put "
        "into the source, one at a time; each fault that made an old version fail must make a new version fail too.",
        bad="`assert total == 90` became `assert total > 0`",
        good="the tests were renamed, merged or made parametrized, and still fail for the same faults",
        remedy="restore the assertions; the message names a fault that is no longer detected.",
    ),
    define_strict_error(
        "CHK204",
        "a test was changed so that broken behavior passes",
        "The old version of the test fails with the new source, and the new version passes with the old source as "
        "well. So the new version does not require the new behavior: it only no longer requires the old one.",
        bad="the new source breaks test_total; its assertion became `assert total is not None`",
        good="the behavior changed on purpose: the new version of test_total fails on the old source",
        remedy="restore the test and repair the source; if the behavior changes on purpose, assert the new behavior.",
    ),
    define_warning(
        "CHK205",
        "the behavior that an existing test requires was changed",
        "The old version of the test fails with the new source; its new version fails with the old source and passes "
        "with the new one. This is typical of a changed requirement. A reviewer must decide whether it is wanted.",
        bad="test_total required 90 and now requires 100",
        good="existing tests are unchanged",
        remedy="check that the change of behavior is intended.",
    ),
    define_warning(
        "CHK206",
        "a test was removed together with what it tests",
        "The old version of the test needs a name that the new source no longer has.",
        bad="test_legacy_total was removed together with `legacy_total`",
        good="existing tests are unchanged",
        remedy="check that the removal is intended.",
    ),
    define_warning(
        "CHK207",
        "whether tests were weakened could not be measured",
        "The old versions of the changed tests do not pass by themselves, or mutation testing failed.",
        bad="test_total fails when only the changed tests are run",
        good="the changed tests pass by themselves",
        remedy="compare the old and new assertions manually.",
    ),
    define_strict_error(
        "CHK301",
        "a test that passed before fails or is missing",
        "The changeset breaks existing behavior, or the test is no longer collected.",
        bad="tests/test_cart.py::test_total passed before and fails now",
        good="every test that passed before passes now",
        remedy="repair the source, or restore the test.",
    ),
    define_strict_error(
        "CHK302",
        "a new or changed test fails",
        "Every test of the changeset must pass at its head.",
        bad="tests/test_cart.py::test_discount fails: assert 100 == 90",
        good="all tests pass",
        remedy="repair the source or the test.",
    ),
    define_strict_error(
        "CHK303",
        "settings hide tests or break them",
        "With nothing but the changes to settings, tests that passed before fail or are no longer collected.",
        bad='addopts = "-k not total" was added to pyproject.toml',
        good="the same tests run before and after",
        remedy="remove the setting.",
    ),
    define_warning(
        "CHK304",
        "changes how tests run",
        "The same tests pass with the setting as without it, but a reviewer should know about it.",
        bad="pyproject.toml: [tool.pytest.ini_options] changed",
        good="only tests and source changed",
        remedy="check that the setting is intended.",
    ),
    define_strict_error(
        "CHK305",
        "a file that runs before every test",
        "Python loads such a file before the tests, or instead of reviewed source: `sitecustomize.py`, `.pth`, a "
        "module that shadows pytest, compiled code.",
        bad="sitecustomize.py was added",
        good="only tests and source changed",
        remedy="remove the file.",
    ),
    define_error(
        "CHK306",
        "a new test cannot fail",
        "The test is about existing code, and it passes whatever that code returns.",
        bad="def test_total():\n    Cart().total()",
        good="def test_total():\n    assert Cart().total() == 0",
        remedy="assert on a result.",
    ),
    define_warning(
        "CHK307",
        "a new test detects no fault",
        "None of the faults that were put into the existing code made one of the new tests fail.",
        bad="0 of 12 mutants killed by the new tests",
        good="9 of 12 mutants killed by the new tests",
        remedy="check that the tests call the code of this project.",
    ),
)

# Findings of RED and GREEN that a changeset reports differently, or that are about steps.
_STEP_RULES_RED = frozenset(
    {"RED101", "RED102", "RED103", "RED104", "RED105", "RED106", "RED108", "RED109", "RED201", "RED204", "RED502",
     "RED503", "RED504"}
)  # fmt: skip
_STEP_RULES_GREEN = frozenset({"GRN101", "GRN106", "GRN107", "GRN108", "GRN304", "GRN305", "GRN306", "GRN307"})
# A refactoring in a pull request need not improve a metric.
_STEP_RULES_REFACTOR = frozenset({"RFC101", "RFC106", "RFC107", "RFC403", "RFC404", "RFC406", "RFC407", "RFC408"})
_MAX_SHOWN = 5
_MAX_FAULT_LENGTH = 60


def classify_changeset(evidence: ChangesetEvidence) -> ChangesetKind:
    if not evidence.changes:
        return ChangesetKind.EMPTY
    visible = {change.path for change in evidence.changes if change.kind is PathKind.SOURCE} - {*evidence.invisible}
    if visible:
        if evidence.red_tests or evidence.fixed_tests:
            return ChangesetKind.BEHAVIOR
        return ChangesetKind.REFACTORING if evidence.refactoring else ChangesetKind.UNTESTED
    if evidence.red is not None:
        return ChangesetKind.TESTS
    return ChangesetKind.SETTINGS if evidence.settings is not None else ChangesetKind.NO_EFFECT


def check_changeset(evidence: ChangesetEvidence, policy: GatePolicy) -> Iterator[Finding]:
    kind = classify_changeset(evidence)
    yield from _check_settings(evidence)
    if evidence.head_run is None:
        return
    yield from _check_results(evidence)
    yield from _check_earlier_tests(evidence)
    yield from _check_new_tests(evidence, kind, policy)
    if kind is ChangesetKind.BEHAVIOR:
        yield from _check_behavior(evidence, policy)
    elif kind is ChangesetKind.REFACTORING:
        yield from _check_refactoring(evidence, policy)
    elif kind is ChangesetKind.UNTESTED:
        yield from _check_untested(evidence)
    elif kind is ChangesetKind.TESTS:
        yield from _check_existing(evidence)


# --- settings and results ---------------------------------------------------------------------------------------------


def _check_settings(evidence: ChangesetEvidence) -> Iterator[Finding]:
    yield from _check_links(evidence)
    for change in evidence.changes:
        name = change.path.rpartition("/")[2]
        if change.status == "deleted" or name == "conftest.py":
            continue
        if is_run_hook(change.path):
            yield make_finding(
                "CHK305", "Python loads this file before any test, or instead of source", path=change.path
            )
        elif change.kind is PathKind.TEST_CONFIG:
            yield make_finding("CHK304", "may decide which tests run, and how", path=change.path)
    if evidence.settings is None:
        return
    for test in (*evidence.settings.vanished, *evidence.settings.regressed)[:_MAX_SHOWN]:
        how = "is no longer run" if test in evidence.settings.vanished else "fails"
        yield make_test_finding("CHK303", test, f"{how} with the changed settings alone")
    more = len(evidence.settings.vanished) + len(evidence.settings.regressed) - _MAX_SHOWN
    if more > 0:
        yield make_finding("CHK303", f"{count(more, 'more test')} lost with the changed settings")


def _check_results(evidence: ChangesetEvidence) -> Iterator[Finding]:
    known = {strip_test_parameters(each.id) for each in evidence.earlier} | {each.id for each in evidence.earlier}
    failing = {*evidence.failing_tests}
    for test in sorted(failing):
        yield make_test_finding("CHK302", test, "fails at the head of the changeset")
    comparison = evidence.comparison
    if comparison is None:
        return
    for test in comparison.regressed:
        if test not in failing and strip_test_parameters(test) not in failing:
            yield make_test_finding("CHK301", test, "passed before and fails now")
    for test in comparison.vanished:
        if test not in known and strip_test_parameters(test) not in known and not _is_replaced(test, evidence):
            yield make_test_finding("CHK301", test, "passed before and is no longer run")


def _is_replaced(test: str, evidence: ChangesetEvidence) -> bool:
    """Return whether the test is in a changed file.

    If it is missing there, `EarlierTest` reports it, unless it moved unchanged.
    """
    changed = {change.path for change in evidence.changes}
    return test.partition("::")[0] in changed


# --- the old tests ----------------------------------------------------------------------------------------------------


def _check_earlier_tests(evidence: ChangesetEvidence) -> Iterator[Finding]:
    replaced = any(True for test in (*evidence.red_tests, *evidence.passing_tests))
    for each in evidence.earlier:
        yield from _check_earlier_test(each, replaced=replaced)
    yield from _check_protection(evidence)


def _check_earlier_test(each: EarlierTest, *, replaced: bool) -> Iterator[Finding]:
    if each.now in {"skipped", "xfailed"}:
        yield make_test_finding("CHK202", each.id, f"passed before and is {each.now} now")
    elif each.on_new_source == "passed":
        if each.now is None and not replaced:
            yield make_test_finding("CHK201", each.id, "removed, but it still passes with the new source")
    elif each.now is None and each.lost_subject:
        yield make_test_finding("CHK206", each.id, f"removed; it needs `{each.lost_subject}`, which is gone")
    elif each.successor:
        how = "requires something else now" if each.now else f"replaced by `{each.successor.partition('::')[2]}`"
        yield make_test_finding("CHK205", each.id, f"{how}; its old version fails: {each.failure}")
    elif each.now is None:
        yield make_test_finding("CHK201", each.id, f"removed, and it fails with the new source: {each.failure}")
    elif each.now == "passed" and each.on_new_source is not None:
        message = (
            f"its old version fails with the new source ({each.failure}), and its new version passes with the old one"
        )
        yield make_test_finding("CHK204", each.id, message)


def is_requirement_change(test: EarlierTest) -> bool:
    """Return whether the old version of a test fails because its requirement changed, as its new version shows."""
    return bool(test.successor) and test.on_new_source != "passed"


def _check_protection(evidence: ChangesetEvidence) -> Iterator[Finding]:
    protection = evidence.protection
    if protection is None:
        return
    if protection.problem:
        yield make_finding("CHK207", protection.problem)
    lost = protection.lost
    if lost:
        first = min(lost, key=lambda each: len(each.change or each.function))
        faults = f"{len(lost)} of {count(protection.killed_before, 'fault')} that the old tests detected"
        message = f"the new tests miss {faults}, such as {clip(first.change or first.function, _MAX_FAULT_LENGTH)}"
        yield make_finding("CHK203", message, path=first.path, line=first.line)
    for fact in protection.values_lost:
        message = f"compares less exactly: nothing requires `{fact.message}` any more"
        yield make_finding("CHK203", message, path=fact.path, line=fact.line, test=fact.test)


# --- the new tests ----------------------------------------------------------------------------------------------------


def _check_new_tests(evidence: ChangesetEvidence, kind: ChangesetKind, policy: GatePolicy) -> Iterator[Finding]:
    earlier = {strip_test_parameters(each.id) for each in evidence.earlier}
    for test in evidence.idle_tests:
        if strip_test_parameters(test) not in earlier:
            yield make_test_finding("CHK106", test, "is skipped")
    for test in evidence.passing_tests if kind is ChangesetKind.BEHAVIOR else ():
        if strip_test_parameters(test) not in earlier:
            yield make_test_finding("CHK103", test, "passes on the old source too")
    if evidence.red is None:
        return
    red = evidence.red.model_copy(update={"story_tests": evidence.red_tests})
    if not evidence.red_tests:
        red = red.model_copy(update={"repeat_run": None})
    for each in collect_red_findings(red, policy):
        is_about_failure = each.code.startswith("RED3") and bool(each.test)
        if each.code not in _STEP_RULES_RED and (evidence.red_tests or not is_about_failure):
            yield each


def _check_existing(evidence: ChangesetEvidence) -> Iterator[Finding]:
    existing = evidence.existing
    if existing is None or existing.problems:
        return
    new = {strip_test_parameters(test) for test in evidence.passing_tests}
    for test in existing.indifferent:
        if test in new:
            yield make_test_finding("CHK306", test, "passes whatever the code that it calls returns")
    tried = [each for each in (*existing.knock_outs, *existing.mutants) if each.outcome in {"killed", "survived"}]
    if tried and not any(each.outcome == "killed" for each in tried):
        yield make_finding("CHK307", f"0 of {count(len(tried), 'fault')} detected by the new tests")


# --- the new source ---------------------------------------------------------------------------------------------------


def _check_behavior(evidence: ChangesetEvidence, policy: GatePolicy) -> Iterator[Finding]:
    if evidence.green is not None:
        yield from (each for each in check_green(evidence.green, policy) if each.code not in _STEP_RULES_GREEN)
    for each in evidence.undone:
        if each.outcome != "survived":
            continue
        difference = _find_difference(evidence, each.path, each.function)
        if difference:
            yield make_finding(
                "CHK104", f"`{each.function}`: {difference}; no test detects it", path=each.path, line=each.line
            )
        else:
            message = f"with the old version of `{each.function}` all tests pass"
            yield make_finding("CHK105", message, path=each.path, line=each.line)


def _find_difference(evidence: ChangesetEvidence, path: str, function: str) -> str:
    for each in evidence.behavior.differences if evidence.behavior else ():
        if each.path == path and each.function.endswith(function):
            return f"{each.given} was {each.before} and is {each.after}"
    return ""


def _check_refactoring(evidence: ChangesetEvidence, policy: GatePolicy) -> Iterator[Finding]:
    if evidence.refactor is not None:
        yield from (each for each in check_refactor(evidence.refactor, policy) if each.code not in _STEP_RULES_REFACTOR)


def _check_untested(evidence: ChangesetEvidence) -> Iterator[Finding]:
    for fact in evidence.facts:
        yield make_finding(fact.code, fact.message, path=fact.path, line=fact.line, test=fact.test)
    if evidence.passing_tests:
        tests = len(evidence.passing_tests)
        yield make_finding("CHK102", f"{tests} of {count(tests, 'new or changed test')} pass on the old source")
        return
    for each in evidence.code[:_MAX_SHOWN]:
        yield make_finding(
            "CHK101", f"{_name_code(each)} changed, and no test needs it", path=each.path, line=each.line
        )
    if len(evidence.code) > _MAX_SHOWN:
        yield make_finding("CHK101", f"{count(len(evidence.code) - _MAX_SHOWN, 'more function')} without a test")


def _name_code(each: ChangedCode) -> str:
    return f"`{each.function}`" if each.function else "this file"


def _check_links(evidence: ChangesetEvidence) -> Iterator[Finding]:
    for change in evidence.changes:
        if change.new_mode in {"120000", "160000"} and change.kind in {PathKind.TEST, PathKind.SOURCE}:
            what = "a symbolic link" if change.new_mode == "120000" else "a submodule"
            yield make_finding("GRN104", f"`{change.path}` is {what}", path=change.path)
