"""Find the tests that a step adds, changes or breaks. Pure."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from prd2pr.domain.evidence import Comparison, Fact, FailureKind, RunReport, TestResult
from prd2pr.domain.test_runs import expand_test_ids, find_unavailable_cases, strip_test_parameters
from prd2pr.languages.python.definitions import is_compatible_extension
from prd2pr.languages.python.test_model.module import FunctionNode, get_decorator_name, parse_python, parse_tests
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming


@dataclass(frozen=True)
class RedTests:
    fresh: tuple[str, ...]  # new at head, or with a different body than at base
    carried: tuple[
        str, ...
    ]  # old tests that fail now because their file imports a missing name or their expected data changed

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(sorted({*self.fresh, *self.carried}))


def find_red_tests(
    before: Mapping[str, str],
    after: Mapping[str, str],
    base: RunReport,
    head: RunReport,
    leaning: Container[str] = frozenset(),
    *,
    naming: TestNaming = DEFAULT_NAMING,
) -> RedTests:
    """Find the new, changed and carried tests. `before` and `after` map the changed test modules to their text.

    If an existing test file imports a planned name, its old tests break too. They are called carried and become story
    tests, so GREEN must make them pass again, unless they were skipped or failed before. The same applies to tests in
    `leaning`, whose expected data changed, if they fail now.
    """
    then, now = base.by_id(), head.by_id()
    known = {strip_test_parameters(test) for test in then}
    passed = {strip_test_parameters(test) for test, result in then.items() if result.outcome == "passed"}
    edited = find_edited_tests(before, after, naming)
    extended = edited & find_extended_tests(before, after, naming)
    fresh = {
        test
        for test in now
        if strip_test_parameters(test) not in known or strip_test_parameters(test) in edited - extended
    }
    fresh |= {test for test in now if test not in then and _is_new_case(test, then)}
    fresh |= {
        test for test in now if strip_test_parameters(test) in extended and not _still_passes(then.get(test), now[test])
    }
    stopped = {
        test for test, result in now.items() if test.partition("::")[0] in after and _is_stopped_by_import(result)
    }
    carried = [
        test
        for test, result in now.items()
        if test not in fresh
        and (
            (test in stopped and strip_test_parameters(test) in passed)
            or (strip_test_parameters(test) in leaning and is_newly_failing(then.get(test), result))
        )
    ]
    return RedTests(tuple(sorted(fresh - find_unavailable_cases(fresh, head, base))), tuple(sorted(carried)))


def is_newly_failing(old: TestResult | None, new: TestResult) -> bool:
    """Return whether the test passed before and now fails on an assertion."""
    failure = new.failure
    compared = failure is not None and failure.stage == "call" and failure.kind is FailureKind.ASSERTION
    return old is not None and old.outcome == "passed" and compared


def exclude_red_effects(
    comparison: Comparison,
    tests: RedTests,
    texts: tuple[Mapping[str, str], Mapping[str, str]],
    base: RunReport,
    head: RunReport,
    *,
    naming: TestNaming = DEFAULT_NAMING,
) -> Comparison:
    """Remove from the comparison the effects that RED is allowed to have on old tests.

    `texts` are the changed test modules before and after the step.
    """
    replaced = find_replaced_examples(comparison.vanished, base, head)
    missing = [test for test in base.by_id() if test not in head.by_id()]  # with those that did not pass before
    stopped = find_stopped_examples(missing, *texts, head, naming)
    stopped |= find_stopped_inherited_tests(missing, *texts, head)
    counted = {strip_test_parameters(test) for test in stopped} & set(head.by_id())  # head has one result per test
    unseen = len(stopped) - len(counted)
    update = {
        "regressed": tuple(test for test in comparison.regressed if test not in tests.carried),
        "vanished": tuple(test for test in comparison.vanished if test not in replaced | stopped),
        "collected_after": comparison.collected_after + unseen,
    }
    return comparison.model_copy(update=update)


def find_replaced_examples(vanished: Iterable[str], base: RunReport, head: RunReport) -> frozenset[str]:
    """Return vanished examples that failing examples of the same test replace, as when a requirement changed."""
    gone: dict[str, list[str]] = {}
    for test in vanished:
        if "[" in test:
            gone.setdefault(strip_test_parameters(test), []).append(test)
    known = base.by_id()
    new = [result for test, result in head.by_id().items() if test not in known]
    failing = Counter(strip_test_parameters(result.id) for result in new if result.outcome == "failed")
    return frozenset(test for bare, tests in gone.items() if len(tests) <= failing[bare] for test in tests)


def find_stopped_examples(
    vanished: Iterable[str],
    before: Mapping[str, str],
    after: Mapping[str, str],
    head: RunReport,
    naming: TestNaming = DEFAULT_NAMING,
) -> frozenset[str]:
    """Return examples of old tests that cannot be collected because their file cannot be imported yet."""
    old, new = dict(_list_parametrize_calls(before, naming)), dict(_list_parametrize_calls(after, naming))
    stopped = {test for test, result in head.by_id().items() if _is_stopped_by_import(result)}
    return frozenset(
        test
        for test in vanished
        if "[" in test and strip_test_parameters(test) in stopped
        if strip_test_parameters(test) in old
        and _keeps_examples(old[strip_test_parameters(test)], new.get(strip_test_parameters(test), []))
    )


def find_stopped_inherited_tests(
    vanished: Iterable[str], before: Mapping[str, str], after: Mapping[str, str], head: RunReport
) -> frozenset[str]:
    """Return inherited tests that cannot be collected because the file of their class cannot be imported yet."""
    files = {failure.path for failure in head.collect_errors if failure.kind is FailureKind.MISSING_SYMBOL}
    stopped_files = {test.partition("::")[0] for test, result in head.by_id().items() if _is_stopped_by_import(result)}
    old, new = (dict(_list_class_heads(texts)) for texts in (before, after))
    found = set()
    for test in vanished:
        owner, _, name = strip_test_parameters(test).rpartition("::")
        known = old.get(owner)
        if (
            test.partition("::")[0] in files | stopped_files
            and known
            and known == new.get(owner)
            and name not in known.own
        ):
            found.add(test)
    return frozenset(found)


@dataclass(frozen=True)
class _ClassHead:
    bases: str
    own: frozenset[str]  # functions that the class defines itself


def _list_class_heads(texts: Mapping[str, str]) -> Iterable[tuple[str, _ClassHead]]:
    for path, text in texts.items():
        tree = parse_python(text)
        for node in tree.body if tree else ():
            if isinstance(node, ast.ClassDef):
                own = frozenset(each.name for each in node.body if isinstance(each, FunctionNode))
                yield f"{path}::{node.name}", _ClassHead(" ".join(map(ast.dump, node.bases)), own)


def restore_stopped_tests(
    claimed: Iterable[str], base: RunReport, earlier: RunReport, edited: Container[str]
) -> tuple[str, ...]:
    """Return the tests that GREEN must make pass in files that RED made impossible to import.

    `earlier` is the run before RED. Tests in these files that were skipped or failed there need not pass, and inherited
    tests that passed there must pass again. `edited` lists the tests that RED changed, which are kept.
    """
    stopped = {test for test, result in base.by_id().items() if _is_stopped_by_import(result)}
    files = {test.partition("::")[0] for test in stopped}
    cases: dict[str, list[TestResult]] = {}
    for result in earlier.results:
        cases.setdefault(strip_test_parameters(result.id), []).append(result)
    found = []
    for test in claimed:
        before = cases.get(test, []) if test in stopped and test not in edited else []
        passed = [result.id for result in before if result.outcome == "passed"]
        found += [test] if len(passed) == len(before) else passed
    listed = {strip_test_parameters(test) for test in (*claimed, *base.by_id())}
    for test, results in cases.items():
        if test.partition("::")[0] in files and test not in listed:
            found += [result.id for result in results if result.outcome == "passed"]
    return tuple(dict.fromkeys(found))


def drop_idle_tests(claimed: Iterable[str], base: RunReport) -> tuple[str, ...]:
    """Remove the story's tests that were skipped before RED too, so that GREEN was accepted without them."""
    known = base.by_id()
    found: list[str] = []
    for test in claimed:
        cases = expand_test_ids([test], base)
        active = [case for case in cases if case not in known or known[case].outcome not in {"skipped", "xfailed"}]
        found += [test] if len(active) == len(cases) else active
    return tuple(found)


