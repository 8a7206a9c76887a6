"""Parses a test module: the tests that it declares and the names that it imports."""

from __future__ import annotations

import ast
import builtins
import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from prd2pr.languages.python.test_naming import DEFAULT_NAMING, TestNaming

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# Base classes that do not make a class a test case.
_PLAIN_BASES = frozenset(
    {"object", "abc", "ABC", "Protocol", "Generic", "NamedTuple", "TypedDict", "Enum", "IntEnum", "StrEnum", "typing"}
    | {name for name, value in vars(builtins).items() if isinstance(value, type)}
)
MAX_DEPTH = 150  # well below Python's recursion limit
MAX_BITS = 14_000  # bits of an integer; Python refuses to print more than 4,300 digits


@dataclass(frozen=True)
class FactContext:
    """The information that rules need in addition to the file's text."""

    project_modules: frozenset[str] = frozenset()  # importable top-level names of the project: {"shop"}
    planned: tuple[str, ...] | None = None  # dotted names that the design plans; None if there is no design
    support: Mapping[str, str] = field(default_factory=dict)  # path -> text of conftest and helper modules
    previous: Mapping[str, str] = field(
        default_factory=dict
    )  # path -> text at base; problems that existed there are not reported
    new_tests: frozenset[str] | None = None  # ids without parameters; None means all tests in the file
    test_sources: Mapping[str, str] = field(default_factory=dict)  # the story's tests, for rules about source code
    sources: Mapping[str, str] = field(default_factory=dict)  # all source files at head, for rules about source code
    naming: TestNaming = DEFAULT_NAMING  # how the project names its tests


@dataclass(frozen=True)
class DeclaredTest:
    id: str
    node: FunctionNode
    owners: tuple[ast.ClassDef, ...] = ()

    @property
    def name(self) -> str:
        return self.node.name


@dataclass(frozen=True)
class TestModule:
    __test__ = False
    path: str
    source: str
    tree: ast.Module
    tests: tuple[DeclaredTest, ...]
    naming: TestNaming = DEFAULT_NAMING

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))


@lru_cache(maxsize=512)
def parse_python(source: str) -> ast.Module | None:
    """Return the syntax tree, or None if the source cannot be parsed or analysed.

    The tree is cached, so it must not be modified.
    """
    try:
        tree = _parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # ValueError means a null byte
        return None
    return tree if _is_readable(tree) else None


def _parse(source: str) -> ast.Module:
    """Parse once more after "AST constructor recursion depth mismatch", a race of threads in Python 3.11."""
    try:
        return ast.parse(source)
    except SystemError:
        return ast.parse(source)


def is_too_deeply_nested(source: str) -> bool:
    """Return whether valid Python is nested too deeply, or contains too long a number, to be analysed."""
    if parse_python(source) is not None:
        return False
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    except (RecursionError, MemoryError):
        return True
    return True


def _is_readable(tree: ast.Module) -> bool:
    level = list[ast.AST]([tree])
    for _ in range(MAX_DEPTH):
        if any(_is_huge_number(node) for node in level):
            return False
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False


def _is_huge_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value.bit_length() > MAX_BITS


def parse_tests(path: str, source: str, naming: TestNaming = DEFAULT_NAMING) -> TestModule | None:
    """Parse a test module. Return None if it is not valid Python, which the test run reports."""
    tree = parse_python(source)
    if tree is None:
        return None
    opted_out = _opts_out_of_collection(tree.body)
    tests = () if opted_out else tuple(_find_tests(tree.body, path, (), _list_classes(tree), naming))
    return TestModule(path, source, tree, tests, naming)


def _list_classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _find_tests(
    body: list[ast.stmt],
    prefix: str,
    owners: tuple[ast.ClassDef, ...],
    classes: Mapping[str, ast.ClassDef],
    naming: TestNaming,
) -> Iterator[DeclaredTest]:
    known = DEFAULT_NAMING if owners and _is_unittest_class(owners[-1], classes, naming) else naming
    for node in body:
        if isinstance(node, FunctionNode) and known.is_function(node.name) and not is_fixture(node):
            yield DeclaredTest(f"{prefix}::{node.name}", node, owners)
        elif isinstance(node, ast.ClassDef) and is_collected_class(node, classes, naming):
            yield from _find_tests(node.body, f"{prefix}::{node.name}", (*owners, node), classes, naming)


def is_collected_class(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], naming: TestNaming) -> bool:
    if _opts_out_of_collection(node.body):
        return False
    if _is_unittest_class(node, classes, naming):
        return True
    return naming.is_class(node.name) and find_constructor(node, classes) is None


def _is_unittest_class(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], naming: TestNaming) -> bool:
    return is_test_case(node, classes) or _may_be_test_case(node, classes, naming)


