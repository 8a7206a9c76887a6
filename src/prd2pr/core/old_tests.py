"""RED508: what old tests stand on must stay. A step that adds tests may add helpers; it may not bend those in use."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from prd2pr.core.definitions import Definition, definitions, has_only_grown, statements
from prd2pr.core.evidence import Fact
from prd2pr.core.expectations import changed_values, users
from prd2pr.core.test_naming import USUAL, TestNaming
from prd2pr.core.testfacts_model import FunctionNode, dotted, is_fixture, parse, parse_tests

CODE = "RED508"
Defined = Mapping[str, list[Definition]]
_SET_UP = frozenset(
    {"setup", "setup_module", "setup_function", "setup_class", "setup_method"}
    | {"setUp", "setUpClass", "setUpModule", "asyncSetUp"}
)
_REPLACING = frozenset({"setattr", "delattr", "setitem", "delitem", "patch", "object"})
# Given to an old class, they change what a comparison with its objects says.
_COMPARING = frozenset({"__eq__", "__ne__", "__bool__", "__contains__", "__getattribute__", "__class__"})


def changed_support(
    before: Mapping[str, str],
    after: Mapping[str, str],
    fresh: frozenset[str],
    turned: frozenset[str] = frozenset(),
    naming: TestNaming = USUAL,
) -> Iterator[Fact]:
    """`before` and `after`: all Python files of the tests, path -> text. `fresh`: tests that are new or edited.

    `turned`: old tests that fail now, as what they compare with has changed. A plain value may change if it turns every
    test that uses it; then nothing is bent under a test that goes on as if nothing had happened.
    """
    used = _used(before, fresh, naming)
    for path, text in sorted(after.items()):
        if path in before and before[path] != text:
            values = changed_values(before[path], text, naming)
            excused = {name for name in values if _turns_all(users(after, name, naming), fresh | turned)}
            yield from _changed(path, _defined(before[path], naming), _defined(text, naming), used - excused)
            yield from _loose(path, before[path], text)
        if before.get(path) != text:
            yield from _reaching(path, before, text, used, naming)
        if path not in before:
            yield from _shadowing(path, before, naming)
    for path in sorted(before.keys() - after.keys()):
        if not naming.is_module(path) and PurePosixPath(path).stem in used:
            yield _fact(path, 0, "was deleted, and old tests lean on it")


def _turns_all(found: frozenset[str] | None, turned: frozenset[str]) -> bool:
    return bool(found) and found is not None and found <= turned


def _fact(path: str, line: int, message: str) -> Fact:
    return Fact(code=CODE, path=path, line=line, message=message)


def _used(texts: Mapping[str, str], fresh: frozenset[str], naming: TestNaming) -> frozenset[str]:
    """Every name that anything but the edited tests mentions."""
    names: set[str] = set()
    for path, text in texts.items():
        module = parse_tests(path, text, naming)
        if module is None:
            continue
        left_out = {id(inner) for test in module.tests if test.id in fresh for inner in ast.walk(test.node)}
        for node in (node for node in ast.walk(module.tree) if id(node) not in left_out):
            names |= set(_mentioned(node))
    return frozenset(names)


def _mentioned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.ImportFrom):
        yield from [*(node.module or "").split("."), *(alias.name for alias in node.names)]
    elif isinstance(node, ast.Import):
        yield from (part for alias in node.names for part in alias.name.split("."))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.isidentifier():
        yield node.value  # usefixtures("shop")


def _changed(path: str, before: Defined, after: Defined, used: frozenset[str]) -> Iterator[Fact]:
    for name, earlier in before.items():
        own = name.rpartition(".")[2]
        later = after.get(name, [])
        if not later or not (own in used or _acts_unasked(earlier[-1])):
            continue
        grown = len(earlier) == len(later) and all(
            has_only_grown(one.value, other.value) for one, other in zip(earlier, later, strict=True)
        )
        if not grown:
            yield _fact(path, later[-1].line, f"`{name}` is not what it was, and old tests lean on it")
    for name, later in after.items():
        owner, _, own = name.rpartition(".")
        if name not in before and owner in before and own in _COMPARING:
            yield _fact(path, later[0].line, f"`{owner}`, which old tests use, now has a `{own}` of its own")


def _defined(text: str, naming: TestNaming) -> Defined:
    tree = parse(text)
    return definitions(tree.body, naming) if tree else {}


def _loose(path: str, old: str, new: str) -> Iterator[Fact]:
    """Statements that change things by themselves when the file is imported."""
    before = {ast.dump(node) for node in _statements(old)}
    for node in _statements(new):
        if ast.dump(node) in before:
            continue
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
        if any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets) or _replaces(node):
            yield _fact(path, node.lineno, "changes something when the file is imported, under old tests as well")
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            yield _fact(path, node.lineno, "`import *` can put other things under names that old tests use")


def _statements(text: str) -> list[ast.stmt]:
    tree = parse(text)
    return list(statements(tree.body)) if tree else []


def _replaces(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and any(_is_replacement(inner) for inner in ast.walk(node))


def _reaching(
    path: str, before: Mapping[str, str], text: str, used: frozenset[str], naming: TestNaming
) -> Iterator[Fact]:
    """New set-up that reaches old tests: fixtures that nobody has to ask for, and those that take another's place."""
    if path not in before and not _is_above(path, before, naming):
        return
    known, fixtures = _defined(before.get(path, ""), naming), _fixtures(before, naming)
    for name, later in _defined(text, naming).items():
        value = later[-1].value
        if name in known or not isinstance(value, FunctionNode):
            continue
        if _acts_unasked(later[-1]) and any(_is_replacement(inner) for inner in ast.walk(value)):
            yield _fact(path, later[-1].line, f"`{name}` runs for old tests too and replaces something under them")
        elif is_fixture(value) and value.name in fixtures and value.name in used:
            yield _fact(path, later[-1].line, f"`{name}` takes the place of the fixture that old tests were given")