def _list_parametrize_calls(texts: Mapping[str, str], naming: TestNaming) -> Iterable[tuple[str, list[ast.Call]]]:
    for path, text in texts.items():
        module = parse_tests(path, text, naming)
        for test in module.tests if module else ():
            marks = [*test.node.decorator_list, *(mark for owner in test.owners for mark in owner.decorator_list)]
            calls = [mark for mark in marks if isinstance(mark, ast.Call)]
            yield test.id, [call for call in calls if get_decorator_name(call).endswith("parametrize")]


def _keeps_examples(old: list[ast.Call], new: list[ast.Call]) -> bool:
    """Return whether each list of examples is unchanged or longer."""
    pairs = list(zip(old, new, strict=False))
    return len(old) == len(new) and all(
        len(one.args) == len(other.args) and all(map(is_compatible_extension, one.args, other.args))
        for one, other in pairs
    )


def _is_new_case(test: str, known: Container[str]) -> bool:
    """Return whether this is a new case of an existing parametrized test."""
    return "[" in test and strip_test_parameters(test) not in known


def _is_stopped_by_import(result: TestResult) -> bool:
    failure = result.failure
    return failure is not None and failure.stage == "collect" and failure.kind == FailureKind.MISSING_SYMBOL


def find_edited_tests(before: Mapping[str, str], after: Mapping[str, str], naming: TestNaming) -> set[str]:
    """Return the existing tests whose body, decorators or arguments changed."""
    old, new = dict(dump_all_tests(before, naming)), dict(dump_all_tests(after, naming))
    return {test for test, body in new.items() if test in old and old[test] != body}


