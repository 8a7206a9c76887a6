"""Which tests a step is about, where no story says so. Pure."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from prd2pr.core.definitions import has_only_grown
from prd2pr.core.evidence import Comparison, Fact, FailureKind, RunReport, TestResult
from prd2pr.core.runs import bare_id
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import FunctionNode, decorator_name, parse, parse_tests


@dataclass(frozen=True)
class RedTests:
    fresh: tuple[str, ...]  # new at head, or with another body than at base
    carried: tuple[str, ...]  # old ones that fail now, since their file imports what does not exist yet, or since they
    # were given other values to compare with

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(sorted({*self.fresh, *self.carried}))


def red_tests(
    before: Mapping[str, str],
    after: Mapping[str, str],
    base: RunReport,
    head: RunReport,
    leaning: Container[str] = frozenset(),
    *,
    naming: TestNaming = USUAL,
) -> RedTests:
    """`before` and `after` hold the test modules that changed, path -> text.

    Whoever adds an import of what is planned to an existing test file stops its old tests as well. These are carried:
    from here on they are story tests, so that GREEN must make them pass again. So are those among `leaning` that fail
    now: what they compare with has changed, and that is as good as if they had.
    """
    then, now = base.by_id(), head.by_id()
    known = {bare_id(test) for test in then}
    edited = _edited(before, after, naming)
    extended = edited & _extended(before, after, naming)
    fresh = {test for test in now if bare_id(test) not in known or bare_id(test) in edited - extended}
    fresh |= {test for test in now if test not in then and _new_parameters(test, then)}
    fresh |= {test for test in now if bare_id(test) in extended and not _holds_still(then.get(test), now[test])}
    carried = [
        test
        for test, result in now.items()
        if test not in fresh
        and (
            (test.partition("::")[0] in after and _stopped_by_import(result))
            or (bare_id(test) in leaning and has_turned(then.get(test), result))
        )
    ]
    return RedTests(tuple(sorted(fresh)), tuple(sorted(carried)))


def has_turned(old: TestResult | None, new: TestResult) -> bool:
    """Passed before, and says now in its call that the answer is another one."""
    failure = new.failure
    compared = failure is not None and failure.stage == "call" and failure.kind is FailureKind.ASSERTION
    return old is not None and old.outcome == "passed" and compared


def red_comparison(
    comparison: Comparison,
    tests: RedTests,
    texts: tuple[Mapping[str, str], Mapping[str, str]],
    base: RunReport,
    head: RunReport,
    *,
    naming: TestNaming = USUAL,
) -> Comparison:
    """Without what RED may do to old tests. `texts`: the changed test modules before and after, path -> text."""
    replaced = replaced_examples(comparison.vanished, base, head)
    stopped = stopped_examples(comparison.vanished, *texts, head, naming)
    unseen = len(stopped) - len(set(map(bare_id, stopped)))  # one stands for all its examples
    update = {
        "regressed": tuple(test for test in comparison.regressed if test not in tests.carried),
        "vanished": tuple(test for test in comparison.vanished if test not in replaced | stopped),
        "collected_after": comparison.collected_after + unseen,
    }
    return comparison.model_copy(update=update)


def replaced_examples(vanished: Iterable[str], base: RunReport, head: RunReport) -> frozenset[str]:
    """Examples of tests that stay, in whose place others stand that fail: something else is asked for now."""
    gone: dict[str, list[str]] = {}
    for test in vanished:
        if "[" in test:
            gone.setdefault(bare_id(test), []).append(test)
    known = base.by_id()
    new = [result for test, result in head.by_id().items() if test not in known]
    failing = Counter(bare_id(result.id) for result in new if result.outcome == "failed")
    return frozenset(test for bare, tests in gone.items() if len(tests) <= failing[bare] for test in tests)


def stopped_examples(
    vanished: Iterable[str],
    before: Mapping[str, str],
    after: Mapping[str, str],
    head: RunReport,
    naming: TestNaming = USUAL,
) -> frozenset[str]:
    """Examples of old tests whose file cannot be imported yet, so that nobody can count them. They are all written."""
    old, new = dict(_parametrised(before, naming)), dict(_parametrised(after, naming))
    stopped = {test for test, result in head.by_id().items() if _stopped_by_import(result)}
    return frozenset(
        test
        for test in vanished
        if "[" in test and bare_id(test) in stopped
        if bare_id(test) in old and _keeps_examples(old[bare_id(test)], new.get(bare_id(test), []))
    )


def _parametrised(texts: Mapping[str, str], naming: TestNaming) -> Iterable[tuple[str, list[ast.Call]]]:
    for path, text in texts.items():
        module = parse_tests(path, text, naming)
        for test in module.tests if module else ():
            marks = [*test.node.decorator_list, *(mark for owner in test.owners for mark in owner.decorator_list)]
            calls = [mark for mark in marks if isinstance(mark, ast.Call)]
            yield test.id, [call for call in calls if decorator_name(call).endswith("parametrize")]


def _keeps_examples(old: list[ast.Call], new: list[ast.Call]) -> bool:
    """Each list of examples is what it was, or longer."""
    pairs = list(zip(old, new, strict=False))
    return len(old) == len(new) and all(
        len(one.args) == len(other.args) and all(map(has_only_grown, one.args, other.args)) for one, other in pairs
    )


def _new_parameters(test: str, known: Container[str]) -> bool:
    """A further case of a parametrised test that was there before."""
    return "[" in test and bare_id(test) not in known


def _stopped_by_import(result: TestResult) -> bool:
    failure = result.failure
    return failure is not None and failure.stage == "collect" and failure.kind == FailureKind.MISSING_SYMBOL


def _edited(before: Mapping[str, str], after: Mapping[str, str], naming: TestNaming) -> set[str]:
    old, new = dict(_all_bodies(before, naming)), dict(_all_bodies(after, naming))
    return {test for test, body in new.items() if test in old and old[test] != body}


def _extended(before: Mapping[str, str], after: Mapping[str, str], naming: TestNaming) -> set[str]:
    """Tests that do what they did, with other examples: only their `parametrize` differs."""
    old = {test: body for path, text in before.items() for test, body in _bodies(path, text, naming, examples=False)}
    new = {test: body for path, text in after.items() for test, body in _bodies(path, text, naming, examples=False)}
    return {test for test, body in new.items() if old.get(test) == body}


def _holds_still(old: TestResult | None, new: TestResult) -> bool:
    """An example that was there before, and of which the run says what it said."""
    return old is not None and old.outcome == new.outcome == "passed"


def _bodies(path: str, text: str, naming: TestNaming, *, examples: bool = True) -> Iterable[tuple[str, str]]:
    """What a test does: decorators and statements, without its docstring."""
    module = parse_tests(path, text, naming)
    for test in module.tests if module else ():
        documented = ast.get_docstring(test.node) is not None
        statements = test.node.body[1:] if documented else test.node.body
        marks = [
            each for each in test.node.decorator_list if examples or not decorator_name(each).endswith("parametrize")
        ]
        parts: list[ast.AST] = [*marks, test.node.args, *statements]
        yield test.id, "\n".join(ast.dump(part) for part in parts)


@dataclass(frozen=True)
class Unproved:
    """For GREEN, what does not pass at base."""

    claimed: tuple[str, ...]  # tests that the base commit brought, changed or stopped
    doubtful: tuple[str, ...]  # only a run of the commit before can tell whether they failed before


def unproved_tests(
    base: RunReport,
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    more: bool,
    naming: TestNaming = USUAL,
) -> Unproved:
    """`before` and `after`: the test modules that the base commit changed. `more`: what tests lean on has changed too.

    Where no such test fails, it is whatever does.
    """
    failing = [result for result in base.results if result.outcome not in {"passed", "skipped", "xfailed"}]
    old, new = dict(_all_bodies(before, naming)), dict(_all_bodies(after, naming))
    claimed, doubtful = [], []
    for result in failing:
        test, path = bare_id(result.id), result.id.partition("::")[0]
        unchanged = test in old and old[test] == new.get(test)
        stopped = result.failure is not None and result.failure.stage == "collect"
        if path in after and (stopped or not unchanged):
            claimed.append(result.id)
        elif path in after or more:
            doubtful.append(result.id)
    everything = () if claimed or doubtful else tuple(result.id for result in failing)
    return Unproved(tuple(sorted((*claimed, *everything))), tuple(sorted(doubtful)))


def not_failing(tests: Iterable[str], earlier: RunReport) -> tuple[str, ...]:
    """Without those that failed then already."""
    then = earlier.by_id()
    return tuple(test for test in tests if test not in then or then[test].outcome == "passed")


def _all_bodies(texts: Mapping[str, str], naming: TestNaming) -> Iterable[tuple[str, str]]:
    return (pair for path, text in texts.items() for pair in _bodies(path, text, naming))


def claimed_again(
    before: Mapping[str, str],
    after: Mapping[str, str],
    base: RunReport,
    fresh: Iterable[str],
    naming: TestNaming = USUAL,
) -> tuple[Fact, ...]:
    """New tests that do word for word what a test did which failed before: it was renamed or moved."""
    failing = {bare_id(result.id) for result in base.results if result.outcome in {"failed", "error"}}
    old = {
        body: test
        for path in {test.partition("::")[0] for test in failing}
        for test, body in _bodies(path, before.get(path, ""), naming)
        if test in failing
    }
    wanted = {bare_id(test) for test in fresh}
    return tuple(
        Fact(code="RED502", path=path, test=test, message=f"`{old[body]}` failed before, and this is the same test")
        for path, text in after.items()
        for test, body in _bodies(path, text, naming)
        if test in wanted and body in old and test != old[body]
    )


def edge_examples(base: RunReport, head: RunReport, fresh: Iterable[str]) -> tuple[Fact, ...]:
    """Examples that an old test was given besides one that fails, and that pass: they mark where the change ends."""
    old = {bare_id(result.id) for result in base.results if result.outcome == "passed" and "[" in result.id}
    wanted = set(fresh)
    new = [result for result in head.results if result.id in wanted and "[" in result.id and bare_id(result.id) in old]
    failing = {bare_id(result.id) for result in new if result.outcome == "failed"}
    message = "passes already; other examples that the same test was given do not"
    return tuple(
        Fact(code="RED109", path=result.id.partition("::")[0], test=result.id, message=message)
        for result in new
        if result.outcome == "passed" and bare_id(result.id) in failing
    )


_UNITTEST_SETUPS = frozenset({"setUp", "asyncSetUp", "setUpClass"})
_NO_REASON = frozenset({FailureKind.ASSERTION, FailureKind.EXPLICIT})


def failing_setups(after: Mapping[str, str], head: RunReport, fresh: Iterable[str]) -> tuple[Fact, ...]:
    """unittest runs `setUp` as part of the call; a test that fails there has not begun."""
    spans = {path: _setup_lines(text) for path, text in after.items()}
    wanted = set(fresh)
    return tuple(
        Fact(code="RED303", path=failure.path, line=failure.line, test=result.id, message="fails in its set-up")
        for result in head.results
        if result.id in wanted and (failure := result.failure) is not None
        if failure.kind in _NO_REASON and failure.line in spans.get(failure.path, ())
    )


def _setup_lines(text: str) -> set[int]:
    tree = parse(text)
    setups = [x for x in ast.walk(tree) if isinstance(x, FunctionNode) and x.name in _UNITTEST_SETUPS] if tree else []
    return {line for node in setups for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
