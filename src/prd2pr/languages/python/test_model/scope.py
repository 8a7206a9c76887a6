"""Finds the code that one test can reach: its imports, helpers, fixtures and setup, and the names of the subject."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from prd2pr.languages.python.test_model.module import (
    DeclaredTest,
    FunctionNode,
    TestModule,
    collect_imports,
    get_decorator_name,
    get_dotted_name,
    is_fixture,
)
from prd2pr.languages.python.test_model.suite import Suite, list_function_nodes

_SETUP_NAMES = frozenset(
    {"setup_method", "setup_class", "setUp", "setUpClass", "asyncSetUp", "setup", "setup_module", "setup_function"}
)
_TEARDOWN_NAMES = frozenset(
    {"teardown_method", "teardown_class", "tearDown", "tearDownClass", "asyncTearDown", "teardown", "teardown_module"}
)
_FIXTURE_WORDS = """
    tmp_path tmp_path_factory tmpdir tmpdir_factory capsys capfd capsysbinary capfdbinary caplog monkeypatch request
    recwarn cache record_property record_testsuite_property doctest_namespace pytestconfig subtests self cls
"""
_BUILT_IN_FIXTURES = frozenset(_FIXTURE_WORDS.split())
_IMPURE_BUILTINS = frozenset(
    {"open", "input", "vars", "globals", "locals", "__import__", "eval", "exec", "compile", "print"}
)
PURE_BUILTINS = frozenset(dir(builtins)) - _IMPURE_BUILTINS


@dataclass(frozen=True)
class TestScope:
    __test__ = False
    suite: Suite
    test: DeclaredTest

    @property
    def module(self) -> TestModule:
        return self.suite.module

    @cached_property
    def imports(self) -> dict[str, str]:
        return {**self.suite.imports, **collect_imports([self.test.node])}

    @cached_property
    def helpers(self) -> dict[str, FunctionNode]:
        """Functions by the name that the test uses to call them. Methods are listed as `self.name`."""
        found = dict(self.suite.helpers)
        for owner in self._list_owners():
            found.update(
                {f"self.{name}": node for name, node in list_function_nodes(owner.body) if not is_fixture(node)}
            )
        return found

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """Names that the test binds itself, which hide built-ins such as `id` and `input`."""
        nodes = list(ast.walk(self.test.node))
        stored = {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        caught = {x.name for x in nodes if isinstance(x, ast.ExceptHandler) and x.name}
        return frozenset(stored | caught | {x.arg for x in nodes if isinstance(x, ast.arg)})

    @cached_property
    def own_classes(self) -> dict[str, ast.ClassDef]:
        """Classes defined inside the test."""
        return {x.name: x for x in ast.walk(self.test.node) if isinstance(x, ast.ClassDef)}

    @cached_property
    def pure_functions(self) -> frozenset[str]:
        """Functions inside the test that depend only on their arguments, such as `def twice(n): return n * 2`."""
        inside = [x for x in ast.walk(self.test.node) if isinstance(x, FunctionNode) and x is not self.test.node]
        return frozenset(x.name for x in inside if x.name not in self.bound_names and _is_pure_function(x))

    def _list_owners(self) -> list[ast.ClassDef]:
        """Return the test's classes and their known base classes."""
        found = list(self.test.owners)
        for owner in found:  # the list grows during the loop
            bases = [self.suite.classes.get(get_dotted_name(base).rpartition(".")[2]) for base in owner.bases]
            found.extend(base for base in bases if base is not None and base not in found)
        return list(reversed(found))

    @cached_property
    def has_unknown_base(self) -> bool:
        """Whether a base class is unknown and may therefore contain setup and assertions."""
        known = {owner.name for owner in self._list_owners()} | {
            "object",
            "TestCase",
            "IsolatedAsyncioTestCase",
            "ABC",
            "Generic",
        }
        bases = [get_dotted_name(base) for owner in self._list_owners() for base in owner.bases]
        local = self.suite.classes
        return any(
            base.rpartition(".")[2] not in known or (base not in local and self.is_subject(base)) for base in bases
        )

    @cached_property
    def fixtures(self) -> dict[str, FunctionNode]:
        found = {_get_fixture_name(node): node for node in self.suite.fixtures}
        bodies = [owner.body for owner in self._list_owners()]
        methods = [node for body in bodies for _, node in list_function_nodes(body) if is_fixture(node)]
        return found | {_get_fixture_name(node): node for node in methods}

    @cached_property
    def used_fixtures(self) -> dict[str, FunctionNode]:
        """Fixtures requested by a parameter or mark, directly or through another fixture, and autouse fixtures."""
        decorators = [
            *self.test.node.decorator_list,
            *(item for owner in self.test.owners for item in owner.decorator_list),
        ]
        wanted = [*_list_parameters(self.test.node), *_list_used_fixture_marks(decorators)]
        wanted.extend(name for name, node in self.fixtures.items() if _is_autouse(node))
        used: dict[str, FunctionNode] = {}
        while wanted:
            name = wanted.pop()
            if name in self.fixtures and name not in used:
                used[name] = self.fixtures[name]
                wanted.extend(_list_parameters(self.fixtures[name]))
        return used

    @cached_property
    def unknown_fixtures(self) -> frozenset[str]:
        """Fixtures from plugins, whose code is unknown."""
        parametrised = list_parametrised_names(self.test)
        requested = {name for node in (self.test.node, *self.used_fixtures.values()) for name in _list_parameters(node)}
        return frozenset(
            requested
            - set(self.fixtures)
            - _BUILT_IN_FIXTURES
            - parametrised
            - _list_patched_parameters(self.test.node)
        )

    @cached_property
    def setups(self) -> list[FunctionNode]:
        return self._find_functions(_SETUP_NAMES)

    @cached_property
    def teardowns(self) -> list[FunctionNode]:
        return self._find_functions(_TEARDOWN_NAMES)

    def _find_functions(self, names: frozenset[str]) -> list[FunctionNode]:
        own = [node for name, node in self.suite.own_functions if name in names]
        bodies = [owner.body for owner in self._list_owners()]
        return own + [node for body in bodies for name, node in list_function_nodes(body) if name in names]

    @cached_property
    def reachable_functions(self) -> list[FunctionNode]:
        """Functions whose body can run as part of this test."""
        found: list[FunctionNode] = [self.test.node, *self.used_fixtures.values(), *self.setups]
        known = {id(node) for node in found}
        for node in found:  # the list grows during the loop
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name | ast.Attribute):
                    for further in self._find_named(get_dotted_name(inner)):
                        if id(further) not in known:
                            known.add(id(further))
                            found.append(further)
        return found

    def _find_named(self, name: str) -> list[FunctionNode]:
        """Return the helper with that name, or the methods of the class with that name."""
        helper = self.helpers.get(name)
        owner = self.suite.classes.get(name)
        return ([helper] if helper else []) + ([node for _, node in list_function_nodes(owner.body)] if owner else [])

    @cached_property
    def used_classes(self) -> list[ast.ClassDef]:
        """Classes that the test names. Their bases and decorators may be the subject."""
        others = {name: node for name, node in self.suite.classes.items() if node not in self.test.owners}
        nodes = (*self.reachable_functions, *self.test.owners) if others else ()
        names = {x.id for node in nodes for x in ast.walk(node) if isinstance(x, ast.Name)}
        return [node for name, node in others.items() if name in names]

    @cached_property
    def nested_classes(self) -> list[ast.ClassDef]:
        """Classes in the body of the test's classes that the test uses, as in `self.Schema()`."""
        nodes = (node for function in self.reachable_functions for node in ast.walk(function))
        names = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
        inside = (node for owner in self._list_owners() for node in owner.body)
        return [node for node in inside if isinstance(node, ast.ClassDef) and node.name in names]

    @cached_property
    def class_assignments(self) -> list[ast.stmt]:
        """Assignments in the body of the test's classes, such as `storage = shop.Storage`."""
        return [
            node for owner in self._list_owners() for node in owner.body if isinstance(node, ast.Assign | ast.AnnAssign)
        ]

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """Module-level assignments whose names the test uses, directly or indirectly."""
        decorators = [item for owner in self.test.owners for item in owner.decorator_list]
        roots = [*self.reachable_functions, *decorators, *self.class_assignments]
        used = {x.id for node in roots for x in ast.walk(node) if isinstance(x, ast.Name)}
        found: dict[int, ast.stmt] = {}
        grows = True
        while grows:
            grows = False
            for node, bound, mentioned in self.suite.own.assignments:
                if id(node) not in found and used & bound:
                    found[id(node)] = node
                    used |= mentioned
                    grows = True
        return list(found.values())

    def is_subject(self, name: str) -> bool:
        return self.suite.is_subject(name, self.imports)

    @cached_property
    def drives_subject(self) -> bool:
        """Whether the test uses a helper module that calls the subject, as in `World().program("run")`."""
        used = {
            inner.id for node in self.reachable_functions for inner in ast.walk(node) if isinstance(inner, ast.Name)
        }
        return any(
            self.suite.driver_modules & set(self.imports[name].split(".")) for name in used if name in self.imports
        )


