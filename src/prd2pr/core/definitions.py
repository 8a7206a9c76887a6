"""What a test file defines beside its tests, and whether a definition that changed has only grown."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import FunctionNode, is_fixture, is_test_case

Value = str | ast.expr | FunctionNode  # where an import leads, what is assigned, or a function


@dataclass(frozen=True)
class Definition:
    name: str
    line: int
    value: Value


def definitions(body: Sequence[ast.stmt], naming: TestNaming = USUAL) -> dict[str, list[Definition]]:
    """Name -> all that is bound to it, in order. Members of a class have the class before their name."""
    found: dict[str, list[Definition]] = {}
    for each in _bound(body, "", naming):
        found.setdefault(each.name, []).append(each)
    return found


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """What runs on import, inside of `if`, `try` and `with` as well."""
    for node in body:
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "handlers", "orelse", "finalbody"):
                for inner in getattr(node, part, []):
                    yield from statements(inner.body if isinstance(inner, ast.ExceptHandler) else [inner])


def _bound(body: Sequence[ast.stmt], prefix: str, naming: TestNaming) -> Iterator[Definition]:
    for node in statements(body):
        if isinstance(node, FunctionNode):
            if not naming.is_function(node.name) or is_fixture(node):
                yield Definition(prefix + node.name, node.lineno, node)
        elif isinstance(node, ast.ClassDef):
            header = ast.Call(ast.Name(node.name), [*node.bases, *node.decorator_list], node.keywords)
            yield Definition(prefix + node.name, node.lineno, header)
            yield from _bound(node.body, f"{prefix}{node.name}.", _inside(node, naming))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (Definition(prefix + name, node.lineno, where) for name, where in _imported(node))
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [inner.id for target in targets for inner in ast.walk(target) if isinstance(inner, ast.Name)]
            yield from (Definition(prefix + name, node.lineno, node.value) for name in names)


def _inside(node: ast.ClassDef, naming: TestNaming) -> TestNaming:
    return USUAL if is_test_case(node, {}) else naming


def _imported(node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            yield alias.asname or alias.name, f"{'.' * node.level}{node.module or ''}:{alias.name}"
        elif alias.asname:
            yield alias.asname, f":{alias.name}"
        else:
            yield alias.name.partition(".")[0], f":{alias.name.partition('.')[0]}"


# --- growing ----------------------------------------------------------------------------------------------------------


def has_only_grown(old: Value, new: Value) -> bool:
    """Whoever leaned on the old definition gets the same from the new one."""
    if isinstance(old, str) or isinstance(new, str):
        return isinstance(old, str) and isinstance(new, str) and _same_origin(old, new)
    if isinstance(old, FunctionNode) or isinstance(new, FunctionNode):
        return isinstance(old, FunctionNode) and isinstance(new, FunctionNode) and _function_grew(old, new)
    return _same(old, new) or _literal_grew(old, new)


def _same_origin(old: str, new: str) -> bool:
    """The same name, from its module or from a package above it that passes it on."""
    (before, name), (after, other) = old.split(":"), new.split(":")
    handed_on = f"{before}.".startswith(f"{after}.") or f"{after}.".startswith(f"{before}.")
    return old == new or (name == other and bool(before and after) and handed_on)


def _same(old: ast.AST, new: ast.AST) -> bool:
    return ast.dump(old) == ast.dump(new)


def _literal_grew(old: ast.expr, new: ast.expr) -> bool:
    """Further cases in a list, further keys in a dictionary."""
    if isinstance(old, ast.Dict) and isinstance(new, ast.Dict):
        before, after = (list(zip(map(_dump, each.keys), map(_dump, each.values), strict=True)) for each in (old, new))
        keys = [key for key, _ in after]
        return set(before) <= set(after) and len(keys) == len(set(keys))
    if isinstance(old, ast.List | ast.Tuple | ast.Set) and type(old) is type(new):
        return {*map(_dump, old.elts)} <= {*map(_dump, getattr(new, "elts", []))} and bool(old.elts)
    return False


def _dump(node: ast.AST | None) -> str:
    return ast.dump(node) if node is not None else ""


def _function_grew(old: FunctionNode, new: FunctionNode) -> bool:
    """Parameters that may be left out are added; what is done without them is done as before."""
    if type(old) is not type(new) or [*map(_dump, old.decorator_list)] != [*map(_dump, new.decorator_list)]:
        return False
    before, after = _parameters(old.args), _parameters(new.args)
    if any(name not in after or after[name] != default for name, default in before.items()):
        return False
    if [name for name in after if name in before] != list(before):
        return False
    added = {name: default for name, default in after.items() if name not in before}
    if not is_fixture(new) and any(default is None for default in added.values()):
        return False
    return _body_grew(_plain(old, {}), _plain(new, added), added)


def _parameters(arguments: ast.arguments) -> dict[str, str | None]:
    """Name -> its default as text, None without one."""
    positional = [*arguments.posonlyargs, *arguments.args]
    missing = [None] * (len(positional) - len(arguments.defaults))
    pairs = [
        *zip(positional, [*missing, *arguments.defaults], strict=True),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True),
    ]
    found: dict[str, str | None] = {each.arg: ast.unparse(default) if default else None for each, default in pairs}
    stars = [("*", arguments.vararg), ("**", arguments.kwarg)]
    return found | {sign + each.arg: "" for sign, each in stars if each}


def _plain(node: FunctionNode, added: Mapping[str, str | None]) -> list[ast.stmt]:
    """Statements without docstring, messages of asserts, and new parameters that are only handed on."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    copied = ast.parse("\n".join(ast.unparse(statement) for statement in body)).body
    for inner in (inner for statement in copied for inner in ast.walk(statement)):
        if isinstance(inner, ast.Assert):
            inner.msg = None
    for statement in copied:
        handed = [] if isinstance(statement, ast.Assert) else list(ast.walk(statement))
        for call in (inner for inner in handed if isinstance(inner, ast.Call)):
            call.keywords = [item for item in call.keywords if not _is_handed_on(item, added)]
    return copied


def _is_handed_on(item: ast.keyword, added: Mapping[str, str | None]) -> bool:
    return item.arg is not None and isinstance(item.value, ast.Name) and item.value.id in added


def _body_grew(old: list[ast.stmt], new: list[ast.stmt], added: Mapping[str, str | None]) -> bool:
    rest = list(old)
    for statement in new:
        if rest and _same(rest[0], statement):
            rest.pop(0)
        elif not _only_on_demand(statement, added):
            return False
    return not rest


def _only_on_demand(statement: ast.stmt, added: Mapping[str, str | None]) -> bool:
    """`if discount:` with a new parameter that is empty unless given: those who do not give it never get there."""
    if not isinstance(statement, ast.If) or statement.orelse:
        return False
    test = statement.test
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) and len(test.ops) == 1:
        bare = isinstance(test.comparators[0], ast.Constant) and test.comparators[0].value is None
        return bare and isinstance(test.left, ast.Name) and added.get(test.left.id) == "None"
    return isinstance(test, ast.Name) and added.get(test.id) in {"None", "False", "''", "0", "()"}
