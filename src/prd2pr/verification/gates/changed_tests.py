"""Existing tests that a story changes: only declared ones, openly, and as strict as before."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.evidence import ChangedTest, Evidence, Finding
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_warning
from prd2pr.verification.gates.common import make_finding, make_test_finding

FINDINGS: tuple[FindingKind, ...] = (
    define_warning(
        "RED509",
        "an existing test was changed",
        "A requirement changes behavior that an existing test asserts, so the test changes with it. The message names "
        "the requirement, so that a reviewer can compare both.",
        bad="test_fee asserts 3 instead of 2, and nobody says why",
        good="test_fee asserts 3 instead of 2, for FR-4: the fee rises to 3",
        remedy="check that the requirement asks for this change.",
    ),
    define_error(
        "RED510",
        "a changed test compares less than before",
        "The new version of an existing test must be as strict as the old one: it compares with at least as many "
        "expected values or errors, and as exactly. Otherwise the change would remove protection together with the "
        "old behavior.",
        bad="assert fee(100) == 2   # is now: assert fee(100) > 0",
        good="assert fee(100) == 2   # is now: assert fee(100) == 3",
        remedy="assert the new values as exactly as the old ones.",
    ),
    define_error(
        "RED511",
        "changes an existing test without a requirement",
        "Whoever changes an existing test declares it with the requirement that changes what it asserts: roles in "
        "`changed_tests` of their answer, people with the trailer `Changed-Test: <test> <requirement>`. The "
        "requirement belongs to the story. All other existing tests stay as they are; further examples may be added "
        "to them.",
        bad="FR-4 changes the fee; test_total in the same file is edited too",
        good="only test_fee, which is declared for FR-4, is edited",
        remedy="restore the test, or declare it if a requirement of the story changes what it asserts.",
    ),
    define_error(
        "GRN509",
        "a removed test still passes with the new code",
        "A test may be removed only if the requirement removes the behavior. Its old version passes with the new code, "
        "so the behavior is still there.",
        bad="test_old_export was removed, and export() still works",
        good="test_old_export was removed, and its old version fails because export() is gone",
        remedy="remove the behavior, or keep the test.",
    ),
    define_error(
        "GRN510",
        "changed tests no longer protect existing code",
        "The old versions of the changed tests detected this mutant. The line is still there, and now no test of the "
        "project detects it. Without a result of mutation testing, this cannot be judged, and is refused too.",
        bad="test_total no longer calls total(), which no other test checks",
        good="test_total asserts the new fee and still compares the total",
        remedy="keep what the old test checked besides the changed behavior, after /tdd undo if RED is committed. If "
        "mutation testing failed, run the step again.",
    ),
)


def check_changed_tests(evidence: Evidence) -> Iterator[Finding]:
    """Check in RED how existing tests differ."""
    for each in evidence.changed_tests:
        if not each.requirement:
            # Commits outside of a plan have no requirements: the test must fail, like every other test of RED.
            code = "RED511" if evidence.story else "RED509"
            yield make_test_finding(code, each.test, f"{_describe(each)}, but not declared for a requirement")
            continue
        if evidence.pre_implemented:
            yield make_test_finding("RED511", each.test, f"{_describe(each)}, but no behavior of this story is new")
        elif each.removed and not each.removal_declared:
            yield make_test_finding("RED511", each.test, "removed, but only declared as changed")
        elif not each.removed and each.checks_after < each.checks_before:
            message = "compares with fewer values, or less exactly, than its old version"
            yield make_test_finding("RED510", each.test, message)
        yield make_test_finding("RED509", each.test, f"{_describe(each)}, as {each.requirement} asks for")


def check_old_versions(evidence: Evidence) -> Iterator[Finding]:
    """Check in GREEN what the old versions of the changed tests show."""
    for each in evidence.changed_tests:
        if each.removed and each.on_new_code == "passed":
            yield make_test_finding("GRN509", each.test, "its old version passes with the new code")
        if each.not_compared:
            yield make_finding("GRN510", f"what the old tests detected could not be compared: {each.not_compared}")
        if each.detected == 0 and evidence.stack is None:
            yield make_finding("GRN508", "the old versions of the changed tests detect no mutant of the existing code")
        for mutant in each.lost:
            message = f"the old tests detected {mutant.change} in `{mutant.function}`; no test does any more"
            yield make_finding("GRN510", message, path=mutant.path, line=mutant.line)


def _describe(each: ChangedTest) -> str:
    return "removed" if each.removed else "changed"
