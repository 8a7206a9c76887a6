"""Measure the shape of `src/`: packages, modules, names, classes. Pure reading of syntax trees."""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "prd2pr"

LANGUAGES = ("golang", "java", "javascript", "python", "rust", "generic")
# `prd2pr.client` is used without the rest of prd2pr, so its models are named as users expect them.
PUBLIC_API = "client/"


@dataclass(frozen=True)
class Module:
    """One source file and its syntax tree."""

    path: str  # below src/prd2pr
    text: str = field(repr=False)
    tree: ast.Module = field(repr=False)

    @property
    def package(self) -> str:
        return self.path.rpartition("/")[0] or "."

    @property
    def name(self) -> str:
        return ".".join(("prd2pr", *self.path.removesuffix(".py").split("/"))).removesuffix(".__init__")

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        return tuple(ast.walk(self.tree))

    @cached_property
    def lines(self) -> int:
        return self.text.count("\n")

    @property
    def definitions(self) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in self.tree.body:
            if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node

    @property
    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in self.nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node

    @property
    def imports(self) -> Iterator[str]:
        for node in self.nodes:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


@dataclass(frozen=True)
class Shape:
    modules: tuple[Module, ...] = field(repr=False)

    @cached_property
    def modules_per_package(self) -> Counter[str]:
        return Counter(module.package for module in self.modules if not module.is_package)

    @cached_property
    def importers(self) -> dict[str, set[str]]:
        """Module name → the modules that import it."""
        names = {module.name for module in self.modules}
        found: dict[str, set[str]] = defaultdict(set)
        for module in self.modules:
            for name in module.imports:
                if name in names and name != module.name:
                    found[name].add(module.name)
        return found

    @cached_property
    def repeated_names(self) -> dict[str, tuple[str, ...]]:
        """Public classes and functions that several modules define, except for the same role in sibling packages.

        A language has the same function names as its siblings; within Python, which has most modules, names are unique.
        """
        places: dict[str, set[str]] = defaultdict(set)
        for module in self.modules:
            for node in module.definitions:
                if not node.name.startswith("_") and not module.path.startswith(PUBLIC_API):
                    places[node.name].add(module.path)
        roles = {name: {role_of(name, path) for path in paths} for name, paths in places.items()}
        python = {
            name: sum(path.startswith("languages/python/") for path in paths)
            for name, paths in places.items()
            if name != "main"
        }
        return {
            name: tuple(sorted(places[name]))
            for name, found in roles.items()
            if len(found) > 1 or python.get(name, 0) > 1
        }

    def function_lengths(self) -> list[tuple[int, str]]:
        return sorted(
            (
                ((node.end_lineno or 0) - node.lineno + 1, f"{module.path}:{node.lineno} {node.name}")
                for module in self.modules
                for node in module.functions
            ),
            reverse=True,
        )

    def classes(self) -> Iterator[tuple[Module, ast.ClassDef]]:
        for module in self.modules:
            for node in module.nodes:
                if isinstance(node, ast.ClassDef):
                    yield module, node


def role_of(name: str, path: str) -> str:
    """Return the same role for names that may repeat: sibling languages, their runners, and programs' entry points."""
    parts = path.split("/")
    if name == "main":
        return "entry point"
    if name == "add_to" and parts[0] == "server":
        return "part of the server"
    if parts[0] == "languages" and parts[1] in LANGUAGES:
        return "a language"
    return path


def read_shape(source: Path = SOURCE) -> Shape:
    paths = sorted(path for path in source.rglob("*.py") if "__pycache__" not in path.parts)
    texts = ((path, path.read_text(encoding="utf-8")) for path in paths)
    return Shape(tuple(Module(path.relative_to(source).as_posix(), text, ast.parse(text)) for path, text in texts))


def field_count(node: ast.ClassDef) -> int:
    return sum(isinstance(each, ast.AnnAssign) for each in node.body)


def is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).split("[")[0] in {"Protocol", "typing.Protocol"} for base in node.bases)


def method_count(node: ast.ClassDef) -> int:
    return sum(isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)) for each in node.body)
