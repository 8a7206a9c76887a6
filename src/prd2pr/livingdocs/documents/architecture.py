"""ARCHITECTURE: the import graph, entry points, libraries and designs."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.languages.python.signatures import get_module_name
from prd2pr.livingdocs.history import LivingFacts
from prd2pr.livingdocs.mermaid import Flowchart, draw_flowchart
from prd2pr.livingdocs.readers.imports import (
    ImportGraph,
    build_import_graphs,
    collapse_graph,
    find_import_cycle,
    list_libraries,
)
from prd2pr.livingdocs.readers.manifests import list_programs
from prd2pr.livingdocs.text import first_sentences

MAX_LIBRARIES = 60
MAX_USERS = 5
MAX_ROWS = 120


class PartRow(NamedTuple):
    name: str
    imports: tuple[str, ...]
    imported_by: tuple[str, ...]


class GraphView(NamedTuple):
    language: str
    chart: Flowchart
    rows: tuple[PartRow, ...]
    levels: int
    more: int
    more_rows: int
    circle: tuple[str, ...]
    edges: int
    alone: tuple[str, ...]  # parts that neither import nor are imported


class LibraryRow(NamedTuple):
    name: str
    users: tuple[str, ...]
    more: int


class EntryPoint(NamedTuple):
    call: str
    leads_to: str
    said_in: str


class DesignRow(NamedTuple):
    story: str
    title: str
    summary: str
    paths: tuple[str, ...]


class DesignGroup(NamedTuple):
    title: str
    path: str
    rows: tuple[DesignRow, ...]


class ArchitectureView(NamedTuple):
    graphs: tuple[GraphView, ...]
    entry_points: tuple[EntryPoint, ...]
    libraries: tuple[LibraryRow, ...]
    more_libraries: int
    designs: tuple[DesignGroup, ...]
    has_code: bool


def build_architecture_view(facts: LivingFacts) -> ArchitectureView:
    repository = facts.repository
    used = list_libraries(repository.python)
    return ArchitectureView(
        graphs=tuple(
            build_graph_view(language, graph)
            for language, graph in build_import_graphs(repository.code, repository.settings.manifests)
        ),
        entry_points=list_entry_points(facts),
        libraries=tuple(
            LibraryRow(name, users[:MAX_USERS], max(0, len(users) - MAX_USERS))
            for name, users in list(used.items())[:MAX_LIBRARIES]
        ),
        more_libraries=max(0, len(used) - MAX_LIBRARIES),
        designs=list_designs(facts),
        has_code=bool(repository.code),
    )


def build_graph_view(language: str, graph: ImportGraph) -> GraphView:
    shown = collapse_graph(graph)
    drawn = shown.graph
    linked = {end for name, targets in drawn.edges.items() for target in targets for end in (name, target)}
    nodes = [name for name in drawn.nodes if name in linked]
    edges = [(name, target) for name in nodes for target in drawn.edges[name]]
    users: dict[str, list[str]] = {name: [] for name in drawn.nodes}
    for name, target in edges:
        users[target].append(name)
    rows = [PartRow(name, drawn.edges[name], tuple(users[name])) for name in nodes]
    return GraphView(
        language=language,
        chart=draw_flowchart(nodes, edges),
        rows=tuple(rows[:MAX_ROWS]),
        levels=shown.levels,
        more=shown.more,
        more_rows=max(0, len(rows) - MAX_ROWS),
        circle=find_import_cycle(graph),
        edges=len(edges),
        alone=tuple(name for name in drawn.nodes if name not in linked),
    )


def list_entry_points(facts: LivingFacts) -> tuple[EntryPoint, ...]:
    found = [
        EntryPoint(script.name, script.does, manifest.path)
        for manifest, script in list_programs(facts.repository.settings.manifests)
    ]
    for path, file in facts.repository.python.items():
        if path.endswith("/__main__.py"):
            found.append(EntryPoint(f"python -m {get_module_name(path).removesuffix('.__main__')}", path, path))
        elif file.is_program:
            found.append(EntryPoint(f"python {path}", path, path))
    return tuple(found)


def list_designs(facts: LivingFacts) -> tuple[DesignGroup, ...]:
    groups = []
    for worked in facts.prds:
        rows = tuple(
            DesignRow(each.id, each.title, first_sentences(each.cycle.design.summary), each.cycle.design.source_paths)
            for each in worked.done
            if each.cycle.design and each.cycle.design.summary.strip()
        )
        if rows:
            groups.append(DesignGroup(worked.title, worked.prd.path, rows))
    return tuple(groups)
