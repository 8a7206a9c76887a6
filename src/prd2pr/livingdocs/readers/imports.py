"""Build import graphs of Python, JavaScript, TypeScript and Go code."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from prd2pr.languages.python.signatures import get_module_name
from prd2pr.livingdocs.readers.languages import PYTHON
from prd2pr.livingdocs.readers.manifests import Manifest
from prd2pr.livingdocs.readers.source_file import SourceFile

MAX_NODES = 30
_SCRIPT_ENDINGS = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs")
# Modules that only some Python versions have, listed so that the documents do not depend on the running version.
_STANDARD = sys.stdlib_module_names | {
    "aifc", "annotationlib", "asynchat", "asyncore", "audioop", "cgi", "cgitb", "chunk", "compression", "crypt",
    "distutils", "imghdr", "imp", "lib2to3", "mailcap", "msilib", "nis", "nntplib", "ossaudiodev", "pipes", "smtpd",
    "sndhdr", "spwd", "sunau", "telnetlib", "tomllib", "uu", "xdrlib",
}  # fmt: skip


class ImportGraph(NamedTuple):
    """The modules or packages of a project and the ones that each imports, both sorted."""

    edges: Mapping[str, tuple[str, ...]]
    separator: str = "."

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(sorted(self.edges))


class CollapsedGraph(NamedTuple):
    graph: ImportGraph
    levels: int = 0  # number of name components that are kept; 0 for all
    more: int = 0  # number of omitted nodes


def build_python_graph(files: Mapping[str, SourceFile]) -> ImportGraph:
    modules = {get_module_name(path): path for path in files}
    edges: dict[str, set[str]] = {name: set() for name in modules}
    for name, path in modules.items():
        package = name if path.endswith("__init__.py") else name.rpartition(".")[0]
        for written in files[path].imports:
            target = find_project_module(resolve_relative_import(written, package), modules)
            if target and target != name:
                edges[name].add(target)
    return ImportGraph({name: tuple(sorted(edges[name])) for name in sorted(edges)})


def resolve_relative_import(written: str, package: str) -> str:
    """Resolve a relative import, such as `..money:Money` in `shop.cart` to `shop.money.Money`."""
    base, _, name = written.partition(":")
    level = len(base) - len(base.lstrip("."))
    base = base.lstrip(".")
    if level:
        parents = package.split(".") if package else []
        kept = parents[: len(parents) - (level - 1)]
        base = ".".join([*kept, *([base] if base else [])])
    return ".".join(filter(None, (base, name)))


def find_project_module(dotted: str, modules: Mapping[str, str]) -> str:
    """Return the longest prefix of the name that is a module of the project, or an empty string."""
    parts = dotted.split(".")
    for end in range(len(parts), 0, -1):
        if ".".join(parts[:end]) in modules:
            return ".".join(parts[:end])
    return ""


def build_script_graph(files: Mapping[str, SourceFile]) -> ImportGraph:
    """Build the graph of JavaScript and TypeScript files from their relative imports."""
    names = {strip_script_suffix(path): path for path in files}
    edges = {}
    for name, path in sorted(names.items()):
        wanted = (posixpath.normpath(posixpath.join(posixpath.dirname(path), each)) for each in files[path].imports)
        found = {
            target
            for each in wanted
            for target in (strip_script_suffix(each), each, f"{each}/index")
            if target in names
        }
        edges[name] = tuple(sorted(found - {name}))
    return ImportGraph(edges, "/")


def strip_script_suffix(path: str) -> str:
    return next((path.removesuffix(ending) for ending in _SCRIPT_ENDINGS if path.endswith(ending)), path)


def build_go_graph(files: Mapping[str, SourceFile], manifests: Iterable[Manifest]) -> ImportGraph:
    """Build the graph of the module's packages, which are directories."""
    roots = [(each.name, posixpath.dirname(each.path)) for each in manifests if each.kind == "go.mod" and each.name]
    packages = {posixpath.dirname(path) or "." for path in files}
    edges: dict[str, set[str]] = {name: set() for name in packages}
    for path, file in files.items():
        for written in file.imports:
            for module, root in roots:
                if written == module or written.startswith(f"{module}/"):
                    inner = written.removeprefix(module).strip("/")
                    target = posixpath.normpath(posixpath.join(root, inner or "."))
                    if target in packages and target != (posixpath.dirname(path) or "."):
                        edges[posixpath.dirname(path) or "."].add(target)
    return ImportGraph({name: tuple(sorted(edges[name])) for name in sorted(edges)}, "/")


