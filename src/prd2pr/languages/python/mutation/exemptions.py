"""Exempts code and results that mutation testing should not count against the tests.

Functions are exempt by their shape alone: thin wrappers around external calls, entry points, and methods that an
abstract base requires. A function with a branch or a loop is never exempt. Replay differences are exempt if the test
file registers something with the code on import.
"""

from __future__ import annotations

import ast
import collections.abc
import inspect
import io
from collections.abc import Iterator, Mapping

from prd2pr.domain.results.mutation import CallReplay, MutationResult, ReplayDifference
from prd2pr.languages.python.test_model.module import (
    FunctionNode,
    collect_imports,
    get_dotted_name,
    parse_python,
    resolve_name,
)
from prd2pr.languages.python.test_model.suite import SuiteFile

# Not available in a clean run: network and interactive input.
_EXTERNAL_CALLS = frozenset(
    {"urllib.request", "http.client", "socket", "smtplib", "ftplib", "imaplib", "poplib", "webbrowser", "getpass"}
    | {"requests", "httpx", "aiohttp", "boto3", "input"}
)
# Usually replaced in tests: clock and randomness.
_NONDETERMINISTIC_CALLS = frozenset(
    {"time", "random", "secrets", "uuid"}
    | {f"datetime.{name}" for name in ("datetime.now", "datetime.utcnow", "datetime.today", "date.today")}
)
_Definition = FunctionNode | ast.ClassDef
_BRANCHING_NODES = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.Try, ast.Match, ast.BoolOp, ast.Compare)
_COMPUTING_NODES = (
    ast.comprehension,
    ast.BinOp,
    ast.Lambda,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Raise,
)
_MAX_WRAPPER_STATEMENTS, _MAX_ENTRY_POINT_STATEMENTS = 5, 3


def drop_registration_differences(
    result: MutationResult, tests: Mapping[str, str], sources: Mapping[str, str]
) -> MutationResult:
    """Remove replay differences caused by test files that register something on import (`@register`).

    A program that does not load the test files lacks that registration, so its different answer is no evidence. `tests`
    and `sources` map paths to file contents.
    """
    replay = result.replay
    if replay is None or not replay.differing:
        return result
    remaining = tuple(each for each in replay.differing if not _depends_on_registration(each, tests, sources))
    removed = len(replay.differing) - len(remaining)
    judged: CallReplay = replay.model_copy(update={"differing": remaining, "not_judged": replay.not_judged + removed})
    return result.model_copy(update={"replay": judged})


def _depends_on_registration(each: ReplayDifference, tests: Mapping[str, str], sources: Mapping[str, str]) -> bool:
    """Return whether the test file calls a function of the differing module on import, for its side effect."""
    path = each.test.partition("::")[0]
    tree, source = parse_python(tests.get(path, "")), parse_python(sources.get(each.path, ""))
    if tree is None or source is None:
        return False
    defined = {node.name for node in ast.walk(source) if isinstance(node, FunctionNode)}
    return any(name.rpartition(".")[2] in defined for name in _find_import_time_calls(SuiteFile(path, tree)))


def _find_import_time_calls(file: SuiteFile) -> Iterator[str]:
    """Yield the full names of decorators and of functions called at top level without using the result."""
    for node in file.tree.body:
        used: list[ast.expr] = []
        if isinstance(node, FunctionNode | ast.ClassDef):
            used = node.decorator_list
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            used = [node.value]
        for each in used:
            name = get_dotted_name(each.func if isinstance(each, ast.Call) else each)
            if name.partition(".")[0] in file.imports:
                yield resolve_name(name, file.imports)


def find_exempt_functions(tree: ast.Module) -> frozenset[int]:
    """Return the ids of the nodes of exempt functions."""
    imports = collect_imports(tree.body)
    found = {
        id(node)
        for node in tree.body
        if isinstance(node, FunctionNode) and _is_external_wrapper(node, node, tree, imports)
    }
    found |= {id(node) for node in _find_entry_points(tree) if _is_thin_entry_point(node, tree, imports)}
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        required = _list_required_methods(owner, imports)
        methods = [node for node in owner.body if isinstance(node, FunctionNode)]
        wrappers = [node for node in methods if _is_external_wrapper(node, owner, tree, imports)]
        found |= {id(node) for node in methods if node.name in required or node in wrappers}
        rest = [node for node in methods if node not in wrappers]
        if wrappers and all(node.name == "__init__" and _only_stores_arguments(node) for node in rest):
            found |= {id(node) for node in rest}  # the class exists only for its wrappers
    return frozenset(found)


