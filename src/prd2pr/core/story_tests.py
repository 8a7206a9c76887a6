"""Which tests a step is about, where no story says so. Pure."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from prd2pr.core.evidence import Fact, FailureKind, RunReport
from prd2pr.core.runs import bare_id
from prd2pr.core.testfacts_model import FunctionNode, parse, parse_tests


@dataclass(frozen=True)
class RedTests:
    fresh: tuple[str, ...]  # new at head, or with another body than at base
    carried: tuple[str, ...]  # old ones that cannot run now, because their file imports what does not exist yet

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(sorted({*self.fresh, *self.carried}))


def red_tests(before: Mapping[str, str], after: Mapping[str, str], base: RunReport, head: RunReport) -> RedTests:
    """`before` and `after` hold the test modules that changed, path -> text.

    Whoever adds an import of what is planned to an existing test file stops its old tests as well. These are carried:
    from here on they are story tests, so that GREEN must make them pass again.
    """
    known = {bare_id(test) for test in base.by_id()}
    edited = _edited(before, after)
    fresh = [test for test in head.by_id() if bare_id(test) not in known or bare_id(test) in edited]
    fresh += [test for test in head.by_id() if test not in base.by_id() and _new_parameters(test, base)]
    carried = [
        result.id
        for result in head.results
        if result.id not in fresh and result.id.partition("::")[0] in after and _stopped_by_import(result.id, head)
    ]
    return RedTests(tuple(sorted(set(fresh))), tuple(sorted(carried)))


def _new_parameters(test: str, base: RunReport) -> bool:
    """A further case of a parametrised test that was there before."""
    return "[" in test and bare_id(test) not in base.by_id()


def _stopped_by_import(test: str, head: RunReport) -> bool:
    failure = head.by_id()[test].failure
    return failure is not None and failure.stage == "collect" and failure.kind == FailureKind.MISSING_SYMBOL


def _edited(before: Mapping[str, str], after: Mapping[str, str]) -> set[str]:
    old = {test: body for path, text in before.items() for test, body in _bodies(path, text)}
    new = {test: body for path, text in after.items() for test, body in _bodies(path, text)}
    return {test for test, body in new.items() if test in old and old[test] != body}


def _bodies(path: str, text: str) -> Iterable[tuple[str, str]]:
    """What a test does: decorators and statements, without its docstring."""
    module = parse_tests(path, text)
    for test in module.tests if module else ():
        documented = ast.get_docstring(test.node) is not None
        statements = test.node.body[1:] if documented else test.node.body
        parts: list[ast.AST] = [*test.node.decorator_list, test.node.args, *statements]
        yield test.id, "\n".join(ast.dump(part) for part in parts)


def unproved_tests(base: RunReport, changed: Iterable[str]) -> tuple[str, ...]:
    """For GREEN: what does not pass at base, in the test files that the base commit changed; else anywhere."""
    paths = set(changed)
    failing = [result.id for result in base.results if result.outcome not in {"passed", "skipped", "xfailed"}]
    chosen = [test for test in failing if test.partition("::")[0] in paths]
    return tuple(sorted(chosen or failing))


def claimed_again(
    before: Mapping[str, str], after: Mapping[str, str], base: RunReport, fresh: Iterable[str]
) -> tuple[Fact, ...]:
    """New tests that do word for word what a test did which failed before: it was renamed or moved."""
    failing = {bare_id(result.id) for result in base.results if result.outcome in {"failed", "error"}}
    old = {
        body: test
        for path in {test.partition("::")[0] for test in failing}
        for test, body in _bodies(path, before.get(path, ""))
        if test in failing
    }
    wanted = {bare_id(test) for test in fresh}
    return tuple(
        Fact(code="RED502", path=path, test=test, message=f"`{old[body]}` failed before, and this is the same test")
        for path, text in after.items()
        for test, body in _bodies(path, text)
        if test in wanted and body in old and test != old[body]
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
