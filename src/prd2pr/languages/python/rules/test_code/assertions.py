"""Finds the assertions of a test and its helpers, and the reasons why an assertion cannot fail.

The findings are RED402, RED403, RED408, RED414 and RED416.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from prd2pr.domain.results.finding_kind import FindingKind, define_error
from prd2pr.languages.python.rules.test_code.swallowed_failures import (
    BROAD_EXCEPTIONS,
    accepts_any_exception,
    can_fail_test,
    drops_exceptions,
    has_swallowing_decorator,
    is_swallowing_handler,
    is_swallowing_manager,
    list_caught_names,
    returns_in_finally,
)
from prd2pr.languages.python.test_model.constants import UNKNOWN, evaluate_number, is_empty_literal
from prd2pr.languages.python.test_model.data_flow import Liveness, get_root_name
from prd2pr.languages.python.test_model.module import (
    FunctionNode,
    get_dotted_name,
    resolve_name,
    unparse_node,
    walk_own_nodes,
)
from prd2pr.languages.python.test_model.scope import find_parameter_sources
from prd2pr.languages.python.test_model.suite import list_function_nodes

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RED402",
        "asserts a tuple",
        "A non-empty tuple is always true.",
        bad="def test_earn():\n    assert (earn(5) == 1, 'one point')",
        good="def test_earn():\n    assert earn(5) == 1, 'one point'",
        remedy="remove the parentheses.",
    ),
    define_error(
        "RED403",
        "returns instead of asserting",
        "pytest ignores the return value of a test.",
        bad="def test_earn():\n    return earn(5) == 1",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="write assert instead of return.",
    ),
    define_error(
        "RED408",
        "asserts in another thread",
        "An AssertionError in a thread ends that thread, but does not fail the test.",
        bad="def test_earn():\n"
        "    def check():\n"
        "        assert earn(5) == 1\n"
        "    worker = threading.Thread(target=check)\n"
        "    worker.start()\n"
        "    worker.join()",
        good="def test_earn():\n"
        "    found = []\n"
        "    worker = threading.Thread(target=lambda: found.append(earn(5)))\n"
        "    worker.start()\n"
        "    worker.join()\n"
        "    assert found == [1]",
        remedy="collect the results in the thread and assert after join().",
    ),
    define_error(
        "RED414",
        "the assertion can be disabled",
        "The assertion runs only if Python runs without -O, or the test itself disables assertions.",
        bad="def test_earn():\n    if __debug__:\n        assert earn(5) == 1",
        good="def test_earn():\n    assert earn(5) == 1",
        remedy="assert unconditionally.",
    ),
    define_error(
        "RED416",
        "the assertion is never reached",
        "The assertion comes after a return, under a condition that is never true, in an empty loop, or in a "
        "handler for an exception that the test does not require.",
        bad="def test_earn():\n    for amount in []:\n        assert earn(amount) == 1",
        good="def test_earn():\n    for amount in [5, 6, 9]:\n        assert earn(amount) == 1",
        remedy="make sure that every run reaches the assertion; use pytest.raises to require an exception.",
    ),
)


MANY_ERRORS = 3  # accepting this many exceptions amounts to accepting any
_PROGRAMMING_ERRORS = frozenset({"TypeError", "AttributeError", "NameError"})  # raised by mistakes anywhere in the code
_COMMON_ERRORS = _PROGRAMMING_ERRORS | {
    "ValueError",
    "KeyError",
    "IndexError",
    "LookupError",
    "RuntimeError",
    "OSError",
}
_THREADS = frozenset({"Thread", "Timer", "Process", "start_new_thread"})
_MAX_PLACES = 30
_CHECK_PREFIXES = ("check", "verify", "expect", "should", "raise_for_status")
_UNITTEST_COMPARES: dict[str, type[ast.cmpop]] = {
    "assertEqual": ast.Eq,
    "assertEquals": ast.Eq,
    "assertNotEqual": ast.NotEq,
    "assertIs": ast.Is,
    "assertIsNot": ast.IsNot,
    "assertIn": ast.In,
    "assertListEqual": ast.Eq,
    "assertDictEqual": ast.Eq,
    "assertGreaterEqual": ast.GtE,
    "assertAlmostEqual": ast.Eq,
}


@dataclass(frozen=True)
class Assertion:
    line: int
    expression: ast.expr | None = None  # None for a block that must raise, or a call that asserts by its name
    fault: str = ""  # code of the finding if the assertion cannot fail
    message: str = ""
    unconditional: bool = True
    in_result_loop: bool = False  # in a loop over the subject's result, so it may never run


@dataclass(frozen=True)
class _Position:
    """The state of the search at one statement."""

    fault: str = ""
    message: str = ""
    unconditional: bool = True
    in_helper: bool = False
    false_parameters: frozenset[str] = frozenset()  # helper parameters that keep a false default
    conditions: tuple[str, ...] = ()  # dumps of the enclosing conditions
    in_result_loop: bool = False
    after_result_return: bool = False  # an earlier return depends on the subject's result

    def with_fault(self, fault: str, message: str) -> _Position:
        return self if self.fault else replace(self, fault=fault, message=message)

    def as_conditional(self) -> _Position:
        return replace(self, unconditional=False)

    def make_assertion(self, node: ast.AST, expression: ast.expr | None = None) -> Assertion:
        if expression is not None and ast.dump(expression) in self.conditions:
            return self.with_fault("RED416", "repeats the condition that guards it").make_assertion(node)
        if self.after_result_return and not isinstance(expression, ast.Constant):
            known = replace(self, after_result_return=False)
            return known.with_fault(
                "RED416", "comes after a return that depends on the subject's result"
            ).make_assertion(node)
        line = getattr(node, "lineno", 0)
        return Assertion(line, expression, self.fault, self.message, self.unconditional, self.in_result_loop)


def find_test_assertions(live: Liveness) -> list[Assertion]:
    finder, test = _AssertionFinder(live), live.scope.test.node
    return list(finder.visit_function(test, finder.apply_decorators(test, _Position())))


def find_helper_assertions(node: FunctionNode, live: Liveness) -> list[Assertion]:
    """Find the assertions in a function that runs with the test, such as its setup."""
    return list(_AssertionFinder(live).visit_function(node, _Position(in_helper=True)))


class _AssertionFinder:
    def __init__(self, live: Liveness) -> None:
        self.live = live
        self.scope = live.scope
        self.visited: list[FunctionNode] = []
        self.seen: set[tuple[int, frozenset[str]]] = set()
        self.nested: dict[str, FunctionNode] = {}

    def visit_function(self, node: FunctionNode, position: _Position) -> Iterator[Assertion]:
        key = (id(node), position.false_parameters)
        if key in self.seen:
            return
        self.seen.add(key)
        self.visited.append(node)
        self.nested.update({x.name: x for x in ast.walk(node) if isinstance(x, FunctionNode) and x is not node})
        yield from self.visit_body(node.body, position)

    def apply_decorators(self, node: FunctionNode, position: _Position) -> _Position:
        """Mark the position as faulty if a decorator of the test catches exceptions."""
        lost = has_swallowing_decorator(node, self.scope)
        return position.with_fault("RED404", "fails inside a decorator that catches the failure") if lost else position

    def visit_body(self, statements: list[ast.stmt], position: _Position) -> Iterator[Assertion]:
        for statement in statements:
            yield from self.visit_statement(statement, position)
            if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
                position = position.with_fault("RED416", "is never reached")
            elif any(isinstance(inner, ast.Return) for inner in walk_own_nodes(statement)):
                position = replace(
                    position.as_conditional(),
                    after_result_return=position.after_result_return or self._returns_on_result(statement, position),
                )

    def _returns_on_result(self, node: ast.stmt, position: _Position) -> bool:
        """Return whether the test returns early because of the subject's result, as in `if got is not None: return`."""
        if position.in_helper or not isinstance(node, ast.If) or not isinstance(node.body[-1], ast.Return):
            return False
        if can_fail_test(node) or find_parameter_sources(self.scope.test):  # with several examples, some may continue
            return False
        values = [
            node.test,
            *(self.live.single_bindings.get(x.id) for x in ast.walk(node.test) if isinstance(x, ast.Name)),
        ]
        calls = [x for value in values if value is not None for x in ast.walk(value) if isinstance(x, ast.Call)]
        return any(self.scope.is_subject(get_dotted_name(call.func)) for call in calls)

    def visit_statement(self, node: ast.stmt, position: _Position) -> Iterator[Assertion]:
        if isinstance(node, ast.With | ast.AsyncWith):
            yield from self.visit_with(node, position)
        elif isinstance(node, ast.Try):
            yield from self.visit_try(node, position)
        elif isinstance(node, ast.If):
            yield from self.visit_branch(node, position)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            yield from self.visit_loop(node, position)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                yield from self.visit_body(case.body, position.as_conditional())
        elif isinstance(node, FunctionNode):
            if node.decorator_list:  # a decorator such as `@app.route("/")` registers it for a later call
                yield from self.visit_function(node, replace(position.as_conditional(), in_helper=True))
        elif not isinstance(node, ast.ClassDef):
            yield from self.visit_simple(node, position)

    def visit_simple(self, node: ast.stmt, position: _Position) -> Iterator[Assertion]:
        if isinstance(node, ast.Assert):
            yield position.make_assertion(node, node.test)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Compare):
            yield position.with_fault("RED401", "compares without asserting").make_assertion(node)
        elif (
            isinstance(node, ast.Return) and isinstance(node.value, ast.Compare | ast.BoolOp) and not position.in_helper
        ):
            yield position.with_fault("RED403", "returns the comparison, which pytest ignores").make_assertion(node)
        elif isinstance(node, ast.Raise) and "AssertionError" in ast.dump(node):
            yield position.make_assertion(node, ast.copy_location(ast.Constant(value=False), node))
        if drops_exceptions(node):
            position = position.with_fault("RED404", "fails in a task whose exception is ignored")
        for call in [inner for inner in walk_own_nodes(node) if isinstance(inner, ast.Call)]:
            idle = isinstance(node, ast.Expr) and node.value is call and self._is_coroutine(call)
            reason = "is in a coroutine that is never awaited"
            yield from self.visit_call(call, position.with_fault("RED416", reason) if idle else position)

    def _is_coroutine(self, call: ast.Call) -> bool:
        name = get_dotted_name(call.func)
        return isinstance(self.nested.get(name) or self.scope.helpers.get(name), ast.AsyncFunctionDef)

    # --- blocks ---

    def visit_branch(self, node: ast.If, position: _Position) -> Iterator[Assertion]:
        never = isinstance(node.test, ast.Constant) and not node.test.value
        debug = "__debug__" in {inner.id for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
        inside = replace(position.as_conditional(), conditions=(*position.conditions, ast.dump(node.test)))
        if _is_always_false(node.test, position.false_parameters):
            inside = inside.with_fault("RED416", f"is under `{unparse_node(node.test)}`, which is false in every call")
        elif never or get_dotted_name(node.test).endswith("TYPE_CHECKING"):
            inside = inside.with_fault("RED416", "is under a condition that is never true")
        elif debug:
            inside = inside.with_fault("RED414", "runs only if Python assertions are enabled")
        if _ends_with_fail(node):
            yield position.make_assertion(node, _negate(node.test))
        yield from self.visit_body(node.body, inside)
        yield from self.visit_body(node.orelse, position.as_conditional())

    def visit_loop(self, node: ast.For | ast.AsyncFor | ast.While, position: _Position) -> Iterator[Assertion]:
        over = node.test if isinstance(node, ast.While) else node.iter
        empty = not isinstance(node, ast.While) and is_empty_literal(over)
        never = isinstance(node, ast.While) and isinstance(over, ast.Constant) and not over.value
        inside = replace(position.as_conditional(), in_result_loop=position.in_result_loop or self._is_result(over))
        yield from self.visit_body(
            node.body, inside.with_fault("RED416", "is in an empty loop") if empty or never else inside
        )
        yield from self.visit_body(node.orelse, inside)

    def _is_result(self, over: ast.expr) -> bool:
        """Return whether the value is the subject's result, possibly wrapped in a built-in such as `sorted`."""
        value = self.live.single_bindings.get(over.id, over) if isinstance(over, ast.Name) else over
        if isinstance(value, ast.Name) or not isinstance(value, ast.Call):
            return False
        name = get_dotted_name(value.func)
        if name in {"sorted", "list", "enumerate", "reversed", "set", "tuple"}:
            return bool(value.args) and self._is_result(value.args[0])
        return self.scope.is_subject(name) and not name.rpartition(".")[2][:1].isupper()

    def visit_try(self, node: ast.Try, position: _Position) -> Iterator[Assertion]:
        inside = position.as_conditional()
        if accepts_any_exception(node, self.visited[-1]) and any(self.live.is_live(line) for line in node.body):
            yield position.with_fault("RED406", "accepts any exception").make_assertion(node)
        swallowed = any(is_swallowing_handler(handler) for handler in node.handlers) or returns_in_finally(node)
        reason = "fails inside a `try` that catches the failure"
        yield from self.visit_body(node.body, inside.with_fault("RED404", reason) if swallowed else inside)
        guarded = any(can_fail_test(statement) for statement in (*node.body[-1:], *node.orelse))
        handled = (
            inside
            if guarded
            else inside.with_fault("RED416", "runs only if an exception is raised, and the test does not require one")
        )
        for handler in node.handlers:
            yield from self.visit_body(handler.body, handled)
        yield from self.visit_body(node.orelse, inside)
        yield from self.visit_body(node.finalbody, position)

    def visit_with(self, node: ast.With | ast.AsyncWith, position: _Position) -> Iterator[Assertion]:
        inside = position
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and self._requires_exception(call):
                yield from self.visit_raises(node, item, call, position)
                inside = inside.as_conditional()
                if self._list_caught(call) & BROAD_EXCEPTIONS:
                    inside = inside.with_fault("RED404", "fails inside `raises`, which catches the failure")
            elif is_swallowing_manager(call, item.optional_vars, node.body, self.scope):
                inside = inside.with_fault("RED404", f"fails inside `{unparse_node(call)}`, which ignores the failure")
            elif isinstance(call, ast.Name) and self._may_be_raises(call.id):
                yield position.make_assertion(node)
            elif isinstance(call, ast.Call):
                yield from self.visit_call(call, position)
        yield from self.visit_body(node.body, inside)

    def _may_be_raises(self, name: str) -> bool:
        source = find_parameter_sources(self.scope.test).get(name)
        return source is not None and "raises" in ast.dump(source)

    def _requires_exception(self, call: ast.Call) -> bool:
        name = resolve_name(get_dotted_name(call.func), self.scope.imports)
        if name in {"pytest.raises", "pytest.warns", "pytest.deprecated_call"}:
            return True
        return name.startswith("self.assert") and name.rpartition(".")[2][6:].startswith(("Raises", "Warns", "Logs"))

    def visit_raises(
        self, node: ast.With | ast.AsyncWith, item: ast.withitem, call: ast.Call, position: _Position
    ) -> Iterator[Assertion]:
        asserts = any(isinstance(inner, ast.Assert) for statement in node.body for inner in ast.walk(statement))
        broad = self._list_caught(call) & (
            BROAD_EXCEPTIONS if asserts else BROAD_EXCEPTIONS - {"AssertionError"}
        ) or self._list_many_errors(call)
        is_specific = any(keyword.arg in {"match", "check"} for keyword in call.keywords) or self._is_used_after(
            item.optional_vars, node
        )
        if broad and not is_specific:
            position = position.with_fault("RED406", f"`raises({min(broad)})` accepts any exception")
        elif not position.in_helper and not any(
            self.live.is_live(x) for x in (*node.body, *node.items) if x is not item
        ):
            position = position.with_fault("RED401", "is a block that must raise but does not call the subject")
        yield position.make_assertion(node)

    def _is_used_after(self, name: ast.expr | None, node: ast.stmt) -> bool:
        if name is None:
            return False
        homes = [function for function in self.visited if any(inner is node for inner in ast.walk(function))]
        uses = [
            x for home in homes for x in ast.walk(home) if isinstance(x, ast.Name) and x.id == get_dotted_name(name)
        ]
        return any(use.lineno > (node.end_lineno or 0) for use in uses)

    # --- calls ---

    def visit_call(self, call: ast.Call, position: _Position) -> Iterator[Assertion]:
        name = get_dotted_name(call.func)
        last = call.func.attr if isinstance(call.func, ast.Attribute) else name
        target = self.nested.get(name) or self.scope.helpers.get(name) or self._find_method(call)
        if target is not None:
            yield from self.visit_function(
                target,
                replace(position, in_helper=True, false_parameters=_find_false_defaults(target, call), conditions=()),
            )
        elif resolve_name(name, self.scope.imports) == "pytest.fail":
            yield position.make_assertion(call, ast.copy_location(ast.Constant(value=False), call))
        elif self._requires_exception(call):
            if len(call.args) > 1:
                yield self._check_raises_call(call, position).make_assertion(call)
        elif last.startswith("assert") and not self.scope.is_subject(name):
            if last in {"assertTrue", "assertFalse"} and _is_not_a_message(call.args[1:2]):
                position = position.with_fault(
                    "RED402", f"uses the second argument of `{last}` as a message and compares nothing"
                )
            yield position.make_assertion(call, _convert_unittest_call(call, last))
        elif last.startswith(_CHECK_PREFIXES) and name.partition(".")[0] in self._list_parameters():
            yield position.make_assertion(call)
        yield from self.visit_callbacks(call, last, position)

    def _find_method(self, call: ast.Call) -> FunctionNode | None:
        """Return the called method of a test helper class, such as `equals` in `that(compass(0)).equals("N")`."""
        if not isinstance(call.func, ast.Attribute):
            return None
        root = get_root_name(call.func)
        root = get_root_name(self.live.single_bindings[root]) if root in self.live.single_bindings else root
        maker = self.nested.get(root) or self.scope.helpers.get(root)
        named = {x.id for x in ast.walk(maker) if isinstance(x, ast.Name)} if maker else {root}
        owners = [self.scope.suite.classes[each] for each in sorted(named) if each in self.scope.suite.classes]
        methods = [
            method for owner in owners for name, method in list_function_nodes(owner.body) if name == call.func.attr
        ]
        return methods[0] if methods else None

    def _check_raises_call(self, call: ast.Call, position: _Position) -> _Position:
        """Mark `raises(Exception, earn, None)` as faulty if its result is not used."""
        is_statement = any(isinstance(x, ast.Expr) and x.value is call for home in self.visited for x in ast.walk(home))
        broad = self._list_caught(call) & (BROAD_EXCEPTIONS - {"AssertionError"}) or self._list_many_errors(call)
        is_specific = any(keyword.arg in {"match", "check"} for keyword in call.keywords)
        if not broad or not is_statement or is_specific:
            return position
        return position.with_fault("RED406", f"`raises({min(broad)})` accepts any exception")

    def _list_many_errors(self, call: ast.Call) -> set[str]:
        """Return the exceptions in `raises((ValueError, TypeError, KeyError))` if they cover nearly every error."""
        usual = self._list_caught(call) & _COMMON_ERRORS
        return {", ".join(sorted(usual))} if len(usual) >= MANY_ERRORS and usual & _PROGRAMMING_ERRORS else set()

    def _list_caught(self, call: ast.Call) -> set[str]:
        """Return the names of the expected exceptions, with aliases such as `Problem = Exception` resolved."""
        plain = {
            get_dotted_name(node.targets[0]): get_dotted_name(node.value)
            for node in self.scope.module.tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        }
        return {plain.get(name, name) for name in list_caught_names(_list_expected_exceptions(call))}

    def _list_parameters(self) -> set[str]:
        return {argument.arg for argument in self.scope.test.node.args.args}

    def visit_callbacks(self, call: ast.Call, last: str, position: _Position) -> Iterator[Assertion]:
        """Visit the test's functions that are passed to another call."""
        for value in (*call.args, *(keyword.value for keyword in call.keywords)):
            target = self.nested.get(get_dotted_name(value)) or self.scope.helpers.get(get_dotted_name(value))
            if target is None:
                continue
            lost = last in _THREADS or (last == "submit" and ".result(" not in unparse_node(self.scope.test.node))
            handled = any(
                isinstance(inner, ast.ExceptHandler) and not is_swallowing_handler(inner) for inner in ast.walk(target)
            )
            reason = "fails in another thread, which pytest does not check"
            inside = replace(position.as_conditional(), in_helper=True)
            yield from self.visit_function(
                target, inside.with_fault("RED408", reason) if lost and not handled else inside
            )


def _find_false_defaults(node: FunctionNode, call: ast.Call) -> frozenset[str]:
    """Return the parameters that the call leaves at a false default, such as `strict=False`."""
    if any(isinstance(x, ast.Starred) for x in call.args) or any(keyword.arg is None for keyword in call.keywords):
        return frozenset()
    names = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args)]
    bound = 1 if names[:1] == ["self"] else 0
    given = {*names[: len(call.args) + bound], *(keyword.arg for keyword in call.keywords)}
    pairs = [
        *zip(names[len(names) - len(node.args.defaults) :], node.args.defaults, strict=True),
        *((argument.arg, value) for argument, value in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)),
    ]
    stored = {x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
    off = {name for name, value in pairs if isinstance(value, ast.Constant) and not value.value}
    return frozenset(off - given - stored)


def _is_always_false(test: ast.expr, off: frozenset[str]) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_is_always_false(value, off) for value in test.values)
    return isinstance(test, ast.Name) and test.id in off


