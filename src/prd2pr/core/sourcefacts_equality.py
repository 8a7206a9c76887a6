"""GRN405: equality that does not compare, so that every assertion holds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.core.sourcefacts_subject import Sighting, SourceModule, constant_text, sighting
from prd2pr.core.testfacts_model import FunctionNode, dotted

_EQUALITY = frozenset({"__eq__", "__ne__"})
_VALUES = "int float str bytes list tuple dict set frozenset Decimal Fraction NamedTuple date datetime timedelta"
_COLLECTIONS = "UserDict UserList UserString OrderedDict defaultdict Counter deque"
_KINDS_OF_VALUE = frozenset(f"{_VALUES} {_COLLECTIONS}".split())


def equality_sightings(module: SourceModule) -> Iterator[Sighting]:
    for owner in (node for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)):
        for item in owner.body:
            compares = _comparison(item)
            if compares is None:
                continue
            name, function = compares
            if ignores_other(function):
                yield sighting("GRN405", item, f"`{owner.name}.{name}` does not look at what it is compared with")
            elif _ignores_itself(function, owner.name) or (_has_values(owner) and _looks_at_no_value(function)):
                yield sighting("GRN405", item, f"`{owner.name}.{name}` does not look at the object's own values")
        if _compares_no_field(owner, module):
            yield sighting("GRN405", owner, f"`{owner.name}` leaves all of its fields out of the comparison")
    for name, function in _put_in_later(module):
        if ignores_other(function):
            yield sighting("GRN405", function, f"`{name}` does not look at what it is compared with")


def _comparison(item: ast.stmt) -> tuple[str, FunctionNode | ast.Lambda] | None:
    if isinstance(item, FunctionNode) and item.name in _EQUALITY:
        return item.name, item
    if isinstance(item, ast.Assign) and dotted(item.targets[0]) in _EQUALITY and isinstance(item.value, ast.Lambda):
        return dotted(item.targets[0]), item.value
    return None


def _put_in_later(module: SourceModule) -> Iterator[tuple[str, FunctionNode | ast.Lambda]]:
    """`setattr(N, "__eq__", …)`, `N.__eq__ = …` and `type("N", (), {"__eq__": …})`."""
    functions = {node.name: node for node in module.tree.body if isinstance(node, FunctionNode)}
    for node in ast.walk(module.tree):
        pairs: list[tuple[str, ast.expr]] = []
        if isinstance(node, ast.Call) and dotted(node.func) in {"setattr", "type.__setattr__"} and len(node.args) == 3:
            pairs = [(constant_text(node.args[1]), node.args[2])]
        elif isinstance(node, ast.Dict):
            pairs = [(constant_text(k), v) for k, v in zip(node.keys, node.values, strict=True) if k is not None]
        elif isinstance(node, ast.Assign):
            pairs = [(target.attr, node.value) for target in node.targets if isinstance(target, ast.Attribute)]
        for name, value in pairs:
            target = functions.get(dotted(value)) or value
            if name in _EQUALITY and isinstance(target, FunctionNode | ast.Lambda):
                yield name, target


def ignores_other(node: FunctionNode | ast.Lambda) -> bool:
    parameters = [*node.args.posonlyargs, *node.args.args]
    if len(parameters) < 2:
        return True
    values = _inside(node)
    returned = [x.value for x in values if isinstance(x, ast.Return)] if isinstance(node, FunctionNode) else [node.body]
    if returned and all(isinstance(value, ast.Constant) and value.value is True for value in returned):
        return True
    raises = any(isinstance(inner, ast.Raise) for inner in values)
    return not raises and parameters[1].arg not in {inner.id for inner in values if isinstance(inner, ast.Name)}


def _ignores_itself(node: FunctionNode | ast.Lambda, owner: str) -> bool:
    """`return other is not None`. That the other is of the same class is enough for a class without values."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    values = _inside(node)
    names = {inner.id for inner in values if isinstance(inner, ast.Name)}
    if any(isinstance(inner, ast.Raise) for inner in values) or names & {"super", "NotImplemented"}:
        return False
    return not names & {parameters[0].arg, owner, "__class__"}


def _looks_at_no_value(node: FunctionNode | ast.Lambda) -> bool:
    """`return isinstance(other, Point)`: all points are equal. Of itself it asks at most what it is."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    values = _inside(node)
    if any(isinstance(inner, ast.Raise) for inner in values):
        return False
    bare = {id(each) for inner in values for each in _only_asked_what_it_is(inner)}
    own = {parameters[0].arg, "super", "__class__"}
    return not any(isinstance(each, ast.Name) and each.id in own and id(each) not in bare for each in values)


def _only_asked_what_it_is(node: ast.AST) -> list[ast.expr]:
    """`self` in `isinstance(self, Point)`, `type(self)`, `self.__class__` and `self is other`."""
    if isinstance(node, ast.Call) and dotted(node.func) in {"isinstance", "type", "id"}:
        return node.args[:1] if dotted(node.func) == "isinstance" else node.args
    if isinstance(node, ast.Attribute) and node.attr == "__class__":
        return [node.value]
    if isinstance(node, ast.Compare) and all(isinstance(each, ast.Is | ast.IsNot) for each in node.ops):
        return [node.left, *node.comparators]
    return []


def _has_values(owner: ast.ClassDef) -> bool:
    """It is a kind of value itself, declares fields, or puts something on its instances."""
    if {dotted(base).rpartition(".")[2] for base in owner.bases} & _KINDS_OF_VALUE:
        return True
    if any(isinstance(item, ast.AnnAssign) and "ClassVar" not in ast.unparse(item.annotation) for item in owner.body):
        return True
    return any(
        isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and dotted(inner.value) == "self"
        for item in owner.body
        if isinstance(item, FunctionNode)
        for inner in ast.walk(item)
    )


def _compares_no_field(owner: ast.ClassDef, module: SourceModule) -> bool:
    """A dataclass in which every single field has `compare=False`, and that says nothing of its own about equality."""
    marks = [each.func if isinstance(each, ast.Call) else each for each in owner.decorator_list]
    if not any(module.name(mark).rpartition(".")[2] in {"dataclass", "define", "frozen"} for mark in marks):
        return False
    fields = [item for item in owner.body if isinstance(item, ast.AnnAssign)]
    own = any(isinstance(item, FunctionNode) and item.name == "__eq__" for item in owner.body)
    return bool(fields) and not own and not owner.bases and all(_left_out(item.value) for item in fields)


def _left_out(value: ast.expr | None) -> bool:
    named = value.keywords if isinstance(value, ast.Call) else []
    return any(
        each.arg in {"compare", "eq"} and isinstance(each.value, ast.Constant) and each.value.value is False
        for each in named
    )


def _inside(node: FunctionNode | ast.Lambda) -> list[ast.AST]:
    body = node.body if isinstance(node.body, list) else [node.body]
    return [inner for statement in body for inner in ast.walk(statement)]
