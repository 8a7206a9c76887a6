"""GRN405: equality methods that do not compare, so that every assertion passes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from prd2pr.domain.results.finding_kind import FindingKind, define_error
from prd2pr.languages.python.rules.source_code.source_module import SourceFault, SourceModule, make_source_fault
from prd2pr.languages.python.test_model.constants import get_constant_text
from prd2pr.languages.python.test_model.module import FunctionNode, get_dotted_name, unparse_node

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "GRN405",
        "equality ignores the other value",
        "An `__eq__` that is always true makes every comparison in every test pass.",
        bad="class Points:\n    def __eq__(self, other):\n        return True",
        good="class Points:\n"
        "    def __init__(self, number):\n"
        "        self.number = number\n"
        "\n"
        "    def __eq__(self, other):\n"
        "        return isinstance(other, Points) and self.number == other.number",
        remedy="compare the values that make two objects equal.",
    ),
)


_EQUALITY_METHODS = frozenset({"__eq__", "__ne__"})
_VALUES = "int float str bytes list tuple dict set frozenset Decimal Fraction NamedTuple date datetime timedelta"
_COLLECTIONS = "UserDict UserList UserString OrderedDict defaultdict Counter deque"
_VALUE_TYPES = frozenset(f"{_VALUES} {_COLLECTIONS}".split())


def check_equality(module: SourceModule) -> Iterator[SourceFault]:
    for owner in (node for node in module.nodes if isinstance(node, ast.ClassDef)):
        for item in owner.body:
            compares = _get_equality_method(item)
            if compares is None:
                continue
            name, function = compares
            if ignores_other_value(function):
                yield make_source_fault(
                    "GRN405", item, f"`{owner.name}.{name}` ignores the value that it is compared with"
                )
            elif _ignores_self(function, owner.name) or (_has_values(owner) and _compares_no_value(function)):
                yield make_source_fault("GRN405", item, f"`{owner.name}.{name}` ignores the object's own values")
        if _compares_no_field(owner, module):
            yield make_source_fault("GRN405", owner, f"`{owner.name}` excludes all of its fields from the comparison")
    for name, function in _find_assigned_equality(module):
        if ignores_other_value(function):
            yield make_source_fault("GRN405", function, f"`{name}` ignores the value that it is compared with")


def _get_equality_method(item: ast.stmt) -> tuple[str, FunctionNode | ast.Lambda] | None:
    if isinstance(item, FunctionNode) and item.name in _EQUALITY_METHODS:
        return item.name, item
    if (
        isinstance(item, ast.Assign)
        and get_dotted_name(item.targets[0]) in _EQUALITY_METHODS
        and isinstance(item.value, ast.Lambda)
    ):
        return get_dotted_name(item.targets[0]), item.value
    return None


def _find_assigned_equality(module: SourceModule) -> Iterator[tuple[str, FunctionNode | ast.Lambda]]:
    """Yield equality methods that are assigned outside their class.

    Examples are `setattr(N, "__eq__", …)`, `N.__eq__ = …` and `type("N", …)`.
    """
    functions = {node.name: node for node in module.tree.body if isinstance(node, FunctionNode)}
    for node in module.nodes:
        pairs: list[tuple[str, ast.expr]] = []
        if (
            isinstance(node, ast.Call)
            and get_dotted_name(node.func) in {"setattr", "type.__setattr__"}
            and len(node.args) == 3
        ):
            pairs = [(get_constant_text(node.args[1]), node.args[2])]
        elif isinstance(node, ast.Dict):
            pairs = [(get_constant_text(k), v) for k, v in zip(node.keys, node.values, strict=True) if k is not None]
        elif isinstance(node, ast.Assign):
            pairs = [(target.attr, node.value) for target in node.targets if isinstance(target, ast.Attribute)]
        for name, value in pairs:
            target = functions.get(get_dotted_name(value)) or value
            if name in _EQUALITY_METHODS and isinstance(target, FunctionNode | ast.Lambda):
                yield name, target


def ignores_other_value(node: FunctionNode | ast.Lambda) -> bool:
    parameters = [*node.args.posonlyargs, *node.args.args]
    if len(parameters) < 2:
        return True
    values = _walk_body(node)
    returned = [x.value for x in values if isinstance(x, ast.Return)] if isinstance(node, FunctionNode) else [node.body]
    if returned and all(isinstance(value, ast.Constant) and value.value is True for value in returned):
        return True
    raises = any(isinstance(inner, ast.Raise) for inner in values)
    return not raises and parameters[1].arg not in {inner.id for inner in values if isinstance(inner, ast.Name)}


def _ignores_self(node: FunctionNode | ast.Lambda, owner: str) -> bool:
    """Return whether the method ignores the values of `self`, as in `return other is not None`.

    A class without values may compare only types.
    """
    parameters = [*node.args.posonlyargs, *node.args.args]
    values = _walk_body(node)
    names = {inner.id for inner in values if isinstance(inner, ast.Name)}
    if any(isinstance(inner, ast.Raise) for inner in values) or names & {"super", "NotImplemented"}:
        return False
    return not names & {parameters[0].arg, owner, "__class__"}


def _compares_no_value(node: FunctionNode | ast.Lambda) -> bool:
    """Return whether the method compares only types, as in `return isinstance(other, Point)`."""
    parameters = [*node.args.posonlyargs, *node.args.args]
    values = _walk_body(node)
    if any(isinstance(inner, ast.Raise) for inner in values):
        return False
    bare = {id(each) for inner in values for each in _list_type_checks(inner)}
    own = {parameters[0].arg, "super", "__class__"}
    return not any(isinstance(each, ast.Name) and each.id in own and id(each) not in bare for each in values)


def _list_type_checks(node: ast.AST) -> list[ast.expr]:
    """Return the nodes whose type or identity is checked, as in `isinstance(self, Point)` and `self is other`."""
    if isinstance(node, ast.Call) and get_dotted_name(node.func) in {"isinstance", "type", "id"}:
        return node.args[:1] if get_dotted_name(node.func) == "isinstance" else node.args
    if isinstance(node, ast.Attribute) and node.attr == "__class__":
        return [node.value]
    if isinstance(node, ast.Compare) and all(isinstance(each, ast.Is | ast.IsNot) for each in node.ops):
        return [node.left, *node.comparators]
    return []


def _has_values(owner: ast.ClassDef) -> bool:
    """Return whether the class extends a value type, declares fields, or sets attributes on its instances."""
    if {get_dotted_name(base).rpartition(".")[2] for base in owner.bases} & _VALUE_TYPES:
        return True
    if any(isinstance(item, ast.AnnAssign) and "ClassVar" not in unparse_node(item.annotation) for item in owner.body):
        return True
    return any(
        isinstance(inner, ast.Attribute) and isinstance(inner.ctx, ast.Store) and get_dotted_name(inner.value) == "self"
        for item in owner.body
        if isinstance(item, FunctionNode)
        for inner in ast.walk(item)
    )


def _compares_no_field(owner: ast.ClassDef, module: SourceModule) -> bool:
    """Return whether a dataclass has `compare=False` on every field and does not define `__eq__`."""
    marks = [each.func if isinstance(each, ast.Call) else each for each in owner.decorator_list]
    if not any(module.resolve(mark).rpartition(".")[2] in {"dataclass", "define", "frozen"} for mark in marks):
        return False
    fields = [item for item in owner.body if isinstance(item, ast.AnnAssign)]
    own = any(isinstance(item, FunctionNode) and item.name == "__eq__" for item in owner.body)
    return bool(fields) and not own and not owner.bases and all(_is_excluded_field(item.value) for item in fields)


def _is_excluded_field(value: ast.expr | None) -> bool:
    named = value.keywords if isinstance(value, ast.Call) else []
    return any(
        each.arg in {"compare", "eq"} and isinstance(each.value, ast.Constant) and each.value.value is False
        for each in named
    )


def _walk_body(node: FunctionNode | ast.Lambda) -> list[ast.AST]:
    body = node.body if isinstance(node.body, list) else [node.body]
    return [inner for statement in body for inner in ast.walk(statement)]