def _ends_with_fail(node: ast.If) -> bool:
    """Return whether the branch ends with `fail`, as in `if got != 5: self.fail(…)`."""
    match node.body[-1]:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="fail"))):
            return True
    return False


def _negate(test: ast.expr) -> ast.expr:
    """Return the equivalent assertion, such as `got == 5` for `if got != 5: fail()`."""
    match test:
        case ast.Compare(ops=[ast.NotEq()]):
            return ast.copy_location(ast.Compare(left=test.left, ops=[ast.Eq()], comparators=test.comparators), test)
        case ast.UnaryOp(op=ast.Not()):
            return test.operand
    return ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), test)


def _list_expected_exceptions(call: ast.Call) -> list[ast.expr]:
    return [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "expected_exception")]


def _is_not_a_message(messages: list[ast.expr]) -> bool:
    """Return whether the message is a value that was meant to be compared, as in `assertTrue(total, 3)`."""
    return any(
        isinstance(x, ast.List | ast.Tuple | ast.Dict | ast.Set | ast.UnaryOp)
        or (isinstance(x, ast.Constant) and x.value is not None and not isinstance(x.value, str))
        for x in messages
    )


def _convert_unittest_call(call: ast.Call, name: str) -> ast.expr | None:
    """Convert `self.assertEqual(a, b)` to `a == b`, so that the same rules apply to both."""
    if name == "assertTrue" and call.args:
        return call.args[0]
    if name == "assertFalse" and call.args:
        return ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=call.args[0]), call)
    if name in {"assertIsNone", "assertIsNotNone"} and call.args:
        op = ast.Is() if name == "assertIsNone" else ast.IsNot()
        return ast.copy_location(ast.Compare(left=call.args[0], ops=[op], comparators=[ast.Constant(None)]), call)
    if name == "assertAlmostEqual" and (limit := _get_tolerance(call)) is not None:
        gap = ast.BinOp(left=call.args[0], op=ast.Sub(), right=call.args[1])
        distance = ast.Call(func=ast.Name("abs", ast.Load()), args=[gap], keywords=[])
        return ast.fix_missing_locations(
            ast.copy_location(ast.Compare(left=distance, ops=[ast.LtE()], comparators=[limit]), call)
        )
    if name in _UNITTEST_COMPARES and len(call.args) >= 2:
        compare = ast.Compare(left=call.args[0], ops=[_UNITTEST_COMPARES[name]()], comparators=[call.args[1]])
        return ast.copy_location(compare, call)
    return None


def _get_tolerance(call: ast.Call) -> ast.expr | None:
    """Return the explicit tolerance of `assertAlmostEqual`, such as `delta=5`, or `places=-2` for hundreds."""
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if len(call.args) < 2:
        return None
    if "delta" in keywords:
        return keywords["delta"]
    places = evaluate_number(keywords["places"]) if "places" in keywords else UNKNOWN
    return ast.Constant(10**-places / 2) if isinstance(places, int) and -_MAX_PLACES < places < 0 else None
