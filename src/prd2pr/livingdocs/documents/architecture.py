"""ARCHITECTURE: the import graph, entry points, libraries and designs."""

from __future__ import annotations

from prd2pr.domain.dependency_graph import find_cycle
from prd2pr.languages.python.signatures import get_module_name
from prd2pr.livingdocs.history import LivingFacts, PrdHistory, StoryHistory
from prd2pr.livingdocs.mermaid import draw_flowchart
from prd2pr.livingdocs.readers.imports import ImportGraph, build_import_graphs, collapse_graph, list_libraries
from prd2pr.livingdocs.readers.manifests import list_programs


def build_architecture_view(facts: LivingFacts) -> dict[str, object]:
    repository = facts.repository
    graphs = build_import_graphs(repository.code, repository.settings.manifests)
    return {
        "graphs": [view for each in graphs if (view := build_graph_view(*each))["edges"]],
        "entry_points": list_entry_points(facts),
        "libraries": list(list_libraries(repository.python).items()),
        "designs": list_designs(facts),
    }


def build_graph_view(language: str, graph: ImportGraph) -> dict[str, object]:
    shown = collapse_graph(graph)
    drawn = shown.graph
    linked = {end for name, targets in drawn.edges.items() for target in targets for end in (name, target)}
    nodes = [name for name in drawn.nodes if name in linked]
    edges = [(name, target) for name in nodes for target in drawn.edges[name]]
    users: dict[str, list[str]] = {name: [] for name in drawn.nodes}
    for name, target in edges:
        users[target].append(name)
    return {
        "language": language,
        "chart": draw_flowchart(nodes, edges),
        "rows": [(name, drawn.edges[name], users[name]) for name in nodes],
        "levels": shown.levels,
        "more": shown.more,
        "circle": find_cycle(graph.edges),
        "edges": len(edges),
        "alone": [name for name in drawn.nodes if name not in linked],
    }


def list_entry_points(facts: LivingFacts) -> list[tuple[str, str, str]]:
    """Return each command with its target and the file that defines it."""
    found = [
        (script.name, script.does, manifest.path)
        for manifest, script in list_programs(facts.repository.settings.manifests)
    ]
    for path, file in facts.repository.python.items():
        if path.endswith("/__main__.py"):
            found.append((f"python -m {get_module_name(path).removesuffix('.__main__')}", path, path))
        elif file.is_program:
            found.append((f"python {path}", path, path))
    return found


def list_designs(facts: LivingFacts) -> list[tuple[PrdHistory, list[StoryHistory]]]:
    groups = []
    for worked in facts.prds:
        designed = [each for each in worked.done if each.cycle.design and each.cycle.design.summary.strip()]
        if designed:
            groups.append((worked, designed))
    return groups
