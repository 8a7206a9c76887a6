"""RED306, RED401, RED410, RED412, RED418, RED420: tests that pass as soon as the subject exists, or never pass."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

from prd2pr.domain.evidence import Fact
from prd2pr.domain.results.finding_kind import FindingKind, define_error, define_strict_error, define_warning
from prd2pr.languages.python.rules.test_code.assertions import Assertion, find_helper_assertions, find_test_assertions
from prd2pr.languages.python.rules.test_code.tautologies import are_complementary, fold_constants, is_always_true
from prd2pr.languages.python.rules.test_code.weak_assertions import (
    ExpressionFault,
    describe_weak_assertion,
    describe_wide_tolerance,
    find_opposite_alternatives,
    find_opposite_options,
)
from prd2pr.languages.python.test_model.constants import UNKNOWN
from prd2pr.languages.python.test_model.data_flow import Liveness, analyze_liveness, is_existence_check, uses_subject
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name, list_judged_tests
from prd2pr.languages.python.test_model.scope import TestScope, list_scopes
from prd2pr.languages.python.test_model.suite import Suite

FINDINGS: tuple[FindingKind, ...] = (
    define_strict_error(
        "RED306",
        "always fails",
        "`assert False`, pytest.fail() and similar fail whatever the subject does. No implementation can make "
        "such a test pass.",
        bad="def test_earn():\n    pytest.fail('not implemented')",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="call the subject and assert on what it returns.",
    ),
    define_error(
        "RED401",
        "has no assertion that can fail",
        "The test has no assertion, or only assertions that hold for every subject: constants, tautologies, "
        "comparisons without `assert`. It passes as soon as the name exists.",
        bad="def test_earn():\n    earn(5)\n    assert True",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="assert on the result of the call; compare it with a value that you derived by hand.",
    ),
    define_error(
        "RED410",
        "does not call the subject",
        "The test only checks that a name exists, or never uses code of the project.",
        bad="def test_earn():\n    assert callable(earn)",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="call the subject and assert on the result.",
    ),
    define_error(
        "RED412",
        "only the fixture calls and asserts",
        "The call and the assertion are in a fixture; the test itself checks nothing.",
        bad="@pytest.fixture\n"
        "def done():\n"
        "    assert earn(5) == 1\n"
        "    return True\n"
        "\n"
        "def test_earn(done):\n"
        "    assert done",
        good="@pytest.fixture\ndef amount():\n    return 5\n\ndef test_earn(amount):\n    assert earn(amount) == 1",
        remedy="set up in the fixture; call and assert in the test.",
    ),
    define_warning(
        "RED418",
        "most wrong results pass",
        "Every assertion of the test also holds for most wrong results: it checks only that a value exists, or "
        "only its type.",
        bad="def test_earn():\n    assert earn(5) is not None",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="assert the value that the criterion requires.",
    ),
    define_warning(
        "RED420",
        "asserts only inside a loop over the result",
        "Every assertion is in a loop over what the subject returned. If that is empty, nothing is asserted.",
        bad="def test_fetch():\n    for name in fetch('tea'):\n        assert 'tea' in name",
        good="def test_fetch():\n    assert fetch('tea') == ['green tea', 'tea']",
        remedy="assert the whole result, or first its length.",
    ),
)


# Always reported. Other faults matter only if the test has no sound assertion.
_FAULTS_ALWAYS_REPORTED = frozenset({"RED306", "RED402", "RED406", "RED407", "RED411"})
_FAULT_PRIORITY = ("RED404", "RED403", "RED408", "RED414", "RED416", "RED410", "RED401")


def check_vacuous(suite: Suite) -> Iterator[Fact]:
    for scope in list_scopes(suite, list_judged_tests(suite.module, suite.context)):
        yield from _check_scope(scope)


def _check_scope(scope: TestScope) -> Iterator[Fact]:
    live = analyze_liveness(scope)
    judged = [_judge_assertion(assertion, live) for assertion in find_test_assertions(live)]
    outright = [each for each in judged if each.fault in _FAULTS_ALWAYS_REPORTED]
    yield from (_make_fact(scope, each.fault, each.line, each.message) for each in outright)
    yield from _check_failing_setups(scope, live)
    sound = [each for each in judged if not each.fault]
    if sound:
        if not uses_subject(scope):
            yield _make_fact(
                scope, "RED410", scope.test.node.lineno, f"`{scope.test.name}` never calls code of the project"
            )
        yield from _check_weak(scope, live, sound)
    elif not outright and not _may_inherit_assertions(scope):
        yield _explain_vacuous(scope, judged)


def _check_weak(scope: TestScope, live: Liveness, sound: list[Assertion]) -> Iterator[Fact]:
    weaknesses = [
        describe_weak_assertion(each.expression, live) if each.expression is not None else "" for each in sound
    ]
    if all(weaknesses):
        yield _make_fact(
            scope, "RED418", sound[0].line, f"`{scope.test.name}` only checks {weaknesses[0]}: most wrong results pass"
        )
    elif all(each.in_result_loop for each in sound):
        message = f"`{scope.test.name}` only checks each item of the result: an empty result passes"
        yield _make_fact(scope, "RED420", sound[0].line, message)


def _check_failing_setups(scope: TestScope, live: Liveness) -> Iterator[Fact]:
    """Report setup or teardown that fails whatever the subject does, such as `self.assertEqual(1, 2)` in `setUp`."""
    for function in (*scope.setups, *scope.teardowns):
        for assertion in find_helper_assertions(function, live):
            if assertion.unconditional and assertion.expression is not None and not assertion.fault:
                fault = find_expression_fault(assertion.expression, live)
                if fault is not None and fault[0] == "RED306":
                    message = f"`{function.name}` always fails, whatever `{scope.test.name}` does"
                    yield _make_fact(scope, "RED306", assertion.line, message)


def _judge_assertion(assertion: Assertion, live: Liveness) -> Assertion:
    if assertion.fault or assertion.expression is None:
        return assertion
    fault = find_expression_fault(assertion.expression, live)
    if fault is None:
        return assertion
    code, message = fault
    if code == "RED306" and not assertion.unconditional:
        return assertion  # `if total != 5: pytest.fail()`, or a line of `try` that must not be reached
    return replace(assertion, fault=code, message=message)


def _explain_vacuous(scope: TestScope, judged: list[Assertion]) -> Fact:
    fixture = _find_asserting_fixture(scope)
    if fixture is not None:
        message = f"fixture `{fixture.name}` calls and asserts, `{scope.test.name}` itself asserts nothing"
        return _make_fact(scope, "RED412", fixture.lineno, message)
    for code in _FAULT_PRIORITY:
        for assertion in judged:
            if assertion.fault == code:
                return _make_fact(
                    scope, code, assertion.line, f"the assertion of `{scope.test.name}` {assertion.message}"
                )
    return _make_fact(scope, "RED401", scope.test.node.lineno, f"`{scope.test.name}` asserts nothing")


def _find_asserting_fixture(scope: TestScope) -> FunctionNode | None:
    parameters = {argument.arg for argument in scope.test.node.args.args}
    for name, node in scope.used_fixtures.items():
        if name in parameters and any(isinstance(inner, ast.Assert) for inner in ast.walk(node)):
            return node
    return None


def _may_inherit_assertions(scope: TestScope) -> bool:
    """Return whether an unknown base class or a helper stored by setup may assert, as in `self.check_total(5)`."""
    own = {name for name in scope.helpers if name.startswith("self.")}
    functions = [x.func for x in ast.walk(scope.test.node) if isinstance(x, ast.Call)]
    methods = {name for function in functions if (name := get_dotted_name(function)).startswith("self.")}
    unknown = methods - own - {f"self.{name}" for name in ("subTest", "addCleanup")}
    asserts_in_setup = any(
        isinstance(inner, ast.Assert) for node in scope.setups for inner in _walk_lent_helpers(node, scope)
    )
    return bool(unknown) and (scope.has_unknown_base or asserts_in_setup)


def _walk_lent_helpers(setup: FunctionNode, scope: TestScope) -> Iterator[ast.AST]:
    """Walk the helpers that setup stores on the instance, as in `self.test = partial(check, rate=2)`."""
    for inner in ast.walk(setup):
        helper = scope.helpers.get(get_dotted_name(inner)) if isinstance(inner, ast.Name) else None
        if helper is not None:
            yield from ast.walk(helper)


def _make_fact(scope: TestScope, code: str, line: int, message: str) -> Fact:
    return Fact(code=code, path=scope.module.path, line=line, test=scope.test.id, message=message)


# --- one asserted expression ------------------------------------------------------------------------------------------


def find_expression_fault(node: ast.expr, live: Liveness) -> ExpressionFault | None:
    if isinstance(node, ast.Tuple) and node.elts:
        return "RED402", "asserts a tuple, which is always true: remove the parentheses"
    if isinstance(node, ast.IfExp) and (chosen := fold_constants(node.test, live)) is not UNKNOWN:
        return find_expression_fault(node.body if chosen else node.orelse, live)
    value = fold_constants(node, live)
    if value is not UNKNOWN:
        return ("RED401", "is always true") if value else ("RED306", "always fails, whatever the subject does")
    if isinstance(node, ast.BoolOp):
        return _find_boolean_fault(node, live)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = find_expression_fault(node.operand, live)
        return inner if inner and inner[0] in {"RED402", "RED410", "RED401"} else None
    return _find_single_fault(node, live)


def _find_boolean_fault(node: ast.BoolOp, live: Liveness) -> ExpressionFault | None:
    faults = [find_expression_fault(value, live) for value in node.values]
    if isinstance(node.op, ast.And):
        return next((fault for fault in faults), None) if all(faults) else next(_filter_serious(faults), None)
    if any(are_complementary(left, right) for left, right in combinations(node.values, 2)):
        return "RED401", "is always true: one of the alternatives must hold"
    always = next((fault for fault in faults if fault and fault[0] != "RED306"), None)
    return always or (None if _is_about_library(node, live) else find_opposite_alternatives(node))


def _is_about_library(node: ast.expr, live: Liveness) -> bool:
    """Return whether the assertion checks only the standard library, as in `os.sep in ("/", None)`."""
    names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
    modules = [live.scope.imports.get(name, "").partition(".")[0] for name in names]
    return bool(modules) and all(module in sys.stdlib_module_names for module in modules)


def _filter_serious(faults: list[ExpressionFault | None]) -> Iterator[ExpressionFault]:
    yield from (fault for fault in faults if fault and fault[0] in {"RED306", "RED402", "RED407", "RED411"})


def _find_single_fault(node: ast.expr, live: Liveness) -> ExpressionFault | None:
    if is_always_true(node, live) or isinstance(node, ast.JoinedStr):  # an f-string is a non-empty string
        return "RED401", "is true for any value"
    if _only_names_subject(node, live):
        return "RED410", "only checks that the subject exists"
    wide = describe_wide_tolerance(node, live)
    if wide:
        return "RED407", f"allows a tolerance of {wide}: wrong values pass"
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
        options = node.comparators[0]
        fault = find_opposite_options(live.module_constants.get(get_dotted_name(options), options))
        if fault and not _is_about_library(node, live):
            return fault
    if not live.is_live(node):
        return "RED401", "uses only constants, not the result of the subject"
    return None


def _only_names_subject(node: ast.expr, live: Liveness) -> bool:
    place: ast.AST = node
    if is_existence_check(node):
        place = node.args[0] if isinstance(node, ast.Call) and node.args else getattr(node, "left", node)
    name = get_dotted_name(place)
    own_name = isinstance(node, ast.Compare) and get_dotted_name(node.left).rpartition(".")[2] in {
        "__name__",
        "__qualname__",
    }
    if own_name and isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Constant):
        place = node.left
        name = get_dotted_name(place).rpartition(".")[0]
    hidden = live.assigned_names | {argument.arg for argument in live.scope.test.node.args.args}
    if not name or name.partition(".")[0] in hidden or not live.scope.is_subject(name):
        return False
    # `assert shop.DEBUG` reads a value, but `assert shop.add` and `assert add` do not call anything.
    return place is not node or "." not in name
