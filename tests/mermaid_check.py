"""A small strict parser for the generated diagrams: unknown syntax is an error."""

from __future__ import annotations

import re

_LABEL = r'"[\w./: -]{1,60}…?"'
_NODE = re.compile(rf"  (n\d+)\[{_LABEL}\]")
_EDGE = re.compile(r"  (n\d+) --> (n\d+)")
_NUMBERS = r"\[\d+\.\d\d(?:, \d+\.\d\d)*\]"
_CHART = (
    re.compile(rf"  title {_LABEL}"),
    re.compile(rf"  x-axis \[({_LABEL}(?:, {_LABEL})*)\]"),
    re.compile(rf"  y-axis {_LABEL} 0 --> [1-9]\d*"),
    re.compile(rf"  bar {_NUMBERS}"),
    re.compile(rf"  line {_NUMBERS}"),
)


def diagrams(text: str) -> list[list[str]]:
    return [block.split("\n") for block in re.findall(r"^```mermaid\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)]


def check_diagrams(text: str) -> int:
    """The number of diagrams; raises AssertionError for invalid ones."""
    found = diagrams(text)
    assert len(found) == text.count("```mermaid"), "a diagram does not end"
    for head, *lines in found:
        if head == "xychart-beta":
            assert all(pattern.fullmatch(line) for pattern, line in zip(_CHART, lines, strict=True)), lines
        else:
            assert head in {"flowchart LR", "flowchart TD"}, head
            _check_flowchart(lines)
    return len(found)


def _check_flowchart(lines: list[str]) -> None:
    nodes: list[str] = []
    for line in lines:
        node, edge = _NODE.fullmatch(line), _EDGE.fullmatch(line)
        assert node or edge, f"neither node nor edge: {line!r}"
        if node:
            nodes.append(node[1])
        else:
            assert edge is not None
            assert {edge[1], edge[2]} <= set(nodes), f"an edge to nowhere: {line!r}"
            assert edge[1] != edge[2]
    assert nodes == [f"n{number}" for number in range(len(nodes))]
