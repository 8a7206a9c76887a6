"""Functions that no test can be asked to miss, because of what they are: doors, entry points, and what a base demands.

Each is judged by its shape alone. Whatever decides something, by a branch or a loop, is never among them.
"""

from __future__ import annotations

import ast
import collections.abc
import inspect
import io
from collections.abc import Mapping

from prd2pr.core.testfacts_model import FunctionNode, dotted, imports_of, resolve

# What a clean run keeps tests from: network and people.
_OUT_OF_REACH = frozenset(
    {"urllib.request", "http.client", "socket", "smtplib", "ftplib", "imaplib", "poplib", "webbrowser", "getpass"}
    | {"requests", "httpx", "aiohttp", "boto3", "input"}
)
# What tests replace so as to be sure of it: clock and chance.
_UNSURE = frozenset(
    {"time", "random", "secrets", "uuid"}
    | {f"datetime.{name}" for name in ("datetime.now", "datetime.utcnow", "datetime.today", "date.today")}
)
_Named = FunctionNode | ast.ClassDef
_DECIDING = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match, ast.BoolOp, ast.Compare)
_MAKING = (ast.comprehension, ast.BinOp, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Raise)
_DOOR, _ENTRY = 5, 3  # statements at most


def beyond_tests(tree: ast.Module) -> frozenset[int]:
    """Ids of the nodes of such functions."""
    imports = imports_of(tree.body)
    found = {id(node) for node in tree.body if isinstance(node, FunctionNode) and _is_door(node, node, tree, imports)}
    found |= {id(node) for node in _entries(tree) if _is_entry(node, tree, imports)}
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        demanded = _demanded(owner, imports)
        methods = [node for node in owner.body if isinstance(node, FunctionNode)]
        doors = [node for node in methods if _is_door(node, owner, tree, imports)]
        found |= {id(node) for node in methods if node.name in demanded or node in doors}
        rest = [node for node in methods if node not in doors]
        if doors and all(node.name == "__init__" and _only_keeps(node) for node in rest):
            found |= {id(node) for node in rest}  # nobody makes one but to go through the door
    return frozenset(found)


def _is_door(node: FunctionNode, home: _Named, tree: ast.Module, imports: Mapping[str, str]) -> bool:
    """Hands on what it was given to something outside, and back what comes.

    One to clock or chance is a door where the module itself goes through it: a default that tests replace.
    """
    inner = [x for statement in node.body for x in ast.walk(statement)]
    called = {resolve(dotted(x.func), imports) for x in inner if isinstance(x, ast.Call)}
    outside = _is_among(called, _OUT_OF_REACH) or (_is_among(called, _UNSURE) and _is_used(home, tree))
    return outside and _goes_straight(inner, _DOOR, _DECIDING)


def _is_among(names: set[str], places: frozenset[str]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for name in names for place in places)


def _is_used(home: _Named, tree: ast.Module) -> bool:
    own = {id(x) for x in ast.walk(home)}
    return any(isinstance(x, ast.Name) and x.id == home.name and id(x) not in own for x in ast.walk(tree))


def _goes_straight(nodes: list[ast.AST], most: int, kinds: tuple[type[ast.AST], ...]) -> bool:
    statements = [x for x in nodes if isinstance(x, ast.stmt) and not _is_docstring(x)]
    return len(statements) <= most and not any(isinstance(x, kinds) for x in nodes)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _entries(tree: ast.Module) -> list[FunctionNode]:
    """Functions that only `if __name__ == "__main__":` calls, besides whatever is installed as the program's name."""
    guards = [node for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.dump(node.test)]
    started = {dotted(x.func) for node in guards for x in ast.walk(node) if isinstance(x, ast.Call)}
    functions = [node for node in tree.body if isinstance(node, FunctionNode)]
    return [node for node in functions if node.name in started or (not guards and node.name == "main")]


def _is_entry(node: FunctionNode, tree: ast.Module, imports: Mapping[str, str]) -> bool:
    """Gives a function that is tested what the process was given: `sys.exit(run(sys.argv[1:]))`."""
    inner = [x for statement in node.body for x in ast.walk(statement)]
    names = {resolve(dotted(x), imports) for x in inner if isinstance(x, ast.Name | ast.Attribute)}
    others = {x.name for x in tree.body if isinstance(x, FunctionNode | ast.ClassDef) and x is not node} | set(imports)
    works = any(isinstance(x, ast.Call) and dotted(x.func).partition(".")[0] in others for x in inner)
    outer = bool(names & {"sys.argv", "sys.exit", "sys.stdin", "sys.stdout"})
    return works and outer and _goes_straight(inner, _ENTRY, (*_DECIDING, *_MAKING))


def _only_keeps(node: FunctionNode) -> bool:
    """`self._base = base`, and nothing else."""
    plain = [x for x in node.body if not _is_docstring(x)]
    return all(isinstance(x, ast.Assign) and isinstance(x.value, ast.Name | ast.Constant) for x in plain)


def _demanded(owner: ast.ClassDef, imports: Mapping[str, str]) -> frozenset[str]:
    """Methods without which Python makes no object of the class, as one of its own abstract bases says."""
    names = {resolve(dotted(x.value if isinstance(x, ast.Subscript) else x), imports) for x in owner.bases}
    return frozenset(method for name in names for method in _ABSTRACT.get(name, ()))


def _abstract() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for module, prefixes in ((collections.abc, ("collections.abc", "typing")), (io, ("io",))):
        for name, value in inspect.getmembers(module, inspect.isclass):
            for prefix in prefixes:
                found[f"{prefix}.{name}"] = frozenset(getattr(value, "__abstractmethods__", ()))
    return found


_ABSTRACT = _abstract()
