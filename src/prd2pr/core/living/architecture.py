"""ARCHITECTURE: how the parts hang together, drawn from the imports that are really there."""

from __future__ import annotations

from typing import NamedTuple

from prd2pr.core.living.imports import ImportGraph, circle, collapse, import_graphs, libraries
from prd2pr.core.living.manifests import all_programs
from prd2pr.core.living.mermaid import Flowchart, flowchart
from prd2pr.core.living.words import beginning
from prd2pr.core.living.worked import LivingFacts
from prd2pr.core.signatures import module_name

MOST_LIBRARIES = 60
MOST_USERS = 5
MOST_ROWS = 120


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
    alone: tuple[str, ...]  # parts that neither import another one nor are imported


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


def architecture(facts: LivingFacts) -> ArchitectureView:
    repository = facts.repository
    used = libraries(repository.python)
    return ArchitectureView(
        graphs=tuple(
            graph_view(language, graph)
            for language, graph in import_graphs(repository.code, repository.settings.manifests)
        ),
        entry_points=entry_points(facts),
        libraries=tuple(
            LibraryRow(name, users[:MOST_USERS], max(0, len(users) - MOST_USERS))
            for name, users in list(used.items())[:MOST_LIBRARIES]
        ),
        more_libraries=max(0, len(used) - MOST_LIBRARIES),
        designs=designs(facts),
        has_code=bool(repository.code),
    )


def graph_view(language: str, graph: ImportGraph) -> GraphView:
    shown = collapse(graph)
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
        chart=flowchart(nodes, edges),
        rows=tuple(rows[:MOST_ROWS]),
        levels=shown.levels,
        more=shown.more,
        more_rows=max(0, len(rows) - MOST_ROWS),
        circle=circle(graph),
        edges=len(edges),
        alone=tuple(name for name in drawn.nodes if name not in linked),
    )


def entry_points(facts: LivingFacts) -> tuple[EntryPoint, ...]:
    found = [
        EntryPoint(script.name, script.does, manifest.path)
        for manifest, script in all_programs(facts.repository.settings.manifests)
    ]
    for path, file in facts.repository.python.items():
        if path.endswith("/__main__.py"):
            found.append(EntryPoint(f"python -m {module_name(path).removesuffix('.__main__')}", path, path))
        elif file.is_program:
            found.append(EntryPoint(f"python {path}", path, path))
    return tuple(found)


def designs(facts: LivingFacts) -> tuple[DesignGroup, ...]:
    groups = []
    for worked in facts.prds:
        rows = tuple(
            DesignRow(each.id, each.title, beginning(each.cycle.design.summary), each.cycle.design.source_paths)
            for each in worked.done
            if each.cycle.design and each.cycle.design.summary.strip()
        )
        if rows:
            groups.append(DesignGroup(worked.title, worked.prd.path, rows))
    return tuple(groups)
