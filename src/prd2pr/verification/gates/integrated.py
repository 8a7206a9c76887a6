"""INTEGRATED: the story's tests moved unchanged to their permanent location, and the whole suite passes."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.domain.documents import is_plain_file_change
from prd2pr.domain.evidence import Change, Evidence, Finding, PathKind
from prd2pr.domain.paths import get_story_test_root, promote
from prd2pr.domain.results.finding_kind import FindingKind, define_strict_error, define_warning
from prd2pr.verification.gates.common import (
    GatePolicy,
    check_links,
    check_run,
    check_runs,
    find_results,
    is_untested_story,
    make_finding,
    make_test_finding,
)

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "INT101",
        "changes more than test locations and living docs",
        "Integration moves the story's tests and writes the living docs, each as a regular file at its place "
        "under docs.directory. The story is added to the project's own CHANGELOG.md and to the marked section of its "
        "README.md, if they exist. Integration changes nothing else, so that what was proved GREEN is what is "
        "integrated.",
        bad="src/shop/points.py was changed",
        good="tests/tdd/loyalty-2/test_redeem.py was moved to tests/unit/loyalty-2/, and docs/CODEBASE_MAP.md was "
        "written",
        remedy="remove the change; code changes belong to GREEN or REFACTOR.",
    ),
    define_strict_error(
        "INT102",
        "a test changed when it was moved",
        "The file at its new location is not the file that was proved.",
        bad="tests/unit/loyalty-2/test_redeem.py differs from tests/tdd/loyalty-2/test_redeem.py",
        good="tests/unit/loyalty-2/test_redeem.py is identical to tests/tdd/loyalty-2/test_redeem.py",
        remedy="move the file unchanged.",
    ),
    define_strict_error(
        "INT103",
        "a test of the story was not moved or was lost",
        "Every file of tests/tdd/<story>/ moves to its permanent location.",
        bad="tests/tdd/loyalty-2/test_redeem.py is still there",
        good="tests/tdd/loyalty-2/ is gone; all of its files are in tests/unit/loyalty-2/",
        remedy="move it too.",
    ),
    define_strict_error(
        "INT104",
        "adds a symbolic link, a submodule or an unusual file mode",
        "A moved file keeps its mode.",
        bad="tests/unit/loyalty-2/data is a symbolic link",
        good="tests/unit/loyalty-2/data/rates.csv, a regular file",
        remedy="move the file itself.",
    ),
    define_strict_error(
        "INT105",
        "a living doc differs from its rendering",
        "Living docs are generated only from code and records. They are rendered again and must match byte for "
        "byte. Otherwise they could contain anything without passing a gate.",
        bad="docs/RUNBOOK.md says to run a program that the repository does not contain",
        good="docs/RUNBOOK.md is what `prd2pr docs` renders for this tree",
        remedy="do not edit the generated part; write your text above or below its markers, in a separate commit.",
    ),
    define_warning(
        "INT106",
        "a living doc was rendered by another version",
        "Different versions word documents differently, so this version cannot render it again byte for byte. It was "
        "checked that the document is a regular file at its place, and that the text outside its markers is "
        "unchanged.",
        bad="docs/RUNBOOK.md was written by prd2pr 0.9.0",
        good="docs/RUNBOOK.md was written by the same version that verifies it",
        remedy="review it, or verify with the version that wrote it.",
    ),
    define_strict_error(
        "INT302",
        "a test of the story fails at its new location",
        "The test depends on its location or on neighboring files.",
        bad="tests/unit/loyalty-2/test_redeem.py::test_redeem failed",
        good="tests/unit/loyalty-2/test_redeem.py::test_redeem passed",
        remedy="go back to RED and make the test independent of its location.",
    ),
    define_strict_error(
        "INT303",
        "a test of the story was not run at its new location",
        "Only `passed` counts.",
        bad="tests/unit/loyalty-2/test_redeem.py::test_redeem is not collected",
        good="tests/unit/loyalty-2/test_redeem.py::test_redeem passed",
        remedy="look for a file name clash or a directory that pytest ignores.",
    ),
    define_strict_error(
        "INT304",
        "a test that passed before fails now",
        "The whole suite must pass, except for failures that existed before the story.",
        bad="tests/test_cart.py::test_total passed before and fails now",
        good="tests/test_cart.py::test_total passes before and after",
        remedy="look for a clash between the moved tests and the existing ones.",
    ),
    define_strict_error(
        "INT305",
        "fewer tests are collected than before",
        "Tests were lost during integration.",
        bad="53 tests before, 52 now",
        good="53 tests before, 53 now",
        remedy="look for a file name clash.",
    ),
    define_strict_error(
        "INT306",
        "the story has no tests",
        "A story without a proved test is not done, unless its kind needs no tests.",
        bad="no story tests in the evidence",
        good="12 tests of the story, proved RED and GREEN, in the evidence",
        remedy="start with RED.",
    ),
)


def check_integrated(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    yield from check_runs(evidence, policy)
    yield from check_links(evidence, "INT104")
    yield from _check_moves(evidence)
    yield from _check_left_behind(evidence)
    yield from _check_tests_at_target(evidence)
    yield from _check_suite(evidence)
    yield from _check_other_suites(evidence)


def _check_moves(evidence: Evidence) -> Iterator[Finding]:
    """Check that every change is either a living doc or a moved test, deleted and added with the same blob."""
    added = {change.path: change for change in evidence.changes if change.status == "added"}
    gone = [change for change in evidence.changes if change.status == "deleted"]
    targets: set[str] = set()
    for change in gone:
        if evidence.living_docs.get(change.path) == "" and is_plain_file_change(change):
            continue  # the document has nothing to say any more
        target = _find_move_target(change, added, evidence.story)
        if change.kind is not PathKind.TEST:
            yield make_finding("INT101", "deleted; integration only moves tests", path=change.path)
        elif target is None:
            home = promote(change.path, evidence.story)
            yield make_finding("INT103", f"deleted, and not moved to `{home}`", path=change.path)
        else:
            targets.add(target)
            if added[target].new_blob != change.old_blob:
                yield make_finding("INT102", f"differs from `{change.path}`, which it replaces", path=target)
    for change in evidence.changes:
        if change.status != "deleted" and change.path not in targets:
            yield from _check_written_file(evidence, change)


def _check_written_file(evidence: Evidence, change: Change) -> Iterator[Finding]:
    """Check that a file that is not a moved test is a living doc with exactly the rendered content."""
    if change.path not in evidence.living_docs or not is_plain_file_change(change):
        what = f"{change.status.replace('_', ' ')}; integration only moves tests and writes the living docs"
        yield make_finding("INT101", what, path=change.path)
    elif change.new_blob != evidence.living_docs[change.path]:
        yield make_finding("INT105", "differs from the document rendered from code and records", path=change.path)
    elif evidence.docs_made_by:
        what = f"written by prd2pr {evidence.docs_made_by}; only checked that text outside the marks was kept"
        yield make_finding("INT106", what, path=change.path)


def _find_move_target(change: Change, added: dict[str, Change], story: str) -> str | None:
    home = promote(change.path, story)
    if home != change.path:
        return home if home in added else None
    return next((path for path, other in added.items() if other.new_blob == change.old_blob), None)


def _check_left_behind(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.story:
        return
    gone = {change.path for change in evidence.changes if change.status == "deleted"}
    known = [
        *(test.partition("::")[0] for test in evidence.story_tests),
        *(each.path for each in evidence.locked if each.actual),
    ]
    for path in dict.fromkeys(known):
        if get_story_test_root(path, evidence.story) and path not in gone:
            yield make_finding("INT103", f"not moved; it belongs at `{promote(path, evidence.story)}`", path=path)


def _check_tests_at_target(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.story_tests and not is_untested_story(evidence):
        yield make_finding("INT306", "the story has no proved test")
    for test in evidence.story_tests:
        results = find_results(evidence.head_run, test)
        if not results and evidence.head_run is not None:
            yield make_test_finding("INT303", test, "not run at its new location")
        for result in results:
            if result.outcome in {"failed", "error"}:
                message = result.failure.message.strip().partition("\n")[0] if result.failure else ""
                yield make_test_finding(
                    "INT302", result.id, f"{result.outcome} at its new location: {message}".rstrip(": ")
                )
            elif result.outcome != "passed":
                yield make_test_finding("INT303", result.id, f"{result.outcome} at its new location")


def _check_suite(evidence: Evidence) -> Iterator[Finding]:
    comparison = evidence.comparison
    if comparison is None:
        return
    own = set(evidence.story_tests)
    for test in comparison.regressed:
        if test not in own:
            yield make_test_finding("INT304", test, "passed before and does not pass now")
    lost = [
        test for test in comparison.vanished if _promote_test_id(test, evidence.story) not in own and test not in own
    ]
    for test in lost:
        yield make_test_finding("INT305", test, "passed before and is no longer run")
    before, after = comparison.collected_before, comparison.collected_after
    if after < before and not lost:
        yield make_finding("INT305", f"{before} tests were collected before, {after} now")


def _check_other_suites(evidence: Evidence) -> Iterator[Finding]:
    """Check that the tests of the repository's other stacks still pass."""
    for suite in evidence.beside:
        where = f"in another stack ({suite.stack}): "
        if suite.not_run:
            yield make_finding("RUN109", f"the tests of {suite.stack} were not run: {suite.not_run}")
        for run, when in ((suite.base_run, ", before the story"), (suite.head_run, "")):
            if run is not None:
                yield from check_run(run, f"{suite.stack}{when}: ")
            elif not suite.not_run:
                yield make_finding("RUN102", f"no test run of {suite.stack}{when}")
        for test in suite.comparison.regressed:
            yield make_test_finding("INT304", test, f"{where}passed before the story and does not pass now")
        for test in suite.comparison.vanished:
            yield make_test_finding("INT305", test, f"{where}passed before the story and is no longer run")
        for test in suite.comparison.unsteady:
            yield make_test_finding("RUN108", test, "flaky before the story too; not counted as a regression")


def _promote_test_id(test: str, story: str) -> str:
    path, mark, name = test.partition("::")
    return f"{promote(path, story)}{mark}{name}"
