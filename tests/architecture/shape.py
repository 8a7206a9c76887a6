"""Measure the shape of `src/`: packages, modules, names, classes. Pure reading of syntax trees."""

from __future__ import annotations

import ast
import gc
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "prd2pr"

LANGUAGES = ("golang", "java", "javascript", "python", "rust", "generic")
# `prd2pr.client` is used without the rest of prd2pr, so its models are named as users expect them.
PUBLIC_API = "client/"
# Each probe is loaded by itself into the project's interpreter, so probes cannot import each other's type aliases.
PROBES = "languages/python/probes/"


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
    def type_aliases(self) -> Iterator[str]:
        """Names such as `Reader = Callable[...]`: capitalized, and neither constants nor type variables."""
        for node in self.tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                name, value = node.targets[0].id, node.value
                variable = isinstance(value, ast.Call) and ast.unparse(value.func) in {"TypeVar", "ParamSpec"}
                if name[0].isupper() and not name.isupper() and not variable:
                    yield name

    @property
    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        for node in self.nodes:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield node

    @property
    def import_time_nodes(self) -> Iterator[ast.AST]:
        """What runs when the module is imported: neither functions nor `if TYPE_CHECKING:`."""
        pending: list[ast.AST] = list(self.tree.body)
        while pending:
            node = pending.pop()
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                continue
            if isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
                pending += node.orelse
                continue
            yield node
            pending += ast.iter_child_nodes(node)

    @cached_property
    def imported_names(self) -> dict[str, str]:
        """Name in this module → full name of what it was imported from."""
        found: dict[str, str] = {}
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found |= {alias.asname or alias.name: alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        return found

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
    def import_graph(self) -> dict[str, set[str]]:
        """Module name → the modules that Python runs first when it imports that module.

        Imports inside functions are ignored: they run later. Importing `a.b.c` also runs the packages `a` and `a.b`,
        unless the importer is inside them, so that they have started already.
        """
        names = {module.name for module in self.modules}
        graph: dict[str, set[str]] = {}
        for module in self.modules:
            targets = {each for node in module.import_time_nodes for each in find_targets(node, names)}
            packages = {each for target in targets for each in list_packages(target)}
            graph[module.name] = targets | ((packages & names) - {*list_packages(module.name), module.name})
        return graph

    @cached_property
    def import_cycles(self) -> list[tuple[str, ...]]:
        return find_cycles(self.import_graph)

    @cached_property
    def repeated_names(self) -> dict[str, tuple[str, ...]]:
        """Public classes, functions and type aliases that several modules define.

        A language has the same function names as its siblings; within Python, which has most modules, names are unique.
        """
        places: dict[str, set[str]] = defaultdict(set)
        for module in self.modules:
            names = [node.name for node in module.definitions]
            if not module.path.startswith(PROBES):
                names += module.type_aliases
            for name in names:
                if not name.startswith("_") and not module.path.startswith(PUBLIC_API):
                    places[name].add(module.path)
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

    def repeated_runs(self, length: int) -> list[str]:
        """List the places of `length` successive lines that also appear elsewhere, as `path:line = path:line`."""
        first: dict[tuple[str, ...], str] = {}
        found = []
        for module in self.modules:
            lines = [line.strip() for line in module.text.splitlines()]
            for start in range(len(lines) - length + 1):
                place = f"{module.path}:{start + 1}"
                known = first.setdefault(tuple(lines[start : start + length]), place)
                if known != place:
                    found.append(f"{known} = {place}")
        return found

    def function_lengths(self) -> list[tuple[int, str]]:
        return sorted(
            (
                ((node.end_lineno or 0) - node.lineno + 1, f"{module.path}:{node.lineno} {node.name}")
                for module in self.modules
                for node in module.functions
            ),
            reverse=True,
        )

    def parameter_counts(self) -> list[tuple[int, str]]:
        """Count the parameters of public functions and methods without self, the most first."""
        return sorted(
            (
                (count_parameters(node), f"{module.path}:{node.name}")
                for module in self.modules
                for node in module.functions
                if not node.name.startswith("_")
            ),
            reverse=True,
        )

    @cached_property
    def class_places(self) -> dict[str, tuple[Module, ast.ClassDef]]:
        """`module.Class` → where it is defined. Only classes at the top of a module."""
        return {
            f"{module.name}.{node.name}": (module, node)
            for module in self.modules
            for node in module.definitions
            if isinstance(node, ast.ClassDef)
        }

    def bases(self, module: Module, node: ast.ClassDef) -> Iterator[tuple[Module, ast.ClassDef]]:
        """Find the direct base classes that are defined in the source."""
        for base in node.bases:
            name = ast.unparse(base).partition("[")[0]
            first, _, rest = name.partition(".")
            full = module.imported_names.get(first, f"{module.name}.{first}")
            found = self.class_places.get(f"{full}.{rest}" if rest else full)
            if found:
                yield found

    def fields(self, module: Module, node: ast.ClassDef) -> set[str]:
        """List the fields of a class, including inherited ones and what `__init__` assigns to self."""
        inherited = (self.fields(*base) for base in self.bases(module, node))
        return set().union(own_fields(node), *inherited)

    def methods(self, module: Module, node: ast.ClassDef) -> set[str]:
        """List the methods of a class, including inherited ones."""
        own = {each.name for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))}
        return own.union(*(self.methods(*base) for base in self.bases(module, node)))

    def is_data(self, module: Module, node: ast.ClassDef) -> bool:
        """Return whether it is a pydantic model: those are records and settings."""
        names = {ast.unparse(base).partition("[")[0] for base in node.bases}
        return bool(names & {"BaseModel", "pydantic.BaseModel"}) or any(
            self.is_data(*base) for base in self.bases(module, node)
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
    if parts[0] == "languages" and parts[1] in LANGUAGES:
        return "a language"
    return path


def find_targets(node: ast.AST, names: set[str]) -> Iterator[str]:
    """Find the modules that an import statement names. `from a import b` names `a.b` if that is a module, else `a`."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name in names)
    elif isinstance(node, ast.ImportFrom):
        assert node.level == 0, "relative imports are not used"
        found = (name if (name := f"{node.module}.{alias.name}") in names else node.module for alias in node.names)
        yield from (name for name in found if name in names)


def list_packages(name: str) -> Iterator[str]:
    """List the packages that a module is in."""
    while "." in name:
        name = name.rpartition(".")[0]
        yield name


def find_cycles(graph: Mapping[str, set[str]]) -> list[tuple[str, ...]]:
    """Return the strongly connected components of several modules, by Kosaraju's algorithm."""
    backward: dict[str, set[str]] = {name: set() for name in graph}
    for name, targets in graph.items():
        for target in targets:
            backward[target].add(name)
    ordered, visited = list[str](), set[str]()
    for name in graph:
        ordered += list_reached(graph, name, visited)
    visited.clear()
    components = (list_reached(backward, name, visited) for name in reversed(ordered))
    return sorted(tuple(sorted(each)) for each in components if len(each) > 1)


def list_reached(graph: Mapping[str, set[str]], start: str, visited: set[str]) -> list[str]:
    """List what can be reached from `start` and was not visited yet, each after all that it leads to."""
    if start in visited:
        return []
    visited.add(start)
    reached, path = list[str](), [(start, iter(graph[start]))]
    while path:
        name, targets = path[-1]
        target = next((each for each in targets if each not in visited), None)
        if target is None:
            reached.append(name)
            path.pop()
        else:
            visited.add(target)
            path.append((target, iter(graph[target])))
    return reached


@cache
def read_shape(source: Path = SOURCE) -> Shape:
    paths = sorted(path for path in source.rglob("*.py") if "__pycache__" not in path.parts)
    texts = ((path, path.read_text(encoding="utf-8")) for path in paths)
    gc.disable()  # there is no garbage among millions of new nodes, and looking for it takes twice as long as parsing
    try:
        return Shape(tuple(Module(path.relative_to(source).as_posix(), text, ast.parse(text)) for path, text in texts))
    finally:
        gc.enable()


def own_fields(node: ast.ClassDef) -> set[str]:
    """List annotated fields, without class variables, and the attributes that `__init__` assigns to self."""
    found = {
        ast.unparse(each.target)
        for each in node.body
        if isinstance(each, ast.AnnAssign) and "ClassVar" not in ast.unparse(each.annotation)
    }
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            found |= {
                each.attr
                for each in ast.walk(method)
                if isinstance(each, ast.Attribute)
                and isinstance(each.ctx, ast.Store)
                and ast.unparse(each.value) == "self"
            }
    return found


def count_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    named = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
    return sum(each.arg not in {"self", "cls"} for each in named)


def is_protocol(node: ast.ClassDef) -> bool:
    return any(ast.unparse(base).split("[")[0] in {"Protocol", "typing.Protocol"} for base in node.bases)