def find_extended_tests(before: Mapping[str, str], after: Mapping[str, str], naming: TestNaming) -> set[str]:
    """Return the tests in which only the `parametrize` examples changed."""
    old = {
        test: body for path, text in before.items() for test, body in _dump_bodies(path, text, naming, examples=False)
    }
    new = {
        test: body for path, text in after.items() for test, body in _dump_bodies(path, text, naming, examples=False)
    }
    return {test for test, body in new.items() if old.get(test) == body}


def _still_passes(old: TestResult | None, new: TestResult) -> bool:
    return old is not None and old.outcome == new.outcome == "passed"


def _dump_bodies(path: str, text: str, naming: TestNaming, *, examples: bool = True) -> Iterable[tuple[str, str]]:
    """Yield the id of each test with its decorators and statements, without the docstring."""
    module = parse_tests(path, text, naming)
    for test in module.tests if module else ():
        documented = ast.get_docstring(test.node) is not None
        statements = test.node.body[1:] if documented else test.node.body
        marks = [
            each
            for each in test.node.decorator_list
            if examples or not get_decorator_name(each).endswith("parametrize")
        ]
        parts: list[ast.AST] = [*marks, test.node.args, *statements]
        yield test.id, "\n".join(ast.dump(part) for part in parts)


@dataclass(frozen=True)
class UnprovedTests:
    """The tests that do not pass at GREEN's base."""

    claimed: tuple[str, ...]  # the base commit added, changed or broke these tests
    doubtful: tuple[str, ...]  # only a run of the previous commit can show whether they failed before


