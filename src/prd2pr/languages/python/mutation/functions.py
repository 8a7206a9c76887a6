"""Lists the functions of a module and finds those that a step added or changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from prd2pr.languages.python.mutation.exemptions import find_exempt_functions
from prd2pr.languages.python.source_text import SourceText, get_body_without_docstring
from prd2pr.languages.python.test_model.module import FunctionNode, get_decorator_name

UNCALLED_DECORATORS = frozenset({"overload", "abstractmethod", "abstractproperty"})  # their bodies are never executed
UNTESTED_METHODS = frozenset({"__repr__", "__hash__"})  # written for debugging, or required by `__eq__`


@dataclass(frozen=True)
class Function:
    """A function or method and the top-level statement that contains it."""

    name: str  # qualified by its classes, such as `Cart.total`
    node: FunctionNode
    top: ast.stmt  # the module-level statement that contains it


def list_functions(text: SourceText) -> list[Function]:
    """Return all functions and methods of a module except those in untested blocks."""
    return [each for top in text.tree.body for each in _walk_functions([top], "", top)]


def _walk_functions(body: Sequence[ast.stmt], prefix: str, top: ast.stmt) -> Iterator[Function]:
    for node in body:
        if isinstance(node, FunctionNode):
            yield Function(prefix + node.name, node, top)
        elif isinstance(node, ast.ClassDef):
            yield from _walk_functions(node.body, f"{prefix}{node.name}.", top)
        elif isinstance(node, ast.If | ast.Try | ast.With) and not is_untested_block(node):
            for part in ("body", "orelse", "finalbody"):
                yield from _walk_functions(getattr(node, part, []), prefix, top)


def is_untested_block(node: ast.stmt) -> bool:
    """Return whether the statement is `if TYPE_CHECKING:` or `if __name__ == "__main__":`."""
    if not isinstance(node, ast.If):
        return False
    names = {inner.id for inner in ast.walk(node.test) if isinstance(inner, ast.Name)}
    names |= {inner.attr for inner in ast.walk(node.test) if isinstance(inner, ast.Attribute)}
    return bool(names & {"TYPE_CHECKING", "__name__"})


def find_changed_functions(before: SourceText | None, after: SourceText) -> list[Function]:
    """Return the functions whose behavior changed, except exempt ones.

    Moving, annotating, documenting or reformatting a function does not count as a change.
    """
    old: dict[str, set[str]] = {}
    for each in list_functions(before) if before else ():
        old.setdefault(each.name, set()).add(_make_behavior_key(each.node))
    exempt = find_exempt_functions(after.tree)
    return [
        each
        for each in list_functions(after)
        if has_behavior(each.node)
        and _make_behavior_key(each.node) not in old.get(each.name, ())
        and id(each.node) not in exempt
    ]


def has_behavior(node: FunctionNode) -> bool:
    """Return whether tests have to cover a function. Stubs, declarations and some methods do not count."""
    if node.name in UNTESTED_METHODS or UNCALLED_DECORATORS & {
        get_decorator_name(item).rpartition(".")[2] for item in node.decorator_list
    }:
        return False
    return not all(_is_placeholder(statement) for statement in get_body_without_docstring(node))


def _is_placeholder(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.Raise):
        return "NotImplementedError" in ast.dump(statement)
    return isinstance(statement, ast.Pass)


def _make_behavior_key(node: FunctionNode) -> str:
    arguments = node.args
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    defaults = [each for each in (*arguments.defaults, *arguments.kw_defaults) if each is not None]
    parts: list[ast.AST] = [*defaults, *node.decorator_list, *get_body_without_docstring(node)]
    return "\n".join([type(node).__name__, *(each.arg for each in named), *(ast.dump(part) for part in parts)])
