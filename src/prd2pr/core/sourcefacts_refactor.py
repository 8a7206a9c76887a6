"""RFC402, RFC405, RFC419: a feature that comes along with a refactoring, and that no test asked for."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from prd2pr.core.complexity import branches
from prd2pr.core.sourcefacts_literals import literal
from prd2pr.core.sourcefacts_subject import Sighting
from prd2pr.core.testfacts_model import FunctionNode, parse

_HARMLESS = frozenset(repr(value) for value in (0, 1, -1, "", True, False, "__main__"))


def refactor_sightings(
    old: str, new: str, path: str, sources: Mapping[str, str], previous: Mapping[str, str]
) -> Iterator[Sighting]:
    """`previous` holds the changed files as they were: what only moved between them is not new."""
    after = parse(new)
    if after is None:
        return
    before = [tree for tree in map(parse, [old, *previous.values()]) if tree is not None]
    everything = {**sources, path: new}
    yield from _unused_functions(before, after, everything)
    yield from _unused_lambdas(before, after, everything)
    yield from _code_in_texts(before, after)
    yield from _new_settings(before, after)
    yield from _new_program(parse(old), after)
    yield from _new_entries(before, after)
    yield from _new_questions(before, after, more=branches(new) > branches(old))


def _unused_functions(before: list[ast.Module], after: ast.Module, sources: Mapping[str, str]) -> Iterator[Sighting]:
    known = {node.name for tree in before for node in ast.walk(tree) if isinstance(node, FunctionNode)}
    used = _used_names(sources)
    for node in ast.walk(after):
        if not isinstance(node, FunctionNode) or node.name in known or node.name.startswith("_"):
            continue
        if node.name not in used:
            yield Sighting(
                "RFC402",
                node.name,
                node.lineno,
                f"`{node.name}` is new and nothing calls it: a feature, not a refactoring",
            )


def _unused_lambdas(before: list[ast.Module], after: ast.Module, sources: Mapping[str, str]) -> Iterator[Sighting]:
    """`to_rankine = lambda celsius: …` at the top of a module is a function as well."""
    known = {node.id for tree in before for node in ast.walk(tree) if isinstance(node, ast.Name)}
    known |= {node.name for tree in before for node in ast.walk(tree) if isinstance(node, FunctionNode)}
    trees = [tree for tree in (parse(text) for text in sources.values()) if tree]
    loaded = {x.id for tree in trees for x in ast.walk(tree) if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load)}
    loaded |= {x.attr for tree in trees for x in ast.walk(tree) if isinstance(x, ast.Attribute)}
    loaded |= {each.name for tree in trees for x in ast.walk(tree) if isinstance(x, ast.ImportFrom) for each in x.names}
    for node in after.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda())
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Lambda())
            ) if not name.startswith("_") and name not in known | loaded:
                said = f"`{name}` is new and nothing calls it: a feature, not a refactoring"
                yield Sighting("RFC402", name, node.lineno, said)


def _code_in_texts(before: list[ast.Module], after: ast.Module) -> Iterator[Sighting]:
    """No measure and no fault reaches what stands in a text."""
    calls = [node for node in ast.walk(after) if _runs_text(node)]
    known = sum(_runs_text(node) for tree in before for node in ast.walk(tree))
    if len(calls) > known:
        said = f"`{ast.unparse(calls[-1])[:60]}` runs code that stands in a text, and did not before"
        yield Sighting("RFC419", said, getattr(calls[-1], "lineno", 0), said)


def _new_settings(before: list[ast.Module], after: ast.Module) -> Iterator[Sighting]:
    """A variable of the environment that the old code never asked for."""
    known = {value for tree in before for value in _constants(tree)}
    for node in ast.walk(after):
        name = _variable_asked(node)
        if name and repr(name) not in known:
            said = f"asks the environment for `{name}`, and did not before: a feature, not a refactoring"
            yield Sighting("RFC402", said, getattr(node, "lineno", 0), said)


def _variable_asked(node: ast.AST) -> str:
    asked: ast.expr | None = None
    if isinstance(node, ast.Call) and node.args:
        if ast.unparse(node.func) in {"os.environ.get", "os.getenv", "environ.get", "getenv"}:
            asked = node.args[0]
    elif isinstance(node, ast.Subscript) and ast.unparse(node.value) in {"os.environ", "environ"}:
        asked = node.slice
    return asked.value if isinstance(asked, ast.Constant) and isinstance(asked.value, str) else ""


def _new_program(before: ast.Module | None, after: ast.Module) -> Iterator[Sighting]:
    """`if __name__ == "__main__":` in a module that could not be run before. Old statements may be put under one."""
    if before is None or any(_is_main(node) or _does_something(node) for node in before.body):
        return
    for node in after.body:
        if _is_main(node) and before.body:
            said = "the module can be run as a program, and could not before: a feature, not a refactoring"
            yield Sighting("RFC402", said, node.lineno, said)


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and "__main__" in ast.dump(node.test)


def _does_something(node: ast.stmt) -> bool:
    kinds = ast.For | ast.While | ast.With | ast.Try
    return isinstance(node, kinds) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))


def _new_entries(before: list[ast.Module], after: ast.Module) -> Iterator[Sighting]:
    """A table that was there has a key that the old code never mentioned."""
    known = {value for tree in before for value in _constants(tree)}
    old = {name for tree in before for name, _ in _tables(tree)}
    for name, table in _tables(after):
        fresh = [key for node in table.keys if node is not None and (key := literal(node)) and key not in known]
        if name in old and fresh:
            said = f"`{name}` has an entry for {fresh[0]}, and had none before: a feature, not a refactoring"
            yield Sighting("RFC402", said, table.lineno, said)


def _tables(tree: ast.Module) -> list[tuple[str, ast.Dict]]:
    return [
        (node.targets[0].id, node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Dict)
        if node.value.keys
    ]


def _runs_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"exec", "eval"}


def _used_names(sources: Mapping[str, str]) -> set[str]:
    used: set[str] = set()
    for tree in (parse(text) for text in sources.values()):
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Name | ast.Attribute):
                used.add(node.id if isinstance(node, ast.Name) else node.attr)
    return used


def _new_questions(before: list[ast.Module], after: ast.Module, *, more: bool) -> Iterator[Sighting]:
    """A branch that asks about a value which the old code never mentioned.

    Where there are no more branches than before, an old one may have been put otherwise (`> 9` for `>= 10`); then
    only a branch for one very value counts.
    """
    known = {value for tree in before for value in _constants(tree)}
    for node in ast.walk(after):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.match_case):
            question = node.pattern if isinstance(node, ast.match_case) else node.test
            asked = _constants(question) if more else _very_values(question)
            fresh = sorted({value for value in asked if value not in known} - _HARMLESS)
            if fresh:
                line = node.body[0].lineno - 1 if isinstance(node, ast.match_case) else node.lineno
                yield Sighting(
                    "RFC405", ast.dump(node), line, f"a new branch asks about {', '.join(f'`{x}`' for x in fresh)}"
                )


def _constants(tree: ast.AST) -> list[str]:
    return [value for node in ast.walk(tree) if (value := literal(node)) is not None]


def _very_values(question: ast.AST) -> list[str]:
    """`x` in `b == x`, `b in (x, y)` and `case x`."""
    if isinstance(question, ast.pattern):
        return _constants(question)
    compares = [node for node in ast.walk(question) if isinstance(node, ast.Compare)]
    equal = [node for node in compares if isinstance(node.ops[0], ast.Eq | ast.Is | ast.In)]
    sides = [side for node in equal for side in (node.left, *node.comparators)]
    listed = [x for side in sides for x in (side.elts if isinstance(side, ast.Tuple | ast.List | ast.Set) else [side])]
    return [value for side in listed if (value := literal(side)) is not None]
