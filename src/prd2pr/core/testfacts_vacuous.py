"""Tests that cannot fail once the subject merely exists (RED306, RED4xx)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from prd2pr.core.evidence import Fact
from prd2pr.core.testfacts_asserts import Assertion, assertions_in, found_assertions
from prd2pr.core.testfacts_expressions import expression_fault, says_little
from prd2pr.core.testfacts_live import Liveness, liveness, uses_subject
from prd2pr.core.testfacts_model import FunctionNode, dotted, judged_tests
from prd2pr.core.testfacts_scope import TestScope, scopes
from prd2pr.core.testfacts_suite import Suite

# Wrong wherever they stand; the others matter only where no sound assertion stands beside them.
_ALWAYS = frozenset({"RED306", "RED402", "RED406", "RED407", "RED411"})
_PRIORITY = ("RED404", "RED403", "RED408", "RED414", "RED416", "RED410", "RED401")


def vacuous_facts(suite: Suite) -> Iterator[Fact]:
    for scope in scopes(suite, judged_tests(suite.module, suite.context)):
        yield from _facts(scope)


def _facts(scope: TestScope) -> Iterator[Fact]:
    live = liveness(scope)
    judged = [_judge(assertion, live) for assertion in found_assertions(live)]
    outright = [each for each in judged if each.fault in _ALWAYS]
    yield from (_fact(scope, each.fault, each.line, each.message) for each in outright)
    yield from _failing_setups(scope, live)
    sound = [each for each in judged if not each.fault]
    if sound:
        if not uses_subject(scope):
            yield _fact(scope, "RED410", scope.test.node.lineno, f"`{scope.test.name}` never calls code of the project")
        yield from _says_little(scope, live, sound)
    elif not outright and not _inherits_assertions(scope):
        yield _why_vacuous(scope, judged)


def _says_little(scope: TestScope, live: Liveness, sound: list[Assertion]) -> Iterator[Fact]:
    said = [says_little(each.expression, live) if each.expression is not None else "" for each in sound]
    if all(said):
        yield _fact(scope, "RED418", sound[0].line, f"`{scope.test.name}` asks only {said[0]}: most wrong answers pass")
    elif all(each.over_answer for each in sound):
        why = f"`{scope.test.name}` asks only of each item in the answer: an empty answer passes"
        yield _fact(scope, "RED420", sound[0].line, why)


def _failing_setups(scope: TestScope, live: Liveness) -> Iterator[Fact]:
    """Set-up or tear-down that fails whatever the subject does: `self.assertEqual(1, 2)` in `setUp`."""
    for function in (*scope.setups, *scope.teardowns):
        for assertion in assertions_in(function, live):
            if assertion.unconditional and assertion.expression is not None and not assertion.fault:
                fault = expression_fault(assertion.expression, live)
                if fault is not None and fault[0] == "RED306":
                    why = f"`{function.name}` fails on purpose, whatever `{scope.test.name}` does"
                    yield _fact(scope, "RED306", assertion.line, why)


def _judge(assertion: Assertion, live: Liveness) -> Assertion:
    if assertion.fault or assertion.expression is None:
        return assertion
    fault = expression_fault(assertion.expression, live)
    if fault is None:
        return assertion
    code, message = fault
    if code == "RED306" and not assertion.unconditional:
        return assertion  # `if total != 5: pytest.fail()`, or the end of a `try` that must not be reached
    return replace(assertion, fault=code, message=message)


def _why_vacuous(scope: TestScope, judged: list[Assertion]) -> Fact:
    fixture = _asserting_fixture(scope)
    if fixture is not None:
        why = f"fixture `{fixture.name}` does the work and the asserting, `{scope.test.name}` itself asserts nothing"
        return _fact(scope, "RED412", fixture.lineno, why)
    for code in _PRIORITY:
        for assertion in judged:
            if assertion.fault == code:
                return _fact(scope, code, assertion.line, f"the assertion of `{scope.test.name}` {assertion.message}")
    return _fact(scope, "RED401", scope.test.node.lineno, f"`{scope.test.name}` asserts nothing")


def _asserting_fixture(scope: TestScope) -> FunctionNode | None:
    asked = {argument.arg for argument in scope.test.node.args.args}
    for name, node in scope.used_fixtures.items():
        if name in asked and any(isinstance(inner, ast.Assert) for inner in ast.walk(node)):
            return node
    return None


def _inherits_assertions(scope: TestScope) -> bool:
    """A base class out of sight, or what set-up put on the instance, may do the asserting: `self.check_total(5)`."""
    own = {name for name in scope.helpers if name.startswith("self.")}
    functions = [x.func for x in ast.walk(scope.test.node) if isinstance(x, ast.Call)]
    methods = {name for function in functions if (name := dotted(function)).startswith("self.")}
    unseen = methods - own - {f"self.{name}" for name in ("subTest", "addCleanup")}
    lent = any(isinstance(inner, ast.Assert) for node in scope.setups for inner in _lent(node, scope))
    return bool(unseen) and (scope.foreign_base or lent)


def _lent(setup: FunctionNode, scope: TestScope) -> Iterator[ast.AST]:
    """Bodies of helpers that set-up puts on the instance: `self.test = partial(check, rate=2)`."""
    for inner in ast.walk(setup):
        helper = scope.helpers.get(dotted(inner)) if isinstance(inner, ast.Name) else None
        if helper is not None:
            yield from ast.walk(helper)


def _fact(scope: TestScope, code: str, line: int, message: str) -> Fact:
    return Fact(code=code, path=scope.module.path, line=line, test=scope.test.id, message=message)