def list_scopes(suite: Suite, tests: Iterable[DeclaredTest]) -> list[TestScope]:
    return [get_scope(suite, test) for test in tests]


def get_scope(suite: Suite, test: DeclaredTest) -> TestScope:
    scope: TestScope = suite.scopes.setdefault(id(test.node), TestScope(suite, test))
    return scope


def list_parametrised_names(test: DeclaredTest) -> frozenset[str]:
    """Return the parameters that get their values from `parametrize` or `given`."""
    return frozenset(find_parameter_sources(test))


def find_parameter_sources(test: DeclaredTest) -> dict[str, ast.Call]:
    """Map each parameter that gets its values from `parametrize` or `given` to that decorator."""
    found: dict[str, ast.Call] = {}
    decorators = [*test.node.decorator_list, *(item for owner in test.owners for item in owner.decorator_list)]
    for call in (item for item in decorators if isinstance(item, ast.Call)):
        kind = get_decorator_name(call).rpartition(".")[2]
        if kind == "parametrize" and call.args:
            names = list_argument_names(call.args[0])
            found.update(dict.fromkeys([name for name in names if not _is_indirect(name, call)], call))
        elif kind == "given":
            parameters = [name for name in _list_parameters(test.node) if name not in {"self", "cls"}]
            positional = parameters[len(parameters) - len(call.args) :] if call.args else []
            found.update(dict.fromkeys([*positional, *(key.arg for key in call.keywords if key.arg)], call))
    return found


