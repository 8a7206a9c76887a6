"""What one test can reach: its imports, helpers, fixtures and set-up, and which names belong to the subject."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from prd2pr.core.testfacts_model import (
    DeclaredTest,
    FactContext,
    FunctionNode,
    TestModule,
    decorator_name,
    dotted,
    imports_of,
    is_fixture,
    parse,
    resolve,
)

_NOT_SUBJECT = frozenset(
    {"tests", "test", "conftest", "pytest", "_pytest", "hypothesis", "unittest", "numpy", "pandas"}
)
_SETUP_NAMES = frozenset(
    {"setup_method", "setup_class", "setUp", "setUpClass", "asyncSetUp", "setup", "setup_module", "setup_function"}
)
_FIXTURE_WORDS = """
    tmp_path tmp_path_factory tmpdir tmpdir_factory capsys capfd capsysbinary capfdbinary caplog monkeypatch request
    recwarn cache record_property record_testsuite_property doctest_namespace pytestconfig subtests self cls
"""
_BUILT_IN_FIXTURES = frozenset(_FIXTURE_WORDS.split())


@dataclass(frozen=True)
class TestScope:
    __test__ = False
    module: TestModule
    test: DeclaredTest
    context: FactContext
    support: tuple[tuple[str, ast.Module], ...]

    @cached_property
    def imports(self) -> dict[str, str]:
        """Local names with what they stand for; those of helper modules too, as their functions run here."""
        bodies: list[list[ast.stmt]] = [
            *(tree.body for _, tree in self.support),
            self.module.tree.body,
            [self.test.node],
        ]
        return {name: full for body in bodies for name, full in imports_of(body).items()}

    @cached_property
    def star_imports(self) -> bool:
        """After `from shop import *` every unknown name may be the subject's."""
        nodes = [node for node in ast.walk(self.module.tree) if isinstance(node, ast.ImportFrom)]
        return any(node.names[0].name == "*" and self.is_subject_module(node.module or "") for node in nodes)

    @cached_property
    def helpers(self) -> dict[str, FunctionNode]:
        """Functions by the name under which the test can call them, its own methods as `self.name`."""
        found: dict[str, FunctionNode] = {}
        for path, tree in self.support:
            stem = PurePosixPath(path).stem
            for name, node in _functions(tree.body):
                if not is_fixture(node):
                    found.update(dict.fromkeys(self._names_of(stem, name), node))
        found.update({name: node for name, node in _functions(self.module.tree.body) if not is_fixture(node)})
        for owner in self._owners():
            found.update({f"self.{name}": node for name, node in _functions(owner.body) if not is_fixture(node)})
        return found

    def _names_of(self, stem: str, name: str) -> Iterator[str]:
        for local, full in self.imports.items():
            parts = full.split(".")
            if parts[-1] == name and (stem in parts[:-1] or len(parts) == 1):
                yield local
            if parts[-1] == stem:
                yield f"{local}.{name}"

    def _owners(self) -> list[ast.ClassDef]:
        """The test's classes and those of their bases that can be found."""
        trees = [self.module.tree, *(tree for _, tree in self.support)]
        classes = {node.name: node for tree in reversed(trees) for node in tree.body if isinstance(node, ast.ClassDef)}
        found = list(self.test.owners)
        for owner in found:  # grows while it is walked
            bases = [classes.get(dotted(base).rpartition(".")[2]) for base in owner.bases]
            found.extend(base for base in bases if base is not None and base not in found)
        return list(reversed(found))

    @cached_property
    def foreign_base(self) -> bool:
        """A base class that cannot be seen may bring set-up and assertions of its own."""
        known = {owner.name for owner in self._owners()} | {
            "object",
            "TestCase",
            "IsolatedAsyncioTestCase",
            "ABC",
            "Generic",
        }
        names = [dotted(base).rpartition(".")[2] for owner in self._owners() for base in owner.bases]
        return any(name not in known for name in names)

    @cached_property
    def fixtures(self) -> dict[str, FunctionNode]:
        bodies = [*(tree.body for _, tree in self.support), self.module.tree.body, *(o.body for o in self._owners())]
        return {_fixture_name(node): node for body in bodies for _, node in _functions(body) if is_fixture(node)}

    @cached_property
    def used_fixtures(self) -> dict[str, FunctionNode]:
        """Asked for by parameter or mark, directly or through another fixture, and those that run by themselves."""
        decorators = [
            *self.test.node.decorator_list,
            *(item for owner in self.test.owners for item in owner.decorator_list),
        ]
        wanted = [*_parameters(self.test.node), *_use_marks(decorators)]
        wanted.extend(name for name, node in self.fixtures.items() if _is_autouse(node))
        used: dict[str, FunctionNode] = {}
        while wanted:
            name = wanted.pop()
            if name in self.fixtures and name not in used:
                used[name] = self.fixtures[name]
                wanted.extend(_parameters(self.fixtures[name]))
        return used

    @cached_property
    def unknown_fixtures(self) -> frozenset[str]:
        """Fixtures of plugins: nothing is known of them, so nothing is held against them."""
        given = parametrised_names(self.test)
        asked = {name for node in (self.test.node, *self.used_fixtures.values()) for name in _parameters(node)}
        return frozenset(asked - set(self.fixtures) - _BUILT_IN_FIXTURES - given - _patched_parameters(self.test.node))

    @cached_property
    def setups(self) -> list[FunctionNode]:
        bodies = [self.module.tree.body, *(owner.body for owner in self._owners())]
        return [node for body in bodies for name, node in _functions(body) if name in _SETUP_NAMES]

    @cached_property
    def reach(self) -> list[FunctionNode]:
        """Every function whose body can run as part of this test."""
        found: list[FunctionNode] = [self.test.node, *self.used_fixtures.values(), *self.setups]
        for node in found:  # grows while it is walked
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name | ast.Attribute):
                    helper = self.helpers.get(dotted(inner))
                    if helper is not None and helper not in found:
                        found.append(helper)
        return found

    # --- the subject ---

    def is_subject(self, name: str) -> bool:
        """Whether a dotted name, as written in this module, belongs to the code under test."""
        head = name.partition(".")[0]
        if head in self.imports:
            return self.is_subject_module(resolve(name, self.imports))
        return bool(head) and self.star_imports and head not in self.helpers and not hasattr(builtins, head)

    def is_subject_module(self, full: str) -> bool:
        top = full.partition(".")[0]
        if top in self.subject_tops:
            return True
        return not self.subject_tops and bool(top) and top not in self._never_subject

    @cached_property
    def subject_tops(self) -> frozenset[str]:
        planned = {name.partition(".")[0] for name in self.context.planned or ()}
        return frozenset((self.context.project_modules | planned) - self._support_stems - {"tests", "test", "conftest"})

    @cached_property
    def _support_stems(self) -> frozenset[str]:
        return frozenset(PurePosixPath(path).stem for path, _ in self.support)

    @cached_property
    def _never_subject(self) -> frozenset[str]:
        return frozenset(sys.stdlib_module_names) | _NOT_SUBJECT | self._support_stems

    def mentions_subject(self, text: str) -> bool:
        """A string that names a module of the project: `python -m shop`, `import_module("shop.points")`."""
        return any(re.search(rf"(?<![\w.]){re.escape(top)}(?!\w)", text) for top in self.subject_tops)


