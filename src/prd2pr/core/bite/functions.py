"""Which functions a step has made or changed, and where each stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prd2pr.core.bite.beyond import beyond_tests
from prd2pr.core.bite.text import SourceText, body_without_docstring
from prd2pr.core.testfacts_model import FunctionNode, decorator_name

UNCALLED = frozenset({"overload", "abstractmethod", "abstractproperty"})  # their bodies are never run
FOR_READERS = frozenset({"__repr__", "__hash__"})  # and what an `__eq__` must have beside it


@dataclass(frozen=True)
class Function:
    name: str  # with its classes before it: Cart.total
    node: FunctionNode
    top: ast.stmt  # the statement of the module that it is in


def functions_of(text: SourceText) -> list[Function]:
    return [each for top in text.tree.body for each in _functions([top], "", top)]


def _functions(body: Sequence[ast.stmt], prefix: str, top: ast.stmt) -> Iterator[Function]:
    for node in body:
        if isinstance(node, FunctionNode):
            yield Function(prefix + node.name, node, top)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.", top)
        elif isinstance(node, ast.If | ast.Try | ast.With) and not is_left_out(node):
            for part in ("body", "orelse", "finalbody"):
                yield from _functions(getattr(node, part, []), prefix, top)


def is_left_out(node: ast.stmt) -> bool:
    """`if TYPE_CHECKING:` and `if __name__ == "__main__":` are not run by tests."""
    if not isinstance(node, ast.If):
        return False
    names = {inner.id for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
    names |= {inner.attr for inner in ast.walk(node.test) if isinstance(inner, ast.Attribute)}
    return bool(names & {"TYPE_CHECKING", "__name__"})


def changed_functions(before: SourceText | None, after: SourceText) -> list[Function]:
    """Those whose doing is new: not moved, not only annotated, documented or laid out in another way."""
    old: dict[str, set[str]] = {}
    for each in functions_of(before) if before else ():
        old.setdefault(each.name, set()).add(_doing(each.node))
    beyond = beyond_tests(after.tree)
    return [
        each
        for each in functions_of(after)
        if does_something(each.node) and _doing(each.node) not in old.get(each.name, ()) and id(each.node) not in beyond
    ]


def does_something(node: FunctionNode) -> bool:
    """Not a stub, not a declaration, not for readers alone."""
    if node.name in FOR_READERS or UNCALLED & {decorator_name(item).rpartition(".")[2] for item in node.decorator_list}:
        return False
    return not all(_is_empty(statement) for statement in body_without_docstring(node))


def _is_empty(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Raise):
        return "NotImplementedError" in ast.dump(statement)
    return isinstance(statement, ast.Pass)


def _doing(node: FunctionNode) -> str:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    defaults = [each for each in (*arguments.defaults, *arguments.kw_defaults) if each is not None]
    parts: list[ast.AST] = [*defaults, *node.decorator_list, *body_without_docstring(node)]
    return "\n".join([type(node).__name__, *(each.arg for each in named), *(ast.dump(part) for part in parts)])
