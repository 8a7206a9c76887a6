"""What an expression over literals comes to, where built-ins without side effects alone decide it."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Any

from prd2pr.core.testfacts_model import dotted

UNTOLD = object()
_MANY = 2000  # items; nobody writes more by hand, and nothing here shall take long
_STEPS = 200_000  # parts that are looked at, and items that are put together, for one value
_BITS = 4096  # of a whole number
_BUILTINS: dict[str, Callable[..., Any]] = {
    **{kind.__name__: kind for kind in (list, tuple, set, frozenset, dict, str, int, bool, range)},
    **{function.__name__: function for function in (len, sorted, zip, enumerate, reversed, any, all, min, max, sum)},
    "itertools.product": product,
    "product": product,
    "itertools.islice": islice,
    "islice": islice,
}
_METHODS: dict[type, frozenset[str]] = {
    dict: frozenset({"items", "keys", "values", "get"}),
    str: frozenset({"split", "splitlines", "strip", "startswith", "endswith", "lower", "upper", "isdigit", "isalpha"}),
    list: frozenset({"copy", "count", "index"}),
}
_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
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


class _Untold(Exception):
    """Something else than literals has a say."""


def value_of(node: ast.expr, names: Mapping[str, ast.expr]) -> Any:
    """The value, or `UNTOLD`. `names`: what the module's constants stand for."""
    try:
        return _Values(names).of(node)
    except (_Untold, ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError):
        return UNTOLD


class _Patience:
    """Short texts may stand for endless work: names that lean twice on names that lean twice …"""

    def __init__(self) -> None:
        self._left = _STEPS

    def take(self, steps: int = 1) -> None:
        self._left -= steps
        if self._left < 0:
            raise _Untold


@dataclass(frozen=True)
class _Values:
    names: Mapping[str, ast.expr]
    local: Mapping[str, Any] = field(default_factory=dict)
    patience: _Patience = field(default_factory=_Patience)

    def of(self, node: ast.expr) -> Any:
        self.patience.take()
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._named(node.id)
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            return self._display(node)
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            return [inner.of(node.elt) for inner in self._rounds(node.generators)]
        if isinstance(node, ast.Call):
            return self._called(node)
        return self._operation(node)

    def _named(self, name: str) -> Any:
        if name in self.local:
            return self.local[name]
        if name not in self.names:
            raise _Untold
        rest = {key: value for key, value in self.names.items() if key != name}
        return _Values(rest, {}, self.patience).of(self.names[name])

    def _with(self, local: Mapping[str, Any]) -> _Values:
        return _Values(self.names, {**self.local, **local}, self.patience)

    def _display(self, node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> Any:
        if isinstance(node, ast.Dict):
            if None in node.keys:
                raise _Untold
            return {self.of(key): self.of(value) for key, value in zip(node.keys, node.values, strict=True) if key}
        items: list[Any] = []
        for item in node.elts:
            part = self.of(item.value) if isinstance(item, ast.Starred) else [self.of(item)]
            self.patience.take(len(part))
            items.extend(part)
        kind = {ast.List: list, ast.Tuple: tuple, ast.Set: set}[type(node)]
        return kind(items)

    def _operation(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return _COMPARES[type(node.ops[0])](self.of(node.left), self.of(node.comparators[0]))
        if isinstance(node, ast.BoolOp):
            values = [self.of(value) for value in node.values]
            return all(values) if isinstance(node.op, ast.And) else any(values)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
            value = self.of(node.operand)
            return not value if isinstance(node.op, ast.Not) else -value
        if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
            return _bounded(type(node.op), self.of(node.left), self.of(node.right))
        if isinstance(node, ast.Subscript):
            return self.of(node.value)[self._place(node.slice)]
        raise _Untold

    def _place(self, node: ast.expr) -> Any:
        if not isinstance(node, ast.Slice):
            return self.of(node)
        return slice(*(self.of(end) if end is not None else None for end in (node.lower, node.upper, node.step)))

    def _called(self, node: ast.Call) -> Any:
        if node.keywords:
            raise _Untold
        name = dotted(node.func)
        if name in {"filter", "map"} and len(node.args) == 2 and name not in self.names:
            return list(self._mapped(name, node.args[0], list(self.of(node.args[1]))))
        arguments = [self.of(argument) for argument in node.args]
        if name in _BUILTINS and name not in self.names and name not in self.local:
            if name == "range" and len(range(*arguments)) > _MANY:
                raise _Untold
            made = _BUILTINS[name](*arguments)
            return list(islice(made, _MANY)) if hasattr(made, "__next__") else made
        if not isinstance(node.func, ast.Attribute):
            raise _Untold
        owner = self.of(node.func.value)
        if node.func.attr not in _METHODS.get(type(owner), frozenset()):
            raise _Untold
        return getattr(owner, node.func.attr)(*arguments)

    def _mapped(self, name: str, function: ast.expr, items: list[Any]) -> Iterator[Any]:
        for item in items:
            if isinstance(function, ast.Constant) and function.value is None:
                made = item
            elif isinstance(function, ast.Lambda) and len(function.args.args) == 1:
                made = self._with({function.args.args[0].arg: item}).of(function.body)
            else:
                raise _Untold
            if name == "map":
                yield made
            elif made:
                yield item

    def _rounds(self, loops: list[ast.comprehension]) -> Iterator[_Values]:
        if not loops:
            yield self
            return
        loop = loops[0]
        for item in self.of(loop.iter):
            self.patience.take()
            inner = self._with(_bound(loop.target, item))
            if all(inner.of(test) for test in loop.ifs):
                yield from inner._rounds(loops[1:])


def _bound(target: ast.expr, item: Any) -> dict[str, Any]:
    if isinstance(target, ast.Name):
        return {target.id: item}
    if not isinstance(target, ast.Tuple | ast.List):
        raise _Untold
    pairs = zip(target.elts, item, strict=True)
    return {name: value for inner, part in pairs for name, value in _bound(inner, part).items()}


def _bounded(kind: type[ast.operator], left: Any, right: Any) -> Any:
    """No text or list that grows beyond measure, and no formatting."""
    sizes = [each if isinstance(each, int) else len(each) if hasattr(each, "__len__") else 1 for each in (left, right)]
    if kind is ast.Mult and abs(sizes[0] * sizes[1]) > _MANY and not all(isinstance(x, int) for x in (left, right)):
        raise _Untold
    if kind is ast.Mult and all(isinstance(x, int) and x.bit_length() > _BITS for x in (left, right)):
        raise _Untold
    if kind is ast.Mod and isinstance(left, str | bytes):
        raise _Untold
    return _BINARY[kind](left, right)