def find_unproved_tests(
    base: RunReport,
    before: Mapping[str, str],
    after: Mapping[str, str],
    *,
    more: bool,
    naming: TestNaming = DEFAULT_NAMING,
) -> UnprovedTests:
    """Find failing tests that the base commit may have made red.

    `before` and `after` are the test modules that the base commit changed; `more` says that shared helpers or data
    changed too. If none of the changed tests fails, all failing tests are claimed.
    """
    failing = [result for result in base.results if result.outcome not in {"passed", "skipped", "xfailed"}]
    old, new = dict(dump_all_tests(before, naming)), dict(dump_all_tests(after, naming))
    claimed, doubtful = [], []
    for result in failing:
        test, path = strip_test_parameters(result.id), result.id.partition("::")[0]
        unchanged = test in old and old[test] == new.get(test)
        stopped = result.failure is not None and result.failure.stage == "collect"
        if path in after and (stopped or not unchanged):
            claimed.append(result.id)
        elif path in after or more:
            doubtful.append(result.id)
    everything = () if claimed or doubtful else tuple(result.id for result in failing)
    return UnprovedTests(tuple(sorted((*claimed, *everything))), tuple(sorted(doubtful)))


def drop_earlier_failures(tests: Iterable[str], earlier: RunReport) -> tuple[str, ...]:
    """Return the tests that did not fail in the earlier run."""
    then = earlier.by_id()
    return tuple(test for test in tests if test not in then or then[test].outcome == "passed")


def dump_all_tests(texts: Mapping[str, str], naming: TestNaming) -> Iterable[tuple[str, str]]:
    return (pair for path, text in texts.items() for pair in _dump_bodies(path, text, naming))


def find_reclaimed_tests(
    before: Mapping[str, str],
    after: Mapping[str, str],
    base: RunReport,
    fresh: Iterable[str],
    naming: TestNaming = DEFAULT_NAMING,
) -> tuple[Fact, ...]:
    """Report new tests that copy a test that failed before, because it was only renamed or moved."""
    failing = {strip_test_parameters(result.id) for result in base.results if result.outcome in {"failed", "error"}}
    old = {
        body: test
        for path in {test.partition("::")[0] for test in failing}
        for test, body in _dump_bodies(path, before.get(path, ""), naming)
        if test in failing
    }
    wanted = {strip_test_parameters(test) for test in fresh}
    return tuple(
        Fact(code="RED502", path=path, test=test, message=f"same test as `{old[body]}`, which failed before")
        for path, text in after.items()
        for test, body in _dump_bodies(path, text, naming)
        if test in wanted and body in old and test != old[body]
    )


def find_boundary_examples(base: RunReport, head: RunReport, fresh: Iterable[str]) -> tuple[Fact, ...]:
    """Report new examples of an old test that pass while others fail. They mark the boundary of the change."""
    old = {
        strip_test_parameters(result.id) for result in base.results if result.outcome == "passed" and "[" in result.id
    }
    wanted = set(fresh)
    new = [
        result
        for result in head.results
        if result.id in wanted and "[" in result.id and strip_test_parameters(result.id) in old
    ]
    failing = {strip_test_parameters(result.id) for result in new if result.outcome == "failed"}
    message = "already passes; other new examples of the same test fail"
    return tuple(
        Fact(code="RED109", path=result.id.partition("::")[0], test=result.id, message=message)
        for result in new
        if result.outcome == "passed" and strip_test_parameters(result.id) in failing
    )


_UNITTEST_SETUPS = frozenset({"setUp", "asyncSetUp", "setUpClass"})
_UNPROVING_KINDS = frozenset({FailureKind.ASSERTION, FailureKind.EXPLICIT})


def find_failing_setups(after: Mapping[str, str], head: RunReport, fresh: Iterable[str]) -> tuple[Fact, ...]:
    """Report tests that fail in `setUp`, which unittest runs as part of the call."""
    spans = {path: _find_setup_lines(text) for path, text in after.items()}
    wanted = set(fresh)
    return tuple(
        Fact(code="RED303", path=failure.path, line=failure.line, test=result.id, message="fails in its setup")
        for result in head.results
        if result.id in wanted and (failure := result.failure) is not None
        if failure.kind in _UNPROVING_KINDS and failure.line in spans.get(failure.path, ())
    )


def _find_setup_lines(text: str) -> set[int]:
    tree = parse_python(text)
    setups = [x for x in ast.walk(tree) if isinstance(x, FunctionNode) and x.name in _UNITTEST_SETUPS] if tree else []
    return {line for node in setups for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)}