def scopes(module: TestModule, tests: Iterable[DeclaredTest], context: FactContext) -> list[TestScope]:
    trees = [(path, parse(text)) for path, text in sorted(context.support.items()) if path != module.path]
    support = tuple((path, tree) for path, tree in trees if tree is not None)
    return [TestScope(module, test, context, support) for test in tests]


def parametrised_names(test: DeclaredTest) -> frozenset[str]:
    """Parameters that take their values from `parametrize` or `given`."""
    return frozenset(parameter_sources(test))


def parameter_sources(test: DeclaredTest) -> dict[str, ast.Call]:
    """Those parameters, with the decorator that feeds each."""
    found: dict[str, ast.Call] = {}
    decorators = [*test.node.decorator_list, *(item for owner in test.owners for item in owner.decorator_list)]
    for call in (item for item in decorators if isinstance(item, ast.Call)):
        kind = decorator_name(call).rpartition(".")[2]
        if kind == "parametrize" and call.args:
            found.update(dict.fromkeys(argument_names(call.args[0]), call))
        elif kind == "given":
            parameters = [name for name in _parameters(test.node) if name not in {"self", "cls"}]
            positional = parameters[len(parameters) - len(call.args) :] if call.args else []
            found.update(dict.fromkeys([*positional, *(key.arg for key in call.keywords if key.arg)], call))
    return found


def argument_names(node: ast.expr) -> list[str]:
    """`"a, b"` or `["a", "b"]`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    if isinstance(node, ast.List | ast.Tuple):
        return [str(item.value) for item in node.elts if isinstance(item, ast.Constant)]
    return []


def _functions(body: list[ast.stmt]) -> Iterator[tuple[str, FunctionNode]]:
    for node in body:
        if isinstance(node, FunctionNode):
            yield node.name, node
        elif isinstance(node, ast.If | ast.Try):
            yield from _functions(node.body)


def _parameters(node: FunctionNode) -> list[str]:
    return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def _fixture_name(node: FunctionNode) -> str:
    for item in node.decorator_list:
        for keyword in item.keywords if isinstance(item, ast.Call) else ():
            if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                return str(keyword.value.value)
    return node.name


def _is_autouse(node: FunctionNode) -> bool:
    keywords = [keyword for item in node.decorator_list if isinstance(item, ast.Call) for keyword in item.keywords]
    return any(
        key.arg == "autouse" and isinstance(key.value, ast.Constant) and bool(key.value.value) for key in keywords
    )


def _use_marks(decorators: Iterable[ast.expr]) -> Iterator[str]:
    for item in decorators:
        if isinstance(item, ast.Call) and decorator_name(item).endswith("usefixtures"):
            yield from (str(argument.value) for argument in item.args if isinstance(argument, ast.Constant))


def _patched_parameters(node: FunctionNode) -> frozenset[str]:
    """`@patch("shop.gateway.charge")` hands its mock in as a parameter."""
    patches = [item for item in node.decorator_list if isinstance(item, ast.Call) and "patch" in decorator_name(item)]
    names = [name for name in _parameters(node) if name not in {"self", "cls"}]
    return frozenset(names[: len(patches)])


def walk_all(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield from ast.walk(node)


def string_constants(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in walk_all(nodes):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
