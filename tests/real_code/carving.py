"""Carve honest cycles out of a package with its own tests.

A cycle leaves out a function, a class or a module and the tests that use it. RED restores the tests and GREEN the code.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
Definition = FunctionNode | ast.ClassDef
Files = Mapping[str, str | None]  # texts by path from the package's root; None for a file that does not exist

MAX_TESTS = 40  # tests of one cycle
MIN_STATEMENTS = 2  # a shorter function is hardly a story
MIN_METHODS = 2  # likewise for a class

_ASSERTION = re.compile(r"assert|raises|warns|\bfail|\bcheck|expect|should|eq_|validate|compare")

GROWN = "grown"  # tests are added to existing test files
NEW_FILE = "new test file"
NEW_CLASS = "class"
NEW_MODULE = "new module"  # the module and its test files are new


@dataclass(frozen=True)
class Cycle:
    """The files of the cycle's three commits where they differ from the complete package."""

    name: str
    style: str
    tests: tuple[str, ...]  # ids of the new tests, without parameters
    base: Files
    red: Files
    green: Files

    @property
    def paths(self) -> set[str]:
        return {*self.base, *self.red, *self.green}

    @property
    def test_files(self) -> tuple[str, ...]:
        return tuple(sorted({test.partition("::")[0] for test in self.tests}))


def carve(sources: Mapping[str, str], tests: Mapping[str, str], most: int) -> Iterator[Cycle]:
    """Yield up to `most` candidates, spread over the modules. The caller checks them with plain pytest."""
    parsed = {path: tree for path, text in tests.items() if (tree := _parse(text))}
    by_module = [_carve_module(path, sources, tests, parsed) for path in sorted(sources)]
    taken = 0
    while by_module:
        for candidates in list(by_module):
            if taken == most:
                return
            cycle = next(candidates, None)
            if cycle is None:
                by_module.remove(candidates)
            else:
                taken += 1
                yield cycle


def describe_tests(cycle: Cycle) -> tuple[str, ...]:
    """Return what the new tests use: the test frameworks and forms that the benchmark should cover."""
    added = _list_added_lines({path: cycle.base.get(path) for path in cycle.test_files}, cycle.red)
    code = _list_added_lines(
        {path: cycle.red.get(path) for path in cycle.green if cycle.green[path] != cycle.red.get(path)}, cycle.green
    )
    files = "\n".join(cycle.red[path] or "" for path in cycle.test_files)
    name = re.escape(cycle.name.rpartition(":")[2].partition(".")[0])
    found = {
        "unittest": re.search(r"\bTestCase\b", files),
        "hypothesis": re.search(r"@given\b|@hypothesis\.given", added),
        "asyncio": re.search(r"async def test|await ", added),
        "pytest-mock": re.search(r"\bmocker\b", added),
        "frozen time": re.search(r"freeze|time_machine", added),
        "parametrized": re.search(r"parametrize", added),
        "generator": re.search(r"^\s+yield\b", code, re.MULTILINE),
        "top-level import": re.search(rf"^from [\w.]+ import [^\n]*\b{name}\b|^    {name},$", added, re.MULTILINE),
    }
    return tuple(word for word, match in found.items() if match)


def _list_added_lines(before: Files, after: Files) -> str:
    old = {path: {*(text or "").splitlines()} for path, text in before.items()}
    return "\n".join(line for path in old for line in (after[path] or "").splitlines() if line not in old[path])


@lru_cache(maxsize=2000)
def _parse(text: str) -> ast.Module | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None


def _carve_module(
    path: str, sources: Mapping[str, str], tests: Mapping[str, str], parsed: Mapping[str, ast.Module]
) -> Iterator[Cycle]:
    yield from _carve_whole_module(path, sources, tests)
    tree = _parse(sources[path])
    count = 0
    for owner, node in _list_definitions(tree) if tree else ():
        for style in _choose_styles(node, count):
            cycle = _carve_definition(path, owner, node, style, sources, tests, parsed)
            if cycle:
                count += 1
                yield cycle
                break


def _choose_styles(node: Definition, count: int) -> tuple[str, ...]:
    if isinstance(node, ast.ClassDef):
        return (NEW_CLASS,)
    return (NEW_FILE, GROWN) if count % 2 else (GROWN,)


