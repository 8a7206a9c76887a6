"""A test module as its AST shows it: which tests it declares, and what their names refer to."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from prd2pr.core.test_naming import USUAL, TestNaming

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
# Bases that make no class a test case.
_NO_TEST_CASES = frozenset(
    {"object", "abc", "ABC", "Protocol", "Generic", "NamedTuple", "TypedDict", "Enum", "IntEnum", "StrEnum", "typing"}
    | {name for name, value in vars(builtins).items() if isinstance(value, type)}
)
MAX_DEPTH = 150  # well below what recursion over a tree can bear
MAX_BITS = 14_000  # of a whole number: one of more than 4,300 digits is one that Python itself does not write out


@dataclass(frozen=True)
class FactContext:
    """What the facts of one file depend on beyond its own text."""

    project_modules: frozenset[str] = frozenset()  # importable top-level names of the project: {"shop"}
    planned: tuple[str, ...] | None = None  # dotted names that the design promises; None: no design is known
    support: Mapping[str, str] = field(default_factory=dict)  # path -> text: conftest and helper modules in reach
    previous: Mapping[str, str] = field(
        default_factory=dict
    )  # path -> text at base: what stood there is not held against
    new_tests: frozenset[str] | None = None  # ids without parameters; None: all that the file declares
    test_sources: Mapping[str, str] = field(default_factory=dict)  # the story's tests, read by source facts
    sources: Mapping[str, str] = field(default_factory=dict)  # all source files at head, read by source facts
    naming: TestNaming = USUAL  # what the project calls its tests


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
    naming: TestNaming = USUAL


@lru_cache(maxsize=512)
def parse(source: str) -> ast.Module | None:
    """None for what is not Python, or cannot be read. The tree is shared by all who ask: copy it before changing it."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # ValueError: a null byte
        return None
    return tree if _can_be_read(tree) else None


def is_too_deep(source: str) -> bool:
    """Python that is nested so deeply, or has a number so long, that nobody, and no rule here, can read it."""
    if parse(source) is not None:
        return False
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    except (RecursionError, MemoryError):
        return True
    return True


def _can_be_read(tree: ast.Module) -> bool:
    level = list[ast.AST]([tree])
    for _ in range(MAX_DEPTH):
        if any(_is_endless(node) for node in level):
            return False
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return True
    return False


def _is_endless(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value.bit_length() > MAX_BITS


def parse_tests(path: str, source: str, naming: TestNaming = USUAL) -> TestModule | None:
    """None when the text is not Python: the run itself says so better than a fact could."""
    tree = parse(source)
    if tree is None:
        return None
    opted_out = _opts_out(tree.body)
    tests = () if opted_out else tuple(_declared(tree.body, path, (), _classes(tree), naming))
    return TestModule(path, source, tree, tests, naming)


def _classes(tree: ast.Module) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def _declared(
    body: list[ast.stmt],
    prefix: str,
    owners: tuple[ast.ClassDef, ...],
    classes: Mapping[str, ast.ClassDef],
    naming: TestNaming,
) -> Iterator[DeclaredTest]:
    known = USUAL if owners and _is_unittest(owners[-1], classes, naming) else naming
    for node in body:
        if isinstance(node, FunctionNode) and known.is_function(node.name) and not is_fixture(node):
            yield DeclaredTest(f"{prefix}::{node.name}", node, owners)
        elif isinstance(node, ast.ClassDef) and is_collected(node, classes, naming):
            yield from _declared(node.body, f"{prefix}::{node.name}", (*owners, node), classes, naming)


def is_collected(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], naming: TestNaming) -> bool:
    if _opts_out(node.body):
        return False
    if _is_unittest(node, classes, naming):
        return True
    return naming.is_class(node.name) and constructor_of(node, classes) is None


def _is_unittest(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], naming: TestNaming) -> bool:
    return is_test_case(node, classes) or _may_be_test_case(node, classes, naming)


