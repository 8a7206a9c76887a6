"""RFC402, RFC405, RFC419: features that a refactoring adds although no test requires them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from prd2pr.domain.results.finding_kind import FindingKind, define_error
from prd2pr.languages.python.complexity import count_branches
from prd2pr.languages.python.rules.source_code.lookup_tables import get_literal_text
from prd2pr.languages.python.rules.source_code.source_module import SourceFault
from prd2pr.languages.python.test_model.module import FunctionNode, parse_python, unparse_node

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RFC402",
        "adds a feature",
        "A new public function that nothing calls is not a refactoring, and no test requires it.",
        bad="def redeem(total, points):\n"
        "    return total - points * 2\n"
        "\n"
        "\n"
        "def transfer(points, to):   # nothing calls it\n"
        "    to.points += points",
        good="def redeem(total, points):\n"
        "    return total - _worth(points)\n"
        "\n"
        "\n"
        "def _worth(points):\n"
        "    return points * 2",
        remedy="remove it and write a story for it.",
    ),
    define_error(
        "RFC405",
        "adds a branch that no test requires",
        "The code compares with a value that it did not contain before. No test covers this branch.",
        bad="def price(amount, customer):\n    if customer == 'vip':\n        return amount * 0.5\n    return amount",
        good="def price(amount, customer):\n    discount = 0\n    return amount - discount",
        remedy="remove it and write a story for it.",
    ),
    define_error(
        "RFC419",
        "code was moved into a string",
        "Metrics and mutants do not reach code that `exec` and `eval` run: the code looks shorter but is the same.",
        bad="def parse(text):\n    exec(_PARSE, scope := {'text': text})\n    return scope['total']",
        good="def parse(text):\n    return sum(map(int, text))",
        remedy="write it as normal code.",
    ),
)


_HARMLESS_LITERALS = frozenset(repr(value) for value in (0, 1, -1, "", True, False, "__main__"))


def check_smuggled_features(
    old: str, new: str, path: str, sources: Mapping[str, str], previous: Mapping[str, str]
) -> Iterator[SourceFault]:
    """Report features that the refactoring adds.

    `previous` contains the changed files before the step, because code may move between them.
    """
    after = parse_python(new)
    if after is None:
        return
    before = [tree for tree in map(parse_python, [old, *previous.values()]) if tree is not None]
    everything = {**sources, path: new}
    yield from _check_unused_functions(before, after, everything)
    yield from _check_unused_lambdas(before, after, everything)
    yield from _check_code_in_strings(before, after)
    yield from _check_new_variables(before, after)
    yield from _check_new_program(parse_python(old), after)
    yield from _check_new_entries(before, after)
    yield from _check_new_branches(before, after, more=count_branches(new) > count_branches(old))


def _check_unused_functions(
    before: list[ast.Module], after: ast.Module, sources: Mapping[str, str]
) -> Iterator[SourceFault]:
    known = {node.name for tree in before for node in ast.walk(tree) if isinstance(node, FunctionNode)}
    used = _list_used_names(sources)
    for node in ast.walk(after):
        if not isinstance(node, FunctionNode) or node.name in known or node.name.startswith("_"):
            continue
        if node.name not in used:
            yield SourceFault(
                "RFC402",
                node.name,
                node.lineno,
                f"`{node.name}` is new and nothing calls it: a feature, not a refactoring",
            )


def _check_unused_lambdas(
    before: list[ast.Module], after: ast.Module, sources: Mapping[str, str]
) -> Iterator[SourceFault]:
    """Report unused functions that are assigned as a lambda, as in `to_rankine = lambda celsius: …`."""
    known = {node.id for tree in before for node in ast.walk(tree) if isinstance(node, ast.Name)}
    known |= {node.name for tree in before for node in ast.walk(tree) if isinstance(node, FunctionNode)}
    trees = [tree for tree in (parse_python(text) for text in sources.values()) if tree]
    loaded = {x.id for tree in trees for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)}
    loaded |= {x.attr for tree in trees for x in ast.walk(tree) if isinstance(x, ast.Attribute)}
    loaded |= {each.name for tree in trees for x in ast.walk(tree) if isinstance(x, ast.ImportFrom) for each in x.names}
    for node in after.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda())
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Lambda())
            ) if not name.startswith("_") and name not in known | loaded:
                message = f"`{name}` is new and nothing calls it: a feature, not a refactoring"
                yield SourceFault("RFC402", name, node.lineno, message)


def _check_code_in_strings(before: list[ast.Module], after: ast.Module) -> Iterator[SourceFault]:
    """Report code that moved into a string, where neither metrics nor mutants reach it."""
    calls = [node for node in ast.walk(after) if _runs_string(node)]
    known = sum(_runs_string(node) for tree in before for node in ast.walk(tree))
    if len(calls) > known:
        message = f"`{unparse_node(calls[-1])[:60]}` runs code from a string, which the old code did not"
        yield SourceFault("RFC419", message, getattr(calls[-1], "lineno", 0), message)


def _check_new_variables(before: list[ast.Module], after: ast.Module) -> Iterator[SourceFault]:
    """Report environment variables that the old code did not read."""
    known = {value for tree in before for value in _list_literal_texts(tree)}
    for node in ast.walk(after):
        name = _get_variable_name(node)
        if name and repr(name) not in known:
            message = f"reads the environment variable `{name}`, which is new: a feature, not a refactoring"
            yield SourceFault("RFC402", message, getattr(node, "lineno", 0), message)


def _get_variable_name(node: ast.AST) -> str:
    variable: ast.expr | None = None
    if isinstance(node, ast.Call) and node.args:
        if unparse_node(node.func) in {"os.environ.get", "os.getenv", "environ.get", "getenv"}:
            variable = node.args[0]
    elif isinstance(node, ast.Subscript) and unparse_node(node.value) in {"os.environ", "environ"}:
        variable = node.slice
    return variable.value if isinstance(variable, ast.Constant) and isinstance(variable.value, str) else ""


def _check_new_program(before: ast.Module | None, after: ast.Module) -> Iterator[SourceFault]:
    """Report a new `if __name__ == "__main__":`. Existing module-level statements may be moved under one."""
    if before is None or any(_is_main_guard(node) or _has_effect(node) for node in before.body):
        return
    for node in after.body:
        if _is_main_guard(node) and before.body:
            message = "the module can now be run as a program: a feature, not a refactoring"
            yield SourceFault("RFC402", message, node.lineno, message)


def _is_main_guard(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__main__" in ast.dump(node.test)


def _has_effect(node: ast.stmt) -> bool:
    kinds = ast.For | ast.While | ast.With | ast.Try
    return isinstance(node, kinds) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))


def _check_new_entries(before: list[ast.Module], after: ast.Module) -> Iterator[SourceFault]:
    """Report new keys in existing tables that the old code did not contain."""
    known = {value for tree in before for value in _list_literal_texts(tree)}
    old = {name for tree in before for name, _ in _list_tables(tree)}
    for name, table in _list_tables(after):
        fresh = [
            key for node in table.keys if node is not None and (key := get_literal_text(node)) and key not in known
        ]
        if name in old and fresh:
            message = f"`{name}` has a new entry for {fresh[0]}: a feature, not a refactoring"
            yield SourceFault("RFC402", message, table.lineno, message)


def _list_tables(tree: ast.Module) -> list[tuple[str, ast.Dict]]:
    return [
        (node.targets[0].id, node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Dict)
        if node.value.keys
    ]


def _runs_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"exec", "eval"}


def _list_used_names(sources: Mapping[str, str]) -> set[str]:
    used: set[str] = set()
    for tree in (parse_python(text) for text in sources.values()):
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Name | ast.Attribute):
                used.add(node.id if isinstance(node, ast.Name) else node.attr)
    return used


def _check_new_branches(before: list[ast.Module], after: ast.Module, *, more: bool) -> Iterator[SourceFault]:
    """Report branches that compare with a value which the old code did not contain.

    If the number of branches did not grow, one may have been rewritten (`> 9` for `>= 10`), so only a branch for one
    exact value counts.
    """
    known = {value for tree in before for value in _list_literal_texts(tree)}
    for node in ast.walk(after):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.match_case):
            condition = node.pattern if isinstance(node, ast.match_case) else node.test
            values = _list_literal_texts(condition) if more else _list_compared_values(condition)
            fresh = sorted({value for value in values if value not in known} - _HARMLESS_LITERALS)
            if fresh:
                line = node.body[0].lineno - 1 if isinstance(node, ast.match_case) else node.lineno
                yield SourceFault(
                    "RFC405", ast.dump(node), line, f"a new branch compares with {', '.join(f'`{x}`' for x in fresh)}"
                )


def _list_literal_texts(tree: ast.AST) -> list[str]:
    return [value for node in ast.walk(tree) if (value := get_literal_text(node)) is not None]


def _list_compared_values(condition: ast.AST) -> list[str]:
    """Return the exact values that are compared, such as `x` in `b == x`, `b in (x, y)` and `case x`."""
    if isinstance(condition, ast.pattern):
        return _list_literal_texts(condition)
    compares = [node for node in ast.walk(condition) if isinstance(node, ast.Compare)]
    equal = [node for node in compares if isinstance(node.ops[0], ast.Eq | ast.Is | ast.In)]
    sides = [side for node in equal for side in (node.left, *node.comparators)]
    listed = [x for side in sides for x in (side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side])]
    return [value for side in listed if (value := get_literal_text(side)) is not None]