def _carve_definition(
    path: str,
    owner: ast.AST,
    node: Definition,
    style: str,
    sources: Mapping[str, str],
    tests: Mapping[str, str],
    parsed: Mapping[str, ast.Module],
) -> Cycle | None:
    cut = _cut(sources[path], [(*_span(node), _filler(owner, node))])
    if _parse(cut) is None:
        return None
    without: dict[str, str] = {path: cut}
    top = not isinstance(owner, ast.ClassDef)
    for other, text in sources.items():
        changed = _drop_exports(without.get(other, text), node.name) if top else without.get(other, text)
        if changed != text:
            without[other] = changed
    trimmed: dict[str, str] = {}
    used: dict[str, list[tuple[ast.AST, FunctionNode]]] = {}
    for test_path, test_tree in parsed.items():
        found = list(_find_using_tests(test_tree, node.name))
        if not found:
            continue
        used[test_path] = found
        shorter = _cut(tests[test_path], _merge_fillers(found))
        trimmed[test_path] = _drop_exports(shorter, node.name) if top else shorter
    names = [
        (test_path, f"{parent.name}::" if isinstance(parent, ast.ClassDef) else "", each.name)
        for test_path, found in used.items()
        for parent, each in found
    ]
    if not 0 < len(names) <= MAX_TESTS or any(_mentions(text, node.name) for text in trimmed.values()):
        return None
    moved: dict[str, str] = {}
    if style == NEW_FILE:
        if len(used) != 1:
            return None
        ((test_path, found),) = used.items()
        new_path = _name_new_file(test_path, node.name, tests)
        own = _extract_tests(parsed[test_path], tests[test_path], found)
        if own is None or _parse(own) is None:
            return None
        moved = {test_path: new_path}
        restored: dict[str, str] = {new_path: own, test_path: trimmed[test_path]}
    else:
        restored = {each: tests[each] for each in trimmed}
    absent: Files = dict.fromkeys(moved.values())
    complete = {each: sources[each] for each in without}
    ids = tuple(f"{moved.get(test_path, test_path)}::{scope}{name}" for test_path, scope, name in names)
    qualified = node.name if top else f"{owner.name}.{node.name}"  # type: ignore[attr-defined]
    return Cycle(
        f"{path}:{qualified}",
        style,
        ids,
        {**without, **trimmed, **absent},
        {**without, **restored},
        {**complete, **restored},
    )


def _carve_whole_module(path: str, sources: Mapping[str, str], tests: Mapping[str, str]) -> Iterator[Cycle]:
    """Yield the cycle that adds a module which no other module imports, with the test files that are named after it."""
    stem = PurePosixPath(path).stem
    word = re.compile(rf"\b{re.escape(stem)}\b")
    if stem.startswith("_") or any(word.search(text) for other, text in sources.items() if other != path):
        return
    files = {each: text for each, text in tests.items() if word.search(text) or each.endswith(f"test_{stem}.py")}
    ids = tuple(
        f"{each}::{f'{owner.name}::' if isinstance(owner, ast.ClassDef) else ''}{node.name}"
        for each, text in files.items()
        for owner, node in _list_tests(_parse(text) or ast.Module([], []))
    )
    if 0 < len(ids) <= MAX_TESTS and all(stem in PurePosixPath(each).stem for each in files):
        absent: Files = dict.fromkeys((path, *files))
        yield Cycle(path, NEW_MODULE, ids, absent, {path: None, **files}, {path: sources[path], **files})


def _list_definitions(tree: ast.Module) -> Iterator[tuple[ast.AST, Definition]]:
    for node in tree.body:
        if isinstance(node, FunctionNode) and not node.name.startswith("_") and _is_long_enough(node):
            yield tree, node
        elif isinstance(node, ast.ClassDef):
            counts: dict[str, int] = {}
            methods = [each for each in node.body if isinstance(each, FunctionNode) and not each.name.startswith("_")]
            for each in methods:
                counts[each.name] = counts.get(each.name, 0) + 1
            if len(methods) >= MIN_METHODS and not node.name.startswith("_"):
                yield tree, node
            yield from ((node, each) for each in methods if counts[each.name] == 1 and _is_long_enough(each))


def _is_long_enough(node: FunctionNode) -> bool:
    return len(node.body) >= MIN_STATEMENTS or isinstance(node.body[0], ast.If | ast.For | ast.While | ast.Try)


def _find_using_tests(tree: ast.Module, name: str) -> Iterator[tuple[ast.AST, FunctionNode]]:
    return ((owner, node) for owner, node in _list_tests(tree) if _uses(node, name))


def _list_tests(tree: ast.Module) -> Iterator[tuple[ast.AST, FunctionNode]]:
    owners: list[ast.Module | ast.ClassDef] = [tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))]
    for owner in owners:
        for node in owner.body:
            if isinstance(node, FunctionNode) and node.name.startswith("test"):
                yield owner, node


def _uses(node: ast.AST, name: str) -> bool:
    return any(
        (isinstance(each, ast.Name) and each.id == name) or (isinstance(each, ast.Attribute) and each.attr == name)
        for each in ast.walk(node)
    )


