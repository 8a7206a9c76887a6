"""INTEGRATED: the story's tests are at their permanent place, unchanged, and the whole suite passes."""

from __future__ import annotations

from collections.abc import Iterator

from prd2pr.core.evidence import Change, Evidence, Finding, PathKind, Verdict
from prd2pr.core.gates.common import (
    GatePolicy,
    about_test,
    asks_no_tests,
    finding,
    honest_run,
    honest_runs,
    links,
    results_of,
    settle,
)
from prd2pr.core.living.documents import is_plainly_written
from prd2pr.core.paths import promote, story_place
from prd2pr.core.records import Phase


def integrated_gate(evidence: Evidence, policy: GatePolicy) -> Verdict:
    return settle(Phase.INTEGRATED, _findings(evidence, policy), policy)


def _findings(evidence: Evidence, policy: GatePolicy) -> Iterator[Finding]:
    yield from honest_runs(evidence, policy)
    yield from links(evidence, "INT104")
    yield from _moves(evidence)
    yield from _left_behind(evidence)
    yield from _at_home(evidence)
    yield from _suite(evidence)
    yield from _beside(evidence)


def _moves(evidence: Evidence) -> Iterator[Finding]:
    """Every change is one half of a move: gone here, the very same blob there; or a living doc that was written."""
    added = {change.path: change for change in evidence.changes if change.status == "added"}
    gone = [change for change in evidence.changes if change.status == "deleted"]
    targets: set[str] = set()
    for change in gone:
        target = _target(change, added, evidence.story)
        if change.kind is not PathKind.TEST:
            yield finding("INT101", "was deleted; integration only moves tests", path=change.path)
        elif target is None:
            home = promote(change.path, evidence.story)
            yield finding("INT103", f"is gone, and is not at `{home}` either", path=change.path)
        else:
            targets.add(target)
            if added[target].new_blob != change.old_blob:
                yield finding("INT102", f"is not what `{change.path}` was", path=target)
    for change in evidence.changes:
        if change.status != "deleted" and change.path not in targets:
            yield from _written(evidence, change)


def _written(evidence: Evidence, change: Change) -> Iterator[Finding]:
    """Besides the moves there are the living docs, each exactly as it is rendered."""
    if change.path not in evidence.living_docs or not is_plainly_written(change):
        what = f"was {change.status.replace('_', ' ')}; integration only moves tests and writes the living docs"
        yield finding("INT101", what, path=change.path)
    elif change.new_blob != evidence.living_docs[change.path]:
        yield finding("INT105", "is not what code and records are rendered to", path=change.path)
    elif evidence.docs_made_by:
        what = f"was written by prd2pr {evidence.docs_made_by}; only that text around its marks was kept could be seen"
        yield finding("INT106", what, path=change.path)


def _target(change: Change, added: dict[str, Change], story: str) -> str | None:
    home = promote(change.path, story)
    if home != change.path:
        return home if home in added else None
    return next((path for path, other in added.items() if other.new_blob == change.old_blob), None)


def _left_behind(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.story:
        return
    gone = {change.path for change in evidence.changes if change.status == "deleted"}
    known = [
        *(test.partition("::")[0] for test in evidence.story_tests),
        *(each.path for each in evidence.locked if each.actual),
    ]
    for path in dict.fromkeys(known):
        if story_place(path, evidence.story) and path not in gone:
            yield finding("INT103", f"is still here; it belongs to `{promote(path, evidence.story)}`", path=path)


def _at_home(evidence: Evidence) -> Iterator[Finding]:
    if not evidence.story_tests and not asks_no_tests(evidence):
        yield finding("INT306", "the story has no test that was proved")
    for test in evidence.story_tests:
        results = results_of(evidence.head_run, test)
        if not results and evidence.head_run is not None:
            yield about_test("INT303", test, "is not run at its new place")
        for result in results:
            if result.outcome in {"failed", "error"}:
                message = result.failure.message.strip().partition("\n")[0] if result.failure else ""
                yield about_test("INT302", result.id, f"{result.outcome} at its new place: {message}".rstrip(": "))
            elif result.outcome != "passed":
                yield about_test("INT303", result.id, f"is {result.outcome} at its new place")


def _suite(evidence: Evidence) -> Iterator[Finding]:
    comparison = evidence.comparison
    if comparison is None:
        return
    own = set(evidence.story_tests)
    for test in comparison.regressed:
        if test not in own:
            yield about_test("INT304", test, "passed before, and does not now")
    lost = [test for test in comparison.vanished if _moved(test, evidence.story) not in own and test not in own]
    for test in lost:
        yield about_test("INT305", test, "passed before, and is not run any more")
    before, after = comparison.collected_before, comparison.collected_after
    if after < before and not lost:
        yield finding("INT305", f"{before} tests were collected before, {after} now")


def _beside(evidence: Evidence) -> Iterator[Finding]:
    """What the story did to the tests of the repository's other stacks."""
    for suite in evidence.beside:
        where = f"of another stack ({suite.stack}), "
        if suite.not_run:
            yield finding("RUN109", f"the tests of {suite.stack} were not run: {suite.not_run}")
        for run, when in ((suite.base_run, ", before the story"), (suite.head_run, "")):
            if run is not None:
                yield from honest_run(run, f"{suite.stack}{when}: ")
            elif not suite.not_run:
                yield finding("RUN102", f"there is no test run of {suite.stack}{when}")
        for test in suite.comparison.regressed:
            yield about_test("INT304", test, f"{where}passed before the story, and does not now")
        for test in suite.comparison.vanished:
            yield about_test("INT305", test, f"{where}passed before the story, and is not run any more")
        for test in suite.comparison.unsteady:
            yield about_test("RUN108", test, "passes now and then, before the story as well; it is an old failure")


def _moved(test: str, story: str) -> str:
    path, mark, name = test.partition("::")
    return f"{promote(path, story)}{mark}{name}"
