"""Finds the assertions that a test makes, its helpers' too, and where each stands: one that cannot fail says why."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from prd2pr.core.testfacts_flags import is_content_with_any
from prd2pr.core.testfacts_live import Liveness, root_of
from prd2pr.core.testfacts_marks import own_nodes
from prd2pr.core.testfacts_model import FunctionNode, dotted, resolve
from prd2pr.core.testfacts_scope import parameter_sources
from prd2pr.core.testfacts_suite import functions_in
from prd2pr.core.testfacts_swallow import (
    BROAD,
    caught,
    decorator_swallows,
    drops_exceptions,
    gives_up,
    leaves_at_the_end,
    manager_swallows,
    swallows,
)
from prd2pr.core.testfacts_truth import is_empty
from prd2pr.core.testfacts_unroll import UNKNOWN, number

MANY_ERRORS = 3  # unlike each other, of which a test is content with any
_ANYBODYS = frozenset({"TypeError", "AttributeError", "NameError"})  # come of slips anywhere
_USUAL_ERRORS = _ANYBODYS | {"ValueError", "KeyError", "IndexError", "LookupError", "RuntimeError", "OSError"}
_THREADS = frozenset({"Thread", "Timer", "Process", "start_new_thread"})
_MAX_PLACES = 30
_CHECKING = ("check", "verify", "expect", "should", "raise_for_status")
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
    expression: ast.expr | None = None  # None: a block that must raise, or a call whose name says that it asserts
    fault: str = ""  # the code of the finding, where it cannot fail
    message: str = ""
    unconditional: bool = True
    over_answer: bool = False  # stands in a loop over what the subject gave: over nothing, it asks nothing


@dataclass(frozen=True)
class _Place:
    """Where the walk is."""

    fault: str = ""
    message: str = ""
    unconditional: bool = True
    in_helper: bool = False
    off: frozenset[str] = frozenset()  # parameters of the helper that are false, since nobody gave them
    asked: tuple[str, ...] = ()  # what the conditions around this place have asked, as dumps
    over_answer: bool = False
    answered: bool = False  # an answer of the subject can have ended the test before

    def spoilt(self, fault: str, message: str) -> _Place:
        return self if self.fault else replace(self, fault=fault, message=message)

    def perhaps(self) -> _Place:
        return replace(self, unconditional=False)

    def assertion(self, node: ast.AST, expression: ast.expr | None = None) -> Assertion:
        if expression is not None and ast.dump(expression) in self.asked:
            return self.spoilt("RED416", "repeats the condition that it stands under").assertion(node)
        if self.answered and not isinstance(expression, ast.Constant):
            known = replace(self, answered=False)
            return known.spoilt("RED416", "stands behind a return that an answer of the subject decides").assertion(
                node
            )
        line = getattr(node, "lineno", 0)
        return Assertion(line, expression, self.fault, self.message, self.unconditional, self.over_answer)


def found_assertions(live: Liveness) -> list[Assertion]:
    walk, test = _Walk(live), live.scope.test.node
    return list(walk.function(test, walk.wrapped(test, _Place())))


def assertions_in(node: FunctionNode, live: Liveness) -> list[Assertion]:
    """Of a function beside the test, such as its set-up."""
    return list(_Walk(live).function(node, _Place(in_helper=True)))


class _Walk:
    def __init__(self, live: Liveness) -> None:
        self.live = live
        self.scope = live.scope
        self.visited: list[FunctionNode] = []
        self.seen: set[tuple[int, frozenset[str]]] = set()
        self.nested: dict[str, FunctionNode] = {}

    def function(self, node: FunctionNode, place: _Place) -> Iterator[Assertion]:
        key = (id(node), place.off)
        if key in self.seen:
            return
        self.seen.add(key)
        self.visited.append(node)
        self.nested.update({x.name: x for x in ast.walk(node) if isinstance(x, FunctionNode) and x is not node})
        yield from self.body(node.body, place)

    def wrapped(self, node: FunctionNode, place: _Place) -> _Place:
        """A decorator of the tests' own may catch what the test raises."""
        lost = decorator_swallows(node, self.scope)
        return place.spoilt("RED404", "fails inside a decorator that catches the failure") if lost else place

    def body(self, statements: list[ast.stmt], place: _Place) -> Iterator[Assertion]:
        for statement in statements:
            yield from self.statement(statement, place)
            if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
                place = place.spoilt("RED416", "stands where the test never comes")
            elif any(isinstance(inner, ast.Return) for inner in own_nodes(statement)):
                place = replace(place.perhaps(), answered=place.answered or self._answer_returns(statement, place))

    def _answer_returns(self, node: ast.stmt, place: _Place) -> bool:
        """`if got is not None: return`, in the test itself, where `got` is what the subject gave."""
        if place.in_helper or not isinstance(node, ast.If) or not isinstance(node.body[-1], ast.Return):
            return False
        if gives_up(node) or parameter_sources(self.scope.test):  # of several examples, some may well go on
            return False
        values = [node.test, *(self.live.bound_once.get(x.id) for x in ast.walk(node.test) if isinstance(x, ast.Name))]
        calls = [x for value in values if value is not None for x in ast.walk(value) if isinstance(x, ast.Call)]
        return any(self.scope.is_subject(dotted(call.func)) for call in calls)

    def statement(self, node: ast.stmt, place: _Place) -> Iterator[Assertion]:
        if isinstance(node, ast.With | ast.AsyncWith):
            yield from self.with_block(node, place)
        elif isinstance(node, ast.Try):
            yield from self.try_block(node, place)
        elif isinstance(node, ast.If):
            yield from self.branch(node, place)
        elif isinstance(node, ast.For | ast.AsyncFor | ast.While):
            yield from self.loop(node, place)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                yield from self.body(case.body, place.perhaps())
        elif isinstance(node, FunctionNode):
            if node.decorator_list:  # `@app.route("/")` hands it to somebody who calls it
                yield from self.function(node, replace(place.perhaps(), in_helper=True))
        elif not isinstance(node, ast.ClassDef):
            yield from self.simple(node, place)

    def simple(self, node: ast.stmt, place: _Place) -> Iterator[Assertion]:
        if isinstance(node, ast.Assert):
            yield place.assertion(node, node.test)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Compare):
            yield place.spoilt("RED401", "compares, but asserts nothing").assertion(node)
        elif isinstance(node, ast.Return) and isinstance(node.value, ast.Compare | ast.BoolOp) and not place.in_helper:
            yield place.spoilt("RED403", "returns the comparison: pytest ignores it").assertion(node)
        elif isinstance(node, ast.Raise) and "AssertionError" in ast.dump(node):
            yield place.assertion(node, ast.copy_location(ast.Constant(value=False), node))
        if drops_exceptions(node):
            place = place.spoilt("RED404", "fails in a task whose exception is dropped")
        for call in [inner for inner in own_nodes(node) if isinstance(inner, ast.Call)]:
            idle = isinstance(node, ast.Expr) and node.value is call and self._is_coroutine(call)
            reason = "is in a coroutine that nobody awaits"
            yield from self.call(call, place.spoilt("RED416", reason) if idle else place)

    def _is_coroutine(self, call: ast.Call) -> bool:
        name = dotted(call.func)
        return isinstance(self.nested.get(name) or self.scope.helpers.get(name), ast.AsyncFunctionDef)

    # --- blocks ---

    def branch(self, node: ast.If, place: _Place) -> Iterator[Assertion]:
        never = isinstance(node.test, ast.Constant) and not node.test.value
        debug = "__debug__" in {inner.id for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
        inside = replace(place.perhaps(), asked=(*place.asked, ast.dump(node.test)))
        if _is_off(node.test, place.off):
            inside = inside.spoilt("RED416", f"stands under `{ast.unparse(node.test)}`, which no call sets")
        elif never or dotted(node.test).endswith("TYPE_CHECKING"):
            inside = inside.spoilt("RED416", "stands under a condition that never holds")
        elif debug:
            inside = inside.spoilt("RED414", "runs only while Python's own asserts are on")
        if _fails_at_the_end(node):
            yield place.assertion(node, _denied(node.test))
        yield from self.body(node.body, inside)
        yield from self.body(node.orelse, place.perhaps())

    def loop(self, node: ast.For | ast.AsyncFor | ast.While, place: _Place) -> Iterator[Assertion]:
        over = node.test if isinstance(node, ast.While) else node.iter
        empty = not isinstance(node, ast.While) and is_empty(over)
        never = isinstance(node, ast.While) and isinstance(over, ast.Constant) and not over.value
        inside = replace(place.perhaps(), over_answer=place.over_answer or self._is_answer(over))
        yield from self.body(node.body, inside.spoilt("RED416", "loops over nothing") if empty or never else inside)
        yield from self.body(node.orelse, inside)

    def _is_answer(self, over: ast.expr) -> bool:
        """What the subject gave, by itself or in one of the built-ins that one loops with."""
        value = self.live.bound_once.get(over.id, over) if isinstance(over, ast.Name) else over
        if isinstance(value, ast.Name) or not isinstance(value, ast.Call):
            return False
        name = dotted(value.func)
        if name in {"sorted", "list", "enumerate", "reversed", "set", "tuple"}:
            return bool(value.args) and self._is_answer(value.args[0])
        return self.scope.is_subject(name) and not name.rpartition(".")[2][:1].isupper()

    def try_block(self, node: ast.Try, place: _Place) -> Iterator[Assertion]:
        inside = place.perhaps()
        if is_content_with_any(node, self.visited[-1]) and any(self.live.is_live(line) for line in node.body):
            yield place.spoilt("RED406", "is content with any failure at all").assertion(node)
        swallowed = any(swallows(handler) for handler in node.handlers) or leaves_at_the_end(node)
        reason = "fails inside a `try` that catches the failure"
        yield from self.body(node.body, inside.spoilt("RED404", reason) if swallowed else inside)
        guarded = any(gives_up(statement) for statement in (*node.body[-1:], *node.orelse))
        handled = (
            inside if guarded else inside.spoilt("RED416", "runs only if an exception comes, and nothing asks for one")
        )
        for handler in node.handlers:
            yield from self.body(handler.body, handled)
        yield from self.body(node.orelse, inside)
        yield from self.body(node.finalbody, place)

    def with_block(self, node: ast.With | ast.AsyncWith, place: _Place) -> Iterator[Assertion]:
        inside = place
        for item in node.items:
            call = item.context_expr
            if isinstance(call, ast.Call) and self._demands_exception(call):
                yield from self.raising(node, item, call, place)
                inside = inside.perhaps()
                if self._caught(call) & BROAD:
                    inside = inside.spoilt("RED404", "fails inside `raises`, which catches the failure")
            elif manager_swallows(call, item.optional_vars, node.body, self.scope):
                inside = inside.spoilt("RED404", f"fails inside `{ast.unparse(call)}`, which drops the failure")
            elif isinstance(call, ast.Name) and self._may_be_raises(call.id):
                yield place.assertion(node)
            elif isinstance(call, ast.Call):
                yield from self.call(call, place)
        yield from self.body(node.body, inside)

    def _may_be_raises(self, name: str) -> bool:
        source = parameter_sources(self.scope.test).get(name)
        return source is not None and "raises" in ast.dump(source)

    def _demands_exception(self, call: ast.Call) -> bool:
        name = resolve(dotted(call.func), self.scope.imports)
        if name in {"pytest.raises", "pytest.warns", "pytest.deprecated_call"}:
            return True
        return name.startswith("self.assert") and name.rpartition(".")[2][6:].startswith(("Raises", "Warns", "Logs"))

    def raising(
        self, node: ast.With | ast.AsyncWith, item: ast.withitem, call: ast.Call, place: _Place
    ) -> Iterator[Assertion]:
        asserts = any(isinstance(inner, ast.Assert) for statement in node.body for inner in ast.walk(statement))
        broad = self._caught(call) & (BROAD if asserts else BROAD - {"AssertionError"}) or self._any_of_many(call)
        told = any(keyword.arg in {"match", "check"} for keyword in call.keywords) or self._used_after(
            item.optional_vars, node
        )
        if broad and not told:
            place = place.spoilt("RED406", f"`raises({min(broad)})` is content with any failure at all")
        elif not place.in_helper and not any(self.live.is_live(x) for x in (*node.body, *node.items) if x is not item):
            place = place.spoilt("RED401", "the block that must raise does not call the subject")
        yield place.assertion(node)

    def _used_after(self, name: ast.expr | None, node: ast.stmt) -> bool:
        if name is None:
            return False
        homes = [function for function in self.visited if any(inner is node for inner in ast.walk(function))]
        uses = [x for home in homes for x in ast.walk(home) if isinstance(x, ast.Name) and x.id == dotted(name)]
        return any(use.lineno > (node.end_lineno or 0) for use in uses)

    # --- calls ---

    def call(self, call: ast.Call, place: _Place) -> Iterator[Assertion]:
        name = dotted(call.func)
        last = call.func.attr if isinstance(call.func, ast.Attribute) else name
        target = self.nested.get(name) or self.scope.helpers.get(name) or self._method(call)
        if target is not None:
            yield from self.function(target, replace(place, in_helper=True, off=_left_off(target, call), asked=()))
        elif resolve(name, self.scope.imports) == "pytest.fail":
            yield place.assertion(call, ast.copy_location(ast.Constant(value=False), call))
        elif self._demands_exception(call):
            if len(call.args) > 1:
                yield self._raised_by_call(call, place).assertion(call)
        elif last.startswith("assert") and not self.scope.is_subject(name):
            if last in {"assertTrue", "assertFalse"} and _is_no_message(call.args[1:2]):
                place = place.spoilt("RED402", f"`{last}` takes its second argument for a message and compares nothing")
            yield place.assertion(call, _unittest_expression(call, last))
        elif last.startswith(_CHECKING) and name.partition(".")[0] in self._handed_in():
            yield place.assertion(call)
        yield from self.callbacks(call, last, place)

    def _method(self, call: ast.Call) -> FunctionNode | None:
        """Of an object of the tests' own that holds the answer: `that(compass(0)).equals("N")`."""
        if not isinstance(call.func, ast.Attribute):
            return None
        root = root_of(call.func)
        root = root_of(self.live.bound_once[root]) if root in self.live.bound_once else root
        maker = self.nested.get(root) or self.scope.helpers.get(root)
        named = {x.id for x in ast.walk(maker) if isinstance(x, ast.Name)} if maker else {root}
        owners = [self.scope.suite.classes[each] for each in sorted(named) if each in self.scope.suite.classes]
        methods = [method for owner in owners for name, method in functions_in(owner.body) if name == call.func.attr]
        return methods[0] if methods else None

    def _raised_by_call(self, call: ast.Call, place: _Place) -> _Place:
        """`raises(Exception, earn, None)`, with nobody looking at what was raised."""
        alone = any(isinstance(x, ast.Expr) and x.value is call for home in self.visited for x in ast.walk(home))
        broad = self._caught(call) & (BROAD - {"AssertionError"}) or self._any_of_many(call)
        told = any(keyword.arg in {"match", "check"} for keyword in call.keywords)
        if not broad or not alone or told:
            return place
        return place.spoilt("RED406", f"`raises({min(broad)})` is content with any failure at all")

    def _any_of_many(self, call: ast.Call) -> set[str]:
        """`raises((ValueError, TypeError, KeyError))`: whatever goes wrong, one of these is it."""
        usual = self._caught(call) & _USUAL_ERRORS
        return {", ".join(sorted(usual))} if len(usual) >= MANY_ERRORS and usual & _ANYBODYS else set()

    def _caught(self, call: ast.Call) -> set[str]:
        """With `Problem = Exception` at the top of the module seen through."""
        plain = {
            dotted(node.targets[0]): dotted(node.value)
            for node in self.scope.module.tree.body
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        }
        return {plain.get(name, name) for name in caught(_expected(call))}

    def _handed_in(self) -> set[str]:
        return {argument.arg for argument in self.scope.test.node.args.args}

    def callbacks(self, call: ast.Call, last: str, place: _Place) -> Iterator[Assertion]:
        """Functions of the test that something else will call."""
        for value in (*call.args, *(keyword.value for keyword in call.keywords)):
            target = self.nested.get(dotted(value)) or self.scope.helpers.get(dotted(value))
            if target is None:
                continue
            lost = last in _THREADS or (last == "submit" and ".result(" not in ast.unparse(self.scope.test.node))
            kept = any(isinstance(inner, ast.ExceptHandler) and not swallows(inner) for inner in ast.walk(target))
            reason = "fails in another thread, where pytest does not look"
            inside = replace(place.perhaps(), in_helper=True)
            yield from self.function(target, inside.spoilt("RED408", reason) if lost and not kept else inside)


def _left_off(node: FunctionNode, call: ast.Call) -> frozenset[str]:
    """Parameters that this call does not give and that are false by default: `strict=False`."""
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


def _is_off(test: ast.expr, off: frozenset[str]) -> bool:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(_is_off(value, off) for value in test.values)
    return isinstance(test, ast.Name) and test.id in off


def _fails_at_the_end(node: ast.If) -> bool:
    """`if got != 5: self.fail(…)`, as tests of unittest put it."""
    match node.body[-1]:
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="fail"))):
            return True
    return False