def _mentions(text: str, name: str) -> bool:
    tree = _parse(text)
    return tree is None or any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(tree))


# --- what an honest story has ---


def asserts_something(cycle: Cycle) -> bool:
    """Return whether each new test has something like an assertion."""
    for path in cycle.test_files:
        tree = _parse(cycle.red[path] or "")
        for owner, node in _list_tests(tree) if tree else ():
            scope = f"{owner.name}::" if isinstance(owner, ast.ClassDef) else ""
            if f"{path}::{scope}{node.name}" in cycle.tests and not _ASSERTION.search(ast.unparse(node)):
                return False
    return True


def record_calls(cycle: Cycle, log: str) -> tuple[dict[str, str], set[str]]:
    """Return the new source files, changed so that each new function appends its name to a file, and these names."""
    changed: dict[str, str] = {}
    names: set[str] = set()
    for path, text in cycle.green.items():
        if text is None or path in cycle.test_files or text == cycle.red.get(path):
            continue
        old, tree = _parse(cycle.red.get(path) or ""), ast.parse(text)
        known = {name for name, _ in _list_qualified(old)} if old else set()
        for name, node in _list_qualified(tree):
            rest = [each for each in node.body if not _is_docstring(each)]
            if name in known or not rest or isinstance(rest[0], ast.Pass | ast.Raise):
                continue
            names.add(f"{path}:{name}")
            node.body.insert(0, ast.parse(f"open({log!r}, 'a').write({f'{path}:{name}' + chr(10)!r})").body[0])
        changed[path] = ast.unparse(ast.fix_missing_locations(tree))
    return changed, names


def _list_qualified(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, FunctionNode]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, FunctionNode):
            yield f"{prefix}{node.name}", node
        if isinstance(node, ast.ClassDef | ast.If | ast.Try):
            yield from _list_qualified(node, f"{prefix}{node.name}." if isinstance(node, ast.ClassDef) else prefix)


# --- a new test file --------------------------------------------------------------------------------------------------


def _name_new_file(path: str, name: str, tests: Mapping[str, str]) -> str:
    directory, _, file = path.rpartition("/")
    prefix = f"{directory}/" if directory else ""
    stem = name.strip("_").lower()
    new = f"{prefix}test_{stem}_story.py" if file.startswith("test_") else f"{prefix}{stem}_story_test.py"
    return new if new not in tests else f"{prefix}test_{stem}_story_2.py"


def _extract_tests(tree: ast.Module, text: str, found: Sequence[tuple[ast.AST, FunctionNode]]) -> str | None:
    """Return a test file with these tests and the statements of the module that they need."""
    chosen = {id(node) for _, node in found}
    owners = {id(owner) for owner, _ in found}
    kept: dict[int, ast.stmt] = {}
    waiting: list[ast.AST] = [node for _, node in found]
    waiting += [each for owner, _ in found if isinstance(owner, ast.ClassDef) for each in _list_shared(owner, chosen)]
    while waiting:
        names = _list_names(waiting.pop())
        for position, statement in enumerate(tree.body):
            if position in kept or id(statement) in chosen or id(statement) in owners:
                continue
            if _is_needed(statement, names):
                kept[position] = statement
                waiting.append(statement)
    if any(isinstance(node, FunctionNode) and node.name.startswith("test") for node in kept.values()):
        return None  # a test that another test calls
    lines = text.splitlines(keepends=True)
    parts: list[str] = []
    for position, statement in enumerate(tree.body):
        first, last = _span(statement)
        if position in kept and isinstance(statement, ast.ImportFrom | ast.Import):
            parts.append(_keep_imports(statement, _list_all_names([*kept.values(), *(node for _, node in found)])))
        elif position in kept or id(statement) in chosen:
            parts.append("\n\n" + "".join(lines[first - 1 : last]))
        elif id(statement) in owners and isinstance(statement, ast.ClassDef):
            parts.append("\n\n" + _keep_methods(statement, chosen, text))
    return "".join(parts)


def _list_shared(owner: ast.ClassDef, chosen: set[int]) -> Iterator[ast.AST]:
    yield from (*owner.bases, *owner.decorator_list)
    yield from (each for each in owner.body if id(each) not in chosen and not _is_test(each))


def _is_test(node: ast.AST) -> bool:
    return isinstance(node, FunctionNode) and node.name.startswith("test")


def _list_names(node: ast.AST) -> set[str]:
    names: set[str] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name):
            names.add(each.id)
        elif isinstance(each, ast.arg):
            names.add(each.arg)  # a fixture
        elif isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.isidentifier():
            names.add(each.value)  # `usefixtures("name")`
    return names


