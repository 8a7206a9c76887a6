"""RED508: a step that adds tests may add helpers, but must not change those that existing tests use."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from prd2pr.domain.evidence import Fact
from prd2pr.domain.results.finding_kind import FindingKind, define_error
from prd2pr.languages.python.definitions import (
    Definition,
    collect_definitions,
    is_compatible_extension,
    iterate_module_statements,
)
from prd2pr.languages.python.shared_expectations import find_changed_values, find_tests_using
from prd2pr.languages.python.test_model.module import (
    FunctionNode,
    get_dotted_name,
    is_fixture,
    parse_python,
    parse_tests,
)
from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

FINDINGS: tuple[FindingKind, ...] = (
    define_error(
        "RED508",
        "changes what existing tests depend on",
        "A helper, constant, import or fixture that existing tests use has changed. The tests still pass, but "
        "they no longer check the same thing.",
        bad="def check(actual, expected):\n    return actual == expected   # was an assert",
        good="def check(actual, expected):\n"
        "    assert actual == expected\n"
        "\n"
        "def check_points(actual, expected):   # a new helper\n"
        "    assert actual.points == expected",
        remedy="leave it unchanged and add a new helper; optional parameters may be added.",
    ),
)


CODE = "RED508"
Defined = Mapping[str, list[Definition]]
_SETUP_NAMES = frozenset(
    {"setup", "setup_module", "setup_function", "setup_class", "setup_method"}
    | {"setUp", "setUpClass", "setUpModule", "asyncSetUp"}
)
_REPLACING_CALLS = frozenset({"setattr", "delattr", "setitem", "delitem", "patch", "object"})
# If added to an existing class, these change how its instances compare.
_COMPARISON_METHODS = frozenset({"__eq__", "__ne__", "__bool__", "__contains__", "__getattribute__", "__class__"})


def check_existing_helpers(
    before: Mapping[str, str],
    after: Mapping[str, str],
    fresh: frozenset[str],
    turned: frozenset[str] = frozenset(),
    naming: TestNaming = DEFAULT_NAMING,
) -> Iterator[Fact]:
    """Report changes to helpers, constants, imports and fixtures that existing tests use.

    `before` and `after` map all Python files of the tests to their contents. `fresh` contains the tests that are new or
    edited, `turned` the existing tests that fail now because an expected value has changed. A plain value may change if
    every test that uses it fails now, because then no existing test passes with a different meaning.
    """
    used = _list_used_names(before, fresh, naming)
    for path, text in sorted(after.items()):
        if path in before and before[path] != text:
            values = find_changed_values(before[path], text, naming)
            excused = {name for name in values if _all_turned(find_tests_using(after, name, naming), fresh | turned)}
            yield from _check_changed_definitions(
                path, _get_definitions(before[path], naming), _get_definitions(text, naming), used - excused
            )
            yield from _check_import_effects(path, before[path], text)
        if before.get(path) != text:
            yield from _check_new_setup(path, before, text, used, naming)
        if path not in before:
            yield from _check_shadowed_helpers(path, before, naming)
    for path in sorted(before.keys() - after.keys()):
        if not naming.is_module(path) and PurePosixPath(path).stem in used:
            yield _make_fact(path, 0, "was deleted, but existing tests use it")


def _all_turned(found: frozenset[str] | None, turned: frozenset[str]) -> bool:
    return bool(found) and found is not None and found <= turned


def _make_fact(path: str, line: int, message: str) -> Fact:
    return Fact(code=CODE, path=path, line=line, message=message)


def _list_used_names(texts: Mapping[str, str], fresh: frozenset[str], naming: TestNaming) -> frozenset[str]:
    """Return every name that is mentioned outside the edited tests."""
    names: set[str] = set()
    for path, text in texts.items():
        module = parse_tests(path, text, naming)
        if module is None:
            continue
        left_out = {id(inner) for test in module.tests if test.id in fresh for inner in ast.walk(test.node)}
        for node in (node for node in ast.walk(module.tree) if id(node) not in left_out):
            names |= set(_list_mentioned_names(node))
    return frozenset(names)


def _list_mentioned_names(node: ast.AST) -> Iterator[str]:
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


def _check_changed_definitions(path: str, before: Defined, after: Defined, used: frozenset[str]) -> Iterator[Fact]:
    for name, earlier in before.items():
        own = name.rpartition(".")[2]
        later = after.get(name, [])
        if not later or not (own in used or _runs_automatically(earlier[-1])):
            continue
        grown = len(earlier) == len(later) and all(
            is_compatible_extension(one.value, other.value) for one, other in zip(earlier, later, strict=True)
        )
        if not grown:
            yield _make_fact(path, later[-1].line, f"`{name}` was changed, but existing tests use it")
    for name, later in after.items():
        owner, _, own = name.rpartition(".")
        if name not in before and owner in before and own in _COMPARISON_METHODS:
            yield _make_fact(path, later[0].line, f"`{owner}`, which existing tests use, now defines `{own}`")


def _get_definitions(text: str, naming: TestNaming) -> Defined:
    tree = parse_python(text)
    return collect_definitions(tree.body, naming) if tree else {}


def _check_import_effects(path: str, old: str, new: str) -> Iterator[Fact]:
    """Report new statements that have effects when the file is imported."""
    before = {ast.dump(node) for node in _list_statements(old)}
    for node in _list_statements(new):
        if ast.dump(node) in before:
            continue
        targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else []
        if any(isinstance(target, ast.Attribute | ast.Subscript) for target in targets) or _has_replacement(node):
            yield _make_fact(path, node.lineno, "has side effects at import, which also affect existing tests")
        elif isinstance(node, ast.ImportFrom) and node.names[0].name == "*":
            yield _make_fact(path, node.lineno, "`import *` can replace names that existing tests use")


def _list_statements(text: str) -> list[ast.stmt]:
    tree = parse_python(text)
    return list(iterate_module_statements(tree.body)) if tree else []


def _has_replacement(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and any(_is_replacement(inner) for inner in ast.walk(node))


def _check_new_setup(
    path: str, before: Mapping[str, str], text: str, used: frozenset[str], naming: TestNaming
) -> Iterator[Fact]:
    """Report new setup that affects existing tests: autouse fixtures, and fixtures that replace another one."""
    if path not in before and not _is_conftest_above(path, before, naming):
        return
    known, fixtures = _get_definitions(before.get(path, ""), naming), _list_replaceable_fixtures(before, naming)
    for name, later in _get_definitions(text, naming).items():
        value = later[-1].value
        if name in known or not isinstance(value, FunctionNode):
            continue
        if _runs_automatically(later[-1]) and any(_is_replacement(inner) for inner in ast.walk(value)):
            yield _make_fact(
                path, later[-1].line, f"`{name}` also runs for existing tests and replaces something that they use"
            )
        elif is_fixture(value) and value.name in fixtures and value.name in used:
            yield _make_fact(path, later[-1].line, f"`{name}` replaces the fixture that existing tests use")


def _is_conftest_above(path: str, before: Mapping[str, str], naming: TestNaming) -> bool:
    directory, _, name = path.rpartition("/")
    below = f"{directory}/" if directory else ""
    return name == "conftest.py" and any(naming.is_module(other) and other.startswith(below) for other in before)


def _list_replaceable_fixtures(texts: Mapping[str, str], naming: TestNaming) -> set[str]:
    """List the fixtures that a new one can replace. Those of a test module always win over those of a conftest."""
    fixtures: set[str] = set()
    shared: set[str] = set()
    for path, text in texts.items():
        for name, found in _get_definitions(text, naming).items():
            values = (each.value for each in found)
            fixtures |= {value.name for value in values if isinstance(value, FunctionNode) and is_fixture(value)}
            shared |= set() if naming.is_module(path) else {name.rpartition(".")[2]}
    return fixtures & shared


def _runs_automatically(each: Definition) -> bool:
    if not isinstance(each.value, FunctionNode):
        return False
    return each.value.name in _SETUP_NAMES or any("autouse" in ast.dump(item) for item in each.value.decorator_list)


def _is_replacement(node: ast.AST) -> bool:
    if isinstance(node, ast.Global):
        return True
    if isinstance(node, ast.Call):
        name = get_dotted_name(node.func)
        return name.rpartition(".")[2] in _REPLACING_CALLS or name in {"globals", "vars"}
    if isinstance(node, ast.Assign):
        roots = [
            get_dotted_name(target).partition(".")[0] for target in node.targets if isinstance(target, ast.Attribute)
        ]
        items = [get_dotted_name(target.value) for target in node.targets if isinstance(target, ast.Subscript)]
        return any(root not in {"self", "cls", ""} for root in roots) or "sys.modules" in items
    return False


def _check_shadowed_helpers(path: str, before: Mapping[str, str], naming: TestNaming) -> Iterator[Fact]:
    """Report a package that shadows a helper module of the same name."""
    twin = path.removesuffix("/__init__.py") + ".py" if path.endswith("/__init__.py") else ""
    if twin in before and not naming.is_module(twin):
        yield _make_fact(path, 0, f"is imported instead of {twin}, which existing tests use")
