"""Collects the definitions in a test file besides its tests and checks whether a change to one is compatible."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prd2pr.languages.python.test_model.module import FunctionNode, is_fixture, is_test_case, unparse_node
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

DefinedValue = str | ast.expr | FunctionNode  # source of an import, assigned expression, or function


@dataclass(frozen=True)
class Definition:
    """A name bound in a test file."""

    name: str
    line: int
    value: DefinedValue


def collect_definitions(body: Sequence[ast.stmt], naming: TestNaming = DEFAULT_NAMING) -> dict[str, list[Definition]]:
    """Map each name to all of its definitions in order. Members are qualified by their class."""
    found: dict[str, list[Definition]] = {}
    for each in _iterate_definitions(body, "", naming):
        found.setdefault(each.name, []).append(each)
    return found


def iterate_module_statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run on import, including those inside `if`, `try` and `with`."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(node, part, []):
                    yield from iterate_module_statements(
                        inner.body if isinstance(inner, ast.ExceptHandler) else [inner]
                    )


def _iterate_definitions(body: Sequence[ast.stmt], prefix: str, naming: TestNaming) -> Iterator[Definition]:
    for node in iterate_module_statements(body):
        if isinstance(node, FunctionNode):
            if not naming.is_function(node.name) or is_fixture(node):
                yield Definition(prefix + node.name, node.lineno, node)
        elif isinstance(node, ast.ClassDef):
            header = ast.Call(ast.Name(node.name), [*node.bases, *node.decorator_list], node.keywords)
            yield Definition(prefix + node.name, node.lineno, header)
            yield from _iterate_definitions(node.body, f"{prefix}{node.name}.", _get_naming_in_class(node, naming))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (Definition(prefix + name, node.lineno, where) for name, where in _list_imported_names(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)]
            yield from (Definition(prefix + name, node.lineno, node.value) for name in names)


def _get_naming_in_class(node: ast.ClassDef, naming: TestNaming) -> TestNaming:
    return DEFAULT_NAMING if is_test_case(node, {}) else naming


def _list_imported_names(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, f"{'.' * node.level}{node.module or ''}:{alias.name}"
        elif alias.asname:
            yield alias.asname, f":{alias.name}"
        else:
            yield alias.name.partition(".")[0], f":{alias.name.partition('.')[0]}"


# --- compatibility ----------------------------------------------------------------------------------------------------


def is_compatible_extension(old: DefinedValue, new: DefinedValue) -> bool:
    """Return whether the new definition behaves the same for users of the old one."""
    if isinstance(old, str) or isinstance(new, str):
        return isinstance(old, str) and isinstance(new, str) and _is_same_origin(old, new)
    if isinstance(old, FunctionNode) or isinstance(new, FunctionNode):
        return isinstance(old, FunctionNode) and isinstance(new, FunctionNode) and _is_extended_function(old, new)
    return _is_same_code(old, new) or _is_extended_literal(old, new)


def _is_same_origin(old: str, new: str) -> bool:
    """Return whether both import the same name, either from its module or from a package above that re-exports it."""
    (before, name), (after, other) = old.split(":"), new.split(":")
    reexported = f"{before}.".startswith(f"{after}.") or f"{after}.".startswith(f"{before}.")
    return old == new or (name == other and bool(before and after) and reexported)


def _is_same_code(old: ast.AST, new: ast.AST) -> bool:
    return ast.dump(old) == ast.dump(new)


def _is_extended_literal(old: ast.expr, new: ast.expr) -> bool:
    """Return whether only list items or dictionary keys were added."""
    if isinstance(old, ast.Dict) and isinstance(new, ast.Dict):
        before, after = (list(zip(map(_dump, each.keys), map(_dump, each.values), strict=True)) for each in (old, new))
        keys = [key for key, _ in after]
        return set(before) <= set(after) and len(keys) == len(set(keys))
    if isinstance(old, ast.List | ast.Tuple | ast.Set) and type(old) is type(new):
        return {*map(_dump, old.elts)} <= {*map(_dump, getattr(new, "elts", []))} and bool(old.elts)
    return False


def _dump(node: ast.AST | None) -> str:
    return ast.dump(node) if node is not None else ""


def _is_extended_function(old: FunctionNode, new: FunctionNode) -> bool:
    """Return whether only optional parameters were added and the behavior without them is unchanged."""
    if type(old) is not type(new) or [*map(_dump, old.decorator_list)] != [*map(_dump, new.decorator_list)]:
        return False
    before, after = _read_parameters(old.args), _read_parameters(new.args)
    if any(name not in after or after[name] != default for name, default in before.items()):
        return False
    if [name for name in after if name in before] != list(before):
        return False
    added = {name: default for name, default in after.items() if name not in before}
    if not is_fixture(new) and any(default is None for default in added.values()):
        return False
    return _is_extended_body(_normalize_body(old, {}), _normalize_body(new, added), added)


def _read_parameters(arguments: ast.arguments) -> dict[str, str | None]:
    """Map each parameter to the source of its default, or None if it has no default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = [None] * (len(positional) - len(arguments.defaults))
    pairs = [
        *zip(positional, [*missing, *arguments.defaults], strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    found: dict[str, str | None] = {each.arg: unparse_node(default) if default else None for each, default in pairs}
    stars = [("*", arguments.vararg), ("**", arguments.kwarg)]
    return found | {sign + each.arg: "" for sign, each in stars if each}


def _normalize_body(node: FunctionNode, added: Mapping[str, str | None]) -> list[ast.stmt]:
    """Return the statements without docstring, assertion messages and new parameters that are only passed on."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    statements = ast.parse("\n".join(unparse_node(statement) for statement in body)).body
    for inner in (inner for statement in statements for inner in ast.walk(statement)):
        if isinstance(inner, ast.Assert):
            inner.msg = None
    for statement in statements:
        nodes = [] if isinstance(statement, ast.Assert) else list(ast.walk(statement))
        for call in (inner for inner in nodes if isinstance(inner, ast.Call)):
            call.keywords = [item for item in call.keywords if not _is_passed_through(item, added)]
    return statements


def _is_passed_through(item: ast.keyword, added: Mapping[str, str | None]) -> bool:
    return item.arg is not None and isinstance(item.value, ast.Name) and item.value.id in added


def _is_extended_body(old: list[ast.stmt], new: list[ast.stmt], added: Mapping[str, str | None]) -> bool:
    remaining = list(old)
    for statement in new:
        if remaining and _is_same_code(remaining[0], statement):
            remaining.pop(0)
        elif not _is_opt_in_branch(statement, added):
            return False
    return not remaining


def _is_opt_in_branch(statement: ast.stmt, added: Mapping[str, str | None]) -> bool:
    """Return whether a branch such as `if discount:` depends on a new parameter that is empty by default.

    Existing callers never execute such a branch.
    """
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    test = statement.test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) and len(test.ops) == 1:
        is_none = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
        return is_none and isinstance(test.left, ast.Name) and added.get(test.left.id) == "None"
    return isinstance(test, ast.Name) and added.get(test.id) in {"None", "False", "''", "0", "()"}