def _is_external_wrapper(node: FunctionNode, owner: _Definition, tree: ast.Module, imports: Mapping[str, str]) -> bool:
    """Return whether the function only passes its arguments to an external call and returns the result.

    A wrapper around the clock or randomness is exempt only if the module itself uses it, because then tests can replace
    it.
    """
    nodes = [x for statement in node.body for x in ast.walk(statement)]
    called = {resolve_name(get_dotted_name(x.func), imports) for x in nodes if isinstance(x, ast.Call)}
    is_external = _matches_any_prefix(called, _EXTERNAL_CALLS) or (
        _matches_any_prefix(called, _NONDETERMINISTIC_CALLS) and _is_referenced(owner, tree)
    )
    return is_external and _is_straight_line(nodes, _MAX_WRAPPER_STATEMENTS, _BRANCHING_NODES)


def _matches_any_prefix(names: set[str], places: frozenset[str]) -> bool:
    return any(name == place or name.startswith(f"{place}.") for name in names for place in places)


def _is_referenced(definition: _Definition, tree: ast.Module) -> bool:
    own = {id(x) for x in ast.walk(definition)}
    return any(isinstance(x, ast.Name) and x.id == definition.name and id(x) not in own for x in ast.walk(tree))


def _is_straight_line(nodes: list[ast.AST], most: int, kinds: tuple[type[ast.AST], ...]) -> bool:
    statements = [x for x in nodes if isinstance(x, ast.stmt) and not _is_docstring(x)]
    return len(statements) <= most and not any(isinstance(x, kinds) for x in nodes)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _find_entry_points(tree: ast.Module) -> list[FunctionNode]:
    """Return the functions that only `if __name__ == "__main__":` calls, or `main` if there is no such block."""
    guards = [node for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.dump(node.test)]
    started = {get_dotted_name(x.func) for node in guards for x in ast.walk(node) if isinstance(x, ast.Call)}
    functions = [node for node in tree.body if isinstance(node, FunctionNode)]
    return [node for node in functions if node.name in started or (not guards and node.name == "main")]


def _is_thin_entry_point(node: FunctionNode, tree: ast.Module, imports: Mapping[str, str]) -> bool:
    """Return whether the function only passes the process arguments on, as in `sys.exit(run(sys.argv[1:]))`."""
    nodes = [x for statement in node.body for x in ast.walk(statement)]
    names = {resolve_name(get_dotted_name(x), imports) for x in nodes if isinstance(x, ast.Name | ast.Attribute)}
    others = {x.name for x in tree.body if isinstance(x, FunctionNode | ast.ClassDef) and x is not node} | set(imports)
    calls_other = any(isinstance(x, ast.Call) and get_dotted_name(x.func).partition(".")[0] in others for x in nodes)
    uses_process = bool(names & {"sys.argv", "sys.exit", "sys.stdin", "sys.stdout"})
    return (
        calls_other
        and uses_process
        and _is_straight_line(nodes, _MAX_ENTRY_POINT_STATEMENTS, (*_BRANCHING_NODES, *_COMPUTING_NODES))
    )


def _only_stores_arguments(node: FunctionNode) -> bool:
    """Return whether every statement has the form `self._base = base`."""
    plain = [x for x in node.body if not _is_docstring(x)]
    return all(isinstance(x, ast.Assign) and isinstance(x.value, ast.Name | ast.Constant) for x in plain)


def _list_required_methods(owner: ast.ClassDef, imports: Mapping[str, str]) -> frozenset[str]:
    """Return the abstract methods that the bases of a class require."""
    names = {
        resolve_name(get_dotted_name(x.value if isinstance(x, ast.Subscript) else x), imports) for x in owner.bases
    }
    return frozenset(method for name in names for method in _ABSTRACT_METHODS.get(name, ()))


def _collect_abstract_methods() -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for module, prefixes in ((collections.abc, ("collections.abc", "typing")), (io, ("io",))):
        for name, value in inspect.getmembers(module, inspect.isclass):
            for prefix in prefixes:
                found[f"{prefix}.{name}"] = frozenset(getattr(value, "__abstractmethods__", ()))
    return found


_ABSTRACT_METHODS = _collect_abstract_methods()
