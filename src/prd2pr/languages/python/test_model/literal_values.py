"""Evaluates expressions of literals and pure built-ins, within limits."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any

from prd2pr.languages.python.test_model.module import get_dotted_name

NOT_EVALUATED = object()
_MAX_ITEMS = 2000  # more than anyone writes by hand
_MAX_STEPS = 200_000  # visited nodes and created items per value
_MAX_BITS = 4096  # bits of an integer
_BUILTINS: dict[str, Callable[..., Any]] = {
    **{kind.__name__: kind for kind in (list, tuple, set, frozenset, dict, str, int, bool, range)},
    **{function.__name__: function for function in (len, sorted, zip, enumerate, reversed, any, all, min, max, sum)},
    "itertools.product": product,
    "product": product,
    "itertools.islice": islice,
    "islice": islice,
}
_PURE_METHODS: dict[type, frozenset[str]] = {
    dict: frozenset({"items", "keys", "values", "get"}),
    str: frozenset({"split", "splitlines", "strip", "startswith", "endswith", "lower", "upper", "isdigit", "isalpha"}),
    list: frozenset({"copy", "count", "index"}),
}
_BINARY_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.BitAnd: operator.and_,
}
_COMPARES: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}


class _NotEvaluated(Exception):
    """Raised when a value depends on more than literals or exceeds a limit."""


def evaluate_literals(node: ast.expr, names: Mapping[str, ast.expr]) -> Any:
    """Return the value, or `NOT_EVALUATED`. `names` maps the module's constants to their expressions."""
    try:
        return _Evaluator(names).evaluate(node)
    except (_NotEvaluated, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return NOT_EVALUATED


class _StepLimit:
    """Limits the work for one value, which can grow exponentially when names use other names twice."""

    def __init__(self) -> None:
        self._remaining = _MAX_STEPS

    def take(self, steps: int = 1) -> None:
        self._remaining -= steps
        if self._remaining < 0:
            raise _NotEvaluated


@dataclass(frozen=True)
class _Evaluator:
    names: Mapping[str, ast.expr]
    local: Mapping[str, Any] = field(default_factory=dict)
    limit: _StepLimit = field(default_factory=_StepLimit)

    def evaluate(self, node: ast.expr) -> Any:
        self.limit.take()
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._evaluate_name(node.id)
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            return self._evaluate_display(node)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return [inner.evaluate(node.elt) for inner in self._iterate_comprehension(node.generators)]
        if isinstance(node, ast.Call):
            return self._evaluate_call(node)
        return self._evaluate_operation(node)

    def _evaluate_name(self, name: str) -> Any:
        if name in self.local:
            return self.local[name]
        if name not in self.names:
            raise _NotEvaluated
        rest = {key: value for key, value in self.names.items() if key != name}
        return _Evaluator(rest, {}, self.limit).evaluate(self.names[name])

    def _with_locals(self, local: Mapping[str, Any]) -> _Evaluator:
        return _Evaluator(self.names, {**self.local, **local}, self.limit)

    def _evaluate_display(self, node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> Any:
        if isinstance(node, ast.Dict):
            if None in node.keys:
                raise _NotEvaluated
            return {
                self.evaluate(key): self.evaluate(value)
                for key, value in zip(node.keys, node.values, strict=True)
                if key
            }
        items: list[Any] = []
        for item in node.elts:
            part = self.evaluate(item.value) if isinstance(item, ast.Starred) else [self.evaluate(item)]
            self.limit.take(len(part))
            items.extend(part)
        kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
        return kind(items)

    def _evaluate_operation(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return _COMPARES[type(node.ops[0])](self.evaluate(node.left), self.evaluate(node.comparators[0]))
        if isinstance(node, ast.BoolOp):
            values = [self.evaluate(value) for value in node.values]
            return all(values) if isinstance(node.op, ast.And) else any(values)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            value = self.evaluate(node.operand)
            return not value if isinstance(node.op, ast.Not) else -value
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY_OPERATORS:
            return _apply_bounded(type(node.op), self.evaluate(node.left), self.evaluate(node.right))
        if isinstance(node, ast.Subscript):
            return self.evaluate(node.value)[self._evaluate_slice(node.slice)]
        raise _NotEvaluated

    def _evaluate_slice(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.Slice):
            return self.evaluate(node)
        return slice(*(self.evaluate(end) if end is not None else None for end in (node.lower, node.upper, node.step)))

    def _evaluate_call(self, node: ast.Call) -> Any:
        if node.keywords:
            raise _NotEvaluated
        name = get_dotted_name(node.func)
        if name in {"filter", "map"} and len(node.args) == 2 and name not in self.names:
            return list(self._evaluate_map(name, node.args[0], list(self.evaluate(node.args[1]))))
        arguments = [self.evaluate(argument) for argument in node.args]
        if name in _BUILTINS and name not in self.names and name not in self.local:
            if name == "range" and len(range(*arguments)) > _MAX_ITEMS:
                raise _NotEvaluated
            made = _BUILTINS[name](*arguments)
            return list(islice(made, _MAX_ITEMS)) if hasattr(made, "__next__") else made
        if not isinstance(node.func, ast.Attribute):
            raise _NotEvaluated
        owner = self.evaluate(node.func.value)
        if node.func.attr not in _PURE_METHODS.get(type(owner), frozenset()):
            raise _NotEvaluated
        return getattr(owner, node.func.attr)(*arguments)

    def _evaluate_map(self, name: str, function: ast.expr, items: list[Any]) -> Iterator[Any]:
        for item in items:
            if isinstance(function, ast.Constant) and function.value is None:
                made = item
            elif isinstance(function, ast.Lambda) and len(function.args.args) == 1:
                made = self._with_locals({function.args.args[0].arg: item}).evaluate(function.body)
            else:
                raise _NotEvaluated
            if name == "map":
                yield made
            elif made:
                yield item

    def _iterate_comprehension(self, loops: list[ast.comprehension]) -> Iterator[_Evaluator]:
        if not loops:
            yield self
            return
        loop = loops[0]
        for item in self.evaluate(loop.iter):
            self.limit.take()
            inner = self._with_locals(_bind_target(loop.target, item))
            if all(inner.evaluate(test) for test in loop.ifs):
                yield from inner._iterate_comprehension(loops[1:])


def _bind_target(target: ast.expr, item: Any) -> dict[str, Any]:
    if isinstance(target, ast.Name):
        return {target.id: item}
    if not isinstance(target, ast.Tuple | ast.List):
        raise _NotEvaluated
    pairs = zip(target.elts, item, strict=True)
    return {name: value for inner, part in pairs for name, value in _bind_target(inner, part).items()}


def _apply_bounded(kind: type[ast.operator], left: Any, right: Any) -> Any:
    """Apply the operator. Raise `_NotEvaluated` if the result would be huge or if the operator formats a string."""
    sizes = [each if isinstance(each, int) else len(each) if hasattr(each, "__len__") else 1 for each in (left, right)]
    if (
        kind is ast.Mult
        and abs(sizes[0] * sizes[1]) > _MAX_ITEMS
        and not all(isinstance(x, int) for x in (left, right))
    ):
        raise _NotEvaluated
    if kind is ast.Mult and all(isinstance(x, int) and x.bit_length() > _MAX_BITS for x in (left, right)):
        raise _NotEvaluated
    if kind is ast.Mod and isinstance(left, str | bytes):
        raise _NotEvaluated
    return _BINARY_OPERATORS[kind](left, right)