def find_constructor(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> FunctionNode | None:
    """Return the `__init__` or `__new__` that keeps pytest from collecting the class."""
    for family in _list_ancestors(node, classes):
        for item in family.body:
            if isinstance(item, FunctionNode) and item.name in {"__init__", "__new__"}:
                return item
    return None


def is_test_case(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> bool:
    """Return whether the class derives from `unittest.TestCase` or from a class with such a name."""
    bases = [base for family in _list_ancestors(node, classes) for base in family.bases]
    return any(get_dotted_name(base).endswith("TestCase") for base in bases)


def _may_be_test_case(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], naming: TestNaming) -> bool:
    """Return whether a base class from another module may make the class a test case. Only collection can tell."""
    if naming.is_class(node.name):
        return False  # collected anyway unless it has a constructor
    bases = {get_dotted_name(base) for family in _list_ancestors(node, classes) for base in family.bases}
    return any(base and base.partition(".")[0] not in _PLAIN_BASES and base not in classes for base in bases)


def find_certain_tests(path: str, source: str, naming: TestNaming = DEFAULT_NAMING) -> tuple[str, ...]:
    """Return the declared tests that are collected regardless of what other modules contain."""
    module = parse_tests(path, source, naming) if naming.is_module(path) else None
    classes = _list_classes(module.tree) if module else {}
    tests = module.tests if module else ()
    return tuple(test.id for test in tests if not any(_may_be_test_case(each, classes, naming) for each in test.owners))


def _list_ancestors(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> list[ast.ClassDef]:
    found = [node]
    for family in found:  # the list grows during the loop
        parents = [classes[name] for base in family.bases if (name := get_dotted_name(base)) in classes]
        found.extend(parent for parent in parents if parent not in found)
    return found


def _opts_out_of_collection(body: list[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Assign)
        and [get_dotted_name(target) for target in node.targets] == ["__test__"]
        and isinstance(node.value, ast.Constant)
        and not node.value.value
        for node in body
    )


def is_fixture(node: FunctionNode) -> bool:
    return any(get_decorator_name(item).split(".")[-1] == "fixture" for item in node.decorator_list)


def get_decorator_name(node: ast.expr) -> str:
    return get_dotted_name(node.func if isinstance(node, ast.Call) else node)


def get_dotted_name(node: ast.AST) -> str:
    """Return the text of a chain of names, such as `a.b.c`, or an empty string for any other node."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (head := get_dotted_name(node.value)):
        return f"{head}.{node.attr}"
    return ""


def collect_imports(nodes: list[ast.stmt], package: str = "") -> dict[str, str]:
    """Map local names to full names for all imports in the statements.

    Relative imports are resolved against `package`.
    """
    names: dict[str, str] = {}
    for node in (inner for statement in nodes for inner in ast.walk(statement)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            base = get_absolute_module(node, package)
            names.update(
                {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names if alias.name != "*"}
            )
    return names


def get_absolute_module(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parents = package.split(".") if package else []
    kept = parents[: len(parents) - (node.level - 1)] if node.level > 1 else parents
    return ".".join([*kept, *([node.module] if node.module else [])])


def resolve_name(name: str, imports: Mapping[str, str]) -> str:
    """Return the full name, such as `pytest.mark.skip` for `mark.skip` after `from pytest import mark`."""
    head, dot, rest = name.partition(".")
    return f"{imports.get(head, head)}{dot}{rest}"


def list_judged_tests(module: TestModule, context: FactContext) -> tuple[DeclaredTest, ...]:
    """Return the tests that the gate judges. There are none in a file that pytest does not collect."""
    if not module.naming.is_module(module.path):
        return ()
    return tuple(test for test in module.tests if context.new_tests is None or test.id in context.new_tests)


def walk_own_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Walk the nodes that run as part of `node`, skipping nested functions and classes."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, FunctionNode | ast.Lambda | ast.ClassDef):
            yield from walk_own_nodes(child)


def unparse_node(node: ast.AST) -> str:
    """Return the node as code.

    Python 3.11 cannot write an f-string whose expressions contain a backslash, which inlining can produce. Such an
    f-string becomes a `join`.
    """
    try:
        return ast.unparse(node)
    except ValueError:
        return ast.unparse(ast.fix_missing_locations(_FormatStringRewriter().visit(copy.deepcopy(node))))


class _FormatStringRewriter(ast.NodeTransformer):
    """Replaces f-strings with equivalent calls."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        return _make_call(ast.Attribute(ast.Constant(""), "join", ast.Load()), ast.List(node.values, ast.Load()))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.expr:
        self.generic_visit(node)
        converter = {"s": "str", "r": "repr", "a": "ascii"}.get(chr(max(node.conversion, 0)))
        value = _make_call(ast.Name(converter, ast.Load()), node.value) if converter else node.value
        return _make_call(ast.Name("format", ast.Load()), value, *filter(None, [node.format_spec]))


def _make_call(function: ast.expr, *arguments: ast.expr) -> ast.Call:
    return ast.Call(function, list(arguments), [])