def constructor_of(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> FunctionNode | None:
    """The `__init__` or `__new__` because of which pytest passes the class over."""
    for family in _lineage(node, classes):
        for item in family.body:
            if isinstance(item, FunctionNode) and item.name in {"__init__", "__new__"}:
                return item
    return None


def is_test_case(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> bool:
    """`unittest.TestCase` or something that is called like one."""
    bases = [base for family in _lineage(node, classes) for base in family.bases]
    return any(dotted(base).endswith("TestCase") for base in bases)


def _may_be_test_case(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef], naming: TestNaming) -> bool:
    """A base from another module, such as one of the tests' own, may be a test case. Only collecting it can tell."""
    if naming.is_class(node.name):
        return False  # it is collected anyway, unless it has a constructor
    bases = {dotted(base) for family in _lineage(node, classes) for base in family.bases}
    return any(base and base.partition(".")[0] not in _NO_TEST_CASES and base not in classes for base in bases)


def certain_tests(path: str, source: str, naming: TestNaming = USUAL) -> tuple[str, ...]:
    """Of the declared tests, those that are collected whatever other modules hold."""
    module = parse_tests(path, source, naming) if naming.is_module(path) else None
    classes = _classes(module.tree) if module else {}
    tests = module.tests if module else ()
    return tuple(test.id for test in tests if not any(_may_be_test_case(each, classes, naming) for each in test.owners))


def _lineage(node: ast.ClassDef, classes: Mapping[str, ast.ClassDef]) -> list[ast.ClassDef]:
    found = [node]
    for family in found:  # grows while it is walked
        parents = [classes[name] for base in family.bases if (name := dotted(base)) in classes]
        found.extend(parent for parent in parents if parent not in found)
    return found


def _opts_out(body: list[ast.stmt]) -> bool:
    return any(
        isinstance(node, ast.Assign)
        and [dotted(target) for target in node.targets] == ["__test__"]
        and isinstance(node.value, ast.Constant)
        and not node.value.value
        for node in body
    )


def is_fixture(node: FunctionNode) -> bool:
    return any(decorator_name(item).split(".")[-1] == "fixture" for item in node.decorator_list)


def decorator_name(node: ast.expr) -> str:
    return dotted(node.func if isinstance(node, ast.Call) else node)


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a chain of names, and the empty string for anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and (head := dotted(node.value)):
        return f"{head}.{node.attr}"
    return ""


def imports_of(nodes: list[ast.stmt], package: str = "") -> dict[str, str]:
    """Local name -> dotted name, of the imports anywhere below these statements. `package` resolves relative ones."""
    names: dict[str, str] = {}
    for node in (inner for statement in nodes for inner in ast.walk(statement)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                names[alias.asname or alias.name.split(".")[0]] = (
                    alias.name if alias.asname else alias.name.split(".")[0]
                )
        elif isinstance(node, ast.ImportFrom):
            base = absolute_module(node, package)
            names.update(
                {alias.asname or alias.name: f"{base}.{alias.name}" for alias in node.names if alias.name != "*"}
            )
    return names


def absolute_module(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parents = package.split(".") if package else []
    kept = parents[: len(parents) - (node.level - 1)] if node.level > 1 else parents
    return ".".join([*kept, *([node.module] if node.module else [])])


def resolve(name: str, imports: Mapping[str, str]) -> str:
    """A local dotted name as its full one: `mark.skip` after `from pytest import mark` is `pytest.mark.skip`."""
    head, dot, rest = name.partition(".")
    return f"{imports.get(head, head)}{dot}{rest}"


def judged_tests(module: TestModule, context: FactContext) -> tuple[DeclaredTest, ...]:
    """The tests that the gate is about; none in a file that pytest does not collect."""
    if not module.naming.is_module(module.path):
        return ()
    return tuple(test for test in module.tests if context.new_tests is None or test.id in context.new_tests)
