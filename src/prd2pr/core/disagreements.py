"""New tests held against each other and against the old ones, by the examples that they give (RED310, RED502)."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from prd2pr.core.evidence import Fact, RunReport
from prd2pr.core.examples import Example, examples_in
from prd2pr.core.runs import bare_id
from prd2pr.core.test_naming import USUAL, TestNaming


def disagreements(
    tests: Mapping[str, str], fresh: Iterable[str], project: frozenset[str], naming: TestNaming = USUAL
) -> Iterator[Fact]:
    """`tests`: all test files at head. No code can give two answers to one call, whoever asks.

    A function may remember: `hit("page")` is 1, then 2. So only what two tests ask first is compared, or what
    one test asks of a value that it got once.
    """
    if any("autouse" in text for path, text in tests.items() if path.endswith("conftest.py")):
        return
    new = {bare_id(test) for test in fresh}
    given = (each for path, text in sorted(tests.items()) for each in examples_in(path, text, naming))
    known = [each for each in given if _is_of(each, project)]
    told: set[str] = set()
    for group in _by_call(known).values():
        for each in group:
            if each.test not in new or each.test in told:
                continue
            other = next((one for one in group if one is not each and _contradicts(one, each)), None)
            if other is not None:
                told |= {each.test, other.test}
                where = f"line {other.line}" if other.path == each.path else f"`{other.test}`"
                said = f"`{each.call}` cannot be {each.expected} here and {other.expected} in {where}"
                yield Fact(code="RED310", path=each.path, line=each.line, test=each.test, message=said)


def failed_before(
    before: Mapping[str, str],
    after: Mapping[str, str],
    base: RunReport,
    fresh: Iterable[str],
    naming: TestNaming = USUAL,
) -> Iterator[Fact]:
    """New tests that ask for nothing but what a test asks for which failed before: an old failure in another form."""
    failing = {bare_id(result.id) for result in base.results if result.outcome in {"failed", "error"}}
    old = {
        (each.call, each.expected): each.test
        for path in {test.partition("::")[0] for test in failing}
        for each in examples_in(path, before.get(path, ""), naming)
        if each.test in failing
    }
    if not old:
        return
    asked: dict[str, list[Example]] = defaultdict(list)
    for path, text in after.items():
        for each in examples_in(path, text, naming):
            asked[each.test].append(each)
    for test in sorted({bare_id(each) for each in fresh}):
        again = [old.get((each.call, each.expected), "") for each in asked.get(test, ())]
        if again and all(again) and test not in again:
            said = f"asks for what `{again[0]}` asks for, and that failed before"
            yield Fact(code="RED502", path=asked[test][0].path, line=asked[test][0].line, test=test, message=said)


def _is_of(example: Example, project: frozenset[str]) -> bool:
    return any(example.call.startswith(f"{name}.") or f"({name}." in example.call for name in project)


def _by_call(examples: Iterable[Example]) -> dict[str, list[Example]]:
    groups: dict[str, list[Example]] = defaultdict(list)
    for each in examples:
        groups[each.call].append(each)
    return groups


def _contradicts(one: Example, other: Example) -> bool:
    if ast.literal_eval(one.expected) == ast.literal_eval(other.expected):
        return False
    if (one.test, one.row) == (other.test, other.row):
        return bool(one.value) and one.value == other.value
    return one.first and other.first