def _is_indirect(name: str, call: ast.Call) -> bool:
    """Return whether a fixture converts the values first, as with `indirect=["shape"]`."""
    for value in (keyword.value for keyword in call.keywords if keyword.arg == "indirect"):
        if isinstance(value, ast.Constant):
            return bool(value.value)
        return any(isinstance(item, ast.Constant) and item.value == name for item in ast.walk(value))
    return False


def list_argument_names(node: ast.expr) -> list[str]:
    """Return the names in `"a, b"` or `["a", "b"]`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    if isinstance(node, ast.List | ast.Tuple):
        return [str(item.value) for item in node.elts if isinstance(item, ast.Constant)]
    return []


def _is_pure_function(node: FunctionNode) -> bool:
    nodes = list(ast.walk(node))
    own = {x.arg for x in nodes if isinstance(x, ast.arg)}
    names = [x for x in nodes if isinstance(x, ast.Name)]
    stored = {x.id for x in names if isinstance(x.ctx, ast.Store)}
    free = {x.id for x in names} - own - stored - PURE_BUILTINS - {node.name}
    odd = (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Await)
    called = {get_dotted_name(x.func) for x in nodes if isinstance(x, ast.Call)}  # calling an argument may have effects
    opaque = bool(node.decorator_list) or any(isinstance(x, odd) for x in nodes) or bool(called & own)
    return bool(own) and not free and not opaque


def _list_parameters(node: FunctionNode) -> list[str]:
    return [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]


def _get_fixture_name(node: FunctionNode) -> str:
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


def _list_used_fixture_marks(decorators: Iterable[ast.expr]) -> Iterator[str]:
    for item in decorators:
        if isinstance(item, ast.Call) and get_decorator_name(item).endswith("usefixtures"):
            yield from (str(argument.value) for argument in item.args if isinstance(argument, ast.Constant))


def _list_patched_parameters(node: FunctionNode) -> frozenset[str]:
    """Return the parameters that receive a mock from a decorator such as `@patch("shop.gateway.charge")`."""
    patches = [
        item for item in node.decorator_list if isinstance(item, ast.Call) and "patch" in get_decorator_name(item)
    ]
    names = [name for name in _list_parameters(node) if name not in {"self", "cls"}]
    return frozenset(names[: len(patches)])


def walk_nodes(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for node in nodes:
        yield from ast.walk(node)


def list_string_constants(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in walk_nodes(nodes):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