def _is_above(path: str, before: Mapping[str, str], naming: TestNaming) -> bool:
    directory, _, name = path.rpartition("/")
    below = f"{directory}/" if directory else ""
    return name == "conftest.py" and any(naming.is_module(other) and other.startswith(below) for other in before)


def _fixtures(texts: Mapping[str, str], naming: TestNaming) -> set[str]:
    return {
        each.value.name
        for text in texts.values()
        for found in _defined(text, naming).values()
        for each in found
        if isinstance(each.value, FunctionNode) and is_fixture(each.value)
    }


def _acts_unasked(each: Definition) -> bool:
    if not isinstance(each.value, FunctionNode):
        return False
    return each.value.name in _SET_UP or any("autouse" in ast.dump(item) for item in each.value.decorator_list)


def _is_replacement(node: ast.AST) -> bool:
    if isinstance(node, ast.Global):
        return True
    if isinstance(node, ast.Call):
        name = dotted(node.func)
        return name.rpartition(".")[2] in _REPLACING or name in {"globals", "vars"}
    if isinstance(node, ast.Assign):
        roots = [dotted(target).partition(".")[0] for target in node.targets if isinstance(target, ast.Attribute)]
        items = [dotted(target.value) for target in node.targets if isinstance(target, ast.Subscript)]
        return any(root not in {"self", "cls", ""} for root in roots) or "sys.modules" in items
    return False


def _shadowing(path: str, before: Mapping[str, str], naming: TestNaming) -> Iterator[Fact]:
    """A package beside a module of the same name is what an import finds."""
    twin = path.removesuffix("/__init__.py") + ".py" if path.endswith("/__init__.py") else ""
    if twin in before and not naming.is_module(twin):
        yield _fact(path, 0, f"is found in place of {twin}, which old tests lean on")