def _list_all_names(nodes: Iterable[ast.AST]) -> set[str]:
    return {name for node in nodes for name in _list_names(node)} | {"annotations"}


def _is_needed(statement: ast.stmt, names: set[str]) -> bool:
    if isinstance(statement, ast.ImportFrom | ast.Import):
        bound = {(each.asname or each.name).partition(".")[0] for each in statement.names}
        return bool(bound & (names | {"annotations", "*"}))
    if isinstance(statement, FunctionNode | ast.ClassDef):
        autouse = any("autouse" in ast.unparse(each) for each in statement.decorator_list)
        return statement.name in names or autouse
    stored = {each.id for each in ast.walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    imported = {
        (each.asname or each.name).partition(".")[0] for each in ast.walk(statement) if isinstance(each, ast.alias)
    }
    return bool((stored | imported) & (names | {"pytestmark"}))


def _keep_imports(statement: ast.ImportFrom | ast.Import, names: set[str]) -> str:
    kept = [each for each in statement.names if (each.asname or each.name).partition(".")[0] in names | {"*"}]
    if isinstance(statement, ast.Import):
        return f"{ast.unparse(ast.Import(kept or statement.names))}\n"
    return f"{ast.unparse(ast.ImportFrom(statement.module, kept or statement.names, statement.level))}\n"


def _keep_methods(owner: ast.ClassDef, chosen: set[int], text: str) -> str:
    dropped = [(*_span(each), "") for each in owner.body if _is_test(each) and id(each) not in chosen]
    first, last = _span(owner)
    kept = _cut("".join(text.splitlines(keepends=True)[:last]), dropped)
    return "".join(kept.splitlines(keepends=True)[first - 1 :])


# --- edits of a text --------------------------------------------------------------------------------------------------


def _span(node: ast.stmt) -> tuple[int, int]:
    first = min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
    return first, node.end_lineno or node.lineno


def _merge_fillers(found: Iterable[tuple[ast.AST, FunctionNode]]) -> list[tuple[int, int, str]]:
    """Return the cuts of these tests. A class that loses everything gets one `pass`."""
    found = list(found)
    cuts: list[tuple[int, int, str]] = []
    filled: set[int] = set()
    for owner, node in found:
        removed = {id(each) for parent, each in found if parent is owner}
        body = [each for each in getattr(owner, "body", ()) if not _is_docstring(each)]
        is_empty = isinstance(owner, ast.ClassDef) and all(id(each) in removed for each in body)
        filler = f"{' ' * node.col_offset}pass\n" if is_empty and id(owner) not in filled else ""
        filled |= {id(owner)} if filler else set()
        cuts.append((*_span(node), filler))
    return cuts


def _filler(owner: ast.AST, node: Definition) -> str:
    """Return `pass` for the only statement of a class."""
    body = owner.body if isinstance(owner, ast.ClassDef) else []
    is_only = len([each for each in body if not _is_docstring(each)]) == 1
    return f"{' ' * node.col_offset}pass\n" if is_only else ""


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _cut(text: str, spans: Iterable[tuple[int, int, str]]) -> str:
    lines = text.splitlines(keepends=True)
    for first, last, filler in sorted(spans, reverse=True):
        lines[first - 1 : last] = [filler] if filler else []
    return "".join(lines)


def _drop_exports(text: str, name: str) -> str:
    """Remove the name from imports and from `__all__`."""
    tree = _parse(text) if re.search(rf"\b{re.escape(name)}\b", text) else None
    cuts: list[tuple[int, int, str]] = []
    for node in ast.walk(tree) if tree else ():
        if isinstance(node, ast.ImportFrom) and any(each.name == name for each in node.names):
            kept = [each for each in node.names if each.name != name]
            rest = ast.unparse(ast.ImportFrom(node.module, kept, node.level)) if kept else "pass"
            cuts.append((node.lineno, node.end_lineno or node.lineno, f"{' ' * node.col_offset}{rest}\n"))
        elif _is_all(node):
            assert isinstance(node, ast.Assign) and isinstance(node.value, ast.List | ast.Tuple)
            kept_items = [
                each for each in node.value.elts if not (isinstance(each, ast.Constant) and each.value == name)
            ]
            if len(kept_items) < len(node.value.elts):
                written = ast.unparse(ast.List(kept_items, ast.Load()))
                cuts.append((node.lineno, node.end_lineno or node.lineno, f"__all__ = {written}\n"))
    return _cut(text, cuts)


def _is_all(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and node.targets[0].id == "__all__"
        and isinstance(node.value, ast.List | ast.Tuple)
    )
