"""Draw Mermaid diagrams. Node ids are generated, and labels contain nothing that could be parsed as syntax."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from prd2pr.domain.wording import clean_line, clip

_KEPT = frozenset("._/-: ")
MAX_LABEL = 60


def format_label(text: str) -> str:
    """Return the text with letters, digits and a few other characters. All others become underscores."""
    shown = "".join(char if char.isalnum() or char in _KEPT else "_" for char in clean_line(text))
    # Keywords are harmless in quotes, but an empty label is not.
    return clip(shown, MAX_LABEL) or "_"


def draw_flowchart(nodes: Sequence[str], edges: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return the lines of a flowchart. Node ids n0, n1 … follow the order of `nodes`."""
    if not nodes:
        return ()
    ids = {node: f"n{number}" for number, node in enumerate(nodes)}
    drawn = [f'  {ids[node]}["{format_label(node)}"]' for node in nodes]
    arrows = [f"  {ids[a]} --> {ids[b]}" for a, b in edges if a in ids and b in ids and a != b]
    return ("flowchart LR", *drawn, *arrows)


def draw_bar_chart(title: str, unit: str, names: Sequence[str], series: Sequence[Sequence[float]]) -> tuple[str, ...]:
    """Draw the first series as bars and the second as a line, one value per name."""
    if not names:
        return ()
    top = max((value for values in series for value in values), default=0)
    axis = ", ".join(f'"{format_label(name)}"' for name in names)
    return (
        "xychart-beta",
        f'  title "{format_label(title)}"',
        f"  x-axis [{axis}]",
        f'  y-axis "{format_label(unit)}" 0 --> {max(1, round(top * 1.1 + 0.5))}',
        *(
            f"  {kind} [{', '.join(f'{value:.2f}' for value in values)}]"
            for kind, values in zip(("bar", "line"), series, strict=False)
        ),
    )
