"""What one test can reach: its imports, helpers, fixtures and set-up, and which names belong to the subject."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from prd2pr.core.testfacts_model import (
    DeclaredTest,
    FunctionNode,
    TestModule,
    decorator_name,
    dotted,
    imports_of,
    is_fixture,
)
from prd2pr.core.testfacts_suite import Suite, functions_in

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
_OPEN_BUILTINS = frozenset(
    {"open", "input", "vars", "globals", "locals", "__import__", "eval", "exec", "compile", "print"}
)
CLOSED_BUILTINS = frozenset(dir(builtins)) - _OPEN_BUILTINS


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
        return {**self.suite.imports, **imports_of([self.test.node])}

    @cached_property
    def helpers(self) -> dict[str, FunctionNode]:
        """Functions by the name under which the test can call them, its own methods as `self.name`."""
        found = dict(self.suite.helpers)
        for owner in self._owners():
            found.update({f"self.{name}": node for name, node in functions_in(owner.body) if not is_fixture(node)})
        return found

    @cached_property
    def bound(self) -> frozenset[str]:
        """Names that the test binds itself; one that is called like a built-in (`id`, `input`) hides it."""
        nodes = list(ast.walk(self.test.node))
        stored = {x.id for x in nodes if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store)}
        caught = {x.name for x in nodes if isinstance(x, ast.ExceptHandler) and x.name}
        return frozenset(stored | caught | {x.arg for x in nodes if isinstance(x, ast.arg)})

    @cached_property
    def own_classes(self) -> dict[str, ast.ClassDef]:
        """Those that are defined inside the test."""
        return {x.name: x for x in ast.walk(self.test.node) if isinstance(x, ast.ClassDef)}

    @cached_property
    def closed_functions(self) -> frozenset[str]:
        """Functions inside the test that know nothing but their arguments: `def twice(n): return n * 2`."""
        inside = [x for x in ast.walk(self.test.node) if isinstance(x, FunctionNode) and x is not self.test.node]
        return frozenset(x.name for x in inside if x.name not in self.bound and _is_closed(x))

    def _owners(self) -> list[ast.ClassDef]:
        """The test's classes and those of their bases that can be found."""
        found = list(self.test.owners)
        for owner in found:  # grows while it is walked
            bases = [self.suite.classes.get(dotted(base).rpartition(".")[2]) for base in owner.bases]
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
        found = {_fixture_name(node): node for node in self.suite.fixtures}
        bodies = [owner.body for owner in self._owners()]
        methods = [node for body in bodies for _, node in functions_in(body) if is_fixture(node)]
        return found | {_fixture_name(node): node for node in methods}

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
        return self._called(_SETUP_NAMES)

    @cached_property
    def teardowns(self) -> list[FunctionNode]:
        return self._called(_TEARDOWN_NAMES)

    def _called(self, names: frozenset[str]) -> list[FunctionNode]:
        own = [node for name, node in self.suite.own_functions if name in names]
        bodies = [owner.body for owner in self._owners()]
        return own + [node for body in bodies for name, node in functions_in(body) if name in names]

    @cached_property
    def reach(self) -> list[FunctionNode]:
        """Every function whose body can run as part of this test."""
        found: list[FunctionNode] = [self.test.node, *self.used_fixtures.values(), *self.setups]
        known = {id(node) for node in found}
        for node in found:  # grows while it is walked
            for inner in ast.walk(node):
                if isinstance(inner, ast.Name | ast.Attribute):
                    for further in self._named(dotted(inner)):
                        if id(further) not in known:
                            known.add(id(further))
                            found.append(further)
        return found

    def _named(self, name: str) -> list[FunctionNode]:
        """The helper of that name, or the methods of the class."""
        helper = self.helpers.get(name)
        owner = self.suite.classes.get(name)
        return ([helper] if helper else []) + ([node for _, node in functions_in(owner.body)] if owner else [])

    @cached_property
    def used_classes(self) -> list[ast.ClassDef]:
        """Classes around the test that it names: their bases and decorators may be the subject."""
        others = {name: node for name, node in self.suite.classes.items() if node not in self.test.owners}
        nodes = (*self.reach, *self.test.owners) if others else ()
        names = {x.id for node in nodes for x in ast.walk(node) if isinstance(x, ast.Name)}
        return [node for name, node in others.items() if name in names]

    @cached_property
    def class_statements(self) -> list[ast.stmt]:
        """What the test's classes set for all their tests: `storage = shop.Storage`."""
        return [node for owner in self._owners() for node in owner.body if isinstance(node, ast.Assign | ast.AnnAssign)]

    @cached_property
    def statements(self) -> list[ast.stmt]:
        """Assignments of the module whose names the test uses, directly or through one another."""
        decorators = [item for owner in self.test.owners for item in owner.decorator_list]
        roots = [*self.reach, *decorators, *self.class_statements]
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
        """A name from a helper module that works with the subject is used: `World().program("run")`."""
        used = {inner.id for node in self.reach for inner in ast.walk(node) if isinstance(inner, ast.Name)}
        return any(
            self.suite.driving_stems & set(self.imports[name].split(".")) for name in used if name in self.imports
        )


def scopes(suite: Suite, tests: Iterable[DeclaredTest]) -> list[TestScope]:
    return [scope_of(suite, test) for test in tests]


def scope_of(suite: Suite, test: DeclaredTest) -> TestScope:
    return suite.scopes.setdefault(id(test.node), TestScope(suite, test))


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
            names = argument_names(call.args[0])
            found.update(dict.fromkeys([name for name in names if not _is_indirect(name, call)], call))
        elif kind == "given":
            parameters = [name for name in _parameters(test.node) if name not in {"self", "cls"}]
            positional = parameters[len(parameters) - len(call.args) :] if call.args else []
            found.update(dict.fromkeys([*positional, *(key.arg for key in call.keywords if key.arg)], call))
    return found


def _is_indirect(name: str, call: ast.Call) -> bool:
    """`indirect=["shape"]`: the values go to the fixture of that name, and what it makes of them comes in."""
    for told in (keyword.value for keyword in call.keywords if keyword.arg == "indirect"):
        if isinstance(told, ast.Constant):
            return bool(told.value)
        return any(isinstance(item, ast.Constant) and item.value == name for item in ast.walk(told))
    return False


def argument_names(node: ast.expr) -> list[str]:
    """`"a, b"` or `["a", "b"]`."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    if isinstance(node, ast.List | ast.Tuple):
        return [str(item.value) for item in node.elts if isinstance(item, ast.Constant)]
    return []


def _is_closed(node: FunctionNode) -> bool:
    nodes = list(ast.walk(node))
    own = {x.arg for x in nodes if isinstance(x, ast.arg)}
    names = [x for x in nodes if isinstance(x, ast.Name)]
    stored = {x.id for x in names if isinstance(x.ctx, ast.Store)}
    free = {x.id for x in names} - own - stored - CLOSED_BUILTINS - {node.name}
    odd = (ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Await)
    called = {dotted(x.func) for x in nodes if isinstance(x, ast.Call)}  # an argument that is called may do anything
    opaque = bool(node.decorator_list) or any(isinstance(x, odd) for x in nodes) or bool(called & own)
    return bool(own) and not free and not opaque


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
