"""Collects the files of a test module: the module, the conftests above it and the helper modules that it imports."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import Any

from prd2pr.languages.python.test_model.module import (
    FactContext,
    FunctionNode,
    TestModule,
    collect_imports,
    get_absolute_module,
    get_dotted_name,
    is_fixture,
    parse_python,
    resolve_name,
)

_NOT_SUBJECT = frozenset(
    {"tests", "test", "conftest", "pytest", "_pytest", "hypothesis", "unittest", "numpy", "pandas"}
)


@dataclass(frozen=True)
class SuiteFile:
    path: str
    tree: ast.Module

    @property
    def stem(self) -> str:
        return PurePosixPath(self.path).stem

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @property
    def package(self) -> str:
        """The package that relative imports refer to, such as `h11.tests` for h11/tests/test_state.py."""
        directory = self.path.rpartition("/")[0]
        return directory.removeprefix("src/").replace("/", ".")

    @cached_property
    def imports(self) -> dict[str, str]:
        return collect_imports(self.tree.body, self.package)

    @cached_property
    def functions(self) -> dict[str, FunctionNode]:
        return dict(list_function_nodes(self.tree.body))

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        return {node.name: node for node in self.tree.body if isinstance(node, ast.ClassDef)}

    @cached_property
    def assignments(self) -> list[tuple[ast.stmt, frozenset[str], frozenset[str]]]:
        """Module-level statements that bind names, each with the names that it binds and those that it mentions."""
        plain = [node for node in self.tree.body if isinstance(node, ast.Assign | ast.AnnAssign | ast.With)]
        return [(node, _list_names(node, ast.Store), _list_names(node, ast.Load)) for node in plain]

    @cached_property
    def calls(self) -> frozenset[str]:
        """Full names of all functions and classes that the file calls."""
        return frozenset(
            resolve_name(get_dotted_name(x.func), self.imports) for x in self.nodes if isinstance(x, ast.Call)
        )

    @cached_property
    def strings(self) -> list[str]:
        return [x.value for x in self.nodes if isinstance(x, ast.Constant) and isinstance(x.value, str)]


@dataclass(frozen=True)
class Suite:
    """A test module with all the files that its tests can use."""

    module: TestModule
    context: FactContext
    # Keyed by the test's node. Filled by `get_scope`, so that all rules share one scope.
    scopes: dict[int, Any] = field(default_factory=dict, compare=False)

    @cached_property
    def own(self) -> SuiteFile:
        return SuiteFile(self.module.path, self.module.tree)

    @cached_property
    def support(self) -> tuple[SuiteFile, ...]:
        """Conftests in this and the parent directories, and helper modules that are imported directly or indirectly."""
        texts = {path: text for path, text in self.context.support.items() if path != self.module.path}
        wanted = [path for path in sorted(texts) if _is_conftest_of(path, self.module.path)]
        found: dict[str, SuiteFile] = {}
        pending = [self.own]
        while pending or wanted:
            for path in wanted:
                tree = parse_python(texts[path])
                if path not in found and tree is not None:
                    found[path] = SuiteFile(path, tree)
                    pending.append(found[path])
            words = {word for file in pending for full in _list_imported_modules(file) for word in full.split(".")}
            pending = []
            wanted = [path for path in sorted(texts) if path not in found and PurePosixPath(path).stem in words]
            wanted = [path for path in wanted if parse_python(texts[path]) is not None]
        return tuple(found.values())

    @cached_property
    def imports(self) -> dict[str, str]:
        """Full names by local name, including those in helper modules, whose functions run here."""
        return {name: full for file in (*self.support, self.own) for name, full in file.imports.items()}

    @cached_property
    def helpers(self) -> dict[str, FunctionNode]:
        """Functions by the name that a test uses to call them."""
        found = {name: node for file in self.support for name, node in file.functions.items() if not is_fixture(node)}
        by_stem = {file.stem: file for file in self.support}
        for local, full in self.own.imports.items():
            module, _, last = full.rpartition(".")
            if last in by_stem:
                found.update({f"{local}.{name}": node for name, node in by_stem[last].functions.items()})
            home = by_stem.get(module.rpartition(".")[2])
            if home is not None and last in home.functions:
                found[local] = home.functions[last]
        found.update({name: node for name, node in self.own.functions.items() if not is_fixture(node)})
        return found

    @cached_property
    def own_functions(self) -> list[tuple[str, FunctionNode]]:
        return list(list_function_nodes(self.module.tree.body))

    @cached_property
    def fixtures(self) -> list[FunctionNode]:
        """Fixtures defined at module level."""
        bodies = [file.tree.body for file in (*self.support, self.own)]
        return [node for body in bodies for _, node in list_function_nodes(body) if is_fixture(node)]

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        return {name: node for file in (*self.support, self.own) for name, node in file.classes.items()}

    # --- the subject ---

    @cached_property
    def subject_packages(self) -> frozenset[str]:
        planned = {name.partition(".")[0] for name in self.context.planned or ()}
        return frozenset((self.context.project_modules | planned) - {"tests", "test", "conftest"})

    @cached_property
    def _support_stems(self) -> frozenset[str]:
        return frozenset(PurePosixPath(path).stem for path in self.context.support)

    @cached_property
    def _never_subject(self) -> frozenset[str]:
        return frozenset(sys.stdlib_module_names) | _NOT_SUBJECT | self._support_stems

    @cached_property
    def has_star_import(self) -> bool:
        """Whether the subject is imported with `*`, so that any unknown name may belong to it."""
        nodes = [node for node in self.own.nodes if isinstance(node, ast.ImportFrom)]
        starred = [get_absolute_module(node, self.own.package) for node in nodes if node.names[0].name == "*"]
        return any(self.is_subject_module(module) for module in starred)

    def is_subject_module(self, full: str) -> bool:
        top = full.partition(".")[0]
        if top in self.subject_packages:
            return True
        return not self.subject_packages and bool(top) and top not in self._never_subject

    def is_subject(self, name: str, imports: dict[str, str]) -> bool:
        """Return whether a dotted name, as written in the test, belongs to the subject."""
        head = name.partition(".")[0]
        if head in imports:
            return self.is_subject_module(resolve_name(name, imports))
        return bool(head) and self.has_star_import and head not in self.helpers and not hasattr(builtins, head)

    def mentions_subject(self, text: str) -> bool:
        """Return whether a string names a module of the project, such as `python -m shop`."""
        return any(re.search(rf"(?<![\w.]){re.escape(top)}(?!\w)", text) for top in self.subject_packages)

    @cached_property
    def driver_modules(self) -> frozenset[str]:
        """Helper modules that use the subject directly or through another module."""
        driving = {
            file.stem
            for file in self.support
            if any(self.is_subject_module(full) for full in file.imports.values())
            or any(self.mentions_subject(text) for text in file.strings)
        }
        while True:
            more = {
                file.stem
                for file in self.support
                if any(driving & set(full.split(".")) for full in file.imports.values())
            }
            if more <= driving:
                return frozenset(driving)
            driving |= more


def _list_names(node: ast.AST, context: type[ast.expr_context]) -> frozenset[str]:
    return frozenset(x.id for x in ast.walk(node) if isinstance(x, ast.Name) and isinstance(x.ctx, context))


def list_function_nodes(body: list[ast.stmt]) -> Iterator[tuple[str, FunctionNode]]:
    for node in body:
        if isinstance(node, FunctionNode):
            yield node.name, node
        elif isinstance(node, ast.If | ast.Try):
            yield from list_function_nodes(node.body)


def _list_imported_modules(file: SuiteFile) -> Iterator[str]:
    yield from file.imports.values()
    yield from (node.module or "" for node in file.nodes if isinstance(node, ast.ImportFrom))


def _is_conftest_of(path: str, test: str) -> bool:
    directory, _, name = path.rpartition("/")
    return name == "conftest.py" and (not directory or test.startswith(f"{directory}/"))