def _denied(test: ast.expr) -> ast.expr:
    """What would have to be asserted instead: `got == 5` for `if got != 5`."""
    match test:
        case ast.Compare(ops=[ast.NotEq()]):
            return ast.copy_location(ast.Compare(left=test.left, ops=[ast.Eq()], comparators=test.comparators), test)
        case ast.UnaryOp(op=ast.Not()):
            return test.operand
    return ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=test), test)


def _expected(call: ast.Call) -> list[ast.expr]:
    return [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "expected_exception")]


def _is_no_message(told: list[ast.expr]) -> bool:
    """A number or a list where a text belongs: `assertTrue(total, 3)` was meant to compare."""
    return any(
        isinstance(x, ast.List | ast.Tuple | ast.Dict | ast.Set | ast.UnaryOp)
        or (isinstance(x, ast.Constant) and x.value is not None and not isinstance(x.value, str))
        for x in told
    )


def _unittest_expression(call: ast.Call, name: str) -> ast.expr | None:
    """`self.assertEqual(a, b)` as `a == b`, so that the same rules read both."""
    if name == "assertTrue" and call.args:
        return call.args[0]
    if name == "assertFalse" and call.args:
        return ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=call.args[0]), call)
    if name in {"assertIsNone", "assertIsNotNone"} and call.args:
        op = ast.Is() if name == "assertIsNone" else ast.IsNot()
        return ast.copy_location(ast.Compare(left=call.args[0], ops=[op], comparators=[ast.Constant(None)]), call)
    if name == "assertAlmostEqual" and (limit := _tolerance(call)) is not None:
        gap = ast.BinOp(left=call.args[0], op=ast.Sub(), right=call.args[1])
        distance = ast.Call(func=ast.Name("abs", ast.Load()), args=[gap], keywords=[])
        return ast.fix_missing_locations(
            ast.copy_location(ast.Compare(left=distance, ops=[ast.LtE()], comparators=[limit]), call)
        )
    if name in _UNITTEST_COMPARES and len(call.args) >= 2:
        compare = ast.Compare(left=call.args[0], ops=[_UNITTEST_COMPARES[name]()], comparators=[call.args[1]])
        return ast.copy_location(compare, call)
    return None


def _tolerance(call: ast.Call) -> ast.expr | None:
    """What `assertAlmostEqual` lets pass, where it is told: `delta=5`, or `places=-2` for hundreds."""
    told = {keyword.arg: keyword.value for keyword in call.keywords}
    if len(call.args) < 2:
        return None
    if "delta" in told:
        return told["delta"]
    places = number(told["places"]) if "places" in told else UNKNOWN
    return ast.Constant(10**-places / 2) if isinstance(places, int) and -_MAX_PLACES < places < 0 else None
