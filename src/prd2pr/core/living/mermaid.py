"""Diagrams as GitHub draws them. Names of nodes are ours; labels hold nothing that could be taken for syntax."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from prd2pr.core.wording import clip, plain

_KEPT = frozenset("._/-: ")
LONGEST_LABEL = 60


class Flowchart(NamedTuple):
    """Lines of a diagram; empty where there is nothing to draw."""

    lines: tuple[str, ...] = ()


def label(text: str) -> str:
    """Letters and digits of any script, and a few signs; everything else becomes an underscore."""
    shown = "".join(char if char.isalnum() or char in _KEPT else "_" for char in plain(text))
    # Words of the language itself are harmless between quotes; an empty label is not.
    return clip(shown, LONGEST_LABEL) or "_"


def flowchart(nodes: Sequence[str], edges: Iterable[tuple[str, str]], direction: str = "LR") -> Flowchart:
    """Nodes by their order: n0, n1 …"""
    if not nodes:
        return Flowchart()
    ids = {node: f"n{number}" for number, node in enumerate(nodes)}
    drawn = [f'  {ids[node]}["{label(node)}"]' for node in nodes]
    arrows = [f"  {ids[a]} --> {ids[b]}" for a, b in edges if a in ids and b in ids and a != b]
    return Flowchart((f"flowchart {direction}", *drawn, *arrows))


def bars(title: str, unit: str, names: Sequence[str], series: Sequence[Sequence[float]]) -> tuple[str, ...]:
    """A chart with one place for each name: the first series as bars, the second as a line over them."""
    if not names:
        return ()
    top = max((value for values in series for value in values), default=0)
    axis = ", ".join(f'"{label(name)}"' for name in names)
    return (
        "xychart-beta",
        f'  title "{label(title)}"',
        f"  x-axis [{axis}]",
        f'  y-axis "{label(unit)}" 0 --> {max(1, round(top * 1.1 + 0.5))}',
        *(
            f"  {kind} [{', '.join(f'{value:.2f}' for value in values)}]"
            for kind, values in zip(("bar", "line"), series, strict=False)
        ),
    )
