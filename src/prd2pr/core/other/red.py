"""Which tests a RED step is about, in languages beside Python."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prd2pr.core.evidence import Fact, FailureKind, RunReport, TestResult
from prd2pr.core.other.language import TestFile
from prd2pr.core.runs import bare_id


@dataclass(frozen=True)
class OtherTests:
    fresh: tuple[str, ...]  # new at head, or with another body than at base
    carried: tuple[str, ...]  # old ones, whose file asks for what does not exist yet: from here on the story's too

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(sorted({*self.fresh, *self.carried}))


def other_red_tests(
    before: Mapping[str, TestFile], after: Mapping[str, TestFile], base: RunReport, head: RunReport
) -> OtherTests:
    """`before` and `after`: the test files that the step touched."""
    then, now = base.by_id(), head.by_id()
    known = {bare_id(test) for test in then}
    old = {test.id: test.body for file in before.values() for test in file.tests}
    edited = {test.id for file in after.values() for test in file.tests if old.get(test.id, test.body) != test.body}
    fresh = {test for test in now if bare_id(test) not in known or bare_id(test) in edited}
    fresh |= {test for test in now if "[" in test and test not in then}
    carried = [
        test
        for test, result in now.items()
        if test not in fresh and test.partition("::")[0] in after and _is_stopped(result)
    ]
    return OtherTests(tuple(sorted(fresh)), tuple(sorted(carried)))


def _is_stopped(result: TestResult) -> bool:
    failure = result.failure
    return failure is not None and failure.stage == "collect" and failure.kind is FailureKind.MISSING_SYMBOL


def claimed_again(
    before: Mapping[str, TestFile], after: Mapping[str, TestFile], failing: Mapping[str, str], fresh: frozenset[str]
) -> Iterator[Fact]:
    """New tests that do word for word what a test did which failed before. `failing`: body → id."""
    there = {test.id for file in before.values() for test in file.tests}
    for path, file in after.items():
        for test in file.tests:
            if test.id in fresh and test.id not in there and test.body in failing:
                said = f"`{failing[test.body]}` failed before, and this is the same test"
                yield Fact(code="RED502", path=path, line=test.line, test=test.id, message=said)