def build_import_graphs(
    code: Mapping[str, SourceFile], manifests: Iterable[Manifest]
) -> Iterator[tuple[str, ImportGraph]]:
    """Yield a graph for each supported language in the code."""
    by_language: dict[str, dict[str, SourceFile]] = {}
    for path, file in code.items():
        language = "JavaScript and TypeScript" if file.language in {"JavaScript", "TypeScript"} else file.language
        by_language.setdefault(language, {})[path] = file
    if PYTHON in by_language:
        yield PYTHON, build_python_graph(by_language[PYTHON])
    if "JavaScript and TypeScript" in by_language:
        yield "JavaScript and TypeScript", build_script_graph(by_language["JavaScript and TypeScript"])
    if "Go" in by_language:
        yield "Go", build_go_graph(by_language["Go"], manifests)


def collapse_graph(graph: ImportGraph, most: int = MAX_NODES) -> CollapsedGraph:
    """Merge nodes by name prefix until at most `most` remain, so that the diagram is readable."""
    if len(graph.nodes) <= most:
        return CollapsedGraph(graph)
    deepest = max(name.count(graph.separator) + 1 for name in graph.nodes)
    for levels in range(deepest - 1, 0, -1):
        merged = merge_levels(graph, levels)
        if len(merged.nodes) <= most:
            return CollapsedGraph(merged, levels)
    merged = merge_levels(graph, 1)
    links = {name: len(merged.edges[name]) for name in merged.nodes}
    for targets in merged.edges.values():
        for target in targets:
            links[target] += 1
    kept = set(sorted(merged.nodes, key=lambda name: (-links[name], name))[:most])
    edges = {name: tuple(each for each in merged.edges[name] if each in kept) for name in sorted(kept)}
    return CollapsedGraph(ImportGraph(edges, graph.separator), 1, len(merged.nodes) - most)


def merge_levels(graph: ImportGraph, levels: int) -> ImportGraph:
    def short(name: str) -> str:
        return graph.separator.join(name.split(graph.separator)[:levels])

    edges: dict[str, set[str]] = {}
    for name, targets in graph.edges.items():
        edges.setdefault(short(name), set()).update(short(target) for target in targets)
    return ImportGraph({name: tuple(sorted(edges[name] - {name})) for name in sorted(edges)}, graph.separator)


def list_libraries(files: Mapping[str, SourceFile]) -> dict[str, tuple[str, ...]]:
    """Return third-party packages with the modules that import them."""
    tops = {get_module_name(path).partition(".")[0] for path in files} | list_root_packages(files)
    neighbours: dict[str, set[str]] = {}
    for path in files:
        neighbours.setdefault(posixpath.dirname(path), set()).add(posixpath.basename(path).removesuffix(".py"))
    found: dict[str, set[str]] = {}
    for path, file in files.items():
        siblings = neighbours[posixpath.dirname(path)]  # a script can import modules next to it
        for written in file.imports:
            top = written.partition(":")[0].partition(".")[0]
            if top and top not in tops and top not in siblings and top not in _STANDARD:
                found.setdefault(top, set()).add(get_module_name(path))
    return {name: tuple(sorted(found[name])) for name in sorted(found, key=str.lower)}


def list_root_packages(files: Iterable[str]) -> set[str]:
    """Return the packages that are not inside another package. Each of them may be imported directly."""
    packages = {posixpath.dirname(path) for path in files if posixpath.basename(path) == "__init__.py"}
    return {posixpath.basename(place) for place in packages if posixpath.dirname(place) not in packages}
